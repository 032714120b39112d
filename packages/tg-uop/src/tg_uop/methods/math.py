"""Powers, logarithms, rounding and signs of one value, composed of few primitive ops."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Concatenate, ParamSpec, Self, TypeVar

from tg_uop.dtype.dtype import DType, dtypes
from tg_uop.errors import NegativePowerError
from tg_uop.ir.ops import Ops
from tg_uop.methods.arithmetic import ArithmeticMixin, Operand
from tg_uop.methods.error_function import erf_double, erf_single

H = TypeVar("H", bound="MathMixin")
P = ParamSpec("P")

_LARGEST_UNROLLED_POWER = 16
_EXPONENT_BITS = 6


_SINGLE_BYTES = 4


def rounded_once(function: Callable[Concatenate[H, P], H]) -> Callable[Concatenate[H, P], H]:
    """A function of a float that is composed of several steps: of half-precision values those are
    taken in float32, and the result is rounded once. An integer becomes the default float.
    """

    @functools.wraps(function)
    def wide(self: H, /, *args: P.args, **kwargs: P.kwargs) -> H:
        value = self._as_float()
        given = value._number_type()
        if given.scalar().itemsize >= _SINGLE_BYTES or not given.is_float:
            return function(value, *args, **kwargs)
        return function(value.cast(dtypes.float32), *args, **kwargs).cast(given)

    return wide


class MathMixin(ArithmeticMixin):
    """Functions of floats; an integer becomes the default float first."""

    __slots__ = ()

    def cast(self, dtype: DType) -> Self:
        """The value converted to `dtype`."""
        raise NotImplementedError

    def _is_double(self) -> bool:
        """Whether all digits of float64 are wanted; a pattern has no dtype of its own."""
        return self._number_type().scalar() is dtypes.float64

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
        return self.alu(Ops.TRUNC) if self._number_type().is_float else self._itself()

    # *** powers and logarithms ***

    def square(self) -> Self:
        """The value times itself."""
        return self * self

    @rounded_once
    def rsqrt(self) -> Self:
        """One over the square root."""
        return self.sqrt().reciprocal()

    @rounded_once
    def exp(self) -> Self:
        """e to this power."""
        return (self._as_float() * (1 / math.log(2))).exp2()

    @rounded_once
    def log(self) -> Self:
        """The natural logarithm."""
        return self.log2() * math.log(2)

    @rounded_once
    def log10(self) -> Self:
        """The logarithm of base 10."""
        return self.log2() * math.log10(2)

    @rounded_once
    def _log1p(self) -> Self:
        """log(1 + x) without loss for small x (Kahan): what 1 + x rounds away is put back.

        That is a constant to a gradient, which is 1 / (1 + x) as it should be.
        """
        shifted = self + 1
        plain = shifted.log()
        rounded = shifted.detach() - 1
        lost = self.detach() - rounded
        exact = rounded.eq(0) | lost.eq(0) | shifted.detach().eq(math.inf)
        correction = exact.where(0, plain.detach() * lost / exact.where(1, rounded))
        return rounded.eq(0).where(self, plain + correction)

    def pow(self, x: Operand, reverse: bool = False) -> Self:
        """This value to the power `x`.

        Small whole exponents become products, so negative bases and integers are exact. Raises
        `NegativePowerError` for an integer to the power of a negative whole number.
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
        if small and -_LARGEST_UNROLLED_POWER <= exponent < 0 and self._number_type().is_float:
            return self._repeated_product(-int(exponent)).reciprocal()
        if self._number_type().is_float:
            return self.alu(Ops.POW, self.ufix(float(exponent)))
        if small and exponent > 0:
            return self._integer_power(self.ufix(int(exponent)))
        if small:
            raise NegativePowerError(dtype=self._number_type(), exponent=int(exponent))
        return self._as_float()._constant_power(exponent)

    def _repeated_product(self, count: int) -> Self:
        """Exponentiation by squaring."""
        if count == 0 and self._number_type().is_float:
            # a power still, so that its gradient is 0 and not missing
            return self.alu(Ops.POW, self.ufix(0.0))
        if count == 0:
            return self.const_like(1)
        if count == 1:
            return self._itself()
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
        # of numbers other than 1 and -1 the reciprocal is no whole number
        is_lost = (exponent < 0) & self._magnitude().ne(1)
        return is_lost.where(0, result)

    def __pow__(self, x: Operand) -> Self:
        return self.pow(x)

    def __rpow__(self, x: Operand) -> Self:
        return self.pow(x, True)

    @rounded_once
    def erf(self) -> Self:
        """The error function."""
        x = self._as_float()
        return erf_double(x) if x._is_double() else erf_single(x)

    # *** rounding ***

    def floor(self) -> Self:
        """Rounded toward minus infinity."""
        return self._floor() if self._number_type().is_float else self._itself()

    def ceil(self) -> Self:
        """Rounded toward infinity."""
        if not self._number_type().is_float:
            return self._itself()
        whole = self.alu(Ops.TRUNC)
        return (self > whole).where(whole + 1, whole)

    def round(self, decimals: int = 0) -> Self:
        """Rounded to the nearest whole number, halves to the even one.

        With `decimals` after that many digits behind the point, or before it where negative. As
        in PyTorch and NumPy the power of ten is rounded too: what is no half in decimals may be
        one in binary. Integers stay as they are.
        """
        if not self._number_type().is_float:
            return self._itself()
        if decimals > 0:
            return (self * 10.0**decimals).round() / 10.0**decimals
        if decimals < 0:
            return (self / 10.0**-decimals).round() * 10.0**-decimals
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
            return self._itself()
        above = (self > 0).where(self.ufix(1), 0)
        return above if self._never_negative() else (self < 0).where(-1, above)

    def abs(self) -> Self:
        """The distance from 0; its gradient there is 0."""
        if self._never_negative():
            return self._itself()
        size = self._magnitude()
        # of the two zeros the maximum may be either
        return self.eq(0).where(0, size) if self._number_type().is_float else size

    def _magnitude(self) -> Self:
        """The distance from 0, whose sign may be that of minus zero."""
        return self.maximum(self.neg())

    def _odd(self, value: Self) -> Self:
        """The value of an odd function, given for sizes; its slope at zero is 1, -0.0 stays."""
        return (self > 0).where(value, (self < 0).where(-value, self))

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
