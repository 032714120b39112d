"""The last step of a padded loop stands behind the loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tg_codegen.expand.peel import peel_last_steps
from tg_codegen.pipeline import lowering
from tg_codegen.target.caps import Capabilities
from tg_codegen.target.registry import INTERPRETER
from tg_uop import AxisType, GroupOp, KernelInfo, Ops, UOp, dtypes
from tg_uop.spec.node import Form
from tg_uop.spec.verify import verify

Run = Callable[..., dict[int, list[int]]]

INT = dtypes.int32
UNMASKED = replace(INTERPRETER, masked_memory=False, vector_bits=128)
LANES = 4


def padded_sums(rows: int, length: int, op: Ops = Ops.ADD) -> UOp:
    """The sum, or the maximum, of each row, by vectors, behind which the last one ends."""
    row = UOp.range(rows, 0)
    steps = UOp.range(-(-length // LANES), (1, 0), AxisType.REDUCE)
    lane = UOp.range(LANES, (1, 1), AxisType.UNROLL, lanes=True)
    place = steps * LANES + lane
    inside = place < length
    term = UOp.param(1, INT.ptr(rows * length)).index((row * length + place).valid(inside))
    neutral = 0 if op is Ops.ADD else dtypes.min(INT)
    value = inside.where(term, UOp.const(INT, neutral)).reduce(steps, lane, arg=op)
    store = UOp.param(0, INT.ptr(rows)).index(row).store(value)
    return store.end(row).sink(arg=KernelInfo())


def padded_copy(rows: int, length: int) -> UOp:
    """Each element doubled, by vectors, behind which the last one of a row ends."""
    row, steps = UOp.range(rows, 0), UOp.range(-(-length // LANES), (1, 0))
    lane = UOp.range(LANES, (1, 1), AxisType.UPCAST, lanes=True)
    place = steps * LANES + lane
    index = (row * length + place).valid(place < length)
    value = UOp.param(1, INT.ptr(rows * length)).index(index) * 2
    store = UOp.param(0, INT.ptr(rows * length)).index(index).store(value)
    return store.end(row, steps, lane).sink(arg=KernelInfo())


def sizes_of_loops(kernel: UOp) -> list[int]:
    """The numbers of steps of what remains a loop, without rows."""
    found = [n for n in kernel.toposort() if n.op is Ops.RANGE and n.range_arg.axis_id != (0,)]
    return [int(n.vmax) + 1 for n in found if not n.range_arg.lanes]


def conditions_in_loops(kernel: UOp) -> list[UOp]:
    nodes = [n for n in kernel.toposort() if n.op in GroupOp.Comparison]
    return [n for n in nodes if any(not r.range_arg.lanes for r in n.ranges)]


@pytest.mark.parametrize("kernel", [padded_sums(3, 14), padded_copy(3, 14)], ids=["sum", "copy"])
def test_no_condition_is_left_in_the_loop(kernel: UOp) -> None:
    peeled = peel_last_steps(kernel, UNMASKED)
    verify(peeled, Form.KERNEL)
    assert sizes_of_loops(kernel) == [4]
    assert sizes_of_loops(peeled) == [3]
    assert conditions_in_loops(kernel)
    assert not conditions_in_loops(peeled)


def test_stores_under_masks_are_not_written_twice() -> None:
    masked = replace(UNMASKED, masked_memory=True)
    kernel = padded_copy(3, 14)
    assert peel_last_steps(kernel, masked) is kernel
    assert sizes_of_loops(peel_last_steps(padded_sums(3, 14), masked)) == [3]


def test_a_loop_that_memory_waits_for_stays() -> None:
    """Its steps read what the ones before have written."""
    step = UOp.range(9, 0)
    memory = UOp.param(0, INT.ptr(10))
    before = UOp(Ops.AFTER, memory.dtype, (memory, step)).index(step)
    value = (step < 8).where(before + 1, UOp.const(INT, 0))
    kernel = memory.index(step + 1).store(value).end(step).sink(arg=KernelInfo())
    verify(kernel, Form.KERNEL)
    assert peel_last_steps(kernel, UNMASKED) is kernel


@pytest.mark.parametrize("length", [1, 3, 5, 7, 8, 9, 14, 15])
@pytest.mark.parametrize("masks", [False, True])
@pytest.mark.parametrize("make", [padded_sums, padded_copy], ids=["sum", "copy"])
def test_values_stay(
    make: Callable[..., UOp], length: int, masks: bool, read_kernel: Run, run_linear: Run
) -> None:
    caps: Capabilities = replace(UNMASKED, masked_memory=masks)
    kernel = make(3, length)
    outputs = 3 if make is padded_sums else 3 * length
    memory = {0: [-1] * outputs, 1: [(7 * i * i + 3) % 23 - 40 for i in range(3 * length)]}
    linear = lowering(caps).run(kernel)
    assert run_linear(linear.src, memory) == read_kernel(kernel, memory)


def test_a_maximum_does_not_see_what_is_padded(read_kernel: Run, run_linear: Run) -> None:
    kernel = padded_sums(2, 6, Ops.MAX)
    memory = {0: [0] * 2, 1: [-5 - i for i in range(12)]}
    assert run_linear(lowering(UNMASKED).run(kernel).src, memory)[0] == [-5, -11]
    assert read_kernel(kernel, memory)[0] == [-5, -11]
