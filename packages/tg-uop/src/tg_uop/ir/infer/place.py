"""Infer on which device the value of a node lives."""

from __future__ import annotations

from typing import Protocol

from tg_uop.errors import DeviceMismatchError
from tg_uop.ir.ops import GroupOp, Ops

Place = str | tuple[str, ...] | None


class Placed(Protocol):
    """What place inference reads of a node."""

    op: Ops
    src: tuple[Placed, ...]
    arg: object
    _device: Place
    _shape: tuple[object, ...] | None


def infer_device(op: Ops, src: tuple[Placed, ...], arg: object) -> Place:
    """The device (or devices, of a sharded value), None for nodes that are nowhere yet.

    Raises `DeviceMismatchError` when an elementwise op mixes devices.
    """
    if op in GroupOp.ALU:
        return _common_device(op, src)
    if op in _OWN_RULE:
        return _own_device(op, src, arg)
    for operand in src:
        if operand._device is not None:
            return operand._device
    return None


_OWN_RULE = frozenset((Ops.DEVICE, Ops.PARAM, Ops.COPY, Ops.MULTI, Ops.MSTACK, Ops.MSELECT))


def _own_device(op: Ops, src: tuple[Placed, ...], arg: object) -> Place:
    if op is Ops.DEVICE:
        return arg  # type: ignore[return-value]
    if op is Ops.PARAM:
        return getattr(arg, "device", None)
    if op is Ops.COPY:
        return src[1]._device
    if op is Ops.MSELECT:
        device = src[0]._device
        return device[arg] if isinstance(device, tuple) and isinstance(arg, int) else device
    return tuple(d for s in src if isinstance(d := s._device, str))


def _common_device(op: Ops, src: tuple[Placed, ...]) -> Place:
    found: Place = None
    for operand in src:
        device = operand._device
        if device is None or device == found:
            continue
        if found is not None:
            placed = [s for s in src if s._device is not None]
            raise DeviceMismatchError(
                op=op.name,
                devices=tuple(s._device for s in placed),
                shapes=tuple(s._shape for s in placed),
            )
        found = device
    return found
