"""Cut a value over several devices, or copy it to each."""

from __future__ import annotations

from tg_uop import GroupOp, Ops, UOp
from tg_uop.errors import ShapeError


def shard_uop(value: UOp, devices: tuple[str, ...], axis: int | None) -> UOp:
    """A MULTI of the parts of `value` along `axis` (the last may be shorter), or of copies.

    Raises `ShapeError` when the axis is too short to give every device a part.
    """
    if axis is None:
        copies = [value.copy_to_device(device) for device in devices]
        return copies[0].multi(*copies[1:])
    size = value.shape[axis]
    assert isinstance(size, int), "a value is cut along an axis of known size"
    step = -(-size // len(devices))
    bounds = [(min(i * step, size), min((i + 1) * step, size)) for i in range(len(devices))]
    if any(start == stop for start, stop in bounds):
        raise ShapeError(
            op="shard",
            shapes=(value.shape,),
            reason=f"{size} elements of axis {axis} in parts of {step} are not enough for "
            f"{len(devices)} devices",
            hint="use fewer devices or a longer axis",
        )
    parts = [
        _part(value, axis, *pair).copy_to_device(d) for pair, d in zip(bounds, devices, strict=True)
    ]
    return parts[0].multi(*parts[1:], axis=axis)


def _part(value: UOp, axis: int, start: int, stop: int) -> UOp:
    return value.shrink([(start, stop) if i == axis else None for i in range(value.ndim)])


def axis_of(value: UOp) -> int | None:
    """Along which axis a sharded value is cut, None for copies and values on one device."""
    node = value
    while node.op is not Ops.MULTI:
        if node.op in GroupOp.Movement or not node.src:
            return None
        node = node.src[0]
    return node.axis
