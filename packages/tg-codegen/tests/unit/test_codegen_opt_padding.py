"""Conditions that a zero factor makes superfluous."""

from __future__ import annotations

from collections.abc import Callable

from tg_codegen.linear_index import split_gate
from tg_codegen.optimize.padding import free_of_padding
from tg_uop import AxisType, KernelInfo, Ops, UOp, dtypes

INT = dtypes.int32
SIZE, WINDOW = 9, 4


def buffer(slot: int, size: int) -> UOp:
    return UOp.param(slot, INT.ptr(size))


def gradient(reduce_op: Ops = Ops.ADD, weights: int = WINDOW) -> UOp:
    """The gradient of a window sum: everything under the same condition."""
    x, k = UOp.range(SIZE, 0), UOp.range(WINDOW, 1, AxisType.REDUCE)
    place = x - k
    inside = (place < 0).logical_not() & (place < SIZE - WINDOW + 1)
    image = buffer(1, SIZE - WINDOW + 1).index(place.valid(inside))
    weight = buffer(2, weights).index(k.valid(inside))
    value = inside.where(image * weight, UOp.const(INT, 0)).reduce(k, arg=reduce_op)
    return buffer(0, SIZE).index(x).store(value).end(x).sink(arg=KernelInfo())


def gates(kernel: UOp) -> int:
    loads = [n for n in kernel.toposort() if n.op is Ops.INDEX]
    return sum(split_gate(n.index_expr)[0] is not None for n in loads)


def wheres(kernel: UOp) -> int:
    return sum(n.op is Ops.WHERE and n.dtype is INT for n in kernel.toposort())


def test_one_condition_is_enough(read_kernel: Callable[..., dict[int, list[int]]]) -> None:
    before = gradient()
    after = free_of_padding(before)
    assert (gates(before), wheres(before)) == (2, 1)
    assert (gates(after), wheres(after)) == (1, 0)
    memory = {0: [-5] * SIZE, 1: [3, -1, 4, 1, -5, 9], 2: [2, -7, 1, 8]}
    assert read_kernel(after, memory) == read_kernel(before, memory)


def test_an_operand_that_would_leave_its_buffer_keeps_its_condition() -> None:
    assert gates(free_of_padding(gradient(weights=WINDOW - 1))) == 2


def test_only_sums_are_changed() -> None:
    kernel = gradient(Ops.MAX)
    assert free_of_padding(kernel) is kernel
