"""Simplify and evaluate expressions of sizes and indices: what code outside of passes calls."""

from __future__ import annotations

from math import gcd

from tg_uop.eval.graph import sym_infer
from tg_uop.ir.uop import SERVICES, UOp
from tg_uop.rewrite.driver import graph_rewrite
from tg_uop.rules.conditions import conjuncts, fact_of, impossible, narrowed
from tg_uop.rules.constants import is_constant
from tg_uop.rules.gates import CORE, GATES
from tg_uop.rules.linear import linear, write

SIMPLIFY = CORE + GATES


def simplify(u: UOp) -> UOp:
    """An equal expression that is no worse: all rules on numbers and gates, to a fixed point.

    Gates take their turn when everything else is at rest: an index on its way out of a sum need
    not be held against its condition at each step.
    """
    while True:
        numbers = graph_rewrite(u, CORE, name="simplify")
        gated = graph_rewrite(numbers, GATES, name="simplify-gates")
        if gated is numbers:
            return gated
        u = gated


def given(u: UOp, condition: UOp) -> UOp | None:
    """`u` simplified where the condition holds; None if it holds nowhere."""
    known = simplify(condition)
    facts = [fact for fact in map(fact_of, conjuncts(known)) if fact is not None]
    if is_constant(known, False) or impossible(facts):
        return None
    return narrowed(simplify(u), facts, CORE)


def resolve(x: bool | UOp, default: bool = True) -> bool:
    """The truth of a condition on sizes; `default` where it depends on the values of variables."""
    if isinstance(x, bool):
        return x
    simple = simplify(x)
    return bool(simple.vmin) if simple.vmin == simple.vmax else default


def factor(u: UOp) -> tuple[UOp, int]:
    """(v, n) with u == v * n for the largest number n."""
    value = linear(u)
    common = gcd(value.constant, *value.terms.values())
    if common in (0, 1):
        return u, 1
    return write(value.divided(common), u), common


SERVICES.simplify = simplify

__all__ = ["factor", "given", "resolve", "simplify", "sym_infer"]
