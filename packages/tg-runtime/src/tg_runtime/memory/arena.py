"""Cuts a range of addresses into blocks: best fit, neighbours merge when freed."""

from __future__ import annotations

from bisect import bisect_left, insort


class Arena:
    """Offsets into `size` bytes. Not locked: its user is.

    Free blocks are kept twice: sorted by size to find the best fit, and by both ends to merge.
    """

    def __init__(self, size: int, granule: int = 64) -> None:
        """`size` is a multiple of `granule`, as every block will be."""
        self.size = size
        self.granule = granule
        self.free_bytes = size
        self._by_size: list[tuple[int, int]] = [(size, 0)]
        self._starts: dict[int, int] = {0: size}
        self._ends: dict[int, int] = {size: 0}
        self._used: dict[int, int] = {}

    def alloc(self, size: int) -> int | None:
        """The offset of a block, or None when no free block is long enough."""
        size = max(self.granule, -(-size // self.granule) * self.granule)
        at = bisect_left(self._by_size, (size, 0))
        if at == len(self._by_size):
            return None
        length, start = self._by_size[at]
        self._remove_free(start, length)
        if length > size:
            self._add_free(start + size, length - size)
        self._used[start] = size
        self.free_bytes -= size
        return start

    def free(self, start: int) -> None:
        """Give back the block at `start`. Raises `KeyError` when none is in use there."""
        size = self._used.pop(start)
        self.free_bytes += size
        end = start + size
        before = self._ends.get(start)
        if before is not None:
            self._remove_free(before, start - before)
            start = before
        after = self._starts.get(end)
        if after is not None:
            self._remove_free(end, after)
            end += after
        self._add_free(start, end - start)

    @property
    def is_empty(self) -> bool:
        """Whether no block is in use."""
        return not self._used

    def _add_free(self, start: int, length: int) -> None:
        insort(self._by_size, (length, start))
        self._starts[start] = length
        self._ends[start + length] = start

    def _remove_free(self, start: int, length: int) -> None:
        del self._by_size[bisect_left(self._by_size, (length, start))]
        del self._starts[start]
        del self._ends[start + length]
