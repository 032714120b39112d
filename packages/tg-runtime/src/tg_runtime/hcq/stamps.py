"""Places in memory for the start and end times of work."""

from __future__ import annotations

from typing import Final

from tg_runtime.host.fork import Rank, fork_safe_lock
from tg_runtime.host.memory_map import PAGE, map_pages, view_memory

_PAIR: Final = 16
# free addresses by number of pairs
_free: dict[int, list[int]] = {}
_lock = fork_safe_lock(Rank.COUNTER)


class Stamps:
    """`number` pairs of times, in nanoseconds, that a queue writes.

    The memory goes back to a pool of its kind and stays mapped: a late write does no harm.
    """

    __slots__ = ("_words", "address", "number")

    def __init__(self, number: int = 1) -> None:
        self.number = number
        self.address = _take(number)
        self._words = view_memory(self.address, _PAIR * number).cast("q")
        self._words[0] = self._words[1] = 0

    @property
    def elapsed(self) -> int:
        """Nanoseconds from the first start to the last end; not positive when there was no run yet
        or one is under way."""
        return self._words[-1] - self._words[0]

    def pair(self, index: int) -> tuple[int, int]:
        """Start and end of one piece of work."""
        return self._words[2 * index], self._words[2 * index + 1]

    def __del__(self, pools: dict[int, list[int]] = _free) -> None:
        # the pools are an argument to be there when Python exits
        pools[self.number].append(self.address)


def _take(number: int) -> int:
    size = _PAIR * number
    with _lock:
        pool = _free.setdefault(number, [])
        if not pool:
            block = max(PAGE, size)
            start = map_pages(block)
            pool.extend(range(start, start + block - size + 1, size))
        return pool.pop()
