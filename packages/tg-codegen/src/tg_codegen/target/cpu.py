"""Processors as data: what the `arch` of a target means for vectors, masks and narrow floats."""

from __future__ import annotations

from dataclasses import dataclass

from tg_uop.target import Target

from tg_codegen.errors import UnsupportedError


@dataclass(frozen=True, slots=True)
class Family:
    """An instruction set with what its every processor has.

    `implied` maps a feature to the features that it includes. `cpu_features` lists, by processor
    name, the features that matter here; a processor that is not listed has just the baseline and
    the features given by hand.
    """

    name: str
    triple: str
    generic_cpu: str
    baseline: tuple[str, ...]
    implied: dict[str, tuple[str, ...]]
    cpu_features: dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class CpuDescription:
    """One processor to compile for.

    `features` are those given by hand, with their signs, as a tool chain takes them.
    """

    family: str
    triple: str
    cpu: str
    features: tuple[str, ...]
    enabled: frozenset[str]
    vector_bits: int
    vector_registers: int
    has_fma: bool
    has_trunc: bool
    masked_memory: bool
    half_conversion: bool
    half_arithmetic: bool


_V3 = ("avx2", "fma", "f16c", "bmi2")
_V4 = ("avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd", *_V3)
_ICE = (*_V4, "avx512vnni", "avx512vbmi")
_SPR = (*_ICE, "avx512bf16", "avx512fp16", "amx-tile", "amx-bf16", "amx-int8")

X86_64 = Family(
    name="x86_64",
    triple="x86_64-unknown-linux-gnu",
    generic_cpu="x86-64",
    baseline=("sse2",),
    implied={
        "sse4.2": ("sse4.1",),
        "avx": ("sse4.2",),
        "avx2": ("avx",),
        "fma": ("avx",),
        "f16c": ("avx",),
        "avx512f": ("avx2", "fma", "f16c"),
        "avx512bw": ("avx512f",),
        "avx512dq": ("avx512f",),
        "avx512vl": ("avx512f",),
        "avx512fp16": ("avx512bw", "avx512dq", "avx512vl"),
        "avx512bf16": ("avx512bw",),
        "amx-bf16": ("amx-tile",),
        "amx-int8": ("amx-tile",),
    },
    cpu_features={
        "x86-64": (),
        "x86-64-v2": ("sse4.2",),
        "x86-64-v3": _V3,
        "x86-64-v4": _V4,
        "haswell": _V3,
        "broadwell": _V3,
        "skylake": _V3,
        "alderlake": _V3,
        "raptorlake": _V3,
        "znver1": _V3,
        "znver2": _V3,
        "znver3": _V3,
        "znver4": (*_ICE, "avx512bf16"),
        "znver5": (*_ICE, "avx512bf16"),
        "skylake-avx512": _V4,
        "cascadelake": (*_V4, "avx512vnni"),
        "cooperlake": (*_V4, "avx512vnni", "avx512bf16"),
        "icelake-client": _ICE,
        "icelake-server": _ICE,
        "rocketlake": _ICE,
        "tigerlake": _ICE,
        "sapphirerapids": _SPR,
        "emeraldrapids": _SPR,
        "graniterapids": _SPR,
    },
)

AARCH64 = Family(
    name="aarch64",
    triple="aarch64-unknown-linux-gnu",
    generic_cpu="generic",
    baseline=("neon",),
    implied={"fullfp16": ("neon",), "sve": ("fullfp16",), "sve2": ("sve",)},
    cpu_features={
        "generic": (),
        "cortex-a76": ("fullfp16",),
        "neoverse-n1": ("fullfp16",),
        "neoverse-n2": ("sve2", "bf16"),
        "neoverse-v1": ("sve", "bf16"),
        "neoverse-v2": ("sve2", "bf16"),
        "apple-m1": ("fullfp16",),
        "apple-m2": ("fullfp16", "bf16"),
        "apple-m3": ("fullfp16", "bf16"),
        "apple-m4": ("fullfp16", "bf16"),
    },
)

RISCV64 = Family(
    name="riscv64",
    triple="riscv64-unknown-linux-gnu",
    generic_cpu="generic-rv64",
    baseline=("m", "a", "f", "d", "c"),
    implied={"v": ("zve64d",), "zvfh": ("zfh",)},
    cpu_features={
        "generic-rv64": (),
        "sifive-x280": ("v", "zfh", "zvfh"),
        "spacemit-x60": ("v", "zfh", "zvfh"),
    },
)

FAMILIES = {family.name: family for family in (X86_64, AARCH64, RISCV64)}
ALIASES = {
    "": "x86_64",
    "x86-64": "x86_64",
    "amd64": "x86_64",
    "arm64": "aarch64",
    "riscv": "riscv64",
}


def describe_cpu(target: Target) -> CpuDescription:
    """The processor that `target.arch` names: `family[,processor][,[+]feature|-feature]...`.

    Without an arch it is a baseline x86-64. An entry without a sign is the processor if it stands
    first after the family and is no feature known here.
    Raises `UnsupportedError` for a family that is not described.
    """
    family = _family(target)
    processor, features = _split_entries(family, target.features)
    enabled = _enabled(family, processor, features)
    return CpuDescription(
        family=family.name,
        triple=family.triple,
        cpu=processor or family.generic_cpu,
        features=features,
        enabled=enabled,
        vector_bits=_vector_bits(family, enabled),
        vector_registers=_vector_registers(family, enabled),
        has_fma=family.name != "x86_64" or "fma" in enabled,
        # without it, compilers call a library function
        has_trunc=family.name != "x86_64" or "sse4.1" in enabled,
        masked_memory={"avx512f", "avx512bw", "avx512vl"} <= enabled,
        half_conversion=_half_conversion(family, enabled),
        half_arithmetic=_half_arithmetic(family, enabled),
    )


def _family(target: Target) -> Family:
    name = ALIASES.get(target.arch_name, target.arch_name)
    if name not in FAMILIES:
        raise UnsupportedError(
            what=f"architecture {target.arch_name!r}",
            target=str(target),
            reason=f"the families described are {', '.join(FAMILIES)}",
            hint="write DEVICE:RENDERER:FAMILY[,PROCESSOR][,FEATURES]",
        )
    return FAMILIES[name]


def _split_entries(family: Family, entries: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    known = {*family.baseline, *family.implied}
    for features in (*family.implied.values(), *family.cpu_features.values()):
        known.update(features)
    processor = ""
    signed = []
    for position, entry in enumerate(entries):
        if entry[0] in "+-":
            signed.append(entry)
        elif position == 0 and entry not in known:
            processor = entry
        else:
            signed.append(f"+{entry}")
    return processor, tuple(signed)


def _enabled(family: Family, processor: str, features: tuple[str, ...]) -> frozenset[str]:
    enabled: set[str] = set()
    given = [f"+{name}" for name in (*family.baseline, *family.cpu_features.get(processor, ()))]
    for entry in (*given, *features):
        if entry[0] == "+":
            enabled |= _with_implied(family, entry[1:])
        else:
            enabled -= _with_dependents(family, entry[1:])
    return frozenset(enabled)


def _with_implied(family: Family, feature: str) -> set[str]:
    """`feature` and all that it includes."""
    found = {feature}
    pending = [feature]
    while pending:
        for name in family.implied.get(pending.pop(), ()):
            if name not in found:
                found.add(name)
                pending.append(name)
    return found


def _with_dependents(family: Family, feature: str) -> set[str]:
    """`feature` and all that include it."""
    return {feature} | {name for name in family.implied if feature in _with_implied(family, name)}


def _vector_bits(family: Family, enabled: frozenset[str]) -> int:
    if family.name == "riscv64":
        return 128 if "v" in enabled else 0
    if family.name == "x86_64":
        if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= enabled:
            return 512
        return 256 if "avx2" in enabled else 128
    return 128


def _vector_registers(family: Family, enabled: frozenset[str]) -> int:
    if family.name == "x86_64" and "avx512f" not in enabled:
        return 16
    return 32


def _half_conversion(family: Family, enabled: frozenset[str]) -> bool:
    if family.name == "x86_64":
        return "f16c" in enabled
    return family.name == "aarch64" or "zfh" in enabled


def _half_arithmetic(family: Family, enabled: frozenset[str]) -> bool:
    if family.name == "x86_64":
        return "avx512fp16" in enabled
    if family.name == "aarch64":
        return "fullfp16" in enabled
    return "zfh" in enabled and ("v" not in enabled or "zvfh" in enabled)
