"""Writes to sharded memory: which part of which device a view names, and what goes there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from tg_uop import Ops, UOp

from tg_tensor.multi.errors import ShardError
from tg_tensor.multi.movement import KEPT, moved
from tg_tensor.multi.value import Effects, Located, Sharded, along, piece_on, whole_on


def stores(node: UOp, base: Sharded, chain: Sequence[UOp], value: Located) -> Effects:
    """The STORE `node` as stores on the devices of `base`, whose views by `chain` it writes."""
    numbers, target = written_parts(base, chain)
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


def written_parts(base: Sharded, chain: Sequence[UOp]) -> tuple[list[int], Sharded]:
    """The parts of a view of `base` in the order of the view, and on which devices they are.

    Raises `ShardError` for a view whose parts are no views of the shards.
    """
    numbers = list(range(len(base.parts)))
    value = base
    for view in chain:
        axis = value.axis
        if axis is None:
            value = moved(view, value)
        elif view.op is Ops.FLIP and axis in cast(tuple[int, ...], view.arg):
            numbers.reverse()
            flipped = tuple(
                UOp(view.op, view.dtype, (part,), view.arg) for part in reversed(value.parts)
            )
            value = Sharded(flipped, axis, value.devices[::-1])
        elif view.op is Ops.SHRINK:
            numbers, value = _shrunk(view, numbers, value)
        else:
            kept = KEPT[view.op](view, value, axis)
            if kept is None:
                raise _not_in_parts(view, value)
            value = kept
    return numbers, value


def _shrunk(view: UOp, numbers: list[int], value: Sharded) -> tuple[list[int], Sharded]:
    axis = value.axis
    assert axis is not None, "copies are shrunk as they are"
    asked = view.movement_arg
    start, stop = cast(tuple[object, object], asked[axis])
    if not isinstance(start, int) or not isinstance(stop, int):
        raise _not_in_parts(view, value)
    rest = [None if a == axis else pair for a, pair in enumerate(asked)]
    kept_numbers, parts, devices = [], [], []
    rows = zip(numbers, value.parts, value.bounds(), value.devices, strict=True)
    for number, part, (begin, end), device in rows:
        low, high = max(start, begin), min(stop, end)
        if low < high:
            kept_numbers.append(number)
            parts.append(along(part.shrink(rest), axis, low - begin, high - begin))  # type: ignore[arg-type]
            devices.append(device)
    return kept_numbers, Sharded(tuple(parts), axis, tuple(devices))


def _not_in_parts(view: UOp, value: Sharded) -> ShardError:
    return ShardError(
        op="a write",
        reason=f"a {view.op.name} of shape {view.src[0].shape}, in parts of "
        f"{value.sizes(cast(int, value.axis))} along axis {value.axis} on {value.devices}, "
        f"to shape {view.shape} is no view of the parts",
        hint="write to the Tensor itself, or gather it on one device with .to() first",
    )
