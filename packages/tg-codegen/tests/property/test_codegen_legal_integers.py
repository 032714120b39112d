"""Division by constants equals IDIV and MOD, for every width."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tg_codegen.legalize.integers import divide_by_constants, divided
from tg_codegen.target.registry import INTERPRETER
from tg_uop import DType, Ops, UOp, dtypes
from tg_uop.eval.graph import evaluate


def variable(dtype: DType, low: int | None = None, high: int | None = None) -> UOp:
    low = int(dtype.min) if low is None else low
    high = int(dtype.max) if high is None else high
    return UOp.variable("x", low, high, dtype)


def interesting(low: int, high: int) -> st.SearchStrategy[int]:
    near = [low, low + 1, high, high - 1, 0, 1, -1, 2, 7, 641]
    powers = [sign * (1 << k) + d for k in range(64) for sign in (1, -1) for d in (-1, 0, 1)]
    edges = sorted({v for v in near + powers if low <= v <= high})
    return st.one_of(st.sampled_from(edges), st.integers(low, high))


@st.composite
def divisions(draw: st.DrawFn) -> tuple[DType, int, int, int]:
    """dtype, divisor, and a dividend, which is often near a multiple of the divisor."""
    dtype = draw(st.sampled_from(dtypes.ints))
    low, high = int(dtype.min), int(dtype.max)
    divisor = draw(interesting(low, high))
    dividend = draw(interesting(low, high))
    if divisor and draw(st.booleans()):
        dividend = dividend // divisor * divisor + draw(st.integers(-1, 1))
    return dtype, divisor, max(low, min(high, dividend)), draw(st.integers(0, high))


@given(divisions(), st.sampled_from([Ops.IDIV, Ops.MOD]))
@settings(max_examples=600)
def test_division_by_a_constant(case: tuple[DType, int, int, int], op: Ops) -> None:
    dtype, divisor, dividend, _ = case
    x = variable(dtype)
    node = x.alu(op, x.ufix(divisor))
    result = divided(node)
    assert not result.op_in_backward_slice_with_self(Ops.IDIV, Ops.MOD)
    values = {x: dividend}
    assert evaluate(result, {}, values) == evaluate(node, {}, values)


@given(divisions(), st.sampled_from([Ops.IDIV, Ops.MOD]))
@settings(max_examples=400)
def test_division_with_known_bounds(case: tuple[DType, int, int, int], op: Ops) -> None:
    """A dividend from 0 up to a bound takes the cheaper forms."""
    dtype, divisor, dividend, bound = case
    x = variable(dtype, 0, bound)
    node = x.alu(op, x.ufix(divisor))
    result = divided(node)
    for value in {0, bound, abs(dividend) % (bound + 1)}:
        assert evaluate(result, {}, {x: value}) == evaluate(node, {}, {x: value})


@pytest.mark.parametrize("dtype", [dtypes.int8, dtypes.uint8])
@pytest.mark.parametrize("op", [Ops.IDIV, Ops.MOD])
def test_every_division_of_bytes(dtype: DType, op: Ops) -> None:
    x = variable(dtype)
    for divisor in range(int(dtype.min), int(dtype.max) + 1, 3):
        node = x.alu(op, x.ufix(divisor))
        result = divided(node)
        for value in range(int(dtype.min), int(dtype.max) + 1, 5):
            assert evaluate(result, {}, {x: value}) == evaluate(node, {}, {x: value})


def test_vectors_divide_like_scalars() -> None:
    x = UOp(
        Ops.STACK,
        dtypes.int.vec(4),
        tuple(variable(dtypes.int).replace(arg=(n, -9, 9)) for n in "abcd"),
    )
    node = x.alu(Ops.IDIV, x.ufix(3))
    values = dict(zip(x.src, (-7, 7, 8, -9), strict=True))
    assert evaluate(divided(node), {}, values) == (-2, 2, 2, -3)


def test_known_small_dividend_needs_no_wider_type() -> None:
    x = variable(dtypes.int, 0, 1000)
    result = divided(x.alu(Ops.IDIV, x.ufix(7)))
    assert all(n.dtype.scalar() is dtypes.int for n in result.toposort())


def test_only_cheap_divisions_where_the_tool_chain_has_the_rest() -> None:
    wide = variable(dtypes.int).alu(Ops.IDIV, UOp.const(dtypes.int, 7))
    assert divide_by_constants(wide, INTERPRETER) is wide
    shift = variable(dtypes.int, 0, 99).alu(Ops.IDIV, UOp.const(dtypes.int, 8))
    assert divide_by_constants(shift, INTERPRETER).op is Ops.SHR
