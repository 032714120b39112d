"""The beam search: its order, its budget, its memory."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import inf

import pytest
from tg_codegen.errors import KernelOptError, SearchError
from tg_codegen.optimize.choose import heuristic
from tg_codegen.optimize.kernel_view import Scheduler
from tg_codegen.optimize.search import beam_search
from tg_codegen.options import Options
from tg_codegen.target.caps import Capabilities
from tg_uop import AxisType, KernelInfo, Ops, Opt, OptOps, UOp, dtypes


class FakeRenderer:
    caps = Capabilities(
        ops=frozenset(Ops),
        dtypes=frozenset((dtypes.float32,)),
        vector_bits=128,
        vector_registers=16,
        has_threads=True,
        max_threads=4,
        stack_bytes=1 << 16,
    )


def row_sums() -> UOp:
    i, k = UOp.range(16, 0), UOp.range(12, 1, AxisType.REDUCE)
    rows = UOp.param(1, dtypes.float32.ptr(192))
    value = rows.index(k * 16 + i).reduce(k)
    out = UOp.param(0, dtypes.float32.ptr(16))
    return out.index(i).store(value).end(i).sink(arg=KernelInfo())


def opts_of(kernel: UOp) -> tuple[Opt, ...]:
    assert isinstance(kernel.arg, KernelInfo)
    assert kernel.arg.opts_to_apply is not None
    return kernel.arg.opts_to_apply


def likes(*wanted: Opt) -> Callable[[UOp], float]:
    """A clock by which a kernel is faster the more of the wanted Opts it begins with."""

    def measure(kernel: UOp) -> float:
        matching = 0
        for mine, its in zip(wanted, opts_of(kernel), strict=False):
            if mine != its:
                break
            matching += 1
        return 10.0 - matching + 0.1 * len(opts_of(kernel))

    return measure


WANTED = (Opt(OptOps.UPCAST, 0, 4), Opt(OptOps.UNROLL, 0, 3), Opt(OptOps.THREAD, 0, 2))


def search(measure: Callable[[UOp], float], **others: object) -> object:
    given = {"width": 2, "options": Options(cores=4), **others}
    return beam_search(row_sums(), FakeRenderer(), measure, **given)  # type: ignore[arg-type]


def test_it_finds_a_list_step_by_step() -> None:
    result = search(likes(*WANTED))
    assert result.opts == WANTED
    assert opts_of(result.kernel) == WANTED
    assert result.complete


def test_it_is_never_slower_than_the_heuristic() -> None:
    chosen = tuple(heuristic(Scheduler(row_sums(), FakeRenderer()), Options(cores=4)).applied_opts)
    assert chosen, "the case needs a kernel for which the heuristic does something"

    def measure(kernel: UOp) -> float:
        return 1.0 if opts_of(kernel) == chosen else 2.0

    assert search(measure).opts == chosen


def test_a_budget_ends_it_with_the_best_so_far() -> None:
    left = iter([True, True, True, False])
    known: dict[str, tuple[Opt, ...]] = {}
    result = search(likes(*WANTED), keep_going=lambda: next(left, False), known=known)
    assert result.measured == 3
    assert not result.complete
    assert known == {}


def test_results_are_remembered() -> None:
    known: dict[str, tuple[Opt, ...]] = {}
    first = search(likes(*WANTED), known=known)
    second = search(lambda kernel: pytest.fail("measured again"), known=known)
    assert second.opts == first.opts
    assert second.measured == 0


def test_no_kernel_is_measured_twice() -> None:
    seen: list[tuple[Opt, ...]] = []

    def measure(kernel: UOp) -> float:
        opts = opts_of(kernel)
        seen.append(opts)
        return likes(*WANTED)(kernel)

    search(measure)
    structures = set()
    for opts in seen:
        view = Scheduler(row_sums(), FakeRenderer())
        for opt in opts:
            view.apply_opt(opt)
        structures.add(view.ast)
    assert len(structures) == len(seen)


def test_what_does_not_run_is_passed_over() -> None:
    def measure(kernel: UOp) -> float:
        return inf if opts_of(kernel) else 3.0

    assert search(measure).opts == ()


def test_nothing_that_runs_is_an_error() -> None:
    def measure(kernel: UOp) -> float:
        raise KernelOptError(opt="any", kernel="k", reason="the device is away")

    with pytest.raises(SearchError, match="the device is away"):
        search(measure)


def test_reports_of_progress() -> None:
    heard: list[tuple[int, int, float]] = []
    search(likes(*WANTED), report=lambda *facts: heard.append(facts))
    assert [rounds for rounds, _, _ in heard] == list(range(1, len(heard) + 1))
    assert all(best >= later for (_, _, best), (_, _, later) in pairwise(heard))
