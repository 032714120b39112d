"""Profile events: recording, order, limits, the trace for viewers."""

from __future__ import annotations

import json

import pytest
from tg_runtime import Buffer, ProfileEvent, clear_events, profile, profile_events, trace_text
from tg_uop import dtypes
from tg_uop.context import Context


@pytest.fixture(autouse=True)
def _no_events_of_others() -> None:
    clear_events()


def test_nothing_is_recorded_unless_asked_for() -> None:
    Buffer("CPU", 4, dtypes.uint8, initial_value=b"abcd").as_memoryview()
    assert profile_events() == ()


def test_copies_are_recorded() -> None:
    with Context(PROFILE=1):
        buffer = Buffer("CPU", 4, dtypes.uint8, initial_value=b"abcd")
        Buffer("PYTHON", 4, dtypes.uint8).copy_from(buffer)
    names = [(event.device, event.name, event.kind) for event in profile_events()]
    assert names == [("CPU", "copyin 4", "copy"), ("PYTHON", "copy 4 from CPU", "copy")]
    assert all(event.seconds >= 0 for event in profile_events())


def test_a_span_that_fails_is_recorded_too() -> None:
    with Context(PROFILE=1), pytest.raises(ZeroDivisionError), profile.span("CPU", "x", "copy"):
        _ = 1 // 0
    assert [event.name for event in profile_events()] == ["x"]


def test_events_are_sorted_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile, "MAX_EVENTS", 3)
    for start in (5, 1, 4, 2):
        profile.record(ProfileEvent("CPU", str(start), start, start + 1))
    assert [event.start_ns for event in profile_events()] == [1, 4, 5]
    assert profile.dropped_events() == 1
    clear_events()
    assert profile.dropped_events() == 0


def test_a_trace_has_a_row_for_each_device() -> None:
    events = [
        ProfileEvent("CPU", "add", 1000, 3000),
        ProfileEvent("CPU:1", "mul", 2000, 2500, "kernel"),
        ProfileEvent("CPU", "copy 4", 4000, 4100, "copy"),
    ]
    entries = json.loads(trace_text(events))["traceEvents"]
    assert [(e["name"], e["tid"], e["ts"], e["dur"]) for e in entries if e["ph"] == "X"] == [
        ("add", 0, 1.0, 2.0),
        ("mul", 1, 2.0, 0.5),
        ("copy 4", 0, 4.0, 0.1),
    ]
    rows = {e["args"]["name"]: e["tid"] for e in entries if e["ph"] == "M"}
    assert rows == {"CPU": 0, "CPU:1": 1}
