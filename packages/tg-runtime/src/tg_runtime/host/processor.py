"""Names the processor of this machine: architecture, model for tuning, vector features.

Reads what the operating system shows and needs no compiler, so that a start from warm caches stays
cheap. Names are LLVM's.
"""

from __future__ import annotations

import ctypes
import os
import platform
from functools import cache
from typing import Final

from tg_runtime.host.dynlib import LINUX, libc

# flag in /proc/cpuinfo to the LLVM feature
_X86_FEATURES: Final = {
    "pni": "sse3",
    "ssse3": "ssse3",
    "sse4_1": "sse4.1",
    "sse4_2": "sse4.2",
    "popcnt": "popcnt",
    "avx": "avx",
    "avx2": "avx2",
    "fma": "fma",
    "f16c": "f16c",
    "bmi1": "bmi",
    "bmi2": "bmi2",
    "abm": "lzcnt",
    "movbe": "movbe",
    "avx512f": "avx512f",
    "avx512cd": "avx512cd",
    "avx512dq": "avx512dq",
    "avx512bw": "avx512bw",
    "avx512vl": "avx512vl",
    "avx512ifma": "avx512ifma",
    "avx512vbmi": "avx512vbmi",
    "avx512_vbmi2": "avx512vbmi2",
    "avx512_vnni": "avx512vnni",
    "avx512_bitalg": "avx512bitalg",
    "avx512_vpopcntdq": "avx512vpopcntdq",
    "avx512_bf16": "avx512bf16",
    "avx512_fp16": "avx512fp16",
    "avx_vnni": "avxvnni",
    "amx_tile": "amx-tile",
    "amx_bf16": "amx-bf16",
    "amx_int8": "amx-int8",
}
_ARM_FEATURES: Final = {
    "asimd": "neon",
    "asimdhp": "fullfp16",
    "asimddp": "dotprod",
    "atomics": "lse",
    "bf16": "bf16",
    "i8mm": "i8mm",
    "sve": "sve",
    "sve2": "sve2",
}
# the first entry whose features are all there gives the scheduling model
_X86_MODELS: Final = (
    ("sapphirerapids", ("amx-tile", "avx512fp16")),
    ("icelake-server", ("avx512vbmi2", "avx512vnni")),
    ("skylake-avx512", ("avx512f", "avx512bw", "avx512vl")),
    ("haswell", ("avx2", "fma", "bmi2")),
)
_AMD_FAMILIES: Final = {"23": "znver2", "25": "znver3", "26": "znver5"}
_MACHINES: Final = {"amd64": "x86_64", "arm64": "aarch64"}


def machine() -> str:
    """The architecture: x86_64, aarch64, riscv64, ..."""
    name = platform.machine().lower() if os.name == "nt" else os.uname().machine.lower()
    return _MACHINES.get(name, name)


@cache
def host_model() -> str:
    """The processor model that the compiler tunes for."""
    if machine() != "x86_64":
        return "generic"
    info = _cpu_info()
    features = host_features()
    if info.get("vendor_id") == "AuthenticAMD":
        return _amd_model(info.get("cpu family", ""), features)
    for model, needed in _X86_MODELS:
        if all(feature in features for feature in needed):
            return model
    return "x86-64"


def _amd_model(family: str, features: tuple[str, ...]) -> str:
    model = _AMD_FAMILIES.get(family, "x86-64")
    return "znver4" if model == "znver3" and "avx512f" in features else model


@cache
def host_features() -> tuple[str, ...]:
    """The vector and bit features that this machine has; the architecture's own are left out.

    Tile registers (AMX) are among them only if Linux lets this process use them, which is asked for
    here, once.
    """
    info = _cpu_info()
    if machine() == "x86_64":
        flags, table = info.get("flags", ""), _X86_FEATURES
    elif machine() == "aarch64":
        flags, table = info.get("Features", ""), _ARM_FEATURES
    else:
        return ()
    present = set(flags.split())
    if "amx_tile" in present and not _permit_tiles():
        present -= {"amx_tile", "amx_bf16", "amx_int8"}
    return tuple(feature for flag, feature in table.items() if flag in present)


@cache
def host_arch() -> str:
    """This machine in the ARCH grammar of DEV: architecture, model, features."""
    return ",".join((machine(), host_model(), *host_features()))


def _permit_tiles() -> bool:
    """Ask for the state of tile registers, which Linux grants by process (Documentation/arch/x86/
    xstate.rst): arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA)."""
    call, request, tile_data = (ctypes.c_long(number) for number in (158, 0x1023, 18))
    return LINUX and libc().syscall(call, request, tile_data) == 0


def _cpu_info() -> dict[str, str]:
    """The first processor of /proc/cpuinfo; empty where there is no such file."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            first = file.read(8192).split("\n\n", 1)[0]
    except OSError:
        return {}
    pairs = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}
