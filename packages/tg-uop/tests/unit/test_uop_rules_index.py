"""The index arithmetic that tensor compilers live on, by example."""

from __future__ import annotations

from math import prod

import pytest
from tg_uop.dtype.dtype import Invalid, dtypes
from tg_uop.ir.ops import Ops
from tg_uop.ir.uop import UOp
from tg_uop.rules.sets import INDEX_MATH
from tg_uop.rules.simplify import factor, given, resolve, simplify

x = UOp.range(10, 0)
y = UOp.range(4, 1)
z = UOp.range(3, 2)
n = UOp.variable("n", 1, 100)
m = UOp.variable("m", -8, 8)
r = UOp.range(n, 3)


def trunc_div(a: UOp, d: int | UOp) -> UOp:
    return a.alu(Ops.IDIV, a.ufix(d))


def trunc_mod(a: UOp, d: int | UOp) -> UOp:
    return a.alu(Ops.MOD, a.ufix(d))


INDEX_LAWS = [
    ("quotient of a split index", (x * 4 + y) // 4, x),
    ("remainder of a split index", (x * 4 + y) % 4, y),
    ("quotient and remainder join", x // 4 * 4 + x % 4, x),
    ("scaled quotient and remainder join", (x // 4 * 4 + x % 4) * 5 + z, x * 5 + z),
    ("three levels join", x // 8 * 8 + x // 4 % 2 * 4 + x % 4, x),
    ("remainder of a quotient joins", y // 2 % 2 * 2 + y % 2, y),
    ("common factor", (x * 8 + y * 2) // 4, x * 2 + trunc_div(y, 2)),
    ("small part is dropped", (x * 8 + y * 2 + 1) // 4, x * 2 + trunc_div(y, 2)),
    ("small part stays in a remainder", (x * 8 + y * 2 + 1) % 4, trunc_mod(y, 2) * 2 + 1),
    ("nested quotients", x // 2 // 3, trunc_div(x, 6)),
    ("nested quotients with offset", (x // 2 + 1) // 3, trunc_div(x + 2, 6)),
    ("nested remainders", (x * 7) % 12 % 4, trunc_mod(x * 3, 4)),
    ("inner remainder is not needed", (x % 8 + y * 4) % 4, trunc_mod(x, 4)),
    ("quotient of a remainder", (x * 3) % 12 // 3, trunc_mod(x, 4)),
    ("order does not matter", y + x * 4, x * 4 + y),
    ("terms cancel", (y + x) * 3 - x * 3, y * 3),
    ("constants meet", x + 3 + (y + 4), x + y + 7),
    ("reversed index", (x * -1 + 9) // 10, UOp.const(dtypes.weakint, 0)),
    ("floor division with a shift", (x - 3) // 4, trunc_div(x + 1, 4) + -1),
    ("floor remainder with a shift", (x - 3) % 4, trunc_mod(x + 1, 4)),
    ("minimum decided", x.minimum(20), x),
    ("maximum decided", x.maximum(0), x),
    ("symbolic quotient", (x * n + r) // n, x),
    ("symbolic remainder", (x * n + r) % n, r),
    ("symbolic quotient by a scaled size", (x * n * 4 + r * 4 + y) // (n * 4), x),
    ("symbolic remainder by a scaled size", (x * n * 4 + r * 4 + y) % (n * 4), r * 4 + y),
    ("symbolic inner size", (x * n * 4 + r * 4 + y) // 4 % n, r),
    ("quotient joins a rewritten remainder", (z * 15 + y) // 7 * 7 + (z + y) % 7, z * 15 + y),
    ("symbolic join", r // n * n + r % n, r),
    ("product of symbols", (n * m) - (m * n), UOp.const(dtypes.weakint, 0)),
]


@pytest.mark.parametrize(
    ("expr", "expected"), [law[1:] for law in INDEX_LAWS], ids=[law[0] for law in INDEX_LAWS]
)
def test_index_expression(expr: UOp, expected: UOp) -> None:
    assert simplify(expr) is simplify(expected)
    assert len(simplify(expr).toposort()) <= len(expected.toposort())


CONDITIONS = [
    ("divided sides", x * 4 + y < 8, x < 2),
    ("scaled sides", x * 4 < 7, x < 2),
    ("quotient", trunc_div(x, 2) < 3, x < 6),
    ("always", x < 20, UOp.const(dtypes.bool, True)),
    ("never", x < 0, UOp.const(dtypes.bool, False)),
    ("constant first", UOp.const(dtypes.weakint, 5) > x, x < 5),
    ("lower bound", x >= 3, (x < 3).logical_not()),
    ("common terms cancel", x * 4 + y < y + 8, x < 2),
    ("no solution", (x * 4).eq(6), UOp.const(dtypes.bool, False)),
    ("equal after division", (x * 4).eq(8), x.eq(2)),
    ("same condition", (x < 5) & (x < 3), x < 3),
    ("implied by another", (x < 3) & (x * 2 + y < 20), x < 3),
    ("contradiction", (x < 3) & (x >= 5), UOp.const(dtypes.bool, False)),
    ("complement", (x < 3) | (x >= 3), UOp.const(dtypes.bool, True)),
    ("weaker of two", (x < 3) | (x < 5), x < 5),
    ("no gap", (x < 6) | (x >= 4), UOp.const(dtypes.bool, True)),
    ("loop index below its size", r < n, UOp.const(dtypes.bool, True)),
    ("flat index below its size", r * 4 + y < n * 4, UOp.const(dtypes.bool, True)),
    ("cast of an index", x.cast(dtypes.int) < 5, x < 5),
    ("casts of indices", x.cast(dtypes.int).eq(y.cast(dtypes.int)), x.eq(y)),
    ("number of a condition", (x < 5).cast(dtypes.float).ne(0.0), x < 5),
    ("opposite number of a condition", (x < 5).cast(dtypes.int) < 1, (x < 5).logical_not()),
    ("branches know the condition", (x < 5).where(x < 7, x < 2), x < 5),
    ("both bounds stay", (x < 7) & (x >= 3), (x < 7) & (x < 3).logical_not()),
]


@pytest.mark.parametrize(
    ("cond", "expected"), [law[1:] for law in CONDITIONS], ids=[law[0] for law in CONDITIONS]
)
def test_condition(cond: UOp, expected: UOp) -> None:
    assert simplify(cond) is simplify(expected)


def guarded(index: UOp, cond: UOp) -> UOp:
    return cond.where(index, index.const_like(Invalid))


def test_index_is_narrowed_by_its_guard() -> None:
    inside = (x >= 3) & (x < 7)
    assert simplify(guarded(trunc_div(x + -3, 4), inside)) is simplify(
        guarded(x.const_like(0), inside)
    )


def test_padding_and_reshape_meet_again() -> None:
    """An index shifted by padding is known not to be negative where the guard holds."""
    flat = x * 4 + y - 3
    result = simplify(guarded(trunc_div(flat, 4), flat >= 0))
    assert result is simplify(guarded(x + trunc_div(y + 1, 4) - 1, flat >= 0))


def test_arithmetic_moves_under_the_guard() -> None:
    assert simplify(guarded(x, x < 5) * 2 + 1) is guarded(x * 2 + 1, x < 5)


def test_impossible_guard_is_invalid() -> None:
    result = simplify(guarded(x, x < 0))
    assert result.arg is Invalid


def test_element_at_an_impossible_index_is_zero() -> None:
    buffer = UOp.param(0, dtypes.float.ptr(10))
    element = buffer.index(guarded(x, x < 0))
    assert simplify(element) is UOp.const(dtypes.float, 0.0)


def test_the_address_of_a_load_is_not_narrowed_by_a_condition_around_it() -> None:
    """The load is made even where the outer condition fails: it needs its own guard."""
    table = UOp.param(0, dtypes.int.ptr(5))
    safe = table.index(guarded(x, x < 5))
    outer = guarded(safe.cast(dtypes.weakint) + x // 5, x < 5)
    assert simplify(outer) is guarded(safe.cast(dtypes.weakint), x < 5)
    both = (x < 5) & (safe < 3)
    assert simplify(both) is both


def test_given() -> None:
    assert given(x.maximum(4), x < 4) is x.const_like(4)
    assert given(x, (x < 3) & (x >= 5)) is None
    assert given(x + 1, x < 3) is x + 1


def test_given_a_condition_whose_terms_cancel() -> None:
    """Comparing x with itself is a fact about nothing."""
    pointless = (x < x + 1) & (y < 2)
    both = pointless & (x * 2 < 9)
    assert INDEX_MATH.rewrite(both) is INDEX_MATH.rewrite_reference(both)
    assert simplify(both) is simplify((y < 2) & (x < 5))


def test_resolve() -> None:
    assert resolve(x < 20) is True
    assert resolve(x < 0) is False
    assert resolve(x < 5) is True
    assert resolve(x < 5, default=False) is False
    assert resolve(True) is True


def test_factor() -> None:
    assert factor(x * 8 + y * 12 + 4) == (x * 2 + y * 3 + 1, 4)
    assert factor(x * 8) == (x, 8)
    assert factor(x) == (x, 1)


# *** chains of reshapes and permutes ***


def flattened(indices: list[UOp], shape: tuple[int, ...]) -> UOp:
    total = UOp.const(dtypes.weakint, 0)
    stride = 1
    for index, size in zip(reversed(indices), reversed(shape), strict=True):
        total = total + index * stride
        stride *= size
    return total


def unflattened(flat: UOp, shape: tuple[int, ...]) -> list[UOp]:
    strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    return [simplify(flat // s % size) for s, size in zip(strides, shape, strict=True)]


Step = tuple[int, ...] | list[int]


def through(shape: tuple[int, ...], *steps: Step) -> UOp:
    """The flat index behind reshapes (tuples) and permutes (lists)."""
    indices = [UOp.range(size, axis) for axis, size in enumerate(shape)]
    for step in steps:
        if isinstance(step, list):
            indices = [indices[axis] for axis in step]
            shape = tuple(shape[axis] for axis in step)
        else:
            indices = unflattened(flattened(indices, shape), step)
            shape = step
    return simplify(flattened(indices, shape))


def test_reshapes_that_undo_each_other() -> None:
    shape = (2, 3, 4, 5, 6)
    result = through(shape, (6, 4, 30), (2, 3, 20, 6), (720,), shape)
    ranges = [UOp.range(size, axis) for axis, size in enumerate(shape)]
    assert result is simplify(flattened(ranges, shape))


def test_reshape_and_permute_of_five_axes() -> None:
    result = through((2, 3, 4, 5, 6), (6, 20, 6), [1, 0, 2], (20, 36), (4, 5, 6, 6))
    a, b, c, d, e = (UOp.range(size, axis) for axis, size in enumerate((2, 3, 4, 5, 6)))
    assert result is simplify(a * 18 + b * 6 + c * 180 + d * 36 + e)


def test_tiling_twice_is_nothing() -> None:
    tile: tuple[Step, ...] = ((8, 8, 8, 8), [0, 2, 1, 3], (64, 64))
    result = through((64, 64), *tile, *tile)
    assert result is simplify(UOp.range(64, 0) * 64 + UOp.range(64, 1))


def test_transposes_that_undo_each_other() -> None:
    result = through((8, 16, 32), (128, 32), [1, 0], (32, 8, 16), [1, 2, 0], (8, 16, 32))
    a, b, c = (UOp.range(size, axis) for axis, size in enumerate((8, 16, 32)))
    assert result is a * 512 + b * 32 + c


def test_long_sum_is_simplified() -> None:
    """A chain of 20,000 additions: no recursion, no quadratic time."""
    total = x
    for k in range(20_000):
        total = total + UOp.range(4, k + 10)
    assert simplify(total).dtype is dtypes.weakint
