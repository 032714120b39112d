"""Division of floats with a whole quotient: remainders that are exact, floors of quotients."""

from __future__ import annotations

from typing import Self

from tg_uop import Ops, dtypes

from tg_tensor.ops.probability import ProbabilityOps
from tg_tensor.ops.remainder import exact_remainder


class DivisionOps(ProbabilityOps):
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
        """What division that truncates leaves, exactly, with the sign of this.

        Its gradient is that of `self - quotient * divisor`.
        """
        left, right = self.detach(), divisor.detach()
        value = exact_remainder(left, right)
        quotient = (left / right).trunc()
        factor = quotient.isfinite().where(quotient, 0)
        is_endless = divisor.isinf()
        turning = (is_endless.where(0, divisor) - is_endless.where(0, right)) * factor
        # both are 0; of a value minus 0 the sign stays
        return value - ((left - self) + turning)
