"""What every command-queue device shares: one queue, its timeline, its ring."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from tg_uop.context import ContextVar

from tg_runtime.device import Allocator, Compiled
from tg_runtime.errors import DeviceTimeoutError
from tg_runtime.hcq.commands import COMMAND_SIZE, Command, Signal, Wait, encode
from tg_runtime.hcq.ring import LaunchRing
from tg_runtime.hcq.signal import HCQSignal, SignalWaiter
from tg_runtime.hcq.stamps import Stamps
from tg_runtime.host.fork import Rank, fork_safe_lock
from tg_runtime.profile import ProfileEvent, record

KERNEL_TIMEOUT = ContextVar(
    "KERNEL_TIMEOUT",
    0.0,
    "Seconds after which waiting for a device gives up; 0 waits for ever.",
    group="execution",
)


_PATIENCE_AT_EXIT_S = 5.0


class PendingStamps(NamedTuple):
    """Start and end times that the queue writes, and what they belong to."""

    value: int
    stamps: Stamps
    names: tuple[str, ...]


class HCQCompiled(Compiled):
    """A device whose work is written as commands into one queue that runs in order.

    Each submission ends by raising the timeline signal to the next value. `lock` is held while
    a command buffer is written and submitted.
    """

    def __init__(self, device: str, allocator: Allocator, waiter: SignalWaiter) -> None:
        super().__init__(device, allocator)
        self.waiter = waiter
        self.lock = fork_safe_lock(Rank.DEVICE)
        self.timeline_signal = HCQSignal(waiter)
        self.ring = LaunchRing(self)
        # the name of what was submitted last, for the report of a hang
        self.last_submitted = ""
        self._deferred: deque[tuple[int, Callable[[], None]]] = deque()
        self._stamps: deque[PendingStamps] = deque()

    @property
    @abstractmethod
    def timeline_value(self) -> int:
        """What the timeline reaches when everything submitted is done."""

    @abstractmethod
    def submit_buffer(self, address: int, number: int, inline: bool) -> None:
        """Hand `number` commands at `address` to the queue; the caller holds the lock.

        The last one raises the timeline to `timeline_value + 1`, which `timeline_value` then is.

        `inline`: running them in this thread is welcome, as they are short.
        """

    def submit(self, commands: list[Command], name: str = "", inline: bool = False) -> int:
        """Append commands and the raising of the timeline; the timeline value that ends them."""
        with self.lock:
            value = self.timeline_value + 1
            commands = [*commands, Signal(self.timeline_signal.address, value)]
            at = self.ring.reserve(COMMAND_SIZE * len(commands))
            words = self.ring.memory[at : at + COMMAND_SIZE * len(commands)].cast("Q")
            for number, command in enumerate(commands):
                for place, word in enumerate(encode(command)):
                    words[4 * number + place] = word
            self.last_submitted = name
            self.submit_buffer(self.ring.address + at, len(commands), inline)
        return value

    def wait_device(self, other: HCQCompiled) -> None:
        """Let this queue stand until the other has done what is submitted to it now."""
        if other is not self and not other.has_passed(other.timeline_value):
            self.submit([Wait(other.timeline_signal.address, other.timeline_value)])

    def has_passed(self, value: int) -> bool:
        """Whether everything up to this timeline value is done."""
        return self.timeline_signal.value >= value

    def wait_for(self, value: int) -> None:
        """Wait until the timeline reaches `value`. Raises `DeviceTimeoutError`."""
        if self.timeline_signal.value >= value:
            return
        limit = KERNEL_TIMEOUT.value
        if not self.timeline_signal.wait(value, limit):
            raise DeviceTimeoutError(
                device=self.device,
                seconds=limit,
                running=self.last_submitted,
                reached=self.timeline_signal.value,
                awaited=value,
            )

    def synchronize(self) -> None:
        """Wait for everything submitted. Raises `DeviceTimeoutError`."""
        self.wait_for(self.timeline_value)
        if self._deferred or self._stamps:
            self.collect()

    def finalize(self) -> None:
        """Wait for what was submitted, but not for ever: a kernel that hangs must not keep the
        process from ending."""
        self.closed = True
        patience = min(KERNEL_TIMEOUT.value or _PATIENCE_AT_EXIT_S, _PATIENCE_AT_EXIT_S)
        if self.timeline_signal.wait(self.timeline_value, patience):
            self.collect()

    def defer(self, action: Callable[[], None]) -> None:
        """Do something once the work submitted so far is done: free what it uses."""
        if self.has_passed(self.timeline_value):
            action()
            return
        self._deferred.append((self.timeline_value, action))

    def note_stamps(self, stamps: Stamps, names: tuple[str, ...]) -> None:
        """Turn times into profile events once the last submission, which writes them, is done."""
        self._stamps.append(PendingStamps(self.timeline_value, stamps, names))

    def collect(self) -> None:
        """Do what was deferred and read the times of work that is done."""
        while self._stamps and self.has_passed(self._stamps[0].value):
            self._read_stamps(self._stamps.popleft())
        while self._deferred and self.has_passed(self._deferred[0][0]):
            self._deferred.popleft()[1]()

    def _read_stamps(self, pending: PendingStamps) -> None:
        for number, name in enumerate(pending.names):
            start, end = pending.stamps.pair(number)
            record(ProfileEvent(self.device, name, start, end))
