"""A reduction under a condition on another reduction keeps one loop for each."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tg_codegen import to_program
from tg_codegen.options import Options
from tg_codegen.render.registry import renderer_for
from tg_uop import AxisType, KernelInfo, Ops, Target, UOp, dtypes

INT = dtypes.int32
RENDERER = renderer_for(Target.parse("CPU:LLVM:x86_64,x86-64-v4"))


def last_match(rows: int, count: int) -> UOp:
    """out[i] = the sum of x at the last place where it is i, found by its position."""
    i = UOp.range(rows, 0)
    first, second = (UOp.range(count, n, AxisType.REDUCE) for n in (1, 2))
    x = UOp.param(1, INT.ptr(count))

    def place(k: UOp) -> UOp:
        return k.cast(INT) + 1

    matches = x.index(first).eq(i.cast(INT))
    last = matches.where(place(first), UOp.const(INT, 0)).reduce(first, arg=Ops.MAX)
    chosen = last.eq(place(second)).where(x.index(second) * 10, UOp.const(INT, 0))
    total = chosen.reduce(second, arg=Ops.ADD)
    out = UOp.param(0, INT.ptr(rows))
    return out.index(i).store(total + last).end(i).sink(arg=KernelInfo())


@pytest.mark.parametrize(("rows", "count"), [(216, 27), (100, 33), (9, 50), (16, 16)])
def test_both_reductions_run_once(
    rows: int, count: int, run_linear: Callable[..., dict[int, list[int]]]
) -> None:
    program = to_program(last_match(rows, count), RENDERER, Options(cores=1))
    data = [(7 * n) % rows for n in range(count)]
    memory = run_linear(program.src[2].src, {0: [0] * rows, 1: list(data)})
    places = {value: n + 1 for n, value in enumerate(data)}
    assert memory[0] == [10 * i + places[i] if i in places else 0 for i in range(rows)]
