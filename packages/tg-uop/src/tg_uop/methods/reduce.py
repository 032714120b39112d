"""Reductions of whole axes in terms of one hook."""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import prod
from typing import Self

from tg_uop.dtype.dtype import DType
from tg_uop.dtype.promote import sum_acc_dtype, sum_result_dtype
from tg_uop.errors import ShapeError
from tg_uop.ir.ops import Ops
from tg_uop.methods.broadcast import BroadcastMixin
from tg_uop.plain import plain_sequence

Axis = int | Sequence[int] | None
"""One axis, several, or all of them."""


class ReduceMixin(BroadcastMixin):
    """Reductions of a host that provides `_reduce`, `dtype`, and the hooks of the other mixins."""

    __slots__ = ()

    def _reduce(self, op: Ops, axes: tuple[int, ...]) -> Self:
        """The values combined over `axes`, which stay as size 1."""
        raise NotImplementedError

    def _axes(self, axis: Axis) -> tuple[int, ...]:
        """The axes counted from the front, in order.

        Raises `ShapeError` for an axis that does not exist or is named twice.
        """
        if axis is None:
            return tuple(range(self.ndim))
        if not self.shape and axis in (0, -1):
            return ()
        named = (axis,) if isinstance(axis, int) else plain_sequence(axis)
        found = sorted({self._axis(a) for a in named})  # type: ignore[arg-type]
        if len(found) < len(named):
            raise ShapeError(
                op="reduce", shapes=(self.shape,), reason=f"axes {named} name one axis twice"
            )
        return tuple(found)

    def _combine(self, op: Ops, axis: Axis, keepdim: bool) -> Self:
        axes = self._axes(axis)
        shape = self.shape
        # an axis of size 1 has nothing to combine
        useful = tuple(a for a in axes if not (isinstance(shape[a], int) and shape[a] == 1))
        if any(isinstance(shape[a], int) and shape[a] == 0 for a in useful):
            result = self._combined_nothing(op, useful)
        else:
            result = self._reduce(op, useful) if useful else self._itself()
        if keepdim or not axes:
            return result
        return result.reshape(tuple(s for i, s in enumerate(shape) if i not in axes))

    def _combined_nothing(self, op: Ops, axes: tuple[int, ...]) -> Self:
        """The identity of `op` in the shape of the result."""
        # one element at most of each axis, then exactly one
        lead = [(0, min(s, 1)) if i in axes else None for i, s in enumerate(self.shape)]  # type: ignore[call-overload]
        # of this value, so that it has a gradient (of no elements)
        short = self.shrink(lead)
        pads = [(0, 1 - s) if i in axes else (0, 0) for i, s in enumerate(short.shape)]  # type: ignore[operator]
        nothing = short._pad_zeros(pads)
        return nothing + 1 if op is Ops.MUL else nothing

    # *** sums and products ***

    def sum(self, axis: Axis = None, keepdim: bool = False, dtype: DType | None = None) -> Self:
        """The sum; of nothing 0.

        Integers below 32 bits and bool are added up in 32 bits and give them; half-precision
        floats are added up in float32 and rounded once. `dtype` is that of addition and result.
        """
        return self._accumulate(Ops.ADD, axis, keepdim, dtype)

    def prod(self, axis: Axis = None, keepdim: bool = False, dtype: DType | None = None) -> Self:
        """The product; of nothing 1. Number types are those of `sum`."""
        return self._accumulate(Ops.MUL, axis, keepdim, dtype)

    def _named_dtype(self, dtype: DType) -> DType:
        """The dtype that an argument asks for; a host that takes names overrides this."""
        return dtype

    def _accumulate(self, op: Ops, axis: Axis, keepdim: bool, dtype: DType | None) -> Self:
        given = self._number_type()
        result_type = sum_result_dtype(given) if dtype is None else self._named_dtype(dtype)
        inner_type = sum_acc_dtype(result_type)
        source = self if inner_type is given else self.cast(inner_type)
        result = source._combine(op, axis, keepdim)
        return result if result_type is inner_type else result.cast(result_type)

    # *** order ***

    def max(self, axis: Axis = None, keepdim: bool = False) -> Self:
        """The largest value; NaN where there is one.

        Raises `ShapeError` for the maximum of nothing.
        """
        self._refuse_empty("max", axis)
        return self._combine(Ops.MAX, axis, keepdim)

    def min(self, axis: Axis = None, keepdim: bool = False) -> Self:
        """The smallest value; NaN where there is one.

        Raises `ShapeError` for the minimum of nothing.
        """
        self._refuse_empty("min", axis)
        return self._mirrored()._combine(Ops.MAX, axis, keepdim)._mirrored()

    def _is_nothing_along(self, axis: Axis) -> bool:
        sizes = [self.shape[a] for a in self._axes(axis)]
        return any(isinstance(size, int) and size == 0 for size in sizes)

    def _refuse_empty(self, op: str, axis: Axis) -> None:
        if self._is_nothing_along(axis):
            raise ShapeError(
                op=op,
                shapes=(self.shape,),
                reason=f"the {op} of no elements does not exist",
                hint="only sum, prod, mean, any and all accept an empty axis",
            )

    def any(self, axis: Axis = None, keepdim: bool = False) -> Self:
        """Whether a value is true."""
        return self._truth()._combine(Ops.MAX, axis, keepdim)

    def all(self, axis: Axis = None, keepdim: bool = False) -> Self:
        """Whether all values are true."""
        return self._truth().logical_not()._combine(Ops.MAX, axis, keepdim).logical_not()

    def _truth(self) -> Self:
        return self if self._number_type().is_bool else self.ne(0)

    # *** moments ***

    def _count(self, axis: Axis) -> int:
        return prod(self.shape[a] for a in self._axes(axis))  # type: ignore[misc]

    def mean(self, axis: Axis = None, keepdim: bool = False) -> Self:
        """The mean; of nothing NaN. The sum does not overflow: it is taken in float32 or wider, and
        exactly where so many bools or small integers fit into 32 bits.
        """
        given = self._as_float()
        count = self._count(axis)
        terms = self if _sums_exactly(self._number_type(), count) else given
        total = terms.cast(sum_acc_dtype(terms._number_type()))._combine(Ops.ADD, axis, keepdim)
        wide = total.cast(sum_acc_dtype(given._number_type()))
        return wide._over_count(count).cast(given._number_type())

    def _over_count(self, count: object, correction: float = 0) -> Self:
        if isinstance(count, int):
            rest = max(count - correction, 0)
            if rest == 0:
                # 0 / 0: a mean of nothing is NaN
                return self * math.nan if count == 0 else self.fdiv(0.0)
            return self.fdiv(float(rest))
        shifted = count - correction if correction else count  # type: ignore[operator]
        return self.fdiv(self.ufix(shifted).cast(self._number_type()))

    def var(self, axis: Axis = None, keepdim: bool = False, correction: float = 1) -> Self:
        """The variance with `correction` taken from the count, in two passes: no cancellation."""
        given = self._as_float()
        wide = given.cast(sum_acc_dtype(given._number_type()))
        centered = wide - wide.mean(axis, keepdim=True)
        total = (centered * centered)._combine(Ops.ADD, axis, keepdim)
        return total._over_count(self._count(axis), correction).cast(given._number_type())

    def var_mean(
        self, axis: Axis = None, keepdim: bool = False, correction: float = 1
    ) -> tuple[Self, Self]:
        """Variance and mean."""
        return self.var(axis, keepdim, correction), self.mean(axis, keepdim)

    def std(self, axis: Axis = None, keepdim: bool = False, correction: float = 1) -> Self:
        """The square root of the variance; the gradient of equal values is 0."""
        variance = self.var(axis, keepdim, correction)
        # the root is not differentiable at 0: there a constant is taken
        is_zero = variance.eq(0)
        return is_zero.where(0, is_zero.where(1, variance).sqrt())

    def std_mean(
        self, axis: Axis = None, keepdim: bool = False, correction: float = 1
    ) -> tuple[Self, Self]:
        """Standard deviation and mean."""
        return self.std(axis, keepdim, correction), self.mean(axis, keepdim)

    # *** exponentials ***

    def _without_largest(self, axis: Axis) -> tuple[Self, Self]:
        """The values minus their largest, and that: 0 where it is infinite, to avoid inf - inf,
        and where there are none."""
        if self._is_nothing_along(axis):
            return self, self.sum(axis, keepdim=True)
        largest = self.max(axis, keepdim=True).detach()
        finite = largest.isfinite().where(largest, 0)
        return self - finite, finite

    def softmax(self, axis: int = -1, dtype: DType | None = None) -> Self:
        """exp(x) over its sum along `axis`; half precision is left only for the result."""
        x = self.cast(self._named_dtype(dtype)) if dtype is not None else self._as_float()
        wide = x.cast(sum_acc_dtype(x._number_type()))
        shifted = wide - wide.max(axis, keepdim=True).detach()
        powers = shifted.exp()
        return (powers / powers.sum(axis, keepdim=True)).cast(x._number_type())

    def log_softmax(self, axis: int = -1, dtype: DType | None = None) -> Self:
        """The logarithm of the softmax; half precision is left only for the result."""
        x = self.cast(self._named_dtype(dtype)) if dtype is not None else self._as_float()
        wide = x.cast(sum_acc_dtype(x._number_type()))
        shifted = wide - wide.max(axis, keepdim=True).detach()
        logs = shifted - shifted.exp().sum(axis, keepdim=True).log()
        return logs.cast(x._number_type())

    def logsumexp(self, axis: Axis = None, keepdim: bool = False) -> Self:
        """The logarithm of the sum of exponentials, without overflow."""
        x = self._as_float()
        wide = x.cast(sum_acc_dtype(x._number_type()))
        shifted, largest = wide._without_largest(axis)
        total = shifted.exp().sum(axis, keepdim=True).log() + largest
        total = total.cast(x._number_type())
        if keepdim:
            return total
        axes = self._axes(axis)
        return total.reshape(tuple(s for i, s in enumerate(self.shape) if i not in axes))


def _sums_exactly(dtype: DType, count: object) -> bool:
    """Whether no sum of so many values of an integer dtype exceeds its accumulator."""
    if dtype.is_float or dtype.itemsize >= 4 or not isinstance(count, int):
        return False
    largest = max(abs(int(dtype.min)), int(dtype.max))
    return largest * count <= int(sum_acc_dtype(dtype).max)
