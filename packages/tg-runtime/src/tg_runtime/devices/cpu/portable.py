"""The portable command processor: Python threads that read the same command buffers."""

from __future__ import annotations

import ctypes
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count

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
from tg_runtime.host.memory_map import view_memory

_Kernel = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_int64)


def _read(address: int) -> int:
    return int(view_memory(address, 8).cast("Q")[0])


def _write(address: int, value: int) -> None:
    view_memory(address, 8).cast("Q")[0] = value


class _Queue:
    """Command buffers in order, and the thread that drains them."""

    def __init__(self) -> None:
        self.work: deque[tuple[int, int]] = deque()
        self.bell = threading.Condition()
        self.stopping = False
        self.thread: threading.Thread | None = None

    def push(self, entry: tuple[int, int]) -> None:
        with self.bell:
            self.work.append(entry)
            self.bell.notify()

    def drain(self, run: Callable[[int, int], None]) -> None:
        """The loop of the queue's thread."""
        while True:
            with self.bell:
                self.bell.wait_for(lambda: self.work or self.stopping)
                if not self.work:
                    return
                entry = self.work.popleft()
            run(*entry)


class PortableProcessor:
    """Works wherever Python has threads; kernels themselves run without the interpreter lock."""

    name = "portable"

    def __init__(self, threads: int) -> None:
        self._threads = max(1, threads)
        self._signals = threading.Condition()
        self._names = count(1)
        self._queues: dict[int, _Queue] = {}
        self._helpers: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()

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
        with closed.bell:
            closed.stopping = True
            closed.bell.notify_all()
        if closed.thread is not None:
            closed.thread.join()
        if not self._queues and self._helpers is not None:
            self._helpers.shutdown(wait=True)
            self._helpers = None

    def submit(self, queue: int, commands: int, number: int, inline: bool) -> None:
        """Hand a command buffer to the queue's thread."""
        target = self._queues[queue]
        if target.thread is None:
            target.thread = threading.Thread(
                target=target.drain, args=(self._run,), name=f"tg-cpu-{queue}", daemon=True
            )
            target.thread.start()
        target.push((commands, number))

    def wait(self, signal: int, value: int, timeout_ns: int) -> bool:
        """Wait on a signal, asleep."""
        limit = None if timeout_ns < 0 else timeout_ns * 1e-9
        with self._signals:
            return self._signals.wait_for(lambda: _read(signal) >= value, limit)

    def raise_signal(self, signal: int, value: int) -> None:
        """Store a value and wake who waits."""
        with self._signals:
            _write(signal, value)
            self._signals.notify_all()

    def reset_after_fork(self) -> None:
        """The child of a fork has none of the threads."""
        self._signals = threading.Condition()
        self._helpers = None
        for name in self._queues:
            self._queues[name] = _Queue()

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
        kernel = _Kernel(command.function)
        if command.stamp:
            _write(command.stamp, time.perf_counter_ns())
        if command.cores == 1 or self._threads == 1:
            for core in range(command.cores):
                kernel(command.arguments, core)
        else:
            parts = self._pool().map(
                lambda core: kernel(command.arguments, core), range(command.cores)
            )
            for _ in parts:
                pass
        if command.stamp:
            _write(command.stamp + 8, time.perf_counter_ns())

    def _pool(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._helpers is None:
                self._helpers = ThreadPoolExecutor(self._threads, thread_name_prefix="tg-cpu")
            return self._helpers
