"""Combine values of several devices so that each has the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import cast

from tg_uop import Ops, UOp
from tg_uop.context import ALL2ALL, RING

from tg_tensor.multi.value import along, bounds_of, computed_once, concatenated, on_device

LARGE = 1 << 18
"""Elements from which moving chunks beats copying everything everywhere (over two devices)."""

Collective = Callable[[Sequence[UOp], Ops, tuple[str, ...]], tuple[UOp, ...]]


def allreduce(parts: Sequence[UOp], op: Ops, devices: tuple[str, ...]) -> tuple[UOp, ...]:
    """One result on each device, all equal to the parts combined under `op`.

    The order of combination is the same on every device, so that replicas stay bit for bit alike.
    """
    return chosen(parts)(computed_once(parts), op, devices)


def chosen(parts: Sequence[UOp]) -> Collective:
    """The way of combining: by size and by the settings RING and ALL2ALL, this one first."""
    shape = parts[0].shape
    if len(parts) < 2 or not all(isinstance(dim, int) for dim in shape):
        return naive_allreduce
    size = prod(cast(tuple[int, ...], shape))
    if size < len(parts):
        return naive_allreduce
    is_large = size >= LARGE and len(parts) > 2
    if ALL2ALL.value == 2 or (ALL2ALL.value == 1 and is_large):
        return all_to_all_allreduce
    if RING.value == 2 or (RING.value == 1 and is_large):
        return ring_allreduce
    return naive_allreduce


def naive_allreduce(parts: Sequence[UOp], op: Ops, devices: tuple[str, ...]) -> tuple[UOp, ...]:
    """Every device fetches every part."""
    return tuple(_combined(parts, op, device) for device in devices)


def _combined(parts: Sequence[UOp], op: Ops, device: str) -> UOp:
    total = on_device(parts[0], device)
    for part in parts[1:]:
        total = total.alu(op, on_device(part, device))
    return total


def ring_allreduce(parts: Sequence[UOp], op: Ops, devices: tuple[str, ...]) -> tuple[UOp, ...]:
    """Chunks travel around the ring twice: combined first, handed out then.

    Each device sends 2 (n - 1) / n of a part, however many devices there are (Patarasuk and Yuan,
    "Bandwidth optimal all-reduce algorithms", 2009).
    """
    count = len(parts)
    gathered: list[list[UOp]] = [[] for _ in parts]
    for first, chunks in enumerate(_chunks(parts)):
        total = chunks[first]
        for hop in range(1, count):
            place = (first + hop) % count
            total = chunks[place].alu(op, on_device(total, devices[place]))
        total = total.contiguous()
        for hop in range(count):
            place = (first + count - 1 + hop) % count
            total = on_device(total, devices[place])
            gathered[place].append(total)
    return _put_together(gathered, parts)


def all_to_all_allreduce(
    parts: Sequence[UOp], op: Ops, devices: tuple[str, ...]
) -> tuple[UOp, ...]:
    """Each device combines one chunk of all parts and sends it to all others.

    As much is sent as in a ring, in two rounds instead of 2 (n - 1), over all pairs of devices.
    """
    gathered: list[list[UOp]] = [[] for _ in parts]
    for place, chunks in enumerate(_chunks(parts)):
        total = _combined(chunks, op, devices[place]).contiguous()
        for number, device in enumerate(devices):
            gathered[number].append(on_device(total, device))
    return _put_together(gathered, parts)


def _chunks(parts: Sequence[UOp]) -> list[list[UOp]]:
    """The parts flat, in as many chunks as there are parts: for each chunk, that of every part."""
    count = len(parts)
    size = prod(cast(tuple[int, ...], parts[0].shape))
    lengths = [size // count + (number < size % count) for number in range(count)]
    flat = [part.contiguous().reshape((size,)) for part in parts]
    return [[along(part, 0, *pair) for part in flat] for pair in bounds_of(lengths)]


def _put_together(gathered: Sequence[Sequence[UOp]], parts: Sequence[UOp]) -> tuple[UOp, ...]:
    shape = cast(tuple[int, ...], parts[0].shape)
    return tuple(concatenated(chunks, 0).reshape(shape) for chunks in gathered)
