"""Statements that share no loops: each is optimized by itself, and threads divide them up."""

from __future__ import annotations

import pytest
from tg_codegen.expand.threads import number_threads
from tg_codegen.optimize.choose import heuristic
from tg_codegen.optimize.kernel_view import Scheduler
from tg_codegen.optimize.strategies.separate import separate_statements
from tg_codegen.options import Options
from tg_codegen.target.caps import Capabilities
from tg_uop import AxisType, KernelInfo, Ops, UOp, dtypes
from tg_uop.spec.node import Form
from tg_uop.spec.verify import verify

FLOAT = dtypes.float32
TWO = Options(cores=2)


class FakeRenderer:
    def __init__(self, **facts: object) -> None:
        known = {"ops": frozenset(Ops), "dtypes": frozenset((FLOAT,))}
        self.caps = Capabilities(**{**known, **facts})  # type: ignore[arg-type]


WIDE = FakeRenderer(
    vector_bits=512,
    vector_registers=32,
    masked_memory=True,
    has_threads=True,
    max_threads=1024,
    stack_bytes=1 << 18,
)


def buffer(slot: int, size: int) -> UOp:
    return UOp.param(slot, FLOAT.ptr(size))


def statement(number: int, size: int) -> UOp:
    """p = p + q, with loops and memory of its own."""
    loop = UOp.range(size, number)
    place = buffer(2 * number, size).index(loop)
    return place.store(place + buffer(2 * number + 1, size).index(loop)).end(loop)


def kernel(*sizes: int) -> UOp:
    return UOp.sink(*(statement(i, size) for i, size in enumerate(sizes)), arg=KernelInfo())


def types_of(end: UOp) -> set[AxisType]:
    return {r.axis_type for r in end.toposort() if r.op is Ops.RANGE}


def test_each_statement_gets_lanes() -> None:
    view = heuristic(Scheduler(kernel(1024, 37, 64), WIDE), Options())
    assert len(view.ast.src) == 3
    for end in view.ast.src:
        assert any(r.range_arg.lanes for r in end.toposort() if r.op is Ops.RANGE)
    verify(view.get_optimized_ast(), Form.KERNEL)


def test_large_statements_are_split_over_threads_and_small_ones_dealt_out() -> None:
    view = heuristic(Scheduler(kernel(1 << 20, 4096, 4096), WIDE), TWO)
    assert [AxisType.THREAD in types_of(end) for end in view.ast.src] == [True, False, False]
    placed = number_threads(view.get_optimized_ast())
    verify(placed, Form.KERNEL)
    cores = []
    for end in placed.src[1:]:
        sizes = [r.range_size for r in end.toposort() if r.op is Ops.RANGE]
        conditions = [size.src[0] for size in sizes if size.op is Ops.WHERE]
        cores.append([condition.src[-1].const_value for condition in conditions])
    assert cores == [[0], [1]]


def test_many_small_statements_are_split_together() -> None:
    view = heuristic(Scheduler(kernel(*[8192] * 6), WIDE), TWO)
    assert all(AxisType.THREAD in types_of(end) for end in view.ast.src)


def test_a_statement_without_loops_is_gated() -> None:
    one = buffer(8, 1).index(0)
    scalar = one.store(one * 2.0).end()
    large = statement(0, 1 << 20)
    view = heuristic(Scheduler(UOp.sink(large, scalar, arg=KernelInfo()), WIDE), TWO)
    placed = number_threads(view.get_optimized_ast())
    stores = [node for node in placed.src[1].toposort() if node.op is Ops.STORE]
    assert [store.stored_target.index_expr.op for store in stores] == [Ops.WHERE]


@pytest.mark.parametrize("shared", ["loops", "written", "read"])
def test_statements_that_share_loops_or_memory_stay_together(shared: str) -> None:
    first = statement(0, 64)
    loop = UOp.range(64, 0 if shared == "loops" else 1)
    target = buffer(0 if shared == "written" else 2, 64).index(loop)
    source = buffer(0 if shared == "read" else 3, 64).index(loop)
    second = target.store(source * 2.0).end(loop)
    assert separate_statements(UOp.sink(first, second)) == ()
    assert len(separate_statements(kernel(64, 64))) == 2


def test_statements_that_share_a_loop_do_not_share_its_condition() -> None:
    threads = UOp.range(2, 9, AxisType.THREAD)
    shared = UOp.range(64, 0)
    split = buffer(0, 2).index(threads).store(buffer(1, 2).index(threads)).end(threads)
    others = [
        buffer(n, 64).index(shared).store(buffer(n + 1, 64).index(shared)).end(shared)
        for n in (2, 4)
    ]
    placed = number_threads(UOp.sink(split, *others, arg=KernelInfo()))
    loops = [n for n in placed.toposort() if n.op is Ops.RANGE]
    assert len(loops) == 2
    assert len({loop.range_arg.axis_id for loop in loops}) == 2
    for end in placed.src[1:]:
        assert len([n for n in end.toposort() if n.op is Ops.RANGE]) == 1
