"""Combine values of several devices so that each has the result."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from tg_uop import Ops, UOp, dtypes
from tg_uop.context import RING

RING_FROM = 1 << 18
"""Elements from which a ring moves less than copying everything everywhere takes."""


def allreduce(parts: Sequence[UOp], op: Ops) -> tuple[UOp, ...]:
    """One result for each part, on its device, all equal to the parts combined under `op`.

    The order of combination is the same on every device, so that replicas stay bit for bit alike.
    """
    size = prod(cast(tuple[int, ...], parts[0].shape))
    wants_ring = RING.value == 2 or (RING.value == 1 and size >= RING_FROM and len(parts) > 2)
    if wants_ring and len(parts) > 1 and size >= len(parts):
        return ring_allreduce(parts, op)
    return naive_allreduce(parts, op)


def naive_allreduce(parts: Sequence[UOp], op: Ops) -> tuple[UOp, ...]:
    """Every device fetches every part."""
    results = []
    for place in parts:
        total = on_device(parts[0], cast(str, place.device))
        for part in parts[1:]:
            total = total.alu(op, on_device(part, cast(str, place.device)))
        results.append(total)
    return tuple(results)


def ring_allreduce(parts: Sequence[UOp], op: Ops) -> tuple[UOp, ...]:
    """Chunks travel around the ring twice: combined first, handed out then.

    Each device sends 2 (n - 1) / n of a part, however many devices there are (Patarasuk and Yuan,
    "Bandwidth optimal all-reduce algorithms", 2009).
    """
    count = len(parts)
    shape = cast(tuple[int, ...], parts[0].shape)
    size = prod(shape)
    step = -(-size // count)
    bounds = [(min(i * step, size), min((i + 1) * step, size)) for i in range(count)]
    flat = [part.contiguous().reshape((size,)) for part in parts]
    devices = [cast(str, part.device) for part in parts]
    gathered: list[list[UOp]] = [[] for _ in parts]
    for first, (start, stop) in enumerate(bounds):
        if start == stop:
            continue
        total = flat[first].shrink([(start, stop)])
        for hop in range(1, count):
            place = (first + hop) % count
            total = flat[place].shrink([(start, stop)]).alu(op, on_device(total, devices[place]))
        total = total.contiguous()
        for hop in range(count):
            place = (first + count - 1 + hop) % count
            total = on_device(total, devices[place])
            gathered[place].append(total)
    return tuple(concatenated(chunks, 0).reshape(shape) for chunks in gathered)


def on_device(value: UOp, device: str) -> UOp:
    """The value there; itself where it is there already, or nowhere in particular."""
    if value._device in (None, device):
        return value
    return value.copy_to_device(device)


def concatenated(parts: Sequence[UOp], axis: int) -> UOp:
    """Values of one device side by side along an axis, bit for bit."""
    sizes = [cast(int, part.shape[axis]) for part in parts]
    total = sum(sizes)
    result: UOp | None = None
    start = 0
    for part, size in zip(parts, sizes, strict=True):
        after = total - start - size
        pads = [(start, after) if a == axis else (0, 0) for a in range(len(part.shape))]
        padded = _padded(part, pads)
        if result is None:
            result = padded
        else:
            inside = UOp.const(dtypes.bool, True, shape=part.shape)  # type: ignore[arg-type]
            result = _padded(inside, pads).alu(Ops.WHERE, padded, result)
        start += size
    assert result is not None, "there is at least one part"
    return result


def _padded(value: UOp, pads: Sequence[tuple[int, int]]) -> UOp:
    if not any(before or after for before, after in pads):
        return value
    return UOp(Ops.PAD, value.dtype, (value,), tuple(pads))
