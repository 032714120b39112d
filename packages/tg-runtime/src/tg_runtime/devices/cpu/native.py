"""The native command processor: its memory, its threads, its entry points.

The code is `native_source.py`, compiled once per machine and kept in the disk cache.
"""

from __future__ import annotations

import ctypes
import signal
import time
from typing import Final

from tg_runtime.compile.llvm import LLVMCompiler
from tg_runtime.devices.cpu.native_source import (
    MAX_QUEUES,
    RING_ENTRIES,
    native_source,
)
from tg_runtime.devices.cpu.native_waiting import futex_call, supported
from tg_runtime.errors import DeviceUnavailableError, ObjectFileError, RuntimeFailure
from tg_runtime.host.dynlib import LINUX, libc, symbol_address
from tg_runtime.host.elf import LoadedObject, load_object
from tg_runtime.host.fork import Rank, fork_safe_lock
from tg_runtime.host.memory_map import map_pages, view_memory
from tg_runtime.host.processor import machine

_POOL_SIZE: Final = 128 + 8 * MAX_QUEUES
_QUEUE_SIZE: Final = 256 + 16 * RING_ENTRIES
# 32-bit word numbers of the records described in native_source.py
_POOL_EPOCH, _POOL_SLEEPERS, _POOL_STOP, _POOL_LIVE = 0, 1, 16, 17
_POOL_QUEUES, _POOL_SPINS = 18, 19
_QUEUE_TAIL_64, _QUEUE_BELL, _QUEUE_SLEEPS, _QUEUE_STOP, _QUEUE_SPINS = 0, 2, 3, 4, 5
_QUEUE_POOL_64, _QUEUE_HEAD_64, _QUEUE_OWNER = 3, 8, 18
_QUEUE_SUBMITTED: Final = 32
# A spin is one pause instruction (some 40 ns on Intel since Skylake, 10 to 20 ns elsewhere). A
# helper spins through the gap between two kernels of one command buffer; a processor only through
# the gap between two submits in a row, as it may hold the core that the host thread needs.
_HELPER_SPINS: Final = 2000
_PROCESSOR_SPINS: Final = 200
_WAIT_SPINS: Final = 400
# kernels keep their local arrays on the stack
_STACK_BYTES: Final = 16 << 20
_STOP_SECONDS: Final = 2.0
_FAULTS: Final = ("SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL")
_WAKE_ALL: Final = 0x7FFFFFFF
_FUTEX_WAKE_PRIVATE: Final = 129


def why_not_native() -> str:
    """Why there is no native processor on this machine; empty where there is one."""
    if not LINUX:
        return "it needs the futex calls of Linux"
    if not supported(machine()):
        return f"it is not written for {machine()}"
    return ""


def load_native() -> LoadedObject:
    """The native code, from the disk cache or compiled now.

    Raises `DeviceUnavailableError` where there is none for this machine.
    """
    reason = why_not_native()
    if reason:
        raise DeviceUnavailableError(device="the native command processor", reason=reason)
    # the plain architecture: the loops gain nothing from features, and one object serves every host
    compiler = LLVMCompiler(machine())
    source = native_source(machine())
    try:
        return load_object(compiler.compile_cached(source), machine=machine())
    except ObjectFileError:
        return load_object(compiler.compile(source), machine=machine())


class NativeProcessor:
    """Queues drained by one thread each, and helper threads that all queues share."""

    name = "native"

    def __init__(self, threads: int) -> None:
        """`threads` counts the thread that drains a queue and its helpers."""
        self._code = load_native()
        address = self._code.address
        number, word = ctypes.c_uint64, ctypes.c_int32
        submit = ctypes.CFUNCTYPE(word, number, number, number, word)
        wait = ctypes.CFUNCTYPE(word, number, ctypes.c_int64, ctypes.c_int64, word)
        self._submit = submit(address("tg_submit"))
        self._wait = wait(address("tg_wait"))
        self._helpers = max(0, threads - 1)
        self._lock = fork_safe_lock(Rank.THREADS)
        self._queues: dict[int, bool] = {}
        self._pool = map_pages(_POOL_SIZE)
        self._pool_words = view_memory(self._pool, _POOL_SIZE).cast("I")
        self._pool_words[_POOL_SPINS] = _HELPER_SPINS
        self._helpers_run = False

    def open_queue(self) -> int:
        """A queue; its thread starts with the first command buffer."""
        with self._lock:
            number = self._pool_words[_POOL_QUEUES]
            if number >= MAX_QUEUES:
                raise DeviceUnavailableError(
                    device="CPU", reason=f"{MAX_QUEUES} queues are the most that can be open"
                )
            queue = map_pages(_QUEUE_SIZE)
            words = view_memory(queue, _QUEUE_SIZE)
            words.cast("Q")[_QUEUE_POOL_64] = self._pool
            words.cast("I")[_QUEUE_SPINS] = _PROCESSOR_SPINS
            slots = view_memory(self._pool, _POOL_SIZE).cast("Q")
            slots[128 // 8 + number] = queue
            # the slot is written before helpers may look at it
            self._pool_words[_POOL_QUEUES] = number + 1
            self._queues[queue] = False
        return queue

    def submit(self, queue: int, commands: int, number: int, inline: bool) -> bool:
        """Append a command buffer; `inline` runs it here when the queue is idle."""
        if not self._queues[queue]:
            self._start(queue)
        return self._submit(queue, commands, number, inline) >= 0  # type: ignore[no-any-return]

    def submitted(self, queue: int) -> memoryview[int]:
        """The word that the native code writes in the same call that submits."""
        return view_memory(queue + _QUEUE_SUBMITTED, 8).cast("Q")

    def wait(self, signal: int, value: int, timeout_ns: int) -> bool:
        """Wait on a signal: a short spin, then asleep."""
        return bool(self._wait(signal, value, timeout_ns, _WAIT_SPINS))

    def raise_signal(self, signal: int, value: int) -> None:
        """Store a value from the host and wake who waits."""
        view_memory(signal, 8).cast("Q")[0] = value
        self._wake(signal)

    def close_queue(self, queue: int) -> None:
        """Stop the queue's thread, and the helpers with the last queue.

        The memory stays mapped: a thread that does not stop in time must not fault.
        """
        with self._lock:
            started = self._queues.pop(queue, False)
            last = not any(self._queues.values())
        if not started:
            return
        words = view_memory(queue, _QUEUE_SIZE).cast("I")
        words[_QUEUE_STOP] = 1
        if last:
            self._pool_words[_POOL_STOP] = 1
        remaining = sum(self._queues.values()) + (0 if last else self._helpers)
        deadline = time.monotonic() + _STOP_SECONDS
        while self._pool_words[_POOL_LIVE] > remaining and time.monotonic() < deadline:
            words[_QUEUE_BELL] = (words[_QUEUE_BELL] + 1) & 0xFFFFFFFF
            self._wake(queue + 4 * _QUEUE_BELL)
            if last:
                epoch = self._pool_words[_POOL_EPOCH]
                self._pool_words[_POOL_EPOCH] = (epoch + 1) & 0xFFFFFFFF
                self._wake(self._pool)
            time.sleep(0.0002)

    def reset_after_fork(self) -> None:
        """Only the forking thread lives on: mark all others as not started."""
        self._helpers_run = False
        for word in (_POOL_SLEEPERS, _POOL_LIVE, _POOL_STOP):
            self._pool_words[word] = 0
        for queue in self._queues:
            self._queues[queue] = False
            words = view_memory(queue, _QUEUE_SIZE).cast("B").cast("I")
            positions = view_memory(queue, _QUEUE_SIZE).cast("Q")
            # the thread that was about to note the end of the last buffer is gone
            positions[_QUEUE_HEAD_64] = positions[_QUEUE_TAIL_64]
            words[_QUEUE_OWNER] = 0
            words[_QUEUE_SLEEPS] = 0

    def _start(self, queue: int) -> None:
        with self._lock:
            if self._queues[queue]:
                return
            if not self._helpers_run:
                self._pool_words[_POOL_STOP] = 0
                for _ in range(self._helpers):
                    self._start_thread("tg_helper", self._pool)
                self._helpers_run = True
            self._start_thread("tg_processor", queue)
            self._queues[queue] = True

    def _start_thread(self, entry: str, argument: int) -> None:
        self._pool_words[_POOL_LIVE] += 1
        try:
            _create_thread(self._code.address(entry), argument)
        except RuntimeFailure:
            self._pool_words[_POOL_LIVE] -= 1
            raise

    @staticmethod
    def _wake(address: int) -> None:
        call = ctypes.c_long(futex_call(machine()))
        pointer = ctypes.c_void_p(address)
        libc().syscall(call, pointer, ctypes.c_long(_FUTEX_WAKE_PRIVATE), ctypes.c_long(_WAKE_ALL))


def _create_thread(entry: int, argument: int) -> None:
    """A detached native thread that no signal of the process is delivered to.

    Faults of the thread itself stay deliverable, so that a crash is reported as one.
    """
    attributes = (ctypes.c_char * 256)()
    handle = ctypes.c_uint64()
    create = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
    )(symbol_address("pthread_create"))
    library = libc()
    library.pthread_attr_init(attributes)
    library.pthread_attr_setstacksize(attributes, ctypes.c_size_t(_STACK_BYTES))
    library.pthread_attr_setdetachstate(attributes, 1)  # PTHREAD_CREATE_DETACHED of Linux
    faults = {getattr(signal, name) for name in _FAULTS}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - faults)
    try:
        error = create(ctypes.byref(handle), attributes, entry, argument)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        library.pthread_attr_destroy(attributes)
    if error:
        raise DeviceUnavailableError(
            device="CPU", reason=f"the system refused a thread (error {error})"
        )
