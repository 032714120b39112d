"""Turn sources into binaries on threads of their own, while code for the next is generated."""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue
from types import TracebackType
from typing import final

from tg_uop import UOp

TURN_S = 0.0005
"""How long a thread may hold the interpreter lock while others wait, beside a back end.

A tool chain called through Python takes the lock some ten times for each kernel; at Python's own
5 ms a turn it would wait longer than it works.
"""


@final
class _Turns:
    """Shorter turns for as long as any back end has threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._before = 0.0

    def shorten(self) -> None:
        """Take note of one more back end."""
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._before = sys.getswitchinterval()
                sys.setswitchinterval(min(self._before, TURN_S))

    def restore(self) -> None:
        """Take note that one is done."""
        with self._lock:
            self._users -= 1
            if self._users == 0:
                sys.setswitchinterval(self._before)


_turns = _Turns()


@final
class Pending:
    """A program that some thread is finishing."""

    __slots__ = ("_done", "_error", "_finish", "_program")

    def __init__(self, finish: Callable[[], UOp]) -> None:
        self._finish = finish
        self._done = threading.Event()
        self._program: UOp | None = None
        self._error: BaseException | None = None

    def run(self) -> None:
        """Finish it, and keep what is raised for `result`."""
        try:
            self._program = self._finish()
        except BaseException as error:
            self._error = error
        finally:
            self._done.set()

    def result(self) -> UOp:
        """The program, once it is finished. Raises what finishing it raised."""
        self._done.wait()
        if self._error is not None:
            raise self._error
        assert self._program is not None, "it is finished or has failed"
        return self._program


@final
class BackEnd:
    """Threads that finish programs, until the end of its `with` block.

    They work under the settings of the thread that made it. What has not begun when the block ends
    is dropped; what has goes on by itself, so that an interrupt need not wait for it.
    """

    def __init__(self, threads: int) -> None:
        self._most = threads
        self._threads = 0
        self._jobs: SimpleQueue[Pending | None] = SimpleQueue()

    def start(self, finish: Callable[[], UOp]) -> Pending:
        """Have a program finished; without threads, here and now."""
        pending = Pending(finish)
        if self._most == 0:
            pending.run()
            return pending
        self._jobs.put(pending)
        if self._threads < self._most:
            if self._threads == 0:
                _turns.shorten()
            self._threads += 1
            run = contextvars.copy_context().run
            threading.Thread(
                target=run, args=(_work, self._jobs), name="tg-compile", daemon=True
            ).start()
        return pending

    def __enter__(self) -> BackEnd:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        while not self._jobs.empty():
            self._jobs.get()
        for _ in range(self._threads):
            self._jobs.put(None)
        if self._threads:
            _turns.restore()


def _work(jobs: SimpleQueue[Pending | None]) -> None:
    for pending in iter(jobs.get, None):
        pending.run()
