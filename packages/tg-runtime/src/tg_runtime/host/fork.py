"""Locks and actions around a fork, so that the child starts from a whole state.

A fork copies only the thread that calls it. A lock that another thread holds at that moment would
stay locked in the child for ever, and what it guards half changed. Therefore every lock of this
package is made here: all are taken before a fork, outer ones first, and let go after it on both
sides.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from enum import IntEnum
from types import TracebackType
from typing import NamedTuple, Protocol


class Lock(Protocol):
    """A lock that its holder may take again (a finalizer may run while it is held)."""

    def acquire(self, blocking: bool = True) -> bool:
        """Take the lock; without `blocking`, only if it is free. Whether it was taken."""

    def release(self) -> None:
        """Let it go."""

    def __enter__(self) -> bool: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...


class Rank(IntEnum):
    """The order in which locks nest: who holds one takes only those of a higher rank."""

    DEVICE_TABLE = 0
    PROCESSOR = 1
    COMPILER = 2
    DEVICE = 3
    THREADS = 4
    ALLOCATOR = 5
    COUNTER = 6


class _Actions(NamedTuple):
    prepare: Callable[[], None]
    in_child: Callable[[], None]


_locks: list[tuple[Rank, Lock]] = []
_actions: list[_Actions] = []
# what `_before` took: locks made between it and the fork's end are not among them
_taken: list[Lock] = []


def fork_safe_lock(rank: Rank) -> Lock:
    """A lock that no fork catches held by another thread. It lives as long as the process."""
    lock: Lock = threading.RLock()
    _locks.append((rank, lock))
    return lock


def around_fork(prepare: Callable[[], None], in_child: Callable[[], None]) -> None:
    """Call `prepare` before every fork and `in_child` in the child.

    While `prepare` runs, locks up to `Rank.DEVICE` are held: nothing can be submitted, and work
    that is under way can still take the locks that it needs.
    """
    _actions.append(_Actions(prepare, in_child))


def _before() -> None:
    _take(rank for rank in Rank if rank <= Rank.DEVICE)
    for action in _actions:
        action.prepare()
    _take(rank for rank in Rank if rank > Rank.DEVICE)


def _take(ranks: Iterable[Rank]) -> None:
    for rank in ranks:
        for own_rank, lock in _locks:
            if own_rank is rank:
                lock.acquire()
                _taken.append(lock)


def _after() -> None:
    while _taken:
        _taken.pop().release()


def _after_in_child() -> None:
    for action in _actions:
        action.in_child()
    _after()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after_in_child)
