"""ALU ops against NumPy, where it is installed."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tg_uop.dtype.dtype import DType, dtypes
from tg_uop.dtype.value import convert, round_float
from tg_uop.eval.scalar import alu
from tg_uop.ir.ops import Ops

np = pytest.importorskip("numpy")

NUMPY = {d: np.dtype(d.fmt) for d in (*dtypes.ints, dtypes.half, dtypes.float, dtypes.double)}
INT_OPS = {
    Ops.ADD: np.add,
    Ops.SUB: np.subtract,
    Ops.MUL: np.multiply,
    Ops.MAX: np.maximum,
    Ops.AND: np.bitwise_and,
    Ops.OR: np.bitwise_or,
    Ops.XOR: np.bitwise_xor,
    Ops.CMPLT: np.less,
    Ops.CMPNE: np.not_equal,
    Ops.CMPEQ: np.equal,
}
FLOAT_OPS = {
    Ops.ADD: np.add,
    Ops.SUB: np.subtract,
    Ops.MUL: np.multiply,
    Ops.FDIV: np.divide,
    Ops.MAX: np.maximum,
    Ops.CMPLT: np.less,
    Ops.CMPNE: np.not_equal,
    Ops.CMPEQ: np.equal,
}
COMPARISONS = (Ops.CMPLT, Ops.CMPNE, Ops.CMPEQ)
words = st.integers(-(1 << 64), 1 << 64)


@pytest.mark.parametrize("dtype", dtypes.ints, ids=repr)
@settings(max_examples=100)
@given(left=words, right=words)
def test_integer_ops(dtype: DType, left: int, right: int) -> None:
    a, b = convert(left, dtype), convert(right, dtype)
    x, y = np.asarray([a], NUMPY[dtype]), np.asarray([b], NUMPY[dtype])
    with np.errstate(all="ignore"):
        for op, theirs in INT_OPS.items():
            result = dtypes.bool if op in COMPARISONS else dtype
            assert alu(op, result, (a, b)) == theirs(x, y)[0].item(), op


@pytest.mark.parametrize("dtype", dtypes.ints, ids=repr)
@settings(max_examples=100)
@given(left=words, right=words)
def test_division_identity(dtype: DType, left: int, right: int) -> None:
    a, b = convert(left, dtype), convert(right, dtype)
    quotient, rest = alu(Ops.IDIV, dtype, (a, b)), alu(Ops.MOD, dtype, (a, b))
    if b == 0:
        assert (quotient, rest) == (0, 0)
        return
    assert alu(Ops.ADD, dtype, (alu(Ops.MUL, dtype, (quotient, b)), rest)) == a
    assert abs(rest) < abs(b)
    assert rest == 0 or (rest < 0) == (a < 0)


@pytest.mark.parametrize("dtype", [dtypes.half, dtypes.float, dtypes.double], ids=repr)
@settings(max_examples=200)
@given(left=st.floats(), right=st.floats())
def test_float_ops(dtype: DType, left: float, right: float) -> None:
    a, b = round_float(left, dtype), round_float(right, dtype)
    x, y = np.asarray([a], NUMPY[dtype]), np.asarray([b], NUMPY[dtype])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for op, function in FLOAT_OPS.items():
            result = dtypes.bool if op in COMPARISONS else dtype
            theirs = function(x, y)[0].item()
            ours = alu(op, result, (a, b))
            assert math.isnan(ours) if theirs != theirs else ours == theirs, op
        for op, function in ((Ops.SQRT, np.sqrt), (Ops.TRUNC, np.trunc)):
            theirs = function(x)[0].item()
            ours = alu(op, dtype, (a,))
            assert math.isnan(ours) if theirs != theirs else str(ours) == str(theirs), op


@settings(max_examples=200)
@given(
    left=st.floats(width=32, allow_nan=False, allow_infinity=False),
    right=st.floats(width=32, allow_nan=False, allow_infinity=False),
    addend=st.floats(width=32, allow_nan=False, allow_infinity=False),
)
def test_product_sum_is_correctly_rounded(left: float, right: float, addend: float) -> None:
    ours = float(alu(Ops.MULACC, dtypes.float, (left, right, addend)))
    exact = Fraction(left) * Fraction(right) + Fraction(addend)
    if math.isinf(ours):
        assert abs(exact) >= Fraction(2) ** 128 - Fraction(2) ** 103
        return
    with np.errstate(over="ignore"):
        neighbours = [np.nextafter(np.float32(ours), np.float32(s)) for s in (-np.inf, np.inf)]
    for neighbour in neighbours:
        if np.isfinite(neighbour):
            assert abs(Fraction(ours) - exact) <= abs(Fraction(float(neighbour)) - exact)


@pytest.mark.parametrize("dtype", [dtypes.bfloat16, *dtypes.fp8s], ids=repr)
@settings(max_examples=100)
@given(left=st.floats(width=32), right=st.floats(width=32))
def test_narrow_float_ops(dtype: DType, left: float, right: float) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    names = {
        dtypes.bfloat16: "bfloat16",
        dtypes.fp8e4m3: "float8_e4m3fn",
        dtypes.fp8e5m2: "float8_e5m2",
        dtypes.fp8e4m3fnuz: "float8_e4m3fnuz",
        dtypes.fp8e5m2fnuz: "float8_e5m2fnuz",
    }
    narrow = np.dtype(getattr(ml_dtypes, names[dtype]))
    a, b = round_float(left, dtype), round_float(right, dtype)
    x, y = np.asarray([a]).astype(narrow), np.asarray([b]).astype(narrow)
    with np.errstate(all="ignore"):
        for op, function in ((Ops.ADD, np.add), (Ops.MUL, np.multiply), (Ops.SUB, np.subtract)):
            theirs = float(function(x, y)[0])
            ours = alu(op, dtype, (a, b))
            assert math.isnan(ours) if math.isnan(theirs) else ours == theirs, op
