"""The table of devices, and the small devices: NULL, DISK, NPY."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tg_runtime import Buffer, Device
from tg_runtime.compile import clang
from tg_runtime.compile.clang import ClangCompiler
from tg_runtime.compile.llvm import LLVMCompiler
from tg_runtime.device import DeviceTable
from tg_runtime.devices.cpu.device import complete_target
from tg_runtime.errors import (
    BufferUseError,
    CompileError,
    DeviceUnavailableError,
    FileBufferError,
    ToolMissingError,
)
from tg_runtime.host.processor import host_arch, host_features, machine
from tg_runtime.registry import DEVICES, DeviceEntry
from tg_uop import ProgramInfo, dtypes
from tg_uop.context import Context
from tg_uop.errors import TargetError
from tg_uop.target import Target


def test_names_have_one_spelling() -> None:
    assert Device.canonicalize("cpu:0") == "CPU"
    assert Device.canonicalize("cpu:1") == "CPU:1"
    assert Device.canonicalize("disk:/tmp/File") == "DISK:/tmp/File"
    assert Device.canonicalize(None) == Device.DEFAULT
    assert Device["CPU"] is Device["cpu:0"]
    assert Device["CPU:1"] is not Device["CPU"]
    assert Device["CPU:1"].device == "CPU:1"
    assert Device["CPU"].count() > 1


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(TargetError, match=r"there is no device ABACUS.*CPU.*PYTHON"):
        Device["ABACUS"]
    with pytest.raises(TargetError, match="'x' is no device index"):
        Device["CPU:x"]


def test_the_default_follows_the_setting() -> None:
    assert Device.DEFAULT == "CPU"
    with Context(DEV="PYTHON"):
        assert Device.DEFAULT == "PYTHON"
    with Context(DEV="CPU:CLANG"):
        assert Device.DEFAULT == "CPU"
    with Context(DEV="ABACUS"), pytest.raises(TargetError, match="ABACUS"):
        _ = Device.DEFAULT
    table = DeviceTable()
    table.DEFAULT = "cpu:1"
    assert table.DEFAULT == "CPU:1"


def test_an_absent_device_says_why_and_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = DeviceEntry("tg_runtime.devices.nowhere", "Nothing", "for this test")
    monkeypatch.setitem(DEVICES, "NULL", gone)
    table = DeviceTable()
    with pytest.raises(DeviceUnavailableError) as caught:
        table["NULL"]
    assert "No module named 'tg_runtime.devices.nowhere'" in caught.value.reason
    assert {"CPU", "PYTHON", "NPY"} <= set(caught.value.available)
    assert "available here: CPU" in str(caught.value)
    assert "NULL" not in list(table.get_available_devices())


def test_available_devices() -> None:
    assert {"CPU", "PYTHON", "NULL", "NPY", "DISK"} <= set(Device.get_available_devices())


def test_the_listing_tells_every_device() -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "tg_runtime"], capture_output=True, text=True, timeout=60, check=True
    )
    lines = answer.stdout.splitlines()
    for name in DEVICES:
        assert any(line.startswith(name) for line in lines)
    assert lines[-1] == "default: CPU"


# targets and tool chains


def test_a_target_is_completed_with_this_machine() -> None:
    assert complete_target(Target("CPU")) == Target("CPU", "LLVM", host_arch())
    assert complete_target(Target("CPU", "CLANG")).renderer == "CLANG"
    other = Target("NULL", "LLVM", "aarch64,cortex-a76")
    assert complete_target(other) == other
    removed = complete_target(Target("CPU", "LLVM", "-avx512f"))
    assert removed.arch_name == machine()
    assert "-avx512f" in removed.features
    assert "avx512f" not in removed.features


def test_the_setting_chooses_the_tool_chain() -> None:
    device = Device["CPU"]
    plain = device.tool_chain()
    assert isinstance(plain.compiler, LLVMCompiler)
    assert device.tool_chain() is plain
    with Context(DEV="CPU:LLVM:x86_64,haswell,-fma"):
        chosen = device.tool_chain()
        assert isinstance(chosen.compiler, LLVMCompiler)
        assert (chosen.compiler.arch, chosen.compiler.model) == ("x86_64", "haswell")
        assert "-fma" in chosen.compiler.key
        assert device.renderer is chosen.renderer
        assert device.compiler is chosen.compiler
    with Context(DEV="PYTHON"):
        assert device.tool_chain().compiler is not None


def test_llvm_says_what_is_wrong() -> None:
    with pytest.raises(CompileError) as caught:
        LLVMCompiler(machine()).compile("define void @f() {\n  nonsense\n}")
    assert "expected instruction" in str(caught.value)
    assert "   2 |   nonsense" in str(caught.value)
    with pytest.raises(ToolMissingError, match="LLVM target for vax"):
        LLVMCompiler("vax")


def test_the_key_of_llvm_holds_version_and_features() -> None:
    keys = {
        LLVMCompiler("x86_64").key,
        LLVMCompiler("x86_64", "haswell").key,
        LLVMCompiler("x86_64", "haswell", ("avx2",)).key,
        LLVMCompiler("x86_64", "haswell", ("-avx2",)).key,
        LLVMCompiler("x86_64", level=3).key,
        LLVMCompiler("aarch64").key,
    }
    assert len(keys) == 6
    assert all(key.startswith("llvm-") for key in keys)


@pytest.mark.parametrize("arch", ["x86_64", "aarch64", "riscv64"])
def test_llvm_compiles_for_other_machines(arch: str) -> None:
    source = "define float @f(float %x) {\n  %y = fadd float %x, 1.0\n  ret float %y\n}"
    assert LLVMCompiler(arch).compile(source)[:4] == b"\x7fELF"
    assert "f:" in LLVMCompiler(arch).assembly(source)


def needs_c_compiler() -> None:
    try:
        clang.find_c_compiler()
    except ToolMissingError:
        pytest.skip("no C compiler here")


def test_c_runs_on_the_cpu() -> None:
    needs_c_compiler()
    source = """
    void triple(const unsigned long long *args, long long core) {
      int *out = (int *)args[0]; const int *in = (const int *)args[1];
      for (int i = 0; i < 4; i++) out[i] = 3 * in[i];
    }
    """
    binary = ClangCompiler().compile_cached(source)
    program = Device["CPU"].runtime(ProgramInfo("triple", globals=(0, 1)), binary)
    numbers = b"".join(n.to_bytes(4, "little") for n in (1, 2, 3, 4))
    source_buffer = Buffer("CPU", 4, dtypes.int32, initial_value=numbers)
    target = Buffer("CPU", 4, dtypes.int32).allocate()
    program(target.memory, source_buffer.memory)
    assert target.as_memoryview().cast("i").tolist() == [3, 6, 9, 12]


def test_c_errors_are_shown() -> None:
    needs_c_compiler()
    with pytest.raises(CompileError, match="error"):
        ClangCompiler().compile("void f(void) { nonsense; }")


def test_without_a_c_compiler_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    clang.find_c_compiler.cache_clear()
    try:
        with pytest.raises(ToolMissingError, match=r"clang on PATH, gcc on PATH.*CPU:LLVM"):
            ClangCompiler()
    finally:
        monkeypatch.undo()
        clang.find_c_compiler.cache_clear()


def test_the_processor_is_named() -> None:
    assert machine()
    assert host_arch().startswith(machine())
    assert all(feature == feature.lower() for feature in host_features())


# NULL


def test_null_runs_nothing() -> None:
    device = Device["NULL"]
    program = device.runtime(ProgramInfo("k", globals=(0,)), b"")
    buffer = Buffer("NULL", 1 << 40, dtypes.float32).allocate()
    other = Buffer("NULL", 4, dtypes.float32, initial_value=bytes(16))
    assert buffer.memory.address + buffer.nbytes <= other.memory.address
    assert program(buffer.memory, wait=True) == 0.0
    assert program(buffer.memory) is None
    device.synchronize()
    with pytest.raises(BufferUseError, match="NULL keeps no values"):
        other.as_memoryview()
    Buffer("NULL", 4, dtypes.float32).copy_from(other)


@pytest.mark.parametrize(
    "target",
    [
        "NULL:LLVM:aarch64",
        "NULL:LLVM:riscv64",
        "NULL:CLANG:aarch64",
        "NULL:PYTHON",
        "NULL",
        "NULL:LLVM",
    ],
)
def test_null_has_the_tool_chain_of_any_target(target: str) -> None:
    with Context(DEV=target):
        found = Device["NULL"].tool_chain()
    assert found.compiler is not None
    assert found.renderer.target.device == "NULL"


# DISK


def test_a_file_is_a_buffer(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(bytes(range(64)))
    buffer = Buffer(f"DISK:{path}", 64, dtypes.uint8).allocate()
    assert bytes(buffer.as_memoryview()) == bytes(range(64))
    part = buffer.view(4, dtypes.int16, 10)
    assert bytes(part.as_memoryview()) == bytes(range(10, 18))
    inner = part.view(2, dtypes.uint8, 2)
    inner.copyin(memoryview(b"\xff\xfe"))
    assert path.read_bytes()[12:14] == b"\xff\xfe"
    cpu = Buffer("CPU", 4, dtypes.int16).copy_from(part)
    assert bytes(cpu.as_memoryview())[2:4] == b"\xff\xfe"
    part.copy_from(Buffer("CPU", 4, dtypes.int16, initial_value=bytes(8)))
    assert path.read_bytes()[10:18] == bytes(8)


def test_a_missing_file_is_made_in_the_wanted_size(tmp_path: Path) -> None:
    path = tmp_path / "fresh"
    Buffer(f"DISK:{path}", 100, dtypes.uint8, initial_value=b"a" * 100)
    assert path.read_bytes() == b"a" * 100


def test_an_empty_file_is_a_buffer_of_nothing(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.write_bytes(b"")
    assert len(Buffer(f"DISK:{path}", 0, dtypes.uint8).allocate().as_memoryview()) == 0


def test_reading_never_makes_or_changes_a_file(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    buffer = Buffer(f"DISK:{missing}", 4, dtypes.uint8).allocate()
    with pytest.raises(FileBufferError, match=os.strerror(errno.ENOENT)):
        buffer.as_memoryview()
    assert not missing.exists()
    short = tmp_path / "short"
    short.write_bytes(b"abc")
    with pytest.raises(FileBufferError, match="the file has only 3 bytes"):
        Buffer(f"DISK:{short}", 4, dtypes.uint8).allocate().as_memoryview()
    assert short.read_bytes() == b"abc"
    view = Buffer(f"DISK:{short}", 3, dtypes.uint8).allocate().as_memoryview()
    assert view.readonly
    assert bytes(view) == b"abc"


def test_a_read_only_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"abcd")
    path.chmod(0o444)
    if os.access(path, os.W_OK):
        pytest.skip("this user may write anything")
    buffer = Buffer(f"DISK:{path}", 4, dtypes.uint8).allocate()
    assert bytes(buffer.as_memoryview()) == b"abcd"
    with pytest.raises(FileBufferError, match=os.strerror(errno.EACCES)):
        buffer.copyin(memoryview(b"efgh"))


def test_file_errors_name_file_and_place(tmp_path: Path) -> None:
    with pytest.raises(FileBufferError) as caught:
        Buffer(f"DISK:{tmp_path}/no/such/folder/data", 4, dtypes.uint8, initial_value=b"abcd")
    assert str(caught.value).startswith(f"{tmp_path}/no/such/folder/data, 4 bytes at offset 0: ")
    assert os.strerror(errno.ENOENT) in str(caught.value)
    device = Device[f"DISK:{tmp_path}/data"]
    memory = device.allocator.alloc(16)
    with pytest.raises(FileBufferError, match="8 bytes at offset 12: it has 16 bytes"):
        device.allocator.offset(memory, 8, 12)


@pytest.mark.parametrize("name", ["DISK", "DISK:"])
def test_a_file_needs_a_name(name: str) -> None:
    with pytest.raises(DeviceUnavailableError, match="it names no file"):
        Device[name]


@pytest.mark.parametrize("name", ["NPY", "DISK:/tmp/x"])
def test_places_without_kernels_say_so(name: str) -> None:
    with pytest.raises(DeviceUnavailableError, match="no kernels"):
        _ = Device[name].renderer
    with pytest.raises(DeviceUnavailableError, match="no kernels"):
        Device[name].runtime(ProgramInfo("k"), b"")
