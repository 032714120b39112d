"""Exact conversion between number types."""

from __future__ import annotations

import itertools
import struct
from math import copysign, inf, isnan, nan

import pytest
from tg_uop.dtype.dtype import ConstFloat, DType, dtypes
from tg_uop.dtype.value import (
    FORMATS,
    bitcast,
    const_value,
    convert,
    float_from_int,
    from_bits,
    from_bytes,
    round_float,
    to_bits,
    to_bytes,
)
from tg_uop.errors import DTypeError

NARROW = (dtypes.half, dtypes.bfloat16, *dtypes.fp8s)


@pytest.mark.parametrize("dtype", NARROW, ids=repr)
def test_every_bit_pattern_survives(dtype: DType) -> None:
    for bits in range(1 << dtype.bitsize):
        value = from_bits(bits, dtype)
        assert isinstance(value, float)
        assert to_bits(value, dtype) == bits
        if isnan(value):
            assert isnan(round_float(value, dtype))
            continue
        assert round_float(value, dtype) == value


@pytest.mark.parametrize("dtype", NARROW, ids=repr)
def test_rounding_takes_the_nearest_and_ties_to_even(dtype: DType) -> None:
    patterns = [b for b in range(1 << (dtype.bitsize - 1)) if abs(from_bits(b, dtype)) < inf]
    for low, high in itertools.pairwise(patterns):
        below, above = float(from_bits(low, dtype)), float(from_bits(high, dtype))
        middle = (below + above) / 2
        even = below if low % 2 == 0 else above
        assert round_float(middle, dtype) == even
        assert round_float(-middle, dtype) == -even
        assert round_float((below + middle) / 2, dtype) == below
        assert round_float((above + middle) / 2, dtype) == above


def test_largest_values_and_overflow() -> None:
    assert round_float(448.0, dtypes.fp8e4m3) == 448.0
    assert round_float(464.0, dtypes.fp8e4m3) == 448.0
    assert isnan(round_float(465.0, dtypes.fp8e4m3))
    assert isnan(round_float(inf, dtypes.fp8e4m3))
    assert round_float(57344.0, dtypes.fp8e5m2) == 57344.0
    assert round_float(61440.0, dtypes.fp8e5m2) == inf
    assert isnan(round_float(248.0, dtypes.fp8e4m3fnuz))
    assert isnan(round_float(-inf, dtypes.fp8e5m2fnuz))
    assert round_float(65519.0, dtypes.half) == 65504.0
    assert round_float(65520.0, dtypes.half) == inf
    assert round_float(-1e39, dtypes.float) == -inf
    assert round_float(3.4e38, dtypes.bfloat16) == inf
    assert round_float(1e300, dtypes.double) == 1e300
    for dtype in NARROW:
        limit = round_float(1.7976931348623157e308, dtype)
        assert limit == inf if FORMATS[dtype].has_inf else isnan(limit)


def test_negative_zero() -> None:
    for dtype in dtypes.floats:
        zero = round_float(-0.0, dtype)
        assert zero == 0.0
        assert copysign(1.0, zero) == (-1.0 if FORMATS[dtype].has_negative_zero else 1.0)


def test_known_encodings() -> None:
    assert to_bits(1.0, dtypes.half) == 0x3C00
    assert to_bits(1.0, dtypes.bfloat16) == 0x3F80
    assert to_bits(-2.0, dtypes.float) == 0xC0000000
    assert to_bits(1.0, dtypes.double) == 0x3FF0000000000000
    assert to_bits(1.0, dtypes.fp8e4m3) == 0x38
    assert to_bits(1.0, dtypes.fp8e5m2) == 0x3C
    assert to_bits(1.0, dtypes.fp8e4m3fnuz) == 0x40
    assert to_bits(1.0, dtypes.fp8e5m2fnuz) == 0x40
    assert to_bits(nan, dtypes.fp8e4m3) == 0x7F
    assert to_bits(nan, dtypes.fp8e5m2fnuz) == 0x80
    assert to_bits(True, dtypes.bool) == 1
    assert to_bits(-1, dtypes.int16) == 0xFFFF


def test_float_to_int_wraps_through_int64() -> None:
    assert convert(3.9, dtypes.int) == 3
    assert convert(-3.9, dtypes.int) == -3
    assert convert(300.0, dtypes.uint8) == 44
    assert convert(-1.0, dtypes.uint32) == 0xFFFFFFFF
    assert convert(2.0**32 + 5, dtypes.int32) == 5
    assert convert(nan, dtypes.int64) == 0
    assert convert(inf, dtypes.int64) == -(1 << 63)
    assert convert(-inf, dtypes.int32) == 0
    assert convert(1e30, dtypes.int32) == 0
    assert convert(1e30, dtypes.int64) == -(1 << 63)
    assert convert(2.0**63, dtypes.uint64) == 1 << 63
    assert convert(1e30, dtypes.weakint) == int(1e30)


def test_int_wraps() -> None:
    assert convert(128, dtypes.int8) == -128
    assert convert(-1, dtypes.uint64) == (1 << 64) - 1
    assert convert(1 << 70, dtypes.int32) == 0
    assert convert(1 << 70, dtypes.weakint) == 1 << 70
    assert convert(True, dtypes.int8) == 1
    assert type(convert(True, dtypes.int8)) is int


def test_to_bool() -> None:
    assert convert(nan, dtypes.bool) is True
    assert convert(-0.0, dtypes.bool) is False
    assert convert(256, dtypes.bool) is True


def test_int_to_float_rounds_once() -> None:
    # through float64 this would be a tie and go down
    value = (1 << 60) + (1 << 36) + 1
    assert float_from_int(value, dtypes.float) == float((1 << 60) + (1 << 37))
    assert float_from_int(-value, dtypes.float) == -float((1 << 60) + (1 << 37))
    assert convert((1 << 64) - 1, dtypes.double) == 2.0**64
    assert convert(10**400, dtypes.double) == inf
    assert convert(-(10**308) * 5, dtypes.double) == -inf
    assert convert(1 << 1023, dtypes.double) == 2.0**1023
    assert convert(100000, dtypes.half) == inf
    assert isnan(float(convert(100000, dtypes.fp8e4m3)))


def test_bitcast() -> None:
    assert bitcast(1.0, dtypes.float, dtypes.int32) == 0x3F800000
    assert bitcast(-1, dtypes.int32, dtypes.uint32) == 0xFFFFFFFF
    assert bitcast(0x3C00, dtypes.uint16, dtypes.half) == 1.0
    assert bitcast(-0.0, dtypes.double, dtypes.int64) == -(1 << 63)
    with pytest.raises(DTypeError, match="bytes"):
        bitcast(1.0, dtypes.float, dtypes.int64)
    with pytest.raises(DTypeError, match="no width"):
        to_bits(1, dtypes.weakint)
    with pytest.raises(DTypeError):
        round_float(1.0, dtypes.int)
    with pytest.raises(DTypeError, match="no values"):
        convert(1, dtypes.void)


@pytest.mark.parametrize("dtype", [dtypes.float, dtypes.double], ids=repr)
def test_payloads_of_nan_survive(dtype: DType) -> None:
    exponent = {dtypes.float: 0xFF << 23, dtypes.double: 0x7FF << 52}[dtype]
    sign = 1 << (dtype.bitsize - 1)
    for payload in (1, 5, 1 << 20, 1 << dtypes.finfo(dtype).mantissa - 1):
        for bits in (exponent | payload, sign | exponent | payload):
            assert isnan(float(from_bits(bits, dtype)))
            assert to_bits(from_bits(bits, dtype), dtype) == bits


def test_bytes() -> None:
    values = [1.0, -2.5, 0.0]
    assert to_bytes(values, dtypes.float) == struct.pack("<3f", *values)
    assert from_bytes(to_bytes(values, dtypes.bfloat16), dtypes.bfloat16) == values
    assert from_bytes(b"\x01\x00\x01", dtypes.bool) == [True, False, True]


def test_const_value() -> None:
    rounded = const_value(0.1, dtypes.half)
    assert type(rounded) is ConstFloat
    assert rounded == round_float(0.1, dtypes.half)
    assert const_value(300, dtypes.uint8) == 44
