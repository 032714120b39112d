"""Buffers: typed memory on one device, with views and lazy allocation."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, Final

from tg_uop import DType

from tg_runtime.device import (
    DEFAULT_SPEC,
    Allocator,
    BufferSpec,
    Compiled,
    Device,
    DeviceTable,
    Memory,
)
from tg_runtime.errors import BufferUseError
from tg_runtime.host.fork import Rank, fork_safe_lock
from tg_runtime.profile import span

# copies between devices that cannot reach each other go through the host in pieces
_BOUNCE_BYTES: Final = 64 << 20


class MemoryCounter:
    """Bytes that allocated buffers hold, by device; views and foreign memory do not count."""

    def __init__(self) -> None:
        self.by_device: dict[str, int] = {}
        self.listeners: list[Callable[[str, int], None]] = []
        self._lock = fork_safe_lock(Rank.COUNTER)

    @property
    def used(self) -> int:
        """The sum over all devices."""
        return sum(self.by_device.values())

    def add(self, device: str, change: int) -> None:
        """Note an allocation, or a free as a negative number, and tell the listeners."""
        with self._lock:
            self.by_device[device] = self.by_device.get(device, 0) + change
        for listener in self.listeners:
            listener(device, change)


memory_counter = MemoryCounter()


class Buffer:
    """`size` elements of `dtype` on a device.

    Memory is taken by `allocate` (or the first access that needs it) and given back when the last
    reference goes, or by `deallocate`. A view shares the memory of its base, which it keeps alive.
    """

    any_shared: ClassVar[bool] = False
    """Whether any memory has ever been shared with code that knows nothing of devices."""

    __slots__ = (
        "__weakref__",
        "_base",
        "_memory",
        "_shared",
        "_views",
        "device",
        "dtype",
        "nbytes",
        "offset",
        "options",
        "refs",
        "size",
    )

    def __init__(
        self,
        device: str,
        size: int,
        dtype: DType,
        opaque: Memory | None = None,
        options: BufferSpec | None = None,
        initial_value: bytes | None = None,
        base: Buffer | None = None,
        offset: int = 0,
    ) -> None:
        """`offset` is in bytes from the base. Raises `BufferUseError` for a view past its base."""
        # first, so that __del__ of a half-built buffer finds them
        self._memory: Memory | None = None
        self._base = base
        self._views = 0
        self._shared = False
        self.device = Device.canonicalize(device)
        self.size = size
        self.dtype = dtype
        self.nbytes = size * dtype.itemsize
        self.options = DEFAULT_SPEC if options is None else options
        self.offset = offset
        self.refs = 0
        if self.options.external_ptr is not None:
            self.share()
        if size < 0:
            raise BufferUseError(attempted="make", buffer=str(self), reason="its size is negative")
        if base is not None:
            self._check_view(base)
        if opaque is not None:
            self._adopt(opaque)
        if initial_value is not None:
            self.copyin(memoryview(initial_value))

    # what it is

    @property
    def base(self) -> Buffer:
        """The buffer that owns the memory: itself unless it is a view."""
        return self if self._base is None else self._base

    @property
    def is_view(self) -> bool:
        """Whether the memory belongs to another buffer."""
        return self._base is not None

    @property
    def is_shared(self) -> bool:
        """Whether others read or write the memory, who cannot know when submitted work is done.

        Whoever submits work on it waits for that work.
        """
        return self.base._shared

    def share(self) -> Buffer:
        """Note that others have the memory from now on."""
        self.base._shared = True
        Buffer.any_shared = True
        return self

    def is_allocated(self) -> bool:
        """Whether the memory is there."""
        return self.base._memory is not None

    def is_initialized(self) -> bool:
        """The same as `is_allocated`."""
        return self.is_allocated()

    def ref(self, change: int) -> Buffer:
        """Count users; the scheduler frees by this count."""
        self.base.refs += change
        return self

    # memory

    @property
    def memory(self) -> Memory:
        """The handle that programs take; takes the memory if need be. Raises `OutOfMemoryError`."""
        found = self._memory
        return found if found is not None else self.allocate()._require()

    _buf = memory

    def allocate(self, opaque: Memory | None = None, external_ptr: int | None = None) -> Buffer:
        """Take the memory. Raises `BufferUseError` when it is there already, `OutOfMemoryError`."""
        if self._memory is not None:
            raise BufferUseError(
                attempted="allocate",
                buffer=str(self),
                reason="it is allocated already",
                hint="use ensure_allocated()",
            )
        if external_ptr is not None:
            self.options = BufferSpec(external_ptr=external_ptr)
            self.share()
        if self._base is not None:
            self._allocate_view(self._base)
        elif opaque is not None:
            self._adopt(opaque)
        else:
            self._memory = self._allocator_of(self.device).alloc(self.nbytes, self.options)
            if self.options.external_ptr is None:
                memory_counter.add(self.device, self.nbytes)
        return self

    def ensure_allocated(self) -> Buffer:
        """Take the memory unless it is there."""
        return self if self._memory is not None else self.allocate()

    def deallocate(self) -> None:
        """Give the memory back; submitted work may still be using it, which is safe.

        Raises `BufferUseError` when views of it are in use.
        """
        if self._memory is not None and self._views:
            raise BufferUseError(
                attempted="deallocate",
                buffer=str(self),
                reason=f"it has {self._views} views in use",
            )
        self._release()

    def _release(self) -> None:
        memory = self._memory
        if memory is None:
            return
        self._memory = None
        if self._base is not None:
            self._base._views -= 1
            return
        self._allocator_of(self.device).free(memory, self.options)
        if self.options.external_ptr is None:
            memory_counter.add(self.device, -self.nbytes)

    def __del__(self, table: DeviceTable = Device) -> None:
        # Views that are left are garbage too, of the same cycle. The table is an argument to be
        # there when Python exits.
        if self._memory is not None and not table.closed:
            self._release()

    def view(self, size: int, dtype: DType, offset: int) -> Buffer:
        """`size` elements of `dtype`, starting `offset` bytes into this buffer.

        Raises `BufferUseError` when that is not inside.
        """
        return Buffer(self.device, size, dtype, base=self.base, offset=self.offset + offset)

    # bytes

    def copyin(self, source: memoryview) -> Buffer:
        """Fill from bytes of the host. Raises `BufferUseError` when the sizes differ."""
        flat = self._flat(source, "copy into")
        fresh = not self.is_allocated()
        memory = self.ensure_allocated()._require()
        if self.nbytes:
            with span(self.device, f"copyin {self.nbytes}", "copy"):
                self._allocator_of(self.device).copy_in(memory, flat, fresh and not self.is_view)
        return self

    def copyout(self, target: memoryview) -> memoryview:
        """Fill bytes of the host from here. Raises `BufferUseError`: sizes differ, no memory."""
        flat = self._flat(target, "copy out of")
        memory = self._allocated("copy out of")
        if self.nbytes:
            with span(self.device, f"copyout {self.nbytes}", "copy"):
                self._allocator_of(self.device).copy_out(flat, memory)
        return target

    def as_memoryview(self, *, allow_zero_copy: bool = True) -> memoryview:
        """The bytes: the memory itself where the host can reach it, which then keeps this buffer
        alive; a copy elsewhere. Raises `BufferUseError` when there is no memory yet."""
        memory = self._allocated("read")
        if allow_zero_copy and self.nbytes:
            view = self._allocator_of(self.device).host_view(memory)
            if view is not None:
                return self._owning(view)
        copy = memoryview(bytearray(self.nbytes))
        self.copyout(copy)
        return copy

    as_buffer = as_memoryview

    def copy_from(self, source: Buffer) -> Buffer:
        """Fill from another buffer of any device. Raises `BufferUseError` when the sizes differ."""
        if source.nbytes != self.nbytes:
            raise BufferUseError(
                attempted="copy into",
                buffer=str(self),
                reason=f"{source} has {source.nbytes} bytes, {self.nbytes} are needed",
            )
        source_memory = source._allocated("copy from")
        fresh = not self.base.is_allocated() and not self.is_view
        memory = self.ensure_allocated()._require()
        if self.nbytes == 0:
            return self
        with span(self.device, f"copy {self.nbytes} from {source.device}", "copy"):
            origin = Device[source.device]
            allocator = self._allocator_of(self.device)
            if not allocator.transfer(memory, source_memory, self.nbytes, origin):
                self._copy_through_host(memory, source_memory, origin, fresh)
        return self

    def _copy_through_host(
        self, memory: Memory, source: Memory, origin: Compiled, fresh: bool
    ) -> None:
        allocator = self._allocator_of(self.device)
        reachable = origin.allocator.host_view(source)
        if reachable is not None:
            allocator.copy_in(memory, reachable[: self.nbytes], fresh)
            return
        reachable = allocator.host_view(memory)
        if reachable is not None:
            origin.allocator.copy_out(reachable[: self.nbytes], source)
            return
        for start in range(0, self.nbytes, _BOUNCE_BYTES):
            length = min(_BOUNCE_BYTES, self.nbytes - start)
            piece = memoryview(bytearray(length))
            origin.allocator.copy_out(piece, origin.allocator.offset(source, length, start))
            allocator.copy_in(allocator.offset(memory, length, start), piece)

    # inside

    @staticmethod
    def _allocator_of(device: str) -> Allocator:
        return Device[device].allocator

    def _require(self) -> Memory:
        memory = self._memory
        assert memory is not None, "allocate() sets the memory or raises"
        return memory

    def _adopt(self, memory: Memory) -> None:
        """Take memory that exists; it counts as the buffer's own from now on."""
        self._memory = memory
        if self._base is not None:
            self._base._views += 1
        elif self.options.external_ptr is None:
            memory_counter.add(self.device, self.nbytes)

    def _allocate_view(self, base: Buffer) -> None:
        memory = base.ensure_allocated()._require()
        self._memory = self._allocator_of(self.device).offset(memory, self.nbytes, self.offset)
        base._views += 1

    def _check_view(self, base: Buffer) -> None:
        if base.is_view:
            raise BufferUseError(
                attempted="make a view of",
                buffer=str(base),
                reason="it is a view itself",
                hint="use its view() method",
            )
        if self.offset < 0 or self.offset + self.nbytes > base.nbytes:
            raise BufferUseError(
                attempted="make a view of",
                buffer=str(base),
                reason=f"bytes {self.offset} to {self.offset + self.nbytes} are not inside",
            )

    def _allocated(self, attempted: str) -> Memory:
        if self._memory is not None:
            return self._memory
        if self._base is not None and self._base._memory is not None:
            return self.allocate()._require()
        if self._allocator_of(self.device).has_contents:
            return self.allocate()._require()
        raise BufferUseError(
            attempted=attempted, buffer=str(self), reason="nothing was written to it yet"
        )

    def _flat(self, view: memoryview, attempted: str) -> memoryview:
        if not view.c_contiguous:
            raise BufferUseError(
                attempted=attempted, buffer=str(self), reason="the host's memory is not contiguous"
            )
        if view.nbytes != self.nbytes:
            raise BufferUseError(
                attempted=attempted,
                buffer=str(self),
                reason=f"it has {self.nbytes} bytes, the host's memory {view.nbytes}",
            )
        if view.nbytes == 0:
            return memoryview(bytearray())
        return view if view.format == "B" and view.ndim == 1 else view.cast("B")

    def _owning(self, view: memoryview) -> memoryview:
        """The same bytes, in a view whose exporter keeps this buffer (and its memory) alive."""
        if view.readonly:
            return view
        exporter = (ctypes.c_ubyte * self.nbytes).from_buffer(view)
        setattr(exporter, "keeps", self)  # noqa: B010  (ctypes arrays take attributes)
        return memoryview(exporter).cast("B")

    def __reduce__(self) -> tuple[Callable[..., Buffer], tuple[object, ...]]:
        """A copy of the bytes travels, where there are any; of a view, its base."""
        if self._base is not None:
            return _rebuilt_view, (self._base, self.size, self.dtype, self.offset)
        data = bytes(self.as_memoryview()) if self.is_allocated() else None
        return _rebuilt, (self.device, self.size, self.dtype, data)

    def __repr__(self) -> str:
        kind = f"view at byte {self.offset}, " if self._base is not None else ""
        name = getattr(self.dtype, "name", str(self.dtype))
        return f"<Buffer {kind}{self.size} x {name} on {self.device}>"


def _rebuilt(device: str, size: int, dtype: DType, data: bytes | None) -> Buffer:
    return Buffer(device, size, dtype, initial_value=data)


def _rebuilt_view(base: Buffer, size: int, dtype: DType, offset: int) -> Buffer:
    return Buffer(base.device, size, dtype, base=base, offset=offset)


class MultiBuffer:
    """One buffer on each of several devices, all alike."""

    __slots__ = ("bufs",)

    def __init__(self, devices: Sequence[str], size: int, dtype: DType) -> None:
        """Raises `BufferUseError` without devices."""
        if not devices:
            raise BufferUseError(
                attempted="make", buffer="a MultiBuffer", reason="it needs at least one device"
            )
        self.bufs = [Buffer(device, size, dtype) for device in devices]

    @classmethod
    def of(cls, buffers: Sequence[Buffer]) -> MultiBuffer:
        """Buffers that exist. Raises `BufferUseError` when they differ in size or dtype."""
        kinds = {(buffer.size, buffer.dtype) for buffer in buffers}
        if len(kinds) != 1:
            raise BufferUseError(
                attempted="join",
                buffer=", ".join(map(str, buffers)) or "no buffers",
                reason="the parts of a MultiBuffer have one size and dtype",
            )
        made = cls.__new__(cls)
        made.bufs = list(buffers)
        return made

    @property
    def size(self) -> int:
        """Elements of each part."""
        return self.bufs[0].size

    @property
    def dtype(self) -> DType:
        """The dtype of each part."""
        return self.bufs[0].dtype

    @property
    def device(self) -> tuple[str, ...]:
        """The devices, in order."""
        return tuple(buffer.device for buffer in self.bufs)

    def ref(self, change: int) -> MultiBuffer:
        """Count users of every part."""
        for buffer in self.bufs:
            buffer.ref(change)
        return self

    def ensure_allocated(self) -> MultiBuffer:
        """Take the memory of every part."""
        for buffer in self.bufs:
            buffer.ensure_allocated()
        return self

    def is_allocated(self) -> bool:
        """Whether every part has its memory."""
        return all(buffer.is_allocated() for buffer in self.bufs)

    def __iter__(self) -> Iterator[Buffer]:
        return iter(self.bufs)

    def __repr__(self) -> str:
        return f"<MultiBuffer of {', '.join(map(str, self.bufs))}>"
