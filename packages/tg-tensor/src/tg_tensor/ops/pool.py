"""Pooling: reductions over sliding windows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

from tg_uop import dtypes
from tg_uop.errors import DTypeError, ShapeError
from tg_uop.methods.windows import Window
from tg_uop.plain import plain

from tg_tensor.errors import ArgumentError
from tg_tensor.ops.conv import Pairs, Sizes, padding_pairs, window_numbers
from tg_tensor.ops.conv_transpose import ConvTransposeOps


class PoolOps(ConvTransposeOps):
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
        return self._max_pool(windows, padding, ceil_mode, return_indices)

    def max_pool1d(
        self,
        kernel_size: Sizes = 2,
        stride: Sizes | None = None,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Self | tuple[Self, Self]:
        """`max_pool2d` over one axis."""
        windows = _windows_of(kernel_size, stride, dilation, 1)
        return self._max_pool(windows, padding, ceil_mode, return_indices)

    def max_pool3d(
        self,
        kernel_size: Sizes = 2,
        stride: Sizes | None = None,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Self | tuple[Self, Self]:
        """`max_pool2d` over three axes."""
        windows = _windows_of(kernel_size, stride, dilation, 3)
        return self._max_pool(windows, padding, ceil_mode, return_indices)

    def _max_pool(
        self, windows: Sequence[Window], padding: Sizes, ceil_mode: bool, return_indices: bool
    ) -> Self | tuple[Self, Self]:
        pads = self._pool_padding("max_pool", padding, windows, ceil_mode)
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
        divisor_override: int | None = None,
    ) -> Self:
        """The mean of each window; `count_include_pad` counts zeros of the padding too.

        `divisor_override` divides the sum by another number than that of the elements.
        """
        windows = _windows_of(kernel_size, stride, dilation)
        return self._avg_pool(windows, padding, ceil_mode, count_include_pad, divisor_override)

    def avg_pool1d(
        self,
        kernel_size: Sizes = 2,
        stride: Sizes | None = None,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> Self:
        """`avg_pool2d` over one axis."""
        windows = _windows_of(kernel_size, stride, dilation, 1)
        return self._avg_pool(windows, padding, ceil_mode, count_include_pad, None)

    def avg_pool3d(
        self,
        kernel_size: Sizes = 2,
        stride: Sizes | None = None,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Self:
        """`avg_pool2d` over three axes."""
        windows = _windows_of(kernel_size, stride, dilation, 3)
        return self._avg_pool(windows, padding, ceil_mode, count_include_pad, divisor_override)

    def _avg_pool(
        self,
        windows: Sequence[Window],
        padding: Sizes,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor: int | None,
    ) -> Self:
        count = len(windows)
        named = padding_pairs("avg_pool", padding, count)
        pads = self._pool_padding("avg_pool", padding, windows, ceil_mode)
        front = [(0, 0)] * (self.ndim - count)
        kernels = tuple(range(-count, 0))
        slid = self._pad_zeros(front + pads)._windows(windows)
        if divisor is not None:
            return slid._as_float().sum(kernels) / divisor
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
        return (total / number).cast(self._as_float().dtype)

    def lp_pool1d(
        self,
        norm_type: float,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        ceil_mode: bool = False,
    ) -> Self:
        """`lp_pool2d` over one axis."""
        return self._lp_pool(norm_type, _windows_of(kernel_size, stride, 1, 1), ceil_mode)

    def lp_pool2d(
        self,
        norm_type: float,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        ceil_mode: bool = False,
    ) -> Self:
        """The p-norm of each window: the sum of x**p to the power 1 / p.

        A last, partial window counts as if its missing elements were like the others.
        """
        return self._lp_pool(norm_type, _windows_of(kernel_size, stride, 1), ceil_mode)

    def lp_pool3d(
        self,
        norm_type: float,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        ceil_mode: bool = False,
    ) -> Self:
        """`lp_pool2d` over three axes."""
        return self._lp_pool(norm_type, _windows_of(kernel_size, stride, 1, 3), ceil_mode)

    def _lp_pool(self, norm_type: float, windows: Sequence[Window], ceil_mode: bool) -> Self:
        elements = math.prod(window.kernel for window in windows)
        means = self.pow(norm_type)._avg_pool(windows, 0, ceil_mode, True, None)
        return (means * elements).pow(1 / norm_type)

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
        return self._max_unpool(indices, windows, padding, output_size)

    def max_unpool1d(
        self,
        indices: Self,
        kernel_size: Sizes = 2,
        stride: Sizes | None = None,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        output_size: Sequence[int] | None = None,
    ) -> Self:
        """`max_unpool2d` over one axis."""
        windows = _windows_of(kernel_size, stride, dilation, 1)
        return self._max_unpool(indices, windows, padding, output_size)

    def max_unpool3d(
        self,
        indices: Self,
        kernel_size: Sizes = 2,
        stride: Sizes | None = None,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        output_size: Sequence[int] | None = None,
    ) -> Self:
        """`max_unpool2d` over three axes."""
        windows = _windows_of(kernel_size, stride, dilation, 3)
        return self._max_unpool(indices, windows, padding, output_size)

    def _max_unpool(
        self,
        indices: Self,
        windows: Sequence[Window],
        padding: Sizes,
        output_size: Sequence[int] | None,
    ) -> Self:
        if indices.shape != self.shape:
            raise ShapeError(
                op="max_unpool",
                shapes=(self.shape, indices.shape),
                reason="there is one index for each value",
            )
        if not indices.dtype.is_int:
            raise DTypeError(
                what="max_unpool", dtypes=[indices.dtype], reason="positions are integers"
            )
        count = len(windows)
        pads = padding_pairs("max_unpool", padding, count)
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
        # windows that share their largest element have the same value for it
        largest = hits.where(flat_values, self.dtype.min).max(-1)
        restored = hits.any(-1).where(largest, False)
        return restored.reshape((*batch, *sizes))

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


def _windows_of(
    kernel_size: Sizes, stride: Sizes | None, dilation: Sizes, count: int = 2
) -> list[Window]:
    """A window an axis: of `count` axes for one number, else of as many as there are numbers."""
    kernel_size, stride = plain(kernel_size), plain(stride)
    given = [kernel_size] * count if isinstance(kernel_size, int) else list(kernel_size)
    if not given:
        raise ArgumentError(
            op="window", argument="kernel_size", given=kernel_size, expected="one number or more"
        )
    kernels = window_numbers("kernel_size", given, len(given))
    # an empty list of strides is PyTorch's way to say that there is none
    no_stride = stride is None or (not isinstance(stride, int) and not len(stride))
    strides = kernels if no_stride else window_numbers("stride", stride or 0, len(kernels))
    dilations = window_numbers("dilation", dilation, len(kernels))
    return [Window(k, s, d) for k, s, d in zip(kernels, strides, dilations, strict=True)]
