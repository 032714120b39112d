"""The commands of a queue as fixed-size records of 64-bit words.

Word 0 holds the opcode in its low half and a count in its high half; three operands follow. The
CPU's command processors (native and portable) read this form from memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Final, NamedTuple

WORDS: Final = 4
COMMAND_SIZE: Final = 8 * WORDS
_LOW: Final = 0xFFFFFFFF


class Opcode(IntEnum):
    """What a command does."""

    EXEC = 1
    SIGNAL = 2
    WAIT = 3
    TIMESTAMP = 4
    COPY = 5
    BARRIER = 6


class Exec(NamedTuple):
    """Run the kernel at `function` once for each core id; its start and end go to `stamp`."""

    function: int
    arguments: int
    cores: int = 1
    stamp: int = 0


class Signal(NamedTuple):
    """Store `value` at `address` after all commands before, and wake who waits there."""

    address: int
    value: int


class Wait(NamedTuple):
    """Let the queue stand until the value at `address` is at least `value`."""

    address: int
    value: int


class Timestamp(NamedTuple):
    """Store the clock, in nanoseconds, at `address`."""

    address: int


class Copy(NamedTuple):
    """Move `size` bytes; the ranges may overlap."""

    target: int
    source: int
    size: int


class Barrier(NamedTuple):
    """Make memory written before visible to what runs after."""


Command = Exec | Signal | Wait | Timestamp | Copy | Barrier


def encode(command: Command) -> tuple[int, int, int, int]:
    """The words of a command."""
    match command:
        case Exec(function, arguments, cores, stamp):
            return (Opcode.EXEC | cores << 32, function, arguments, stamp)
        case Signal(address, value):
            return (Opcode.SIGNAL, address, value, 0)
        case Wait(address, value):
            return (Opcode.WAIT, address, value, 0)
        case Timestamp(address):
            return (Opcode.TIMESTAMP, address, 0, 0)
        case Copy(target, source, size):
            return (Opcode.COPY, target, source, size)
        case Barrier():
            return (Opcode.BARRIER, 0, 0, 0)


def decode(words: Sequence[int]) -> Command:
    """The command in four words. Raises `ValueError` for an unknown opcode."""
    head, first, second, third = words
    match Opcode(head & _LOW):
        case Opcode.EXEC:
            return Exec(first, second, head >> 32, third)
        case Opcode.SIGNAL:
            return Signal(first, second)
        case Opcode.WAIT:
            return Wait(first, second)
        case Opcode.TIMESTAMP:
            return Timestamp(first)
        case Opcode.COPY:
            return Copy(first, second, third)
        case Opcode.BARRIER:
            return Barrier()
