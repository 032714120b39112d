"""Sharded values: the part of each device, and how to get any piece of one to any device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import cast

from tg_uop import Ops, UOp, dtypes

Dim = int | UOp


@dataclass(frozen=True, slots=True)
class Sharded:
    """Parts of a value, one a device, along `axis`; copies of all of it where that is None."""

    parts: tuple[UOp, ...]
    axis: int | None
    devices: tuple[str, ...]

    def sizes(self, axis: int) -> tuple[int, ...]:
        """The lengths of the parts."""
        return tuple(cast(int, part.shape[axis]) for part in self.parts)

    def bounds(self) -> list[tuple[int, int]]:
        """Where on the axis each part begins and ends."""
        assert self.axis is not None, "copies have no place on an axis"
        return bounds_of(self.sizes(self.axis))


@dataclass(frozen=True, slots=True)
class Effects:
    """Writes, by the number of the device that they happen on."""

    of_device: tuple[tuple[UOp, ...], ...]


Value = UOp | Sharded | Effects
Located = UOp | Sharded


def bounds_of(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Begin and end of parts of these lengths, one after the other."""
    ends = list(accumulate(sizes))
    return [(end - size, end) for end, size in zip(ends, sizes, strict=True)]


def located(value: Value) -> Located:
    """A value that is no effect."""
    assert not isinstance(value, Effects), "an effect is no value"
    return value


def on_device(value: UOp, device: str) -> UOp:
    """The value there; itself where it is there already, or nowhere in particular."""
    if value._device in (None, device):
        return value
    return value.copy_to_device(device)


def along(value: UOp, axis: int, start: int, stop: int) -> UOp:
    """The elements from start to stop of one axis."""
    return value.shrink([(start, stop) if a == axis else None for a in range(len(value.shape))])


def whole_on(value: Located, device: str) -> UOp:
    """All of a value on a device."""
    if isinstance(value, UOp):
        return on_device(value, device)
    if value.axis is None:
        return on_device(_nearest_copy(value, device), device)
    pieces = [part for part in value.parts if not is_empty(part)]
    if not pieces:
        return _nothing_on(value, value.axis, sum(value.sizes(value.axis)), device)
    return joined_on(pieces, value.axis, device)


def piece_on(value: Located, axis: int, start: int, stop: int, device: str) -> UOp:
    """The elements from start to stop of one axis on a device."""
    if isinstance(value, UOp) or value.axis != axis:
        return along(whole_on(value, device), axis, start, stop)
    pieces = []
    for part, (begin, end) in zip(value.parts, value.bounds(), strict=True):
        low, high = max(start, begin), min(stop, end)
        if low < high:
            pieces.append(along(part, axis, low - begin, high - begin))
    if not pieces:
        return _nothing_on(value, axis, stop - start, device)
    return joined_on(pieces, axis, device)


def _nothing_on(value: Sharded, axis: int, length: int, device: str) -> UOp:
    first = value.parts[0]
    shape = tuple(length if a == axis else size for a, size in enumerate(first.shape))
    return UOp.const(first.dtype, 0, device, shape)  # type: ignore[arg-type]


def _nearest_copy(value: Sharded, device: str) -> UOp:
    here = [p for p, place in zip(value.parts, value.devices, strict=True) if place == device]
    return here[0] if here else value.parts[0]


def is_empty(value: UOp) -> bool:
    """Whether there are no elements."""
    return 0 in value.shape


def joined_on(pieces: Sequence[UOp], axis: int, device: str) -> UOp:
    """Pieces side by side along an axis, on one device."""
    return concatenated([on_device(piece, device) for piece in pieces], axis)


def gathered(value: Sharded) -> Sharded:
    """All of the value on every device."""
    if value.axis is None:
        return value
    sent = Sharded(computed_once(value.parts), value.axis, value.devices)
    parts = tuple(whole_on(sent, device) for device in value.devices)
    return Sharded(parts, None, value.devices)


def computed_once(parts: Sequence[UOp]) -> tuple[UOp, ...]:
    """Parts that are sent and used where they are too: for both, each is computed once."""
    return tuple(p if p.base.op in _IN_MEMORY else p.contiguous() for p in parts)


_IN_MEMORY = frozenset(
    (Ops.BUFFER, Ops.BUFFER_VIEW, Ops.AFTER, Ops.COPY, Ops.CONTIGUOUS, Ops.CONST, Ops.PARAM)
)


def on_all(value: Located, devices: tuple[str, ...]) -> Sharded:
    """A value as it is over these devices; copies on each where it is elsewhere."""
    if isinstance(value, Sharded) and value.devices == devices:
        return value
    return Sharded(tuple(whole_on(value, device) for device in devices), None, devices)


def cut(value: Sharded, axis: int, sizes: Sequence[int]) -> Sharded:
    """The value in parts of these sizes along an axis."""
    if value.axis == axis and value.sizes(axis) == tuple(sizes):
        return value
    places = zip(bounds_of(sizes), value.devices, strict=True)
    if value.axis is None:
        rows = zip(value.parts, bounds_of(sizes), strict=True)
        parts = tuple(along(part, axis, *pair) for part, pair in rows)
    else:
        sent = Sharded(computed_once(value.parts), value.axis, value.devices)
        parts = tuple(piece_on(sent, axis, *pair, device) for pair, device in places)
    return Sharded(parts, axis, value.devices)


def concatenated(parts: Sequence[UOp], axis: int) -> UOp:
    """Values of one device side by side along an axis, bit for bit."""
    if len(parts) == 1:
        return parts[0]
    sizes = [cast(int, part.shape[axis]) for part in parts]
    total = sum(sizes)
    result: UOp | None = None
    for part, (start, stop) in zip(parts, bounds_of(sizes), strict=True):
        pads = [(start, total - stop) if a == axis else (0, 0) for a in range(len(part.shape))]
        padded = part._pad_zeros(pads)
        if result is None:
            result = padded
        else:
            inside = UOp.const(dtypes.bool, True, shape=part.shape)  # type: ignore[arg-type]
            result = inside._pad_zeros(pads).alu(Ops.WHERE, padded, result)
    assert result is not None, "there is at least one part"
    return result
