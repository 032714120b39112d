"""Accesses are proved to stay inside, or an error says where they leave."""

from __future__ import annotations

import pytest
from tg_codegen.analyze import bounds, solver
from tg_codegen.analyze.bounds import Verdict, judge
from tg_codegen.errors import OutOfBoundsError
from tg_codegen.options import Options
from tg_codegen.pipeline import to_source
from tg_codegen.render.registry import renderer_for
from tg_uop import KernelInfo, UOp, dtypes
from tg_uop.target import Target

CHECKED = Options(check_bounds=True)


def copy_kernel(size: int, count: int, shift: int) -> UOp:
    """out[i] = x[i + shift] for `count` elements of memory of `size`."""
    i = UOp.range(count, 0)
    out, x = (UOp.param(slot, dtypes.float.ptr(size)) for slot in range(2))
    return out.index(i).store(x.index(i + shift)).end(i).sink(arg=KernelInfo(name="copy"))


def write(kernel: UOp, options: Options = CHECKED) -> UOp:
    return to_source(kernel, renderer_for(Target("PYTHON")), options)


def test_a_kernel_that_stays_inside_is_generated() -> None:
    write(copy_kernel(10, 7, 3))


@pytest.mark.parametrize("shift", [4, -1])
def test_an_access_outside_is_refused(shift: int) -> None:
    with pytest.raises(OutOfBoundsError) as caught:
        write(copy_kernel(10, 7, shift))
    error = caught.value
    assert (error.kernel, error.size) == ("copy", 10)
    assert error.example.startswith("10 at" if shift > 0 else "-1 at")
    assert "valid(condition)" in str(error)


def test_nothing_is_refused_unless_asked() -> None:
    write(copy_kernel(10, 7, 4), Options())


def test_a_gate_keeps_an_access_inside() -> None:
    i = UOp.range(12, 0)
    inside = (i + (-2)).valid((i >= 2) & (i < 7))
    assert judge(inside, 5)[0] is Verdict.INSIDE
    assert judge(inside, 4)[0] is Verdict.OUTSIDE


def test_loops_that_end_at_a_variable() -> None:
    n = UOp.variable("n", 1, 8)
    i = UOp.range(n, 0)
    last = n - 1 - i
    assert judge(last, 8)[0] is Verdict.INSIDE
    assert judge(last, 7)[0] is Verdict.OUTSIDE


def big_index() -> UOp:
    """0 ... 999,999, in a way that bounds do not show."""
    i, j = UOp.range(1000, 0), UOp.range(1000, 1)
    return (i * 1000 + j) // 7 * 7 + (i * 1000 + j) % 7


def test_many_values_are_left_to_the_solver() -> None:
    pytest.importorskip("z3")
    i, j = UOp.range(1000, 0), UOp.range(1000, 1)
    skewed = (i + j).valid(i + j * 2 < 1001)
    assert judge(skewed, 1001)[0] is Verdict.INSIDE
    assert judge(big_index(), 1_000_000)[0] is Verdict.INSIDE
    verdict, example = judge(big_index(), 999_999)
    assert verdict is Verdict.OUTSIDE
    assert example.startswith("999999 at")


def test_data_is_any_number_of_its_dtype() -> None:
    pytest.importorskip("z3")
    i = UOp.range(4, 0)
    chosen = UOp.param(1, dtypes.int.ptr(4)).index(i).cast(dtypes.weakint)
    assert judge(chosen, 100)[0] is Verdict.OUTSIDE
    assert judge(chosen.valid((chosen >= 0) & (chosen < 100)), 100)[0] is Verdict.INSIDE
    shifted = (chosen + 5).valid((chosen >= 0) & (chosen < 100))
    assert judge(shifted, 100)[0] is Verdict.OUTSIDE


def test_without_a_solver_it_is_said_that_nobody_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "_z3", lambda: None)
    i = UOp.range(4, 0)
    chosen = UOp.param(1, dtypes.int.ptr(4)).index(i).cast(dtypes.weakint)
    assert judge(chosen, 100)[0] is Verdict.UNKNOWN
    out = UOp.param(0, dtypes.float.ptr(100))
    kernel = out.index(chosen).store(UOp.const(dtypes.float, 1.0)).end(i).sink(arg=KernelInfo())
    assert len(bounds.check_accesses(kernel)) == 1
