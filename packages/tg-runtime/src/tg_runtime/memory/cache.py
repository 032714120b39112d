"""Keeps freed blocks for reuse, and gives them back under pressure."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter, deque
from itertools import count
from typing import Final

from tg_uop.context import LRU, MAX_BUFFER_SIZE

from tg_runtime.device import DEFAULT_SPEC, Allocator, BufferSpec, Memory
from tg_runtime.errors import OutOfMemoryError
from tg_runtime.host.fork import Rank, fork_safe_lock

_SMALLEST: Final = 64
_STEPS_BITS: Final = 3
# lines of the out-of-memory report
_REPORTED_SIZES: Final = 8


def size_class(size: int) -> int:
    """`size` rounded up so that there are eight sizes between a power of two and the next."""
    if size <= _SMALLEST:
        return _SMALLEST
    step = 1 << max((size - 1).bit_length() - 1 - _STEPS_BITS, 6)
    return -(-size // step) * step


class LRUAllocator(Allocator):
    """Freed blocks wait in a cache for the next request of their size class.

    A block may still be in use by submitted work when it is freed, so it carries the timeline value
    of that moment. It is handed out again before the queue has passed that value only to work of
    the same queue, which runs in order; the host's own access waits for the queue first. It goes
    back to the system only after the queue has passed it.
    """

    def __init__(self, device: str, cache_limit: int | None = None) -> None:
        """`cache_limit`: bytes of unused blocks to keep at most, None for no limit."""
        super().__init__(device)
        self.cache_limit = cache_limit
        self.cached_bytes = 0
        self.used_bytes = 0
        self.peak_bytes = 0
        # by size: number of the free, block, timeline value; the block freed last is the last one
        self._free: dict[int, list[tuple[int, Memory, int]]] = {}
        self._frees = count()
        self._live: Counter[int] = Counter()
        # freed, but not yet in the cache
        self._returned: deque[tuple[Memory, int, bool]] = deque()
        self._lock = fork_safe_lock(Rank.ALLOCATOR)

    @abstractmethod
    def system_alloc(self, size: int) -> Memory:
        """Memory from the system. Raises `MemoryError` when it has none."""

    @abstractmethod
    def system_free(self, memory: Memory) -> None:
        """Memory back to the system; no work uses it."""

    def timeline(self) -> int:
        """The value that the queue reaches when everything submitted so far is done."""
        return 0

    def wait_timeline(self, value: int) -> None:
        """Wait until the queue has passed `value`."""
        return

    def alloc(self, size: int, options: BufferSpec = DEFAULT_SPEC) -> Memory:
        """At least `size` bytes. Raises `OutOfMemoryError` after giving back every unused block."""
        if options.external_ptr is not None:
            return Memory(options.external_ptr, size)
        self._check_limit(size)
        rounded = size_class(size)
        with self._lock:
            self._take_back()
            memory = self._take_cached(rounded)
            if memory is None:
                memory = self._from_system(rounded)
            self.used_bytes += rounded
            self.peak_bytes = max(self.peak_bytes, self.used_bytes)
            self._live[rounded] += 1
        return memory

    def free(self, memory: Memory, options: BufferSpec = DEFAULT_SPEC) -> None:
        """Into the cache, or to the system when the cache is off or full.

        Never waits for a lock: finalizers call it at any point, of any thread. Who holds the lock
        takes the block back later.
        """
        if options.external_ptr is not None:
            return
        keep = bool(LRU.value) and not options.nolru
        self._returned.append((memory, self.timeline(), keep))
        if self._lock.acquire(blocking=False):
            try:
                self._take_back()
            finally:
                self._lock.release()

    def _take_back(self) -> None:
        """Put what was freed into the cache."""
        while self._returned:
            memory, value, keep = self._returned.popleft()
            self.used_bytes -= memory.size
            self._live[memory.size] -= 1
            self._free.setdefault(memory.size, []).append((next(self._frees), memory, value))
            self.cached_bytes += memory.size
            limit = self.cache_limit if keep else 0
            if limit is not None and self.cached_bytes > limit:
                self._shrink(limit)

    def release_cached(self) -> int:
        """Give every unused block back to the system; the number of bytes."""
        with self._lock:
            self._take_back()
            released = self.cached_bytes
            self._shrink(0)
        return released

    def _take_cached(self, rounded: int) -> Memory | None:
        blocks = self._free.get(rounded)
        if not blocks:
            return None
        # the block freed last is the one most likely to be in the processor's caches
        _, memory, value = blocks.pop()
        memory.ready = value
        self.cached_bytes -= rounded
        return memory

    def _from_system(self, rounded: int) -> Memory:
        try:
            return self.system_alloc(rounded)
        except MemoryError:
            self._shrink(0)
            self.relieve()
        try:
            return self.system_alloc(rounded)
        except MemoryError as error:
            raise OutOfMemoryError(
                device=self.device,
                requested=rounded,
                in_use=self.used_bytes,
                held=self.held(),
                reason=str(error),
            ) from error

    def relieve(self) -> None:
        """Free memory elsewhere, as this device's cache is empty and that was not enough."""
        return

    def try_release_cached(self) -> int:
        """As `release_cached`, but nothing when another thread is at work here."""
        if not self._lock.acquire(blocking=False):
            return 0
        try:
            return self.release_cached()
        finally:
            self._lock.release()

    def held(self) -> dict[str, int]:
        """What holds the memory: bytes by block size, the largest sums first."""
        sums = {size: size * number for size, number in self._live.items() if number > 0}
        largest = sorted(sums, key=lambda size: -sums[size])
        report = {
            f"in {self._live[size]} blocks of {size:,} bytes": sums[size]
            for size in largest[:_REPORTED_SIZES]
        }
        rest = sum(sums[size] for size in largest[_REPORTED_SIZES:])
        if rest:
            report["in blocks of other sizes"] = rest
        if self.cached_bytes:
            report["kept for reuse"] = self.cached_bytes
        return report

    def _check_limit(self, size: int) -> None:
        limit = MAX_BUFFER_SIZE.value
        if limit and size > limit:
            raise OutOfMemoryError(
                device=self.device,
                requested=size,
                in_use=self.used_bytes,
                held={},
                reason=f"MAX_BUFFER_SIZE allows {limit:,} bytes in one buffer",
            )

    def _shrink(self, keep: int) -> None:
        """Give back the blocks freed longest ago until `keep` bytes are left."""
        while self.cached_bytes > keep:
            oldest = min((blocks for blocks in self._free.values() if blocks), default=None)
            if oldest is None:
                self.cached_bytes = 0
                return
            _, memory, value = oldest.pop(0)
            self.cached_bytes -= memory.size
            self.wait_timeline(value)
            self.system_free(memory)
