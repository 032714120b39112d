"""Statistics: order statistics, histograms, moments of pairs, differences and integrals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self, TypeVar

import numpy as np
from tg_uop import dtypes
from tg_uop.errors import DTypeError, ShapeError
from tg_uop.plain import plain

from tg_tensor.errors import ArgumentError
from tg_tensor.ops.fft import FftOps

Axis = int | Sequence[int] | None
_INTERPOLATIONS = ("linear", "lower", "higher", "nearest", "midpoint")
T = TypeVar("T", bound="StatisticsOps")


class StatisticsOps(FftOps):
    """What NumPy and PyTorch offer beyond sums, means and variances."""

    __slots__ = ()

    # *** order statistics ***

    def quantile(
        self,
        q: float | Sequence[float] | Self,
        dim: int | None = None,
        keepdim: bool = False,
        *,
        interpolation: str = "linear",
    ) -> Self:
        """The value below which the part `q` of an axis (of all elements if None) lies.

        Several `q`, a list or a vector, come as a first axis. Between two values `interpolation`
        says what is taken: "linear", "lower", "higher", "nearest", "midpoint". NaN where there is
        one, and of nothing. Raises `ArgumentError` for another interpolation or a number outside of
        0 to 1, `DTypeError` for integers.
        """
        return self._quantile("quantile", q, dim, keepdim, interpolation, ignore_nan=False)

    def nanquantile(
        self,
        q: float | Sequence[float] | Self,
        dim: int | None = None,
        keepdim: bool = False,
        *,
        interpolation: str = "linear",
    ) -> Self:
        """`quantile` of what is not NaN; NaN where nothing is left."""
        return self._quantile("nanquantile", q, dim, keepdim, interpolation, ignore_nan=True)

    def _quantile(
        self,
        op: str,
        q: object,
        dim: int | None,
        keepdim: bool,
        interpolation: str,
        *,
        ignore_nan: bool,
    ) -> Self:
        if not self.dtype.is_float:
            raise DTypeError(
                what=op, dtypes=[self.dtype], reason="quantiles are floats", hint="cast to a float"
            )
        if interpolation not in _INTERPOLATIONS:
            raise ArgumentError(
                op=op,
                argument="interpolation",
                given=interpolation,
                expected=f"one of {', '.join(map(repr, _INTERPOLATIONS))}",
            )
        parts, single = self._parts(op, q)
        shape = self.shape
        axis = 0 if dim is None else self._axis(dim)
        line = self.flatten() if dim is None else self.transpose(axis, -1)
        count = line.shape[-1]
        if dim is None:
            reduced = (1,) * self.ndim if keepdim else ()
        else:
            kept = (1,) if keepdim else ()
            reduced = (*shape[:axis], *kept, *shape[axis + 1 :])
        if line.numel() == 0:
            nothing = self._nothing(*parts.shape, *reduced) * math.nan
            return nothing.squeeze(0) if single else nothing
        ordered = line.sort(-1)[0]
        present = line.isnan().logical_not().sum(-1, keepdim=True)
        found = ordered._at_parts(parts, present if ignore_nan else None, interpolation)
        if not ignore_nan:
            found = (present < count).where(math.nan, found)
        # (..., parts) to (parts, ...)
        moved = found.permute([found.ndim - 1, *range(found.ndim - 1)])
        if dim is not None:
            # the last axis of the value stands in the place of the reduced one
            moved = moved.unsqueeze(-1).transpose(axis + 1, -1)
            moved = moved if keepdim else moved.squeeze(axis + 1)
        moved = moved.reshape((*moved.shape[:1], *reduced))
        return moved.squeeze(0) if single else moved

    def _parts(self, op: str, q: object) -> tuple[Self, bool]:
        """The parts asked for as a vector, and whether it was just one number."""
        if isinstance(q, StatisticsOps):
            if q.ndim > 1:
                raise ShapeError(op=op, shapes=(q.shape,), reason="q is a number or a vector")
            vector = q.reshape((q.numel(),)).cast(self.dtype)
            return vector, q.ndim == 0  # type: ignore[return-value]
        q = plain(q)
        single = isinstance(q, int | float)
        numbers: list[float] = [q] if single else list(q)  # type: ignore[list-item, call-overload]
        if not all(0 <= number <= 1 for number in numbers):
            raise ArgumentError(op=op, argument="q", given=q, expected="numbers from 0 to 1")
        exact = np.array(numbers, np.float64)
        return self._lift(exact, self.device).cast(self.dtype), single

    def _at_parts(self, parts: Self, present: Self | None, interpolation: str) -> Self:
        """Elements of the last axis, which is in order, at parts of its length: (..., parts)."""
        count = self.shape[-1]
        batch = self.shape[:-1]
        wide = parts._as_solvable()
        last = count - 1 if present is None else (present - 1).maximum(0).cast(wide.dtype)
        place = (wide * last)._expand_to((*batch, parts.shape[0]))
        if interpolation == "nearest":
            place = place.round()
        low = place.floor()
        low_value = self.gather(-1, low.cast(dtypes.int32))
        if interpolation in ("lower", "nearest"):
            return low_value
        high_value = self.gather(-1, place.ceil().cast(dtypes.int32))
        if interpolation == "higher":
            return high_value
        weight = (place - low).cast(self.dtype)
        if interpolation == "midpoint":
            weight = weight.eq(0).where(0.0, weight.const_like(0.5))
        # equal infinities have no difference
        is_flat = low_value.eq(high_value) | weight.eq(0)
        return is_flat.where(low_value, low_value + (high_value - low_value) * weight)

    def median(self, dim: int | None = None, keepdim: bool = False) -> Self | tuple[Self, Self]:
        """The middle value, of two the lower; with `dim` also its position.

        NaN, and the position of the first, where there is one. Raises `ShapeError` for nothing.
        """
        return self._median("median", dim, keepdim, ignore_nan=False)

    def nanmedian(self, dim: int | None = None, keepdim: bool = False) -> Self | tuple[Self, Self]:
        """`median` of what is not NaN; NaN where nothing is left."""
        return self._median("nanmedian", dim, keepdim, ignore_nan=True)

    def _median(
        self, op: str, dim: int | None, keepdim: bool, *, ignore_nan: bool
    ) -> Self | tuple[Self, Self]:
        if dim is None:
            flat = self.flatten()
            flat._refuse_empty(op, 0)
            value = flat._median(op, 0, False, ignore_nan=ignore_nan)[0]
            return value.reshape((1,) * self.ndim) if keepdim else value
        axis = self._axis(dim)
        if not self.shape:
            return self, self._of(self.ufix(0).uop.cast(dtypes.default_int))
        self._refuse_empty(op, axis)
        order = self.argsort(axis)
        count = self.shape[axis]
        middle = (count - 1) // 2
        if not self.dtype.is_float:
            place = order._part(axis, middle, middle + 1)
        elif ignore_nan:
            present = self.isnan().logical_not().sum(axis, keepdim=True)
            place = order.gather(axis, ((present - 1).maximum(0) >> 1).cast(dtypes.int32))
        else:
            is_nan = self.isnan()
            first = is_nan.argmax(axis, keepdim=True)
            usual = order._part(axis, middle, middle + 1)
            place = is_nan.any(axis, keepdim=True).where(first, usual)
        value = self.gather(axis, place)
        return (value, place) if keepdim else (value.squeeze(axis), place.squeeze(axis))

    def mode(self, dim: int = -1, keepdim: bool = False) -> tuple[Self, Self]:
        """The most frequent value of an axis, of several the smallest, and its last position.

        Raises `ShapeError` for nothing.
        """
        axis = self._axis(dim)
        if not self.shape:
            return self, self._of(self.ufix(0).uop.cast(dtypes.default_int))
        self._refuse_empty("mode", axis)
        values, order = self.transpose(axis, -1).sort(-1)
        last = values.ndim - 1
        count = values.shape[last]
        line = self._iota(count, self.device, dtypes.int32)
        before = values._part(last, 0, count - 1)
        is_new = values._part(last, 1, count).ne(before)._pad_zeros([(0, 0)] * last + [(1, 0)])
        start = is_new.where(line, 0).cummax(-1)[0]
        place = (line - start).argmax(-1, keepdim=True)
        value = values.gather(-1, place).transpose(axis, -1)
        where = order.gather(-1, place).transpose(axis, -1)
        return (value, where) if keepdim else (value.squeeze(axis), where.squeeze(axis))

    # *** counts ***

    def count_nonzero(self, dim: Axis = None, keepdim: bool = False) -> Self:
        """How many elements are not 0."""
        return self.ne(0).sum(dim, keepdim).cast(dtypes.default_int)

    def bincount(self, weights: Self | None = None, minlength: int = 0) -> Self:
        """How often each number from 0 on occurs in a vector, or the sums of its weights.

        The length is the largest number + 1, at least `minlength`: its value is needed now. Raises
        `DTypeError` for floats, `ShapeError` for more axes, `ArgumentError` for negative numbers.
        """
        if self.dtype.is_float:
            raise DTypeError(what="bincount", dtypes=[self.dtype], reason="bins are integers")
        if self.ndim != 1 or (weights is not None and weights.shape != self.shape):
            shapes = (self.shape,) if weights is None else (self.shape, weights.shape)
            raise ShapeError(
                op="bincount", shapes=shapes, reason="vectors of one length are needed"
            )
        if minlength < 0:
            raise ArgumentError(
                op="bincount", argument="minlength", given=minlength, expected="0 or more"
            )
        values = self.cast(dtypes.int64).numpy()
        if values.size and int(values.min()) < 0:
            raise ArgumentError(
                op="bincount", argument="self", given=int(values.min()), expected="0 or more"
            )
        length = max(int(values.max()) + 1 if values.size else 0, minlength)
        line = self._iota(length, self.device, dtypes.int32)
        named = self._as_places()
        hits = named.unsqueeze(-1).eq(line.cast(named.dtype))
        if weights is None:
            return hits.sum(0).cast(dtypes.default_int)
        return hits.where(weights._as_float().unsqueeze(-1), 0).sum(0)

    def histc(self, bins: int = 100, min: float = 0, max: float = 0) -> Self:
        """How many elements lie in each of `bins` intervals of one width from `min` to `max`.

        Where both are equal, the least and the largest element are taken. What lies outside is
        not counted. Raises `ArgumentError` for bounds or a number of bins that make no intervals.
        """
        if bins < 1 or min > max:
            expected = "1 or more bins, min not above max"
            raise ArgumentError(
                op="histc", argument="bins, min, max", given=(bins, min, max), expected=expected
            )
        x = self._as_float().flatten()
        bounds = None if min == max else (min, max)
        low, high = x._outer_edges(bounds, 1.0)
        counts = x._bin_hits(bins, low, high).sum(0)
        return counts.cast(x.dtype)

    def histogram(
        self,
        bins: int | Sequence[float] | Self,
        *,
        range: tuple[float, float] | None = None,
        weight: Self | None = None,
        density: bool = False,
    ) -> tuple[Self, Self]:
        """How many elements (or which sum of weights) lie in each interval, and the edges.

        `bins` is a number of intervals of one width, in `range` or from the least to the largest
        element, or the edges. The last interval holds its right edge. With `density` the sum over
        the intervals times their widths is 1. Raises `ArgumentError` for bins that make none.
        """
        x = self._as_float().flatten()
        bins = plain(bins)
        if isinstance(bins, int):
            if bins < 1:
                raise ArgumentError(
                    op="histogram", argument="bins", given=bins, expected="1 or more"
                )
            low, high = x._outer_edges(range, 0.5)
            steps = self._iota(bins + 1, self.device, dtypes.int32).cast(x.dtype)
            edges = low + (high - low) * (steps / bins)
            edges = steps.eq(bins).where(high, edges)
            hits = x._bin_hits(bins, low, high)
        else:
            given = bins if isinstance(bins, StatisticsOps) else self._lift(list(bins), self.device)
            edges = given.cast(x.dtype)
            count = edges.shape[0] - 1
            column = x.unsqueeze(-1)
            left, right = edges._part(0, 0, count), edges._part(0, 1, count + 1)
            is_last = self._iota(count, self.device, dtypes.int32).eq(count - 1)
            hits = (column >= left) & ((column < right) | (is_last & column.eq(right)))
        if weight is None:
            counts = hits.sum(0).cast(x.dtype)
        else:
            counts = hits.where(weight.flatten().unsqueeze(-1), 0).sum(0)
        if density:
            widths = edges._part(0, 1, edges.shape[0]) - edges._part(0, 0, edges.shape[0] - 1)
            counts = counts / (counts.sum() * widths)
        return counts, edges

    def _outer_edges(self, bounds: tuple[float, float] | None, spread: float) -> tuple[Self, Self]:
        """The bounds, or the least and the largest element; apart where they are equal."""
        if bounds is not None:
            low = self._of(self.ufix(float(bounds[0])).uop)
            high = self._of(self.ufix(float(bounds[1])).uop)
        elif self.numel() == 0:
            low, high = self._of(self.ufix(0.0).uop), self._of(self.ufix(1.0).uop)
        else:
            low, high = self.detach().min(), self.detach().max()
        flat = low.eq(high)
        return flat.where(low - spread, low), flat.where(high + spread, high)

    def _bin_hits(self, bins: int, low: Self, high: Self) -> Self:
        """Which element of a vector lies in which interval of one width: (elements, bins)."""
        place = ((self - low) / (high - low) * bins).floor()
        place = self.eq(high).where(bins - 1, place.minimum(bins - 1))
        inside = (self >= low) & (self <= high)
        line = self._iota(bins, self.device, dtypes.int32).cast(self.dtype)
        return inside.unsqueeze(-1) & place.unsqueeze(-1).eq(line)

    # *** moments ***

    def cov(
        self,
        *,
        correction: int = 1,
        fweights: Self | None = None,
        aweights: Self | None = None,
    ) -> Self:
        """The covariances of variables (rows) over observations (columns).

        `fweights` says how often, `aweights` with which weight each observation counts. A vector
        is one variable: the result is its variance, without axes. Raises `ShapeError` for more than
        two axes.
        """
        if self.ndim > 2:
            raise ShapeError(
                op="cov", shapes=(self.shape,), reason="rows of variables are needed, or a vector"
            )
        x = self._as_float()
        rows = x.reshape((1, x.numel())) if x.ndim < 2 else x
        count = rows.shape[1]
        weights = None
        for given in (fweights, aweights):
            if given is not None:
                part = given.cast(x.dtype)
                weights = part if weights is None else weights * part
        if weights is None:
            mean = rows.mean(1, keepdim=True)
            normal: Self | float = max(count - correction, 0)
            centered = rows - mean
            scaled = centered
        else:
            total = weights.sum()
            mean = (rows * weights).sum(1, keepdim=True) / total
            centered = rows - mean
            scaled = centered * weights
            if aweights is None or correction == 0:
                normal = total - correction
            else:
                normal = total - (weights * aweights).sum() / total * correction
        found = (centered @ scaled._flipped()) / normal
        return found.reshape(()) if self.ndim < 2 else found

    def corrcoef(self) -> Self:
        """The correlations of variables (rows), from -1 to 1. Raises `ShapeError` as `cov`."""
        found = self.cov()
        if found.ndim == 0:
            return found / found
        spread = found.diagonal().sqrt()
        ratio = found / spread.unsqueeze(-1) / spread
        return ratio.clip(-1, 1)

    def average(
        self,
        axis: Axis = None,
        weights: Self | None = None,
        returned: bool = False,
        *,
        keepdim: bool = False,
    ) -> Self | tuple[Self, Self]:
        """The mean with weights, of this shape or of one axis; with `returned` their sum too."""
        x = self._as_float()
        if weights is None:
            mean = x.mean(axis, keepdim)
            total = mean.const_like(x._count(axis))
        else:
            w = weights.cast(x.dtype)
            if w.shape != x.shape:
                if not isinstance(axis, int) or w.ndim != 1 or w.shape[0] != x.shape[axis]:
                    raise ShapeError(
                        op="average",
                        shapes=(self.shape, weights.shape),
                        reason="weights have the shape of the values, or are one axis of them",
                    )
                tail = (1,) * (x.ndim - 1 - x._axis(axis))
                w = w.reshape((w.shape[0], *tail))._expand_to(x.shape)
            total = w.sum(axis, keepdim)
            mean = (x * w).sum(axis, keepdim) / total
        return (mean, total) if returned else mean

    def ptp(self, axis: Axis = None, keepdim: bool = False) -> Self:
        """The distance of the least from the largest value."""
        return self.max(axis, keepdim) - self.min(axis, keepdim)

    def amax(self, dim: Axis = None, keepdim: bool = False) -> Self:
        """The largest values over axes; equal ones share the gradient."""
        return self.max(dim, keepdim)

    def amin(self, dim: Axis = None, keepdim: bool = False) -> Self:
        """The smallest values over axes; equal ones share the gradient."""
        return self.min(dim, keepdim)

    def aminmax(self, *, dim: int | None = None, keepdim: bool = False) -> tuple[Self, Self]:
        """The smallest and the largest values."""
        return self.min(dim, keepdim), self.max(dim, keepdim)

    # *** differences and integrals ***

    def diff(
        self,
        n: int = 1,
        dim: int = -1,
        prepend: Self | None = None,
        append: Self | None = None,
    ) -> Self:
        """The differences of neighbours along an axis, taken n times; of bools where they differ.

        `prepend` and `append` are put before and after first. Raises `ArgumentError` for a
        negative n, `ShapeError` for a number.
        """
        if n < 0:
            raise ArgumentError(op="diff", argument="n", given=n, expected="0 or more")
        if self.ndim == 0:
            raise ShapeError(op="diff", shapes=(self.shape,), reason="a number has no neighbours")
        axis = self._axis(dim)
        if n == 0:
            return self._itself()
        parts = [part for part in (prepend, self, append) if part is not None]
        value = parts[0].cat(*parts[1:], dim=axis) if len(parts) > 1 else self
        for _ in range(min(n, value.shape[axis])):
            count = value.shape[axis]
            left, right = (
                value._part(axis, 0, max(count - 1, 0)),
                value._part(axis, min(1, count), count),
            )
            value = right.bitwise_xor(left) if value.dtype.is_bool else right - left
        return value

    def trapezoid(self, x: Self | None = None, *, dx: float = 1, dim: int = -1) -> Self:
        """The integral along an axis by trapezoids, over points `x` or in steps of `dx`."""
        return self._trapezoids(x, dx, dim).sum(dim)

    def trapz(self, x: Self | None = None, *, dx: float = 1, dim: int = -1) -> Self:
        """See `trapezoid`."""
        return self.trapezoid(x, dx=dx, dim=dim)

    def cumulative_trapezoid(self, x: Self | None = None, *, dx: float = 1, dim: int = -1) -> Self:
        """The integral from the first point to each other one."""
        return self._trapezoids(x, dx, dim).cumsum(self._axis(dim))

    def _trapezoids(self, x: Self | None, dx: float, dim: int) -> Self:
        y = self._as_float()
        axis = y._axis(dim)
        count = y.shape[axis]
        middle = (y._part(axis, min(1, count), count) + y._part(axis, 0, max(count - 1, 0))) * 0.5
        if x is None:
            return middle * dx
        if x.ndim == 1:
            x = x.reshape((x.shape[0], *(1,) * (y.ndim - 1 - axis)))
        return middle * x.diff(dim=axis - y.ndim)
