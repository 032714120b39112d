"""Division of floats with a whole quotient: remainders without rounding, floors of true quotients.

The quotient is taken in three steps of at most 12 bits (27 in float64), and each is multiplied
with the two halves of the divisor (Veltkamp's splitting, in Dekker 1971), so nothing is lost: what
`a - trunc(a / b) * b` gives is off by the rounding of the product, and by one b where the rounded
quotient is the next whole number. Exact up to quotients of 2^34 (2^79 in float64).
"""

from __future__ import annotations

from typing import Self

from tg_uop import Ops, dtypes

from tg_tensor.ops.special import SpecialOps

# beyond this a number is too large to be scaled up by the factors below
_SPLIT_BELOW = {4: 2.0**100, 8: 2.0**960}
_HALF_BITS = {4: 12, 8: 27}
_STEPS = 3


class DivisionOps(SpecialOps):
    """`//`, `%` and `fmod`."""

    __slots__ = ()

    def floordiv(self, x: object, reverse: bool = False) -> Self:
        """The quotient rounded toward minus infinity; of integers by zero 0."""
        left, right = self._in_order(x, reverse)
        if not left.dtype.is_float:
            return super().floordiv(x, reverse)
        dtype = left.dtype
        left, right = left._wide_float(), right._wide_float()
        rest = left._float_remainder(right)
        quotient = (left - rest) / right
        quotient = rest._is_across(right).where(quotient - 1, quotient)
        # it is whole but for the rounding of the division
        whole = quotient.round()
        return right.eq(0).where(left / right, whole).cast(dtype)

    def mod(self, x: object, reverse: bool = False) -> Self:
        """The remainder with the sign of the divisor, as Python's `%`; 0 for an integer 0."""
        left, right = self._in_order(x, reverse)
        if not left.dtype.is_float:
            return super().mod(x, reverse)
        dtype = left.dtype
        left, right = left._wide_float(), right._wide_float()
        rest = left._float_remainder(right)
        return rest._is_across(right).where(rest + right, rest).cast(dtype)

    def fmod(self, x: object) -> Self:
        """What division that truncates leaves, with the sign of this; by an integer zero 0."""
        left, right = self._in_order(x, False)
        if not left.dtype.is_float:
            return left.alu(Ops.MOD, right)
        dtype = left.dtype
        return left._wide_float()._float_remainder(right._wide_float()).cast(dtype)

    def remainder(self, x: object) -> Self:
        """See `mod`."""
        return self.mod(x)

    def floor_divide(self, x: object) -> Self:
        """See `floordiv`."""
        return self.floordiv(x)

    # *** steps ***

    def _wide_float(self) -> Self:
        return self if self.dtype.itemsize >= 4 else self.cast(dtypes.float32)

    def _is_across(self, divisor: Self) -> Self:
        """Where a remainder is on the other side of 0 than the divisor."""
        return self.ne(0) & (self < 0).ne(divisor < 0)

    def _float_remainder(self, divisor: Self) -> Self:
        """What division that truncates leaves, exactly."""
        largest = _SPLIT_BELOW[self.dtype.itemsize]
        step = 2.0 ** (_HALF_BITS[self.dtype.itemsize] - 1)
        size = divisor.abs()
        rest = self
        for power in range(_STEPS - 1, -1, -1):
            factor = step**power
            can_scale = size < largest / factor
            rest = rest._one_remainder(can_scale.where(divisor * factor, divisor))
        # an infinite divisor leaves everything
        return (divisor.isinf() & self.isfinite()).where(self, rest)

    def _one_remainder(self, divisor: Self) -> Self:
        """One step, for a quotient of half of the bits."""
        quotient = (self / divisor).trunc()
        high = divisor._high_half()
        rest = self - quotient * high - quotient * (divisor - high)
        size = divisor.abs()
        is_beyond = rest.ne(0) & (rest < 0).ne(self < 0)
        return is_beyond.where(rest + (self < 0).where(-size, size), rest)

    def _high_half(self) -> Self:
        """The leading half of the significand: products of halves are exact."""
        shifted = self * (2.0 ** _HALF_BITS[self.dtype.itemsize] + 1)
        can_split = self.abs() < _SPLIT_BELOW[self.dtype.itemsize]
        return can_split.where(shifted - (shifted - self), self)
