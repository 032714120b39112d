"""Small kernels keep their meaning through expansion and linearization."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tg_codegen.expand.barriers import add_barriers
from tg_codegen.expand.grid import place_on_grid
from tg_codegen.expand.loops import close_once
from tg_codegen.expand.shared import share_group_reduces
from tg_codegen.expand.threads import number_threads
from tg_codegen.linearize.order import ordered
from tg_codegen.pipeline import expand
from tg_codegen.target.caps import Capabilities
from tg_codegen.target.registry import INTERPRETER
from tg_uop import AxisType, KernelInfo, Ops, UOp, dtypes
from tg_uop.spec.node import Form
from tg_uop.spec.verify import verify

Run = Callable[..., dict[int, list[int]]]

INT = dtypes.int32
GPU = Capabilities(
    ops=INTERPRETER.ops,
    dtypes=INTERPRETER.dtypes,
    has_local=True,
    has_shared=True,
    global_max=(1 << 31, 65535, 65535),
    local_max=(1024, 1024, 64),
)


@pytest.fixture
def check(read_kernel: Run, run_linear: Run) -> Callable[..., UOp]:
    """Compare a kernel before and after expansion on its input lists."""

    def compare(
        kernel: UOp,
        *inputs: list[int],
        outputs: tuple[int, ...],
        caps: Capabilities = INTERPRETER,
    ) -> UOp:
        memory: dict[int, list[int]] = {}
        for slot, size in enumerate(outputs):
            memory[slot] = [-1] * size
        for slot, cells in enumerate(inputs, len(outputs)):
            memory[slot] = cells
        verify(kernel, Form.KERNEL)
        placed = number_threads(place_on_grid(share_group_reduces(kernel), caps))
        expanded = expand(close_once(add_barriers(placed, caps)))
        verify(expanded, Form.EXPANDED)
        assert run_linear(ordered(expanded), memory) == read_kernel(kernel, memory)
        return expanded

    return compare


def out(size: int, slot: int = 0) -> UOp:
    return UOp.param(slot, INT.ptr(size))


def sink(*effects: UOp) -> UOp:
    return UOp.sink(*effects, arg=KernelInfo())


def numbers(count: int) -> list[int]:
    return [(7 * i * i + 3 * i) % 23 - 9 for i in range(count)]


def test_plain_loop(check: Callable[..., UOp]) -> None:
    i = UOp.range(8, 0)
    check(sink(out(8).index(i).store(out(8, 1).index(i) + 1).end(i)), numbers(8), outputs=(8,))


@pytest.mark.parametrize("lanes", [False, True])
def test_upcast(check: Callable[..., UOp], lanes: bool) -> None:
    i, u = UOp.range(3, 0), UOp.range(4, 1, AxisType.UPCAST, lanes=lanes)
    at = i * 4 + u
    kernel = sink(out(12).index(at).store(out(12, 1).index(at) * 3).end(i, u))
    expanded = check(kernel, numbers(12), outputs=(12,))
    stores = [n for n in expanded.toposort() if n.op is Ops.STORE]
    assert len(stores) == (1 if lanes else 4)


@pytest.mark.parametrize("op", [Ops.ADD, Ops.MAX, Ops.MUL])
@pytest.mark.parametrize("lanes", [False, True])
@pytest.mark.parametrize("unroll", [1, 2, 4, 12])
def test_reduce_unrolled(check: Callable[..., UOp], op: Ops, lanes: bool, unroll: int) -> None:
    i = UOp.range(2, 0)
    k = UOp.range(3, 1, AxisType.REDUCE)
    r = UOp.range(unroll, 2, AxisType.UNROLL, lanes=lanes and unroll > 1)
    value = out(6 * unroll, 1).index((i * 3 + k) * unroll + r)
    kernel = sink(out(2).index(i).store(value.reduce(k, r, arg=op)).end(i))
    check(kernel, numbers(6 * unroll), outputs=(2,))


@pytest.mark.parametrize("lanes", [False, True])
def test_matmul_tile(check: Callable[..., UOp], lanes: bool) -> None:
    i, j = UOp.range(2, (0, 0)), UOp.range(2, (1, 0))
    iu = UOp.range(2, (0, 1), AxisType.UPCAST)
    ju = UOp.range(4, (1, 1), AxisType.UPCAST, lanes=lanes)
    k = UOp.range(3, (2, 0), AxisType.REDUCE)
    ku = UOp.range(2, (2, 1), AxisType.UNROLL)
    row, column, depth = i * 2 + iu, j * 4 + ju, k * 2 + ku
    left = out(24, 1).index(row * 6 + depth)
    right = out(48, 2).index(depth * 8 + column)
    kernel = sink(
        out(32).index(row * 8 + column).store((left * right).reduce(k, ku)).end(i, j, iu, ju)
    )
    check(kernel, numbers(24), numbers(48), outputs=(32,))


def test_siblings_in_one_outer_loop(check: Callable[..., UOp]) -> None:
    """As in softmax: a maximum, a sum that needs it, then an output loop that needs both."""
    i = UOp.range(3, 0)
    r, s, j = (UOp.range(5, n, AxisType.REDUCE if n < 3 else AxisType.LOOP) for n in (1, 2, 3))
    x = out(15, 1)
    top = x.index(i * 5 + r).reduce(r, arg=Ops.MAX)
    total = (x.index(i * 5 + s) - top).reduce(s)
    kernel = sink(out(15).index(i * 5 + j).store(x.index(i * 5 + j) - top + total).end(i, j))
    expanded = check(kernel, numbers(15), outputs=(15,))
    instructions = [n.op for n in ordered(expanded)]
    assert instructions.count(Ops.RANGE) == 4


def test_one_range_in_two_reduces_that_wait(check: Callable[..., UOp]) -> None:
    i, r = UOp.range(3, 0), UOp.range(5, 1, AxisType.REDUCE)
    x = out(15, 1).index(i * 5 + r)
    total = (x - x.reduce(r, arg=Ops.MAX)).reduce(r)
    check(sink(out(3).index(i).store(total).end(i)), numbers(15), outputs=(3,))


def test_one_range_in_two_reduces_that_share(check: Callable[..., UOp]) -> None:
    i, r = UOp.range(3, 0), UOp.range(5, 1, AxisType.REDUCE)
    x = out(15, 1).index(i * 5 + r)
    both = (x * x).reduce(r) - x.reduce(r, arg=Ops.MAX)
    expanded = check(sink(out(3).index(i).store(both).end(i)), numbers(15), outputs=(3,))
    assert [n.op for n in ordered(expanded)].count(Ops.RANGE) == 2


def test_outputs_share_a_loop(check: Callable[..., UOp]) -> None:
    i, j = UOp.range(3, 0), UOp.range(4, 1)
    r = UOp.range(4, 2, AxisType.REDUCE)
    x = out(12, 2)
    total = x.index(i * 4 + r).reduce(r)
    per_row = out(3).index(i).store(total).end(i)
    all_of_it = out(12, 1).index(i * 4 + j).store(x.index(i * 4 + j) - total).end(i, j)
    expanded = check(sink(per_row, all_of_it), numbers(12), outputs=(3, 12))
    assert [n.op for n in ordered(expanded)].count(Ops.RANGE) == 3


def test_threads(check: Callable[..., UOp]) -> None:
    t, i = UOp.range(2, (0, 0), AxisType.THREAD), UOp.range(3, (0, 1))
    at = t * 3 + i
    check(sink(out(6).index(at).store(out(6, 1).index(at) + 5).end(t, i)), numbers(6), outputs=(6,))


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_statements_of_fewer_threads_read_nothing_for_the_others(
    check: Callable[..., UOp], steps: int
) -> None:
    """Threads that leave a statement out have no places in what it reads, looked up or not."""
    t, few, i = (
        UOp.range(6, (0, 0), AxisType.THREAD),
        UOp.range(2, (1, 0), AxisType.THREAD),
        UOp.range(max(steps, 1), (1, 1)),
    )
    many = out(6).index(t).store(t.cast(INT)).end(t)
    place = out(2, 2).index(few).cast(dtypes.weakint)
    value = out(4, 3).index(place) + out(2, 2).index(few)
    if steps:
        # what the loop turns out not to move is still read and written inside of it
        own = out(2, 2).index((few * steps + i).alu(Ops.IDIV, UOp.const(dtypes.weakint, steps)))
        less = out(2 * steps, 1).index(few * steps + i).store(value + own).end(few, i)
    else:
        less = out(2, 1).index(few).store(value).end(few)
    check(sink(many, less), [3, 1], numbers(4), outputs=(6, 2 * max(steps, 1)))


@pytest.mark.parametrize("lanes", [False, True])
def test_padded_output_and_gated_load(check: Callable[..., UOp], lanes: bool) -> None:
    i, u = UOp.range(3, 0), UOp.range(4, 1, AxisType.UPCAST, lanes=lanes)
    at = i * 4 + u
    inside = at < 10
    shifted = (at - 2).valid((at < 2).logical_not())
    kernel = sink(
        out(10).index(at.valid(inside)).store(out(10, 1).index(shifted.valid(inside))).end(i, u)
    )
    check(kernel, numbers(10), outputs=(10,))


def test_staged_operand(check: Callable[..., UOp]) -> None:
    i, k = UOp.range(4, 0), UOp.range(3, 2, AxisType.REDUCE)
    b, c = UOp.range(2, 1, AxisType.REDUCE), UOp.range(3, 3)
    local = UOp.define_local(0, INT, 3)
    copy = local.index(c).store(out(6, 2).index(b * 3 + c)).end(c)
    right = local.after(copy).index(k)
    left = out(24, 1).index(i * 6 + b * 3 + k)
    kernel = sink(out(4).index(i).store((left * right).reduce(b, k)).end(i))
    check(kernel, numbers(24), numbers(6), outputs=(4,))


@pytest.mark.parametrize("upcast", [False, True])
def test_group_reduce(check: Callable[..., UOp], upcast: bool) -> None:
    """A group adds up a row together, over a LOCAL axis and inside a LOOP beside it."""
    g = UOp.range(2, (0, 0), AxisType.GLOBAL)
    item = UOp.range(2, (0, 1), AxisType.LOCAL)
    i = UOp.range(2, (0, 2), AxisType.UPCAST if upcast else AxisType.LOOP)
    part = UOp.range(4, (1, 0), AxisType.GROUP_REDUCE)
    k = UOp.range(3, (1, 1), AxisType.REDUCE)
    row = (g * 2 + item) * 2 + i
    total = out(96, 1).index(row * 12 + part * 3 + k).reduce(part, k)
    kernel = sink(out(8).index(row).store(total * 2).end(g, item, i))
    expanded = check(kernel, numbers(96), outputs=(8,), caps=GPU)
    barriers = [n for n in expanded.toposort() if n.op is Ops.BARRIER]
    assert len(barriers) == (1 if upcast else 2)


def test_group_reduces_side_by_side(check: Callable[..., UOp]) -> None:
    part = UOp.range(4, (1, 0), AxisType.GROUP_REDUCE)
    x = out(4, 1).index(part)
    both = x.reduce(part) + x.reduce(part, arg=Ops.MAX)
    check(
        sink(out(1).index(UOp.const(dtypes.weakint, 0)).store(both)),
        numbers(4),
        outputs=(1,),
        caps=GPU,
    )


def test_five_grid_axes_share_three_dimensions(check: Callable[..., UOp]) -> None:
    axes = [UOp.range(2 + n % 2, n, AxisType.GLOBAL) for n in range(5)]
    position = axes[0]
    for axis in axes[1:]:
        position = position * axis.range_size.const_value + axis
    size = 2 * 3 * 2 * 3 * 2
    kernel = sink(out(size).index(position).store(out(size, 1).index(position) + 1).end(*axes))
    expanded = check(kernel, numbers(size), outputs=(size,), caps=GPU)
    names = {n.arg.name for n in expanded.toposort() if n.op is Ops.SPECIAL}
    assert names == {"gidx0", "gidx1", "gidx2"}


def test_axis_above_a_limit_is_split(check: Callable[..., UOp]) -> None:
    small = Capabilities(
        ops=GPU.ops, dtypes=GPU.dtypes, has_local=True, global_max=(4, 4, 4), local_max=(4, 4, 4)
    )
    i = UOp.range(12, 0, AxisType.GLOBAL)
    kernel = sink(out(12).index(i).store(out(12, 1).index(i) + 1).end(i))
    check(kernel, numbers(12), outputs=(12,), caps=small)
