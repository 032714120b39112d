"""Pooling in all its forms: maxima with positions, means, p-norms, and the way back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tg_tensor import Tensor, dtypes

from tg_onnx.ops.shape import ints
from tg_onnx.proto import Array
from tg_onnx.registry import operator

MOST_PAIRS = 1 << 22
"""Pairs of values and places to try; beyond it, each plane's values stay in that plane."""


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows over the spatial axes: their sizes, and the padding that was asked for (`pads`)
    with what a last, partial window reaches beyond it (`beyond`).
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]
    beyond: tuple[int, ...]

    @property
    def rank(self) -> int:
        """The number of spatial axes."""
        return len(self.kernel)

    def padded(self, x: Tensor, value: float) -> Tensor:
        """x with the windows' whole padding filled with a value, and what no window reaches cut."""
        pairs = [
            (before, after + more)
            for (before, after), more in zip(self.pads, self.beyond, strict=True)
        ]
        return x.pad(((0, 0),) * (x.ndim - self.rank) + tuple(pairs), value=value)

    def of(self, x: Tensor) -> Tensor:
        """The windows of a padded tensor: (..., *steps, *kernel)."""
        front = x.ndim - self.rank
        for axis, (size, stride, dilation) in enumerate(
            zip(self.kernel, self.strides, self.dilations, strict=True)
        ):
            x = x.unfold(front + axis, dilation * (size - 1) + 1, stride)
            if dilation > 1:
                x = x[..., ::dilation]
        return x

    @property
    def elements(self) -> tuple[int, ...]:
        """The axes of a window's elements."""
        return tuple(range(-self.rank, 0))


def windows_of(
    size: Sequence[int],
    kernel_shape: Sequence[int],
    strides: Sequence[int] | None,
    dilations: Sequence[int] | None,
    pads: Sequence[int] | None,
    auto_pad: str,
    ceil_mode: int,
) -> Windows:
    """The windows over axes of these sizes. Raises `ValueError` where none fits."""
    kernel = tuple(kernel_shape)
    rank = len(kernel)
    if len(size) != rank:
        raise ValueError(f"a window {kernel} does not fit {len(size)} spatial axes")
    steps = tuple(strides or (1,) * rank)
    spread = tuple(dilations or (1,) * rank)
    pairs = []
    beyond = []
    for axis in range(rank):
        reach = spread[axis] * (kernel[axis] - 1) + 1
        given = (pads[axis], pads[axis + rank]) if pads else (0, 0)
        pair, count = _along(size[axis], reach, steps[axis], given, auto_pad, bool(ceil_mode))
        if count < 1:
            raise ValueError(f"a window over {reach} elements does not fit {size[axis]}")
        pairs.append(pair)
        beyond.append((count - 1) * steps[axis] + reach - size[axis] - sum(pair))
    return Windows(kernel, steps, spread, tuple(pairs), tuple(beyond))


def _along(
    size: int, reach: int, stride: int, pads: tuple[int, int], auto_pad: str, is_up: bool
) -> tuple[tuple[int, int], int]:
    """The padding and the number of windows along an axis."""
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        count = -(-size // stride)
        total = max((count - 1) * stride + reach - size, 0)
        small, large = total // 2, total - total // 2
        return ((small, large) if auto_pad == "SAME_UPPER" else (large, small)), count
    pair = (0, 0) if auto_pad == "VALID" else pads
    room = size + sum(pair) - reach
    if not is_up:
        return pair, room // stride + 1
    count = -(-room // stride) + 1
    # the last window starts inside of the axis or in the padding before it
    if (count - 1) * stride >= size + pair[0]:
        count -= 1
    return pair, count


def spatial(x: Tensor) -> tuple[int, ...]:
    """The sizes after batch and channels."""
    return tuple(int(size) for size in x.shape[2:])


@operator("MaxPool")
def max_pool(
    x: Tensor,
    *,
    kernel_shape: Sequence[int],
    n_outputs: int,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    storage_order: int = 0,
    strides: Sequence[int] | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """The greatest of each window, and where asked its position in the flattened input.

    With `storage_order` the positions count down the columns: the first spatial axis is fastest.
    """
    size = spatial(x)
    windows = windows_of(size, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    # without padding of its own, since the windows may lie in the padding altogether
    padded = windows.padded(x, x.dtype.min)
    largest = padded.max_pool2d(windows.kernel, windows.strides, windows.dilations)
    assert isinstance(largest, Tensor), "no positions were asked for"
    if n_outputs == 1:
        return largest
    return largest, _positions(x, windows, padded, largest, bool(storage_order))


def _positions(
    x: Tensor, windows: Windows, padded: Tensor, largest: Tensor, by_column: bool
) -> Tensor:
    """Where in x the first of the largest values of each window lies, int64."""
    size = spatial(x)
    total = math.prod(size)
    order = np.arange(total, dtype=np.int32).reshape(size)
    # the earliest position in row-major order is the greatest number counted from the end
    rising = Tensor(np.asarray(total - order), device=x.device)
    values = windows.of(padded)
    match = values.eq(largest.reshape(*largest.shape, *(1,) * windows.rank))
    if x.dtype.is_float:
        match = match | values.isnan()
    first = match.where(windows.of(windows.padded(rising, 0)), 0).max(windows.elements)
    place = (total - first).clip(0, total - 1)
    if by_column:
        columns = np.arange(total).reshape(size[::-1]).transpose().ravel()
        place = Tensor(columns.astype(np.int32), device=x.device)[place]
    planes = Tensor.arange(int(x.shape[0]) * int(x.shape[1]), device=x.device).long() * total
    return place.long() + planes.reshape(x.shape[0], x.shape[1], *(1,) * len(size))


@operator("AveragePool")
def average_pool(
    x: Tensor,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    count_include_pad: int = 0,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:
    """The mean of each window; padding counts where asked, what lies beyond it never does."""
    size = spatial(x)
    windows = windows_of(size, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    padded = windows.padded(x, 0)
    arguments = (windows.kernel, windows.strides, windows.dilations)
    counted = _counted(size, windows, bool(count_include_pad))
    if counted is None:
        return padded.avg_pool2d(*arguments).cast(x.dtype)
    wide = padded.cast(dtypes.float32) if x.dtype.itemsize < 4 else padded
    total = wide.avg_pool2d(*arguments) * math.prod(windows.kernel)
    return (total / Tensor(counted, device=x.device).cast(wide.dtype)).cast(x.dtype)


def _counted(size: Sequence[int], windows: Windows, with_padding: bool) -> Array | None:
    """How many elements of each window count; None where all of them do."""
    counts = np.ones((1,) * len(size), np.float32)
    for axis, length in enumerate(size):
        before, after = windows.pads[axis]
        low, high = (-before, length + after) if with_padding else (0, length)
        steps = (length + before + after + windows.beyond[axis]) - (
            windows.dilations[axis] * (windows.kernel[axis] - 1)
        )
        starts = np.arange(0, steps, windows.strides[axis]) - before
        at = starts[:, None] + np.arange(windows.kernel[axis]) * windows.dilations[axis]
        number = ((at >= low) & (at < high)).sum(1).astype(np.float32)
        counts = counts * number.reshape(-1, *(1,) * (len(size) - axis - 1))
    return None if (counts == math.prod(windows.kernel)).all() else np.maximum(counts, 1)


@operator("LpPool")
def lp_pool(
    x: Tensor,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Sequence[int] | None = None,
    p: float = 2,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:
    """The p-norm of each window: the sum of |x|**p to the power 1 / p."""
    size = spatial(x)
    windows = windows_of(size, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    wide = x.cast(dtypes.float32) if x.dtype.itemsize < 4 else x
    powers = windows.of(windows.padded(_power(wide, p), 0)).sum(windows.elements)
    return _root(powers, p).cast(x.dtype)


@operator("GlobalLpPool")
def global_lp_pool(x: Tensor, *, p: float = 2) -> Tensor:
    """The p-norm of each channel."""
    wide = x.cast(dtypes.float32) if x.dtype.itemsize < 4 else x
    return _root(_power(wide, p).sum(tuple(range(2, x.ndim)), keepdim=True), p).cast(x.dtype)


def _power(x: Tensor, p: float) -> Tensor:
    if p == 1:
        return x.abs()
    return x.square() if p == 2 else x.abs().pow(p)


def _root(x: Tensor, p: float) -> Tensor:
    if p == 1:
        return x
    return x.sqrt() if p == 2 else x.pow(1 / p)


@operator("MaxUnpool", since=9, host=(2,))
def max_unpool(
    x: Tensor,
    indices: Tensor,
    output_shape: Array | None = None,
    *,
    kernel_shape: Sequence[int],
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:
    """The values back at the positions that MaxPool found, zeros elsewhere.

    The positions count in the shape that kernel, strides and pads give; `output_shape` adds zeros
    after that.
    """
    rank = len(kernel_shape)
    steps = list(strides or (1,) * rank)
    amounts = list(pads or (0,) * (2 * rank))
    size = [
        (n - 1) * steps[i] - amounts[i] - amounts[i + rank] + kernel_shape[i]
        for i, n in enumerate(spatial(x))
    ]
    shape = (int(x.shape[0]), int(x.shape[1]), *size)
    result = _placed(x, indices, math.prod(size)).reshape(shape)
    if output_shape is None:
        return result
    wanted = ints(output_shape)
    return result.pad(tuple((0, new - old) for new, old in zip(wanted, shape, strict=True)))


def _placed(x: Tensor, indices: Tensor, plane: int) -> Tensor:
    """Zeros, `plane` for each of x's planes, with the values of x at positions over all planes."""
    planes, count = int(x.shape[0]) * int(x.shape[1]), math.prod(spatial(x))
    if planes * plane * planes * count <= MOST_PAIRS:
        flat = Tensor.zeros(planes * plane, dtype=x.dtype, device=x.device)
        return flat.scatter(0, indices.reshape(-1), x.reshape(-1))
    rows = Tensor.zeros(planes, plane, dtype=x.dtype, device=x.device)
    return rows.scatter(1, indices.reshape(planes, count) % plane, x.reshape(planes, count))
