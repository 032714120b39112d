"""Special functions of probability and the scaled Bessel functions, by the names of PyTorch.

The inverse of the normal distribution function is algorithm AS 241 (Wichura, 1988); in float32
`erfcx` is the fit of `erfc` in Numerical Recipes without its exponential.
"""

from __future__ import annotations

import math
from typing import Self

from tg_uop.methods.error_function import erfcx_double
from tg_uop.methods.polynomial import polynomial

from tg_tensor.ops.slopes import with_slope
from tg_tensor.ops.special import I0_FAR, I0_NEAR, SpecialOps, erfcx_single

_ROOT_HALF = math.sqrt(0.5)
# AS 241, highest power first: around a half, beside it, in the far tails
_MIDDLE_TOP = (
    2.5090809287301226727e3,
    3.3430575583588128105e4,
    6.7265770927008700853e4,
    4.5921953931549871457e4,
    1.3731693765509461125e4,
    1.9715909503065514427e3,
    1.3314166789178437745e2,
    3.3871328727963666080e0,
)
_MIDDLE_BOTTOM = (
    5.2264952788528545610e3,
    2.8729085735721942674e4,
    3.9307895800092710610e4,
    2.1213794301586595867e4,
    5.3941960214247511077e3,
    6.8718700749205790830e2,
    4.2313330701600911252e1,
    1.0,
)
_SIDE_TOP = (
    7.74545014278341407640e-4,
    2.27238449892691845833e-2,
    2.41780725177450611770e-1,
    1.27045825245236838258e0,
    3.64784832476320460504e0,
    5.76949722146069140550e0,
    4.63033784615654529590e0,
    1.42343711074968357734e0,
)
_SIDE_BOTTOM = (
    1.05075007164441684324e-9,
    5.47593808499534494600e-4,
    1.51986665636164571966e-2,
    1.48103976427480074590e-1,
    6.89767334985100004550e-1,
    1.67638483018380384940e0,
    2.05319162663775882187e0,
    1.0,
)
_TAIL_TOP = (
    2.01033439929228813265e-7,
    2.71155556874348757815e-5,
    1.24266094738807843860e-3,
    2.65321895265761230930e-2,
    2.96560571828504891230e-1,
    1.78482653991729133580e0,
    5.46378491116411436990e0,
    6.65790464350110377720e0,
)
_TAIL_BOTTOM = (
    2.04426310338993978564e-15,
    1.42151175831644588870e-7,
    1.84631831751005468180e-5,
    7.86869131145613259100e-4,
    1.48753612908506148525e-2,
    1.36929880922735805310e-1,
    5.99832206555887937690e-1,
    1.0,
)


class ProbabilityOps(SpecialOps):
    """Functions of one value around the normal distribution, entropy and waves."""

    __slots__ = ()

    # *** entropy ***

    @with_slope(lambda y, x: -x.log() - 1)
    def entr(self) -> Self:
        """-x log(x): 0 at 0, minus infinity below."""
        x = self._as_float()
        is_above = x > 0
        inside = -(x * is_above.where(x, 1).log())
        edge = (x < 0).where(x.ufix(-math.inf), 0)
        return (is_above | x.isnan()).where(inside, edge)

    # *** the normal distribution ***

    @with_slope(lambda y, x: (x * x * -0.5).exp() * (1 / math.sqrt(2 * math.pi)))
    def ndtr(self) -> Self:
        """The normal distribution function: the probability of a value below x."""
        return (self._as_float() * -_ROOT_HALF).erfc() * 0.5

    @with_slope(lambda y, x: math.sqrt(2 / math.pi) / (x * -_ROOT_HALF).erfcx())
    def log_ndtr(self) -> Self:
        """The logarithm of `ndtr`, without loss in the lower tail."""
        x = self._as_float()
        is_low = x < -1
        low = is_low.where(x, -1)
        tail = ((low * -_ROOT_HALF).erfcx() * 0.5).log() - low * low * 0.5
        return is_low.where(tail, (is_low.where(0, x * _ROOT_HALF).erfc() * -0.5).log1p())

    @with_slope(lambda y, x: (y * y * 0.5).exp() * math.sqrt(2 * math.pi))
    def ndtri(self) -> Self:
        """The value below which a normal number is with this probability; NaN outside 0 to 1."""
        p = self._as_float()
        inside = (p > 0) & (p < 1)
        kept = inside.where(p, 0.5)
        offset = kept - 0.5
        is_middle = offset.abs() <= 0.425
        square = 0.180625 - is_middle.where(offset * offset, 0)
        middle = offset * polynomial(square, _MIDDLE_TOP) / polynomial(square, _MIDDLE_BOTTOM)
        distance = (-(offset < 0).where(kept, 1 - kept).log()).sqrt()
        is_far = distance > 5
        beside = is_far.where(0, distance - 1.6)
        side = polynomial(beside, _SIDE_TOP) / polynomial(beside, _SIDE_BOTTOM)
        beyond = is_far.where(distance - 5, 0)
        tail = is_far.where(polynomial(beyond, _TAIL_TOP) / polynomial(beyond, _TAIL_BOTTOM), side)
        found = is_middle.where(middle, (offset < 0).where(-tail, tail))
        end = p.eq(1).where(p.ufix(math.inf), math.nan)
        return inside.where(found, p.eq(0).where(-math.inf, end))

    @with_slope(lambda y, x: x * y * 2 - 2 / math.sqrt(math.pi))
    def erfcx(self) -> Self:
        """exp(x^2) erfc(x), which does not vanish for large x."""
        x = self._as_float()
        return erfcx_double(x) if x._is_double() else erfcx_single(x)

    # *** Bessel functions ***

    @with_slope(lambda y, x: x.i1e() - x.sign() * y)
    def i0e(self) -> Self:
        """`i0` times exp(-|x|)."""
        return self._as_float()._bessel(I0_NEAR, I0_FAR, scaled=True)

    @with_slope(lambda y, x: x.eq(0).where(0.5, x.i0() - y / x.eq(0).where(1, x)))
    def i1(self) -> Self:
        """The modified Bessel function of the first kind and order 1."""
        return self._as_float()._i1()

    @with_slope(lambda y, x: x.eq(0).where(0.5, x.i0e() - y * (x.sign() + 1 / x.eq(0).where(1, x))))
    def i1e(self) -> Self:
        """`i1` times exp(-|x|)."""
        return self._as_float()._odd_bessel(scaled=True)
