"""Whole processes: warm starts, forks, threads, exits, interrupts, settings."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="signals and forks of Linux")

# a kernel that counts: out[0] += 1, and one that never ends
PRELUDE = """
import os, signal, sys, struct, threading, time
# who runs the tests may have left interrupts out: children of a shell in the background have none
signal.signal(signal.SIGINT, signal.default_int_handler)
from tg_runtime import Buffer, Device, GraphCall
from tg_runtime.compile.llvm import LLVMCompiler
from tg_runtime.host.processor import machine
from tg_uop import ProgramInfo, dtypes

COUNT = '''
define void @count(ptr %args, i64 %core) {
  %out = load ptr, ptr %args
  %old = atomicrmw add ptr %out, i32 1 seq_cst
  ret void
}
'''
HANG = '''
define void @hang(ptr %args, i64 %core) {
  br label %loop
loop:
  %x = load volatile i64, ptr %args
  br label %loop
}
'''
def kernel(source, name, buffers, device="CPU"):
    binary = LLVMCompiler(machine()).compile_cached(source)
    return Device[device].runtime(ProgramInfo(name, globals=tuple(range(buffers))), binary)

def counter(device="CPU"):
    return Buffer(device, 1, dtypes.int32, initial_value=bytes(4))

def value(buffer):
    return struct.unpack("i", bytes(buffer.as_memoryview()))[0]

"""


def run(
    script: str, *, code: int = 0, timeout: float = 60, quiet: bool = True, **environment: str
) -> str:
    """The output of a script in a process of its own."""
    command = [sys.executable, "-c", PRELUDE + textwrap.dedent(script)]
    answer = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=timeout,
        env=os.environ | environment,
        check=False,
    )
    assert answer.returncode == code, answer.stderr
    # neither a warning nor an exception that a finalizer swallowed
    assert quiet is False or answer.stderr == ""
    return answer.stdout


def test_a_warm_start_needs_no_llvmlite(tmp_path: Path) -> None:
    script = """
    program = kernel(COUNT, "count", 1)
    target = counter()
    program(target.memory, global_size=(64, 1, 1), wait=True)
    print(value(target), "llvmlite" in sys.modules)
    """
    folder = str(tmp_path)
    assert run(script, TG_CACHE_DIR=folder) == "64 True\n"
    assert run(script, TG_CACHE_DIR=folder) == "64 False\n"


def test_a_truncated_cache_is_compiled_anew(tmp_path: Path) -> None:
    script = """
    program = kernel(COUNT, "count", 1)
    target = counter()
    program(target.memory, wait=True)
    print(value(target))
    """
    folder = str(tmp_path)
    assert run(script, TG_CACHE_DIR=folder) == "1\n"
    entries = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(entries) == 2
    for path in entries:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert run(script, TG_CACHE_DIR=folder) == "1\n"
    assert run(script, TG_CACHE_DIR=folder) == "1\n"


def test_processes_compile_the_same_kernel_at_once(tmp_path: Path) -> None:
    script = PRELUDE + textwrap.dedent(
        """
        program = kernel(COUNT, "count", 1)
        target = counter()
        program(target.memory, wait=True)
        print(value(target))
        """
    )
    environment = os.environ | {"TG_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", script]
    processes = [
        subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) for _ in range(3)
    ]
    assert [process.communicate(timeout=60)[0] for process in processes] == [b"1\n"] * 3


@pytest.mark.parametrize("portable", ["0", "1"])
@linux_only
def test_a_fork_has_its_own_threads(portable: str) -> None:
    script = """
    program = kernel(COUNT, "count", 1)
    target = counter()
    for _ in range(500):
        program(target.memory, global_size=(4, 1, 1))
    child = os.fork()
    if child == 0:
        for _ in range(500):
            program(target.memory, global_size=(4, 1, 1))
        Device["CPU"].synchronize()
        os._exit(0 if value(target) == 4000 else 1)
    for _ in range(250):
        program(target.memory, global_size=(4, 1, 1))
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), value(target))
    """
    assert run(script, CPU_PORTABLE=portable) == "0 3000\n"


@linux_only
def test_a_fork_may_come_while_others_work() -> None:
    script = """
    program = kernel(COUNT, "count", 1)
    stop = False
    def work(device):
        mine = kernel(COUNT, "count", 1, device)
        target = counter(device)
        done = 0
        while not stop:
            mine(target.memory, global_size=(3, 1, 1))
            done += 3
        Device[device].synchronize()
        assert value(target) == done
    threads = [threading.Thread(target=work, args=(f"CPU:{n}",)) for n in range(2)]
    for thread in threads: thread.start()
    codes = []
    for _ in range(20):
        child = os.fork()
        if child == 0:
            target = counter()
            for _ in range(50):
                program(target.memory, global_size=(4, 1, 1))
            Device["CPU"].synchronize()
            os._exit(0 if value(target) == 200 else 1)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    stop = True
    for thread in threads: thread.join()
    print(codes == [0] * 20)
    """
    assert run(script) == "True\n"


@pytest.mark.parametrize("portable", ["0", "1"])
def test_threads_share_a_device(portable: str) -> None:
    script = """
    program = kernel(COUNT, "count", 1)
    shared = counter()
    def work():
        mine = counter()
        for turn in range(300):
            program(shared.memory, global_size=(2, 1, 1), wait=turn % 7 == 0)
            program(mine.memory)
            assert value(mine) == turn + 1
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    print(value(shared))
    """
    assert run(script, CPU_PORTABLE=portable) == "2400\n"


def test_devices_work_side_by_side() -> None:
    script = """
    names = ["CPU", "CPU:1", "CPU:2"]
    targets = [counter(name) for name in names]
    programs = [kernel(COUNT, "count", 1, name) for name in names]
    graphs = [
        Device[name].graph([GraphCall(program, (target,), (), (5, 1, 1))] * 20)
        for name, program, target in zip(names, programs, targets)
    ]
    for _ in range(200):
        for graph in graphs: graph()
    print([value(target) for target in targets])
    """
    assert run(script) == "[20000, 20000, 20000]\n"


@pytest.mark.parametrize("portable", ["0", "1"])
def test_exit_waits_for_submitted_work_and_stops(portable: str) -> None:
    script = """
    program = kernel(COUNT, "count", 1)
    target = counter()
    for _ in range(1000):
        program(target.memory, global_size=(2, 1, 1))
    print("end")
    """
    assert run(script, CPU_PORTABLE=portable) == "end\n"


def test_exit_with_an_error_is_clean_too() -> None:
    script = """
    program = kernel(COUNT, "count", 1)
    program(counter().memory, global_size=(2, 1, 1))
    sys.exit(3)
    """
    run(script, code=3)


@linux_only
def test_a_hang_is_reported_and_does_not_block_the_exit() -> None:
    script = """
    from tg_runtime.errors import DeviceTimeoutError
    program = kernel(HANG, "hang", 1)
    program(counter().memory)
    try:
        Device["CPU"].synchronize()
    except DeviceTimeoutError as error:
        print(error)
    """
    output = run(script, KERNEL_TIMEOUT="0.3")
    assert "CPU did not finish within 0.3 s while running hang" in output


@linux_only
@pytest.mark.parametrize("portable", ["0", "1"])
def test_ctrl_c_while_waiting_is_heard(portable: str) -> None:
    script = PRELUDE + textwrap.dedent(
        """
        program = kernel(HANG, "hang", 1)
        program(counter().memory)
        try:
            print("ready", flush=True)
            Device["CPU"].synchronize()
        except KeyboardInterrupt:
            print("interrupted", flush=True)
            os._exit(0)
        """
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"CPU_PORTABLE": portable},
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=30)
    finally:
        process.kill()
    assert output == "interrupted\n"


@linux_only
def test_work_goes_on_after_ctrl_c() -> None:
    script = """
    import _thread
    program = kernel(COUNT, "count", 1)
    target = counter()
    sent = 0
    threading.Timer(0.2, _thread.interrupt_main).start()
    try:
        while True:
            program(target.memory, global_size=(2, 1, 1))
            sent += 1
    except KeyboardInterrupt:
        pass
    Device["CPU"].synchronize()
    print(2 * sent <= value(target) <= 2 * sent + 2)
    program(target.memory, wait=True)
    print("still works")
    """
    assert run(script) == "True\nstill works\n"


@linux_only
@pytest.mark.parametrize("portable", ["0", "1"])
def test_interrupts_at_any_point_leave_the_device_whole(portable: str) -> None:
    script = """
    import random, signal
    class Stop(Exception): pass
    armed = False
    def interrupt(*_):
        # again and again, as one that hits a finalizer is lost
        global armed
        if armed:
            raise Stop
    signal.signal(signal.SIGALRM, interrupt)
    program = kernel(COUNT, "count", 1)
    target = counter()
    graph = Device["CPU"].graph([GraphCall(program, (target,), (), (2, 1, 1))] * 3)
    source = random.Random(5)
    signal.setitimer(signal.ITIMER_REAL, 0.0007, 0.0007)
    for turn in range(300):
        try:
            armed = True
            while True:
                program(target.memory, global_size=(2, 1, 1), wait=source.random() < 0.2)
                graph()
                Buffer("CPU", source.choice([10, 1000, 100000]), dtypes.uint8).allocate()
        except Stop:
            armed = False
    armed = False
    signal.setitimer(signal.ITIMER_REAL, 0)
    Device["CPU"].synchronize()
    total = value(target)
    program(target.memory, wait=True)
    graph(wait=True)
    print(value(target) - total)
    """
    assert run(script, quiet=False, CPU_PORTABLE=portable) == "7\n"


def test_the_number_of_cores_is_a_setting() -> None:
    script = """
    program = kernel(COUNT, "count", 1)
    target = counter()
    program(target.memory, global_size=(100, 1, 1), wait=True)
    before = threading.active_count()
    native = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 0
    for _ in range(5):
        program(target.memory, global_size=(100, 1, 1))
    Device["CPU"].synchronize()
    print(value(target), native)
    """
    single = run(script, CPU_COUNT="1").split()
    many = run(script, CPU_COUNT="5").split()
    assert single[0] == many[0] == "600"
    if sys.platform == "linux":
        assert int(many[1]) - int(single[1]) == 4


def test_signals_do_not_reach_the_workers() -> None:
    """A signal of the process must find the main thread, or it stays asleep."""
    script = """
    import signal
    seen = []
    signal.signal(signal.SIGALRM, lambda *_: seen.append(threading.current_thread().name))
    program = kernel(COUNT, "count", 1)
    target = counter()
    for _ in range(100):
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        until = time.monotonic() + 0.003
        while time.monotonic() < until:
            program(target.memory, global_size=(2, 1, 1))
    Device["CPU"].synchronize()
    print(len(seen), set(seen))
    """
    assert run(script) == "100 {'MainThread'}\n"


def test_opening_is_safe_from_many_threads() -> None:
    script = """
    found = []
    start = threading.Barrier(8)
    def work():
        start.wait()
        found.append(Device["CPU:3"])
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    print(len(set(map(id, found))))
    """
    assert run(script) == "1\n"


def test_no_thread_runs_before_it_is_needed() -> None:
    names = {thread.name for thread in threading.enumerate()}
    assert "tg-cpu-1" not in names
    time.sleep(0)
