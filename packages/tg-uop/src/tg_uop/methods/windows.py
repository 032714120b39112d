"""Sliding windows as a view: the shape trick of convolution and pooling, and its transpose.

All index arithmetic that these views give is affine after simplification, because no window
leaves its axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from tg_uop.errors import ShapeError
from tg_uop.methods.movement import MovementMixin

V = TypeVar("V", bound=MovementMixin)


@dataclass(frozen=True, slots=True)
class Window:
    """How a window slides along one axis: its size, its step, the distance of its taps."""

    kernel: int
    stride: int = 1
    dilation: int = 1

    @property
    def reach(self) -> int:
        """The number of elements from the first tap to the last."""
        return self.dilation * (self.kernel - 1) + 1

    def steps(self, size: int) -> int:
        """The number of windows that fit into `size` elements (a number, or a node)."""
        return (size - self.reach + self.stride) // self.stride

    @property
    def is_disjoint(self) -> bool:
        """Whether no element lies in two windows and taps are neighbours."""
        return self.kernel <= self.stride and (self.dilation == 1 or self.kernel == 1)


def slide(value: V, windows: Sequence[Window]) -> V:
    """All windows over the last axes: shape (*batch, *steps, *kernels).

    Raises `ShapeError` when a window does not fit.
    """
    batch = value.ndim - len(windows)
    for axis, window in enumerate(windows):
        value = _slide_axis(value, batch + 2 * axis, window)
    count = len(windows)
    steps = [batch + 2 * i for i in range(count)]
    return value.permute([*range(batch), *steps, *(s + 1 for s in steps)])


def _slide_axis(value: V, axis: int, window: Window) -> V:
    """One axis of size n becomes two: (steps, kernel)."""
    size = value.shape[axis]
    if not isinstance(size, int):
        return _slide_symbolic(value, axis, window)
    if window.reach > size:
        raise ShapeError(
            op="window",
            shapes=(value.shape,),
            reason=f"a window that reaches over {window.reach} elements does not fit axis {axis}",
            hint="pad the value, or use a smaller kernel or dilation",
        )
    if window.is_disjoint:
        return _slide_disjoint(value, axis, window)
    steps = window.steps(size)
    before, after = value.shape[:axis], value.shape[axis + 1 :]
    # Row k of a matrix of period size + dilation starts dilation * k later in the repeated axis.
    periods = max(-(-(steps * window.stride - window.dilation) // size), 1)
    row = periods * size + window.dilation
    copies = -(-window.kernel * row // size)
    value = value.reshape((*before, 1, size, *after)).expand((*before, copies, size, *after))
    value = value.reshape((*before, copies * size, *after))
    value = _keep_first(value, axis, window.kernel * row)
    value = value.reshape((*before, window.kernel, row, *after))
    value = _keep_first(value, axis + 1, steps * window.stride)
    value = value.reshape((*before, window.kernel, steps, window.stride, *after))
    value = _keep_first(value, axis + 2, 1).reshape((*before, window.kernel, steps, *after))
    return value.transpose(axis, axis + 1)


def _slide_symbolic(value: V, axis: int, window: Window) -> V:
    """An axis whose size depends on variables: the windows of the largest size, and of them those
    that the axis has."""
    size = value.shape[axis]
    room = size.vmax - size  # type: ignore[attr-defined, operator]
    pads = [(0, room) if i == axis else (0, 0) for i in range(value.ndim)]
    windows = _slide_axis(value._pad_zeros(pads), axis, window)
    return _keep_first(windows, axis, window.steps(size))  # type: ignore[arg-type]


def _slide_disjoint(value: V, axis: int, window: Window) -> V:
    size = value.shape[axis]
    assert isinstance(size, int), "checked by the caller"
    steps, stride = window.steps(size), window.stride
    before, after = value.shape[:axis], value.shape[axis + 1 :]
    length = steps * stride
    if length > size:
        value = value._pad_zeros(_only(value, axis, (0, length - size), (0, 0)))
    value = _keep_first(value, axis, length).reshape((*before, steps, stride, *after))
    return _keep_first(value, axis + 1, window.kernel)


def unslide(value: V, windows: Sequence[Window], sizes: Sequence[int]) -> V:
    """The transpose of `slide` before its sums.

    Shape (*batch, *steps, *kernels) becomes (*batch, *kernels, *sizes). Element (k, p) is the value
    of the window whose tap k lies on p, or 0; summing over the kernel axes gives what the windows
    add up to at each p.
    """
    count = len(windows)
    batch = value.ndim - 2 * count
    for axis, (window, size) in enumerate(zip(windows, sizes, strict=True)):
        value = _unslide_axis(value, batch + axis, batch + count + axis, window, size)
    return value.permute(
        [
            *range(batch),
            *(batch + count + i for i in range(count)),
            *(batch + i for i in range(count)),
        ]
    )


def _unslide_axis(value: V, steps_axis: int, kernel_axis: int, window: Window, size: int) -> V:
    """Axis `steps_axis` becomes `size` positions; the kernel axis stays."""
    order = [i for i in range(value.ndim) if i not in (steps_axis, kernel_axis)]
    value = value.permute([*order, kernel_axis, steps_axis])
    batch = value.shape[:-2]
    keep = [(0, 0)] * len(batch)
    kernel, steps = window.kernel, window.steps(size)
    if window.stride > 1:
        # zeros between the steps; the last step has none after it
        value = value.reshape((*batch, kernel, steps, 1))
        value = value._pad_zeros([*keep, (0, 0), (0, 0), (0, window.stride - 1)])
        value = value.reshape((*batch, kernel, steps * window.stride))
        value = _keep_first(value, value.ndim - 1, (steps - 1) * window.stride + 1)
    spread = (steps - 1) * window.stride + 1
    front = (kernel - 1) * window.dilation
    width = size + front
    value = value._pad_zeros([*keep, (0, 0), (front, width - front - spread)])
    # With the taps in reverse, row k is read from k * dilation on: a skewed matrix, and no row
    # wraps, because k * dilation + position stays below the width.
    value = value.flip(len(batch)).reshape((*batch, kernel * width))
    value = value._pad_zeros([*keep, (0, kernel * window.dilation)])
    value = value.reshape((*batch, kernel, width + window.dilation))
    value = _keep_first(value, value.ndim - 1, size)
    back = [0] * value.ndim
    for position, axis in enumerate([*order, kernel_axis, steps_axis]):
        back[axis] = position
    return value.permute(back)


def _keep_first(value: V, axis: int, count: int) -> V:
    return value.shrink([(0, count) if i == axis else None for i in range(value.ndim)])


def _only(
    value: MovementMixin, axis: int, chosen: tuple[int, int], other: tuple[int, int]
) -> list[tuple[int, int]]:
    return [chosen if i == axis else other for i in range(value.ndim)]
