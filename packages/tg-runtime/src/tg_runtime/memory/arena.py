"""Cuts a range of addresses into blocks: best fit, neighbours are joined when space gets short."""

from __future__ import annotations


class Arena:
    """Offsets into `size` bytes. Not locked: its user is.

    Every change is one step of one table at a time, in an order in which an interrupt (Ctrl-C) can
    lose a block but never make two blocks overlap.
    """

    def __init__(self, size: int, granule: int = 64) -> None:
        """`size` is a multiple of `granule`, as every block will be."""
        self.size = size
        self.granule = granule
        self._free: dict[int, int] = {0: size}
        self._used: dict[int, int] = {}

    @property
    def free_bytes(self) -> int:
        """Bytes that are in no block, in pieces."""
        return sum(self._free.values())

    @property
    def is_empty(self) -> bool:
        """Whether no block is in use."""
        return not self._used

    def alloc(self, size: int) -> int | None:
        """The offset of a block, or None when no free piece is long enough."""
        size = max(self.granule, -(-size // self.granule) * self.granule)
        start = self._best_fit(size)
        if start is None:
            self._join_neighbours()
            start = self._best_fit(size)
        if start is None:
            return None
        length = self._free.pop(start)
        if length > size:
            self._free[start + size] = length - size
        self._used[start] = size
        return start

    def free(self, start: int) -> None:
        """Give back the block at `start`. Raises `KeyError` when none is in use there."""
        size = self._used.pop(start)
        self._free[start] = size

    def _best_fit(self, size: int) -> int | None:
        fitting = ((length, start) for start, length in self._free.items() if length >= size)
        found = min(fitting, default=None)
        return None if found is None else found[1]

    def _join_neighbours(self) -> None:
        joined: dict[int, int] = {}
        last = -1
        for start, length in sorted(self._free.items()):
            if last >= 0 and last + joined[last] == start:
                joined[last] += length
            else:
                joined[start] = length
                last = start
        self._free = joined
