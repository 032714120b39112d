"""Conversion of narrow floats (bfloat16, float16, fp8) by bits: exact, ties to even.

Inside a kernel a narrow value is a float32 that the narrow format holds exactly. `rounded` makes
one, `encoded` and `decoded` go to and from the bits that memory holds.
"""

from __future__ import annotations

from math import inf, nan

from tg_uop import DType, Ops, UOp, dtypes
from tg_uop.dtype.value import FORMATS, FloatFormat, to_bits

from tg_codegen.legalize.arithmetic import SINGLE, absolute

STORAGE = {8: dtypes.uint8, 16: dtypes.uint16}
MAGNITUDE_BITS = (1 << 31) - 1


def storage_dtype(dtype: DType) -> DType:
    """The unsigned integer that holds a narrow float in memory."""
    return STORAGE[8 * dtype.scalar().itemsize].vec(dtype.count)


def _bits_of(x: UOp) -> UOp:
    return x.bitcast(dtypes.uint32.vec(x.dtype.count))


def _float_of(bits: UOp) -> UOp:
    return bits.bitcast(dtypes.float32.vec(bits.dtype.count))


def _dropped_bits(layout: FloatFormat) -> int:
    """How many bits of a float32's mantissa the format lacks."""
    return SINGLE.mantissa - layout.mantissa


def _has_wide_exponent(layout: FloatFormat) -> bool:
    """Whether the exponent is that of float32 (bfloat16): no subnormal or overflow of its own."""
    return layout.bias == SINGLE.bias


def _copy_sign(magnitude: UOp, x: UOp) -> UOp:
    """`magnitude`, which has no sign, with the sign of x."""
    return _float_of(_bits_of(magnitude) | (_bits_of(x) & ~MAGNITUDE_BITS % (1 << 32)))


# *** rounding ***


def rounded(x: UOp, dtype: DType) -> UOp:
    """The float32 `x` rounded to the values of a narrow dtype."""
    layout = FORMATS[dtype.scalar()]
    result = _rounded_normal(x, layout)
    if not _has_wide_exponent(layout):
        is_small = absolute(x, SINGLE) < 2.0**layout.lowest_exponent
        result = is_small.where(_rounded_subnormal(x, layout), result)
        is_large = x.ufix(layout.largest).alu(Ops.CMPLT, absolute(result, SINGLE))
        overflow = _copy_sign(x.ufix(inf), x) if layout.has_inf else x.ufix(nan)
        result = is_large.where(overflow, result)
    if not layout.has_negative_zero:
        result = result.eq(0.0).where(x.ufix(0.0), result)
    return x.eq(x).where(result, x.ufix(nan))


def _rounded_normal(x: UOp, layout: FloatFormat) -> UOp:
    """Half of the last place is added, a little less before an even digit, and the rest cut off.

    A carry goes on into the exponent, and from the largest one to infinity, which stays itself.
    """
    dropped = _dropped_bits(layout)
    bits = _bits_of(x)
    last = (bits >> dropped) & 1
    summed = bits + (last + ((1 << (dropped - 1)) - 1))
    return _float_of(summed & ((1 << 32) - (1 << dropped)))


def _rounded_subnormal(x: UOp, layout: FloatFormat) -> UOp:
    """The sum with a number whose last place is that of the subnormals is rounded there.

    The sign of a result of 0 would be lost.
    """
    magic = 1.5 * 2.0 ** (SINGLE.mantissa + layout.lowest_exponent - layout.mantissa)
    size = absolute(x, SINGLE)
    return _copy_sign((size + magic) - magic, x)


def to_single_odd(x: UOp) -> UOp:
    """The float64 `x` as a float32 that tells on which side of a tie it was: an inexact result is
    the neighbour with an odd last bit (Boldo and Melquiond, 2008), so that rounding it further to a
    narrow format rounds correctly.
    """
    single = dtypes.float32.vec(x.dtype.count)
    nearest = x.cast(single)
    back = nearest.cast(x.dtype)
    bits = _bits_of(nearest)
    is_inexact = x.ne(back) & x.eq(x)
    is_even = (bits & 1).eq(0)
    # the magnitude of x is above that of the nearest float32, or below
    bits_type = dtypes.uint64.vec(x.dtype.count)
    magnitude = (1 << 63) - 1
    is_above = (back.bitcast(bits_type) & magnitude) < (x.bitcast(bits_type) & magnitude)
    neighbour = is_above.where(bits + 1, bits - 1)
    return _float_of((is_inexact & is_even).where(neighbour, bits))


# *** memory ***


def encoded(x: UOp, dtype: DType) -> UOp:
    """The bits of a float32 that the narrow dtype holds exactly."""
    layout = FORMATS[dtype.scalar()]
    storage = storage_dtype(dtype)
    dropped = _dropped_bits(layout)
    if _has_wide_exponent(layout):
        return (_bits_of(x) >> dropped).cast(storage)
    scaled = _bits_of(x * 2.0 ** (layout.bias - SINGLE.bias))
    magnitude = (scaled & MAGNITUDE_BITS) >> dropped
    if layout.has_inf:
        is_infinite = x.ufix(layout.largest).alu(Ops.CMPLT, absolute(x, SINGLE))
        magnitude = is_infinite.where(magnitude.ufix(to_bits(inf, dtype)), magnitude)
    sign = (_bits_of(x) >> 31) << (layout.width - 1)
    bits = sign | magnitude
    if not layout.has_negative_zero:
        # these bits are NaN; a negation may have made a negative zero
        bits = x.eq(0.0).where(bits.ufix(0), bits)
    return x.eq(x).where(bits, bits.ufix(layout.nan_bits)).cast(storage)


def decoded(stored: UOp, dtype: DType) -> UOp:
    """The float32 with the value of a narrow dtype's bits."""
    layout = FORMATS[dtype.scalar()]
    dropped = _dropped_bits(layout)
    bits = stored.cast(dtypes.uint32.vec(stored.dtype.count))
    if _has_wide_exponent(layout):
        return _float_of(bits << dropped)
    magnitude = bits & ((1 << (layout.width - 1)) - 1)
    size = _float_of(magnitude << dropped) * 2.0 ** (SINGLE.bias - layout.bias)
    largest = to_bits(layout.largest, dtype)
    is_special = magnitude.ufix(largest).alu(Ops.CMPLT, magnitude)
    special = size.ufix(nan)
    if layout.has_inf:
        special = magnitude.eq(largest + 1).where(size.ufix(inf), special)
    result = is_special.where(special, size)
    sign = (bits >> (layout.width - 1)) << 31
    signed = _float_of(_bits_of(result) | sign)
    if layout.has_negative_zero:
        return signed
    return bits.eq(layout.nan_bits).where(size.ufix(nan), signed)
