"""Explicit accesses read and write what implicit ones mean, however the lanes lie in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tg_codegen.legalize.passes import lower_memory
from tg_codegen.legalize.scalarize import part_sizes, split_vectors
from tg_codegen.linearize.linear import linearize
from tg_codegen.target.caps import Capabilities
from tg_codegen.target.registry import INTERPRETER
from tg_uop import AxisType, DType, Invalid, KernelInfo, Ops, UOp, dtypes
from tg_uop.eval.graph import evaluate
from tg_uop.spec.node import Form
from tg_uop.spec.verify import verify

SIZE = 64
Memory = dict[int, list[int]]


def capabilities(*, masks: bool, lanes: int) -> Capabilities:
    return replace(
        INTERPRETER, masked_memory=masks, vector_any_width=lanes == 0, max_lanes=lanes or 1
    )


TARGETS = {
    "masks": capabilities(masks=True, lanes=0),
    "no masks": capabilities(masks=False, lanes=0),
    "four lanes": capabilities(masks=False, lanes=4),
    "scalar": capabilities(masks=False, lanes=1),
}


def iota(count: int) -> UOp:
    return UOp.const(dtypes.weakint.vec(count), tuple(range(count)))


@st.composite
def index_vectors(draw: st.DrawFn, loop: UOp) -> tuple[UOp, int]:
    """An index with some lanes, in any of the ways that lanes can lie; it may leave the buffer."""
    count = draw(st.sampled_from([2, 3, 4, 8]))
    base = (loop * draw(st.integers(0, 5)) + draw(st.integers(0, 9))).broadcast(count)
    lanes = iota(count)
    kind = draw(st.sampled_from(["step", "uniform", "any", "divided", "rest", "gathered"]))
    if kind == "step":
        return base + lanes * UOp.const(lanes.dtype, draw(st.integers(-3, 3))) + base, count
    if kind == "uniform":
        return base, count
    if kind == "any":
        picked = draw(st.lists(st.integers(0, 12), min_size=count, max_size=count))
        return base + UOp.const(lanes.dtype, tuple(picked)), count
    divisor = UOp.const(lanes.dtype, draw(st.integers(1, 4)))
    if kind == "divided":
        return (base + lanes).alu(Ops.IDIV, divisor), count
    if kind == "rest":
        return (base + lanes).alu(Ops.MOD, divisor) + base, count
    table = UOp.param(2, dtypes.int.ptr(SIZE))
    return table.index(lanes).cast(dtypes.weakint) + base, count


@st.composite
def gates(draw: st.DrawFn, index: UOp, loop: UOp) -> UOp:
    """The index, valid in the buffer, and perhaps only under a further condition."""
    limit = UOp.const(index.dtype, SIZE)
    zero = UOp.const(index.dtype, 0)
    valid = (index < limit) & (index < zero).ne(True)
    if draw(st.booleans()):
        further = (loop < draw(st.integers(0, 4))).broadcast(index.dtype.count)
        valid = valid & further
    return index.valid(valid)


@st.composite
def kernels(draw: st.DrawFn) -> UOp:
    """Copy some lanes from one buffer to neighbouring or scattered elements of another."""
    loop = UOp.range(4, 0, AxisType.LOOP)
    index, count = draw(index_vectors(loop))
    source = UOp.param(1, dtypes.int.ptr(SIZE)).index(draw(gates(index, loop)))
    start = (loop * 8).broadcast(count)
    step = UOp.const(start.dtype, draw(st.sampled_from([1, 1, 2, -1])))
    target = start + iota(count) * step + UOp.const(start.dtype, 8 if step.arg == -1 else 0)
    place = draw(gates(target, loop))
    value = source + UOp.const(source.dtype, 1)
    return (
        UOp.param(0, dtypes.int.ptr(SIZE))
        .index(place)
        .store(value)
        .end(loop)
        .sink(arg=KernelInfo())
    )


def expected(kernel: UOp, memory: Memory) -> Memory:
    """Lane by lane, by the evaluator."""
    after = {slot: list(cells) for slot, cells in memory.items()}
    end = kernel.src[0]
    store = end.ended_effect
    for step in range(4):
        known: dict[UOp, object] = {end.ended_ranges[0]: step}
        for node in kernel.toposort():
            if node.op is Ops.INDEX and node is not store.stored_target:
                slot = node.index_buffer.arg.slot  # type: ignore[attr-defined]
                places = evaluate(node.index_expr, {}, known)  # type: ignore[arg-type]
                assert isinstance(places, tuple)
                known[node] = tuple(0 if p is Invalid else after[slot][p] for p in places)
        places = evaluate(store.stored_target.index_expr, {}, known)  # type: ignore[arg-type]
        values = evaluate(store.stored_value, {}, known)  # type: ignore[arg-type]
        assert isinstance(places, tuple)
        assert isinstance(values, tuple)
        for place, value in zip(places, values, strict=True):
            if place is not Invalid:
                after[0][place] = value  # type: ignore[index, call-overload]
    return after


def sample_memory() -> Memory:
    return {
        0: [0] * SIZE,
        1: [(17 * i) % 101 for i in range(SIZE)],
        2: [(5 * i + 3) % 23 for i in range(SIZE)],
    }


@pytest.mark.parametrize("target", list(TARGETS))
@given(kernel=kernels())
@settings(max_examples=120)
def test_lowered_accesses(
    target: str, kernel: UOp, run_linear: Callable[[tuple[UOp, ...], Memory], Memory]
) -> None:
    verify(kernel, Form.EXPANDED)
    caps = TARGETS[target]
    lowered = split_vectors(lower_memory(kernel, caps), caps)
    verify(lowered, Form.LOWERED)
    linear = linearize(lowered)
    verify(linear, Form.LINEAR)
    assert run_linear(linear.src, sample_memory()) == expected(kernel, sample_memory())
    widest = max(n.dtype.count for n in lowered.toposort())
    assert caps.vector_any_width or widest <= caps.max_lanes


GATHERING = replace(TARGETS["masks"], gather_bytes=frozenset((4, 8)))


def run_lowered(kernel: UOp, memory: Memory) -> Memory:
    """A lowered kernel of one loop around one STORE, by the evaluator."""
    after = {slot: list(cells) for slot, cells in memory.items()}
    order = kernel.toposort()
    loop = next(n for n in order if n.op is Ops.RANGE)

    def places(index: UOp, count: int, known: dict[UOp, object]) -> list[int | None]:
        """The elements of an access lane by lane, None where the gate is closed."""
        at = evaluate(index.index_expr, {}, known)  # type: ignore[arg-type]
        gate = index.index_gate
        opened = True if gate is None else evaluate(gate, {}, known)  # type: ignore[arg-type]
        lanes = at if isinstance(at, tuple) else [at + i for i in range(count)]  # type: ignore[operator]
        gates = opened if isinstance(opened, tuple) else [opened] * count
        return [a if g else None for a, g in zip(lanes, gates, strict=True)]  # type: ignore[misc]

    for step in range(4):
        known: dict[UOp, object] = {loop: step}
        for node in order:
            if node.op is Ops.LOAD:
                count = node.dtype.count
                cells = after[node.load_index.index_buffer.arg.slot]  # type: ignore[attr-defined]
                found = [
                    0 if p is None else cells[p] for p in places(node.load_index, count, known)
                ]
                known[node] = tuple(found) if count > 1 else found[0]
            if node.op is Ops.STORE:
                value = evaluate(node.stored_value, {}, known)  # type: ignore[arg-type]
                values = value if isinstance(value, tuple) else (value,)
                for p, v in zip(
                    places(node.stored_target, len(values), known), values, strict=True
                ):
                    if p is not None:
                        after[0][p] = v  # type: ignore[call-overload]
    return after


@given(kernel=kernels())
@settings(max_examples=200)
def test_gathered_accesses(kernel: UOp) -> None:
    lowered = lower_memory(kernel, GATHERING)
    verify(lowered, Form.LOWERED)
    assert run_lowered(lowered, sample_memory()) == expected(kernel, sample_memory())


def test_scattered_lanes_are_one_access_where_the_target_can() -> None:
    table = UOp.param(2, dtypes.int.ptr(SIZE)).index(iota(8)).cast(dtypes.weakint)
    source = UOp.param(1, dtypes.float.ptr(SIZE)).index(table)
    found = lower_memory(source, GATHERING)
    assert found.op is Ops.LOAD
    assert found.load_index.index_expr.dtype is dtypes.int.vec(8)
    assert lower_memory(source, TARGETS["masks"]).op is Ops.STACK


@given(st.integers(1, 200), st.sampled_from([1, 2, 4, 16, 64]))
def test_parts_are_powers_of_two(count: int, most: int) -> None:
    sizes = part_sizes(count, most)
    assert sum(sizes) == count
    assert all(size & (size - 1) == 0 and size <= most for size in sizes)
    assert list(sizes) == sorted(sizes, reverse=True)


def lowered_load(index: UOp, dtype: DType = dtypes.float) -> UOp:
    """What a read at `index` becomes, with masks."""
    source = UOp.param(1, dtype.ptr(SIZE)).index(index)
    return lower_memory(source, TARGETS["masks"])


def test_neighbours_are_one_load() -> None:
    found = lowered_load(iota(8) + UOp.const(dtypes.weakint.vec(8), 3))
    assert found.op is Ops.LOAD
    assert found.dtype is dtypes.float.vec(8)
    assert found.load_index.index_expr is UOp.const(dtypes.int, 3)


def test_one_element_is_read_once() -> None:
    found = lowered_load(UOp.const(dtypes.weakint.vec(8), 3))
    assert found.op is Ops.STACK
    assert len([n for n in found.toposort() if n.op is Ops.LOAD]) == 1


def test_reversed_lanes_are_a_wide_load_turned_around() -> None:
    found = lowered_load(UOp.const(dtypes.weakint.vec(4), (7, 6, 5, 4)))
    assert found.op is Ops.GEP
    assert found.arg == (3, 2, 1, 0)
    assert found.src[0].op is Ops.LOAD


def test_stack_of_neighbours_is_one_load() -> None:
    memory = UOp.param(1, dtypes.float.ptr(SIZE))
    loop = UOp.range(4, 0)
    lanes = UOp.stack(*(memory.index(loop * 4 + i) for i in range(4)))
    found = lower_memory(lanes, TARGETS["masks"])
    assert found.op is Ops.LOAD
    assert found.dtype.count == 4


def test_padding_with_a_number_is_the_alternative_of_the_load() -> None:
    loop = UOp.range(SIZE + 4, 0)
    inside = loop < SIZE
    padded = inside.where(UOp.param(1, dtypes.float.ptr(SIZE)).index(loop.valid(inside)), -1.0)
    found = lower_memory(padded, TARGETS["masks"])
    assert found.op is Ops.LOAD
    assert found.load_alt is UOp.const(dtypes.float, -1.0)


def test_closed_gate_reads_nothing() -> None:
    index = UOp.const(dtypes.weakint, 3).valid(UOp.const(dtypes.bool, False))
    assert lowered_load(index) is UOp.const(dtypes.float, 0.0)


def test_proven_gate_is_dropped() -> None:
    loop = UOp.range(8, 0)
    found = lowered_load(loop.valid(loop < 8))
    assert found.load_index.index_gate is None


def test_index_that_needs_it_has_64_bits() -> None:
    loop = UOp.range(1 << 20, 0)
    wide = UOp.param(1, dtypes.float.ptr(1 << 40)).index(loop * (1 << 20))
    found = lower_memory(wide, TARGETS["masks"])
    assert found.load_index.index_expr.dtype is dtypes.long
    assert [n.dtype for n in found.toposort() if n.op is Ops.RANGE] == [dtypes.int]
