"""Random kernels mean the same before and after every pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tg_codegen.linearize.order import ordered
from tg_codegen.pipeline import canonicalization, lowering
from tg_codegen.target.caps import Capabilities
from tg_codegen.target.registry import INTERPRETER
from tg_uop import AxisType, KernelInfo, Ops, UOp, dtypes
from tg_uop.spec.node import Form
from tg_uop.spec.verify import is_legal
from tg_uop.text.dump import dump

Run = Callable[..., dict[int, list[int]]]
INT = dtypes.int32
INPUT_SIZE = 60
INPUTS = (2, 3)

NO_MASKS = Capabilities(
    ops=INTERPRETER.ops, dtypes=INTERPRETER.dtypes, vector_bits=128, vector_any_width=True
)
NO_VECTORS = Capabilities(ops=INTERPRETER.ops, dtypes=INTERPRETER.dtypes)
GROUPS = Capabilities(
    ops=INTERPRETER.ops,
    dtypes=INTERPRETER.dtypes,
    has_local=True,
    has_shared=True,
    global_max=(64, 64, 64),
    local_max=(64, 64, 64),
)

OUTPUT_ROLES = (AxisType.LOOP, AxisType.UPCAST, AxisType.UPCAST, AxisType.THREAD)
GRID_ROLES = (AxisType.LOOP, AxisType.UPCAST, AxisType.GLOBAL, AxisType.LOCAL)
REDUCE_ROLES = (AxisType.REDUCE, AxisType.REDUCE, AxisType.UNROLL)
GROUP_ROLES = (*REDUCE_ROLES, AxisType.GROUP_REDUCE)


@dataclass(frozen=True)
class Case:
    """A kernel with two outputs, and what is in its inputs."""

    kernel: UOp
    memory: dict[int, list[int]]

    def __repr__(self) -> str:
        return f"Case of\n{dump(self.kernel)}"


@st.composite
def cases(
    draw: st.DrawFn,
    output_roles: Sequence[AxisType] = OUTPUT_ROLES,
    reduce_roles: Sequence[AxisType] = REDUCE_ROLES,
    lanes: bool = True,
) -> Case:
    axes = draw_axes(draw, output_roles, 0, draw(st.integers(1, 3)))
    reduces = draw_axes(draw, reduce_roles, 10, draw(st.integers(0, 3)))
    if lanes:
        axes, reduces = with_lanes(draw, axes, reduces)
    memory: dict[int, list[int]] = {}
    effects = []
    for slot in range(draw(st.integers(1, 2))):
        # an output may leave inner axes out: its loops are then around those of the other
        own = axes[: draw(st.integers(1, len(axes)))] if slot else axes
        size, position = flat(own)
        value = draw_value(draw, own, reduces, 3)
        if draw(st.booleans()):
            position = position.valid(draw_condition(draw, own))
        effects.append(UOp.param(slot, INT.ptr(size)).index(position).store(value).end(*own))
        memory[slot] = [-7] * size
    for slot in INPUTS:
        seed = draw(st.integers(0, 99))
        memory[slot] = [(seed + 37 * n * n + 11 * n) % 41 - 20 for n in range(INPUT_SIZE)]
    return Case(UOp.sink(*effects, arg=KernelInfo()), memory)


def flat(axes: Sequence[UOp]) -> tuple[int, UOp]:
    """The number of elements of an output over `axes`, and the place of one."""
    size = 1
    position = UOp.const(dtypes.weakint, 0)
    for axis in axes:
        steps = axis.range_size.const_value
        position = position * steps + axis
        size *= steps
    return size, position


def draw_axes(
    draw: st.DrawFn, roles: Sequence[AxisType], first: int, count: int
) -> tuple[UOp, ...]:
    return tuple(
        UOp.range(draw(st.integers(1, 4)), first + n, draw(st.sampled_from(roles)))
        for n in range(count)
    )


def with_lanes(
    draw: st.DrawFn, axes: tuple[UOp, ...], reduces: tuple[UOp, ...]
) -> tuple[tuple[UOp, ...], tuple[UOp, ...]]:
    """One replicated axis, of two steps or more, may become lanes."""
    every = [*axes, *reduces]
    able = [
        n
        for n, axis in enumerate(every)
        if axis.axis_type in (AxisType.UPCAST, AxisType.UNROLL) and axis.vmax > 0
    ]
    if able and draw(st.booleans()):
        chosen = draw(st.sampled_from(able))
        axis = every[chosen]
        every[chosen] = UOp.range(
            axis.range_size.const_value, axis.range_arg.axis_id, axis.axis_type, lanes=True
        )
    return tuple(every[: len(axes)]), tuple(every[len(axes) :])


def draw_value(draw: st.DrawFn, axes: Sequence[UOp], reduces: Sequence[UOp], depth: int) -> UOp:
    kinds = ["load", "load", "const", "binary", "where", "cast"]
    if depth == 0:
        kinds = kinds[:3]
    elif reduces:
        kinds += ["reduce", "reduce"]
    kind = draw(st.sampled_from(kinds))
    if kind == "const":
        return UOp.const(INT, draw(st.integers(-5, 5)))
    if kind == "load":
        return draw_load(draw, axes)
    if kind == "cast":
        return draw_index(draw, axes).cast(INT)
    if kind == "binary":
        op = draw(st.sampled_from((Ops.ADD, Ops.MUL, Ops.SUB, Ops.MAX, Ops.XOR)))
        left = draw_value(draw, axes, reduces, depth - 1)
        return left.alu(op, draw_value(draw, axes, reduces, depth - 1))
    if kind == "where":
        chosen = draw_value(draw, axes, reduces, depth - 1)
        return draw_condition(draw, axes).where(chosen, draw_value(draw, axes, reduces, depth - 1))
    count = draw(st.integers(1, len(reduces)))
    closed, rest = reduces[:count], reduces[count:]
    value = draw_value(draw, (*axes, *closed), rest, depth - 1)
    return value.reduce(*closed, arg=draw(st.sampled_from((Ops.ADD, Ops.MAX, Ops.MUL))))


def draw_index(draw: st.DrawFn, axes: Sequence[UOp]) -> UOp:
    """An index expression that stays within 0 .. INPUT_SIZE - 1."""
    total = UOp.const(dtypes.weakint, draw(st.integers(0, 3)))
    for axis in axes:
        total = total + axis * draw(st.integers(0, 4))
    if draw(st.booleans()):
        divisor = draw(st.integers(2, 5))
        total = total.alu(draw(st.sampled_from((Ops.IDIV, Ops.MOD))), total.const_like(divisor))
        if axes:
            total = total * draw(st.integers(1, 3)) + draw(st.sampled_from(axes))
    return total if total.vmax < INPUT_SIZE else total.alu(Ops.MOD, total.const_like(INPUT_SIZE))


def draw_load(draw: st.DrawFn, axes: Sequence[UOp]) -> UOp:
    index = draw_index(draw, axes)
    if draw(st.booleans()):
        index = index.valid(draw_condition(draw, axes))
    return UOp.param(draw(st.sampled_from(INPUTS)), INT.ptr(INPUT_SIZE)).index(index)


def draw_condition(draw: st.DrawFn, axes: Sequence[UOp]) -> UOp:
    left = draw_index(draw, axes)
    condition = left < draw(st.integers(0, 12))
    if draw(st.booleans()):
        condition = condition.logical_not()
    if draw(st.booleans()):
        condition = condition & (draw_index(draw, axes) < draw(st.integers(0, 12)))
    return condition


@settings(max_examples=120)
@given(case=cases())
@pytest.mark.parametrize(
    "caps", [INTERPRETER, NO_MASKS, NO_VECTORS], ids=["masks", "vectors", "scalar"]
)
def test_lowering(case: Case, caps: Capabilities, read_kernel: Run, run_linear: Run) -> None:
    check_lowering(case, caps, read_kernel, run_linear)


@pytest.mark.parametrize("steps", [1, 3])
def test_fewer_threads_stay_in_their_memory(steps: int, read_kernel: Run, run_linear: Run) -> None:
    """Also where the loop that the others leave out turns out not to move an access."""
    loop = UOp.range(steps, 0)
    first, second = UOp.range(2, 1, AxisType.THREAD), UOp.range(2, 2, AxisType.THREAD)
    row = (first * steps + loop).alu(Ops.IDIV, loop.const_like(steps))
    for_all = UOp.param(0, INT.ptr(4 * steps)).index((loop * 2 + first) * 2 + second)
    for_two = UOp.param(1, INT.ptr(2)).index(row)
    value = UOp.param(2, INT.ptr(2)).index(row)
    kernel = UOp.sink(
        for_all.store(second.cast(INT)).end(loop, first, second),
        for_two.store(value).end(loop, first),
        arg=KernelInfo(),
    )
    memory = {0: [-7] * 4 * steps, 1: [-7, -7], 2: [3, 4]}
    check_lowering(Case(kernel, memory), INTERPRETER, read_kernel, run_linear)


@settings(max_examples=60)
@given(case=cases(GRID_ROLES, GROUP_ROLES))
def test_lowering_for_groups(case: Case, read_kernel: Run, run_linear: Run) -> None:
    check_lowering(case, GROUPS, read_kernel, run_linear)


def check_lowering(case: Case, caps: Capabilities, read_kernel: Run, run_linear: Run) -> None:
    expected = read_kernel(case.kernel, case.memory)
    graph = case.kernel
    for one in lowering(caps):
        graph = one(graph)
        one.after.check(graph)
        if one.after.name == "expanded":
            assert run_linear(ordered(graph), case.memory) == expected, one.name
        elif one.after.name == "linear":
            assert run_linear(graph.src, case.memory) == expected, one.name


@settings(max_examples=150)
@given(case=cases((AxisType.LOOP,), (AxisType.REDUCE,), lanes=False))
def test_canonicalization(case: Case, read_kernel: Run) -> None:
    expected = read_kernel(case.kernel, case.memory)
    graph = case.kernel
    for one in canonicalization():
        graph = one(graph)
        one.after.check(graph)
        assert read_kernel(graph, case.memory) == expected, one.name


@settings(max_examples=60)
@given(case=cases((AxisType.LOOP,), (AxisType.REDUCE,), lanes=False))
def test_canonicalization_settles(case: Case) -> None:
    """What is canonical stays as it is."""
    once = canonicalization().run(case.kernel)
    assert is_legal(once, Form.KERNEL)
    assert canonicalization().run(once) is once


def test_a_part_of_a_loop_that_a_sum_does_not_need_goes() -> None:
    """r // 2 for r < 4 is each of two places twice."""
    steps = UOp.range(4, 0, AxisType.REDUCE)
    term = UOp.param(1, dtypes.int32.ptr(2)).index(steps // 2)
    store = UOp.param(0, dtypes.int32.ptr(1)).index(UOp.const(dtypes.weakint, 0))
    kernel = store.store(term.reduce(steps, arg=Ops.ADD)).sink(arg=KernelInfo())
    once = canonicalization().run(kernel)
    loops = [node for node in once.toposort() if node.op is Ops.RANGE]
    assert [loop.vmax for loop in loops] == [1]
    assert canonicalization().run(once) is once
