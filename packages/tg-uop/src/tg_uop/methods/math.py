"""Mathematical functions of one value, composed of arithmetic and few primitive ops.

Coefficients of `erf` (small arguments), `asin`, `atan` and `tanh` are those of Cephes
(S. Moshier), of `erf` for large arguments those of Abramowitz and Stegun, 7.1.26.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self, TypeVar

from tg_uop.dtype.dtype import DType, dtypes
from tg_uop.ir.ops import Ops
from tg_uop.methods.arithmetic import ArithmeticMixin, Operand

H = TypeVar("H", bound="MathMixin")

_ERF_NEAR = (
    7.853861353153693e-5,
    -8.010193625184903e-4,
    5.188327685732524e-3,
    -2.685381193529856e-2,
    1.128358514861418e-1,
    -3.761262582423300e-1,
    1.128379165726710e0,
)
_ERF_FAR = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592, 0.0)
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
_LARGEST_UNROLLED_POWER = 16
_EXPONENT_BITS = 6


class MathMixin(ArithmeticMixin):
    """Functions of floats; an integer becomes the default float first."""

    __slots__ = ()

    def cast(self, dtype: DType) -> Self:
        """The value converted to `dtype`."""
        raise NotImplementedError

    def _as_float(self) -> Self:
        return self if self._number_type().is_float else self.cast(dtypes.default_float)

    # *** primitive ops ***

    def exp2(self) -> Self:
        """Two to this power."""
        return self._as_float().alu(Ops.EXP2)

    def log2(self) -> Self:
        """The logarithm of base 2."""
        return self._as_float().alu(Ops.LOG2)

    def sin(self) -> Self:
        """The sine of an angle in radians."""
        return self._as_float().alu(Ops.SIN)

    def sqrt(self) -> Self:
        """The square root, NaN below 0."""
        return self._as_float().alu(Ops.SQRT)

    def reciprocal(self) -> Self:
        """One over the value."""
        return self._as_float().alu(Ops.RECIPROCAL)

    def trunc(self) -> Self:
        """Rounded toward zero."""
        return self.alu(Ops.TRUNC) if self._number_type().is_float else self

    # *** powers and logarithms ***

    def square(self) -> Self:
        """The value times itself."""
        return self * self

    def rsqrt(self) -> Self:
        """One over the square root."""
        return self.sqrt().reciprocal()

    def exp(self) -> Self:
        """e to this power."""
        return (self._as_float() * (1 / math.log(2))).exp2()

    def log(self) -> Self:
        """The natural logarithm."""
        return self.log2() * math.log(2)

    def log10(self) -> Self:
        """The logarithm of base 10."""
        return self.log2() * math.log10(2)

    def _log1p(self) -> Self:
        """log(1 + x) without loss for small x (Kahan): the rounding of 1 + x cancels.

        The correction is a constant 1 up to rounding, so no gradient flows through it.
        """
        shifted = self + 1
        rounded = shifted.detach() - 1
        exact = rounded.eq(0) | shifted.eq(math.inf)
        ratio = self.detach() / exact.where(1, rounded)
        return rounded.eq(0).where(self, shifted.log() * exact.where(1, ratio))

    def pow(self, x: Operand, reverse: bool = False) -> Self:
        """This value to the power `x`.

        Small whole exponents become products, so negative bases and integers are exact.
        """
        base, exponent = self._in_order(x, reverse)
        if not reverse and isinstance(x, int | float) and not isinstance(x, bool):
            return base._constant_power(x)
        if not base._number_type().is_float:
            return base._integer_power(exponent)
        return base.alu(Ops.POW, exponent)

    def _constant_power(self, exponent: int | float) -> Self:
        if exponent == 0.5:
            return self.sqrt()
        if exponent == -0.5:
            return self.rsqrt()
        small = exponent == int(exponent) if math.isfinite(exponent) else False
        if small and 0 <= exponent <= _LARGEST_UNROLLED_POWER:
            return self._repeated_product(int(exponent))
        if small and -_LARGEST_UNROLLED_POWER <= exponent < 0:
            return self._repeated_product(-int(exponent)).reciprocal()
        if self._number_type().is_float:
            return self.alu(Ops.POW, self.ufix(float(exponent)))
        if small and exponent > 0:
            return self._integer_power(self.ufix(int(exponent)))
        return self._as_float()._constant_power(exponent)

    def _repeated_product(self, count: int) -> Self:
        """Exponentiation by squaring."""
        if count == 0 and self._number_type().is_float:
            # a power still, so that its gradient is 0 and not missing
            return self.alu(Ops.POW, self.ufix(0.0))
        if count == 0:
            return self.const_like(1)
        result: Self | None = None
        square = self
        while count:
            if count & 1:
                result = square if result is None else result * square
            count >>= 1
            if count:
                square = square * square
        assert result is not None, "a positive count has a highest bit"
        return result

    def _integer_power(self, exponent: Self) -> Self:
        """Exponentiation by squaring over the low bits of the exponent, wrapping as products do."""
        result = self.ufix(1)
        square = self
        for bit in range(_EXPONENT_BITS):
            chosen = (exponent & (1 << bit)).ne(0)
            result = chosen.where(result * square, result)
            square = square * square
        return (exponent < 0).where(0, result)

    def __pow__(self, x: Operand) -> Self:
        return self.pow(x)

    def __rpow__(self, x: Operand) -> Self:
        return self.pow(x, True)

    # *** trigonometry ***

    def cos(self) -> Self:
        """The cosine: halving an angle is exact, adding a quarter turn to a large one is not."""
        half = (self._as_float() * 0.5).sin()
        return 1 - half * half * 2

    def tan(self) -> Self:
        """The tangent."""
        return self.sin() / self.cos()

    def asin(self) -> Self:
        """The arc sine, NaN outside of -1..1."""
        x = self._as_float()
        size = x.abs()
        far = size > 0.5
        folded = far.where((1 - size) * 0.5, size * size)
        root = far.where(folded.sqrt(), size)
        series = _polynomial(folded, _ASIN) * folded * root + root
        value = far.where(math.pi / 2 - series * 2, series)
        return (x < 0).where(-value, value)

    def acos(self) -> Self:
        """The arc cosine, NaN outside of -1..1."""
        x = self._as_float()
        near_one = ((1 - x) * 0.5).sqrt().asin() * 2
        return (x > 0.5).where(near_one, math.pi / 2 - x.asin())

    def atan(self) -> Self:
        """The arc tangent."""
        x = self._as_float()
        size = x.abs()
        steep, middle = size > math.tan(3 * math.pi / 8), size > math.tan(math.pi / 8)
        turned = -1 / steep.where(size, 1)
        shifted = (size - 1) / (size + 1)
        folded = steep.where(turned, middle.where(shifted, size))
        offset = steep.where(math.pi / 2, middle.where(x.ufix(math.pi / 4), 0))
        square = folded * folded
        value = offset + (_polynomial(square, _ATAN) * square * folded + folded)
        return (x < 0).where(-value, value)

    # *** hyperbolic functions ***

    def sinh(self) -> Self:
        """The hyperbolic sine; near 0 its power series, where the exponentials would cancel."""
        x = self._as_float()
        square = x * x
        near = _polynomial(square, _SINH_NEAR) * square * x + x
        return (x.abs() < 1).where(near, (x.exp() - (-x).exp()) * 0.5)

    def cosh(self) -> Self:
        """The hyperbolic cosine."""
        x = self._as_float()
        return (x.exp() + (-x).exp()) * 0.5

    def tanh(self) -> Self:
        """The hyperbolic tangent."""
        x = self._as_float()
        square = x * x
        near = _polynomial(square, _TANH_NEAR) * square * x + x
        far = 2 / ((x * -2).exp() + 1) - 1
        return (x.abs() < 0.625).where(near, far)

    def asinh(self) -> Self:
        """The inverse hyperbolic sine."""
        x = self._as_float()
        size = x.abs()
        square = size * size
        value = (size + square / ((square + 1).sqrt() + 1))._log1p()
        return (x < 0).where(-value, value)

    def acosh(self) -> Self:
        """The inverse hyperbolic cosine, NaN below 1."""
        x = self._as_float()
        return (x + (x * x - 1).sqrt()).log()

    def atanh(self) -> Self:
        """The inverse hyperbolic tangent, NaN outside of -1..1."""
        x = self._as_float()
        return (x * 2 / (1 - x))._log1p() * 0.5

    def erf(self) -> Self:
        """The error function."""
        x = self._as_float()
        size = x.abs()
        near = _polynomial(x * x, _ERF_NEAR) * x
        t = (size * 0.3275911 + 1).reciprocal()
        tail = 1 - _polynomial(t, _ERF_FAR) * (-(size * size)).exp()
        return (size < 1).where(near, (x < 0).where(-tail, tail))

    # *** rounding ***

    def floor(self) -> Self:
        """Rounded toward minus infinity."""
        return self._floor() if self._number_type().is_float else self

    def ceil(self) -> Self:
        """Rounded toward infinity."""
        if not self._number_type().is_float:
            return self
        whole = self.alu(Ops.TRUNC)
        return (self > whole).where(whole + 1, whole)

    def round(self) -> Self:
        """Rounded to the nearest whole number, halves to the even one."""
        if not self._number_type().is_float:
            return self
        whole = self.alu(Ops.TRUNC)
        rest = (self - whole).abs()
        half = whole * 0.5
        is_odd = half.ne(half.alu(Ops.TRUNC))
        away = (rest > 0.5) | (rest.eq(0.5) & is_odd)
        return away.where(whole + self.sign(), whole)

    # *** sign and size ***

    def sign(self) -> Self:
        """1 above 0, -1 below, else 0."""
        if self._number_type().is_bool:
            return self
        above = (self > 0).where(self.ufix(1), 0)
        return above if self._never_negative() else (self < 0).where(-1, above)

    def abs(self) -> Self:
        """The distance from 0; its gradient there is 0."""
        return self if self._never_negative() else self.maximum(self.neg())

    def copysign(self, other: Operand) -> Self:
        """The size of this value with the sign of `other`, which for zeros is that of 1 / zero."""
        left, right = self._as_float()._in_order(other, False)
        negative = (right < 0) | (right.eq(0) & (right.reciprocal() < 0))
        size = left.abs()
        return negative.where(-size, size)

    # *** special values ***

    def isnan(self) -> Self:
        """Where the value is NaN."""
        return self.ne(self)

    def isinf(self, detect_positive: bool = True, detect_negative: bool = True) -> Self:
        """Where the value is infinite, of the signs asked for."""
        nowhere = self.ne(self) & False
        if not self._number_type().is_float:
            return nowhere
        above = self.eq(math.inf) if detect_positive else nowhere
        return above | self.eq(-math.inf) if detect_negative else above

    def isfinite(self) -> Self:
        """Where the value is neither infinite nor NaN."""
        return (self.isinf() | self.isnan()).logical_not()


def _polynomial(x: H, coefficients: Sequence[float]) -> H:
    """The polynomial with these coefficients, highest power first (Horner)."""
    value = x * coefficients[0] + coefficients[1]
    for coefficient in coefficients[2:]:
        value = value * x + coefficient
    return value
