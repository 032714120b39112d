"""Exact values of number types: rounding, wrapping, bits.

A value of a bool dtype is a `bool`, of an integer dtype an `int`, of a float dtype a `float`
(float64 holds every value of the narrower types exactly). Narrow floats follow IEEE 754
round-to-nearest-even; the fp8 formats are those of the Open Compute Project's OFP8 specification
and, with the suffix fnuz (finite, nan, unsigned zero), of Noune et al., "8-bit Numerical Formats
for Deep Neural Networks", 2022.
"""

from __future__ import annotations

from collections.abc import Callable
from math import copysign, frexp, inf, isnan, ldexp, nan
from struct import Struct
from typing import NamedTuple

from tg_uop.dtype.dtype import ConstFloat, DType, dtypes, int_from_float, wrap_int
from tg_uop.errors import DTypeError

Value = bool | int | float


class FloatFormat(NamedTuple):
    """The encoding of a float type.

    `nan_bits` is the NaN that conversions give. Formats without infinity overflow to NaN, and
    those without a negative zero have their only NaN in its place.
    """

    exponent: int
    mantissa: int
    bias: int
    largest: float
    has_inf: bool
    has_negative_zero: bool
    nan_bits: int

    @property
    def lowest_exponent(self) -> int:
        """Exponent of the smallest normal number."""
        return 1 - self.bias

    @property
    def width(self) -> int:
        """Bits of a value."""
        return 1 + self.exponent + self.mantissa


def _ieee(exponent: int, mantissa: int) -> FloatFormat:
    bias = (1 << (exponent - 1)) - 1
    largest = ldexp(2.0 - ldexp(1.0, -mantissa), bias)
    quiet = ((1 << exponent) - 1) << mantissa | 1 << (mantissa - 1)
    return FloatFormat(exponent, mantissa, bias, largest, True, True, quiet)


FORMATS: dict[DType, FloatFormat] = {
    dtypes.float64: _ieee(11, 52),
    dtypes.float32: _ieee(8, 23),
    dtypes.float16: _ieee(5, 10),
    dtypes.bfloat16: _ieee(8, 7),
    dtypes.fp8e5m2: _ieee(5, 2),
    dtypes.fp8e4m3: FloatFormat(4, 3, 7, 448.0, False, True, 0x7F),
    dtypes.fp8e4m3fnuz: FloatFormat(4, 3, 8, 240.0, False, False, 0x80),
    dtypes.fp8e5m2fnuz: FloatFormat(5, 2, 16, 57344.0, False, False, 0x80),
}

_FLOAT = Struct("<f")
_HALF = Struct("<e")
_DOUBLE_BITS = Struct("<d")
_UINT64 = Struct("<Q")


# *** rounding ***


def _round_float32(value: float) -> float:
    try:
        rounded: float = _FLOAT.unpack(_FLOAT.pack(value))[0]
    except OverflowError:
        return copysign(inf, value)
    return rounded


def _round_float16(value: float) -> float:
    try:
        rounded: float = _HALF.unpack(_HALF.pack(value))[0]
    except OverflowError:
        return copysign(inf, value)
    return rounded


def _round_generic(layout: FloatFormat) -> Callable[[float], float]:
    lowest, mantissa, largest = layout.lowest_exponent, layout.mantissa, layout.largest
    overflow = inf if layout.has_inf else nan
    signed_zero = layout.has_negative_zero

    def rounded(value: float) -> float:
        if isnan(value):
            return value
        if abs(value) >= 2.0 * largest:
            return copysign(overflow, value)
        step = max(frexp(value)[1] - 1, lowest) - mantissa
        # scaling by a power of two is exact here, and round() takes ties to even
        result = ldexp(round(ldexp(value, -step)), step)
        if abs(result) > largest:
            return copysign(overflow, value)
        if result == 0.0:
            return copysign(0.0, value) if signed_zero else 0.0
        return result

    return rounded


def _unchanged(value: float) -> float:
    return float(value)


_ROUNDERS: dict[DType, Callable[[float], float]] = {
    dtype: _round_generic(layout) for dtype, layout in FORMATS.items()
}
_ROUNDERS[dtypes.float64] = _unchanged
_ROUNDERS[dtypes.float32] = _round_float32
_ROUNDERS[dtypes.float16] = _round_float16


def rounder(dtype: DType) -> Callable[[float], float]:
    """The function that rounds a float to the nearest value of a float type, ties to even.

    Raises `DTypeError` for other types.
    """
    found = _ROUNDERS.get(dtype.scalar())
    if found is None:
        raise DTypeError(what="rounding", dtypes=[dtype], reason="it is no float type")
    return found


def round_float(value: float, dtype: DType) -> float:
    """`value` as the nearest value of a float type, ties to even; too large is inf or NaN."""
    return rounder(dtype)(value)


def float_from_int(value: int, dtype: DType) -> float:
    """An integer as the nearest value of a float type, rounded once."""
    length = value.bit_length()
    if length <= 53:
        return rounder(dtype)(float(value))
    precision = FORMATS[dtype.scalar()].mantissa + 1
    shift = length - precision
    kept, rest = abs(value) >> shift, abs(value) & ((1 << shift) - 1)
    half = 1 << (shift - 1)
    if rest > half or (rest == half and kept & 1):
        kept += 1
    if length > 1024:
        return rounder(dtype)(-inf if value < 0 else inf)
    try:
        exact = ldexp(float(kept), shift)
    except OverflowError:
        exact = inf
    return rounder(dtype)(-exact if value < 0 else exact)


# *** conversion ***


def convert(value: Value, dtype: DType) -> Value:
    """`value` converted to a scalar dtype, as CAST does.

    Float to integer truncates (see `int_from_float`), integers wrap, floats round to nearest even,
    everything but zero is True.
    """
    if dtype.is_float:
        if isinstance(value, float):
            return rounder(dtype)(value)
        return float_from_int(int(value), dtype)
    if dtype.is_bool:
        return value != 0
    if dtype.is_int:
        if isinstance(value, float):
            return int_from_float(value, dtype)
        return wrap_int(int(value), dtype)
    raise DTypeError(what="conversion", dtypes=[dtype], reason="it has no values")


truncate = convert


def const_value(value: Value, dtype: DType) -> Value:
    """`value` converted as `convert` does, in the type that a CONST of `dtype` carries."""
    converted = convert(value, dtype)
    return ConstFloat(converted) if dtype.is_float else converted


# *** bits ***


def to_bits(value: Value, dtype: DType) -> int:
    """The bits of a value of `dtype` as an unsigned integer.

    The value is converted first. Raises `DTypeError` for a dtype without bits.
    """
    scalar = dtype.scalar()
    if scalar.is_float:
        is_nan = isinstance(value, float) and isnan(value)
        # rounding would make a signalling NaN a quiet one
        rounded = value if is_nan else convert(value, scalar)
        return float_to_bits(float(rounded), FORMATS[scalar])
    if scalar is dtypes.weakint:
        raise DTypeError(what="bits", dtypes=[dtype], reason="an exact integer has no width")
    return int(convert(value, scalar)) & ((1 << scalar.itemsize * 8) - 1)


def float_to_bits(value: float, layout: FloatFormat) -> int:
    """The bits of a float that the format holds exactly; a NaN keeps what fits of its payload."""
    if isnan(value):
        return _nan_to_bits(value, layout)
    sign = int(copysign(1.0, value) < 0.0) << (layout.width - 1)
    magnitude = abs(value)
    if magnitude == inf:
        return sign | ((1 << layout.exponent) - 1) << layout.mantissa
    if magnitude == 0.0:
        return sign if layout.has_negative_zero else 0
    exponent = frexp(magnitude)[1] - 1
    if exponent < layout.lowest_exponent:
        return sign | int(ldexp(magnitude, layout.mantissa - layout.lowest_exponent))
    significand = int(ldexp(magnitude, layout.mantissa - exponent))
    stored = significand - (1 << layout.mantissa)
    return sign | (exponent + layout.bias) << layout.mantissa | stored


def float_from_bits(bits: int, layout: FloatFormat) -> float:
    """The float that these bits encode."""
    sign = -1.0 if bits >> (layout.width - 1) & 1 else 1.0
    exponent = bits >> layout.mantissa & ((1 << layout.exponent) - 1)
    stored = bits & ((1 << layout.mantissa) - 1)
    if not layout.has_negative_zero and bits == layout.nan_bits:
        return nan
    top = (1 << layout.exponent) - 1
    if exponent == top and layout.has_inf:
        return _nan_from_bits(bits, layout) if stored else copysign(inf, sign)
    if exponent == top and layout.has_negative_zero and stored == (1 << layout.mantissa) - 1:
        return copysign(nan, sign)
    if exponent == 0:
        return copysign(ldexp(float(stored), layout.lowest_exponent - layout.mantissa), sign)
    significand = stored + (1 << layout.mantissa)
    return copysign(ldexp(float(significand), exponent - layout.bias - layout.mantissa), sign)


def _nan_from_bits(bits: int, layout: FloatFormat) -> float:
    """A float64 NaN with the sign and, at its top, the payload of these bits."""
    sign = bits >> (layout.width - 1) & 1
    payload = (bits & ((1 << layout.mantissa) - 1)) << (52 - layout.mantissa)
    value: float = _DOUBLE_BITS.unpack(_UINT64.pack(sign << 63 | 0x7FF << 52 | payload))[0]
    return value


def _nan_to_bits(value: float, layout: FloatFormat) -> int:
    if not layout.has_negative_zero:
        return layout.nan_bits
    bits: int = _UINT64.unpack(_DOUBLE_BITS.pack(value))[0]
    sign = bits >> 63 << (layout.width - 1)
    payload = (bits & ((1 << 52) - 1)) >> (52 - layout.mantissa)
    if not layout.has_inf or payload == 0:
        return sign | layout.nan_bits
    return sign | ((1 << layout.exponent) - 1) << layout.mantissa | payload


def from_bits(bits: int, dtype: DType) -> Value:
    """The value of `dtype` that these bits (an unsigned integer) encode."""
    scalar = dtype.scalar()
    if scalar is dtypes.float64:
        value: float = _DOUBLE_BITS.unpack(_UINT64.pack(bits))[0]
        return value
    if scalar.is_float:
        return float_from_bits(bits, FORMATS[scalar])
    if scalar.is_bool:
        return bool(bits & 1)
    return wrap_int(bits, scalar)


def bitcast(value: Value, source: DType, target: DType) -> Value:
    """The value of `target` with the bits of a value of `source`.

    Raises `DTypeError` when their sizes differ.
    """
    if source.itemsize != target.itemsize:
        raise DTypeError(
            what="bitcast",
            dtypes=[source, target],
            reason=f"one has {source.itemsize} bytes, the other {target.itemsize}",
        )
    return from_bits(to_bits(value, source), target)


def to_bytes(values: list[Value] | tuple[Value, ...], dtype: DType) -> bytes:
    """The values as little-endian memory."""
    size = dtype.scalar().itemsize
    return b"".join(to_bits(value, dtype).to_bytes(size, "little") for value in values)


def from_bytes(data: bytes, dtype: DType) -> list[Value]:
    """The values in little-endian memory."""
    size = dtype.scalar().itemsize
    return [
        from_bits(int.from_bytes(data[at : at + size], "little"), dtype)
        for at in range(0, len(data) - size + 1, size)
    ]
