"""Movement ops on sharded values: what each does to the part of each device."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import cast

from tg_uop import Ops, UOp

from tg_tensor.multi.value import (
    Dim,
    Sharded,
    along,
    computed_once,
    gathered,
    is_empty,
    joined_on,
    on_device,
)


def moved(node: UOp, value: Sharded) -> Sharded:
    """The movement op of `node` on a sharded value.

    The parts stay on their devices where they can; else each device gathers what it lacks.
    """
    if value.axis is not None:
        kept = KEPT[node.op](node, value, value.axis)
        if kept is not None:
            return kept
        value = gathered(value)
    dims = node.src[1:]
    parts = tuple(UOp(node.op, node.dtype, (p, *dims), node.arg, node.tag) for p in value.parts)
    return Sharded(parts, None, value.devices)


def _reshape(node: UOp, value: Sharded, axis: int) -> Sharded | None:
    old, new = cast(tuple[Dim, ...], node.src[0].shape), cast(tuple[Dim, ...], node.shape)
    places = new_place(value, axis, old, new)
    if places is None:
        return None
    place, lengths = places
    shapes = [(*node.shape[:place], n, *node.shape[place + 1 :]) for n in lengths]
    parts = tuple(
        part if part.shape == shape else part._sized(Ops.RESHAPE, shape)
        for part, shape in zip(value.parts, shapes, strict=True)
    )
    return Sharded(parts, place, value.devices)


def new_place(
    value: Sharded, axis: int, old: tuple[Dim, ...], new: tuple[Dim, ...]
) -> tuple[int, list[int]] | None:
    """Where the axis of the shards is after a reshape, and the lengths of the parts there.

    None where the parts do not stay in one piece: what lies before the axis must stay before it,
    and each part must be whole steps of the axis that is the first to lie inside of it.
    """
    for place in range(len(new)):
        if ratio(new[:place], old[:axis]) != (1, 1):
            continue
        if new[place] == 1 and old[axis] != 1:
            continue
        found = ratio(old[axis + 1 :], new[place + 1 :])
        if found is None:
            return None
        above, below = found
        lengths = [size * above for size in value.sizes(axis)]
        if below == 0 or any(length % below for length in lengths):
            return None
        return place, [length // below for length in lengths]
    return None


def ratio(over: tuple[Dim, ...], under: tuple[Dim, ...]) -> tuple[int, int] | None:
    """Two products as a fraction, 1 over 1 where they are equal; None where a variable is left."""
    left = list(over)
    right = []
    for dim in under:
        if not isinstance(dim, int) and any(dim is other for other in left):
            position = next(i for i, other in enumerate(left) if other is dim)
            del left[position]
        else:
            right.append(dim)
    if not all(isinstance(dim, int) for dim in left + right):
        return None
    above, below = prod(cast(list[int], left)), prod(cast(list[int], right))
    return (1, 1) if above == below else (above, below)


def _permute(node: UOp, value: Sharded, axis: int) -> Sharded | None:
    order = cast(tuple[int, ...], node.arg)
    parts = tuple(UOp(node.op, node.dtype, (p,), node.arg, node.tag) for p in value.parts)
    return Sharded(parts, order.index(axis), value.devices)


def _expand(node: UOp, value: Sharded, axis: int) -> Sharded | None:
    shape = node.shape
    if shape[axis] != node.src[0].shape[axis]:
        return None
    parts = tuple(
        part._sized(Ops.EXPAND, (*shape[:axis], part.shape[axis], *shape[axis + 1 :]))
        for part in value.parts
    )
    return Sharded(parts, axis, value.devices)


def _flip(node: UOp, value: Sharded, axis: int) -> Sharded | None:
    """Flipped along the shards, the last part comes first: it goes to the first device."""
    parts = value.parts
    if axis in cast(tuple[int, ...], node.arg):
        rows = zip(reversed(parts), value.devices, strict=True)
        parts = tuple(on_device(part, device) for part, device in rows)
    flipped = tuple(UOp(node.op, node.dtype, (p,), node.arg, node.tag) for p in parts)
    return Sharded(flipped, axis, value.devices)


def _pad(node: UOp, value: Sharded, axis: int) -> Sharded | None:
    """Padding along the shards lengthens the first part and the last."""
    pads = cast(tuple[tuple[Dim, Dim], ...], node.movement_arg)
    before, after = pads[axis]
    if not isinstance(before, int) or not isinstance(after, int):
        return None
    last = len(value.parts) - 1
    parts = []
    for number, part in enumerate(value.parts):
        own = (before if number == 0 else 0, after if number == last else 0)
        arg = tuple(own if a == axis else pair for a, pair in enumerate(pads))
        parts.append(part._sized(Ops.PAD, arg) if arg != _no_pads(arg) else part)
    return Sharded(tuple(parts), axis, value.devices)


def _no_pads(arg: tuple[object, ...]) -> tuple[tuple[int, int], ...]:
    return ((0, 0),) * len(arg)


def _shrink(node: UOp, value: Sharded, axis: int) -> Sharded | None:
    """Along the shards each part keeps what is asked for; if one keeps nothing, all get it all."""
    asked = cast(tuple[tuple[Dim, Dim], ...], node.movement_arg)
    start, stop = asked[axis]
    if not isinstance(start, int) or not isinstance(stop, int):
        return None
    rest = [None if a == axis else pair for a, pair in enumerate(asked)]
    parts = []
    for part, (begin, end) in zip(value.parts, value.bounds(), strict=True):
        low = min(max(start, begin), end)
        high = max(min(stop, end), low)
        parts.append(along(part.shrink(rest), axis, low - begin, high - begin))
    if not any(is_empty(part) for part in parts) or start == stop:
        return Sharded(tuple(parts), axis, value.devices)
    pieces = [part for part in parts if not is_empty(part)]
    if not pieces:
        return Sharded(tuple(parts), axis, value.devices)
    sent = computed_once(pieces)
    copies = tuple(joined_on(sent, axis, device) for device in value.devices)
    return Sharded(copies, None, value.devices)


KEPT: dict[Ops, Callable[[UOp, Sharded, int], Sharded | None]] = {
    Ops.RESHAPE: _reshape,
    Ops.PERMUTE: _permute,
    Ops.EXPAND: _expand,
    Ops.FLIP: _flip,
    Ops.PAD: _pad,
    Ops.SHRINK: _shrink,
}
