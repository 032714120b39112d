"""Show on a terminal that kernels are being compiled, when it takes more than a moment."""

from __future__ import annotations

import sys
from time import monotonic
from typing import final

PATIENCE_S = 2.0
"""Shorter waits show nothing."""

WIDTH = 24


@final
class CompileProgress:
    """A bar on standard error; nothing where that is no terminal."""

    __slots__ = ("_shown", "_start", "total")

    def __init__(self, total: int) -> None:
        self.total = total
        self._start = monotonic() if total > 1 else None
        self._shown = False

    def show(self, done: int, of: int) -> None:
        """Tell how much is done: so many steps of all."""
        start = self._start
        if start is None or monotonic() - start < PATIENCE_S:
            return
        if not self._shown and not sys.stderr.isatty():
            self._start = None
            return
        self._shown = True
        bar = "#" * (WIDTH * done // of)
        text = f"\rcompiling {self.total} kernels [{bar:<{WIDTH}}] {100 * done // of}%"
        print(text, end="", file=sys.stderr, flush=True)  # noqa: T201

    def clear(self) -> None:
        """Take the bar away."""
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)  # noqa: T201
