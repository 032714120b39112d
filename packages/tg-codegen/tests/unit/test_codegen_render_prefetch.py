"""Which accesses are asked for ahead of time, and how that reads in LLVM."""

from __future__ import annotations

import pytest
from tg_codegen import to_program
from tg_codegen.render.registry import renderer_for
from tg_uop import AxisType, KernelInfo, Ops, UOp, dtypes
from tg_uop.target import Target

X86 = renderer_for(Target("CPU", "LLVM", "x86_64,x86-64-v4"))
FLOAT = dtypes.float32


def buffer(slot: int, size: int) -> UOp:
    return UOp.param(slot, FLOAT.ptr(size))


def elementwise(size: int, operands: int, steps: int) -> UOp:
    """A chain of some steps on a sum of operands."""
    i = UOp.range(size, 0)
    value = buffer(1, size).index(i)
    for slot in range(2, operands + 1):
        value = value + buffer(slot, size).index(i)
    for step in range(steps):
        value = value * value + float(step)
    return buffer(0, size).index(i).store(value).end(i).sink(arg=KernelInfo())


def prefetches(kernel: UOp) -> list[str]:
    (source,) = (s.arg for s in to_program(kernel, X86).src if s.op is Ops.SOURCE)
    return [line for line in source.splitlines() if "call void @llvm.prefetch" in line]


def test_a_long_loop_asks_ahead_for_what_it_reads_and_writes() -> None:
    lines = prefetches(elementwise(1 << 16, 1, 20))
    assert len(lines) == 2
    reads, writes = (sum(f"i32 {way}, i32 3, i32 1" in line for line in lines) for way in (0, 1))
    assert (reads, writes) == (1, 1)


@pytest.mark.parametrize(
    ("size", "operands", "steps"),
    [(1 << 16, 1, 1), (256, 1, 20), (1 << 16, 6, 20)],
    ids=["little arithmetic", "a short loop", "many streams"],
)
def test_other_loops_do_not(size: int, operands: int, steps: int) -> None:
    assert prefetches(elementwise(size, operands, steps)) == []


def test_what_jumps_is_not_asked_for() -> None:
    i, j, r = UOp.range(64, 0), UOp.range(64, 1), UOp.range(512, 2, AxisType.REDUCE)
    product = buffer(1, 64 * 512).index(i * 512 + r) * buffer(2, 512 * 64).index(r * 64 + j)
    kernel = buffer(0, 64 * 64).index(i * 64 + j).store(product.reduce(r)).end(i, j)
    assert prefetches(kernel.sink(arg=KernelInfo())) == []
