"""An allocator of plain host memory for devices that work in the host's own threads."""

from __future__ import annotations

from tg_runtime.device import Compiled, Memory
from tg_runtime.host.memory_map import map_pages, unmap_pages, view_memory
from tg_runtime.memory.cache import LRUAllocator


class HostAllocator(LRUAllocator):
    """Memory of this process, used by the thread that asks: there is no queue to wait for."""

    def system_alloc(self, size: int) -> Memory:
        """Pages. Raises `MemoryError`."""
        return Memory(map_pages(size), size)

    def system_free(self, memory: Memory) -> None:
        """Unmap the pages."""
        unmap_pages(memory.address, memory.size)

    def copy_in(self, target: Memory, source: memoryview, fresh: bool = False) -> None:
        """A copy by this thread."""
        view_memory(target.address, source.nbytes)[:] = source

    def copy_out(self, target: memoryview, source: Memory) -> None:
        """A copy by this thread."""
        target[:] = view_memory(source.address, target.nbytes)

    def host_view(self, memory: Memory) -> memoryview:
        """The bytes themselves."""
        return view_memory(memory.address, memory.size)

    def transfer(self, target: Memory, source: Memory, size: int, source_device: Compiled) -> bool:
        """Copy from whatever the host can reach."""
        reachable = source_device.allocator.host_view(source)
        if reachable is None:
            return False
        view_memory(target.address, size)[:] = reachable[:size]
        return True
