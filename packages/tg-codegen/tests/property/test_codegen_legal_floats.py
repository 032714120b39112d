"""Narrow floats by bits and float to integer conversion, against the exact conversions."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tg_codegen.legalize.conversions import guarded
from tg_codegen.legalize.dtypes import emulate_dtypes
from tg_codegen.legalize.narrow_floats import (
    decoded,
    encoded,
    rounded,
    storage_dtype,
    to_single_odd,
)
from tg_codegen.target.caps import Capabilities
from tg_codegen.target.cpu import describe_cpu
from tg_codegen.target.registry import cpu_capabilities
from tg_uop import DType, Ops, UOp, dtypes
from tg_uop.dtype.value import convert, from_bits
from tg_uop.eval.graph import evaluate
from tg_uop.target import Target

NARROW = [dtypes.float16, dtypes.bfloat16, *dtypes.fp8s]


def capabilities(arch: str) -> Capabilities:
    return cpu_capabilities(describe_cpu(Target("CPU", "LLVM", arch)))


BASELINE = capabilities("x86_64")
CONVERTING = capabilities("x86_64,znver2")
COMPUTING = capabilities("x86_64,sapphirerapids")


def argument(dtype: DType, name: str = "x") -> UOp:
    return UOp(Ops.DEFINE_VAR, dtype, (), (name, 0, 1))


def floats(dtype: DType) -> st.SearchStrategy[float]:
    """All bit patterns, common sizes, and neighbours of ties of the narrow types."""
    bits = st.integers(0, (1 << (8 * dtype.itemsize)) - 1)
    anything = bits.map(lambda b: float(from_bits(b, dtype)))
    sizes = st.floats(-70000, 70000).map(lambda v: float(convert(v, dtype)))
    return st.one_of(anything, sizes, near_ties(dtype))


@st.composite
def near_ties(draw: st.DrawFn, dtype: DType) -> float:
    narrow = draw(st.sampled_from(NARROW))
    bits = draw(st.integers(0, (1 << (8 * narrow.itemsize)) - 1))
    value = float(from_bits(bits, narrow))
    step = draw(st.sampled_from([0.0, 2.0**-3, 2.0**-4, 2.0**-8, 2.0**-11, 2.0**-12]))
    tiny = draw(st.sampled_from([0.0, 2.0**-22, -(2.0**-22), 2.0**-50, -(2.0**-50)]))
    return float(convert(value * (1.0 + step + tiny), dtype))


def assert_same(found: object, expected: object) -> None:
    assert isinstance(found, float)
    assert isinstance(expected, float)
    if math.isnan(expected):
        assert math.isnan(found)
    else:
        assert (float(found), math.copysign(1, found)) == (
            float(expected),
            math.copysign(1, expected),
        )


@pytest.mark.parametrize("dtype", NARROW)
@given(value=floats(dtypes.float32))
@settings(max_examples=150)
def test_rounding_of_single_precision(dtype: DType, value: float) -> None:
    x = argument(dtypes.float32)
    assert_same(evaluate(rounded(x, dtype), {}, {x: value}), convert(value, dtype))


@pytest.mark.parametrize("dtype", NARROW)
@given(value=floats(dtypes.float64))
@settings(max_examples=150)
def test_rounding_of_double_precision_happens_once(dtype: DType, value: float) -> None:
    x = argument(dtypes.float64)
    result = rounded(to_single_odd(x), dtype)
    assert_same(evaluate(result, {}, {x: value}), convert(value, dtype))


@pytest.mark.parametrize("dtype", NARROW)
def test_memory_holds_the_same_bits(dtype: DType) -> None:
    """Every value of the type (of float16 and bfloat16 a part) there and back."""
    bits, x = argument(storage_dtype(dtype)), argument(dtypes.float32)
    there, back = encoded(x, dtype), decoded(bits, dtype)
    for pattern in range(0, 1 << (8 * dtype.itemsize), 1 if dtype.itemsize == 1 else 251):
        value = from_bits(pattern, dtype)
        assert_same(evaluate(back, {}, {bits: pattern}), value)
        found = evaluate(there, {}, {x: value})
        assert isinstance(found, int)
        # which NaN it is may change
        assert math.isnan(from_bits(found, dtype)) if math.isnan(value) else found == pattern


@pytest.mark.parametrize("dtype", [dtypes.fp8e4m3fnuz, dtypes.fp8e5m2fnuz])
def test_negative_zero_is_zero_where_there_is_none(dtype: DType) -> None:
    x = argument(dtypes.float32)
    assert evaluate(encoded(x, dtype), {}, {x: -0.0}) == 0


ARITHMETIC = [Ops.ADD, Ops.SUB, Ops.MUL, Ops.FDIV, Ops.MAX]


@pytest.mark.parametrize("caps", [BASELINE, CONVERTING, COMPUTING], ids=["none", "f16c", "fp16"])
@pytest.mark.parametrize("dtype", NARROW)
@given(data=st.data(), op=st.sampled_from(ARITHMETIC))
@settings(max_examples=60)
def test_arithmetic_rounds_like_the_type(
    dtype: DType, caps: Capabilities, data: st.DataObject, op: Ops
) -> None:
    bits = st.integers(0, (1 << (8 * dtype.itemsize)) - 1)
    a, b = argument(dtypes.float32, "a"), argument(dtypes.float32, "b")
    node = a.cast(dtype).alu(op, b.cast(dtype))
    values = {a: from_bits(data.draw(bits), dtype), b: from_bits(data.draw(bits), dtype)}
    expected = evaluate(node.cast(dtypes.float32), {}, values)
    result = emulate_dtypes(node.cast(dtypes.float32), caps)
    allowed = caps.dtypes | caps.convert_dtypes
    assert all(n.dtype.scalar() in allowed for n in result.toposort())
    assert_same(evaluate(result, {}, values), expected)


@pytest.mark.parametrize("dtype", NARROW)
@given(value=st.integers(-(2**63), 2**63 - 1), shift=st.integers(0, 62))
@settings(max_examples=120)
def test_wide_integers_round_once(dtype: DType, value: int, shift: int) -> None:
    x = UOp.variable("x", int(dtypes.int64.min), int(dtypes.int64.max), dtypes.int64)
    node = x.cast(dtype).cast(dtypes.float32)
    result = emulate_dtypes(node, BASELINE)
    values = {x: value >> shift}
    assert_same(evaluate(result, {}, values), evaluate(node, {}, values))


@pytest.mark.parametrize("target", dtypes.ints)
@pytest.mark.parametrize("source", [dtypes.float16, dtypes.float32, dtypes.float64])
@given(data=st.data())
@settings(max_examples=60)
def test_floats_become_integers_safely(source: DType, target: DType, data: st.DataObject) -> None:
    limits = [2.0**k + d for k in (7, 8, 15, 16, 31, 32, 63, 64) for d in (-1.5, -1, 0, 0.5, 1)]
    edges = st.sampled_from([*limits, *(-v for v in limits), 0.0, math.inf, -math.inf, math.nan])
    value = data.draw(st.one_of(edges.map(lambda v: float(convert(v, source))), floats(source)))
    x = argument(source)
    result = guarded(x, target, COMPUTING)
    assert evaluate(result, {}, {x: value}) == convert(value, target)
    # what the machine's instruction gets is in its range
    for node in result.toposort():
        if node.op is Ops.CAST and node.dtype.is_int and node.src[0].dtype.is_float:
            operand = evaluate(node.src[0], {}, {x: value})
            assert node.dtype.min <= operand <= node.dtype.max
