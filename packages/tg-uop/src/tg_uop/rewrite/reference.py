"""The plain matcher: what a pattern means, by interpretation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations

from tg_uop.ir.uop import UOp
from tg_uop.rewrite.pattern import Order, UPat, captured_names
from tg_uop.rewrite.signature import Signature

RuleBody = Callable[..., "UOp | None"]
Captures = dict[str, UOp]


def matches(pattern: UPat, uop: UOp, captures: Captures) -> Iterator[Captures]:
    """Every way in which `uop` matches, extending `captures`."""
    for alternative in pattern.alternatives:
        for found in matches(alternative, uop, captures):
            named = _capture(pattern, uop, found)
            if named is not None:
                yield named
    if pattern.alternatives or not _fits(pattern, uop):
        return
    captured = _capture(pattern, uop, captures)
    if captured is None:
        return
    for patterns, sources in _pairings(pattern, uop):
        yield from match_sources(patterns, sources, captured)


def _capture(pattern: UPat, uop: UOp, captures: Captures) -> Captures | None:
    for name in pattern.names:
        if captures.get(name, uop) is not uop:
            return None
        captures = {**captures, name: uop}
    return captures


def _fits(pattern: UPat, uop: UOp) -> bool:
    if pattern.ops is not None and uop.op not in pattern.ops:
        return False
    if pattern.dtypes is not None:
        if uop.dtype not in pattern.dtypes and uop.dtype.scalar() not in pattern.dtypes:
            return False
    return pattern.arg is None or same_arg(uop.arg, pattern.arg)


def same_arg(arg: object, wanted: object) -> bool:
    """Python's equality, but a bool equals only a bool."""
    return isinstance(arg, bool) == isinstance(wanted, bool) and arg == wanted


def _pairings(pattern: UPat, uop: UOp) -> Iterator[tuple[tuple[UPat, ...], tuple[UOp, ...]]]:
    src = uop.src
    wanted = len(pattern.src)
    if pattern.order is Order.ANYTHING:
        yield (), ()
    elif pattern.order is Order.ALL:
        yield pattern.src * len(src), src
    elif pattern.order is Order.PREFIX and len(src) >= wanted:
        yield pattern.src, src[:wanted]
    elif pattern.order is Order.FIXED and len(src) == wanted:
        yield pattern.src, src
    elif pattern.order is Order.PERMUTED and len(src) == wanted:
        for order in permutations(src):
            yield pattern.src, order


def match_sources(
    patterns: tuple[UPat, ...], sources: tuple[UOp, ...], captures: Captures
) -> Iterator[Captures]:
    """Every way in which each source matches its pattern, extending `captures`."""
    if not patterns:
        yield captures
        return
    for found in matches(patterns[0], sources[0], captures):
        yield from match_sources(patterns[1:], sources[1:], found)


def apply_reference(
    alternatives: tuple[UPat, ...],
    signature: Signature,
    fn: RuleBody,
    uop: UOp,
    ctx: object,
) -> UOp | None:
    """The first answer of a rule's function to a match of `uop`, or None."""
    for pattern in alternatives:
        wanted = signature.accepted(captured_names(pattern))
        for captures in matches(pattern, uop, {}):
            arguments: dict[str, object] = {name: captures.get(name) for name in wanted}
            if signature.takes_ctx:
                arguments["ctx"] = ctx
            replacement = fn(**arguments)
            if replacement is not None and replacement is not uop:
                return replacement
    return None
