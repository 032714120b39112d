"""The logarithm of the gamma function, and its derivatives.

Large arguments by Stirling's series and its derivatives (Abramowitz and Stegun, 6.1.40, 6.3.18,
6.4.12), to which smaller ones are moved; around 1, 2 and 3 the logarithm is the power series at 2
(6.1.33), so that nothing is lost beside its zeros; negative ones by reflection.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

from tg_uop.methods.polynomial import polynomial

from tg_tensor.errors import ArgumentError
from tg_tensor.ops.slopes import SlopeOps, with_slope

# the Bernoulli numbers B(2k) from k = 8 down to 1
_BERNOULLI = (-3617 / 510, 7 / 6, -691 / 2730, 5 / 66, -1 / 30, 1 / 42, -1 / 30, 1 / 6)
_ORDERS = range(2 * len(_BERNOULLI), 0, -2)
_NUMBERED = tuple(zip(_ORDERS, _BERNOULLI, strict=True))
# from its term of this number on the sum of a zeta function is its integral, corrected
_ZETA_TERMS = 16
_ZETA_LOWEST = -8
# for ln gamma, its derivative and its second derivative, highest power first
_STIRLING = tuple(b / (n * (n - 1)) for n, b in zip(_ORDERS, _BERNOULLI, strict=True))
_DIGAMMA = tuple(-b / n for n, b in zip(_ORDERS, _BERNOULLI, strict=True))
# from here on eight terms of the series are good to 1e-16, four to 1e-9
_STIRLING_FROM = 8
_SINGLE_TERMS = 4
_EULER = 0.5772156649015329
_TERMS_AT_2 = 28
_SINGLE_TERMS_AT_2 = 12


def _rising(start: int, count: int) -> int:
    """start (start + 1) ... of so many factors."""
    return math.prod(range(start, start + count))


def _zeta_less_one(order: int) -> float:
    """The sum of n^-order from n = 2 on: some terms, and the rest by Euler and Maclaurin."""
    start = 100.0
    total = math.fsum(float(n) ** -order for n in range(2, int(start)))
    rest = start ** (1.0 - order) / (order - 1) + start ** (-1.0 * order) / 2
    first = order * start ** (-1.0 - order) / 12
    second = order * (order + 1) * (order + 2) * start ** (-3.0 - order) / 720
    return float(total + rest + first - second)


_AT_2 = tuple((-1) ** n * _zeta_less_one(n) / n for n in range(_TERMS_AT_2, 1, -1))


class GammaOps(SlopeOps):
    """`lgamma`, its derivatives and its sum over dimensions."""

    __slots__ = ()

    @with_slope(lambda y, x: x.digamma())
    def lgamma(self) -> Self:
        """log |gamma(x)| by Stirling's series; infinite at 0 and negative whole numbers."""
        x = self._as_float()
        mirrored = x < 0.5
        positive = mirrored.where(1 - x, x)
        near = (positive >= 0.5) & (positive < 3.5)
        value = near.where(
            near.where(positive, 2)._lgamma_near(), near.where(4, positive)._lgamma_large()
        )
        # gamma(x) gamma(1 - x) = pi / sin(pi x); the angle is taken from a whole number
        sine = ((x - x.round()) * math.pi).sin().abs()
        reflected = math.log(math.pi) - sine.log() - value
        found = mirrored.where(reflected, value)
        # so far below 0 all numbers are whole
        return (x.isinf() | (mirrored & value.isinf())).where(math.inf, found)

    def _lgamma_near(self) -> Self:
        """From 0.5 to 3.5: the series around 2, and gamma(x + 1) = x gamma(x)."""
        is_low, is_high = self < 1.5, self >= 2.5
        distance = is_low.where(self - 1, is_high.where(self - 3, self - 2))
        terms = _TERMS_AT_2 if self._is_double() else _SINGLE_TERMS_AT_2
        series = polynomial(distance, (*_AT_2[1 - terms :], 1 - _EULER)) * distance
        factor = is_low.where(self, is_high.where(self - 1, 1)).log()
        return series + is_low.where(-factor, factor)

    def _lgamma_large(self) -> Self:
        product = self.const_like(1)
        shifted = self
        for _ in range(_STIRLING_FROM):
            below = shifted < _STIRLING_FROM
            product = below.where(product * shifted, product)
            shifted = below.where(shifted + 1, shifted)
        inverse = shifted.reciprocal()
        series = shifted._in_squares(inverse, _STIRLING) * inverse
        main = (shifted - 0.5) * shifted.log() - shifted + 0.5 * math.log(2 * math.pi)
        return main + series - product.log()

    @with_slope(lambda y, x: x._trigamma())
    def digamma(self) -> Self:
        """The derivative of `lgamma`; NaN at negative whole numbers, -inf at 0."""
        x = self._as_float()
        mirrored = x < 0.5
        shifted = mirrored.where(1 - x, x)
        below: Self = shifted.const_like(0)
        for _ in range(_STIRLING_FROM):
            is_below = shifted < _STIRLING_FROM
            below = is_below.where(below + shifted.reciprocal(), below)
            shifted = is_below.where(shifted + 1, shifted)
        inverse = shifted.reciprocal()
        series = shifted._in_squares(inverse, _DIGAMMA) * inverse * inverse
        value = shifted.log() - inverse * 0.5 + series - below
        angle = (x - x.round()) * math.pi
        reflected = value - math.pi / angle.tan()
        found = mirrored.where(reflected, value)
        is_pole = x.eq(x.floor()) & (x < 0)
        at_pole = is_pole.where(math.nan, found)
        return x.eq(0).where(-(x.reciprocal()), at_pole)

    def _trigamma(self) -> Self:
        """The derivative of `digamma`; infinite at 0 and negative whole numbers."""
        x = self
        mirrored = x < 0.5
        shifted = mirrored.where(1 - x, x)
        below: Self = shifted.const_like(0)
        for _ in range(_STIRLING_FROM):
            is_below = shifted < _STIRLING_FROM
            below = is_below.where(below + (shifted * shifted).reciprocal(), below)
            shifted = is_below.where(shifted + 1, shifted)
        inverse = shifted.reciprocal()
        series = shifted._in_squares(inverse, _BERNOULLI) * inverse * inverse
        value = below + inverse * (inverse * 0.5 + 1 + series)
        sine = ((x - x.round()) * math.pi).sin() * (1 / math.pi)
        return mirrored.where((sine * sine).reciprocal() - value, value)

    @with_slope(lambda y, x, n: x.polygamma(n + 1))
    def _polygamma(self, n: int) -> Self:
        """The derivative of order n of `digamma`, n above 0: a Hurwitz zeta function.

        Some terms of its sum, and the rest by Euler and Maclaurin; NaN too far below 0 for that.
        """
        x = self._as_float()
        if n == 1:
            return x._trigamma()
        order = n + 1
        total = x._constant_power(-order)
        for step in range(1, _ZETA_TERMS):
            total = total + (x + step)._constant_power(-order)
        start = x + _ZETA_TERMS
        inverse = start.reciprocal()
        scaled = [b * _rising(order, k - 1) / math.factorial(k) for k, b in _NUMBERED]
        rest = start / n + 0.5 + polynomial(inverse * inverse, scaled) * inverse
        value = total + rest * start._constant_power(-order)
        found = value * ((-1) ** (n + 1) * math.factorial(n))
        return (x < _ZETA_LOWEST).where(math.nan, found)

    def polygamma(self, n: int) -> Self:
        """The derivative of order `n` of `digamma`; from n = 2 on NaN for x below -8.

        Raises `ArgumentError` for a negative order.
        """
        if n < 0:
            raise ArgumentError(op="polygamma", argument="n", given=n, expected="0 or more")
        return self._polygamma(n) if n else self.digamma()

    def mvlgamma(self, p: int) -> Self:
        """The logarithm of the gamma function of `p` dimensions.

        Raises `ArgumentError` for less than one dimension.
        """
        if p < 1:
            raise ArgumentError(op="mvlgamma", argument="p", given=p, expected="1 or more")
        x = self._as_float()
        total = x.lgamma()
        for dimension in range(1, p):
            total = total + (x - 0.5 * dimension).lgamma()
        return total + p * (p - 1) / 4 * math.log(math.pi)

    def _in_squares(self, inverse: Self, coefficients: Sequence[float]) -> Self:
        """A series in 1 / x^2 with as many terms as the dtype has digits for."""
        kept = coefficients if self._is_double() else coefficients[-_SINGLE_TERMS:]
        return polynomial(inverse * inverse, kept)
