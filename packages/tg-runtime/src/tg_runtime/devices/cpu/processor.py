"""What the CPU device asks of a command processor, native or portable."""

from __future__ import annotations

from typing import Protocol


class CommandProcessor(Protocol):
    """Runs command buffers of several queues, each in order, without the interpreter lock where it
    can."""

    name: str

    def open_queue(self) -> int:
        """A queue's handle."""

    def close_queue(self, queue: int) -> None:
        """Let go of a queue, which must be idle."""

    def submit(self, queue: int, commands: int, number: int, inline: bool) -> bool:
        """Append a command buffer; False when the queue has no room for it now.

        `inline` allows to run it in the calling thread.
        Its last command is a Signal. Calls for one queue must take turns.
        """

    def submitted(self, queue: int) -> memoryview[int]:
        """One word: the value that the last signal of what was submitted raises.

        It changes in one step with the submission, so that an exception between two steps of the
        caller (Ctrl-C) cannot tear the two apart.
        """

    def wait(self, signal: int, value: int, timeout_ns: int) -> bool:
        """Wait until the 64-bit value at `signal` is at least `value`; False after the timeout."""

    def raise_signal(self, signal: int, value: int) -> None:
        """Store a value from the host and wake who waits."""

    def reset_after_fork(self) -> None:
        """Forget the threads, which the child of a fork does not have; all queues were idle."""
