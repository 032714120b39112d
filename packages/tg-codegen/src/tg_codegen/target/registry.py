"""Capabilities by target."""

from __future__ import annotations

from dataclasses import replace

from tg_uop import DType, GroupOp, Ops, dtypes

from tg_codegen.target.caps import Capabilities
from tg_codegen.target.cpu import CpuDescription
from tg_codegen.target.tensor_cores import AMX_BF16, AMX_INT8, TensorCore

CPU_MAX_THREADS = 1024
# what a kernel may put on its stack: worker threads have megabytes, L2 holds about this much
CPU_STACK_BYTES = 256 * 1024

PLAIN_DTYPES = frozenset({dtypes.bool, *dtypes.ints, dtypes.float32, dtypes.float64})

# comparisons, bit operations, integer and float arithmetic: what every machine has
MACHINE_OPS = frozenset(
    GroupOp.ALU
    - {
        Ops.EXP2,
        Ops.LOG2,
        Ops.SIN,
        Ops.POW,
        Ops.THREEFRY,
        Ops.MULACC,
    }
    | {Ops.CAST, Ops.BITCAST}
)


def cpu_capabilities(cpu: CpuDescription) -> Capabilities:
    """What a processor can do through LLVM or a C compiler."""
    ops = set(MACHINE_OPS)
    if cpu.has_fma:
        ops.add(Ops.MULACC)
    if not cpu.has_trunc:
        ops.remove(Ops.TRUNC)
    native = set(PLAIN_DTYPES)
    convertible: set[DType] = set()
    if cpu.half_arithmetic:
        native.add(dtypes.float16)
    elif cpu.half_conversion:
        convertible.add(dtypes.float16)
    return Capabilities(
        ops=frozenset(ops),
        dtypes=frozenset(native),
        convert_dtypes=frozenset(convertible),
        vector_bits=cpu.vector_bits,
        vector_registers=cpu.vector_registers,
        vector_any_width=True,
        masked_memory=cpu.masked_memory,
        gather_bytes=frozenset((4, 8)) if cpu.masked_memory else frozenset(),
        has_fma=cpu.has_fma,
        expands_division=True,
        has_threads=True,
        max_threads=CPU_MAX_THREADS,
        stack_bytes=CPU_STACK_BYTES,
        tensor_cores=_cpu_tensor_cores(cpu),
    )


def c_capabilities(cpu: CpuDescription) -> Capabilities:
    """What a processor can do through C: vectors of a power of two of lanes, without masks.

    Half precision is only converted, as not every compiler computes with it.
    """
    whole = cpu_capabilities(cpu)
    has_half = cpu.half_conversion
    return replace(
        whole,
        dtypes=whole.dtypes - {dtypes.float16},
        convert_dtypes=frozenset({dtypes.float16}) if has_half else frozenset(),
        vector_any_width=False,
        max_lanes=max(1, cpu.vector_bits // 32),
        masked_memory=False,
        gather_bytes=frozenset(),
        tensor_cores=(),
    )


def _cpu_tensor_cores(cpu: CpuDescription) -> tuple[TensorCore, ...]:
    found = []
    if "amx-bf16" in cpu.enabled:
        found.append(AMX_BF16)
    if "amx-int8" in cpu.enabled:
        found.append(AMX_INT8)
    return tuple(found)


INTERPRETER = Capabilities(
    ops=frozenset(GroupOp.ALU | {Ops.CAST, Ops.BITCAST}),
    dtypes=frozenset(dtypes.all),
    vector_bits=512,
    vector_any_width=True,
    masked_memory=True,
    expands_division=True,
    has_threads=True,
    max_threads=CPU_MAX_THREADS,
    has_local=False,
    stack_bytes=1 << 30,
)
