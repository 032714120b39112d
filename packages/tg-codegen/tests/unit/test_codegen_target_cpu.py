"""Processors: what an arch string means."""

from __future__ import annotations

import pytest
from tg_codegen.errors import UnsupportedError
from tg_codegen.target.cpu import FAMILIES, describe_cpu
from tg_codegen.target.registry import INTERPRETER, c_capabilities, cpu_capabilities
from tg_uop import Ops, dtypes
from tg_uop.target import Target


def cpu(arch: str):
    return describe_cpu(Target("CPU", "LLVM", arch))


@pytest.mark.parametrize(
    ("arch", "bits", "fma", "masks", "registers"),
    [
        ("", 128, False, False, 16),
        ("x86_64", 128, False, False, 16),
        ("x86_64,znver2", 256, True, False, 16),
        ("x86_64,sapphirerapids", 512, True, True, 32),
        ("x86_64,sapphirerapids,-avx512f", 256, True, False, 16),
        ("x86_64,avx2", 256, False, False, 16),
        ("x86_64,+avx512f,+avx512bw,+avx512vl,+avx512dq", 512, True, True, 32),
        ("aarch64", 128, True, False, 32),
        ("arm64,apple-m1", 128, True, False, 32),
        ("riscv64", 0, True, False, 32),
        ("riscv64,+v", 128, True, False, 32),
    ],
)
def test_arch_gives_vectors(arch: str, bits: int, fma: bool, masks: bool, registers: int) -> None:
    found = cpu(arch)
    assert found.vector_bits == bits
    assert found.has_fma == fma
    assert found.masked_memory == masks
    assert found.vector_registers == registers


def test_removing_a_feature_removes_what_needs_it() -> None:
    enabled = cpu("x86_64,znver4,-avx2").enabled
    assert not {"avx2", "avx512f", "avx512bw", "avx512vnni"} & (enabled - {"avx512vnni"})


def test_features_keep_their_order_and_get_signs() -> None:
    found = cpu("x86_64,znver2,avx2,-avx512f")
    assert found.cpu == "znver2"
    assert found.features == ("+avx2", "-avx512f")


def test_unknown_family_lists_those_there_are() -> None:
    with pytest.raises(UnsupportedError, match="x86_64, aarch64, riscv64"):
        cpu("z80")


@pytest.mark.parametrize("family", FAMILIES)
def test_every_processor_is_described(family: str) -> None:
    for name in FAMILIES[family].cpu_features:
        assert cpu(f"{family},{name}").cpu == name


def test_half_precision_levels() -> None:
    assert cpu_capabilities(cpu("x86_64,sapphirerapids")).computes(dtypes.float16)
    converts = cpu_capabilities(cpu("x86_64,znver2"))
    assert not converts.computes(dtypes.float16)
    assert converts.converts(dtypes.float16)
    assert not cpu_capabilities(cpu("x86_64")).converts(dtypes.float16)


def test_lanes_fill_a_register() -> None:
    caps = cpu_capabilities(cpu("x86_64,sapphirerapids"))
    assert caps.lanes(dtypes.float32) == 16
    assert caps.lanes(dtypes.float64) == 8
    assert caps.lanes(dtypes.bool) == 64
    assert cpu_capabilities(cpu("riscv64")).lanes(dtypes.float32) == 1


def test_tensor_cores_follow_features() -> None:
    names = [t.name for t in cpu_capabilities(cpu("x86_64,sapphirerapids")).tensor_cores]
    assert names == ["amx_bf16", "amx_int8"]
    assert not cpu_capabilities(cpu("x86_64,znver4")).tensor_cores


def test_c_has_no_masks_and_narrower_vectors() -> None:
    caps = c_capabilities(cpu("x86_64,sapphirerapids"))
    assert not caps.masked_memory
    assert not caps.vector_any_width
    assert caps.max_lanes == 16


def test_the_interpreter_has_every_operation() -> None:
    assert INTERPRETER.has_op(Ops.SIN)
    assert INTERPRETER.has_op(Ops.THREEFRY)
    assert all(INTERPRETER.computes(d) for d in dtypes.all)
