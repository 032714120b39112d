"""The portable command processor: Python threads that read the same command buffers.

Threads hand work over through `SimpleQueue`, whose operations no interrupt (Ctrl-C) can tear, and
look for signals again and again with growing pauses. What belongs to handing over is done in one
call of functions in C, as interrupts fall only between steps of Python.
"""

from __future__ import annotations

import ctypes
import operator
import threading
import time
from functools import partial
from itertools import count
from queue import SimpleQueue
from typing import Final

from tg_runtime.hcq.commands import (
    COMMAND_SIZE,
    WORDS,
    Barrier,
    Copy,
    Exec,
    Signal,
    Timestamp,
    Wait,
    decode,
)
from tg_runtime.host.fork import Rank, fork_safe_lock
from tg_runtime.host.memory_map import view_memory

_STOP_SECONDS: Final = 2.0
_FIRST_PAUSE_S: Final = 10e-6
_LONGEST_PAUSE_S: Final = 1e-3
_Kernel = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_int64)


def _read(address: int) -> int:
    return int(view_memory(address, 8).cast("Q")[0])


def _write(address: int, value: int) -> None:
    view_memory(address, 8).cast("Q")[0] = value


_Work = SimpleQueue[tuple[int, int] | None]
"""Command buffers in order; None ends the thread that drains them."""


class _Queue:
    """What is submitted, and the thread that drains it once there is one."""

    def __init__(self) -> None:
        self.submitted = memoryview(bytearray(8)).cast("Q")
        self.drained: tuple[_Work, threading.Thread] | None = None

    def start_anew(self) -> None:
        """Have no thread and nothing to do."""
        self.drained = None


class _SharedKernel:
    """A kernel with several core ids, which threads take one by one."""

    def __init__(self, command: Exec, helpers: int) -> None:
        self._command = command
        self._kernel = _Kernel(command.function)
        self._next = iter(range(command.cores))
        self._running = helpers + 1
        self._lock = threading.Lock()
        self.done = threading.Event()

    def take_part(self) -> None:
        """Run core ids until none is left; whoever is last says that all are done."""
        for core in iter(self._take, None):
            self._kernel(self._command.arguments, core)
        with self._lock:
            self._running -= 1
            if self._running == 0:
                self.done.set()

    def _take(self) -> int | None:
        with self._lock:
            return next(self._next, None)


class _Helpers:
    """Threads that take part in shared kernels."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._work: SimpleQueue[_SharedKernel | None] = SimpleQueue()
        for index in range(number):
            # daemons: they are stopped when the device is, at exit
            threading.Thread(target=self._serve, name=f"tg-cpu-helper-{index}", daemon=True).start()

    def run(self, command: Exec) -> None:
        shared = _SharedKernel(command, self.number)
        for _ in range(self.number):
            self._work.put(shared)
        shared.take_part()
        shared.done.wait()

    def stop(self) -> None:
        for _ in range(self.number):
            self._work.put(None)

    def _serve(self) -> None:
        for shared in iter(self._work.get, None):
            shared.take_part()


class PortableProcessor:
    """Works wherever Python has threads; kernels themselves run without the interpreter lock."""

    name = "portable"

    def __init__(self, threads: int) -> None:
        self._threads = max(1, threads)
        self._names = count(1)
        self._queues: dict[int, _Queue] = {}
        self._helpers: _Helpers | None = None
        self._lock = fork_safe_lock(Rank.THREADS)

    def open_queue(self) -> int:
        """A queue; its thread starts with the first command buffer."""
        name = next(self._names)
        self._queues[name] = _Queue()
        return name

    def close_queue(self, queue: int) -> None:
        """Stop the queue's thread, and the helpers with the last queue."""
        closed = self._queues.pop(queue, None)
        if closed is None:
            return
        if closed.drained is not None:
            work, thread = closed.drained
            work.put(None)
            thread.join(_STOP_SECONDS)
        if not self._queues and self._helpers is not None:
            self._helpers.stop()
            self._helpers = None

    def submit(self, queue: int, commands: int, number: int, inline: bool) -> bool:
        """Hand a command buffer to the queue's thread."""
        target = self._queues[queue]
        if target.drained is None:
            # a thread that an interrupt lets go of keeps a queue of its own, which stays empty
            work: _Work = SimpleQueue()
            thread = threading.Thread(
                target=self._drain, args=(work,), name=f"tg-cpu-{queue}", daemon=True
            )
            thread.start()
            target.drained = work, thread
        work, _ = target.drained
        value = _read(commands + (number - 1) * COMMAND_SIZE + 16)
        hand_over = partial(work.put, (commands, number))
        write_value = partial(operator.setitem, target.submitted, 0, value)
        # one step of Python: an interrupt between the two would let the value be given twice
        list(map(partial.__call__, (hand_over, write_value)))
        return True

    def submitted(self, queue: int) -> memoryview[int]:
        """A word that is written right after the submission."""
        return self._queues[queue].submitted

    def wait(self, signal: int, value: int, timeout_ns: int) -> bool:
        """Look at a signal again and again."""
        pause = _FIRST_PAUSE_S
        end = None if timeout_ns < 0 else time.monotonic_ns() + timeout_ns
        while _read(signal) < value:
            if end is not None and time.monotonic_ns() > end:
                return False
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)
        return True

    def raise_signal(self, signal: int, value: int) -> None:
        """Store a value."""
        _write(signal, value)

    def reset_after_fork(self) -> None:
        """The child of a fork has none of the threads."""
        self._helpers = None
        for queue in self._queues.values():
            queue.start_anew()

    def _drain(self, work: _Work) -> None:
        for commands, number in iter(work.get, None):
            self._run(commands, number)

    def _run(self, commands: int, number: int) -> None:
        words = view_memory(commands, number * COMMAND_SIZE).cast("Q")
        for start in range(0, number * WORDS, WORDS):
            command = decode(words[start : start + WORDS].tolist())
            match command:
                case Exec():
                    self._exec(command)
                case Signal(address, value):
                    self.raise_signal(address, value)
                case Wait(address, value):
                    self.wait(address, value, -1)
                case Timestamp(address):
                    _write(address, time.perf_counter_ns())
                case Copy(target, source, size):
                    ctypes.memmove(target, source, size)
                case Barrier():
                    pass

    def _exec(self, command: Exec) -> None:
        if command.stamp:
            _write(command.stamp, time.perf_counter_ns())
        if command.cores == 1 or self._threads == 1:
            kernel = _Kernel(command.function)
            for core in range(command.cores):
                kernel(command.arguments, core)
        else:
            self._pool().run(command)
        if command.stamp:
            _write(command.stamp + 8, time.perf_counter_ns())

    def _pool(self) -> _Helpers:
        with self._lock:
            if self._helpers is None:
                self._helpers = _Helpers(self._threads - 1)
            return self._helpers
