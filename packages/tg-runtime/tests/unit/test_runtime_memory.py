"""Buffers, views, the caching allocator, arenas, and memory from outside."""

from __future__ import annotations

import array
import gc
import pickle
import random
import struct
import subprocess
import sys
import threading

import pytest
from tg_runtime import (
    Buffer,
    BufferSpec,
    Device,
    HCQSignal,
    HWQueue,
    Memory,
    MultiBuffer,
    memory_counter,
)
from tg_runtime.devices.cpu.device import CPUDevice
from tg_runtime.devices.cpu.memory import CPUAllocator
from tg_runtime.devices.npy.device import address_of, foreign_buffer
from tg_runtime.errors import BufferUseError, OutOfMemoryError
from tg_runtime.host.memory_map import HUGE_PAGE, map_pages, unmap_pages, view_memory
from tg_runtime.memory.arena import Arena
from tg_runtime.memory.cache import LRUAllocator, size_class
from tg_uop import dtypes
from tg_uop.context import Context

DEVICES = ["CPU", "PYTHON", "NPY"]


@pytest.mark.parametrize("device", DEVICES)
def test_bytes_go_in_and_out(device: str) -> None:
    data = bytes(range(40))
    buffer = Buffer(device, 10, dtypes.int32, initial_value=data)
    assert (buffer.size, buffer.nbytes, buffer.device) == (10, 40, device)
    assert bytes(buffer.as_memoryview()) == data
    out = bytearray(40)
    buffer.copyout(memoryview(out))
    assert out == data


@pytest.mark.parametrize("device", DEVICES)
def test_the_host_sees_the_memory_itself(device: str) -> None:
    buffer = Buffer(device, 4, dtypes.uint8, initial_value=b"abcd")
    view = buffer.as_memoryview()
    view[0] = ord("z")
    assert bytes(buffer.as_memoryview()) == b"zbcd"
    copy = buffer.as_memoryview(allow_zero_copy=False)
    copy[0] = 0
    assert bytes(buffer.as_memoryview()) == b"zbcd"


def test_a_view_of_the_host_keeps_the_memory() -> None:
    buffer = Buffer("CPU", 1000, dtypes.uint8, initial_value=bytes(1000))
    view = buffer.as_memoryview()
    del buffer
    gc.collect()
    others = [Buffer("CPU", 1000, dtypes.uint8, initial_value=b"\xff" * 1000) for _ in range(8)]
    assert bytes(view) == bytes(1000)
    assert len(others) == 8


def test_views_share_and_nest() -> None:
    base = Buffer("CPU", 8, dtypes.int32, initial_value=struct.pack("8i", *range(8)))
    part = base.view(4, dtypes.int32, 8)
    inner = part.view(2, dtypes.int16, 4)
    assert part.as_memoryview().cast("i").tolist() == [2, 3, 4, 5]
    assert inner.base is base
    assert inner.offset == 12
    assert inner.as_memoryview().cast("h").tolist() == [3, 0]
    part.copyin(memoryview(struct.pack("4i", 9, 9, 9, 9)))
    assert base.as_memoryview().cast("i").tolist() == [0, 1, 9, 9, 9, 9, 6, 7]


def test_a_view_keeps_its_base() -> None:
    part = Buffer("CPU", 8, dtypes.uint8, initial_value=b"01234567").view(2, dtypes.uint8, 3)
    gc.collect()
    assert bytes(part.as_memoryview()) == b"34"


@pytest.mark.parametrize(("size", "offset"), [(9, 0), (1, 8), (1, -1), (8, 1)])
def test_a_view_must_be_inside(size: int, offset: int) -> None:
    with pytest.raises(BufferUseError, match="not inside"):
        Buffer("CPU", 8, dtypes.uint8).view(size, dtypes.uint8, offset)


def test_bad_uses_are_named() -> None:
    buffer = Buffer("CPU", 4, dtypes.int32)
    with pytest.raises(BufferUseError, match="nothing was written"):
        buffer.as_memoryview()
    with pytest.raises(BufferUseError, match="it has 16 bytes, the host's memory 3"):
        buffer.copyin(memoryview(b"abc"))
    with pytest.raises(BufferUseError, match="not contiguous"):
        buffer.copyin(memoryview(bytes(32))[::2])
    buffer.allocate()
    with pytest.raises(BufferUseError, match="ensure_allocated"):
        buffer.allocate()
    view = buffer.view(1, dtypes.int32, 0).ensure_allocated()
    with pytest.raises(BufferUseError, match="has 1 views in use"):
        buffer.deallocate()
    del view
    buffer.deallocate()
    buffer.deallocate()
    with pytest.raises(BufferUseError, match="16 are needed"):
        buffer.copy_from(Buffer("CPU", 1, dtypes.int32, initial_value=bytes(4)))
    with pytest.raises(BufferUseError, match="negative"):
        Buffer("CPU", -1, dtypes.int32)


def test_nothing_is_a_size_too() -> None:
    buffer = Buffer("CPU", 0, dtypes.float32, initial_value=b"")
    assert len(buffer.as_memoryview()) == 0
    other = Buffer("PYTHON", 0, dtypes.float32).copy_from(buffer)
    assert other.is_allocated()


@pytest.mark.parametrize("source", [*DEVICES, "CPU:1"])
@pytest.mark.parametrize("target", [*DEVICES, "CPU:1"])
def test_copies_between_devices(source: str, target: str) -> None:
    data = random.Random(1).randbytes(1 << 16)
    origin = Buffer(source, len(data), dtypes.uint8, initial_value=data)
    copy = Buffer(target, len(data), dtypes.uint8).copy_from(origin)
    assert bytes(copy.as_memoryview()) == data
    part = Buffer(target, 100, dtypes.uint8).copy_from(origin.view(100, dtypes.uint8, 7))
    assert bytes(part.as_memoryview()) == data[7:107]


def test_used_memory_is_counted() -> None:
    gc.collect()
    before = memory_counter.used
    seen: list[int] = []
    memory_counter.listeners.append(lambda device, change: seen.append(change))
    buffer = Buffer("CPU", 1000, dtypes.float32)
    assert memory_counter.used == before
    buffer.allocate()
    view = buffer.view(10, dtypes.float32, 0).allocate()
    assert memory_counter.used == before + 4000
    del view, buffer
    gc.collect()
    assert memory_counter.used == before
    assert seen == [4000, -4000]
    memory_counter.listeners.clear()


@pytest.mark.parametrize("device", ["NPY", "CPU", "PYTHON"])
def test_foreign_memory_is_used_in_place(device: str) -> None:
    numbers = array.array("i", [1, 2, 3, 4])
    buffer = foreign_buffer(device, numbers, dtypes.int32)
    assert buffer.memory.address == numbers.buffer_info()[0]
    numbers[0] = 7
    assert buffer.as_memoryview().cast("i").tolist() == [7, 2, 3, 4]
    # a buffer that is exported cannot change its size: the owner is held
    with pytest.raises(BufferError):
        numbers.append(5)
    del buffer
    gc.collect()
    Device[device].synchronize()
    numbers.append(5)


def test_read_only_memory_has_an_address_too() -> None:
    data = b"some bytes"
    assert view_memory(address_of(memoryview(data)), 10, writable=False) == data
    with pytest.raises(BufferUseError, match="not a contiguous"):
        foreign_buffer("NPY", b"abc", dtypes.int32)


def test_memory_at_an_address_is_not_ours() -> None:
    numbers = array.array("i", [1, 2, 3, 4])
    spec = BufferSpec(external_ptr=numbers.buffer_info()[0])
    buffer = Buffer("CPU", 4, dtypes.int32, options=spec)
    assert buffer.allocate().as_memoryview().cast("i").tolist() == [1, 2, 3, 4]
    before = memory_counter.used
    buffer.deallocate()
    assert memory_counter.used == before


def test_multi_buffers() -> None:
    buffers = MultiBuffer(["CPU", "CPU:1"], 4, dtypes.int32)
    assert buffers.device == ("CPU", "CPU:1")
    assert (buffers.size, buffers.dtype, len(list(buffers))) == (4, dtypes.int32, 2)
    assert not buffers.is_allocated()
    assert buffers.ensure_allocated().is_allocated()
    with pytest.raises(BufferUseError, match="one size and dtype"):
        MultiBuffer.of([Buffer("CPU", 1, dtypes.int8), Buffer("CPU", 2, dtypes.int8)])
    with pytest.raises(BufferUseError, match="at least one device"):
        MultiBuffer([], 1, dtypes.int8)


def test_references_are_counted_on_the_base() -> None:
    base = Buffer("CPU", 8, dtypes.int8)
    base.view(1, dtypes.int8, 0).ref(2)
    assert base.ref(-1).refs == 1


# the caching allocator


class SmallDevice(LRUAllocator):
    """A device with 1000 units of 64 bytes."""

    def __init__(self, **options: int) -> None:
        super().__init__("SMALL", **options)
        self.room = 64000
        self.next = 64
        self.now = 0
        self.waited: list[int] = []

    def system_alloc(self, size: int) -> Memory:
        if size > self.room:
            raise MemoryError("full")
        self.room -= size
        self.next += size
        return Memory(self.next, size)

    def system_free(self, memory: Memory) -> None:
        self.room += memory.size

    def timeline(self) -> int:
        return self.now

    def wait_timeline(self, value: int) -> None:
        self.waited.append(value)

    def copy_in(self, target: Memory, source: memoryview, fresh: bool = False) -> None:
        raise NotImplementedError

    def copy_out(self, target: memoryview, source: Memory) -> None:
        raise NotImplementedError


def test_freed_blocks_are_reused_by_size_class() -> None:
    allocator = SmallDevice()
    first = allocator.alloc(1000)
    allocator.free(first)
    assert allocator.alloc(990) is first
    assert allocator.alloc(1000) is not first


def test_pressure_gives_memory_back_before_it_fails() -> None:
    allocator = SmallDevice()
    for size in (10000, 20000, 30000):
        allocator.free(allocator.alloc(size))
    assert allocator.cached_bytes > 50000
    allocator.now = 5
    big = allocator.alloc(60000)
    assert allocator.cached_bytes == 0
    # each block was given back only after its last use was passed
    assert allocator.waited == [0, 0, 0]
    allocator.free(big)
    allocator.release_cached()
    assert allocator.waited[-1] == 5
    assert allocator.room == 64000


def test_the_oldest_blocks_go_first() -> None:
    allocator = SmallDevice(cache_limit=20480)
    blocks = [allocator.alloc(size) for size in (10240, 6144, 8192)]
    for block in blocks:
        allocator.free(block)
    assert allocator.cached_bytes == 6144 + 8192
    assert allocator.alloc(8192) is blocks[2]


def test_out_of_memory_says_what_holds_it() -> None:
    allocator = SmallDevice()
    held = [allocator.alloc(10240) for _ in range(5)]
    allocator.free(held.pop())
    with pytest.raises(OutOfMemoryError) as caught:
        allocator.alloc(40000)
    message = str(caught.value)
    assert "SMALL has no room for 40,960 bytes; 40,960 bytes are in use (full), held by:" in message
    assert "40,960 bytes  in 4 blocks of 10,240 bytes" in message
    assert isinstance(caught.value, MemoryError)


def test_the_cache_can_be_off() -> None:
    allocator = SmallDevice()
    with Context(LRU=0):
        allocator.free(allocator.alloc(1000))
    assert allocator.cached_bytes == 0
    allocator.free(allocator.alloc(1000), BufferSpec(nolru=True))
    assert allocator.cached_bytes == 0


def test_a_limit_on_one_buffer() -> None:
    with Context(MAX_BUFFER_SIZE=1000), pytest.raises(OutOfMemoryError, match="MAX_BUFFER_SIZE"):
        SmallDevice().alloc(1001)


def test_size_classes_waste_little() -> None:
    previous = 0
    for size in range(1, 100000, 7):
        rounded = size_class(size)
        assert rounded >= max(size, previous)
        assert rounded % 64 == 0
        assert rounded <= max(64, size + max(63, size // 8))
        assert size_class(rounded) == rounded
        previous = rounded


def test_an_impossible_size_is_an_error_and_the_device_lives_on() -> None:
    with pytest.raises(OutOfMemoryError, match="CPU has no room"):
        Buffer("CPU", 1 << 50, dtypes.uint8).allocate()
    assert bytes(Buffer("CPU", 2, dtypes.uint8, initial_value=b"ok").as_memoryview()) == b"ok"


LIMITED = """
import resource
from tg_runtime import Buffer, Device
from tg_runtime.errors import OutOfMemoryError
from tg_uop import dtypes
Device["CPU"]
MB = 1 << 20
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 400 * MB,) * 2)
# freed blocks of one size must make room for another size
for size in (100, 150, 200, 250):
    held = [Buffer("CPU", size * MB, dtypes.uint8).allocate() for _ in range(1)]
    del held
try:
    keep = [Buffer("CPU", 90 * MB, dtypes.uint8).allocate() for _ in range(6)]
except OutOfMemoryError as error:
    assert "blocks of" in str(error), error
    print("refused")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_the_cpu_gives_memory_back_under_a_real_limit() -> None:
    answer = subprocess.run(
        [sys.executable, "-c", LIMITED], capture_output=True, text=True, timeout=60, check=False
    )
    assert answer.stdout == "refused\n", answer.stderr


# arenas and pages


def test_arena_blocks_never_overlap() -> None:
    random_source = random.Random(7)
    arena = Arena(1 << 16)
    used: dict[int, int] = {}
    for _ in range(3000):
        if used and random_source.random() < 0.5:
            start = random_source.choice(list(used))
            arena.free(start)
            del used[start]
            continue
        size = random_source.randint(1, 3000)
        found = arena.alloc(size)
        if found is None:
            continue
        assert found % 64 == 0
        assert found >= 0
        assert found + size <= arena.size
        assert all(found + size <= s or s + n <= found for s, n in used.items())
        used[found] = size
    for start in used:
        arena.free(start)
    assert arena.is_empty
    assert arena.free_bytes == arena.size
    assert arena.alloc(arena.size) == 0


def test_an_arena_block_is_freed_once() -> None:
    arena = Arena(1024)
    start = arena.alloc(10)
    assert start is not None
    arena.free(start)
    with pytest.raises(KeyError):
        arena.free(start)


@pytest.mark.parametrize("size", [1, 5000, 5 << 20])
def test_pages_are_zeroed_and_aligned(size: int) -> None:
    address = map_pages(size)
    assert address % (HUGE_PAGE if size >= 2 * HUGE_PAGE else 4096) == 0
    view = view_memory(address, size)
    assert view[0] == view[size - 1] == 0
    view[size - 1] = 1
    unmap_pages(address, size)


def test_buffers_are_aligned_for_vectors() -> None:
    for size in (1, 63, 1000, 100000, 5 << 20):
        assert Buffer("CPU", size, dtypes.uint8).memory.address % 64 == 0


def test_fresh_memory_is_filled_while_the_queue_works() -> None:
    device = Device["CPU"]
    assert isinstance(device, CPUDevice)
    Buffer("CPU", 4, dtypes.uint8, initial_value=b"init").as_memoryview()
    used = Buffer("CPU", 77777, dtypes.uint8, initial_value=bytes(77777))
    gate = HCQSignal(device.waiter)
    HWQueue().wait(gate, 1).submit(device)
    # memory that no work has seen is filled at once; this would hang otherwise
    fresh = Buffer("CPU", 55555, dtypes.uint8, initial_value=b"x" * 55555)
    # memory that may be in use is not
    del used
    filled: list[Buffer] = []

    def refill() -> None:
        filled.append(Buffer("CPU", 77777, dtypes.uint8, initial_value=b"y" * 77777))

    other = threading.Thread(target=refill)
    other.start()
    other.join(0.05)
    assert not filled
    gate.value = 1
    other.join(20)
    assert bytes(filled[0].as_memoryview()) == b"y" * 77777
    assert bytes(fresh.as_memoryview()) == b"x" * 55555


def test_buffers_travel_with_their_bytes() -> None:
    base = Buffer("CPU", 8, dtypes.int16, initial_value=bytes(range(16)))
    copy, view = pickle.loads(pickle.dumps((base, base.view(2, dtypes.int16, 4))))
    assert bytes(copy.as_memoryview()) == bytes(range(16))
    assert view.base is copy
    assert bytes(view.as_memoryview()) == bytes(range(4, 8))
    empty = pickle.loads(pickle.dumps(Buffer("CPU", 8, dtypes.int16)))
    assert not empty.is_allocated()


def test_one_cpu_device_gives_its_cache_to_another() -> None:
    other = Device["CPU:1"].allocator
    assert isinstance(other, CPUAllocator)
    buffer = Buffer("CPU:1", 1 << 20, dtypes.uint8).allocate()
    del buffer
    assert other.cached_bytes >= 1 << 20
    with pytest.raises(OutOfMemoryError):
        Buffer("CPU", 1 << 50, dtypes.uint8).allocate()
    assert other.cached_bytes == 0
