"""Signals: 64-bit values in memory that queues and the host raise and wait for."""

from __future__ import annotations

from typing import Final, Protocol

from tg_runtime.host.fork import Rank, fork_safe_lock
from tg_runtime.host.memory_map import PAGE, map_pages, view_memory

# a cache line each, so that two signals do not disturb each other
SIGNAL_SIZE: Final = 64
_TIMESTAMP_WORD: Final = 2
_CHUNK_NS: Final = 50_000_000


class SignalWaiter(Protocol):
    """Who can sleep on a signal and raise one from the host."""

    def wait(self, signal: int, value: int, timeout_ns: int) -> bool:
        """Wait until the signal at this address has reached `value`; False after the timeout."""

    def raise_signal(self, signal: int, value: int) -> None:
        """Store a value and wake who waits."""


_free_slots: list[int] = []


class HCQSignal:
    """A value that only grows; reached values stay reached."""

    __slots__ = ("_waiter", "_words", "address")

    def __init__(self, waiter: SignalWaiter) -> None:
        self._waiter = waiter
        self.address = _take_slot()
        self._words = view_memory(self.address, SIGNAL_SIZE).cast("Q")
        self._words[0] = 0

    @property
    def value(self) -> int:
        """The value now."""
        return self._words[0]

    @value.setter
    def value(self, value: int) -> None:
        self._waiter.raise_signal(self.address, value)

    @property
    def timestamp_address(self) -> int:
        """Where a Timestamp command may write."""
        return self.address + 8 * _TIMESTAMP_WORD

    @property
    def timestamp(self) -> int:
        """Nanoseconds that a Timestamp command wrote."""
        return self._words[_TIMESTAMP_WORD]

    def wait(self, value: int, timeout_s: float = 0.0) -> bool:
        """Wait until the value is reached; False after `timeout_s` seconds (0: never).

        Sleeps in pieces, so that a signal of the process (Ctrl-C) is heard.
        """
        remaining = int(timeout_s * 1e9) if timeout_s > 0 else -1
        while not self._waiter.wait(self.address, value, _CHUNK_NS):
            if remaining >= 0:
                remaining -= _CHUNK_NS
                if remaining <= 0:
                    return False
        return True

    def __del__(self, slots: list[int] = _free_slots) -> None:
        # the slots are an argument to be there when Python exits
        slots.append(self.address)

    def __repr__(self) -> str:
        return f"<HCQSignal at {self.address:#x}: {self.value}>"


_slot_lock = fork_safe_lock(Rank.COUNTER)


def _take_slot() -> int:
    with _slot_lock:
        if not _free_slots:
            page = map_pages(PAGE)
            _free_slots.extend(range(page, page + PAGE, SIGNAL_SIZE))
        return _free_slots.pop()
