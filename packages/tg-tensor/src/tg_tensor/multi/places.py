"""Writes to sharded memory: which part of which device a view names, and what goes there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from tg_uop import Ops, UOp, dtypes

from tg_tensor.multi.movement import KEPT, moved
from tg_tensor.multi.value import Dim, Effects, Located, Sharded, along, piece_on, whole_on


def stores(node: UOp, base: Sharded, chain: Sequence[UOp], value: Located) -> Effects:
    """The STORE `node` as stores on the devices of `base`, whose views by `chain` it writes."""
    found = written_parts(base, chain)
    if found is None:
        return _stored_through_mask(node, base, chain, value)
    numbers, target = found
    effects: list[list[UOp]] = [[] for _ in base.devices]
    if target.axis is None:
        for number, part, device in zip(numbers, target.parts, target.devices, strict=True):
            effects[number].append(_stored(node, part, whole_on(value, device)))
    else:
        rows = zip(numbers, target.parts, target.bounds(), target.devices, strict=True)
        for number, part, (start, stop), device in rows:
            if is_scalar(value):
                piece = whole_on(value, device)
            else:
                piece = piece_on(value, target.axis, start, stop, device)
            effects[number].append(_stored(node, part, piece))
    return Effects(tuple(tuple(found) for found in effects))


def is_scalar(value: Located) -> bool:
    """Whether a value without axes stands beside values of any shape."""
    first = value if isinstance(value, UOp) else value.parts[0]
    return first._shape in ((), None)


def _stored(node: UOp, target: UOp, value: UOp) -> UOp:
    return UOp(node.op, node.dtype, (target, value), node.arg, node.tag)


# *** views in parts ***


def written_parts(base: Sharded, chain: Sequence[UOp]) -> tuple[list[int], Sharded] | None:
    """The parts of a view of `base` in the order of the view, and which device each is on.

    None for a view whose parts are no views of the shards.
    """
    numbers = list(range(len(base.parts)))
    value = base
    for view in chain:
        axis = value.axis
        if axis is None:
            value = moved(view, value)
            continue
        if view.op is Ops.FLIP and axis in cast(tuple[int, ...], view.arg):
            numbers.reverse()
            value = _flipped(view, value)
            continue
        shrunk = _shrunk(view, numbers, value) if view.op is Ops.SHRINK else (numbers, value)
        if shrunk is None:
            return None
        kept = shrunk[1] if view.op is Ops.SHRINK else KEPT[view.op](view, value, axis)
        if kept is None:
            return None
        numbers, value = shrunk[0], kept
    return numbers, value


def _flipped(view: UOp, value: Sharded) -> Sharded:
    parts = tuple(UOp(view.op, view.dtype, (part,), view.arg) for part in reversed(value.parts))
    return Sharded(parts, value.axis, value.devices[::-1])


def _shrunk(view: UOp, numbers: list[int], value: Sharded) -> tuple[list[int], Sharded] | None:
    """What is left of the parts; what lies on one device is whole there."""
    axis = value.axis
    assert axis is not None, "copies are shrunk as they are"
    asked = cast(tuple[tuple[Dim, Dim], ...], view.movement_arg)
    start, stop = asked[axis]
    if not isinstance(start, int) or not isinstance(stop, int):
        return None
    rest = [None if a == axis else pair for a, pair in enumerate(asked)]
    kept_numbers, parts, devices = [], [], []
    rows = zip(numbers, value.parts, value.bounds(), value.devices, strict=True)
    for number, part, (begin, end), device in rows:
        low, high = max(start, begin), min(stop, end)
        if low < high:
            kept_numbers.append(number)
            parts.append(along(part.shrink(rest), axis, low - begin, high - begin))
            devices.append(device)
    left = axis if len(parts) > 1 else None
    return kept_numbers, Sharded(tuple(parts), left, tuple(devices))


# *** other views ***


def _stored_through_mask(node: UOp, base: Sharded, chain: Sequence[UOp], value: Located) -> Effects:
    """Each part is written as a whole: the value where the view looks, else what is there."""
    effects = []
    bounds = None if base.axis is None else base.bounds()
    for number, (part, device) in enumerate(zip(base.parts, base.devices, strict=True)):
        shape = chain[-1].shape
        wanted = whole_on(value, device)
        wanted = wanted if wanted.shape == shape else wanted._expand_to(shape)
        inside = UOp.const(dtypes.bool, True)._expand_to(shape)
        for view in reversed(chain):
            wanted, inside = _undone(view, wanted), _undone(view, inside)
        if base.axis is not None and bounds is not None:
            wanted = along(wanted, base.axis, *bounds[number])
            inside = along(inside, base.axis, *bounds[number])
        effects.append((_stored(node, part, inside.alu(Ops.WHERE, wanted, part)),))
    return Effects(tuple(effects))


def _undone(view: UOp, value: UOp) -> UOp:
    """The elements of a view at their places in what it views; zeros beside them."""
    below = view.src[0].shape
    if view.op is Ops.RESHAPE:
        return value._sized(Ops.RESHAPE, below)
    if view.op is Ops.PERMUTE:
        order = cast(tuple[int, ...], view.arg)
        return value.permute(tuple(order.index(axis) for axis in range(len(order))))
    if view.op is Ops.FLIP:
        return value.flip(cast(tuple[int, ...], view.arg))
    assert view.op is Ops.SHRINK, f"{view.op} is no view that can be written"
    asked = cast(tuple[tuple[Dim, Dim], ...], view.movement_arg)
    pairs = zip(asked, cast(tuple[Dim, ...], below), strict=True)
    return value._pad_zeros([(start, size - stop) for (start, stop), size in pairs])
