"""Kernels that users write themselves go through the whole pipeline as they are."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate

import pytest
from tg_codegen.pipeline import canonical, lowering
from tg_codegen.target.registry import INTERPRETER
from tg_uop import AddrSpace, AxisType, KernelInfo, Ops, UOp, dtypes

Run = Callable[..., dict[int, list[int]]]
INT = dtypes.int32


def numbers(count: int) -> list[int]:
    return [(7 * i * i + 3 * i) % 23 - 9 for i in range(count)]


@pytest.fixture
def check(read_kernel: Run, run_linear: Run) -> Callable[..., UOp]:
    """Run a kernel as it is written and as its instructions say; give the latter."""

    def compare(kernel: UOp, *inputs: list[int], outputs: tuple[int, ...]) -> UOp:
        memory = {slot: [-1] * size for slot, size in enumerate(outputs)}
        memory.update(enumerate(inputs, len(outputs)))
        plain = canonical(kernel)
        linear = lowering(INTERPRETER).run(plain)
        assert run_linear(linear.src, memory) == read_kernel(plain, memory)
        return linear

    return compare


def matrix(rows: int, columns: int, slot: int) -> UOp:
    return UOp.placeholder((rows, columns), INT, slot)


def given(*effects: UOp) -> UOp:
    return UOp.sink(*effects, arg=KernelInfo(name="custom", opts_to_apply=()))


def test_product_with_own_accumulator(check: Callable[..., UOp]) -> None:
    out, left, right = matrix(3, 4, 0), matrix(3, 5, 1), matrix(5, 4, 2)
    i, j, k = UOp.range(3, 0), UOp.range(4, 1), UOp.range(5, 2, AxisType.REDUCE)
    register = UOp.placeholder((1,), INT, 0, AddrSpace.REG)
    start = register.after(i, j)
    start = start.after(start.index(0).store(0))
    step = start.after(k)
    update = step.index(0).store(step.index(0) + left.index(i, k) * right.index(k, j)).end(k)
    effect = out.index(i, j).store(register.after(update).index(0)).end(i, j)
    check(given(effect), numbers(15), numbers(20), outputs=(12,))


def test_product_with_reduce_and_roles(check: Callable[..., UOp]) -> None:
    out, left, right = matrix(4, 8, 0), matrix(4, 6, 1), matrix(6, 8, 2)
    i = UOp.range(4, 0, AxisType.THREAD)
    j, lane = UOp.range(2, 1), UOp.range(4, 2, AxisType.UPCAST, lanes=True)
    k = UOp.range(6, 3, AxisType.REDUCE)
    column = j * 4 + lane
    total = (left.index(i, k) * right.index(k, column)).reduce(k)
    check(
        given(out.index(i, column).store(total).end(i, j, lane)),
        numbers(24),
        numbers(48),
        outputs=(32,),
    )


def test_second_step_reads_what_the_first_wrote(check: Callable[..., UOp]) -> None:
    size = 6
    out, scratch = (UOp.placeholder((size,), INT, slot) for slot in range(2))
    source = UOp.placeholder((size,), INT, 2)
    i, j = UOp.range(size, 0), UOp.range(size, 1)
    first = scratch.index(i).store(source.index(i) * 2).end(i)
    last = UOp.const(dtypes.weakint, size - 1)
    second = out.index(j).store(scratch.after(first).index(last - j)).end(j)
    check(given(second), numbers(size), outputs=(size, size))


def test_in_place_update(check: Callable[..., UOp]) -> None:
    out, source = (UOp.placeholder((8,), INT, slot) for slot in range(2))
    i = UOp.range(8, 0)
    check(
        given(out.index(i).store(out.index(i) + source.index(i)).end(i)), numbers(8), outputs=(8,)
    )


def test_two_steps_over_one_range(check: Callable[..., UOp]) -> None:
    """The same RANGE closed by two ENDs of which one waits for the other."""
    out, scratch = (UOp.placeholder((5,), INT, slot) for slot in range(2))
    source = UOp.placeholder((5,), INT, 2)
    i = UOp.range(5, 0)
    first = scratch.index(i).store(source.index(i) + 1).end(i)
    second = out.index(i).store(scratch.after(first).index(4 - i)).end(i)
    linear = check(given(second), numbers(5), outputs=(5, 5))
    assert [n.op for n in linear.src].count(Ops.RANGE) == 2


def test_scan_with_a_carried_register(run_linear: Run) -> None:
    """A running sum: the loop stores and updates."""
    out, source = (UOp.placeholder((7,), INT, slot) for slot in range(2))
    register = UOp.placeholder((1,), INT, 0, AddrSpace.REG)
    i = UOp.range(7, 0)
    step = register.after(register.index(0).store(0), i)
    total = step.index(0) + source.index(i)
    keep = step.index(0).store(total)
    kernel = given(UOp.group(keep, out.index(i).store(total)).end(i))
    linear = lowering(INTERPRETER).run(canonical(kernel))
    after = run_linear(linear.src, {0: [0] * 7, 1: numbers(7)})
    assert after[0] == list(accumulate(numbers(7)))


def test_reads_by_an_index_that_was_read(check: Callable[..., UOp]) -> None:
    out, index, table = (UOp.placeholder((6,), INT, slot) for slot in range(3))
    i = UOp.range(6, 0)
    place = index.index(i).cast(dtypes.weakint)
    check(
        given(out.index(i).store(table.index(place)).end(i)),
        [5, 0, 3, 3, 1, 2],
        numbers(6),
        outputs=(6,),
    )


def test_loop_of_variable_length(read_kernel: Run, run_linear: Run) -> None:
    out, source = (UOp.placeholder((8,), INT, slot) for slot in range(2))
    n = UOp.variable("n", 1, 8)
    i, k = UOp.range(n, 0), UOp.range(n, 1, AxisType.REDUCE)
    value = (source.index(k) * (i.cast(INT) + 1)).reduce(k)
    plain = canonical(given(out.index(i).store(value).end(i)))
    linear = lowering(INTERPRETER).run(plain)
    memory = {0: [-1] * 8, 1: numbers(8)}
    for length in (1, 5, 8):
        values = {"n": length}
        assert run_linear(linear.src, memory, values) == read_kernel(plain, memory, values)
