"""Cumulative reductions: how they are found, and that they cost one step an element."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tg_codegen import to_program
from tg_codegen.errors import KernelOptError
from tg_codegen.optimize.choose import heuristic
from tg_codegen.optimize.kernel_view import Scheduler
from tg_codegen.options import Options
from tg_codegen.pipeline import canonical
from tg_codegen.render.registry import renderer_for
from tg_codegen.running import running_loop
from tg_uop import AxisType, KernelInfo, Ops, Opt, OptOps, Target, UOp, dtypes

INT = dtypes.int32
RENDERER = renderer_for(Target.parse("CPU:LLVM:x86_64,x86-64-v3"))


def window(
    rows: int, count: int, *, op: Ops = Ops.ADD, length: int | None = None, factor: int = 1
) -> UOp:
    """Each element of a row combined with all (`length`) before it."""
    length = count if length is None else length
    b, i = UOp.range(rows, 0), UOp.range(count, 1)
    r = UOp.range(length, 2, AxisType.REDUCE)
    place = b * count + i + r * factor - (length - 1)
    inside = (i + r < length - 1).ne(True)
    x = UOp.param(1, INT.ptr(rows * count)).index(place.valid(inside))
    value = x if op is Ops.ADD else inside.where(x, UOp.const(INT, int(INT.min)))
    total = value.reduce(r, arg=op)
    out = UOp.param(0, INT.ptr(rows * count))
    return out.index(b * count + i).store(total * 2).end(b, i).sink(arg=KernelInfo())


def reduction(kernel: UOp) -> UOp:
    (found,) = (n for n in canonical(kernel).toposort() if n.op is Ops.REDUCE)
    return found


@pytest.mark.parametrize("op", [Ops.ADD, Ops.MAX])
def test_windows_that_end_at_each_element_run(op: Ops) -> None:
    loop = running_loop(reduction(window(4, 9, op=op)))
    assert loop is not None
    assert loop.size == 9


@pytest.mark.parametrize(
    "kernel", [window(4, 9, length=5), window(4, 9, factor=2), window(4, 9, factor=0)]
)
def test_other_windows_do_not(kernel: UOp) -> None:
    assert running_loop(reduction(kernel)) is None


@pytest.mark.parametrize("op", [Ops.ADD, Ops.MAX])
@pytest.mark.parametrize(("rows", "count"), [(1, 7), (8, 33), (3, 100)])
def test_each_element_takes_one_step(
    rows: int, count: int, op: Ops, run_linear: Callable[..., dict[int, list[int]]]
) -> None:
    program = to_program(window(rows, count, op=op), RENDERER, Options(cores=1))
    info = program.arg
    assert Opt(OptOps.SCAN) in [Opt(opt.op) for opt in program.src[0].arg.applied_opts]
    # one step and the doubling
    assert info.estimates.ops == 2 * rows * count
    data = [(7 * n) % 23 - 11 for n in range(rows * count)]
    memory = run_linear(program.src[2].src, {0: [0] * (rows * count), 1: list(data)})
    expected = []
    for row in range(rows):
        part = data[row * count : (row + 1) * count]
        for n in range(count):
            before = part[: n + 1]
            expected.append(2 * (sum(before) if op is Ops.ADD else max(before)))
    assert memory[0] == expected


@pytest.mark.parametrize(("count", "side_by_side"), [(1024, 2), (512, 4), (1040, 8)])
def test_rows_that_fall_into_one_set_of_the_cache_are_few(count: int, side_by_side: int) -> None:
    """Of rows 4 KiB apart no more are scanned at once than the first cache holds lines of."""
    view = heuristic(Scheduler(canonical(window(16, count)), RENDERER), Options(cores=1))
    assert view.applied_opts[0] == Opt(OptOps.UPCAST, 0, side_by_side)


def test_nothing_follows_a_scan() -> None:
    view = Scheduler(canonical(window(4, 9)), RENDERER)
    view.apply_opt(Opt(OptOps.SCAN, 1))
    with pytest.raises(KernelOptError, match="let SCAN be the last Opt"):
        view.apply_opt(Opt(OptOps.UPCAST, 0, 2))


def test_a_scan_along_another_axis_is_refused() -> None:
    view = Scheduler(canonical(window(4, 9)), RENDERER)
    with pytest.raises(KernelOptError, match="no reduction runs along this axis"):
        view.apply_opt(Opt(OptOps.SCAN, 0))
