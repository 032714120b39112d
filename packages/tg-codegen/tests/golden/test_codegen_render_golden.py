"""The source of a dozen small kernels in each renderer, as golden files."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tg_codegen.legalize.passes import STEPS
from tg_codegen.linearize.linear import linearize
from tg_codegen.program_info import program_info
from tg_codegen.render.registry import renderer_for
from tg_uop import AxisType, DType, KernelInfo, Ops, UOp, dtypes
from tg_uop.target import Target

LANES = 8
FLOAT = dtypes.float
WEAK = dtypes.weakint.vec(LANES)

TARGETS = {
    "llvm": (Target("CPU", "LLVM", "x86_64,x86-64-v4"), "ll"),
    "llvm_aarch64": (Target("CPU", "LLVM", "aarch64,apple-m1"), "ll"),
    "llvm_riscv64": (Target("CPU", "LLVM", "riscv64,+v"), "ll"),
    "clang": (Target("CPU", "CLANG", "x86_64,x86-64-v3"), "c"),
    "python": (Target("PYTHON"), "py"),
}


def memory(slot: int, dtype: DType = FLOAT, size: int = 64) -> UOp:
    return UOp.param(slot, dtype.ptr(size))


def lanes(start: UOp) -> UOp:
    """The indices of neighbouring elements from `start` on."""
    return start.broadcast(LANES) + UOp.const(WEAK, tuple(range(LANES)))


def loop(size: int, axis: int = 0, kind: AxisType = AxisType.LOOP) -> UOp:
    return UOp.range(size, axis, kind)


def kernel(effect: UOp, *loops: UOp, name: str) -> UOp:
    return effect.end(*loops).sink(arg=KernelInfo(name=name))


def elementwise(name: str, fn: Callable[[UOp], UOp], source: DType = FLOAT) -> UOp:
    """out[i] = fn(in[i]) for vectors of eight."""
    i = loop(8)
    value = fn(memory(1, source).index(lanes(i * LANES)))
    target = memory(0, value.dtype.scalar()).index(lanes(i * LANES))
    return kernel(target.store(value), i, name=name)


def vector_add() -> UOp:
    i = loop(8)
    where = lanes(i * LANES)
    total = memory(1).index(where) + memory(2).index(where)
    return kernel(memory(0).index(where).store(total), i, name="vector_add")


def scalar_fill() -> UOp:
    i = loop(64)
    return kernel(memory(0).index(i).store(0.0), i, name="scalar_fill")


def accumulate(acc: UOp, position: UOp, start: float, term: UOp, step: UOp) -> UOp:
    """A register that starts at a number and to which terms are added in a loop; its value."""
    first = acc.after(acc.index(position).store(UOp.const(acc.dtype.base, start)))
    total = first.after(step).index(position) + term
    return acc.after(first.index(position).store(total).end(step)).index(position)


def scalar_sum() -> UOp:
    k = loop(64, 0, AxisType.REDUCE)
    zero = UOp.const(dtypes.weakint, 0)
    total = accumulate(UOp.define_reg(0, FLOAT), zero, 0.0, memory(1).index(k), k)
    return kernel(memory(0, size=1).index(zero).store(total), name="scalar_sum")


def row_times_matrix() -> UOp:
    k = loop(16, 0, AxisType.REDUCE)
    zero = UOp.const(dtypes.weakint, 0)
    row = memory(1, size=16).index(k).broadcast(LANES)
    term = row * memory(2, size=16 * LANES).index(lanes(k * LANES))
    total = accumulate(UOp.define_reg(0, FLOAT.vec(LANES)), zero, 0.0, term, k)
    return kernel(memory(0, size=LANES).index(lanes(zero)).store(total), name="row_times_matrix")


def shifted_with_padding() -> UOp:
    i = loop(64)
    place = (i - 1).valid(i.alu(Ops.CMPLT, UOp.const(dtypes.weakint, 1)).logical_not())
    return kernel(memory(0).index(i).store(memory(1).index(place)), i, name="shifted_with_padding")


def masked_tail() -> UOp:
    i = loop(8)
    where = lanes(i * LANES)
    place = where.valid(where < UOp.const(WEAK, 61))
    value = memory(1, size=61).index(place)
    return kernel(memory(0, size=61).index(place).store(value), i, name="masked_tail")


def gather() -> UOp:
    i = loop(8)
    table = memory(1, dtypes.int).index(lanes(i * LANES)).cast(dtypes.weakint)
    valid = table < UOp.const(WEAK, 64)
    value = memory(2).index(table.valid(valid & (table < UOp.const(WEAK, 0)).logical_not()))
    return kernel(memory(0).index(lanes(i * LANES)).store(value), i, name="gather")


def store_on_condition() -> UOp:
    i = loop(64)
    value = memory(1).index(i)
    place = i.valid(value < 0.5)
    return kernel(memory(0).index(place).store(value), i, name="store_on_condition")


def staged_reverse() -> UOp:
    i, j = loop(8), loop(8, 1)
    scratch = UOp.define_local(0, FLOAT, 8)
    filled = scratch.after(scratch.index(i).store(memory(1).index(i)).end(i))
    return kernel(memory(0).index(j).store(filled.index(7 - j)), j, name="staged_reverse")


def threads_and_variable() -> UOp:
    core = UOp.special(2, "core_id")
    count = UOp.variable("count", 1, 32)
    i = UOp.range(count, 0)
    place = core * 32 + i
    total = memory(1).index(place) + count.cast(FLOAT)
    return kernel(memory(0).index(place).store(total), i, name="threads_and_variable")


KERNELS: dict[str, Callable[[], UOp]] = {
    made().arg.name: made
    for made in (
        vector_add,
        scalar_fill,
        scalar_sum,
        row_times_matrix,
        shifted_with_padding,
        masked_tail,
        gather,
        store_on_condition,
        staged_reverse,
        threads_and_variable,
        lambda: elementwise("relu", lambda x: x.alu(Ops.MAX, x.ufix(0.0))),
        lambda: elementwise("exponential", lambda x: x.alu(Ops.EXP2)),
        lambda: elementwise("to_int", lambda x: x.cast(dtypes.int)),
        lambda: elementwise("divided_by_seven", lambda x: x.alu(Ops.IDIV, x.ufix(7)), dtypes.int),
        lambda: elementwise("is_small", lambda x: x < x.ufix(0.5)),
        lambda: elementwise("bfloat_square", lambda x: x * x, dtypes.bfloat16),
    )
}
EVERYWHERE = ("vector_add", "masked_tail", "row_times_matrix")


def source(made: UOp, target: Target) -> str:
    renderer = renderer_for(target)
    for step in STEPS:
        made = step.run(made, renderer.caps)
    linear = linearize(made)
    info = program_info(linear.src, made.arg, made.arg.name, renderer.caps.has_local)
    return renderer.render(linear.src, info)


@pytest.mark.parametrize("target", list(TARGETS))
@pytest.mark.parametrize("name", list(KERNELS))
def test_source(name: str, target: str, golden: Callable[[str, str], None]) -> None:
    if target in ("llvm_aarch64", "llvm_riscv64") and name not in EVERYWHERE:
        pytest.skip("other processors differ in little but the header")
    text = source(KERNELS[name](), TARGETS[target][0])
    golden(f"render/{name}.{target}.{TARGETS[target][1]}", text)
