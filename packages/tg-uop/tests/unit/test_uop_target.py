"""The DEV grammar and device strings."""

from __future__ import annotations

import pytest
from tg_uop import target
from tg_uop.errors import TargetError
from tg_uop.target import KnownNames, Target, canonical_device, register_names, split_device

SPELLINGS = (
    "CPU",
    "CPU:LLVM",
    "CPU:CLANG",
    "CPU:LLVM:x86_64,znver2,avx2,-avx512f",
    "CL",
    "CUDA:PTX",
    "NV:CUDA:sm_70",
    "AMD:LLVM",
    "AMD::gfx950",
    "MOCK+AMD",
    "NULL:HIP:gfx1100",
    "PYTHON",
    "WEBGPU",
)


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test begins without registered names."""
    monkeypatch.setattr(target, "KNOWN", KnownNames())


@pytest.mark.parametrize("text", SPELLINGS)
def test_parsing_and_printing_are_inverse(text: str) -> None:
    assert str(Target.parse(text)) == text


def test_parts() -> None:
    parsed = Target.parse("mock+amd:llvm:gfx950,wave32,-xnack")
    assert parsed == Target("AMD", "LLVM", "gfx950,wave32,-xnack", "MOCK")
    assert parsed.arch_name == "gfx950"
    assert parsed.features == ("wave32", "-xnack")
    only_features = Target.parse("CPU:LLVM:-avx512f")
    assert only_features.arch_name == ""
    assert only_features.features == ("-avx512f",)
    assert Target("CPU").features == ()


@pytest.mark.parametrize("text", ["", "+CPU", "MOCK+", ":LLVM", "CPU:LLVM:a,,b"])
def test_malformed_targets(text: str) -> None:
    with pytest.raises(TargetError):
        Target.parse(text)


def test_an_index_in_a_target_is_explained() -> None:
    with pytest.raises(TargetError, match="CPU:1 in code"):
        Target.parse("CPU:1")


def test_unknown_names_list_the_known() -> None:
    register_names(
        devices=("CPU", "NULL"), interfaces=("MOCK",), renderers={"CPU": ("LLVM", "CLANG")}
    )
    with pytest.raises(TargetError, match="CPU, NULL"):
        Target.parse("GPU")
    with pytest.raises(TargetError, match="LLVM, CLANG"):
        Target.parse("CPU:GCC")
    with pytest.raises(TargetError, match="known names: MOCK"):
        Target.parse("PCI+CPU")
    assert Target.parse("NULL:ANYTHING:x").renderer == "ANYTHING"
    assert Target.parse("MOCK+CPU:CLANG").interface == "MOCK"


def test_device_strings() -> None:
    assert canonical_device("CPU") == canonical_device("cpu:0") == "CPU"
    assert canonical_device("cpu:1") == "CPU:1"
    assert canonical_device("CPU:01") == "CPU:1"
    assert split_device("cuda:3") == ("CUDA", 3)
    assert canonical_device("disk:/Tmp/File:1") == "DISK:/Tmp/File:1"
    for wrong in ("", ":1", "CPU:x", "CPU:-1", "CPU:", "CPU:1:2"):
        with pytest.raises(TargetError):
            canonical_device(wrong)
    register_names(devices=("CPU",))
    with pytest.raises(TargetError, match="no device CPX"):
        canonical_device("CPX:1")
