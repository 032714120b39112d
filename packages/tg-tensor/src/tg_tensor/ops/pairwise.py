"""Elementwise functions of two and three values, by the names of PyTorch and NumPy."""

from __future__ import annotations

import math
from typing import Self, TypeVar

from tg_uop import Ops
from tg_uop.errors import DTypeError
from tg_uop.plain import plain

from tg_tensor.ops.division import DivisionOps
from tg_tensor.ops.slopes import note_slopes_of_pair
from tg_tensor.ops.special import integer_of

# Euclid's algorithm takes the longest for neighbours in Fibonacci's sequence: so many steps at
# most for integers of so many bytes
_EUCLID_STEPS = {1: 13, 2: 25, 4: 48, 8: 94}


V = TypeVar("V", bound="PairwiseOps")


class PairwiseOps(DivisionOps):
    """Functions of several values, which broadcast and promote."""

    __slots__ = ()

    # *** arithmetic by name ***

    def subtract(self, x: object) -> Self:
        """The difference."""
        return self.sub(x)

    def multiply(self, x: object) -> Self:
        """The product."""
        return self.mul(x)

    def divide(self, x: object, rounding_mode: str | None = None) -> Self:
        """The quotient: a float, or rounded as "trunc" or "floor"."""
        return self.div(x, rounding_mode=rounding_mode)

    def true_divide(self, x: object) -> Self:
        """The quotient as a float."""
        return self.div(x)

    def float_power(self, exponent: object) -> Self:
        """This to a power, both in float64."""
        power = exponent.double() if isinstance(exponent, PairwiseOps) else exponent
        return self.double().pow(power)

    def ldexp(self, other: object) -> Self:
        """This times two to the power `other`."""
        value, power = self._float_pair(other)
        return value * power.exp2()

    def addcmul(self, tensor1: Self, tensor2: Self, *, value: float = 1) -> Self:
        """This plus `value` times the product of two Tensors."""
        product = tensor1 * tensor2
        return self + (product if value == 1 else product * value)

    def addcdiv(self, tensor1: Self, tensor2: Self, *, value: float = 1) -> Self:
        """This plus `value` times the quotient of two Tensors."""
        quotient = tensor1 / tensor2
        return self + (quotient if value == 1 else quotient * value)

    def lerp(self, end: Self, weight: Self | float) -> Self:
        """self + weight * (end - self); exactly `end` for a weight of 1. Integers become floats."""
        start, end = self._float_pair(end)
        weight = plain(weight)
        distance = end - start
        if isinstance(weight, int | float):
            return start + distance * weight if weight < 0.5 else end - distance * (1 - weight)
        return (weight < 0.5).where(start + distance * weight, end - distance * (1 - weight))

    # *** plane and logarithms ***

    def hypot(self, other: object) -> Self:
        """The length of (self, other), without overflow on the way."""
        left, right = self._float_pair(other)
        if left._is_narrow():
            return left.float().hypot(right.float()).cast(left.dtype)
        pair = left, right
        left, right = left.abs(), right.abs()
        long, short = left.maximum(right), left.minimum(right)
        is_zero = long.eq(0)
        ratio = short / is_zero.where(1, long)
        length = long * (ratio * ratio + 1).sqrt()
        infinite = left.isinf() | right.isinf()
        found = infinite.where(math.inf, length)
        return note_slopes_of_pair(
            found, pair, lambda a, b: _direction(a, b), lambda a, b: _direction(b, a)
        )

    def atan2(self, other: object) -> Self:
        """The angle of the point (other, self), between -pi and pi; signed zeros count."""
        y, x = self._float_pair(other)
        if y._is_narrow():
            return y.float().atan2(x.float()).cast(y.dtype)
        height, width = y.abs(), x.abs()
        is_steep = height > width
        short, long = is_steep.where(width, height), is_steep.where(height, width)
        # 0 / 0 is the angle 0, inf / inf that of the diagonal
        ratio = short / long.eq(0).where(1, long)
        ratio = (short.isinf() & long.isinf()).where(1, ratio)
        angle = ratio.atan()
        angle = is_steep.where(math.pi / 2 - angle, angle)
        angle = x.signbit().where(math.pi - angle, angle)
        signed = y.signbit().where(-angle, angle)
        found = (y.isnan() | x.isnan()).where(math.nan, signed)
        return note_slopes_of_pair(
            found,
            (y, x),
            lambda y, x: _direction(x, y) / _not_zero(x.hypot(y)),
            lambda y, x: -_direction(y, x) / _not_zero(x.hypot(y)),
        )

    def arctan2(self, other: object) -> Self:
        """See `atan2`."""
        return self.atan2(other)

    def xlogy(self, other: object) -> Self:
        """self * log(other), which is 0 where self is 0 and `other` is a number."""
        x, y = self._float_pair(other)
        if x._is_narrow():
            return x.float().xlogy(y.float()).cast(x.dtype)
        is_zero = x.eq(0) & y.isnan().logical_not()
        return note_slopes_of_pair(
            is_zero.where(0, x * is_zero.where(1, y).log()),
            (x, y),
            lambda x, y: (x.eq(0) & (y <= 0)).where(0, y.log()),
            lambda x, y: x / y,
        )

    def xlog1py(self, other: object) -> Self:
        """self * log(1 + other), which is 0 where self is 0 and `other` is a number."""
        x, y = self._float_pair(other)
        if x._is_narrow():
            return x.float().xlog1py(y.float()).cast(x.dtype)
        is_zero = x.eq(0) & y.isnan().logical_not()
        return note_slopes_of_pair(
            is_zero.where(0, x * is_zero.where(0, y).log1p()),
            (x, y),
            lambda x, y: (x.eq(0) & (y <= -1)).where(0, y.log1p()),
            lambda x, y: x / (y + 1),
        )

    def logaddexp2(self, other: Self) -> Self:
        """log2(2**self + 2**other), without overflow."""
        ratio = math.log(2)
        left, right = self._float_pair(other)
        if left._is_narrow():
            return left.float().logaddexp2(right.float()).cast(left.dtype)
        return (left * ratio).logaddexp(right * ratio) * (1 / ratio)

    # *** choice ***

    def clamp(
        self,
        min_: object | None = None,
        max_: object | None = None,
        *,
        min: object | None = None,
        max: object | None = None,
    ) -> Self:
        """Not below `min_` and not above `max_`, numbers or Tensors (PyTorch's names fit too).

        The gradient at the bounds is 1; a NaN stays NaN, and so does a bound that is one. Raises
        `ValueError` without a bound.
        """
        low, high = min if min_ is None else min_, max if max_ is None else max_
        kept = super().clip(low, high)
        for bound in (low, high):
            if isinstance(bound, type(self)) and bound.dtype.is_float:
                kept = bound.isnan().where(bound, kept)
        return kept

    def clip(
        self,
        min_: object | None = None,
        max_: object | None = None,
        *,
        min: object | None = None,
        max: object | None = None,
    ) -> Self:
        """See `clamp`."""
        return self.clamp(min_, max_, min=min, max=max)

    def clamp_min(self, min: object) -> Self:
        """Not below `min`."""
        return self.clamp(min)

    def clamp_max(self, max: object) -> Self:
        """Not above `max`."""
        return self.clamp(max_=max)

    def heaviside(self, values: object) -> Self:
        """0 below 0, 1 above, `values` at 0; NaN gives 0, as in PyTorch."""
        x, at_zero = self._in_order(values, False)
        return x.eq(0).where(at_zero, (x > 0).cast(x.dtype))

    def fmax(self, other: object) -> Self:
        """The larger value; of a number and NaN the number."""
        left, right = self._in_order(other, False)
        if not left.dtype.is_float:
            return left.maximum(right)
        return left.isnan().where(right, right.isnan().where(left, left.maximum(right)))

    def fmin(self, other: object) -> Self:
        """The smaller value; of a number and NaN the number."""
        left, right = self._in_order(other, False)
        if not left.dtype.is_float:
            return left.minimum(right)
        return left.isnan().where(right, right.isnan().where(left, left.minimum(right)))

    def nextafter(self, other: object) -> Self:
        """The next float from this toward `other`. Raises `DTypeError` for integers."""
        x, goal = self._in_order(other, False)
        if not x.dtype.is_float:
            raise DTypeError(
                what="nextafter", dtypes=[x.dtype], reason="integers have no next float"
            )
        word = x.bitcast(integer_of(x.dtype))
        # away from 0 the bits count up, whatever the sign
        is_away = (goal > x).eq(x > 0)
        moved = (word + is_away.where(1, -1)).bitcast(x.dtype)
        smallest = word.const_like(1).bitcast(x.dtype)
        from_zero = (goal > 0).where(smallest, -smallest)
        result = x.eq(goal).where(goal, x.eq(0).where(from_zero, moved))
        return (x.isnan() | goal.isnan()).where(math.nan, result)

    # *** comparison and logic by name ***

    def lt(self, x: object) -> Self:
        """Where this is smaller."""
        return self < x

    def le(self, x: object) -> Self:
        """Where this is smaller or equal."""
        return self <= x

    def gt(self, x: object) -> Self:
        """Where this is larger."""
        return self > x

    def ge(self, x: object) -> Self:
        """Where this is larger or equal."""
        return self >= x

    def less(self, x: object) -> Self:
        """Where this is smaller."""
        return self < x

    def less_equal(self, x: object) -> Self:
        """Where this is smaller or equal."""
        return self <= x

    def greater(self, x: object) -> Self:
        """Where this is larger."""
        return self > x

    def greater_equal(self, x: object) -> Self:
        """Where this is larger or equal."""
        return self >= x

    def not_equal(self, x: object) -> Self:
        """Where the values differ."""
        return self.ne(x)

    def logical_and(self, x: object) -> Self:
        """Where both are not 0."""
        left, right = self._in_order(x, False)
        return left._truth() & right._truth()

    def logical_or(self, x: object) -> Self:
        """Where one is not 0."""
        left, right = self._in_order(x, False)
        return left._truth() | right._truth()

    def logical_xor(self, x: object) -> Self:
        """Where just one is not 0."""
        left, right = self._in_order(x, False)
        return left._truth() ^ right._truth()

    # *** whole numbers ***

    def bitwise_left_shift(self, x: object) -> Self:
        """The bits moved up by `x` places."""
        return self.lshift(x)

    def bitwise_right_shift(self, x: object) -> Self:
        """The bits moved down by `x` places, the sign kept."""
        return self.rshift(x)

    def gcd(self, other: object) -> Self:
        """The greatest common divisor, not below 0. Raises `DTypeError` for floats."""
        left, right = self._whole("gcd", other)
        left, right = left.abs(), right.abs()
        for _ in range(_EUCLID_STEPS[left.dtype.itemsize]):
            is_done = right.eq(0)
            left, right = is_done.where(left, right), left.alu(Ops.MOD, right)
        return left

    def lcm(self, other: object) -> Self:
        """The least common multiple, not below 0. Raises `DTypeError` for floats."""
        left, right = self._whole("lcm", other)
        divisor = left.gcd(right)
        return (left.alu(Ops.IDIV, divisor) * right).abs()

    def _whole(self, op: str, other: object) -> tuple[Self, Self]:
        left, right = self._in_order(other, False)
        if not left.dtype.is_int:
            raise DTypeError(
                what=op, dtypes=[left.dtype], reason="only integers have divisors", hint="cast"
            )
        return left, right

    def _float_pair(self, other: object) -> tuple[Self, Self]:
        """Both values in their common float dtype."""
        left, right = self._in_order(other, False)
        return left._as_float(), right._as_float()


def _direction(along: V, across: V) -> V:
    """The cosine of the angle to `along`: its part of the length of both; 0 for no length."""
    return along / _not_zero(along.hypot(across))


def _not_zero(length: V) -> V:
    return length.eq(0).where(1, length)
