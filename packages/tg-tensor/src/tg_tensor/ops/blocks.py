"""Images as blocks and back: pixels from channels, windows as columns, columns added up."""

from __future__ import annotations

import math
from typing import Self

from tg_uop.errors import ShapeError
from tg_uop.methods.windows import Window, unslide

from tg_tensor.ops.conv import Sizes, padding_pairs, window_numbers
from tg_tensor.ops.sample import SampleOps


class BlockOps(SampleOps):
    """pixel_shuffle, channel_shuffle, im2col and fold."""

    __slots__ = ()

    # *** pixels and channels ***

    def pixel_shuffle(self, upscale_factor: int) -> Self:
        """(..., c * r * r, h, w) as (..., c, h * r, w * r).

        Raises `ShapeError` when the channels are no multiple of r * r.
        """
        r = upscale_factor
        if self.ndim < 3 or r < 1 or self.shape[-3] % (r * r):
            raise ShapeError(
                op="pixel_shuffle",
                shapes=(self.shape,),
                reason=f"the third axis from the end must be a multiple of {r} * {r}",
            )
        *batch, channels, height, width = self.shape
        count = len(batch)
        split = self.reshape((*batch, channels // (r * r), r, r, height, width))
        order = [count, count + 3, count + 1, count + 4, count + 2]
        mixed = split.permute([*range(count), *order])
        return mixed.reshape((*batch, channels // (r * r), height * r, width * r))

    def pixel_unshuffle(self, downscale_factor: int) -> Self:
        """(..., c, h * r, w * r) as (..., c * r * r, h, w).

        Raises `ShapeError` when the image is no multiple of r.
        """
        r = downscale_factor
        if self.ndim < 3 or r < 1 or self.shape[-1] % r or self.shape[-2] % r:
            raise ShapeError(
                op="pixel_unshuffle",
                shapes=(self.shape,),
                reason=f"the last two axes must be multiples of {r}",
            )
        *batch, channels, height, width = self.shape
        count = len(batch)
        split = self.reshape((*batch, channels, height // r, r, width // r, r))
        order = [count, count + 2, count + 4, count + 1, count + 3]
        mixed = split.permute([*range(count), *order])
        return mixed.reshape((*batch, channels * r * r, height // r, width // r))

    def channel_shuffle(self, groups: int) -> Self:
        """The channels (axis 1) of each group dealt out one after the other.

        Raises `ShapeError` when the groups do not divide the channels.
        """
        if self.ndim < 2 or groups < 1 or self.shape[1] % groups:
            raise ShapeError(
                op="channel_shuffle",
                shapes=(self.shape,),
                reason=f"{groups} groups do not divide the channels",
            )
        batch, channels, *rest = self.shape
        split = self.reshape((batch, groups, channels // groups, *rest))
        return split.transpose(1, 2).reshape(self.shape)

    # *** windows as columns ***

    def im2col(
        self, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
    ) -> Self:
        """Windows of images (batch, channels, h, w) as columns (batch, channels * kernel, windows).

        PyTorch's `functional.unfold`; an image without a batch gives columns without one.
        """
        if self.ndim == 3:
            return self.unsqueeze(0).im2col(kernel_size, dilation, padding, stride).squeeze(0)
        if self.ndim != 4:
            raise ShapeError(
                op="im2col", shapes=(self.shape,), reason="images have channels and two axes"
            )
        windows = _windows(kernel_size, dilation, stride)
        pads = padding_pairs("im2col", padding, 2)
        slid = self.pad([(0, 0), (0, 0), *pads])._windows(windows)
        batch, channels = self.shape[:2]
        steps = math.prod(slid.shape[2:4])
        taps = math.prod(window.kernel for window in windows)
        columns = slid.permute([0, 1, 4, 5, 2, 3])
        return columns.reshape((batch, channels * taps, steps))

    def fold(
        self,
        output_size: Sizes,
        kernel_size: Sizes,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        stride: Sizes = 1,
    ) -> Self:
        """Columns (batch, channels * kernel, windows) added up to images: `im2col` transposed.

        Raises `ShapeError` when there are not as many columns as windows.
        """
        if self.ndim == 2:
            alone = self.unsqueeze(0)
            return alone.fold(output_size, kernel_size, dilation, padding, stride).squeeze(0)
        windows = _windows(kernel_size, dilation, stride)
        sizes = window_numbers("output_size", output_size, 2)
        pads = padding_pairs("fold", padding, 2)
        padded = [size + sum(pair) for size, pair in zip(sizes, pads, strict=True)]
        steps = [window.steps(size) for window, size in zip(windows, padded, strict=True)]
        taps = [window.kernel for window in windows]
        fits = self.ndim == 3 and min(steps) > 0 and self.shape[2] == math.prod(steps)
        if not fits or self.shape[1] % math.prod(taps):
            raise ShapeError(
                op="fold",
                shapes=(self.shape,),
                reason=f"{tuple(sizes)} has {math.prod(steps)} windows of {tuple(taps)}: the "
                "columns are (batch, channels * kernel, windows)",
            )
        batch, rows = self.shape[:2]
        channels = rows // math.prod(taps)
        value = self.reshape((batch, channels, *taps, *steps)).permute([0, 1, 4, 5, 2, 3])
        spread = unslide(value, windows, padded)
        total = spread.sum((2, 3)).cast(self.dtype)
        cuts = [(pair[0], pair[0] + size) for size, pair in zip(sizes, pads, strict=True)]
        return total.shrink([None, None, *cuts])


def _windows(kernel_size: Sizes, dilation: Sizes, stride: Sizes) -> list[Window]:
    kernels = window_numbers("kernel_size", kernel_size, 2)
    strides = window_numbers("stride", stride, 2)
    dilations = window_numbers("dilation", dilation, 2)
    return [Window(k, s, d) for k, s, d in zip(kernels, strides, dilations, strict=True)]
