"""Conversions against NumPy and ml_dtypes, where they are installed."""

from __future__ import annotations

import warnings
from math import isnan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tg_uop.dtype.dtype import DType, dtypes
from tg_uop.dtype.promote import can_lossless_cast, least_upper_dtype
from tg_uop.dtype.value import convert, from_bits, round_float, to_bits

np = pytest.importorskip("numpy")
ml_dtypes = pytest.importorskip("ml_dtypes")

NUMPY = {
    dtypes.bool: np.dtype(np.bool_),
    dtypes.int8: np.dtype(np.int8),
    dtypes.int16: np.dtype(np.int16),
    dtypes.int32: np.dtype(np.int32),
    dtypes.int64: np.dtype(np.int64),
    dtypes.uint8: np.dtype(np.uint8),
    dtypes.uint16: np.dtype(np.uint16),
    dtypes.uint32: np.dtype(np.uint32),
    dtypes.uint64: np.dtype(np.uint64),
    dtypes.half: np.dtype(np.float16),
    dtypes.float: np.dtype(np.float32),
    dtypes.double: np.dtype(np.float64),
    dtypes.bfloat16: np.dtype(ml_dtypes.bfloat16),
    dtypes.fp8e4m3: np.dtype(ml_dtypes.float8_e4m3fn),
    dtypes.fp8e5m2: np.dtype(ml_dtypes.float8_e5m2),
    dtypes.fp8e4m3fnuz: np.dtype(ml_dtypes.float8_e4m3fnuz),
    dtypes.fp8e5m2fnuz: np.dtype(ml_dtypes.float8_e5m2fnuz),
}
NARROW = (dtypes.half, dtypes.bfloat16, *dtypes.fp8s)
UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}

float32_values = st.floats(width=32, allow_nan=True, allow_infinity=True)


@pytest.mark.parametrize("dtype", NARROW, ids=repr)
def test_all_bit_patterns_decode_as_theirs(dtype: DType) -> None:
    patterns = np.arange(1 << dtype.bitsize, dtype=UNSIGNED[dtype.itemsize])
    with np.errstate(invalid="ignore"):
        theirs = patterns.view(NUMPY[dtype]).astype(np.float64)
    for bits, value in enumerate(theirs.tolist()):
        ours = from_bits(bits, dtype)
        assert isnan(ours) if isnan(value) else str(ours) == str(value)


def _encoded_by_them(value: float, dtype: DType) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cast = np.asarray([value], dtype=np.float32).astype(NUMPY[dtype])
    return int(cast.view(UNSIGNED[dtype.itemsize])[0])


@pytest.mark.parametrize("dtype", NARROW, ids=repr)
@settings(max_examples=300)
@given(value=float32_values)
def test_rounding_is_theirs(dtype: DType, value: float) -> None:
    theirs = _encoded_by_them(value, dtype)
    ours = to_bits(value, dtype)
    if isnan(float(from_bits(theirs, dtype))):
        assert isnan(float(from_bits(ours, dtype)))
    else:
        assert ours == theirs


@pytest.mark.parametrize("dtype", NARROW, ids=repr)
def test_rounding_is_theirs_around_every_value(dtype: DType) -> None:
    step = 1 if dtype.itemsize == 1 else 37
    patterns = np.arange(0, 1 << (dtype.bitsize - 1), step, dtype=UNSIGNED[dtype.itemsize])
    exact = patterns.view(NUMPY[dtype]).astype(np.float32)
    exact = exact[np.isfinite(exact)]
    middles = (exact[:-1].astype(np.float64) + exact[1:]) / 2
    with np.errstate(all="ignore"):
        near = [exact, np.nextafter(exact, np.float32(np.inf)), middles.astype(np.float32)]
    for value in np.concatenate(near).tolist():
        theirs = from_bits(_encoded_by_them(value, dtype), dtype)
        ours = round_float(value, dtype)
        assert isnan(ours) if isnan(theirs) else ours == theirs, value


@settings(max_examples=300)
@given(value=st.floats(allow_nan=True, allow_infinity=True))
def test_float64_to_float32_and_half(value: float) -> None:
    for dtype in (dtypes.float, dtypes.half):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = float(np.float64(value).astype(NUMPY[dtype]))
        ours = round_float(value, dtype)
        assert isnan(ours) if isnan(theirs) else str(ours) == str(theirs)


@settings(max_examples=300)
@given(value=st.integers(-(1 << 63), (1 << 63) - 1))
def test_int64_to_everything(value: int) -> None:
    for dtype in (*dtypes.ints, dtypes.bool, dtypes.float, dtypes.double):
        theirs = np.asarray([value], dtype=np.int64).astype(NUMPY[dtype])[0].item()
        assert convert(value, dtype) == theirs, dtype


@settings(max_examples=300)
@given(value=st.floats(min_value=-(2.0**63), max_value=2.0**63, exclude_max=True))
def test_float_to_int64_and_on(value: float) -> None:
    through = np.asarray([value], dtype=np.float64).astype(np.int64)
    for dtype in (dtypes.int64, dtypes.int32, dtypes.int16, dtypes.uint8, dtypes.uint32):
        assert convert(value, dtype) == through.astype(NUMPY[dtype])[0].item(), dtype


def test_lossless_casts_are_those_that_numpy_calls_safe() -> None:
    builtin = [d for d in NUMPY if NUMPY[d].isbuiltin == 1]
    for source in builtin:
        for target in builtin:
            # NumPy calls int64 to float64 safe, although it loses digits
            if source in (dtypes.int64, dtypes.uint64) and target.is_float:
                continue
            safe = np.can_cast(NUMPY[source], NUMPY[target], "safe")
            assert can_lossless_cast(source, target) == safe, (source, target)


def test_integers_promote_as_in_numpy() -> None:
    kinds = [d for d in dtypes.ints if d is not dtypes.uint64]
    for left in (*kinds, dtypes.bool):
        for right in (*kinds, dtypes.bool):
            theirs = np.promote_types(NUMPY[left], NUMPY[right])
            assert NUMPY[least_upper_dtype(left, right)] == theirs
