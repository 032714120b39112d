"""Pass and Pipeline: named steps between forms, in one ordered list."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import final

from tg_uop.context import SPEC
from tg_uop.errors import PassError, PipelineError, SpecError
from tg_uop.ir.uop import UOp
from tg_uop.rewrite.driver import graph_rewrite
from tg_uop.rewrite.matcher import PatternMatcher

Transform = PatternMatcher | Callable[[UOp], UOp]


@final
@dataclass(frozen=True, slots=True)
class Form:
    """A legal state of the graph: its name, and what raises `SpecError` for a graph not in it."""

    name: str
    verify: Callable[[UOp], None] | None = None

    def check(self, uop: UOp) -> None:
        """Raise `SpecError` when the graph is not in this form."""
        if self.verify is not None:
            self.verify(uop)


@final
@dataclass(frozen=True, slots=True)
class Pass:
    """A named step: a graph in form `before` goes in, one in form `after` comes out.

    `run` is a matcher, applied to a fixed point (from the sink if `bottom_up`), or a function of
    the graph. `place` says why it stands where it does, if that matters.
    """

    name: str
    run: Transform
    before: Form
    after: Form
    place: str = ""
    bottom_up: bool = False

    def __call__(self, uop: UOp, ctx: object = None) -> UOp:
        """The graph after this step; `ctx` is for the rules of a matcher."""
        if isinstance(self.run, PatternMatcher):
            return graph_rewrite(uop, self.run, ctx, bottom_up=self.bottom_up, name=self.name)
        return self.run(uop)


@final
class Pipeline:
    """Passes in order. Each begins in the form in which the one before it ends.

    Raises `PipelineError` for a list whose forms do not meet or whose names repeat.
    """

    def __init__(self, *passes: Pass) -> None:
        self.passes = passes
        seen: set[str] = set()
        for one in passes:
            if one.name in seen:
                raise PipelineError(name=one.name, reason="two passes have this name")
            seen.add(one.name)
        for first, second in itertools.pairwise(passes):
            if first.after is not second.before:
                raise PipelineError(
                    name=second.name,
                    reason=f"it begins in {second.before.name} form, but {first.name!r} "
                    f"before it ends in {first.after.name} form",
                )

    def __iter__(self) -> Iterator[Pass]:
        return iter(self.passes)

    def __len__(self) -> int:
        return len(self.passes)

    def __add__(self, other: Pipeline) -> Pipeline:
        return Pipeline(*self.passes, *other.passes)

    def run(self, uop: UOp, ctx: object = None) -> UOp:
        """The graph after every pass; with SPEC on, its form is verified before and after each.

        Raises `PassError` naming the pass that made a graph which is not in its form.
        """
        verify = bool(SPEC)
        if verify and self.passes:
            self.passes[0].before.check(uop)
        for one in self.passes:
            uop = one(uop, ctx)
            if verify:
                _check_after(one, uop)
        return uop


def _check_after(one: Pass, uop: UOp) -> None:
    try:
        one.after.check(uop)
    except SpecError as error:
        raise PassError(name=one.name, form=one.after.name, cause=error) from error
