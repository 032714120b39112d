"""Special functions of one value: those of probability, signals and bits that only Tensors have.

`erfc` is the Chebyshev fit of Numerical Recipes (Press et al., section 6.2), `erfinv` the one of
Giles (2010), `i0` and its derivative those of Abramowitz and Stegun, 9.8.1 to 9.8.4; each is good
to about 1e-7.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self, TypeVar

from tg_uop import DType, dtypes
from tg_uop.dtype.value import FORMATS
from tg_uop.errors import DTypeError
from tg_uop.methods.error_function import erfc_double, exp_of_square

from tg_tensor.ops.gamma import GammaOps
from tg_tensor.ops.slopes import with_slope

S = TypeVar("S", bound="SpecialOps")

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
# from the digits of float32, which the tail beyond 1 - 1e-7 lacks, to those of float64
_ERFINV_STEPS = 3
I0_NEAR = (0.0045813, 0.0360768, 0.2659732, 1.2067492, 3.0899424, 3.5156229, 1.0)
I0_FAR = (
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
_I1_NEAR = (0.00032411, 0.00301532, 0.02658733, 0.15084934, 0.51498869, 0.87890594, 0.5)
_I1_FAR = (
    -0.00420059,
    0.01787654,
    -0.02895312,
    0.02282967,
    -0.01031555,
    0.00163801,
    -0.00362018,
    -0.03988024,
    0.39894228,
)
# below this angle the slope of sin(a) / a is a series
_SINC_NEAR = 0.5
_SINC_SLOPE = (-1 / 45360, 1 / 840, -1 / 30, 1 / 3)


def _sinc_slope(y: S, x: S) -> S:
    """The derivative of sin(a) / a at a = pi x, times pi: (cos a - sin(a) / a) / x."""
    angle = x * math.pi
    is_near = angle.abs() < _SINC_NEAR
    small = is_near.where(angle, 0)
    near = small * _series(small * small, _SINC_SLOPE) * -math.pi
    large = is_near.where(1, x)
    return is_near.where(near, ((large * math.pi).cos() - y) / large)


class SpecialOps(GammaOps):
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
        return x._logit()

    @with_slope(lambda y, x: ((x >= 0) & (x <= 1)).where(1 / (x * (1 - x)), math.nan))
    def _logit(self) -> Self:
        return (self / (1 - self)).log()

    @with_slope(_sinc_slope)
    def sinc(self) -> Self:
        """sin(pi x) / (pi x), which is 1 at 0."""
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

    @with_slope(lambda y, x: (-(x * x)).exp() * (-2 / math.sqrt(math.pi)))
    def erfc(self) -> Self:
        """1 - erf(x), without loss where that is small."""
        x = self._as_float()
        if x._is_double():
            return erfc_double(x)
        size = x.abs()
        t, logarithm = _erfc_fit(size)
        # a size below 16 cut to 8 bits after the point has an exact square
        cut = (size.minimum(16) * 256).trunc() * (1 / 256)
        rest = (cut - size) * (cut + size)
        tail = t * (-(cut * cut)).exp() * (logarithm + rest).exp()
        far = (x < 0).where(2 - tail, tail)
        return (size < 0.5).where(1 - x.erf(), far)

    @with_slope(lambda y, x: (y * y).exp() * (math.sqrt(math.pi) / 2))
    def erfinv(self) -> Self:
        """The value whose error function this is; infinite at -1 and 1, NaN outside."""
        x = self._as_float()
        inside = x.abs() < 1
        kept = inside.where(x, 0)
        size = -((1 - kept) * (1 + kept)).log()
        is_near = size < 5
        near = _series(is_near.where(size - 2.5, 0), _ERFINV_NEAR)
        far = _series(is_near.where(9, size).sqrt() - 3, _ERFINV_FAR)
        found = is_near.where(near, far) * kept
        if x._is_double():
            for _ in range(_ERFINV_STEPS):
                found = _erfinv_improved(found, kept)
        end = (x < 0).where(x.ufix(-math.inf), math.inf)
        edge = x.abs().eq(1).where(end, math.nan)
        return inside.where(found, edge)

    @with_slope(lambda y, x: x._i1())
    def i0(self) -> Self:
        """The modified Bessel function of the first kind and order 0."""
        return self._as_float()._bessel(I0_NEAR, I0_FAR, scaled=False)

    def _i1(self) -> Self:
        """The modified Bessel function of order 1, which is the derivative of `i0`."""
        return self._odd_bessel(scaled=False)

    def _odd_bessel(self, *, scaled: bool) -> Self:
        size = self.abs()._bessel(_I1_NEAR, _I1_FAR, scaled=scaled, odd=True)
        return (self < 0).where(-size, self.eq(0).where(self, size))

    def _bessel(
        self, near: Sequence[float], far: Sequence[float], *, scaled: bool, odd: bool = False
    ) -> Self:
        """A modified Bessel function of |x|; `scaled` by exp(-|x|), and times |x| near 0 if odd."""
        size = self.abs()
        is_near = size < 3.75
        small = is_near.where(size, 0)
        ratio = small * (1 / 3.75)
        beside = _series(ratio * ratio, near)
        if odd:
            beside = beside * small
        large = is_near.where(3.75, size)
        beyond = _series(3.75 / large, far)
        if scaled:
            return is_near.where(beside * (-small).exp(), beyond / large.sqrt())
        return is_near.where(beside, beyond * (large.exp() / large.sqrt()))

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


def _series(x: S, coefficients: Sequence[float]) -> S:
    """The polynomial with these coefficients, highest power first (Horner)."""
    value = x * coefficients[0] + coefficients[1]
    for coefficient in coefficients[2:]:
        value = value * x + coefficient
    return value


def _erfc_fit(size: S) -> tuple[S, S]:
    """A factor and a logarithm, whose product with exp(-size^2) is the complement of erf."""
    t = (size * 0.5 + 1).reciprocal()
    return t, _series(t, _ERFC)


def erfcx_single(x: S) -> S:
    """exp(x^2) erfc(x) of float32 values."""
    size = x.abs()
    t, logarithm = _erfc_fit(size)
    tail = t * logarithm.exp()
    return (x < 0).where(exp_of_square(size) * 2 - tail, tail)


def _erfinv_improved(y: S, x: S) -> S:
    """One step of Halley's method toward erf(y) = x."""
    size = y.abs()
    # beside 1 the complement has the digits that matter
    above = (x.abs() < 0.5).where(size.erf() - x.abs(), (1 - x.abs()) - size.erfc())
    step = above * (size * size).exp() * (math.sqrt(math.pi) / 2)
    better = size - step / (step * size + 1)
    return (y < 0).where(-better, y.eq(0).where(y, better))


def integer_of(dtype: DType) -> DType:
    """The signed integer as wide as a dtype."""
    return {1: dtypes.int8, 2: dtypes.int16, 4: dtypes.int32, 8: dtypes.int64}[dtype.itemsize]
