"""Trigonometric and hyperbolic functions of one value, composed of few primitive ops.

Coefficients of `asin`, `atan` and `tanh` are those of Cephes (S. Moshier), in single and double
precision.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self, TypeVar

from tg_uop.dtype.dtype import dtypes
from tg_uop.ir.ops import Ops
from tg_uop.methods.math import MathMixin, rounded_once
from tg_uop.methods.polynomial import polynomial

H = TypeVar("H", bound="TrigonometryMixin")

# pi in parts, and below how many half turns their products with these are exact
_PI_PARTS = (3.140625, 9.67502593994140625e-4, 1.509957990978376432e-7)
_EXACT_TURNS = 4096.0
_PI_PARTS_DOUBLE = (
    3.14159250259399414062,
    1.50995788317231927067e-7,
    1.07806057163162381058e-14,
)
_EXACT_TURNS_DOUBLE = 2.0**27
_TANH_NEAR = (
    -5.70498872745e-3,
    2.06390887954e-2,
    -5.37397155531e-2,
    1.33314422036e-1,
    -3.33332819422e-1,
)
_ASIN = (
    4.2163199048e-2,
    2.4181311049e-2,
    4.5470025998e-2,
    7.4953002686e-2,
    1.6666752422e-1,
)
_ATAN = (8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1)
_SINH_NEAR = (1 / 362880, 1 / 5040, 1 / 120, 1 / 6)
# beyond it the inverse hyperbolic functions are logarithms of 2x, and its square is finite
_LOGARITHM_FROM = 1e4
_LOGARITHM_FROM_DOUBLE = 1e8
_SINH_NEAR_DOUBLE = tuple(1 / math.factorial(n) for n in range(19, 1, -2))
# for float64: a polynomial over another one
_TANH_NEAR_DOUBLE = (
    (-9.64399179425052238628e-1, -9.92877231001918586564e1, -1.61468768441708447952e3),
    (1, 1.12811678491632931402e2, 2.23548839060100448583e3, 4.84406305325125486048e3),
)
_ASIN_DOUBLE = (
    (
        4.253011369004428248960e-3,
        -6.019598008014123785661e-1,
        5.444622390564711410273e0,
        -1.626247967210700244449e1,
        1.956261983317594739197e1,
        -8.198089802484824371615e0,
    ),
    (
        1,
        -1.474091372988853791896e1,
        7.049610280856842141659e1,
        -1.471791292232726029859e2,
        1.395105614657485689735e2,
        -4.918853881490881290097e1,
    ),
)
_ATAN_DOUBLE = (
    (
        -8.750608600031904122785e-1,
        -1.615753718733365076637e1,
        -7.500855792314704667340e1,
        -1.228866684490136173410e2,
        -6.485021904942025371773e1,
    ),
    (
        1,
        2.485846490142306297962e1,
        1.650270098316988542046e2,
        4.328810604912902668951e2,
        4.853903996359136964868e2,
        1.945506571482613964425e2,
    ),
)


class TrigonometryMixin(MathMixin):
    """Angles, hyperbolic functions and their inverses; see `MathMixin` for the hooks."""

    __slots__ = ()

    # *** trigonometry ***

    @rounded_once
    def cos(self) -> Self:
        """The cosine.

        Near its zeros the angle to the next of them is taken, with pi in three parts whose products
        with odd numbers of quarter turns are exact (Cody and Waite, 1980). Of large angles that
        would lose digits: half of one is exact, and cos x = 1 - 2 sin^2 (x / 2).
        """
        x = self._as_float()
        parts, limit = (
            (_PI_PARTS_DOUBLE, _EXACT_TURNS_DOUBLE)
            if x._number_type() is dtypes.float64
            else (_PI_PARTS, _EXACT_TURNS)
        )
        whole = (x.detach() * (1 / math.pi) - 0.5).round()
        turns = whole + 0.5
        is_near = turns.abs() < limit
        rest = x
        for part in parts:
            rest = rest - turns * part
        sine = is_near.where(rest, x * 0.5).sin()
        half = whole * 0.5
        near = half.ne(half.alu(Ops.TRUNC)).where(sine, -sine)
        return is_near.where(near, 1 - sine * sine * 2)

    @rounded_once
    def tan(self) -> Self:
        """The tangent."""
        return self.sin() / self.cos()

    @rounded_once
    def asin(self) -> Self:
        """The arc sine, NaN outside of -1..1."""
        x = self._as_float()
        size = x._magnitude()
        far = size > 0.5
        folded = far.where((1 - size) * 0.5, size * size)
        root = far.where(folded.sqrt(), size)
        curve = _curve(folded, _ASIN, _ASIN_DOUBLE)
        series = curve * folded * root + root
        value = far.where(math.pi / 2 - series * 2, series)
        return x._odd(value)

    @rounded_once
    def acos(self) -> Self:
        """The arc cosine, NaN outside of -1..1."""
        x = self._as_float()
        near_one = ((1 - x) * 0.5).sqrt().asin() * 2
        return (x > 0.5).where(near_one, math.pi / 2 - x.asin())

    @rounded_once
    def atan(self) -> Self:
        """The arc tangent."""
        x = self._as_float()
        size = x._magnitude()
        steep, middle = size > math.tan(3 * math.pi / 8), size > math.tan(math.pi / 8)
        turned = -1 / steep.where(size, 1)
        shifted = (size - 1) / (size + 1)
        folded = steep.where(turned, middle.where(shifted, size))
        offset = steep.where(math.pi / 2, middle.where(x.ufix(math.pi / 4), 0))
        square = folded * folded
        value = offset + (_curve(square, _ATAN, _ATAN_DOUBLE) * square * folded + folded)
        return x._odd(value)

    # *** hyperbolic functions ***

    @rounded_once
    def sinh(self) -> Self:
        """The hyperbolic sine; near 0 its power series, where the exponentials would cancel."""
        x = self._as_float()
        square = x * x
        is_double = x._number_type() is dtypes.float64
        series = polynomial(square, _SINH_NEAR_DOUBLE if is_double else _SINH_NEAR)
        near = series * square * x + x
        size = x._magnitude()
        far = size._half_of_exp() - (-size).exp() * 0.5
        return (size < 1).where(near, (x < 0).where(-far, far))

    @rounded_once
    def cosh(self) -> Self:
        """The hyperbolic cosine."""
        size = self._as_float()._magnitude()
        return size._half_of_exp() + (-size).exp() * 0.5

    def _half_of_exp(self) -> Self:
        """exp(x) / 2 of what is not negative, also where only the half is finite."""
        large = self > 64
        return large.where(self - 1, self).exp() * large.where(
            self.ufix(math.e / 2), self.ufix(0.5)
        )

    @rounded_once
    def tanh(self) -> Self:
        """The hyperbolic tangent."""
        x = self._as_float()
        square = x * x
        # as a product, which keeps the sign of zero
        near = x * (_curve(square, _TANH_NEAR, _TANH_NEAR_DOUBLE) * square + 1)
        far = 2 / ((x * -2).exp() + 1) - 1
        return (x._magnitude() < 0.625).where(near, far)

    def _without_square(self) -> tuple[Self, Self]:
        """Where 1 says nothing beside the square of a size, and the size elsewhere (else 1)."""
        limit = _LOGARITHM_FROM_DOUBLE if self._is_double() else _LOGARITHM_FROM
        is_large = self > limit
        return is_large, is_large.where(1, self)

    @rounded_once
    def asinh(self) -> Self:
        """The inverse hyperbolic sine."""
        x = self._as_float()
        size = x.abs()
        is_large, small = size._without_square()
        square = small * small
        near = (small + square / ((square + 1).sqrt() + 1))._log1p()
        return x._odd(is_large.where(size.log() + math.log(2), near))

    @rounded_once
    def acosh(self) -> Self:
        """The inverse hyperbolic cosine, NaN below 1."""
        x = self._as_float()
        is_large, small = x._without_square()
        above = small - 1
        # two roots: of a number below 1 the first is NaN, and their product stays finite
        near = (above + above.sqrt() * (above + 2).sqrt())._log1p()
        return is_large.where(x.log() + math.log(2), near)

    @rounded_once
    def atanh(self) -> Self:
        """The inverse hyperbolic tangent, NaN outside of -1..1."""
        x = self._as_float()
        size = x.abs()
        return x._odd((size * 2 / (1 - size))._log1p() * 0.5)

    @rounded_once
    def _expm1(self) -> Self:
        """exp(x) - 1 without loss for small x, where it is (exp(x) + 1) tanh(x / 2)."""
        x = self._as_float()
        is_small = x.abs() < 1
        small = is_small.where(x, 0)
        return is_small.where((small.exp() + 1) * (small * 0.5).tanh(), x.exp() - 1)


def _curve(x: H, single: Sequence[float], double: tuple[Sequence[float], Sequence[float]]) -> H:
    """A polynomial, or for float64 the quotient of two."""
    if x._number_type() is not dtypes.float64:
        return polynomial(x, single)
    return polynomial(x, double[0]) / polynomial(x, double[1])
