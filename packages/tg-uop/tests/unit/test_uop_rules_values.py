"""Rules on numbers by example: IEEE floats, widths that wrap, vectors, Invalid, stores."""

from __future__ import annotations

import math

import pytest
from tg_uop.dtype.dtype import Invalid, dtypes
from tg_uop.ir.ops import Ops
from tg_uop.ir.uop import UOp
from tg_uop.rewrite.driver import graph_rewrite
from tg_uop.rules.sets import INDEX_MATH, SYMBOLIC, SYMBOLIC_SIMPLE
from tg_uop.rules.simplify import simplify

f = UOp.param(0, dtypes.float)
g = UOp.param(1, dtypes.float)
i8 = UOp.param(2, dtypes.int8)
u8 = UOp.param(3, dtypes.uint8)
i32 = UOp.param(4, dtypes.int32)
cond = UOp.param(5, dtypes.bool)
x = UOp.range(10, 0)

NEVER_FOLDED = [
    ("x * 0.0", f * 0.0),
    ("x - x", f - f),
    ("x / x", f / f),
    ("x + 0.0 loses -0.0", f + 0.0),
    ("x != x asks for nan", f.ne(f)),
    ("x == x asks for nan", f.eq(f)),
    ("float sums are not reordered", (f + 1.0) + 2.0),
    ("float products are not reordered", (f * 3.0) * 5.0),
    ("x / 3.0", f / 3.0),
    ("unsigned x - y", u8 - UOp.param(6, dtypes.uint8)),
    ("integer x / x may be 0 / 0", i8.alu(Ops.IDIV, i8)),
    ("a sum that wraps is no bound", i8 + 100 < 0),
    ("scaling a comparison that wraps", (i8 * 4) < 8),
    ("dividing a product that wraps", (i8 * 4).alu(Ops.IDIV, i8.const_like(4))),
    ("narrowing casts", i32.cast(dtypes.int8).cast(dtypes.int32)),
    ("float through int", f.cast(dtypes.int).cast(dtypes.float)),
    ("int through a float with fewer digits", i32.cast(dtypes.float).cast(dtypes.int)),
]


@pytest.mark.parametrize("expr", [e for _, e in NEVER_FOLDED], ids=[n for n, _ in NEVER_FOLDED])
def test_stays_as_it_is(expr: UOp) -> None:
    for rules in (SYMBOLIC_SIMPLE, SYMBOLIC, INDEX_MATH):
        assert graph_rewrite(expr, rules) is expr


FOLDED = [
    ("x + -0.0", f + -0.0, f),
    ("x - 0.0", f - 0.0, f),
    ("x * 1.0", f * 1.0, f),
    ("x / 1.0", f / 1.0, f),
    ("x / 4.0", f / 4.0, f * 0.25),
    ("exp2 is never -0.0", f.alu(Ops.EXP2) + 0.0, f.alu(Ops.EXP2)),
    ("max(x, x)", f.maximum(f), f),
    ("x < x", f < f, UOp.const(dtypes.bool, False)),
    ("1.0 / 0.0", UOp.const(dtypes.float, 1.0) / 0.0, UOp.const(dtypes.float, math.inf)),
    ("0.0 / 0.0", UOp.const(dtypes.float, 0.0) / 0.0, UOp.const(dtypes.float, math.nan)),
    ("constants wrap", UOp.const(dtypes.int8, 100) + 100, UOp.const(dtypes.int8, -56)),
    ("unsigned constants wrap", UOp.const(dtypes.uint8, 0) - 1, UOp.const(dtypes.uint8, 255)),
    ("terms cancel modulo the width", (i8 + 100) - 100, i8),
    ("products join modulo the width", i8 * 16 * 16, UOp.const(dtypes.int8, 0)),
    ("integer division by 0", i8.alu(Ops.IDIV, i8.const_like(0)), UOp.const(dtypes.int8, 0)),
    ("remainder by 0", i8.alu(Ops.MOD, i8.const_like(0)), UOp.const(dtypes.int8, 0)),
    ("remainder of itself", i8.alu(Ops.MOD, i8), UOp.const(dtypes.int8, 0)),
    ("unsigned is not below 0", u8 < 0, UOp.const(dtypes.bool, False)),
    ("widening casts", i8.cast(dtypes.int32).cast(dtypes.int64), i8.cast(dtypes.int64)),
    ("low bits of low bits", i32.cast(dtypes.int16).cast(dtypes.int8), i32.cast(dtypes.int8)),
    ("float through double", f.cast(dtypes.double).cast(dtypes.float), f),
    ("bool through a number", cond.cast(dtypes.float).cast(dtypes.bool), cond),
    ("not not c", cond.ne(True).ne(True), cond),
    ("where of truths", cond.where(UOp.const(dtypes.bool, False), True), cond.ne(True)),
    ("opposite condition", cond.ne(True).where(f, g), cond.where(g, f)),
    ("same condition twice", cond.where(cond.where(f, g), g), cond.where(f, g)),
]


@pytest.mark.parametrize(
    ("expr", "expected"), [law[1:] for law in FOLDED], ids=[law[0] for law in FOLDED]
)
def test_folds(expr: UOp, expected: UOp) -> None:
    assert simplify(expr) is expected


def test_a_product_that_wraps_stands_in_a_comparison() -> None:
    """Sums are put in order by what they multiply, also where the product itself may wrap."""
    nothing = UOp.variable("a", 0, 0, dtypes.int32)
    index = UOp.range(3, 97, dtype=dtypes.int32)
    for condition in ((nothing + i32 * -1) < index, (i32 * -1 + nothing).eq(index)):
        simple = simplify(condition)
        assert simplify(simple) is simple


def test_x_over_x_where_x_is_not_zero() -> None:
    n = UOp.variable("n", 1, 9)
    assert simplify(n.alu(Ops.IDIV, n)) is n.const_like(1)


def test_vector_constants() -> None:
    lanes = UOp.const(dtypes.int.vec(4), (0, 1, 2, 3))
    assert simplify(lanes * 2 + 1) is UOp.const(dtypes.int.vec(4), (1, 3, 5, 7))
    assert simplify(lanes.gep(2)) is UOp.const(dtypes.int, 2)
    assert simplify(lanes.gep((3, 0))) is UOp.const(dtypes.int.vec(2), (3, 0))
    parts = [UOp.const(dtypes.int, k) for k in range(4)]
    assert simplify(UOp.stack(*parts)) is lanes
    same = [UOp.const(dtypes.int, 5)] * 3
    assert simplify(UOp.stack(*same)) is UOp.const(dtypes.int.vec(3), 5)


def test_vector_values() -> None:
    v = UOp.param(7, dtypes.int.vec(4))
    assert simplify(v + 0) is v
    assert simplify((v + 1) - v) is UOp.const(dtypes.int.vec(4), 1)


def test_a_value_that_may_be_invalid_is_not_folded_by_its_bounds() -> None:
    """All that bounds know of where(c, 3, Invalid) is 3."""
    gated = (x < 5).where(x.const_like(3), x.const_like(Invalid))
    assert simplify(gated) is gated
    assert simplify(gated + 1) is (x < 5).where(x.const_like(4), x.const_like(Invalid))
    assert simplify(gated * 0) is (x < 5).where(x.const_like(0), x.const_like(Invalid))


def test_invalid_moves_through_conditions() -> None:
    gated = (x < 5).where(x, x.const_like(Invalid))
    both = (gated < 3).where(x, x.const_like(Invalid))
    assert simplify(both) is (x < 3).where(x, x.const_like(Invalid))
    assert simplify((x < 5).where(x.const_like(Invalid), x)) is (x < 5).ne(True).where(
        x, x.const_like(Invalid)
    )


def test_store_at_invalid_does_nothing() -> None:
    buffer = UOp.param(0, dtypes.float.ptr(10))
    nowhere = buffer.index(x.const_like(Invalid)).store(f)
    assert simplify(nowhere) is UOp(Ops.NOOP)


def test_shape_and_device_stay_when_a_value_becomes_a_constant() -> None:
    t = UOp.param(0, dtypes.int, shape=(2, 3), device="CPU")
    zero = simplify(t * 0)
    assert zero.shape == (2, 3)
    assert zero.device == "CPU"
    assert simplify(t ^ t).shape == (2, 3)


def test_long_chains_of_every_kind() -> None:
    """100,000 nodes at the default recursion limit."""
    floats, logic, guarded = f, cond, x
    for k in range(33_000):
        floats = floats * 1.0 + g
        logic = logic & UOp.param(k % 50 + 10, dtypes.bool)
        guarded = guarded + UOp.range(4, k % 7 + 1)
    assert len(simplify(floats).toposort()) == 33_002
    simplify(logic)
    simplify(guarded)
