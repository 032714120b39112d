"""Cut a value over several devices, or copy it to each; say how a value is cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import SupportsIndex

from tg_runtime import Device
from tg_uop import DType, Ops, UOp
from tg_uop.errors import ShapeError
from tg_uop.ir.uop import SERVICES

from tg_tensor.errors import ArgumentError
from tg_tensor.multi.rules import split_value
from tg_tensor.multi.value import Sharded, along, bounds_of


def shard_uop(value: UOp, devices: tuple[str, ...], axis: int | None) -> UOp:
    """A MULTI of the parts of `value` along `axis`, or of copies.

    Where the devices do not divide the axis, the first parts are longer by one element.
    Raises `ShapeError` when the axis is too short to give every device a part.
    """
    if axis is None:
        copies = [value.copy_to_device(device) for device in devices]
        return copies[0].multi(*copies[1:])
    return cut_uop(value, devices, axis, even_sizes(value, axis, len(devices)))


def device_names(devices: tuple[str, ...] | list[str] | str) -> tuple[str, ...]:
    """The canonical names. Raises `ArgumentError` when there are none."""
    given = (devices,) if isinstance(devices, str) else tuple(devices)
    if not given or not all(isinstance(name, str) for name in given):
        raise ArgumentError(
            op="shard",
            argument="devices",
            given=devices,
            expected='names of devices, such as ("CPU:0", "CPU:1")',
        )
    return tuple(Device.canonicalize(name) for name in given)


def sharded_axis(axis: SupportsIndex, shape: Sequence[object]) -> int:
    """The axis counted from the front. Raises `ShapeError`, and `ArgumentError` for no integer."""
    if not hasattr(axis, "__index__"):
        raise ArgumentError(op="shard", argument="axis", given=axis, expected="an axis or None")
    number, count = axis.__index__(), len(shape)
    if not -count <= number < count:
        raise ShapeError(
            op="shard",
            shapes=(tuple(shape),),
            reason=f"there is no axis {number}",
            hint=(f"axes go from {-count} to {count - 1}; " if count else "")
            + "axis=None makes a copy on each device",
        )
    return number % count


def cut_uop(value: UOp, devices: tuple[str, ...], axis: int, sizes: Sequence[int]) -> UOp:
    """A MULTI of parts of these sizes."""
    rows = zip(bounds_of(sizes), devices, strict=True)
    parts = [along(value, axis, *pair).copy_to_device(device) for pair, device in rows]
    return parts[0].multi(*parts[1:], axis=axis)


def even_sizes(value: UOp, axis: int, count: int) -> list[int]:
    """The lengths of `count` parts of an axis, which differ by one at most."""
    size = value.shape[axis]
    reason = ""
    if not isinstance(size, int):
        reason = f"the size of axis {axis} depends on a variable"
    elif size < count:
        reason = f"{size} elements of axis {axis} are not enough for {count} devices"
    if reason or not isinstance(size, int):
        raise ShapeError(
            op="shard",
            shapes=(value.shape,),
            reason=reason,
            hint="use fewer devices or a longer axis, or axis=None for a copy on each device",
        )
    return [size // count + (number < size % count) for number in range(count)]


def shard_like_uop(value: UOp, model: UOp) -> UOp:
    """`value` over the devices of `model`, in parts of the same sizes along the same axis."""
    found = split_value(model)
    assert isinstance(found, Sharded), "the model is on several devices"
    if found.axis is None:
        has_copies = value._device == found.devices and axis_of(value) is None
        return value if has_copies else shard_uop(value, found.devices, None)
    if found.axis >= value.ndim:
        raise ShapeError(
            op="shard_like",
            shapes=(value.shape, model.shape),
            reason=f"the model is cut along axis {found.axis}, which the value does not have",
            hint="shard it along an axis of its own",
        )
    if value.shape[found.axis] == model.shape[found.axis]:
        return cut_uop(value, found.devices, found.axis, found.sizes(found.axis))
    return shard_uop(value, found.devices, found.axis)


def new_memory_like(model: UOp, dtype: DType) -> UOp:
    """Memory for a value on several devices, cut as it is."""
    found = split_value(model)
    assert isinstance(found, Sharded), "the model is on several devices"
    shards = []
    for part, device in zip(found.parts, found.devices, strict=True):
        shape: tuple[int, ...] = part.shape  # type: ignore[assignment]
        count = 1
        for dim in shape:
            count *= dim
        shards.append(UOp.new_buffer(device, count, dtype).reshape(shape))
    return shards[0].multi(*shards[1:], axis=found.axis)


def axis_of(value: UOp) -> int | None:
    """Along which axis a value is cut, None for copies and values on one device."""
    if value.op is Ops.MULTI:
        return value.arg  # type: ignore[return-value]
    if not isinstance(value._device, tuple):
        return None
    found = split_value(value)
    return found.axis if isinstance(found, Sharded) else None


def parts_of(value: UOp) -> list[UOp]:
    """The part of each device as a node on it, built on the value itself so gradients get there."""
    found = split_value(value)
    assert isinstance(found, Sharded), "the value is on several devices"
    if found.axis is None:
        return [value.copy_to_device(device) for device in found.devices]
    rows = zip(found.bounds(), found.devices, strict=True)
    return [along(value, found.axis, *pair).copy_to_device(device) for pair, device in rows]


SERVICES.axis = axis_of
