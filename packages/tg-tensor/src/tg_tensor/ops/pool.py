"""Pooling: reductions over sliding windows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

from tg_uop import dtypes
from tg_uop.errors import ShapeError
from tg_uop.methods.windows import Window

from tg_tensor.errors import ArgumentError
from tg_tensor.ops.conv import ConvOps, Sizes, padding_pairs, per_axis

Pairs = list[tuple[int, int]]


class PoolOps(ConvOps):
    """Maximum and mean over windows of the last axes."""

    __slots__ = ()

    def max_pool2d(
        self,
        kernel_size: Sizes = (2, 2),
        stride: Sizes | None = None,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Self | tuple[Self, Self]:
        """The largest value of each window; what is padded never is.

        `return_indices` gives the position of it in the flattened spatial axes too. `ceil_mode`
        keeps a last window that is only partly inside.
        """
        windows = _windows_of(kernel_size, stride, dilation)
        pads = self._pool_padding("max_pool2d", padding, windows, ceil_mode)
        values = self._pooled_values(windows, pads)
        count = len(windows)
        largest = values.max(tuple(range(-count, 0)))
        if not return_indices:
            return largest
        return largest, self._pool_positions(values, windows, pads)

    def _pooled_values(self, windows: Sequence[Window], pads: Pairs) -> Self:
        front = self.ndim - len(windows)
        lowest = self.dtype.min
        return self._pad_value([(0, 0)] * front + pads, lowest)._windows(windows)

    def _pool_positions(self, values: Self, windows: Sequence[Window], pads: Pairs) -> Self:
        """Where the first of the largest values lies, counted over the spatial axes."""
        count = len(windows)
        spatial = self.shape[-count:]
        total = math.prod(spatial)
        position = self._iota(total, self.device, dtypes.int32).reshape(spatial)
        inside = (total - position)._pad_zeros(pads)._windows(windows)
        kernels = tuple(range(-count, 0))
        matches = values.eq(values.max(kernels, keepdim=True))
        if self.dtype.is_float:
            matches = matches | values.isnan()
        first = matches.where(inside, 0).max(kernels)
        return (total - first).cast(dtypes.default_int)

    def avg_pool2d(
        self,
        kernel_size: Sizes = (2, 2),
        stride: Sizes | None = None,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> Self:
        """The mean of each window; `count_include_pad` counts zeros of the padding too."""
        windows = _windows_of(kernel_size, stride, dilation)
        count = len(windows)
        named = padding_pairs("avg_pool2d", padding, count)
        pads = self._pool_padding("avg_pool2d", padding, windows, ceil_mode)
        front = [(0, 0)] * (self.ndim - count)
        kernels = tuple(range(-count, 0))
        slid = self._pad_zeros(front + pads)._windows(windows)
        if not ceil_mode and (count_include_pad or not any(map(any, pads))):
            return slid.mean(kernels)
        spatial = self.shape[-count:]
        inside = self._of(self.ufix(1.0).uop)._expand_to(spatial).cast(dtypes.float32)
        if count_include_pad:
            inside = inside._pad_value(named, 1.0)
            rest = [(a[0] - b[0], a[1] - b[1]) for a, b in zip(pads, named, strict=True)]
            counted = inside._pad_zeros(rest)
        else:
            counted = inside._pad_zeros(pads)
        number = counted._windows(windows).sum(kernels)
        total = slid.sum(kernels)
        return (total / number).cast(total.dtype)

    def max_unpool2d(
        self,
        indices: Self,
        kernel_size: Sizes = (2, 2),
        stride: Sizes | None = None,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        output_size: Sequence[int] | None = None,
    ) -> Self:
        """The values back at the positions that `max_pool2d` found, zeros elsewhere."""
        windows = _windows_of(kernel_size, stride, dilation)
        count = len(windows)
        pads = padding_pairs("max_unpool2d", padding, count)
        batch = self.shape[: self.ndim - count]
        if output_size is None:
            sizes = [
                (steps - 1) * w.stride - sum(pad) + w.reach
                for steps, w, pad in zip(self.shape[-count:], windows, pads, strict=True)
            ]
        else:
            sizes = list(output_size)[-count:]
        flat_values = self.reshape((*batch, 1, -1))
        flat_indices = indices.reshape((*batch, 1, -1))
        position = self._iota(math.prod(sizes), self.device, dtypes.int32).unsqueeze(-1)
        hits = position.cast(indices.dtype).eq(flat_indices)
        turn = self._iota(flat_indices.shape[-1], self.device, dtypes.int32) + 1
        last = hits.where(turn, 0).max(-1, keepdim=True)
        chosen = last.eq(turn).where(flat_values, False)
        return chosen._only_one(chosen.ndim - 1).reshape((*batch, *sizes))

    def _pool_padding(
        self, op: str, padding: Sizes, windows: Sequence[Window], ceil_mode: bool
    ) -> Pairs:
        """The padding, with what a last, partial window needs."""
        count = len(windows)
        if self.ndim < count:
            raise ShapeError(
                op=op, shapes=(self.shape,), reason=f"there are no {count} axes to pool over"
            )
        pads = padding_pairs(op, padding, count)
        sizes = self.shape[-count:]
        result: Pairs = []
        for size, window, (before, after) in zip(sizes, windows, pads, strict=True):
            if before > window.reach // 2 + window.reach % 2 or before < 0:
                expected = f"at most half of the window's reach of {window.reach}"
                raise ArgumentError(op=op, argument="padding", given=before, expected=expected)
            whole = size + before + after
            if window.reach > whole:
                raise ShapeError(
                    op=op,
                    shapes=(self.shape,),
                    reason=f"a window over {window.reach} elements does not fit {whole}",
                    hint="use more padding or a smaller kernel",
                )
            result.append((before, after + _partial(whole, size + before, window, ceil_mode)))
        return result


def _partial(whole: int, real_end: int, window: Window, ceil_mode: bool) -> int:
    """More elements after the end, for a last window that starts inside but ends outside."""
    if not ceil_mode:
        return 0
    steps = -(-(whole - window.reach) // window.stride) + 1
    # a window that starts in the padding after the end is left out
    if (steps - 1) * window.stride >= real_end:
        steps -= 1
    return max((steps - 1) * window.stride + window.reach - whole, 0)


def _windows_of(kernel_size: Sizes, stride: Sizes | None, dilation: Sizes) -> list[Window]:
    kernels = [kernel_size] * 2 if isinstance(kernel_size, int) else list(kernel_size)
    strides = kernels if stride is None else per_axis("stride", stride, len(kernels))
    dilations = per_axis("dilation", dilation, len(kernels))
    named = (("kernel_size", kernels), ("stride", strides), ("dilation", dilations))
    for argument, given in named:
        if min(given, default=1) < 1:
            raise ArgumentError(
                op="pool", argument=argument, given=tuple(given), expected="numbers of 1 or more"
            )
    return [Window(k, s, d) for k, s, d in zip(kernels, strides, dilations, strict=True)]
