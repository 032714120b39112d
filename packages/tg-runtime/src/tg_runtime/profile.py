"""Records when kernels and copies ran, on one clock."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from tg_uop.context import PROFILE

from tg_runtime.host.fork import Rank, fork_safe_lock


class ProfileEvent(NamedTuple):
    """A span of work: nanoseconds of the monotonic clock that `now_ns` reads."""

    device: str
    name: str
    start_ns: int
    end_ns: int
    kind: str = "kernel"

    @property
    def seconds(self) -> float:
        """How long it took."""
        return (self.end_ns - self.start_ns) * 1e-9


# bounded, so that a long run with PROFILE=1 does not eat the memory
MAX_EVENTS: Final = 1_000_000
_events: list[ProfileEvent] = []
_dropped = 0
_lock = fork_safe_lock(Rank.COUNTER)


def now_ns() -> int:
    """The clock of all events; native code reads the same one."""
    return time.perf_counter_ns()


def profiling() -> bool:
    """Whether events are recorded here and now."""
    return bool(PROFILE.value)


def record(event: ProfileEvent) -> None:
    """Keep an event; past `MAX_EVENTS` they are only counted."""
    global _dropped
    with _lock:
        if len(_events) < MAX_EVENTS:
            _events.append(event)
        else:
            _dropped += 1


@contextmanager
def span(device: str, name: str, kind: str) -> Iterator[None]:
    """Record the enclosed host work when profiling."""
    if not profiling():
        yield
        return
    start = now_ns()
    try:
        yield
    finally:
        record(ProfileEvent(device, name, start, now_ns(), kind))


def profile_events() -> tuple[ProfileEvent, ...]:
    """What was recorded, by start time. Synchronize the devices first: spans of work that is still
    running are added when it is waited for."""
    with _lock:
        return tuple(sorted(_events, key=lambda event: event.start_ns))


def trace_text(events: Iterable[ProfileEvent]) -> str:
    """The events as JSON that trace viewers read (Perfetto, chrome://tracing): one row a device."""
    rows: dict[str, int] = {}
    entries: list[dict[str, object]] = []
    for event in events:
        row = rows.setdefault(event.device, len(rows))
        entries.append(
            {
                "name": event.name,
                "cat": event.kind,
                "ph": "X",
                "ts": event.start_ns / 1000,
                "dur": (event.end_ns - event.start_ns) / 1000,
                "pid": 0,
                "tid": row,
            }
        )
    for device, row in rows.items():
        name = {"name": device}
        entries.append({"name": "thread_name", "ph": "M", "pid": 0, "tid": row, "args": name})
    return json.dumps({"traceEvents": entries, "displayTimeUnit": "ns"})


def dropped_events() -> int:
    """How many events did not fit."""
    return _dropped


def clear_events() -> None:
    """Forget what was recorded."""
    global _dropped
    with _lock:
        _events.clear()
        _dropped = 0
