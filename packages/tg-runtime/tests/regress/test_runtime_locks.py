"""Locks: finalizers at bad moments, forks while others hold locks."""

from __future__ import annotations

import os
import sys
import threading

import pytest
from tg_runtime import Buffer, Device
from tg_runtime.host.fork import Rank, fork_safe_lock
from tg_runtime.memory.cache import LRUAllocator
from tg_uop import dtypes


def test_freeing_does_not_wait_for_the_allocator() -> None:
    """A finalizer may run in a thread that must not wait for the one that allocates."""
    allocator = Device["CPU"].allocator
    assert isinstance(allocator, LRUAllocator)
    buffer = Buffer("CPU", 1000, dtypes.uint8).allocate()
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with allocator._lock:
            held.set()
            done.wait(20)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(20)
    used = allocator.used_bytes
    buffer.deallocate()
    assert allocator.used_bytes == used
    done.set()
    holder.join()
    Buffer("CPU", 64, dtypes.uint8).allocate()
    assert allocator.used_bytes < used


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks of Unix")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_waits_for_locks_that_others_hold() -> None:
    lock = fork_safe_lock(Rank.COUNTER)
    state = ["whole"]
    inside = threading.Event()
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            with lock:
                state[0] = "half"
                inside.set()
                for _ in range(1000):
                    pass
                state[0] = "whole"

    changer = threading.Thread(target=change)
    changer.start()
    inside.wait(20)
    codes = []
    for _ in range(20):
        child = os.fork()
        if child == 0:
            free = lock.acquire(blocking=False)
            os._exit(0 if free and state[0] == "whole" else 1)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    stop.set()
    changer.join()
    assert codes == [0] * 20
    assert sys.getrefcount(lock) > 0
