"""Move numbers to the devices of what they stand beside: constants, and values of one element.

A constant is what no memory is read for. PyTorch, too, lets a number on the processor stand beside
a tensor of any device. Other values stay where they are; then a mismatch of devices is an error.
"""

from __future__ import annotations

from collections.abc import Sequence

from tg_runtime import Device
from tg_uop import GroupOp, Ops, UOp

from tg_tensor.multi.shard import shard_uop

Place = str | tuple[str, ...]

MOST_NODES = 64
"""A constant is an expression of a few numbers (`eye`, `arange`, a mask of them): larger ones are
not looked through.
"""

_OF_CONSTANTS = (
    GroupOp.ALU
    | GroupOp.Movement
    | {Ops.CAST, Ops.CONST, Ops.DEVICE, Ops.DETACH, Ops.REDUCE, Ops.DEFINE_VAR, Ops.BIND}
)


def in_company(*nodes: UOp) -> tuple[UOp, ...]:
    """The nodes, with numbers moved to where the others are, if these are in one place."""
    places = {node._device for node in nodes}
    places.discard(None)
    if len(places) < 2:
        return nodes
    place = _place_of_the_rest(nodes)
    if place is None:
        return nodes
    return tuple(n if n._device in (None, place) else moved(n, place) for n in nodes)


def moved(node: UOp, place: Place) -> UOp:
    """The value on a device, or as copies on several."""
    return node.copy_to_device(place) if isinstance(place, str) else shard_uop(node, place, None)


def _place_of_the_rest(nodes: Sequence[UOp]) -> Place | None:
    """Where the nodes are that cannot move, None where these are in several places."""
    fixed = {n._device for n in nodes if n._device is not None and not is_number(n)}
    if not fixed:
        # numbers only: those that someone has put elsewhere
        fixed = {n._device for n in nodes if n._device not in (None, Device.DEFAULT)}
    place = fixed.pop() if len(fixed) == 1 else None
    assert place is None or isinstance(place, str | tuple), "a node is on devices with names"
    return place


def is_number(node: UOp) -> bool:
    """Whether a value may move: a constant, or one element on the default device."""
    if not isinstance(node._device, str):
        return False
    if node._device == Device.DEFAULT and all(dim == 1 for dim in node.shape):
        return True
    seen = {node}
    stack = [node]
    while stack:
        below = stack.pop()
        if below.op not in _OF_CONSTANTS:
            return False
        fresh = [s for s in below.src if s not in seen]
        seen.update(fresh)
        stack.extend(fresh)
        if len(seen) > MOST_NODES:
            return False
    return True
