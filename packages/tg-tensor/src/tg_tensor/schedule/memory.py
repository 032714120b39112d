"""Let intermediate buffers share memory: each gets a place in an arena while it is used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from tg_uop import Ops, UOp, dtypes
from tg_uop.ir.args import BufferArg

ALIGNMENT = 256
"""Every buffer starts at a multiple: a cache line pair on CPUs, what GPUs ask of bindings."""


@dataclass(frozen=True, slots=True)
class Lifetime:
    """A buffer from the call that first writes it to the call that last uses it."""

    buffer: UOp
    first: int
    last: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Where each intermediate goes: byte offsets into one arena a device."""

    offsets: dict[UOp, int]
    arena_bytes: dict[str, int]
    separate_bytes: int
    """What the intermediates would take without sharing."""


def buffer_under(argument: UOp) -> UOp:
    """The BUFFER of an argument of a call."""
    while argument.op is Ops.BUFFER_VIEW:
        argument = argument.src[0]
    return argument


def buffer_bytes(buffer: UOp) -> int:
    """The size of a BUFFER in bytes."""
    return cast(BufferArg, buffer.arg).size * buffer.dtype.itemsize


def lifetimes(calls: Sequence[Sequence[UOp]], internal: Iterable[UOp]) -> list[Lifetime]:
    """First and last use of each internal buffer, given the arguments of each call in order."""
    wanted = dict.fromkeys(internal)
    first: dict[UOp, int] = {}
    last: dict[UOp, int] = {}
    for number, arguments in enumerate(calls):
        for argument in arguments:
            buffer = buffer_under(argument)
            if buffer in wanted:
                first.setdefault(buffer, number)
                last[buffer] = number
    return [Lifetime(b, first[b], last[b], buffer_bytes(b)) for b in wanted if b in first]


def plan_memory(calls: Sequence[Sequence[UOp]], internal: Iterable[UOp]) -> MemoryPlan:
    """Offsets such that buffers alive at the same time do not overlap.

    Greedy by size: the largest buffer first, each at the lowest offset that is free during its
    whole life (Pisarchyk and Lee, "Efficient memory management for deep neural net inference",
    2020).
    """
    placed: dict[str, _Placed] = {}
    offsets: dict[UOp, int] = {}
    arena_bytes: dict[str, int] = {}
    separate = 0
    alive = lifetimes(calls, internal)
    for life in sorted(alive, key=lambda entry: (-entry.nbytes, entry.first)):
        device = cast(str, life.buffer.device)
        size = -(-max(life.nbytes, 1) // ALIGNMENT) * ALIGNMENT
        separate += size
        others = placed.setdefault(device, _Placed(len(alive)))
        offset = others.lowest_gap(life, size)
        others.add(life, offset, offset + size)
        offsets[life.buffer] = offset
        arena_bytes[device] = max(arena_bytes.get(device, 0), offset + size)
    return MemoryPlan(offsets, arena_bytes, separate)


class _Placed:
    """Where buffers lie that have been placed, in order of their starts.

    Each placement looks at all that are there, which are thousands where a training step keeps
    every intermediate for its gradient: hence arrays.
    """

    def __init__(self, most: int) -> None:
        """Room for `most` buffers."""
        self.count = 0
        # rows: first byte, byte after the last, first and last step of the life
        self.table = np.zeros((4, most), np.int64)

    def add(self, life: Lifetime, start: int, end: int) -> None:
        """Note that a buffer takes the bytes from `start` to before `end`."""
        table, count = self.table, self.count
        place = int(np.searchsorted(table[0, :count], start))
        table[:, place + 1 : count + 1] = table[:, place:count]
        table[:, place] = (start, end, life.first, life.last)
        self.count += 1

    def lowest_gap(self, life: Lifetime, size: int) -> int:
        """The first byte of the lowest `size` bytes that nobody takes during a life."""
        starts, ends, firsts, lasts = self.table[:, : self.count]
        alive = (firsts <= life.last) & (lasts >= life.first)
        starts, ends = starts[alive], ends[alive]
        if not starts.size:
            return 0
        # before each buffer, the bytes after all that start below it
        free = np.concatenate(([0], np.maximum.accumulate(ends)))
        fits = free[:-1] + size <= starts
        place = int(fits.argmax())
        return int(free[place] if fits[place] else free[-1])


def in_arena(buffer: UOp, arena: UOp, offset: int) -> UOp:
    """A part of an arena in place of a buffer."""
    size = cast(BufferArg, buffer.arg).size
    return UOp(Ops.BUFFER_VIEW, buffer.dtype, (arena,), (size, offset // buffer.dtype.itemsize))


ARENA_DTYPE = dtypes.uint8
