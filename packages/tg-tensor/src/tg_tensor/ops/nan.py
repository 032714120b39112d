"""Reductions that leave NaN out, by the names and rules of NumPy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

from tg_tensor.defaults import DTypeLike, to_dtype
from tg_tensor.ops.statistics import StatisticsOps

Axis = int | Sequence[int] | None


class NanOps(StatisticsOps):
    """nansum, nanmean and their kin; of integers they are what they are without `nan`."""

    __slots__ = ()

    def _or_where_nan(self, value: float) -> Self:
        return self.isnan().where(value, self) if self.dtype.is_float else self

    def _present(self, axis: Axis, keepdim: bool) -> Self:
        """How many elements are not NaN, as a float."""
        x = self._as_float()
        count = x.isnan().logical_not().sum(axis, keepdim)
        return count.cast(x._as_solvable().dtype)

    def nansum(
        self, axis: Axis = None, keepdim: bool = False, dtype: DTypeLike | None = None
    ) -> Self:
        """The sum of what is not NaN; of nothing 0. Number types are those of `sum`."""
        wanted = None if dtype is None else to_dtype(dtype)
        return self._or_where_nan(0).sum(axis, keepdim, wanted)

    def nanprod(self, axis: Axis = None, keepdim: bool = False) -> Self:
        """The product of what is not NaN; of nothing 1."""
        return self._or_where_nan(1).prod(axis, keepdim)

    def nanmean(self, axis: Axis = None, keepdim: bool = False) -> Self:
        """The mean of what is not NaN; of nothing NaN."""
        x = self._as_float()
        wide = x._or_where_nan(0)._as_solvable()
        return (wide.sum(axis, keepdim) / self._present(axis, keepdim)).cast(x.dtype)

    def nanvar(self, axis: Axis = None, keepdim: bool = False, correction: float = 0) -> Self:
        """The variance of what is not NaN; NaN where the count is not above `correction`.

        As in NumPy nothing is taken from the count unless `correction` says so.
        """
        x = self._as_float()
        wide = x._as_solvable()
        away = wide - wide.nanmean(axis, keepdim=True)
        total = away.square().nansum(axis, keepdim)
        rest = self._present(axis, keepdim) - correction
        enough = rest > 0
        return enough.where(total / enough.where(rest, 1), math.nan).cast(x.dtype)

    def nanstd(self, axis: Axis = None, keepdim: bool = False, correction: float = 0) -> Self:
        """The square root of `nanvar`."""
        return self.nanvar(axis, keepdim, correction).sqrt()

    def nanmax(self, axis: Axis = None, keepdim: bool = False) -> Self:
        """The largest value that is not NaN; of nothing but NaN it is NaN.

        Raises `ShapeError` for no elements.
        """
        if not self.dtype.is_float:
            return self.max(axis, keepdim)
        found = self._or_where_nan(-math.inf).max(axis, keepdim)
        return self.isnan().all(axis, keepdim).where(math.nan, found)

    def nanmin(self, axis: Axis = None, keepdim: bool = False) -> Self:
        """The smallest value that is not NaN; of nothing but NaN it is NaN.

        Raises `ShapeError` for no elements.
        """
        if not self.dtype.is_float:
            return self.min(axis, keepdim)
        found = self._or_where_nan(math.inf).min(axis, keepdim)
        return self.isnan().all(axis, keepdim).where(math.nan, found)

    def nanargmax(self, axis: int | None = None, keepdim: bool = False) -> Self:
        """The first position of the largest value that is not NaN; 0 where there is none."""
        return self._first_where(self.nanmax(axis, keepdim=True), axis, keepdim)

    def nanargmin(self, axis: int | None = None, keepdim: bool = False) -> Self:
        """The first position of the smallest value that is not NaN; 0 where there is none."""
        return self._first_where(self.nanmin(axis, keepdim=True), axis, keepdim)

    def _first_where(self, value: Self, axis: int | None, keepdim: bool) -> Self:
        return self.eq(value).argmax(axis, keepdim)

    def nancumsum(self, axis: int = 0) -> Self:
        """`cumsum` with NaN as 0."""
        return self._or_where_nan(0).cumsum(axis)

    def nancumprod(self, axis: int = 0) -> Self:
        """`cumprod` with NaN as 1."""
        return self._or_where_nan(1).cumprod(axis)
