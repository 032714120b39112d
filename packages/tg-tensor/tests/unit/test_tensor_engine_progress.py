"""The bar of compiling: after two seconds, on a terminal, gone in the end."""

from __future__ import annotations

import io

import pytest
from tg_tensor.engine import progress
from tg_tensor.engine.progress import CompileProgress


class Screen(io.StringIO):
    """A standard error that is a terminal or none."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


def shown(monkeypatch: pytest.MonkeyPatch, seconds: float, *, terminal: bool, total: int) -> str:
    screen, now = Screen(terminal), [0.0]
    monkeypatch.setattr(progress.sys, "stderr", screen)
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    bar = CompileProgress(total)
    for step in range(4):
        bar.show(step, 4)
        now[0] += seconds
    bar.clear()
    return screen.getvalue()


def test_a_short_wait_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, 0.6, terminal=True, total=9) == ""


def test_a_long_wait_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, 1.1, terminal=True, total=9)
    assert "compiling 9 kernels" in text
    assert "75%" in text
    assert "25%" not in text
    assert text.endswith("\r\x1b[K")


def test_no_terminal_and_one_kernel_show_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, 9.0, terminal=False, total=9) == ""
    assert shown(monkeypatch, 9.0, terminal=True, total=1) == ""
