"""What a condition tells about sums, and how an expression simplifies where the condition holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tg_uop.dtype.dtype import dtypes
from tg_uop.ir.ops import Ops
from tg_uop.ir.uop import UOp
from tg_uop.rewrite.driver import graph_rewrite
from tg_uop.rewrite.matcher import PatternMatcher
from tg_uop.rules.constants import INTEGERS, constant_like
from tg_uop.rules.linear import Linear, linear, write
from tg_uop.rules.logic import negated

# Narrower bounds can change no other operation.
NARROWED = frozenset(
    (Ops.IDIV, Ops.MOD, Ops.MAX, Ops.WHERE, Ops.CMPLT, Ops.CMPNE, Ops.CMPEQ, Ops.CAST, Ops.AND)
) | {Ops.SHR, Ops.OR, Ops.XOR}

# A sum in a condition is solved for so many of its terms at most.
MAX_SOLVED_TERMS = 3


@dataclass(frozen=True, slots=True)
class Fact:
    """low <= the sum of `terms` <= high."""

    terms: tuple[tuple[UOp, int], ...]
    low: int
    high: int

    @property
    def total(self) -> Linear:
        """The sum."""
        return Linear(dict(self.terms))


def conjuncts(cond: UOp) -> list[UOp]:
    """The conditions that hold together where `cond` does."""
    return cond.split_uop(Ops.AND)


def fact_of(cond: UOp) -> Fact | None:
    """What a comparison of integers says, None for other conditions."""
    opposite = negated(cond)
    comparison = cond if opposite is None else opposite
    is_less = comparison.op is Ops.CMPLT
    is_equal = comparison.op is Ops.CMPEQ and opposite is None
    if not (is_less or is_equal) or comparison.src[0].dtype.scalar() not in INTEGERS:
        return None
    left, right = comparison.src
    difference = linear(left).plus(linear(right), -1)
    limit = -difference.constant
    low, high = Linear(difference.terms).bounds()
    if is_equal:
        low = high = limit
    elif opposite is None:
        high = min(high, limit - 1)
    else:
        low = max(low, limit)
    return Fact(tuple(difference.terms.items()), low, high)


def _stand_in(name: UOp, low: int, high: int) -> UOp:
    """A variable with these bounds, named by the content of what it stands for."""
    return UOp.variable(f"narrow_{name.key.hex()}", low, high, name.dtype)


def _solved(fact: Fact) -> Iterable[tuple[UOp, UOp, UOp]]:
    """(term, what it equals, meaning of the stand-in in there) for terms with a factor of 1."""
    total = fact.total
    for term, c in fact.terms[:MAX_SOLVED_TERMS]:
        if abs(c) != 1:
            continue
        if len(fact.terms) == 1:
            low, high = sorted((fact.low * c, fact.high * c))
            yield term, _stand_in(term, low, high), term
            continue
        if term.dtype.scalar() is not dtypes.weakint:
            continue
        whole = write(total, term)
        stand_in = _stand_in(whole, fact.low, fact.high)
        rest = total.plus(Linear({term: c}), -1)
        solved = Linear({stand_in: 1}).plus(rest, -1).scaled(c)
        yield term, write(solved, term), whole


def cost(expr: UOp) -> int:
    """The number of nodes under an expression, counted again under each division."""
    nodes = expr.toposort()
    divisions = [node for node in nodes if node.op in (Ops.IDIV, Ops.MOD)]
    return len(nodes) + sum(len(node.toposort()) for node in divisions)


def is_narrowable(expr: UOp) -> bool:
    """Whether narrower bounds may change anything."""
    return expr.op_in_backward_slice_with_self(*NARROWED)


def impossible(facts: Iterable[Fact]) -> bool:
    """Whether a fact leaves no value."""
    return any(fact.low > fact.high for fact in facts)


def narrowed(expr: UOp, facts: list[Fact], rules: PatternMatcher) -> UOp:
    """`expr` simplified by `rules` where all facts hold; itself if that gains nothing."""
    if not is_narrowable(expr):
        return expr
    single = [fact for fact in facts if len(fact.terms) == 1]
    result = _narrowed_by_terms(expr, single, rules)
    for fact in facts:
        if len(fact.terms) == 1:
            continue
        for term, equal, meaning in _solved(fact):
            result = _better(result, {term: equal}, meaning, rules)
    return result


def _narrowed_by_terms(expr: UOp, facts: list[Fact], rules: PatternMatcher) -> UOp:
    bounds: dict[UOp, tuple[int, int]] = {}
    for fact in facts:
        for term, stand_in, _ in _solved(fact):
            low, high = int(stand_in.vmin), int(stand_in.vmax)
            known = bounds.get(term, (low, high))
            bounds[term] = max(low, known[0]), min(high, known[1])
    forward: dict[UOp, UOp] = {}
    for term, (low, high) in bounds.items():
        is_news = low > term.vmin or high < term.vmax
        if low <= high and is_news:
            forward[term] = constant_like(term, low) if low == high else _stand_in(term, low, high)
    if not forward:
        return expr
    # a term within another one would be replaced first: its bounds tell more
    replaced = expr.substitute(forward)
    if replaced is expr:
        return expr
    back = {stand_in: term for term, stand_in in forward.items() if stand_in.op is not Ops.CONST}
    simple = graph_rewrite(replaced, rules, name="narrow").substitute(back)
    return simple if cost(simple) < cost(expr) else expr


def _better(expr: UOp, forward: Mapping[UOp, UOp], meaning: UOp, rules: PatternMatcher) -> UOp:
    replaced = expr.substitute(forward)
    if replaced is expr:
        return expr
    simple = graph_rewrite(replaced, rules, name="narrow")
    back = {node: meaning for node in simple.toposort() if _stands_for(node, meaning)}
    simple = graph_rewrite(simple.substitute(back), rules, name="narrow")
    return simple if cost(simple) < cost(expr) else expr


def _stands_for(node: UOp, meaning: UOp) -> bool:
    return node.op is Ops.DEFINE_VAR and node.var_name == f"narrow_{meaning.key.hex()}"
