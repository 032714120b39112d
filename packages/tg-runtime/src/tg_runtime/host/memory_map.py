"""Anonymous memory from the operating system, by address."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from typing import Final

from tg_runtime.host.dynlib import LINUX, libc

PAGE: Final = mmap.PAGESIZE
HUGE_PAGE: Final = 2 * 1024 * 1024
_MADV_HUGEPAGE: Final = 14  # linux/mman.h
_FAILED: Final = ctypes.c_void_p(-1).value

_POSIX = sys.platform != "win32"
if _POSIX:
    _mmap = libc().mmap
    _mmap.restype = ctypes.c_void_p
    _mmap.argtypes = [
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_long,
    ]
    _munmap = libc().munmap
    _munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    _mprotect = libc().mprotect
    _mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    _madvise = libc().madvise
    _madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

_from_memory = ctypes.pythonapi.PyMemoryView_FromMemory
_from_memory.restype = ctypes.py_object
_from_memory.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int]
_PYBUF_READ: Final = 0x100
_PYBUF_WRITE: Final = 0x200


def round_up(size: int, multiple: int) -> int:
    """The smallest multiple of `multiple` that is not below `size`."""
    return -(-size // multiple) * multiple


def map_pages(size: int) -> int:
    """Address of `size` zeroed bytes (rounded up to pages), aligned to a page.

    Blocks of 4 MiB and more are aligned to huge pages and ask for them.
    Raises `MemoryError` when the system refuses.
    """
    size = round_up(max(size, 1), PAGE)
    if size < 2 * HUGE_PAGE:
        return _map(size)
    start = _map(size + HUGE_PAGE)
    aligned = round_up(start, HUGE_PAGE)
    if aligned > start:
        _munmap(start, aligned - start)
    tail = start + size + HUGE_PAGE - (aligned + size)
    if tail:
        _munmap(aligned + size, tail)
    if LINUX:
        _madvise(aligned, size, _MADV_HUGEPAGE)
    return aligned


def _map(size: int) -> int:
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    address = _mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
    if address is None or address == _FAILED:
        raise MemoryError(f"the system refused {size} bytes (errno {ctypes.get_errno()})")
    return int(address)


def unmap_pages(address: int, size: int) -> None:
    """Give the pages of `map_pages(size)` back to the system."""
    _munmap(address, round_up(max(size, 1), PAGE))


def make_executable(address: int, size: int) -> None:
    """Turn mapped pages from writable into executable.

    Raises `MemoryError` when the system refuses.
    """
    if _mprotect(address, round_up(size, PAGE), mmap.PROT_READ | mmap.PROT_EXEC):
        raise MemoryError(f"the system refused executable memory (errno {ctypes.get_errno()})")


def view_memory(address: int, size: int, *, writable: bool = True) -> memoryview:
    """The bytes at an address; the caller keeps the memory alive."""
    if size == 0:
        return memoryview(bytearray())
    flags = _PYBUF_WRITE if writable else _PYBUF_READ
    view: memoryview = _from_memory(address, size, flags)
    return view


def total_memory() -> int | None:
    """Bytes of memory that the machine has, or None where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def available_memory() -> int | None:
    """Bytes that can be taken without swapping, or None where the system does not say.

    The smaller of the machine's and the control group's (cgroup v2).
    """
    found = [size for size in (_machine_available(), _group_available()) if size is not None]
    return min(found) if found else None


def _machine_available() -> int | None:
    try:
        with open("/proc/meminfo", "rb") as file:
            for line in file:
                if line.startswith(b"MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return None


def _group_available() -> int | None:
    try:
        with open("/sys/fs/cgroup/memory.max", "rb") as file:
            limit = file.read().strip()
        if limit == b"max":
            return None
        with open("/sys/fs/cgroup/memory.current", "rb") as file:
            return max(0, int(limit) - int(file.read()))
    except (OSError, ValueError):
        return None
