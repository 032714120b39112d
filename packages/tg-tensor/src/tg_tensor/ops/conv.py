"""Convolution as sliding windows times weights, summed: one kernel with affine indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from tg_uop.errors import ShapeError
from tg_uop.methods.windows import Window

from tg_tensor.autograd.composites import slide_noted
from tg_tensor.defaults import DTypeLike
from tg_tensor.errors import ArgumentError
from tg_tensor.ops.grids import GridOps

Sizes = int | Sequence[int]


class ConvOps(GridOps):
    """Convolutions of any number of spatial axes."""

    __slots__ = ()

    def _windows(self, windows: Sequence[Window]) -> Self:
        """All windows over the last axes: shape (*batch, *steps, *kernels)."""
        return self._of(slide_noted(self.uop, windows))

    def conv2d(
        self,
        weight: Self,
        bias: Self | None = None,
        groups: int = 1,
        stride: Sizes = 1,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        dtype: DTypeLike | None = None,
    ) -> Self:
        """(batch, channels, *spatial) convolved with (outputs, channels / groups, *kernel).

        For one, two, three ... spatial axes. `padding` is one number, one an axis, or pairs that
        start with the last axis, as in PyTorch. Sums of half-precision products are taken in
        float32, or in `dtype`. Raises `ShapeError` when the shapes do not fit.
        """
        spatial = weight.shape[2:]
        _check_conv(self, weight, bias, groups)
        count = len(spatial)
        strides = per_axis("stride", stride, count)
        dilations = per_axis("dilation", dilation, count)
        pads = padding_pairs("conv2d", padding, count)
        padded = self.pad([(0, 0), (0, 0), *pads])
        windows = [Window(k, s, d) for k, s, d in zip(spatial, strides, dilations, strict=True)]
        _check_reach("conv2d", padded, windows)
        return padded._convolve(weight, bias, groups, windows, dtype)

    def _convolve(
        self,
        weight: Self,
        bias: Self | None,
        groups: int,
        windows: Sequence[Window],
        dtype: DTypeLike | None,
    ) -> Self:
        """Windows (batch, groups, 1, *steps, inputs, *kernel) times weights, summed."""
        count = len(windows)
        batch = self.shape[0]
        outputs, inputs, *kernel = weight.shape
        slid = self._windows(windows)
        steps = slid.shape[2 : 2 + count]
        x = slid.reshape((batch, groups, inputs, *steps, *kernel))
        spatial = list(range(3, 3 + count))
        taps = list(range(3 + count, 3 + 2 * count))
        x = x.permute([0, 1, *spatial, 2, *taps]).unsqueeze(2)
        w = weight.reshape((1, groups, outputs // groups, *(1,) * count, inputs, *kernel))
        summed = tuple(range(-1 - count, 0))
        total = x._summed_product(w, summed, dtype)
        result = total.reshape((batch, outputs, *steps))
        if bias is None:
            return result
        return result + bias.reshape((1, outputs, *(1,) * count))

    def conv_transpose2d(
        self,
        weight: Self,
        bias: Self | None = None,
        groups: int = 1,
        stride: Sizes = 1,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
    ) -> Self:
        """The transpose of `conv2d`, with weights (channels, outputs / groups, *kernel).

        Written as a convolution with mirrored weights over the input with zeros between its
        elements. Raises `ShapeError` when the shapes do not fit.
        """
        spatial = weight.shape[2:]
        count = len(spatial)
        _check_transposed(self, weight, groups)
        strides = per_axis("stride", stride, count)
        dilations = per_axis("dilation", dilation, count)
        extra = per_axis("output_padding", output_padding, count)
        pads = padding_pairs("conv_transpose2d", padding, count)
        channels, outputs = weight.shape[:2]
        mirrored = weight.flip(list(range(2, weight.ndim)))
        mirrored = mirrored.reshape((groups, channels // groups, outputs, *spatial))
        mirrored = mirrored.transpose(1, 2).reshape(
            (groups * outputs, channels // groups, *spatial)
        )
        spread = self._with_gaps(strides)
        around: list[tuple[int, int]] = []
        for kernel, gap, (before, after), more in zip(spatial, dilations, pads, extra, strict=True):
            reach = gap * (kernel - 1)
            around.append((reach - before, reach - after + more))
        padded = spread.pad([(0, 0), (0, 0), *around])
        return padded.conv2d(mirrored, bias, groups, 1, dilations)

    def _with_gaps(self, strides: Sequence[int]) -> Self:
        """`stride` - 1 zeros between neighbours of each spatial axis."""
        value = self
        for axis, stride in enumerate(strides, start=2):
            if stride == 1:
                continue
            before, size, after = value.shape[:axis], value.shape[axis], value.shape[axis + 1 :]
            value = value.reshape((*before, size, 1, *after))
            pairs = [(0, stride - 1) if i == axis + 1 else (0, 0) for i in range(value.ndim)]
            value = value._pad_zeros(pairs).reshape((*before, size * stride, *after))
            value = value._part(axis, 0, (size - 1) * stride + 1)
        return value


def per_axis(name: str, given: Sizes, count: int) -> list[int]:
    """One number for each of `count` axes.

    Raises `ArgumentError` for another number of numbers.
    """
    values = [given] * count if isinstance(given, int) else list(given)
    if len(values) != count:
        expected = f"one number, or {count}"
        raise ArgumentError(op="window", argument=name, given=tuple(values), expected=expected)
    return values


def padding_pairs(op: str, given: Sizes, count: int) -> list[tuple[int, int]]:
    """One (before, after) for each of `count` axes, the first axis first."""
    if isinstance(given, int):
        return [(given, given)] * count
    values = list(given)
    if len(values) == count:
        return [(value, value) for value in values]
    if len(values) == 2 * count:
        return list(zip(values[::2], values[1::2], strict=True))[::-1]
    expected = f"one number, {count} of them, or {count} pairs that start with the last axis"
    raise ArgumentError(op=op, argument="padding", given=tuple(values), expected=expected)


def _check_conv(x: ConvOps, weight: ConvOps, bias: ConvOps | None, groups: int) -> None:
    shapes = (x.shape, weight.shape)
    if x.ndim != weight.ndim or x.ndim < 3:
        raise ShapeError(
            op="conv2d",
            shapes=shapes,
            reason=f"an input of {x.ndim} axes and weights of {weight.ndim}",
            hint="both have two axes (batch and channels, outputs and channels) before the spatial",
        )
    outputs, inputs = weight.shape[:2]
    if x.shape[1] != groups * inputs or outputs % groups:
        raise ShapeError(
            op="conv2d",
            shapes=shapes,
            reason=f"{x.shape[1]} channels in {groups} groups do not fit weights for {inputs} "
            f"channels a group and {outputs} outputs",
            hint="channels must be groups times the second axis of the weights",
        )
    if bias is not None and bias.shape != (outputs,):
        raise ShapeError(
            op="conv2d",
            shapes=(*shapes, bias.shape),
            reason=f"the bias must have one number for each of the {outputs} outputs",
        )


def _check_transposed(x: ConvOps, weight: ConvOps, groups: int) -> None:
    if x.ndim != weight.ndim or x.ndim < 3 or x.shape[1] != weight.shape[0]:
        raise ShapeError(
            op="conv_transpose2d",
            shapes=(x.shape, weight.shape),
            reason="the channels of the input must be the first axis of the weights",
        )
    if weight.shape[0] % groups:
        raise ShapeError(
            op="conv_transpose2d",
            shapes=(x.shape, weight.shape),
            reason=f"{groups} groups do not divide the {weight.shape[0]} channels",
        )


def _check_reach(op: str, padded: ConvOps, windows: Sequence[Window]) -> None:
    sizes = padded.shape[-len(windows) :]
    for size, window in zip(sizes, windows, strict=True):
        if window.reach > size:
            raise ShapeError(
                op=op,
                shapes=(padded.shape,),
                reason=f"a window that reaches over {window.reach} elements does not fit {size} "
                "(with padding)",
                hint="use more padding, or a smaller kernel or dilation",
            )
