"""Bounds hold every value that an expression takes."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st
from tg_uop import DType, Ops, UOp, dtypes
from tg_uop.dtype.value import convert
from tg_uop.eval.scalar import alu

BINARY = (
    Ops.ADD,
    Ops.SUB,
    Ops.MUL,
    Ops.MAX,
    Ops.IDIV,
    Ops.MOD,
    Ops.AND,
    Ops.OR,
    Ops.XOR,
    Ops.SHL,
    Ops.SHR,
    Ops.CMPLT,
    Ops.CMPNE,
    Ops.CMPEQ,
)
DTYPES = (dtypes.weakint, dtypes.int8, dtypes.uint8, dtypes.int32, dtypes.uint64)


@st.composite
def intervals(draw: st.DrawFn, dtype: DType) -> tuple[int, int]:
    edges = [0, 1, -1, 5, -7, 100]
    if dtype != dtypes.weakint:
        edges += [int(dtype.min), int(dtype.max), int(dtype.max) - 3]
    lowest = -(1 << 40) if dtype == dtypes.weakint else int(dtype.min)
    highest = (1 << 40) if dtype == dtypes.weakint else int(dtype.max)
    low = draw(st.sampled_from([e for e in edges if lowest <= e <= highest]))
    width = draw(st.integers(0, 5))
    return low, min(low + width, highest)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Ops, DType, tuple[int, int], tuple[int, int]]:
    dtype = draw(st.sampled_from(DTYPES))
    op = draw(st.sampled_from(BINARY))
    left = draw(intervals(dtype))
    right = draw(intervals(dtype))
    if op in (Ops.SHL, Ops.SHR):
        right = draw(st.sampled_from([(0, 3), (2, 2), (1, 6)]))
    return op, dtype, left, right


@given(cases())
@settings(max_examples=400)
def test_bounds_hold_every_value(case):
    op, dtype, left, right = case
    x = UOp.variable("x", *left, dtype=dtype)
    y = UOp.variable("y", *right, dtype=dtype)
    node = x.alu(op, y)
    for a, b in itertools.product(range(left[0], left[1] + 1), range(right[0], right[1] + 1)):
        value = alu(op, dtype, (a, b))
        assert node.vmin <= value <= node.vmax, (op, dtype, a, b, value, node.bounds)


@given(cases(), st.sampled_from(DTYPES))
def test_bounds_of_a_cast_hold_every_value(case, target):
    _, dtype, interval, _ = case
    node = UOp.variable("x", *interval, dtype=dtype).cast(target)
    for value in range(interval[0], interval[1] + 1):
        assert node.vmin <= convert(value, target) <= node.vmax
