"""The object loader: sections, relocations, foreign symbols, damage."""

from __future__ import annotations

import ctypes
import struct

import pytest
from tg_runtime.compile.llvm import LLVMCompiler
from tg_runtime.errors import ObjectFileError
from tg_runtime.host.elf import load_object, parse_object
from tg_runtime.host.memory_map import map_pages, view_memory
from tg_runtime.host.processor import machine
from tg_runtime.host.relocations import apply_relocation, stub_code

# constants, tables of addresses, zeroed and writable data, calls inside and outside
MODULE = """
@table = internal constant [4 x double] [double 1.0, double 2.5, double -3.0, double 8.0]
@names = internal constant [2 x ptr] [ptr @table, ptr @first]
@zeros = internal global [64 x i64] zeroinitializer, align 64
declare ptr @memcpy(ptr, ptr, i64)
declare ptr @memset(ptr, i32, i64)

define double @pick(i64 %i) {
  %p = getelementptr [4 x double], ptr @table, i64 0, i64 %i
  %v = load double, ptr %p
  ret double %v
}

define i64 @first() {
  %a = load i64, ptr getelementptr ([64 x i64], ptr @zeros, i64 0, i64 63)
  %r = add i64 %a, 41
  ret i64 %r
}

define i64 @indirect(i64 %i) {
  %p = getelementptr [2 x ptr], ptr @names, i64 0, i64 %i
  %f = load ptr, ptr %p
  %r = call i64 %f()
  ret i64 %r
}

define void @copy(ptr %to, ptr %from, i64 %n) {
  %a = call ptr @memset(ptr %to, i32 255, i64 %n)
  %b = call ptr @memcpy(ptr %to, ptr %from, i64 3)
  ret void
}
"""


@pytest.fixture(scope="module")
def binary() -> bytes:
    return LLVMCompiler(machine(), level=0).compile_cached(MODULE)


def test_functions_find_their_data(binary: bytes) -> None:
    loaded = load_object(binary, machine=machine())
    pick = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64)(loaded.address("pick"))
    assert [pick(i) for i in range(4)] == [1.0, 2.5, -3.0, 8.0]
    first = ctypes.CFUNCTYPE(ctypes.c_int64)(loaded.address("first"))
    assert first() == 41
    indirect = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(loaded.address("indirect"))
    assert indirect(1) == 41
    loaded.close()
    loaded.close()


def test_the_c_library_is_reached(binary: bytes) -> None:
    loaded = load_object(binary)
    copy = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int64)
    target = ctypes.create_string_buffer(6)
    copy(loaded.address("copy"))(target, b"abcdef", 5)  # type: ignore[arg-type]
    assert target.raw == b"abc\xff\xff\x00"
    loaded.close()


def test_foreign_symbols_come_from_the_caller(binary: bytes) -> None:
    asked = []

    def resolve(name: str) -> int:
        asked.append(name)
        return 0x1234

    load_object(binary, resolve).close()
    assert sorted(set(asked)) == ["memcpy", "memset"]


def test_a_missing_function_is_named(binary: bytes) -> None:
    def resolve(name: str) -> int:
        raise KeyError(name)

    with pytest.raises(ObjectFileError, match=r"nothing here defines \(symbol mem"):
        load_object(binary, resolve)
    with pytest.raises(ObjectFileError, match=r"it defines .*copy.*symbol other"):
        load_object(binary).address("other")


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"MZ" + bytes(100), bytes(64)])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ObjectFileError, match="no ELF header"):
        load_object(data)


def test_every_truncation_is_noticed(binary: bytes) -> None:
    for length in range(64, len(binary), 97):
        with pytest.raises(ObjectFileError):
            parse_object(binary[:length])


def test_code_of_another_machine_is_refused() -> None:
    other = "aarch64" if machine() != "aarch64" else "x86_64"
    binary = LLVMCompiler(other).compile_cached("define i64 @f() { ret i64 1 }")
    with pytest.raises(ObjectFileError, match=f"it holds {other} code"):
        load_object(binary, machine=machine())


@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
def test_both_architectures_link(arch: str) -> None:
    """Every relocation of the module has a formula and a value that fits."""
    for level in (0, 2):
        loaded = load_object(LLVMCompiler(arch, level=level).compile_cached(MODULE))
        assert {"pick", "first", "indirect", "copy"} <= set(loaded.symbols)
        loaded.close()


def test_an_unknown_relocation_is_an_error() -> None:
    for arch in ("x86_64", "aarch64"):
        with pytest.raises(ObjectFileError, match=r"relocation 200 .* \(symbol f\)"):
            apply_relocation(
                arch,
                memoryview(bytearray(8)),
                0,
                200,
                place_address=0,
                target=0,
                addend=0,
                stub=0,
                symbol="f",
            )


def relocated(arch: str, kind: int, word: int, *, place: int, target: int, stub: int = 0) -> int:
    memory = bytearray(struct.pack("<Q", word))
    apply_relocation(
        arch,
        memoryview(memory),
        0,
        kind,
        place_address=place,
        target=target,
        addend=0,
        stub=stub,
        symbol="f",
    )
    return struct.unpack("<Q", memory)[0]


def test_aarch64_fields() -> None:
    """Encodings by hand from the instruction set's manual."""
    # bl +0x1000
    assert relocated("aarch64", 283, 0x94000000, place=0x4000, target=0x5000) == 0x94000400
    # adrp x0, three pages on: immlo = 3, immhi = 0
    assert relocated("aarch64", 275, 0x90000000, place=0x4010, target=0x7ABC) == 0xF0000000
    # add x0, x0, #0xabc
    assert relocated("aarch64", 277, 0x91000000, place=0, target=0x7ABC) == 0x912AF000
    # ldr d0, [x0, #0xab8]: the offset counts in eights
    assert relocated("aarch64", 286, 0xFD400000, place=0, target=0x7AB8) == 0xFD455C00
    # too far for bl: through the stub
    assert relocated("aarch64", 283, 0x94000000, place=0, target=1 << 40, stub=64) == 0x94000010


def test_far_calls_go_through_a_stub() -> None:
    far = relocated("x86_64", 4, 0, place=0x1000, target=1 << 40, stub=0x2000)
    assert far == 0x1000
    with pytest.raises(ObjectFileError, match="more than 2 GiB"):
        relocated("x86_64", 2, 0, place=0, target=1 << 40)


def test_a_stub_jumps_to_its_address() -> None:
    function = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 7)
    address = ctypes.cast(function, ctypes.c_void_p).value or 0
    code = stub_code(machine(), address)
    page = map_pages(4096)
    view_memory(page, len(code))[:] = code
    assert code[-10:-2] == struct.pack("<Q", address) or machine() == "aarch64"
