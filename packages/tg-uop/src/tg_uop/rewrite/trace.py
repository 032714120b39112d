"""The record of what rules did: each match with its rule's file and line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from tg_uop.ir.uop import UOp


@dataclass(frozen=True, slots=True)
class Match:
    """One application of a rule: where the rule is written, its name and law, before and after."""

    location: str
    rule: str
    law: str
    before: UOp
    after: UOp


@dataclass(slots=True)
class RewriteRecord:
    """What one `graph_rewrite` did."""

    name: str
    sink: UOp
    matches: list[Match] = field(default_factory=list)
    result: UOp | None = None


@dataclass(slots=True)
class Trace:
    """Every `graph_rewrite` run while the trace was on, in the order in which they started."""

    rewrites: list[RewriteRecord] = field(default_factory=list)

    @property
    def matches(self) -> list[Match]:
        """The matches of all rewrites, in order."""
        return [match for record in self.rewrites for match in record.matches]

    def counts(self) -> dict[str, int]:
        """How often each rule fired, by its location."""
        counted: dict[str, int] = {}
        for match in self.matches:
            counted[match.location] = counted.get(match.location, 0) + 1
        return counted


_current: ContextVar[Trace | None] = ContextVar("tg_uop_trace", default=None)


@contextmanager
def tracing() -> Iterator[Trace]:
    """Record every match made inside the block."""
    trace = Trace()
    token = _current.set(trace)
    try:
        yield trace
    finally:
        _current.reset(token)


def current_trace() -> Trace | None:
    """The trace that is on, or None."""
    return _current.get()
