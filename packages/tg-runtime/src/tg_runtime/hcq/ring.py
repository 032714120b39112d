"""A ring of host-visible memory for commands and kernel arguments."""

from __future__ import annotations

from typing import Final, Protocol

from tg_runtime.host.memory_map import map_pages, view_memory

_SEGMENTS: Final = 8


class Timeline(Protocol):
    """A queue's progress."""

    @property
    def timeline_value(self) -> int:
        """What the timeline reaches when everything submitted is done."""

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
        # segment, next free offset, end of the segment: replaced at once, whatever interrupts
        self._position = (0, 0, self._segment_size)

    @property
    def largest(self) -> int:
        """The most bytes that one request can have."""
        return self._segment_size

    def reserve(self, size: int) -> int:
        """The offset of `size` bytes, aligned to 8; at most `largest`."""
        segment, at, limit = self._position
        end = at + size
        if end > limit:
            segment, at, limit = self._next_segment(segment)
            end = at + size
        self._position = (segment, (end + 7) & ~7, limit)
        return at

    def _next_segment(self, segment: int) -> tuple[int, int, int]:
        self._last_use[segment] = self._timeline.timeline_value
        following = (segment + 1) % _SEGMENTS
        self._timeline.wait_for(self._last_use[following])
        start = following * self._segment_size
        return following, start, start + self._segment_size
