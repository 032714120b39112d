"""Memory of the CPU device: anonymous pages, and small blocks cut from regions of them."""

from __future__ import annotations

import weakref
from typing import Final

from tg_runtime.device import DEFAULT_SPEC, BufferSpec, Compiled, Memory
from tg_runtime.hcq.copy import copy_between
from tg_runtime.hcq.device import HCQCompiled
from tg_runtime.host.memory_map import (
    available_memory,
    map_pages,
    total_memory,
    unmap_pages,
    view_memory,
)
from tg_runtime.memory.arena import Arena
from tg_runtime.memory.cache import LRUAllocator

# blocks up to this size share regions: a mapping of its own costs a system call and page faults
_SMALL: Final = 64 * 1024
_REGION: Final = 4 << 20
# mappings from this size on are compared with what the machine has left, as Linux promises more
_CHECKED: Final = 64 << 20
# left to the rest of the system
_RESERVE: Final = 64 << 20


# unused blocks may hold this part of the machine's memory
_CACHED_PART: Final = 4


class Region:
    """Pages that small blocks are cut from."""

    __slots__ = ("address", "arena")

    def __init__(self) -> None:
        self.address = map_pages(_REGION)
        self.arena = Arena(_REGION)


class CPUAllocator(LRUAllocator):
    """Memory of one CPU device; every CPU device, and the host, can reach it."""

    def __init__(self, device: str) -> None:
        total = total_memory()
        super().__init__(device, None if total is None else total // _CACHED_PART)
        _allocators.add(self)
        self._regions: list[Region] = []
        self._queue: HCQCompiled | None = None

    def attach(self, queue: HCQCompiled) -> None:
        """Tell whose work the memory serves."""
        self._queue = queue

    @property
    def queue(self) -> HCQCompiled:
        """The device whose work the memory serves."""
        assert self._queue is not None, "the device attaches itself when it is opened"
        return self._queue

    def timeline(self) -> int:
        """The value that ends everything submitted."""
        return self.queue.timeline_value

    def wait_timeline(self, value: int) -> None:
        """Wait until the queue has passed `value`."""
        self.queue.wait_for(value)

    def system_alloc(self, size: int) -> Memory:
        """Pages, or a part of a region. Raises `MemoryError`."""
        if size <= _SMALL:
            return self._small(size)
        if size >= _CHECKED:
            _check_available(size)
        return Memory(map_pages(size), size)

    def system_free(self, memory: Memory) -> None:
        """Unmap pages; a part goes back to its region, and an empty region to the system."""
        if memory.size > _SMALL:
            unmap_pages(memory.address, memory.size)
            return
        region = memory.owner
        assert isinstance(region, Region), "small blocks come from regions"
        region.arena.free(memory.address - region.address)
        if region.arena.is_empty and len(self._regions) > 1:
            self._regions.remove(region)
            unmap_pages(region.address, _REGION)

    def relieve(self) -> None:
        """The CPU devices share the machine's memory: take what the others do not use."""
        for other in list(_allocators):
            if other is not self:
                other.try_release_cached()

    def free(self, memory: Memory, options: BufferSpec = DEFAULT_SPEC) -> None:
        """As `LRUAllocator.free`; foreign memory is kept alive until submitted work has passed."""
        if options.external_ptr is not None:
            owner = memory.owner
            if owner is not None:
                self.queue.defer(lambda: _drop(owner))
            return
        super().free(memory, options)

    def copy_in(self, target: Memory, source: memoryview, fresh: bool = False) -> None:
        """Waits for the queue, as far as it concerns this memory, then copies in this thread."""
        if fresh:
            self.queue.wait_for(target.ready)
        else:
            self.queue.synchronize()
        view_memory(target.address, source.nbytes)[:] = source

    def copy_out(self, target: memoryview, source: Memory) -> None:
        """Waits for the queue, then copies in this thread."""
        self.queue.synchronize()
        target[:] = view_memory(source.address, target.nbytes)

    def host_view(self, memory: Memory) -> memoryview:
        """The bytes themselves, after everything submitted."""
        self.queue.synchronize()
        return view_memory(memory.address, memory.size)

    def transfer(self, target: Memory, source: Memory, size: int, source_device: Compiled) -> bool:
        """A copy command in this queue, after what the source's queue has to do."""
        if not isinstance(source_device.allocator, CPUAllocator):
            return False
        copy_between(self.queue, source_device.allocator.queue, target, source, size)
        return True

    def _small(self, size: int) -> Memory:
        for region in reversed(self._regions):
            start = region.arena.alloc(size)
            if start is not None:
                return Memory(region.address + start, size, region)
        region = Region()
        self._regions.append(region)
        start = region.arena.alloc(size)
        assert start is not None, "a fresh region has room for a small block"
        return Memory(region.address + start, size, region)


_allocators: weakref.WeakSet[CPUAllocator] = weakref.WeakSet()


def _drop(owner: object) -> None:
    """Ends the life of a reference: the closure that held it goes with the call."""


def _check_available(size: int) -> None:
    available = available_memory()
    if available is not None and size > available - _RESERVE:
        raise MemoryError(f"{available:,} bytes are left on this machine")
