"""Remainders of floats without rounding, for quotients of any size.

A float is a whole number m times a power of two. What x = mx 2^ex leaves by y = my 2^ey is 2^ey
times (mx 2^(ex - ey)) mod my; the power of two is taken modulo my by repeated squaring. A product
modulo my needs no wider integers: the quotient is estimated in floats, to within a few units, and
the low bits of the rest say the rest.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeVar

from tg_uop import dtypes

from tg_tensor.ops.special import SpecialOps, integer_of

S = TypeVar("S", bound=SpecialOps)

# squarings by item size: the first power, 2^(distance >> squarings), has to fit a significand
_SQUARINGS = {4: 4, 8: 6}


class _Parts(NamedTuple):
    """A size as `significand` times a power of two, and where that power stands among others."""

    significand: SpecialOps
    place: SpecialOps


def exact_remainder(x: S, divisor: S) -> S:
    """What division of float32 or float64 that truncates leaves, with the sign of `x`.

    By 0 and of an infinity NaN; an infinite divisor leaves everything.
    """
    whole, size = _parts(x), divisor.abs()
    by = _parts(divisor)
    # of a divisor of 0 something that can be divided by
    modulus = by.significand.maximum(1)
    distance = whole.place - by.place
    rest = _times(_power(distance.maximum(0), modulus), whole.significand, modulus)
    value = rest.cast(x.dtype) * (size / modulus.cast(x.dtype))
    left = (distance < 0).where(x.abs(), value)
    signed = x.signbit().where(-left, left)
    found = (divisor.isinf()).where(x, signed)
    is_number = x.isfinite() & size.ne(0) & size.eq(size)
    return is_number.where(found, math.nan)  # type: ignore[no-any-return]


def _parts(x: SpecialOps) -> _Parts:
    bits = dtypes.finfo(x.dtype).mantissa
    hidden = 1 << bits
    word = x.bitcast(integer_of(x.dtype))
    exponent = (word >> bits) & (0xFF if x.dtype.itemsize == 4 else 0x7FF)
    fraction = word & (hidden - 1)
    # below the normal numbers there is no hidden bit
    return _Parts(exponent.eq(0).where(fraction, fraction + hidden), exponent.maximum(1))


def _power(exponent: SpecialOps, modulus: SpecialOps) -> SpecialOps:
    """2^exponent modulo a significand."""
    squarings = _SQUARINGS[modulus.dtype.itemsize]
    one = exponent.const_like(1)
    power = _times(one << (exponent >> squarings), one, modulus)
    for step in range(squarings - 1, -1, -1):
        power = _times(power, power, modulus)
        doubled = power << ((exponent >> step) & 1)
        power = _less(doubled, modulus)
    return power


def _times(a: SpecialOps, b: SpecialOps, modulus: SpecialOps) -> SpecialOps:
    """The product modulo a significand, of factors whose quotient by it is one as well."""
    kind = dtypes.float32 if modulus.dtype.itemsize == 4 else dtypes.float64
    quotient = (a.cast(kind) * b.cast(kind) / modulus.cast(kind)).cast(modulus.dtype)
    # two roundings and a truncation: off by -2 to 3 moduli, and so small that nothing wraps
    rest = a * b - quotient * modulus
    above = (rest < 0).where(rest + modulus * 2, rest)
    return _less(_less(above, modulus * 2), modulus)


def _less(x: SpecialOps, amount: SpecialOps) -> SpecialOps:
    return (x < amount).where(x, x - amount)
