"""Mathematical functions of one value, composed of arithmetic and few primitive ops.

Coefficients of `erf` (small arguments), `asin`, `atan` and `tanh` are those of Cephes
(S. Moshier), in single and double precision; those of `erf` for large arguments are fitted to the
logarithm of its complement, which needs no division.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Concatenate, ParamSpec, Self, TypeVar

from tg_uop.dtype.dtype import DType, dtypes
from tg_uop.errors import NegativePowerError
from tg_uop.ir.ops import Ops
from tg_uop.methods.arithmetic import ArithmeticMixin, Operand
from tg_uop.methods.error_function import erf_double

H = TypeVar("H", bound="MathMixin")
P = ParamSpec("P")

# pi in parts, and below how many half turns their products with these are exact
_PI_PARTS = (3.140625, 9.67502593994140625e-4, 1.509957990978376432e-7)
_EXACT_TURNS = 4096.0
_PI_PARTS_DOUBLE = (
    3.14159250259399414062,
    1.50995788317231927067e-7,
    1.07806057163162381058e-14,
)
_EXACT_TURNS_DOUBLE = 2.0**27
_ERF_NEAR = (
    7.853861353153693e-5,
    -8.010193625184903e-4,
    5.188327685732524e-3,
    -2.685381193529856e-2,
    1.128358514861418e-1,
    -3.761262582423300e-1,
    1.128379165726710e0,
)
# log(1 - erf(x)) from 0.95 on, by weighted least squares: the error of erf is the least, 2e-8
_ERF_FAR = (
    -1.20042742e-3,
    1.51792121e-2,
    -8.98905727e-2,
    -6.5256622e-1,
    -1.11887734e0,
    -2.25003673e-3,
)
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
        series = _polynomial(square, _SINH_NEAR_DOUBLE if is_double else _SINH_NEAR)
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

    @rounded_once
    def erf(self) -> Self:
        """The error function."""
        x = self._as_float()
        if x._is_double():
            return erf_double(x)
        size = x.abs()
        near = _polynomial(x * x, _ERF_NEAR) * x
        tail = 1 - _polynomial(size, _ERF_FAR).exp()
        return (size < 1).where(near, (x < 0).where(-tail, tail))

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

    def round(self) -> Self:
        """Rounded to the nearest whole number, halves to the even one."""
        if not self._number_type().is_float:
            return self._itself()
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


def _polynomial(x: H, coefficients: Sequence[float]) -> H:
    """The polynomial with these coefficients, highest power first (Horner)."""
    value = x * coefficients[0] + coefficients[1]
    for coefficient in coefficients[2:]:
        value = value * x + coefficient
    return value


def _curve(x: H, single: Sequence[float], double: tuple[Sequence[float], Sequence[float]]) -> H:
    """A polynomial, or for float64 the quotient of two."""
    if x._number_type() is not dtypes.float64:
        return _polynomial(x, single)
    return _polynomial(x, double[0]) / _polynomial(x, double[1])


def _square_overflows(dtype: DType) -> float:
    """From where on 1 is lost beside a square, long before the square overflows."""
    return 2.0 ** (dtypes.finfo(dtype).mantissa // 2 + 2)
