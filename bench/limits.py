"""What the machine can do at most: arithmetic and memory rates, each by a loop that does just that.

The loops are LLVM IR of their own, compiled by the tool chain of the CPU device; every thread runs
one. A rate is the best of several runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.measure import timed

# as many as hide the latency of two units, and few enough for 16 registers
CHAINS = 12
STEPS = 1 << 20
BYTES = 1 << 28


@dataclass(frozen=True, slots=True)
class Limits:
    """Rates of all threads together, in operations and bytes a second."""

    float_operations: float
    read_bytes: float
    copied_bytes: float


def measured(threads: int) -> Limits:
    """The limits with so many threads."""
    return Limits(_float_rate(threads), *_memory_rates())


def _float_rate(threads: int) -> float:
    """Multiply-adds on as many independent vectors as hide the latency."""
    from tg_codegen.target.cpu import describe_cpu
    from tg_runtime import Buffer, Device
    from tg_uop import ProgramInfo, dtypes

    cpu = Device["CPU"]
    lanes = max(4, describe_cpu(cpu.renderer.target).vector_bits // 32)
    compiler = cpu.compiler
    assert compiler is not None, "the CPU device has a compiler"
    info = ProgramInfo("peak", globals=(0,), global_size=(threads, 1, 1))
    program = cpu.runtime(info, compiler.compile(_multiply_adds(lanes)))
    out = Buffer("CPU", threads * lanes, dtypes.float32).allocate()

    def run() -> object:
        return program(out.memory, global_size=(threads, 1, 1), wait=True)

    return 2.0 * lanes * CHAINS * STEPS * threads / _best(run)


def _multiply_adds(lanes: int) -> str:
    """`CHAINS` vectors x = x * y + y, `STEPS` times; their sum is stored so that all is needed."""
    kind = f"<{lanes} x float>"
    name = f"@llvm.fma.v{lanes}f32"
    half = ", ".join(["float 0.5"] * lanes)
    lines = [
        f"declare {kind} {name}({kind}, {kind}, {kind})",
        "define void @peak(ptr %args, i64 %core_id) {",
        "entry:",
        "  br label %loop",
        "loop:",
        "  %i = phi i64 [ 0, %entry ], [ %next, %loop ]",
    ]
    for n in range(CHAINS):
        lines.append(f"  %x{n} = phi {kind} [ <{half}>, %entry ], [ %y{n}, %loop ]")
    for n in range(CHAINS):
        lines.append(
            f"  %y{n} = call {kind} {name}({kind} %x{n}, {kind} <{half}>, {kind} <{half}>)"
        )
    lines += [
        "  %next = add i64 %i, 1",
        f"  %again = icmp slt i64 %next, {STEPS}",
        "  br i1 %again, label %loop, label %done",
        "done:",
    ]
    total = "%y0"
    for n in range(1, CHAINS):
        lines.append(f"  %s{n} = fadd {kind} {total}, %y{n}")
        total = f"%s{n}"
    lines += [
        "  %out = load ptr, ptr %args, align 8",
        f"  %at = getelementptr {kind}, ptr %out, i64 %core_id",
        f"  store {kind} {total}, ptr %at, align 4",
        "  ret void",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _memory_rates() -> tuple[float, float]:
    """A sum of more than fits any cache, and a copy of it, by kernels of tg."""
    from tg_tensor import Device, Tensor, TinyJit

    x = Tensor.zeros(BYTES // 4).contiguous().realize()
    device = Device[Device.DEFAULT]
    reading = TinyJit(lambda t: t.max().realize())
    copying = TinyJit(lambda t: t.contiguous().clone().realize())
    rates = []
    for step, moved in ((reading, BYTES), (copying, 2 * BYTES)):
        for _ in range(3):
            step(x)

        def run(step: Callable[[object], object] = step) -> None:
            step(x)
            device.synchronize()

        rates.append(moved / _best(run))
    return rates[0], rates[1]


def _best(run: Callable[[], object]) -> float:
    run()
    return min(timed(run) for _ in range(7))
