"""Simplify conditions by each other, and indices by the conditions that guard them."""

from __future__ import annotations

from tg_uop.dtype.dtype import Invalid, dtypes
from tg_uop.ir.ops import Ops
from tg_uop.ir.uop import UOp
from tg_uop.rewrite.matcher import PatternMatcher, rule
from tg_uop.rewrite.pattern import UPat
from tg_uop.rules.algebra import ALGEBRA, SPELLING
from tg_uop.rules.bounds import BOUNDS, COMPARISON
from tg_uop.rules.casts import CASTS
from tg_uop.rules.conditions import Fact, conjuncts, fact_of, impossible, joined, narrowed
from tg_uop.rules.constants import constant_like, is_constant, is_invalid
from tg_uop.rules.divmod import DIVISION
from tg_uop.rules.fold import FOLD
from tg_uop.rules.invalid import INVALID_INDEX
from tg_uop.rules.logic import LOGIC, negation
from tg_uop.rules.recombine import RECOMBINE

COND = UPat.var("cond", dtypes.bool)

# What expressions are simplified with under a condition.
CORE = (
    FOLD
    + INVALID_INDEX
    + ALGEBRA
    + LOGIC
    + CASTS
    + BOUNDS
    + SPELLING
    + DIVISION
    + RECOMBINE
    + COMPARISON
)


def _facts(conditions: list[UOp]) -> list[Fact]:
    return [fact for fact in map(fact_of, conditions) if fact is not None]


@rule(UPat(Ops.AND, dtypes.bool, name="both"), law="c & d == c & (d where c holds)")
def simplify_conjunction(both: UOp) -> UOp | None:
    """Conditions on one sum become its two bounds; what follows from the others goes."""
    conditions = list(dict.fromkeys(conjuncts(both)))
    if both in conditions or both.dtype.count > 1:
        return None
    possible = _joined_bounds(both, conditions)
    if possible is None:
        return constant_like(both, False)
    kept = list(possible)
    for cond in possible:
        simple = narrowed(cond, _other_facts(kept, cond), CORE)
        if simple is cond:
            continue
        if is_constant(simple, False):
            return constant_like(both, False)
        place = kept.index(cond)
        kept[place : place + 1] = [] if is_constant(simple, True) else [simple]
    if kept == conjuncts(both):
        return None
    return conjunction(kept, both)


def _other_facts(conditions: list[UOp], cond: UOp) -> list[Fact]:
    """What the other conditions tell about other sums."""
    own = fact_of(cond)
    facts = _facts([c for c in conditions if c is not cond])
    if own is None:
        return facts
    sums = {frozenset(own.terms), frozenset((term, -c) for term, c in own.terms)}
    return [fact for fact in facts if frozenset(fact.terms) not in sums]


def conjunction(conditions: list[UOp], like: UOp) -> UOp:
    """All of these conditions at once; True for none."""
    if not conditions:
        return constant_like(like, True)
    result = conditions[0]
    for cond in conditions[1:]:
        result = result & cond
    return result


def _joined_bounds(both: UOp, conditions: list[UOp]) -> list[UOp] | None:
    """The conditions with at most one bound from each side on each sum; None if none can hold."""
    bounds: dict[frozenset[tuple[UOp, int]], list[UOp]] = {}
    facts: dict[UOp, Fact] = {}
    for cond in conditions:
        fact = fact_of(cond)
        if fact is None:
            continue
        if fact.low > fact.high:
            return None
        facts[cond] = fact
        bounds.setdefault(frozenset(fact.terms), []).append(cond)
    gone: set[UOp] = set()
    for group in bounds.values():
        low = max(facts[cond].low for cond in group)
        high = min(facts[cond].high for cond in group)
        if low > high:
            return None
        gone.update(_implied(group, facts))
    return [cond for cond in conditions if cond not in gone]


def _implied(group: list[UOp], facts: dict[UOp, Fact]) -> list[UOp]:
    """Conditions of a group, all on one sum, that another one of it implies."""
    gone: list[UOp] = []
    for cond in group:
        fact = facts[cond]
        for other in group:
            stronger = facts[other]
            is_implied = fact.low <= stronger.low and stronger.high <= fact.high
            if other is not cond and other not in gone and is_implied:
                gone.append(cond)
                break
    return gone


@rule(
    UPat(Ops.WHERE, src=(COND, UPat.var("x", dtypes.weakint), UPat.const(Invalid)), name="node"),
    law="where(c, x, Invalid) == where(c, x where c holds, Invalid)",
)
def simplify_guarded(node: UOp, cond: UOp, x: UOp) -> UOp | None:
    """The bounds that the condition tells hold for the index."""
    if cond.dtype.count > 1:
        return None
    facts = _facts(conjuncts(cond))
    if impossible(facts):
        return constant_like(node, Invalid)
    simple = narrowed(x, facts, CORE)
    return None if simple is x else cond.where(simple, constant_like(node, Invalid))


@rule(UPat(Ops.OR, dtypes.bool, name="either"), law="c | d == d if c implies d")
def simplify_disjunction(either: UOp) -> UOp | None:
    """Conditions on one sum: the weaker one stays; two that leave no gap are always true."""
    left, right = either.src
    first, second = fact_of(left), fact_of(right)
    if first is None or second is None:
        return None
    both = joined((first, second))
    if len(both) > 1:
        return None
    first, second = joined((first,))[0], joined((second,))[0]
    if second.low <= first.low and first.high <= second.high:
        return right
    if first.low <= second.low and second.high <= first.high:
        return left
    low, high = first.total.bounds()
    covers = min(first.low, second.low) <= low and max(first.high, second.high) >= high
    touches = first.low <= second.high + 1 and second.low <= first.high + 1
    return constant_like(either, True) if covers and touches else None


@rule(
    UPat(
        Ops.WHERE,
        (dtypes.weakint, dtypes.bool),
        src=(COND, UPat.var("x"), UPat.var("y")),
        name="node",
    ),
    law="where(c, x, y) == where(c, x where c holds, y where it does not)",
)
def simplify_branches(node: UOp, cond: UOp, x: UOp, y: UOp) -> UOp | None:
    """Indices and conditions; a branch that is Invalid is left to `simplify_guarded`."""
    if cond.dtype.count > 1 or is_invalid(y):
        return None
    yes = narrowed(x, _facts(conjuncts(cond)), CORE)
    opposite = fact_of(negation(cond))
    no = y if opposite is None else narrowed(y, [opposite], CORE)
    return None if yes is x and no is y else cond.where(yes, no)


@rule(
    UPat(Ops.INDEX, src=(UPat(), UPat.const(Invalid)), name="node"),
    law="an element at Invalid is 0",
)
def element_at_invalid(node: UOp) -> UOp | None:
    """Only where INDEX is a value; an address stays."""
    is_value = node.dtype in dtypes.all or node.dtype.scalar() in dtypes.all
    return constant_like(node, 0) if is_value else None


@rule(
    UPat(Ops.STORE, src=(UPat(Ops.CONST), UPat()), allow_any_len=True, name="node"),
    law="a store at Invalid does nothing",
)
def store_at_invalid(node: UOp) -> UOp:
    """`element_at_invalid` has made the element a constant by then."""
    return UOp(Ops.NOOP)


GATES = PatternMatcher(
    [
        simplify_conjunction,
        simplify_disjunction,
        simplify_guarded,
        simplify_branches,
        element_at_invalid,
        store_at_invalid,
    ],
    pure=True,
)
