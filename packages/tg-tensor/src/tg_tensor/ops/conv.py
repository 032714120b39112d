"""Convolution as sliding windows times weights, summed: one kernel with affine indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from tg_uop import UOp
from tg_uop.errors import ShapeError
from tg_uop.methods.windows import Window
from tg_uop.plain import plain_sequence

from tg_tensor.defaults import DTypeLike
from tg_tensor.errors import ArgumentError
from tg_tensor.ops.winograd import WinogradOps

Sizes = int | Sequence[int]
Pairs = list[tuple[int, int]]


class ConvOps(WinogradOps):
    """Convolutions of any number of spatial axes."""

    __slots__ = ()

    def conv2d(
        self,
        weight: Self,
        bias: Self | None = None,
        groups: int = 1,
        stride: Sizes = 1,
        dilation: Sizes = 1,
        padding: Sizes | str = 0,
        dtype: DTypeLike | None = None,
    ) -> Self:
        """(batch, channels, *spatial) convolved with (outputs, channels / groups, *kernel).

        For one, two, three ... spatial axes; an input without a batch gives a result without one.
        `padding` is one number, one an axis, pairs that start with the last axis, "valid" (none),
        or "same" (as many steps as elements, for a stride of 1). Sums of half-precision products
        are taken in float32, or in `dtype`; with WINO=1 windows of 3 elements an axis take fewer
        products, which are rounded otherwise. Raises `ShapeError` when the shapes do not fit,
        `ArgumentError` for numbers that make no window.
        """
        if weight.ndim >= 3 and self.ndim == weight.ndim - 1:
            alone = self.unsqueeze(0)
            return alone.conv2d(weight, bias, groups, stride, dilation, padding, dtype).squeeze(0)
        spatial = weight.shape[2:]
        _check_conv(self, weight, bias, groups)
        count = len(spatial)
        strides = window_numbers("stride", stride, count)
        dilations = window_numbers("dilation", dilation, count)
        if isinstance(padding, str):
            pads = _named_padding(padding, spatial, strides, dilations)
        else:
            pads = padding_pairs("conv2d", padding, count)
        padded = self.pad([(0, 0), (0, 0), *pads])
        windows = [Window(k, s, d) for k, s, d in zip(spatial, strides, dilations, strict=True)]
        _check_reach("conv2d", padded, windows)
        return padded._convolve(weight, bias, groups, windows, dtype)

    def conv1d(
        self,
        weight: Self,
        bias: Self | None = None,
        groups: int = 1,
        stride: Sizes = 1,
        dilation: Sizes = 1,
        padding: Sizes | str = 0,
        dtype: DTypeLike | None = None,
    ) -> Self:
        """`conv2d` with one spatial axis."""
        check_spatial("conv1d", weight, 1)
        return self.conv2d(weight, bias, groups, stride, dilation, padding, dtype)

    def conv3d(
        self,
        weight: Self,
        bias: Self | None = None,
        groups: int = 1,
        stride: Sizes = 1,
        dilation: Sizes = 1,
        padding: Sizes | str = 0,
        dtype: DTypeLike | None = None,
    ) -> Self:
        """`conv2d` with three spatial axes."""
        check_spatial("conv3d", weight, 3)
        return self.conv2d(weight, bias, groups, stride, dilation, padding, dtype)

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
        if self._suits_winograd(weight, windows):
            result = self._convolve_winograd(weight, groups, dtype)
            return result if bias is None else result + bias.reshape((1, outputs, *(1,) * count))
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


def per_axis(name: str, given: Sizes, count: int) -> list[int]:
    """One number for each of `count` axes; a list of one number stands for all of them.

    Raises `ArgumentError` for another number of numbers.
    """
    values = list(plain_sequence(given))
    if len(values) == 1:
        values *= count
    if len(values) != count:
        expected = f"one number, or {count}"
        raise ArgumentError(op="window", argument=name, given=tuple(values), expected=expected)
    return values


def window_numbers(name: str, given: Sizes, count: int) -> list[int]:
    """`per_axis`, of numbers that make a window.

    Raises `ArgumentError` for numbers below 1.
    """
    values = per_axis(name, given, count)
    if min(values, default=1) < 1:
        raise ArgumentError(
            op="window", argument=name, given=tuple(values), expected="numbers of 1 or more"
        )
    return values


def padding_pairs(op: str, given: Sizes, count: int) -> Pairs:
    """One (before, after) for each of `count` axes, the first axis first.

    Raises `ArgumentError` for another number of numbers.
    """
    values = list(plain_sequence(given))
    if len(values) == 1:
        values *= count
    if len(values) == count:
        return [(value, value) for value in values]
    if len(values) == 2 * count:
        return list(zip(values[::2], values[1::2], strict=True))[::-1]
    expected = f"one number, {count} of them, or {count} pairs that start with the last axis"
    raise ArgumentError(op=op, argument="padding", given=tuple(values), expected=expected)


def _named_padding(
    name: str, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> Pairs:
    """The padding that "valid" and "same" stand for; of an odd amount the larger part is after."""
    if name == "valid":
        return [(0, 0)] * len(kernel)
    if name != "same" or any(stride != 1 for stride in strides):
        raise ArgumentError(
            op="conv2d",
            argument="padding",
            given=name,
            expected="numbers, 'valid', or 'same' with a stride of 1",
        )
    totals = [dilation * (size - 1) for size, dilation in zip(kernel, dilations, strict=True)]
    return [(total // 2, total - total // 2) for total in totals]


def check_spatial(op: str, weight: ConvOps, count: int) -> None:
    """Refuse weights of another number of spatial axes than the name of the operation says."""
    if weight.ndim != count + 2:
        raise ShapeError(
            op=op,
            shapes=(weight.shape,),
            reason=f"weights for {count} spatial axes have {count + 2} axes",
        )


def check_bias(op: str, bias: ConvOps | None, outputs: int) -> None:
    """Refuse a bias that has not one number for each output."""
    if bias is not None and bias.shape != (outputs,):
        raise ShapeError(
            op=op,
            shapes=(bias.shape,),
            reason=f"the bias must have one number for each of the {outputs} outputs",
        )


def _check_conv(x: ConvOps, weight: ConvOps, bias: ConvOps | None, groups: int) -> None:
    shapes = (x.shape, weight.shape)
    if x.ndim != weight.ndim or x.ndim < 3:
        raise ShapeError(
            op="conv2d",
            shapes=shapes,
            reason=f"an input of {x.ndim} axes and weights of {weight.ndim}",
            hint="both have two axes (batch and channels, outputs and channels) before the spatial",
        )
    if 0 in weight.shape[2:]:
        raise ShapeError(
            op="conv2d", shapes=shapes, reason="weights without elements make no window"
        )
    if groups < 1:
        raise ArgumentError(op="conv2d", argument="groups", given=groups, expected="1 or more")
    outputs, inputs = weight.shape[:2]
    if x.shape[1] != groups * inputs or outputs % groups:
        raise ShapeError(
            op="conv2d",
            shapes=shapes,
            reason=f"{x.shape[1]} channels in {groups} groups do not fit weights for {inputs} "
            f"channels a group and {outputs} outputs",
            hint="channels must be groups times the second axis of the weights",
        )
    check_bias("conv2d", bias, outputs)


def _check_reach(op: str, padded: ConvOps, windows: Sequence[Window]) -> None:
    sizes = padded.shape[-len(windows) :]
    for size, window in zip(sizes, windows, strict=True):
        if not isinstance(size, UOp) and window.reach > size:
            raise ShapeError(
                op=op,
                shapes=(padded.shape,),
                reason=f"a window that reaches over {window.reach} elements does not fit {size} "
                "(with padding)",
                hint="use more padding, or a smaller kernel or dilation",
            )
