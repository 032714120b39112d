"""The transpose of convolution, as a convolution over the input with zeros in between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from tg_uop.errors import ShapeError

from tg_tensor.errors import ArgumentError
from tg_tensor.ops.conv import (
    ConvOps,
    Sizes,
    check_bias,
    check_spatial,
    padding_pairs,
    per_axis,
    window_numbers,
)


class ConvTransposeOps(ConvOps):
    """Transposed convolutions of any number of spatial axes."""

    __slots__ = ()

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
        elements. `output_padding` adds elements after the result, to choose among the sizes that a
        stride leads to this one from. Raises `ShapeError` when the shapes do not fit,
        `ArgumentError` for an `output_padding` as large as both stride and dilation.
        """
        if weight.ndim >= 3 and self.ndim == weight.ndim - 1:
            alone = self.unsqueeze(0)
            return alone.conv_transpose2d(
                weight, bias, groups, stride, dilation, padding, output_padding
            ).squeeze(0)
        spatial = weight.shape[2:]
        count = len(spatial)
        _check_transposed(self, weight, bias, groups)
        strides = window_numbers("stride", stride, count)
        dilations = window_numbers("dilation", dilation, count)
        extra = per_axis("output_padding", output_padding, count)
        _check_output_padding(extra, strides, dilations)
        pads = padding_pairs("conv_transpose2d", padding, count)
        channels, outputs = weight.shape[:2]
        mirrored = weight.flip(list(range(2, weight.ndim)))
        mirrored = mirrored.reshape((groups, channels // groups, outputs, *spatial))
        mirrored = mirrored.transpose(1, 2).reshape(
            (groups * outputs, channels // groups, *spatial)
        )
        spread = self._with_gaps(strides)
        around: list[tuple[int, int]] = []
        without_results: list[int] = []
        for axis, (kernel, gap, (before, after), more) in enumerate(
            zip(spatial, dilations, pads, extra, strict=True), start=2
        ):
            reach = gap * (kernel - 1)
            after -= more
            if spread.shape[axis] + reach - before - after == 0:
                # a window needs a place to stand on, though none is kept
                without_results.append(axis)
                after -= 1
            around.append((reach - before, reach - after))
        padded = spread.pad([(0, 0), (0, 0), *around])
        result = padded.conv2d(mirrored, bias, groups, 1, dilations)
        for axis in without_results:
            result = result.shrink([(0, 0 if a == axis else n) for a, n in enumerate(result.shape)])
        return result

    def conv_transpose1d(
        self,
        weight: Self,
        bias: Self | None = None,
        groups: int = 1,
        stride: Sizes = 1,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
    ) -> Self:
        """`conv_transpose2d` with one spatial axis."""
        check_spatial("conv_transpose1d", weight, 1)
        return self.conv_transpose2d(
            weight, bias, groups, stride, dilation, padding, output_padding
        )

    def conv_transpose3d(
        self,
        weight: Self,
        bias: Self | None = None,
        groups: int = 1,
        stride: Sizes = 1,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
    ) -> Self:
        """`conv_transpose2d` with three spatial axes."""
        check_spatial("conv_transpose3d", weight, 3)
        return self.conv_transpose2d(
            weight, bias, groups, stride, dilation, padding, output_padding
        )

    def _with_gaps(self, strides: Sequence[int]) -> Self:
        """`stride` - 1 zeros between neighbours of each spatial axis."""
        value = self
        for axis, stride in enumerate(strides, start=2):
            value = value._spread_out(axis, stride, 0, 0)
        return value


def _check_transposed(
    x: ConvTransposeOps, weight: ConvTransposeOps, bias: ConvTransposeOps | None, groups: int
) -> None:
    if x.ndim != weight.ndim or x.ndim < 3 or x.shape[1] != weight.shape[0]:
        raise ShapeError(
            op="conv_transpose2d",
            shapes=(x.shape, weight.shape),
            reason="the channels of the input must be the first axis of the weights",
        )
    if groups < 1 or weight.shape[0] % groups:
        raise ShapeError(
            op="conv_transpose2d",
            shapes=(x.shape, weight.shape),
            reason=f"{groups} groups do not divide the {weight.shape[0]} channels",
        )
    check_bias("conv_transpose2d", bias, groups * weight.shape[1])


def _check_output_padding(
    extra: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> None:
    for more, stride, dilation in zip(extra, strides, dilations, strict=True):
        if not 0 <= more < max(stride, dilation):
            raise ArgumentError(
                op="conv_transpose2d",
                argument="output_padding",
                given=tuple(extra),
                expected="less than the stride or the dilation of its axis",
            )
