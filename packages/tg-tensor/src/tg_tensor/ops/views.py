"""What memory holds after a write through views of it.

A view is taken from a Tensor by steps: movement ops, or an index. A write through a view is a
write into the memory below, at the place that the same steps lead to now, so that it works in any
order with other writes.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from typing import cast

from tg_uop import Ops, UOp, dtypes
from tg_uop.methods.indexing import axis_cut, basic_view

INDEX = Ops.INDEX
"""The op of a step that is an index: its arg has one item an axis, and None for each new one."""

Step = tuple[Ops, tuple[object, ...]]
"""How a view is taken: a movement op, BITCAST, DETACH, NOOP (the same again) or INDEX."""

_PLACES = frozenset((Ops.BUFFER, Ops.BUFFER_VIEW, Ops.PARAM, Ops.MULTI))
# an element of memory may appear once only in what is written to
WRITABLE_VIEWS = frozenset((Ops.RESHAPE, Ops.PERMUTE, Ops.SHRINK, Ops.FLIP))

_below: weakref.WeakKeyDictionary[UOp, UOp] = weakref.WeakKeyDictionary()
"""For an AFTER that was asked about, the node below it and the AFTERs under it."""


def below_effects(node: UOp) -> UOp:
    """What the node is after effects, or the node itself where it waits for none.

    Remembered: each write to memory puts one more AFTER onto those of the writes before it, and
    asks what lies below.
    """
    below = node
    while below.op is Ops.AFTER:
        known = _below.get(below)
        below = below.src[0] if known is None else known
    if node is not below:
        _below[node] = below
    return below


def is_in_file(node: UOp) -> bool:
    """Whether the bytes of a file are the memory of a value."""
    device = node._device
    return isinstance(device, str) and device.startswith("DISK")


def names_place(node: UOp) -> bool:
    """Whether the node is memory, a view of it, or that after effects: it can be written."""
    node = below_effects(node)
    while node.op in WRITABLE_VIEWS:
        node = below_effects(node.src[0])
    if node.op is Ops.MULTI:
        return all(names_place(shard) for shard in node.src)
    return node.op in _PLACES


def repeats_memory(node: UOp) -> bool:
    """Whether the node is a view of memory in which elements appear more than once.

    What puts repeated elements into other shapes (`repeat`, `roll`) gives a value of its own.
    """
    if 0 in node.shape:
        return False
    node = below_effects(node)
    while node.op is not Ops.EXPAND:
        if node.op is Ops.RESHAPE or node.op not in WRITABLE_VIEWS:
            return False
        node = below_effects(node.src[0])
    while node.op in WRITABLE_VIEWS or node.op is Ops.EXPAND:
        node = below_effects(node.src[0])
    return names_place(node)


def viewed(node: UOp, steps: Sequence[Step]) -> UOp:
    """The view that some steps lead to."""
    for op, arg in steps:
        if op is INDEX:
            node = basic_view(node, arg)
        elif op is Ops.BITCAST:
            node = node.bitcast(arg[0])  # type: ignore[arg-type]
        elif op is Ops.DETACH:
            node = node.detach()
        elif op is not Ops.NOOP:
            node = node._movement(op, arg)
    return node


def in_memory(node: UOp) -> UOp:
    """The value in memory of its own, so that parts of it can be written."""
    device = node._device
    assert isinstance(device, str), "a sharded value has memory on each device"
    memory = UOp.new_buffer(device, math.prod(cast(tuple[int, ...], node.shape)), node.dtype)
    place = memory.reshape(node.shape)
    return place.after(place.store(node))


def written(node: UOp, steps: Sequence[Step], value: UOp) -> UOp:
    """`node` once `value` is written to the view of it that the steps lead to.

    Memory is written in place. A lazy value becomes another, or gets memory when only a part of
    it is written.
    """
    steps = [step for step in steps if step[0] is not Ops.DETACH]
    for position, (op, arg) in enumerate(steps):
        if op is Ops.BITCAST:
            # the bytes are the same, whichever type they are written as
            before = viewed(node, steps[:position])
            seen = before.bitcast(arg[0])  # type: ignore[arg-type]
            contents = written(seen, steps[position + 1 :], value).bitcast(before.dtype)
            return written(node, steps[:position], contents)
    if 0 in value.shape:
        return node
    if not names_place(node):
        view = viewed(node, steps)
        if covers(view, node):
            return taken_back(view, node, value)
        if not isinstance(node._device, str):
            return merged(view, node, value, node)
        node = in_memory(node)
    place = node
    for position, step in enumerate(steps):
        below, place = place, viewed(place, [step])
        if not names_place(place):
            return _written_by_parts(node, steps, position, (below, place), value)
    return node.after(place.store(value))


def _written_by_parts(
    node: UOp, steps: Sequence[Step], position: int, around: tuple[UOp, UOp], value: UOp
) -> UOp:
    """A write through an index that skips elements to the end of an axis.

    `around` are the views before and after that index. The view after it is padded, which is no
    memory to write to, so what it will hold is written to the two or more parts that are.
    """
    below, view = around
    contents = written(view, steps[position + 1 :], value)
    items = steps[position][1]
    for part, axis, start, stop in whole_periods(below, items):
        kept = contents if axis is None else _part(contents, axis, start, stop)
        node = written(node, [*steps[:position], (INDEX, tuple(part))], kept)
    return node


def _part(value: UOp, axis: int, start: int, stop: int) -> UOp:
    bounds = [(start, stop) if a == axis else None for a in range(len(value.shape))]
    return value.shrink(bounds)


def whole_periods(
    below: UOp, items: Sequence[object]
) -> list[tuple[list[object], int | None, int, int]]:
    """An index that needs padding as two that need it on one axis less: all but the last step of
    an axis, and that step.

    Each part comes with the axis of the value and the bounds on it.
    """
    axis = result_axis = 0
    for at, item in enumerate(items):
        if isinstance(item, slice) and item.step not in (None, 1, -1):
            size = cast(int, below.shape[axis])
            steps = range(*item.indices(size))
            cut = axis_cut(item, size, axis, below.shape)
            if len(steps) == 1:
                only = slice(steps[0], steps[0] + 1)
                return [([*items[:at], only, *items[at + 1 :]], None, 0, 0)]
            if len(steps) > 1 and (cut.stop - cut.start) % abs(cut.step):  # type: ignore[operator]
                count, step = len(steps), steps.step
                edge = steps[-2] + (1 if step > 0 else -1)
                most = slice(steps[0], edge if edge >= 0 else None, step)
                last = slice(steps[-1], steps[-1] + 1)
                return [
                    ([*items[:at], most, *items[at + 1 :]], result_axis, 0, count - 1),
                    ([*items[:at], last, *items[at + 1 :]], result_axis, count - 1, count),
                ]
        axis += item is not None
        result_axis += item is None or isinstance(item, slice)
    raise AssertionError("a view that is no memory skips elements of some axis")


# *** lazy values ***


def _views_down(view: UOp, node: UOp) -> list[UOp]:
    """The views from `view` down to just above `node`."""
    found = []
    while view is not node:
        found.append(view)
        view = view.src[0]
    return found


def covers(view: UOp, node: UOp) -> bool:
    """Whether a view has each element of `node` once."""
    return all(v.op in (Ops.RESHAPE, Ops.PERMUTE, Ops.FLIP) for v in _views_down(view, node))


def taken_back(view: UOp, node: UOp, value: UOp) -> UOp:
    """What is seen as `value` through the view; zeros where nothing is seen."""
    for step in _views_down(view, node):
        below = step.src[0].shape
        if step.op is Ops.RESHAPE:
            value = value.reshape(below)
        elif step.op is Ops.PERMUTE:
            order = step.permute_order
            value = value.permute([order.index(axis) for axis in range(len(order))])
        elif step.op is Ops.FLIP:
            value = value.flip(cast(tuple[int, ...], step.movement_arg))
        else:
            bounds = cast(tuple[tuple[int, int], ...], step.movement_arg)
            pairs = list(zip(bounds, cast(tuple[int, ...], below), strict=True))
            if step.op is Ops.PAD:
                value = value.shrink([(start, start + size) for (start, _), size in pairs])
            else:
                value = value._pad_zeros([(start, size - end) for (start, end), size in pairs])
    return value


def merged(view: UOp, node: UOp, value: UOp, before: UOp) -> UOp:
    """`value` where the view of `node` looks, elsewhere what was there `before`."""
    everywhere = UOp.const(dtypes.bool, True, shape=cast(tuple[int, ...], view.shape))
    return taken_back(view, node, everywhere).where(taken_back(view, node, value), before)
