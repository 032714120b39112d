"""What a condition tells about sums, and how an expression simplifies where the condition holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tg_uop.dtype.dtype import dtypes
from tg_uop.ir.ops import GroupOp, Ops
from tg_uop.ir.uop import UOp
from tg_uop.ir.walk import toposort
from tg_uop.rewrite.driver import graph_rewrite
from tg_uop.rewrite.matcher import PatternMatcher
from tg_uop.rules.constants import INTEGERS, constant_like
from tg_uop.rules.linear import Linear, in_order, linear, write
from tg_uop.rules.logic import negated

# Narrower bounds can change no other operation.
NARROWED = frozenset(
    (Ops.IDIV, Ops.MOD, Ops.MAX, Ops.WHERE, Ops.CMPLT, Ops.CMPNE, Ops.CMPEQ, Ops.CAST, Ops.AND)
) | {Ops.SHR, Ops.OR, Ops.XOR}


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


# More conditions than this that hold together are not looked at one by one.
MAX_CONJUNCTS = 12


def conjuncts(cond: UOp) -> list[UOp]:
    """The conditions that hold together where `cond` does, from left to right.

    Only `cond` itself where they are very many.
    """
    found: list[UOp] = []
    stack = [cond]
    while stack:
        node = stack.pop()
        if node.op is Ops.AND:
            stack.extend(reversed(node.src))
        else:
            found.append(node)
        if len(found) + len(stack) > MAX_CONJUNCTS:
            return [cond]
    return found


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
    if not difference.terms:
        return None
    limit = -difference.constant
    low, high = Linear(difference.terms).bounds()
    if is_equal:
        low = high = limit
    elif opposite is None:
        high = min(high, limit - 1)
    else:
        low = max(low, limit)
    return Fact(tuple(difference.terms.items()), low, high)


def joined(facts: Iterable[Fact]) -> list[Fact]:
    """One fact for each sum, with the bounds of all that speak of it."""
    bounds: dict[frozenset[tuple[UOp, int]], Fact] = {}
    for fact in facts:
        spelled = _positive_first(fact)
        key = frozenset(spelled.terms)
        known = bounds.get(key, spelled)
        low, high = max(known.low, spelled.low), min(known.high, spelled.high)
        bounds[key] = Fact(known.terms, low, high)
    return list(bounds.values())


def _positive_first(fact: Fact) -> Fact:
    """The same fact about the sum whose first term in order is positive."""
    total = fact.total
    first = in_order(total.terms)[0]
    if total.terms[first] > 0:
        return fact
    return Fact(tuple(total.scaled(-1).terms.items()), -fact.high, -fact.low)


def impossible(facts: Iterable[Fact]) -> bool:
    """Whether a fact leaves no value."""
    return any(fact.low > fact.high for fact in facts)


def cost(expr: UOp) -> int:
    """The number of nodes under an expression, counted again under each division."""
    nodes = expr.toposort()
    divisions = [node for node in nodes if node.op in (Ops.IDIV, Ops.MOD)]
    return len(nodes) + sum(len(node.toposort()) for node in divisions)


# *** putting facts to use ***


def narrowed(expr: UOp, facts: list[Fact], rules: PatternMatcher) -> UOp:
    """`expr` simplified by `rules` where all facts hold; itself if that gains nothing.

    Each sum of a fact gets a name with the bounds that the fact tells: the expression is written
    in terms of these names, simplified, and written out again.
    """
    inside = _narrowable_parts(expr)
    useful = [fact for fact in joined(facts) if any(term in inside for term, _ in fact.terms)]
    if not useful:
        return expr
    for pick_last in (False, True):
        result = _renamed(expr, useful, inside, pick_last, rules)
        if result is not expr:
            return result
    if len(useful) > 1:
        for fact in useful:
            expr = _renamed(expr, [fact], inside, False, rules)
    return expr


# What a condition tells holds for the value computed under it. A load below is made whether the
# condition holds or not, guarded by its own condition only: its address must not change.
COMPUTED = GroupOp.ALU | {Ops.CAST, Ops.BITCAST, Ops.GEP, Ops.STACK}


def _is_computed(node: UOp) -> bool:
    return node.op in COMPUTED


def _narrowable_parts(expr: UOp) -> dict[UOp, None]:
    """All nodes below operations that narrower bounds may change, not looking below loads."""
    roots: dict[UOp, None] = {}
    for node in toposort((expr,), gate=_is_computed):
        if node.op in NARROWED:
            roots.update(dict.fromkeys(node.src))
    inner = toposort(roots, gate=_is_computed)
    found = dict.fromkeys(roots)
    for node in inner:
        found[node] = None
        found.update(dict.fromkeys(node.src))
    return found


def put_in(expr: UOp, replacements: Mapping[UOp, UOp]) -> UOp:
    """`expr` with nodes replaced, but for those below loads and other memory operations."""
    closed = {
        s: s
        for node in toposort((expr,), gate=_is_computed)
        for s in node.src
        if not _is_computed(s)
    }
    return expr.substitute({**closed, **replacements})


@dataclass(frozen=True, slots=True)
class Naming:
    """`term` written in terms of `name`, which stands for the sum `meaning`."""

    term: UOp
    equal: UOp
    name: UOp
    meaning: UOp


def _renamed(
    expr: UOp, facts: list[Fact], inside: dict[UOp, None], pick_last: bool, rules: PatternMatcher
) -> UOp:
    """Name one sum after the other; each fact is first told what is known by then."""
    simple = expr
    namings: list[Naming] = []
    for fact in facts:
        naming = _solve_for_name(_told(fact, namings, rules), inside, pick_last)
        if naming is None:
            continue
        replaced = put_in(simple, {naming.term: naming.equal})
        if replaced is not simple:
            simple = graph_rewrite(replaced, rules, name="narrow")
            namings.append(naming)
    if not namings:
        return expr
    for naming in reversed(namings):
        if naming.name.op is not Ops.CONST:
            simple = simple.substitute({naming.name: naming.meaning})
    simple = graph_rewrite(simple, rules, name="narrow")
    return simple if cost(simple) < cost(expr) else expr


def _told(fact: Fact, namings: list[Naming], rules: PatternMatcher) -> Fact:
    """The fact in terms of the names, with the bounds that they bring."""
    total = Linear({}, 0)
    for term, c in fact.terms:
        renamed = term
        for naming in namings:
            renamed = put_in(renamed, {naming.term: naming.equal})
        if renamed is not term:
            renamed = graph_rewrite(renamed, rules, name="narrow")
        total = total.plus(linear(renamed), c)
    low, high = Linear(total.terms).bounds()
    low, high = max(low, fact.low - total.constant), min(high, fact.high - total.constant)
    return Fact(tuple(total.terms.items()), low, high)


def _solve_for_name(fact: Fact, inside: dict[UOp, None], pick_last: bool) -> Naming | None:
    """The fact solved for one of its terms, the first or the last that can be."""
    total = fact.total
    alone = len(fact.terms) == 1
    solvable = [
        term
        for term, c in fact.terms
        if abs(c) == 1 and (term in inside or alone) and (alone or _is_exact_type(term))
    ]
    if not solvable or fact.low > fact.high:
        return None
    term = solvable[-1 if pick_last else 0]
    c = total.terms[term]
    if alone and (fact.low, fact.high) == total.bounds():
        return None
    meaning = write(total, term)
    if fact.low == fact.high:
        name = constant_like(term, fact.low)
    else:
        # named by the content of what it stands for: one name has one meaning everywhere
        label = f"narrow_{meaning.key.hex()}"
        name = UOp.variable(label, fact.low, fact.high, term.dtype)
    rest = total.plus(Linear({term: c}), -1)
    equal = write(Linear({}).plus(linear(name)).plus(rest, -1).scaled(c), term)
    return Naming(term, equal, name, meaning)


def _is_exact_type(term: UOp) -> bool:
    return term.dtype.scalar() is dtypes.weakint
