"""Decomposed functions against exact ones: error in ulp over the full range, and special values."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tg_codegen.legalize.transcendental import decompose_transcendental
from tg_codegen.target.caps import Capabilities
from tg_codegen.target.cpu import describe_cpu
from tg_codegen.target.registry import cpu_capabilities
from tg_uop import DType, Ops, UOp, dtypes
from tg_uop.dtype.value import FORMATS, convert, from_bits
from tg_uop.eval.graph import evaluate
from tg_uop.target import Target

FUSED = cpu_capabilities(describe_cpu(Target("CPU", "LLVM", "x86_64,sapphirerapids")))
PLAIN = cpu_capabilities(describe_cpu(Target("CPU", "LLVM", "x86_64")))
TARGETS = [FUSED, PLAIN]
SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 0.5, 2.0]


def argument(dtype: DType, name: str = "x") -> UOp:
    return UOp(Ops.DEFINE_VAR, dtype, (), (name, 0, 1))


def decomposed(op: Ops, dtype: DType, caps: Capabilities) -> tuple[UOp, UOp]:
    x = argument(dtype)
    result = decompose_transcendental(x.alu(op), caps)
    assert not result.op_in_backward_slice_with_self(Ops.EXP2, Ops.LOG2, Ops.SIN, Ops.POW)
    return x, result


def ulp(value: float, dtype: DType) -> float:
    """The distance between neighbours of `dtype` at `value`."""
    layout = FORMATS[dtype]
    exponent = math.frexp(value)[1] - 1 if value else layout.lowest_exponent
    return math.ldexp(1.0, max(exponent, layout.lowest_exponent) - layout.mantissa)


def bit_patterns(dtype: DType) -> st.SearchStrategy[float]:
    """Every finite number, all exponents alike."""
    bits = st.integers(0, (1 << (8 * dtype.itemsize)) - 1)
    return bits.map(lambda b: float(from_bits(b, dtype))).filter(math.isfinite)


def numbers(low: float, high: float, dtype: DType) -> st.SearchStrategy[float]:
    return st.floats(low, high).map(lambda v: float(convert(v, dtype)))


def assert_close(result: object, exact: float, dtype: DType, limit: float) -> None:
    assert isinstance(result, float)
    rounded = float(convert(exact, dtype))
    if math.isinf(rounded) or math.isnan(rounded):
        assert math.isnan(result) if math.isnan(rounded) else result == rounded
        return
    error = abs(result - exact) / ulp(exact, dtype)
    assert error <= limit, f"{error} ulp: {result!r} instead of {exact!r}"


def exact_exp2(x: float) -> float:
    return 2.0**x if x < 1024 else math.inf


# every case: op, exact function, where it is difficult; errors are below 2 ulp, and mostly below 1
CASES: dict[Ops, tuple[Callable[[float], float], tuple[float, float], float]] = {
    Ops.EXP2: (exact_exp2, (-151.0, 129.0), 1.3),
    Ops.LOG2: (math.log2, (0.7, 1.5), 1.5),
    Ops.SIN: (math.sin, (-40.0, 40.0), 1.6),
}


@pytest.mark.parametrize("caps", TARGETS, ids=["fused", "plain"])
@pytest.mark.parametrize("op", list(CASES))
@given(data=st.data())
@settings(max_examples=250)
def test_single_precision(op: Ops, caps: Capabilities, data: st.DataObject) -> None:
    dtype = dtypes.float32
    exact, (low, high), limit = CASES[op]
    value = data.draw(st.one_of(bit_patterns(dtype), numbers(low, high, dtype)))
    if op is Ops.LOG2:
        value = abs(value) or 1.0
    x, result = decomposed(op, dtype, caps)
    assert_close(evaluate(result, {}, {x: value}), exact(value), dtype, limit)


@pytest.mark.parametrize("op", list(CASES))
@given(data=st.data())
@settings(max_examples=150)
def test_double_precision(op: Ops, data: st.DataObject) -> None:
    dtype = dtypes.float64
    exact, (low, high), _ = CASES[op]
    scale = 8.0 if op is Ops.EXP2 else 1.0
    value = data.draw(st.one_of(bit_patterns(dtype), st.floats(low * scale, high * scale)))
    if op is Ops.LOG2:
        value = abs(value) or 1.0
    x, result = decomposed(op, dtype, FUSED)
    assert_close(evaluate(result, {}, {x: value}), exact(value), dtype, 3.0)


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float64])
@pytest.mark.parametrize("op", list(CASES))
@pytest.mark.parametrize("value", SPECIAL)
def test_special_values(op: Ops, dtype: DType, value: float) -> None:
    x, result = decomposed(op, dtype, FUSED)
    found = evaluate(result, {}, {x: value})
    expected = evaluate(x.alu(op), {}, {x: value})
    assert isinstance(found, float)
    assert isinstance(expected, float)
    if math.isnan(expected):
        assert math.isnan(found)
    else:
        assert math.isclose(found, expected, rel_tol=3e-7)
        assert math.copysign(1.0, found) == math.copysign(1.0, expected)


@pytest.mark.parametrize("quarters", [1, 2, 3, 4, 1001, 10**6, 10**9])
def test_sine_near_multiples_of_half_pi(quarters: int) -> None:
    dtype = dtypes.float32
    x, result = decomposed(Ops.SIN, dtype, FUSED)
    value = float(convert(quarters * math.pi / 2, dtype))
    assert_close(evaluate(result, {}, {x: value}), math.sin(value), dtype, 1.6)


@given(numbers(-104.0, 89.0, dtypes.float32), st.sampled_from(TARGETS))
@settings(max_examples=250)
def test_natural_exponential_is_as_exact(value: float, caps: Capabilities) -> None:
    """e**x comes as 2**(x * log2(e)): the product must not lose digits."""
    x = argument(dtypes.float32)
    result = decompose_transcendental((x * (1 / math.log(2))).alu(Ops.EXP2), caps)
    assert_close(evaluate(result, {}, {x: value}), math.exp(value), dtypes.float32, 1.3)


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float64])
@given(base=st.floats(2**-20, 2**20), exponent=st.floats(-6, 6))
@settings(max_examples=120)
def test_power(dtype: DType, base: float, exponent: float) -> None:
    x, y = argument(dtype), argument(dtype, "y")
    base, exponent = float(convert(base, dtype)), float(convert(exponent, dtype))
    result = decompose_transcendental(x.alu(Ops.POW, y), FUSED)
    found = evaluate(result, {}, {x: base, y: exponent})
    assert_close(found, base**exponent, dtype, 1.0 if dtype is dtypes.float32 else 4.0)


BASES = [*SPECIAL, -2.0, -0.5, 3.0, -3.0, 2.5, -2.5, 1e30, -1e30]


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float64])
def test_power_of_special_values(dtype: DType) -> None:
    x, y = argument(dtype), argument(dtype, "y")
    node = x.alu(Ops.POW, y)
    result = decompose_transcendental(node, FUSED)
    for base in BASES:
        for exponent in BASES:
            values = {x: float(convert(base, dtype)), y: float(convert(exponent, dtype))}
            found, expected = evaluate(result, {}, values), evaluate(node, {}, values)
            assert isinstance(found, float)
            assert isinstance(expected, float)
            where = f"{base} ** {exponent}: {found} instead of {expected}"
            if math.isnan(expected):
                assert math.isnan(found), where
                continue
            assert math.isclose(found, expected, rel_tol=1e-6), where
            assert math.copysign(1.0, found) == math.copysign(1.0, expected), where


def test_a_target_with_the_function_keeps_it() -> None:
    from tg_codegen.target.registry import INTERPRETER

    node = argument(dtypes.float32).alu(Ops.SIN)
    assert decompose_transcendental(node, INTERPRETER) is node


def test_vectors_decompose_like_scalars() -> None:
    lanes = tuple(argument(dtypes.float32, n) for n in "abcd")
    node = UOp.stack(*lanes).alu(Ops.EXP2)
    result = decompose_transcendental(node, FUSED)
    found = evaluate(result, {}, dict(zip(lanes, (0.0, 3.0, -2.0, math.inf), strict=True)))
    assert found == (1.0, 8.0, 0.25, math.inf)
