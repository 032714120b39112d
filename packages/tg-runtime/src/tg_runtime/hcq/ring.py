"""A ring of host-visible memory for commands and kernel arguments."""

from __future__ import annotations

from typing import Final, Protocol

from tg_runtime.host.memory_map import map_pages, view_memory

_SEGMENTS: Final = 8


class Timeline(Protocol):
    """A queue's progress."""

    timeline_value: int

    def wait_for(self, value: int) -> None:
        """Wait until the queue has passed `value`."""


class LaunchRing:
    """Memory handed out in order and reused once the queue has passed its last use.

    It is cut into segments; a segment is entered again after everything that was submitted while
    it was filled is done. Not locked: its user is.
    """

    def __init__(self, timeline: Timeline, size: int = 1 << 20) -> None:
        self._timeline = timeline
        self.address = map_pages(size)
        self.memory = view_memory(self.address, size)
        self._segment_size = size // _SEGMENTS
        self._last_use = [0] * _SEGMENTS
        self._segment = 0
        self._at = 0
        self._end = self._segment_size

    @property
    def largest(self) -> int:
        """The most bytes that one request can have."""
        return self._segment_size

    def reserve(self, size: int) -> int:
        """The offset of `size` bytes, aligned to 8; at most `largest`."""
        at = self._at
        end = at + size
        if end > self._end:
            at = self._enter_next_segment()
            end = at + size
        self._at = (end + 7) & ~7
        return at

    def _enter_next_segment(self) -> int:
        self._last_use[self._segment] = self._timeline.timeline_value
        self._segment = (self._segment + 1) % _SEGMENTS
        self._timeline.wait_for(self._last_use[self._segment])
        start = self._segment * self._segment_size
        self._end = start + self._segment_size
        return start
