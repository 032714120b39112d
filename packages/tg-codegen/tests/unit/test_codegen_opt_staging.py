"""Staging and blocking: what the scratch memory holds, in which order, and that it is right."""

from __future__ import annotations

from collections.abc import Callable

from tg_codegen.optimize.kernel_view import Scheduler
from tg_codegen.target.caps import Capabilities
from tg_uop import AxisType, KernelInfo, Ops, Opt, OptOps, UOp, dtypes

INT = dtypes.int32
Run = Callable[..., dict[int, list[int]]]


class FakeRenderer:
    caps = Capabilities(
        ops=frozenset(Ops),
        dtypes=frozenset((INT,)),
        vector_bits=128,
        has_threads=True,
        max_threads=4,
        stack_bytes=1 << 14,
    )


def buffer(slot: int, size: int) -> UOp:
    return UOp.param(slot, INT.ptr(size))


def matmul(m: int, n: int, k: int) -> UOp:
    i, j, r = UOp.range(m, 0), UOp.range(n, 1), UOp.range(k, 2, AxisType.REDUCE)
    value = (buffer(1, m * k).index(i * k + r) * buffer(2, k * n).index(r * n + j)).reduce(r)
    return buffer(0, m * n).index(i * n + j).store(value).end(i, j).sink(arg=KernelInfo())


def padded_window(size: int, window: int) -> UOp:
    x, k = UOp.range(size, 0), UOp.range(window, 1, AxisType.REDUCE)
    place = x + k - window // 2
    inside = (place < 0).logical_not() & (place < size)
    image = buffer(1, size).index(place.valid(inside))
    value = (image * buffer(2, window).index(k)).reduce(k)
    return buffer(0, size).index(x).store(value).end(x).sink(arg=KernelInfo())


def memory_for(*sizes: int) -> dict[int, list[int]]:
    memory = {slot: [(5 * i + slot) % 17 - 8 for i in range(n)] for slot, n in enumerate(sizes)}
    memory[0] = [-99] * sizes[0]
    return memory


def scratch_sizes(view: Scheduler) -> list[int]:
    found = [n for n in view.ast.toposort() if n.op is Ops.DEFINE_LOCAL]
    return [n.dtype.size for n in found]  # type: ignore[attr-defined]


def test_a_panel_is_staged_inside_of_its_loop(read_kernel: Run) -> None:
    kernel = matmul(4, 16, 6)
    view = Scheduler(kernel, FakeRenderer())
    for opt in (Opt(OptOps.LANES, 1, 4), Opt(OptOps.SWAP, 0, 1), Opt(OptOps.STAGE, 0, (2,))):
        view.apply_opt(opt)
    assert scratch_sizes(view) == [6 * 4]
    memory = memory_for(64, 24, 96)
    assert read_kernel(view.ast, memory) == read_kernel(kernel, memory)


def test_the_lanes_are_the_fastest_axis_of_a_tile() -> None:
    view = Scheduler(matmul(4, 16, 6), FakeRenderer())
    for opt in (Opt(OptOps.LANES, 0, 4), Opt(OptOps.STAGE, None, (1,))):
        view.apply_opt(opt)
    lanes = next(r for r in view.rngs if r.range_arg.lanes)
    load = next(n for n in view.bufs if n.index_buffer.op is Ops.AFTER)
    assert view.access(load).stride(lanes) == 1  # type: ignore[union-attr]


def test_neighbouring_windows_share_their_elements(read_kernel: Run) -> None:
    kernel = padded_window(10, 3)
    view = Scheduler(kernel, FakeRenderer())
    view.apply_opt(Opt(OptOps.STAGE, None, (1,)))
    assert scratch_sizes(view) == [12], "ten outputs, and the padding on both sides"
    load = next(n for n in view.bufs if n.index_buffer.op is Ops.AFTER)
    assert load.index_expr.op is not Ops.WHERE, "the padding is in the tile"
    memory = memory_for(10, 10, 3)
    assert read_kernel(view.ast, memory) == read_kernel(kernel, memory)


def test_blocks_run_outside_of_the_outputs(read_kernel: Run) -> None:
    kernel = matmul(4, 4, 12)
    view = Scheduler(kernel, FakeRenderer())
    view.apply_opt(Opt(OptOps.BLOCK, 0, (3, 0, 1)))
    assert sorted(scratch_sizes(view)) == [4 * 4, 4 * 4]
    memory = memory_for(16, 48, 48)
    assert read_kernel(view.ast, memory) == read_kernel(kernel, memory)


def test_blocks_can_stay_inside_of_the_first_loops(read_kernel: Run) -> None:
    kernel = matmul(4, 4, 12)
    view = Scheduler(kernel, FakeRenderer())
    view.apply_opt(Opt(OptOps.BLOCK, 0, (3, 1, 2)))
    assert sorted(scratch_sizes(view)) == [4, 4 * 4], "the sums of one row, and a block of columns"
    memory = memory_for(16, 48, 48)
    assert read_kernel(view.ast, memory) == read_kernel(kernel, memory)


def test_two_operands_have_scratch_memory_of_their_own(read_kernel: Run) -> None:
    kernel = matmul(4, 8, 6)
    view = Scheduler(kernel, FakeRenderer())
    view.apply_opt(Opt(OptOps.STAGE, None, (1,)))
    view.apply_opt(Opt(OptOps.STAGE, None, (2,)))
    slots = {n.arg for n in view.ast.toposort() if n.op is Ops.DEFINE_LOCAL}
    assert slots == {0, 1}
    memory = memory_for(32, 24, 48)
    assert read_kernel(view.ast, memory) == read_kernel(kernel, memory)
