"""Turn one rule into one straight Python function.

The text of the function follows the pattern: cheap tests on ops first, then args, dtypes and
captures; a source list in any order becomes a loop, in which `continue` is what backtracks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations
from typing import cast

from tg_uop.ir.uop import UOp
from tg_uop.rewrite.pattern import Order, UPat, captured_names
from tg_uop.rewrite.reference import Captures, RuleBody, apply_reference, match_sources
from tg_uop.rewrite.signature import Signature

# CPython refuses more statically nested blocks than 20.
MAX_LOOPS = 18


class _TooDeep(Exception):
    """The pattern needs more nested loops than Python allows."""


class _Text:
    """Lines of a function under construction, and the constants they speak of."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.constants: dict[str, object] = {"permutations": permutations, "isinstance": isinstance}
        self.depth = 1
        self.loops = 0
        self.count = 0

    def add(self, line: str) -> None:
        self.lines.append("  " * self.depth + line)

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def constant(self, value: object) -> str:
        name = f"K{len(self.constants)}"
        self.constants[name] = value
        return name

    def open_loop(self, header: str) -> None:
        if self.loops >= MAX_LOOPS:
            raise _TooDeep
        self.add(header)
        self.depth += 1
        self.loops += 1

    def reject_if(self, condition: str) -> None:
        self.add(f"if {condition}: {'continue' if self.loops else 'return None'}")


def compile_rule(
    alternatives: tuple[UPat, ...], signature: Signature, fn: RuleBody, owner: object
) -> Callable[[UOp, object], UOp | None]:
    """A function of (node, ctx) that does what `apply_reference` does; its `rule` is `owner`."""
    text = _Text()
    text.constants["fn"] = fn
    try:
        for pattern in alternatives:
            _write_alternative(text, pattern, signature, alone=len(alternatives) == 1)
    except _TooDeep:
        return _interpreted(alternatives, signature, fn, owner)
    source = "def attempt(u, ctx):\n" + "\n".join(text.lines) + "\n  return None\n"
    namespace = dict(text.constants)
    exec(compile(source, f"<rule at {signature.location}>", "exec"), namespace)
    attempt = cast("Callable[[UOp, object], UOp | None]", namespace["attempt"])
    attempt.__dict__["rule"] = owner
    return attempt


def _interpreted(
    alternatives: tuple[UPat, ...], signature: Signature, fn: RuleBody, owner: object
) -> Callable[[UOp, object], UOp | None]:
    def attempt(uop: UOp, ctx: object) -> UOp | None:
        return apply_reference(alternatives, signature, fn, uop, ctx)

    attempt.__dict__["rule"] = owner
    return attempt


def _write_alternative(text: _Text, pattern: UPat, signature: Signature, alone: bool) -> None:
    if not alone:
        text.open_loop("for _ in (0,):")
    bound: dict[str, str] = {}
    _write_op(text, pattern, "u")
    _write_node(text, pattern, "u", bound)
    names = signature.accepted(frozenset(bound))
    arguments = [f"{name}={bound[name]}" for name in names]
    if signature.takes_ctx:
        arguments.append("ctx=ctx")
    text.add(f"r = fn({', '.join(arguments)})")
    text.add("if r is not None and r is not u: return r")
    text.depth = 1
    text.loops = 0


def _write_op(text: _Text, pattern: UPat, var: str) -> None:
    if pattern.ops is None:
        return
    if len(pattern.ops) == 1:
        text.reject_if(f"{var}.op is not {text.constant(next(iter(pattern.ops)))}")
    else:
        text.reject_if(f"{var}.op not in {text.constant(pattern.ops)}")


def _write_node(text: _Text, pattern: UPat, var: str, bound: dict[str, str]) -> None:
    """Everything about a node but its op, and then its sources, in order."""
    _write_arg(text, pattern, var)
    _write_dtype(text, pattern, var)
    for name in pattern.names:
        if name in bound:
            text.reject_if(f"{var} is not {bound[name]}")
        else:
            bound[name] = var
    if pattern.order is Order.ALL:
        _write_every_source(text, pattern, var, bound)
    elif pattern.order is not Order.ANYTHING:
        _write_sources(text, pattern, var, bound)


def _write_arg(text: _Text, pattern: UPat, var: str) -> None:
    if pattern.arg is None:
        return
    if isinstance(pattern.arg, bool):
        text.reject_if(f"{var}.arg is not {pattern.arg}")
        return
    text.reject_if(f"not ({var}.arg == {text.constant(pattern.arg)})")
    if isinstance(pattern.arg, int | float):
        text.reject_if(f"isinstance({var}.arg, {text.constant(bool)})")


def _write_dtype(text: _Text, pattern: UPat, var: str) -> None:
    if pattern.dtypes is None:
        return
    dtypes = text.constant(pattern.dtypes)
    text.reject_if(f"{var}.dtype not in {dtypes} and {var}.dtype.scalar() not in {dtypes}")


def _write_sources(text: _Text, pattern: UPat, var: str, bound: dict[str, str]) -> None:
    names = [text.fresh() for _ in pattern.src]
    sources = text.fresh()
    text.add(f"{sources} = {var}.src")
    wanted = len(names)
    if pattern.order is Order.PREFIX:
        text.reject_if(f"len({sources}) < {wanted}")
        for place, name in enumerate(names):
            text.add(f"{name} = {sources}[{place}]")
    else:
        text.reject_if(f"len({sources}) != {wanted}")
        _write_unpacking(text, pattern, names, sources)
    for part, name in zip(pattern.src, names, strict=True):
        _write_op(text, part, name)
    for part, name in zip(pattern.src, names, strict=True):
        _write_node(text, part, name, bound)


def _write_unpacking(text: _Text, pattern: UPat, names: list[str], sources: str) -> None:
    if not names:
        return
    targets = ", ".join(names) + ","
    if pattern.order is Order.FIXED or len(names) == 1:
        text.add(f"{targets} = {sources}")
    elif len(names) == 2:
        text.open_loop(f"for {targets} in ({sources}, {sources}[::-1]):")
    else:
        text.open_loop(f"for {targets} in permutations({sources}):")


def _write_every_source(text: _Text, pattern: UPat, var: str, bound: dict[str, str]) -> None:
    """One pattern for all sources: interpreted, since their number is not known."""
    part = pattern.src[0]
    simple = part.order is Order.ANYTHING and not part.names
    if simple and part.arg is None and part.dtypes is None:
        if part.ops is not None:
            ops = text.constant(part.ops)
            text.reject_if(f"not all(s.op in {ops} for s in {var}.src)")
        return
    found = text.fresh()
    known = ", ".join(f"{name!r}: {value}" for name, value in bound.items())
    matcher = text.constant(_captures_of_all)
    text.open_loop(f"for {found} in {matcher}({text.constant(pattern)}, {var}, {{{known}}}):")
    for name in sorted(captured_names(part) - set(bound)):
        value = text.fresh()
        text.add(f"{value} = {found}.get({name!r})")
        bound[name] = value


def _captures_of_all(pattern: UPat, uop: UOp, known: Captures) -> Iterator[Captures]:
    return match_sources(pattern.src * len(uop.src), uop.src, known)
