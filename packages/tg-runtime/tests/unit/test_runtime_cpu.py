"""The CPU device: kernels written by hand in LLVM IR, launched one by one and as graphs."""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterator
from itertools import pairwise

import pytest
from tg_runtime import (
    Buffer,
    Device,
    GraphCall,
    HCQSignal,
    HWQueue,
    InputSlot,
    Memory,
    clear_events,
    profile_events,
)
from tg_runtime.compile.llvm import LLVMCompiler
from tg_runtime.devices.cpu.device import CPUDevice
from tg_runtime.devices.cpu.portable import PortableProcessor
from tg_runtime.errors import LaunchError, ObjectFileError
from tg_runtime.hcq.program import HCQProgram
from tg_runtime.host.processor import host_features, host_model, machine
from tg_uop import ProgramInfo, Variable, dtypes
from tg_uop.context import Context

# out[core * n + i] = in[core * n + i] + step, n = 4
ADD = """
define void @add(ptr %args, i64 %core) {
entry:
  %out = load ptr, ptr %args
  %in.p = getelementptr i8, ptr %args, i64 8
  %in = load ptr, ptr %in.p
  %step.p = getelementptr i8, ptr %args, i64 16
  %step = load i64, ptr %step.p
  %base = mul i64 %core, 4
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]
  %at = add i64 %base, %i
  %src = getelementptr i32, ptr %in, i64 %at
  %dst = getelementptr i32, ptr %out, i64 %at
  %v = load i32, ptr %src
  %step32 = trunc i64 %step to i32
  %w = add i32 %v, %step32
  store i32 %w, ptr %dst
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, 4
  br i1 %more, label %loop, label %out.block
out.block:
  ret void
}
"""


@pytest.fixture(scope="module")
def binary() -> bytes:
    return LLVMCompiler(machine(), host_model(), host_features()).compile_cached(ADD)


@pytest.fixture(params=["native", "portable"])
def device(request: pytest.FixtureRequest) -> Iterator[CPUDevice]:
    if request.param == "native":
        found = Device["CPU"]
        assert isinstance(found, CPUDevice)
        yield found
        return
    portable = CPUDevice("CPU", PortableProcessor(2))
    yield portable
    portable.finalize()


@pytest.fixture
def add(device: CPUDevice, binary: bytes) -> HCQProgram:
    info = ProgramInfo("add", globals=(0, 1), vars=(Variable("step", 0, 100),))
    return device.runtime(info, binary)


def ints(values: list[int]) -> Buffer:
    data = struct.pack(f"{len(values)}i", *values)
    return Buffer("CPU", len(values), dtypes.int32, initial_value=data)


def read(device: CPUDevice, buffer: Buffer) -> list[int]:
    device.synchronize()
    return buffer.as_memoryview().cast("i").tolist()


def test_a_kernel_runs(device: CPUDevice, add: HCQProgram) -> None:
    source, target = ints([1, 2, 3, 4]), ints([0] * 4)
    add(target.memory, source.memory, vals=(10,))
    assert read(device, target) == [11, 12, 13, 14]


def test_negative_values_reach_the_kernel(device: CPUDevice, add: HCQProgram) -> None:
    source, target = ints([1, 2, 3, 4]), ints([0] * 4)
    add(target.memory, source.memory, vals=(-5,))
    assert read(device, target) == [-4, -3, -2, -1]


def test_waiting_gives_the_time(device: CPUDevice, add: HCQProgram) -> None:
    source, target = ints([1, 2, 3, 4]), ints([0] * 4)
    seconds = add(target.memory, source.memory, vals=(1,), wait=True)
    assert seconds is not None
    assert 0 <= seconds < 10


def test_many_core_ids_each_run_once(device: CPUDevice, add: HCQProgram) -> None:
    cores = 1000
    source, target = ints(list(range(4 * cores))), ints([0] * (4 * cores))
    for step in range(1, 20):
        add(target.memory, source.memory, global_size=(cores, 1, 1), vals=(step,))
        assert read(device, target) == [v + step for v in range(4 * cores)]


def test_launches_run_in_order(device: CPUDevice, add: HCQProgram) -> None:
    target = ints([0] * 8)
    for _ in range(5000):
        add(target.memory, target.memory, global_size=(2, 1, 1), vals=(1,))
    assert read(device, target) == [5000] * 8


def test_the_ring_wraps_without_losing_arguments(device: CPUDevice, add: HCQProgram) -> None:
    targets = [ints([0] * 4) for _ in range(3)]
    # each launch takes some 90 bytes of a ring of a megabyte
    for step in range(15000):
        add(targets[step % 3].memory, targets[step % 3].memory, vals=(1,))
    assert [read(device, t)[0] for t in targets] == [5000] * 3


@pytest.mark.parametrize("cores", [0, -1, 70000])
def test_a_bad_number_of_core_ids_is_refused(add: HCQProgram, cores: int) -> None:
    buffer = ints([0] * 4)
    with pytest.raises(LaunchError, match="core ids"):
        add(buffer.memory, buffer.memory, global_size=(cores, 1, 1), vals=(1,))


def test_wrong_arguments_are_refused(add: HCQProgram) -> None:
    buffer = ints([0] * 4)
    with pytest.raises(LaunchError, match="2 buffers and 1 variables, 1 and 0 were given"):
        add(buffer.memory)


def test_a_binary_without_the_kernel_is_refused(device: CPUDevice, binary: bytes) -> None:
    with pytest.raises(ObjectFileError, match="it defines add"):
        device.runtime(ProgramInfo("sub", globals=(0, 1)), binary)


def test_a_graph_replays_with_other_inputs_and_variables(
    device: CPUDevice, add: HCQProgram
) -> None:
    between, target = ints([0] * 4), ints([0] * 4)
    calls = [
        GraphCall(add, (between, InputSlot(0)), ("step",)),
        GraphCall(add, (target, between), (100,)),
    ]
    graph = device.graph(calls)
    for step in range(1, 50):
        graph([ints([step] * 4)], {"step": step})
        assert read(device, target) == [2 * step + 100] * 4


def test_an_input_slot_may_start_inside_the_buffer(device: CPUDevice, add: HCQProgram) -> None:
    target = ints([0] * 4)
    graph = device.graph([GraphCall(add, (target, InputSlot(0, 8)), (0,))])
    graph([ints([1, 2, 3, 4, 5, 6])])
    assert read(device, target) == [3, 4, 5, 6]


def test_replays_in_a_row_do_not_disturb_each_other(device: CPUDevice, add: HCQProgram) -> None:
    sums = ints([0] * 4)
    graph = device.graph([GraphCall(add, (sums, sums), ("step",)) for _ in range(50)])
    for step in range(100):
        graph((), {"step": step})
    assert read(device, sums) == [50 * sum(range(100))] * 4


def test_a_graph_copies_and_splits_kernels(device: CPUDevice, add: HCQProgram) -> None:
    source, copied, target = ints(list(range(64))), ints([0] * 64), ints([0] * 64)
    calls = [
        GraphCall(None, (copied, source), size=256),
        GraphCall(add, (target, copied), (1,), (Variable("cores", 1, 16), 1, 1)),
    ]
    graph = device.graph(calls)
    graph((), {"cores": 16})
    assert read(device, target) == list(range(1, 65))
    graph((), {"cores": 1})
    assert read(device, target) == list(range(1, 65))


def test_a_graph_says_what_is_missing(device: CPUDevice, add: HCQProgram) -> None:
    target = ints([0] * 4)
    graph = device.graph([GraphCall(add, (target, InputSlot(1)), ("step",))])
    with pytest.raises(LaunchError, match="input 1 is used, only 1 were given"):
        graph([target], {"step": 1})
    with pytest.raises(LaunchError, match="variable step"):
        graph([target, target], {})


def test_a_graph_of_another_devices_program_is_refused(add: HCQProgram) -> None:
    other = Device["CPU:1"]
    assert isinstance(other, CPUDevice)
    with pytest.raises(LaunchError, match="the graph runs on CPU:1"):
        other.graph([GraphCall(add, (ints([0] * 4),) * 2, (1,))])


def test_a_queue_takes_commands_one_by_one(device: CPUDevice, add: HCQProgram) -> None:
    source, target = ints([1, 2, 3, 4]), ints([0] * 4)
    arguments = Buffer("CPU", 3, dtypes.uint64).allocate().memory
    add.fill_arguments(arguments, (target.memory, source.memory), (7,))
    signal = HCQSignal(device.waiter)
    queue = HWQueue().timestamp(signal).memory_barrier().exec(add, arguments)
    queue.copy(source.memory, target.memory, 8).signal(signal, 3).submit(device)
    assert signal.wait(3, 5.0)
    assert signal.timestamp > 0
    assert read(device, target) == [8, 9, 10, 11]
    assert read(device, source) == [8, 9, 3, 4]


def test_a_queue_stands_until_the_host_raises_a_signal(device: CPUDevice, add: HCQProgram) -> None:
    target = ints([0] * 4)
    gate = HCQSignal(device.waiter)
    HWQueue().wait(gate, 1).submit(device)
    add(target.memory, target.memory, vals=(1,))
    assert not device.has_passed(device.timeline_value)
    gate.value = 1
    assert read(device, target) == [1] * 4


def test_devices_wait_for_each_other() -> None:
    first, second = Device["CPU"], Device["CPU:1"]
    assert isinstance(first, CPUDevice)
    assert isinstance(second, CPUDevice)
    gate = HCQSignal(first.waiter)
    source = ints([1, 2, 3, 4])
    HWQueue().wait(gate, 1).submit(first)
    target = Buffer("CPU:1", 4, dtypes.int32)
    target.copy_from(source)
    assert not second.has_passed(second.timeline_value)
    gate.value = 1
    assert target.as_memoryview().cast("i").tolist() == [1, 2, 3, 4]


def test_profile_events_lie_on_one_clock(device: CPUDevice, add: HCQProgram) -> None:
    target = ints([0] * 4)
    graph = device.graph([GraphCall(add, (target, target), (1,))] * 3)
    clear_events()
    with Context(PROFILE=1):
        add(target.memory, target.memory, vals=(1,))
        graph()
        graph()
    device.synchronize()
    graph()
    device.synchronize()
    events = [event for event in profile_events() if event.kind == "kernel"]
    assert [event.name for event in events] == ["add"] * 7
    for before, after in pairwise(events):
        assert before.start_ns <= before.end_ns <= after.start_ns
    clear_events()


def test_programs_may_go_while_they_run(device: CPUDevice, binary: bytes) -> None:
    target = ints([0] * 4)
    info = ProgramInfo("add", globals=(0, 1), vars=(Variable("step", 0, 100),))
    for _ in range(200):
        device.runtime(info, binary)(target.memory, target.memory, vals=(1,))
    assert read(device, target) == [200] * 4


def test_memory_handles_are_enough() -> None:
    assert Memory(64, 4).address == 64


def test_more_launches_than_the_queue_holds(device: CPUDevice, add: HCQProgram) -> None:
    target = ints([0] * 4)
    gate = HCQSignal(device.waiter)
    HWQueue().wait(gate, 1).submit(device)
    opener = threading.Timer(0.1, setattr, (gate, "value", 1))
    opener.start()
    for _ in range(3000):
        add(target.memory, target.memory, vals=(1,))
    assert read(device, target) == [3000] * 4
    opener.join()
