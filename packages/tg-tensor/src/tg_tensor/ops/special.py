"""Special functions of one value: those of probability, signals and bits that only Tensors have.

`erfc` is the Chebyshev fit of Numerical Recipes (Press et al., section 6.2), `erfinv` the one of
Giles (2010), `i0` those of Abramowitz and Stegun, 9.8.1 and 9.8.2; each is good to about 1e-7.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self, TypeVar

from tg_uop import DType, dtypes
from tg_uop.dtype.value import FORMATS
from tg_uop.errors import DTypeError
from tg_uop.methods.error_function import erfc_double

from tg_tensor.ops.elementwise import TensorElementwiseOps

_ERFC = (
    0.17087277,
    -0.82215223,
    1.48851587,
    -1.13520398,
    0.27886807,
    -0.18628806,
    0.09678418,
    0.37409196,
    1.00002368,
    -1.26551223,
)
_ERFINV_NEAR = (
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
)
_ERFINV_FAR = (
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
)
_I0_NEAR = (0.0045813, 0.0360768, 0.2659732, 1.2067492, 3.0899424, 3.5156229, 1.0)
_I0_FAR = (
    0.00392377,
    -0.01647633,
    0.02635537,
    -0.02057706,
    0.00916281,
    -0.00157565,
    0.00225319,
    0.01328592,
    0.39894228,
)
# Stirling's series: Bernoulli numbers B(2k) / (2k (2k - 1)) and B(2k) / (2k), highest k first
_STIRLING = (-1 / 1680, 1 / 1260, -1 / 360, 1 / 12)
_DIGAMMA = (1 / 240, -1 / 252, 1 / 120, -1 / 12)
# from here on the series above are good to 1e-9
_STIRLING_FROM = 8


class SpecialOps(TensorElementwiseOps):
    """Functions of one value; an integer becomes the default float first, where that is needed."""

    __slots__ = ()

    def _is_narrow(self) -> bool:
        """Whether this is of half precision: what takes several steps is computed in float32."""
        return self.dtype.is_float and self.dtype.itemsize < 4

    # *** exponentials near 0 ***

    def expm1(self) -> Self:
        """exp(x) - 1, without loss for small x: (exp(x) + 1) tanh(x / 2) there."""
        if self._is_narrow():
            return self.float().expm1().cast(self.dtype)
        x = self._as_float()
        is_small = x.abs() < 1
        small = is_small.where(x, 0)
        near = (small.exp() + 1) * (small * 0.5).tanh()
        # zero keeps its sign
        near = small.eq(0).where(small, near)
        return is_small.where(near, x.exp() - 1)

    def log1p(self) -> Self:
        """log(1 + x), without loss for small x."""
        return self._as_float()._log1p()

    def logit(self, eps: float | None = None) -> Self:
        """log(x / (1 - x)), the inverse of the sigmoid; `eps` keeps x that far from 0 and 1."""
        x = self._as_float()
        if eps is not None:
            x = x.clip(eps, 1 - eps)
        return (x / (1 - x)).log()

    def sinc(self) -> Self:
        """sin(pi x) / (pi x), which is 1 at 0."""
        if self._is_narrow():
            return self.float().sinc().cast(self.dtype)
        x = self._as_float() * math.pi
        is_zero = x.eq(0)
        angle = is_zero.where(1, x)
        return is_zero.where(1, angle.sin() / angle)

    # *** angles ***

    def deg2rad(self) -> Self:
        """Degrees as radians."""
        return self._as_float() * (math.pi / 180)

    def rad2deg(self) -> Self:
        """Radians as degrees."""
        return self._as_float() * (180 / math.pi)

    # *** probability ***

    def erfc(self) -> Self:
        """1 - erf(x), without loss where that is small."""
        if self._is_narrow():
            return self.float().erfc().cast(self.dtype)
        x = self._as_float()
        if x._is_double():
            return erfc_double(x)
        size = x.abs()
        t = (size * 0.5 + 1).reciprocal()
        # a size below 16 cut to 8 bits after the point has an exact square
        cut = (size.minimum(16) * 256).trunc() * (1 / 256)
        rest = (cut - size) * (cut + size)
        tail = t * (-(cut * cut)).exp() * (_series(t, _ERFC) + rest).exp()
        far = (x < 0).where(2 - tail, tail)
        return (size < 0.5).where(1 - x.erf(), far)

    def erfinv(self) -> Self:
        """The value whose error function this is; infinite at -1 and 1, NaN outside."""
        if self._is_narrow():
            return self.float().erfinv().cast(self.dtype)
        x = self._as_float()
        inside = x.abs() < 1
        kept = inside.where(x, 0)
        size = -((1 - kept) * (1 + kept)).log()
        is_near = size < 5
        near = _series(is_near.where(size - 2.5, 0), _ERFINV_NEAR)
        far = _series(is_near.where(9, size).sqrt() - 3, _ERFINV_FAR)
        found = is_near.where(near, far) * kept
        end = (x < 0).where(x.ufix(-math.inf), math.inf)
        edge = x.abs().eq(1).where(end, math.nan)
        return inside.where(found, edge)

    def lgamma(self) -> Self:
        """log |gamma(x)| by Stirling's series; infinite at 0 and negative whole numbers."""
        if self._is_narrow():
            return self.float().lgamma().cast(self.dtype)
        x = self._as_float()
        mirrored = x < 0.5
        positive = mirrored.where(1 - x, x)
        value = positive._lgamma_positive()
        # gamma(x) gamma(1 - x) = pi / sin(pi x); the angle is taken from a whole number
        sine = ((x - x.round()) * math.pi).sin().abs()
        reflected = math.log(math.pi) - sine.log() - value
        found = mirrored.where(reflected, value)
        return x.isinf().where(math.inf, found)

    def _lgamma_positive(self) -> Self:
        product = self.const_like(1)
        shifted = self
        for _ in range(_STIRLING_FROM):
            below = shifted < _STIRLING_FROM
            product = below.where(product * shifted, product)
            shifted = below.where(shifted + 1, shifted)
        inverse = shifted.reciprocal()
        series = _series(inverse * inverse, _STIRLING) * inverse
        main = (shifted - 0.5) * shifted.log() - shifted + 0.5 * math.log(2 * math.pi)
        return main + series - product.log()

    def digamma(self) -> Self:
        """The derivative of `lgamma`; NaN at negative whole numbers, -inf at 0."""
        if self._is_narrow():
            return self.float().digamma().cast(self.dtype)
        x = self._as_float()
        mirrored = x < 0.5
        shifted = mirrored.where(1 - x, x)
        below: Self = shifted.const_like(0)
        for _ in range(_STIRLING_FROM):
            is_below = shifted < _STIRLING_FROM
            below = is_below.where(below + shifted.reciprocal(), below)
            shifted = is_below.where(shifted + 1, shifted)
        inverse = shifted.reciprocal()
        square = inverse * inverse
        value = shifted.log() - inverse * 0.5 + _series(square, _DIGAMMA) * square - below
        angle = (x - x.round()) * math.pi
        reflected = value - math.pi / angle.tan()
        found = mirrored.where(reflected, value)
        is_pole = x.eq(x.floor()) & (x < 0)
        at_pole = is_pole.where(math.nan, found)
        return x.eq(0).where(-(x.reciprocal()), at_pole)

    def i0(self) -> Self:
        """The modified Bessel function of the first kind and order 0."""
        if self._is_narrow():
            return self.float().i0().cast(self.dtype)
        x = self._as_float()
        size = x.abs()
        is_near = size < 3.75
        ratio = is_near.where(size, 0) * (1 / 3.75)
        near = _series(ratio * ratio, _I0_NEAR)
        far_size = is_near.where(3.75, size)
        far = _series(3.75 / far_size, _I0_FAR) * far_size.exp() / far_size.sqrt()
        return is_near.where(near, far)

    # *** parts of a number ***

    def frac(self) -> Self:
        """What follows the point, with the sign of the value."""
        return self - self.trunc()

    def signbit(self) -> Self:
        """Where the sign is set: below 0, and -0.0 and NaN by their bits."""
        if not self.dtype.is_float:
            return self < 0 if self.dtype.is_int else self & False
        return self.bitcast(integer_of(self.dtype)) < 0

    def frexp(self) -> tuple[Self, Self]:
        """Mantissa in [0.5, 1) and int32 exponent: mantissa * 2**exponent is the value."""
        x = self._as_float()
        if x.dtype.itemsize < 4:
            mantissa, exponent = x.float().frexp()
            return mantissa.cast(x.dtype), exponent
        bits, bias = dtypes.finfo(x.dtype).mantissa, 1022 if x.dtype.itemsize == 8 else 126
        # numbers below the normal ones are scaled up first
        is_tiny = (x.abs() < 2.0 ** (1 - bias)) & x.ne(0)
        scaled = is_tiny.where(x * 2.0 ** (bits + 1), x)
        word = scaled.bitcast(integer_of(x.dtype))
        field = (word >> bits) & (2 * bias + 3)
        exponent = (field - bias).cast(dtypes.int32) - is_tiny.where(bits + 1, 0)
        normal = word & ~((2 * bias + 3) << bits) | (bias << bits)
        is_special = x.eq(0) | x.isfinite().logical_not()
        mantissa = is_special.where(x, normal.bitcast(x.dtype))
        return mantissa, is_special.where(0, exponent)

    def nan_to_num(
        self, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
    ) -> Self:
        """NaN and infinities as numbers: 0 and the largest of the dtype if nothing else is said."""
        if not self.dtype.is_float:
            return self._itself()
        high = FORMATS[self.dtype].largest if posinf is None else posinf
        low = -FORMATS[self.dtype].largest if neginf is None else neginf
        below = self.eq(-math.inf).where(low, self)
        above = self.eq(math.inf).where(high, below)
        return self.isnan().where(nan, above)

    # *** questions ***

    def isposinf(self) -> Self:
        """Where the value is plus infinity."""
        return self.isinf(detect_negative=False)

    def isneginf(self) -> Self:
        """Where the value is minus infinity."""
        return self.isinf(detect_positive=False)

    def isreal(self) -> Self:
        """True everywhere: there are no complex numbers here."""
        return self.eq(self) | True

    # *** other names ***

    def positive(self) -> Self:
        """The value as it is. Raises `DTypeError` for bool, as `+` of NumPy does."""
        if self.dtype.is_bool:
            raise DTypeError(
                what="positive", dtypes=[self.dtype], reason="a bool has no sign", hint="cast first"
            )
        return self._itself()

    def negative(self) -> Self:
        """The value with the other sign."""
        return self.neg()

    def absolute(self) -> Self:
        """The distance from 0."""
        return self.abs()

    def sgn(self) -> Self:
        """See `sign`."""
        return self.sign()

    def fix(self) -> Self:
        """Rounded toward zero (see `trunc`)."""
        return self.trunc()

    def arccos(self) -> Self:
        """See `acos`."""
        return self.acos()

    def arcsin(self) -> Self:
        """See `asin`."""
        return self.asin()

    def arctan(self) -> Self:
        """See `atan`."""
        return self.atan()

    def arccosh(self) -> Self:
        """See `acosh`."""
        return self.acosh()

    def arcsinh(self) -> Self:
        """See `asinh`."""
        return self.asinh()

    def arctanh(self) -> Self:
        """See `atanh`."""
        return self.atanh()


S = TypeVar("S", bound=SpecialOps)


def _series(x: S, coefficients: Sequence[float]) -> S:
    """The polynomial with these coefficients, highest power first (Horner)."""
    value = x * coefficients[0] + coefficients[1]
    for coefficient in coefficients[2:]:
        value = value * x + coefficient
    return value


def integer_of(dtype: DType) -> DType:
    """The signed integer as wide as a dtype."""
    return {1: dtypes.int8, 2: dtypes.int16, 4: dtypes.int32, 8: dtypes.int64}[dtype.itemsize]
