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
    """A file mapped into memory, writable where its permissions allow.

    A missing file is made, and one that is too short is extended, when it is writable.
    """

    def __init__(self, path: str, size: int) -> None:
        """Raises `FileBufferError` when the file cannot be had in that size."""
        self.path = path
        self.size = size
        self.writable = True
        try:
            descriptor = self._open()
            try:
                self._fit(descriptor)
                self._map = self._mapped(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            if isinstance(error, FileBufferError):
                raise
            reason = error.strerror or str(error)
            raise FileBufferError(path=path, offset=0, size=size, reason=reason) from error

    def view(self, start: int, size: int, *, write: bool) -> memoryview:
        """The bytes from `start`. Raises `FileBufferError` past the end, or if it is read-only."""
        if start < 0 or start + size > self.size:
            raise FileBufferError(
                path=self.path, offset=start, size=size, reason=f"it has {self.size:,} bytes"
            )
        if write and not self.writable:
            raise FileBufferError(
                path=self.path, offset=start, size=size, reason="the file is read-only"
            )
        if self._map is None:
            return memoryview(bytearray())
        return memoryview(self._map)[start : start + size]

    def _open(self) -> int:
        try:
            return os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
        except PermissionError:
            self.writable = False
            return os.open(self.path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        except OSError as error:
            # EROFS: the file may still be readable
            if error.errno != 30 or not os.path.exists(self.path):
                raise
            self.writable = False
            return os.open(self.path, os.O_RDONLY)

    def _fit(self, descriptor: int) -> None:
        length = os.fstat(descriptor).st_size
        if length >= self.size:
            return
        if not self.writable:
            raise FileBufferError(
                path=self.path, offset=0, size=self.size, reason=f"it has only {length:,} bytes"
            )
        os.ftruncate(descriptor, self.size)

    def _mapped(self, descriptor: int) -> mmap.mmap | None:
        if self.size == 0:
            return None
        access = mmap.ACCESS_WRITE if self.writable else mmap.ACCESS_READ
        return mmap.mmap(descriptor, self.size, access=access)


class DiskAllocator(Allocator):
    """The bytes of one file; every allocation starts at its beginning."""

    def __init__(self, device: str, path: str) -> None:
        super().__init__(device)
        self.path = path

    def alloc(self, size: int, options: BufferSpec = DEFAULT_SPEC) -> FileMemory:
        """The first `size` bytes of the file. Raises `FileBufferError`."""
        return FileMemory(MappedFile(self.path, size), 0, size)

    def free(self, memory: Memory, options: BufferSpec = DEFAULT_SPEC) -> None:
        """The mapping goes with its last view."""

    def offset(self, memory: Memory, size: int, offset: int) -> FileMemory:
        """A part of the file. Raises `FileBufferError` past the end."""
        whole = _file_memory(memory)
        whole.file.view(whole.start + offset, size, write=False)
        return FileMemory(whole.file, whole.start + offset, size)

    def copy_in(self, target: Memory, source: memoryview, fresh: bool = False) -> None:
        """Write into the file. Raises `FileBufferError` when it is read-only."""
        part = _file_memory(target)
        part.file.view(part.start, source.nbytes, write=True)[:] = source

    def copy_out(self, target: memoryview, source: Memory) -> None:
        """Read from the file."""
        part = _file_memory(source)
        target[:] = part.file.view(part.start, target.nbytes, write=False)

    def host_view(self, memory: Memory) -> memoryview:
        """The mapped bytes; writable like the file."""
        part = _file_memory(memory)
        return part.file.view(part.start, part.size, write=False)


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
