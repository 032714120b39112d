"""Pooling to a given size: windows that lie as evenly over an axis as whole numbers allow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

from tg_uop import dtypes
from tg_uop.dtype.promote import sum_acc_dtype
from tg_uop.errors import ShapeError
from tg_uop.plain import plain

from tg_tensor.errors import ArgumentError
from tg_tensor.ops.sort import SortOps

OutputSize = int | Sequence[int | None]


class AdaptivePoolOps(SortOps):
    """Output i of n comes from the elements from floor(i * size / n) to ceil((i + 1) * size / n).

    Where n divides the size these are ordinary windows; elsewhere each axis is reduced with a mask
    over all its elements.
    """

    __slots__ = ()

    # *** mean ***

    def adaptive_avg_pool1d(self, output_size: OutputSize) -> Self:
        """The means of windows over the last axis, as many as `output_size`."""
        return self._adaptive_mean("adaptive_avg_pool1d", output_size, 1)

    def adaptive_avg_pool2d(self, output_size: OutputSize) -> Self:
        """The same over the last two axes; None keeps an axis."""
        return self._adaptive_mean("adaptive_avg_pool2d", output_size, 2)

    def adaptive_avg_pool3d(self, output_size: OutputSize) -> Self:
        """The same over the last three axes; None keeps an axis."""
        return self._adaptive_mean("adaptive_avg_pool3d", output_size, 3)

    def _adaptive_mean(self, op: str, output_size: OutputSize, count: int) -> Self:
        sizes = self._output_sizes(op, output_size, count)
        value = self._as_float()
        even = self._even_kernel(sizes)
        if even is not None:
            return value.avg_pool2d(even)
        value = value.cast(sum_acc_dtype(value.dtype))
        for axis, size in enumerate(sizes, start=self.ndim - count):
            value = value._adaptive_mean_axis(axis, size)
        return value.cast(self._as_float().dtype)

    def _adaptive_mean_axis(self, axis: int, size: int) -> Self:
        if size == self.shape[axis]:
            return self
        inside = self._adaptive_mask(axis, self.shape[axis], size)
        total = inside.where(self._beside_windows(axis), 0).sum(-1)
        return (total / inside.sum(-1).cast(self.dtype)).transpose(axis, -1)

    # *** maximum ***

    def adaptive_max_pool1d(
        self, output_size: OutputSize, return_indices: bool = False
    ) -> Self | tuple[Self, Self]:
        """The largest values of windows over the last axis, as many as `output_size`."""
        return self._adaptive_max("adaptive_max_pool1d", output_size, 1, return_indices)

    def adaptive_max_pool2d(
        self, output_size: OutputSize, return_indices: bool = False
    ) -> Self | tuple[Self, Self]:
        """The same over the last two axes; None keeps an axis."""
        return self._adaptive_max("adaptive_max_pool2d", output_size, 2, return_indices)

    def adaptive_max_pool3d(
        self, output_size: OutputSize, return_indices: bool = False
    ) -> Self | tuple[Self, Self]:
        """The same over the last three axes; None keeps an axis."""
        return self._adaptive_max("adaptive_max_pool3d", output_size, 3, return_indices)

    def _adaptive_max(
        self, op: str, output_size: OutputSize, count: int, return_indices: bool
    ) -> Self | tuple[Self, Self]:
        sizes = self._output_sizes(op, output_size, count)
        even = self._even_kernel(sizes)
        if even is not None:
            return self.max_pool2d(even, return_indices=return_indices)
        if return_indices:
            return self._adaptive_max_places(sizes)
        value = self
        for axis, size in enumerate(sizes, start=self.ndim - count):
            inside = self._adaptive_mask(axis, value.shape[axis], size)
            lowest = value.const_like(value.dtype.min)._beside_windows(axis)
            value = inside.where(value._beside_windows(axis), lowest).max(-1).transpose(axis, -1)
        return value

    def _adaptive_max_places(self, sizes: Sequence[int]) -> tuple[Self, Self]:
        """The largest values and their positions: all axes at once, because a position is one."""
        count = len(sizes)
        batch, spatial = self.shape[: self.ndim - count], self.shape[self.ndim - count :]
        inside: Self | None = None
        for axis, (own, size) in enumerate(zip(spatial, sizes, strict=True)):
            shape = [1] * (2 * count)
            shape[axis], shape[count + axis] = size, own
            mask = self._adaptive_mask(axis, own, size).reshape(shape)
            inside = mask if inside is None else inside & mask
        assert inside is not None, "there is an axis to pool over"
        value = self.reshape((*batch, *(1,) * count, *spatial))
        value = value.expand((*batch, *sizes, *spatial))
        candidates = inside.where(value, value.dtype.min)
        total = math.prod(spatial)
        flat = candidates.reshape((*batch, *sizes, total))
        largest = flat.max(-1)
        matches = flat.eq(largest.unsqueeze(-1))
        if flat.dtype.is_float:
            matches = matches | flat.isnan()
        matches = matches & inside.expand((*sizes, *spatial)).reshape((*sizes, total))
        position = self._iota(total, self.device, dtypes.int32)
        first = total - matches.where(total - position, 0).max(-1)
        return largest, first.cast(dtypes.default_int)

    # *** windows ***

    def _output_sizes(self, op: str, output_size: OutputSize, count: int) -> list[int]:
        output_size = plain(output_size)
        given = [output_size] * count if isinstance(output_size, int) else list(output_size)
        if len(given) == 1:
            given *= count
        if len(given) != count:
            raise ArgumentError(
                op=op, argument="output_size", given=output_size, expected=f"{count} sizes"
            )
        if self.ndim < count + 1 or 0 in self.shape[self.ndim - count :]:
            raise ShapeError(
                op=op,
                shapes=(self.shape,),
                reason=f"channels and {count} axes that are not empty are pooled over",
            )
        own = self.shape[self.ndim - count :]
        sizes = [o if size is None else size for size, o in zip(given, own, strict=True)]
        if min(sizes) < 0:
            raise ArgumentError(
                op=op, argument="output_size", given=output_size, expected="0 or more"
            )
        return sizes

    def _even_kernel(self, sizes: Sequence[int]) -> list[int] | None:
        """The windows where all are of one length, side by side."""
        own = self.shape[self.ndim - len(sizes) :]
        if any(size == 0 or o % size for o, size in zip(own, sizes, strict=True)):
            return None
        return [o // size for o, size in zip(own, sizes, strict=True)]

    def _adaptive_mask(self, axis: int, own: int, size: int) -> Self:
        """Which element is in which window: shape (windows, elements), of its own for each axis."""
        tag = ("axis", axis)
        window = self._iota(size, self.device, dtypes.int32, tag).unsqueeze(1)
        element = self._iota(own, self.device, dtypes.int32, tag)
        # start <= e  and  e < end, without division: start = floor(w own / size)
        starts = window * own < (element + 1) * size
        return starts & (element * size < (window + 1) * own)

    def _beside_windows(self, axis: int) -> Self:
        """The axis last, and one of size 1 for the windows before it."""
        return self.transpose(axis, -1).unsqueeze(-2)
