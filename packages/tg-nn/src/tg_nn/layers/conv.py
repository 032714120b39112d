"""Convolutions as layers, in one to three dimensions, plain and transposed."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from operator import index
from typing import ClassVar

from tg_tensor import Tensor
from tg_uop.arguments import methods_name_bad_arguments

from tg_nn.errors import LayerError
from tg_nn.layers.checks import check_counts, check_sizes

Sizes = int | tuple[int, ...]

# how a layer goes on at the edges: by its own name here, by that of `Tensor.pad` there
PADDING_MODES = {
    "zeros": "constant",
    "reflect": "reflect",
    "replicate": "replicate",
    "circular": "circular",
}


def as_sizes(value: Sizes, dims: int, what: str) -> tuple[int, ...]:
    """One size an axis.

    Raises `LayerError` when a tuple has another number of axes.
    """
    if isinstance(value, int) or hasattr(value, "__index__"):
        return (index(value),) * dims
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != dims:
        raise LayerError(layer=what, reason=f"{value!r} is no size, and are not {dims} sizes")
    return tuple(value)


class ConvNd:
    """What the convolution layers share; weight is (out, in / groups, *kernel)."""

    def __init__(
        self,
        dims: int,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes,
        padding: Sizes | str,
        dilation: Sizes,
        groups: int,
        bias: bool,
        transposed: bool = False,
    ) -> None:
        name = type(self).__name__
        check_counts(name, in_channels=in_channels, out_channels=out_channels, groups=groups)
        if in_channels % groups or out_channels % groups:
            raise LayerError(
                layer=name,
                reason=f"{groups} groups do not divide {in_channels} in and {out_channels} out",
            )
        self.kernel_size = as_sizes(kernel_size, dims, name)
        self.stride = as_sizes(stride, dims, name)
        self.dilation = as_sizes(dilation, dims, name)
        check_sizes(
            name, 1, kernel_size=self.kernel_size, stride=self.stride, dilation=self.dilation
        )
        self.groups = groups
        self.padding = self._padding(padding, dims, name)
        first, second = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        self._fan_in = second // groups * math.prod(self.kernel_size)
        bound = 1 / math.sqrt(self._fan_in)
        shape = (first, second // groups, *self.kernel_size)
        self.weight = Tensor.uniform(*shape, low=-bound, high=bound)
        self.bias = Tensor.uniform(out_channels, low=-bound, high=bound) if bias else None

    def _padding(self, padding: Sizes | str, dims: int, name: str) -> tuple[int, ...]:
        """Per axis, or as (left, right, top, bottom) for "same" with an odd total."""
        if not isinstance(padding, str):
            sizes = as_sizes(padding, dims, name)
            # a negative one takes elements away, as in `Tensor.conv2d`
            check_sizes(name, -sys.maxsize, padding=sizes)
            return sizes
        if padding == "valid":
            return (0,) * dims
        if padding != "same":
            raise LayerError(
                layer=name, reason=f"padding {padding!r}", hint='sizes, "same" or "valid"'
            )
        if any(s != 1 for s in self.stride):
            raise LayerError(layer=name, reason='padding "same" needs stride 1')
        pairs = []
        for dilation, kernel in zip(self.dilation[::-1], self.kernel_size[::-1], strict=True):
            total = dilation * (kernel - 1)
            pairs += [total // 2, total - total // 2]
        return tuple(pairs)


class Convolution(ConvNd):
    """A convolution in `DIMS` dimensions."""

    DIMS: ClassVar[int]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes | str = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
    ) -> None:
        super().__init__(
            self.DIMS,
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
        )
        if padding_mode not in PADDING_MODES:
            raise LayerError(
                layer=type(self).__name__,
                reason=f"padding_mode {padding_mode!r}",
                hint=f"one of {sorted(PADDING_MODES)}",
            )
        self.padding_mode = padding_mode

    def __call__(self, x: Tensor) -> Tensor:
        """x (batch, in_channels, *size) gives (batch, out_channels, *size')."""
        padding = self.padding
        if self.padding_mode != "zeros":
            x = x.pad(self._flat_padding(), mode=PADDING_MODES[self.padding_mode])
            padding = (0,) * self.DIMS
        return x.conv2d(self.weight, self.bias, self.groups, self.stride, self.dilation, padding)

    def _flat_padding(self) -> tuple[int, ...]:
        """Pairs that start with the last axis, as `Tensor.pad` takes them."""
        if len(self.padding) == 2 * self.DIMS:
            return self.padding
        return tuple(amount for size in reversed(self.padding) for amount in (size, size))


@methods_name_bad_arguments()
class Conv1d(Convolution):
    """Convolution of (batch, channels, length).

    >>> Conv1d(3, 8, 3)(Tensor.ones(1, 3, 5)).shape
    (1, 8, 3)
    """

    DIMS = 1


@methods_name_bad_arguments()
class Conv2d(Convolution):
    """Convolution of (batch, channels, height, width).

    >>> Conv2d(3, 8, 3, padding=1)(Tensor.ones(1, 3, 5, 5)).shape
    (1, 8, 5, 5)
    """

    DIMS = 2


@methods_name_bad_arguments()
class Conv3d(Convolution):
    """Convolution of (batch, channels, depth, height, width).

    >>> Conv3d(3, 8, 3, padding=1)(Tensor.ones(1, 3, 4, 5, 5)).shape
    (1, 8, 4, 5, 5)
    """

    DIMS = 3


class TransposedConvolution(ConvNd):
    """A transposed convolution in `DIMS` dimensions; the weight is (in, out / groups, *kernel)."""

    DIMS: ClassVar[int]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
    ) -> None:
        super().__init__(
            self.DIMS,
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            transposed=True,
        )
        self.output_padding = as_sizes(output_padding, self.DIMS, type(self).__name__)
        check_sizes(type(self).__name__, 0, output_padding=self.output_padding)

    def __call__(self, x: Tensor) -> Tensor:
        """x (batch, in_channels, *size) gives (batch, out_channels, *size')."""
        return x.conv_transpose2d(
            self.weight,
            self.bias,
            self.groups,
            self.stride,
            self.dilation,
            self.padding,
            self.output_padding,
        )


@methods_name_bad_arguments()
class ConvTranspose1d(TransposedConvolution):
    """Transposed convolution of (batch, channels, length)."""

    DIMS = 1


@methods_name_bad_arguments()
class ConvTranspose2d(TransposedConvolution):
    """Transposed convolution of (batch, channels, height, width).

    >>> ConvTranspose2d(3, 8, 2, stride=2)(Tensor.ones(1, 3, 5, 5)).shape
    (1, 8, 10, 10)
    """

    DIMS = 2


@methods_name_bad_arguments()
class ConvTranspose3d(TransposedConvolution):
    """Transposed convolution of (batch, channels, depth, height, width)."""

    DIMS = 3
