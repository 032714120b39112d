"""DISK: files as buffers, `DISK:path`; reads and writes go through a memory map."""

from __future__ import annotations

import mmap
import os
from typing import Final

from tg_uop import ProgramInfo
from tg_uop.target import Target

from tg_runtime.device import (
    DEFAULT_SPEC,
    Allocator,
    BufferSpec,
    Compiled,
    Memory,
    ToolChain,
)
from tg_runtime.errors import DeviceUnavailableError, FileBufferError

_PREFIX: Final = "DISK:"


class FileMemory(Memory):
    """A part of a mapped file: `start` is its offset in the file."""

    __slots__ = ("file", "start")

    def __init__(self, file: MappedFile, start: int, size: int) -> None:
        super().__init__(0, size, file)
        self.file = file
        self.start = start


class MappedFile:
    """A file mapped into memory: for reading as it is, for writing made as long as need be.

    Nothing is opened before it is used; reading neither makes nor changes a file.
    """

    def __init__(self, path: str, size: int) -> None:
        self.path = path
        self.size = size
        self._map: mmap.mmap | None = None
        self._writable = False

    def view(self, start: int, size: int, *, write: bool = False) -> memoryview:
        """The bytes from `start`.

        Raises `FileBufferError` past the end, and when the file cannot be had in that size.
        """
        self.check(start, size)
        if size == 0:
            return memoryview(b"")
        if self._map is None or (write and not self._writable):
            self._map = self._opened(start, size, write)
            self._writable = write
        return memoryview(self._map)[start : start + size]

    def check(self, start: int, size: int) -> None:
        """Raises `FileBufferError` when the part is not inside."""
        if start < 0 or start + size > self.size:
            raise self._error(start, size, f"it has {self.size:,} bytes")

    def _opened(self, start: int, size: int, write: bool) -> mmap.mmap:
        flags = os.O_RDWR | os.O_CREAT if write else os.O_RDONLY
        try:
            descriptor = os.open(self.path, flags | getattr(os, "O_CLOEXEC", 0), 0o666)
        except OSError as error:
            raise self._error(start, size, error.strerror or str(error)) from error
        try:
            length = os.fstat(descriptor).st_size
            if length < self.size and not write:
                raise self._error(start, size, f"the file has only {length:,} bytes")
            if length < self.size:
                os.ftruncate(descriptor, self.size)
            access = mmap.ACCESS_WRITE if write else mmap.ACCESS_READ
            return mmap.mmap(descriptor, self.size, access=access)
        except (OSError, ValueError) as error:
            if isinstance(error, FileBufferError):
                raise
            raise self._error(start, size, str(error)) from error
        finally:
            os.close(descriptor)

    def _error(self, start: int, size: int, reason: str) -> FileBufferError:
        return FileBufferError(path=self.path, offset=start, size=size, reason=reason)


class DiskAllocator(Allocator):
    """The bytes of one file; every allocation starts at its beginning."""

    has_contents = True

    def __init__(self, device: str, path: str) -> None:
        super().__init__(device)
        self.path = path

    def alloc(self, size: int, options: BufferSpec = DEFAULT_SPEC) -> FileMemory:
        """The first `size` bytes of the file, which is opened when they are used."""
        return FileMemory(MappedFile(self.path, size), 0, size)

    def free(self, memory: Memory, options: BufferSpec = DEFAULT_SPEC) -> None:
        """The mapping goes with its last view."""

    def offset(self, memory: Memory, size: int, offset: int) -> FileMemory:
        """A part of the file. Raises `FileBufferError` past the end."""
        whole = _file_memory(memory)
        whole.file.check(whole.start + offset, size)
        return FileMemory(whole.file, whole.start + offset, size)

    def copy_in(self, target: Memory, source: memoryview, fresh: bool = False) -> None:
        """Write into the file, which is made if it is missing. Raises `FileBufferError`."""
        part = _file_memory(target)
        part.file.view(part.start, source.nbytes, write=True)[:] = source

    def copy_out(self, target: memoryview, source: Memory) -> None:
        """Read from the file. Raises `FileBufferError`."""
        part = _file_memory(source)
        target[:] = part.file.view(part.start, target.nbytes)

    def host_view(self, memory: Memory) -> memoryview:
        """The mapped bytes, for reading."""
        part = _file_memory(memory)
        return part.file.view(part.start, part.size)


class DiskDevice(Compiled):
    """One file."""

    def __init__(self, device: str) -> None:
        """Raises `DeviceUnavailableError` without a path."""
        path = device[len(_PREFIX) :] if device.upper().startswith(_PREFIX) else ""
        if not path:
            raise DeviceUnavailableError(device=device, reason="it names no file; write DISK:path")
        super().__init__(device, DiskAllocator(device, path))

    def make_tool_chain(self, target: Target) -> ToolChain:
        """There is none. Raises `DeviceUnavailableError`."""
        raise self._no_kernels()

    def runtime(self, info: ProgramInfo, binary: bytes) -> None:  # type: ignore[override]
        """There are no programs. Raises `DeviceUnavailableError`."""
        raise self._no_kernels()

    def _no_kernels(self) -> DeviceUnavailableError:
        return DeviceUnavailableError(
            device=self.device, reason="a file runs no kernels; copy it to a device first"
        )


def _file_memory(memory: Memory) -> FileMemory:
    assert isinstance(memory, FileMemory), "the memory of DISK is always a part of a file"
    return memory
