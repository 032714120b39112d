"""Solve conditions for a loop index: where in [0, size) does a condition hold?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tg_uop import Ops, UOp, dtypes
from tg_uop.rules.linear import Linear, linear, write

from tg_codegen.canonicalize.sums import number_of


@dataclass(frozen=True, slots=True)
class Solution:
    """The steps of a loop at which a condition holds.

    `equal` pins the index to one expression; `low` and `high` bound it (high is not included).
    `others` are conditions that do not depend on the loop. No bound means no limit.
    """

    equal: UOp | None
    low: tuple[UOp, ...]
    high: tuple[UOp, ...]
    others: tuple[UOp, ...]


def solve(condition: UOp, loop: UOp) -> Solution | None:
    """The condition as bounds of `loop`, None where it has another form."""
    equal: UOp | None = None
    low: list[UOp] = []
    high: list[UOp] = []
    others: list[UOp] = []
    for part in conjuncts(condition):
        if loop not in part.ranges:
            others.append(part)
            continue
        found = _solve_one(part, loop)
        if found is None:
            return None
        kind, bound = found
        if kind is Ops.CMPEQ and equal is None:
            equal = bound
        elif kind is Ops.CMPEQ:
            others.append(bound.eq(equal))
        elif kind is Ops.CMPLT:
            high.append(bound)
        else:
            low.append(bound)
    return Solution(equal, tuple(low), tuple(high), tuple(others))


def conjuncts(condition: UOp) -> list[UOp]:
    """The conditions that an AND joins."""
    return condition.split_uop(Ops.AND) if condition.dtype == dtypes.bool else [condition]


def all_of(conditions: Iterable[UOp]) -> UOp | None:
    """All conditions together, None for none."""
    total: UOp | None = None
    for condition in conditions:
        total = condition if total is None else total & condition
    return total


def negated(condition: UOp) -> UOp | None:
    """What is known to be the condition's operand if it is a negation."""
    if condition.op is Ops.CMPNE and condition.src[0].dtype == dtypes.bool:
        left, right = condition.src
        if right.op is Ops.CONST and right.arg is True:
            return left
    return None


Bound = tuple[Ops, UOp]


def _solve_one(condition: UOp, loop: UOp) -> Bound | None:
    """`loop < bound` as (CMPLT, bound), `loop >= bound` as (MAX, bound), `==` as (CMPEQ, bound)."""
    inner = negated(condition)
    if inner is not None:
        if inner.op is Ops.CMPNE and negated(inner) is None:
            return _solve_equality(inner, loop)
        found = _solve_one(inner, loop)
        opposite = {Ops.CMPLT: Ops.MAX, Ops.MAX: Ops.CMPLT}
        if found is None or found[0] not in opposite:
            return None
        return opposite[found[0]], found[1]
    if condition.op is Ops.CMPEQ:
        return _solve_equality(condition, loop)
    if condition.op is Ops.CMPLT:
        return _solve_order(condition, loop)
    return None


def _isolated(left: UOp, right: UOp, loop: UOp) -> tuple[int, UOp] | None:
    """`left - right` as `factor * loop - rest`: the factor and the rest."""
    sides = [_as_index(left, loop), _as_index(right, loop)]
    if sides[0] is None or sides[1] is None:
        return None
    total = linear(sides[0]).plus(linear(sides[1]), -1)
    factor = total.terms.pop(loop, 0)
    if factor == 0 or any(loop in term.ranges for term in total.terms):
        return None
    return factor, write(Linear({}).plus(total, -1), sides[0])


def _as_index(node: UOp, loop: UOp) -> UOp | None:
    """An integer as an index expression: exact, so that sides may be moved around."""
    while node.op is Ops.CAST and loop in node.ranges and _keeps_value(node):
        node = node.src[0]
    if node.dtype == dtypes.weakint:
        return node
    if loop in node.ranges or not dtypes.is_int(node.dtype):
        return None
    number = number_of(node)
    return UOp.const(dtypes.weakint, number) if number is not None else node.cast(dtypes.weakint)


def _keeps_value(cast: UOp) -> bool:
    """Whether an integer CAST is the identity for every value that its operand can have."""
    source = cast.src[0]
    if not dtypes.is_int(cast.dtype) or not dtypes.is_int(source.dtype):
        return False
    if cast.dtype == dtypes.weakint:
        return True
    return dtypes.min(cast.dtype) <= source.vmin and source.vmax <= dtypes.max(cast.dtype)


def _solve_equality(condition: UOp, loop: UOp) -> Bound | None:
    isolated = _isolated(condition.src[0], condition.src[1], loop)
    if isolated is None or abs(isolated[0]) != 1:
        return None
    factor, rest = isolated
    return Ops.CMPEQ, rest if factor == 1 else rest * -1


def _solve_order(condition: UOp, loop: UOp) -> Bound | None:
    """factor * loop < rest"""
    isolated = _isolated(condition.src[0], condition.src[1], loop)
    if isolated is None:
        return None
    factor, rest = isolated
    if factor > 0:
        # loop < rest / factor, rounded up
        return Ops.CMPLT, floor_div(rest + (factor - 1), factor)
    # loop > -rest / -factor, that is: loop >= floor(-rest / -factor) + 1
    return Ops.MAX, floor_div(rest * -1, -factor) + 1


def floor_div(node: UOp, divisor: int) -> UOp:
    """`node // divisor` rounded down, for a positive divisor, in terms of truncating division."""
    if divisor == 1:
        return node
    number = number_of(node)
    if number is not None:
        return node.const_like(number // divisor)
    by = node.const_like(divisor)
    quotient = node.alu(Ops.IDIV, by)
    if node.vmin >= 0:
        return quotient
    is_below = node.alu(Ops.MOD, by) < 0
    return is_below.where(quotient - 1, quotient)
