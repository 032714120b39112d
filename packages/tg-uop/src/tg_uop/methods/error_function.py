"""The error function, and its complement in float64.

In float64 by the rational approximations of W. J. Cody, "Rational Chebyshev approximations for the
error function", Math. Comp. 23 (1969): relative errors below 1e-16 in each of three ranges. In
float32 near 0 with the coefficients of Cephes (S. Moshier); those elsewhere are fitted to the
logarithm of the complement, which needs no division.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

from tg_uop.methods.arithmetic import ArithmeticMixin
from tg_uop.methods.polynomial import polynomial

V = TypeVar("V", bound=ArithmeticMixin)

# highest power first
_NEAR_TOP = (
    1.85777706184603153e-1,
    3.16112374387056560e0,
    1.13864154151050156e2,
    3.77485237685302021e2,
    3.20937758913846947e3,
)
_NEAR_BOTTOM = (
    1.0,
    2.36012909523441209e1,
    2.44024637934444173e2,
    1.28261652607737228e3,
    2.84423683343917062e3,
)
_MIDDLE_TOP = (
    2.15311535474403846e-8,
    5.64188496988670089e-1,
    8.88314979438837594e0,
    6.61191906371416295e1,
    2.98635138197400131e2,
    8.81952221241769090e2,
    1.71204761263407058e3,
    2.05107837782607147e3,
    1.23033935479799725e3,
)
_MIDDLE_BOTTOM = (
    1.0,
    1.57449261107098347e1,
    1.17693950891312499e2,
    5.37181101862009858e2,
    1.62138957456669019e3,
    3.29079923573345963e3,
    4.36261909014324716e3,
    3.43936767414372164e3,
    1.23033935480374942e3,
)
_FAR_TOP = (
    1.63153871373020978e-2,
    3.05326634961232344e-1,
    3.60344899949804439e-1,
    1.25781726111229246e-1,
    1.60837851487422766e-2,
    6.58749161529837803e-4,
)
_FAR_BOTTOM = (
    1.0,
    2.56852019228982242e0,
    1.87295284992346725e0,
    5.27905102951428412e-1,
    6.05183413124413191e-2,
    2.33520497626869185e-3,
)
_SINGLE_NEAR = (
    7.853861353153693e-5,
    -8.010193625184903e-4,
    5.188327685732524e-3,
    -2.685381193529856e-2,
    1.128358514861418e-1,
    -3.761262582423300e-1,
    1.128379165726710e0,
)
# log(1 - erf(x)) from 0.95 on, by weighted least squares: the error of erf is the least, 2e-8
_SINGLE_FAR = (
    -1.20042742e-3,
    1.51792121e-2,
    -8.98905727e-2,
    -6.5256622e-1,
    -1.11887734e0,
    -2.25003673e-3,
)
_NEAR = 0.46875
_FAR = 4.0
# from here on erfc is 0, and a square of it is still finite
_NOTHING_FROM = 28.0
# a number below 28 cut to 20 bits after the point has an exact square
_CUT = 2.0**20


def erf_single(x: V) -> V:
    """The error function of float32 values."""
    size = x.abs()  # type: ignore[attr-defined]
    near = polynomial(x * x, _SINGLE_NEAR) * x
    tail = 1 - polynomial(size, _SINGLE_FAR).exp()
    return (size < 1).where(near, (x < 0).where(-tail, tail))  # type: ignore[no-any-return]


def erf_double(x: V) -> V:
    """The error function of float64 values."""
    size = _size(x)
    tail = 1 - _complement(size)
    return (size < _NEAR).where(_near(x, size), (x < 0).where(-tail, tail))


def erfc_double(x: V) -> V:
    """1 - erf(x) of float64 values, without loss where that is small."""
    size = _size(x)
    tail = _complement(size)
    return (size < _NEAR).where(1 - _near(x, size), (x < 0).where(2 - tail, tail))


def erfcx_double(x: V) -> V:
    """exp(x^2) erfc(x) of float64 values, which does not vanish for large x."""
    size = _size(x)
    tail = _scaled_complement(size)
    growth = exp_of_square(size)
    near = growth * (1 - _near(x, size))
    return (size < _NEAR).where(near, (x < 0).where(2 * growth - tail, tail))


def exp_of_square(size: V) -> V:
    """exp(size^2) with all digits; infinite where that is too large."""
    kept = (size > _NOTHING_FROM).where(_NOTHING_FROM, size)
    cut = (kept * _CUT).trunc() * (1 / _CUT)  # type: ignore[attr-defined]
    return (cut * cut).exp() * ((kept - cut) * (kept + cut)).exp()  # type: ignore[no-any-return]


def _size(x: V) -> V:
    return (x < 0).where(-x, x)


def _near(x: V, size: V) -> V:
    """x times a ratio in its square, for small x."""
    small = (size < _NEAR).where(x, 0.0)
    square = small * small
    return small * _ratio(square, _NEAR_TOP, _NEAR_BOTTOM)


def _complement(size: V) -> V:
    """The complement for sizes from `_NEAR` on: exp(-size^2) times a ratio."""
    ends = size < _NOTHING_FROM
    # NaN stays NaN
    y = ends.where(size, size.ne(size).where(size, _NOTHING_FROM))
    cut = (y * _CUT).trunc() * (1 / _CUT)  # type: ignore[attr-defined]
    # the square of what was cut is exact, so the exponential has all digits
    power = (-(cut * cut)).exp() * ((cut - y) * (cut + y)).exp()
    return _scaled_complement(y) * power  # type: ignore[no-any-return]


def _scaled_complement(y: V) -> V:
    """The complement times exp(y^2) for values from `_NEAR` on."""
    middle = _ratio((y < _FAR).where(y, 1.0), _MIDDLE_TOP, _MIDDLE_BOTTOM)
    above = (y < _FAR).where(_FAR, y)
    inverse = 1 / (above * above)
    series = inverse * _ratio(inverse, _FAR_TOP, _FAR_BOTTOM)
    far = (math.sqrt(1 / math.pi) - series) / above
    return (y < _FAR).where(middle, far)


def _ratio(x: V, top: Sequence[float], bottom: Sequence[float]) -> V:
    return polynomial(x, top) / polynomial(x, bottom)
