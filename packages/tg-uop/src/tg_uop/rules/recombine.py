"""Join quotients and remainders of one dividend, and floor division that is written with both."""

from __future__ import annotations

from tg_uop.ir.infer.bounds import WEAKINT_LIMIT
from tg_uop.ir.ops import Ops
from tg_uop.ir.uop import UOp
from tg_uop.rewrite.matcher import PatternMatcher, rule
from tg_uop.rewrite.pattern import UPat
from tg_uop.rules.constants import INTEGERS, integer_constant
from tg_uop.rules.divmod import divide, remainder, simplified, written
from tg_uop.rules.linear import Linear, can_write, fits, linear, term_and_factor, write

DIVISOR = UPat.cvar("divisor")
INT_X = UPat.var("x", INTEGERS)


@rule(UPat(Ops.ADD, INTEGERS, name="total"), law="(x / d) * d + x mod d == x")
def recombine(total: UOp) -> UOp | None:
    """Also ((x/d) mod c) * d + x mod d == x mod (c*d). For any signs, and modulo the width."""
    last = term_and_factor(total.src[1])[0]
    if last.op not in (Ops.MOD, Ops.IDIV):
        return None
    value = linear(total, exact=False)
    for term, c in value.terms.items():
        joined = None
        if term.op is Ops.MOD:
            joined = _join_remainder(value, term, c)
        elif term.op is Ops.IDIV:
            joined = _join_quotient(value, term, c)
        if joined is not None:
            return write(joined, total)
    return None


def _join_remainder(value: Linear, term: UOp, c: int) -> Linear | None:
    """The sum with `c * (x mod d)` joined to a multiple of x / d that is there."""
    x, divisor = term.src
    d = integer_constant(divisor)
    if d is None:
        return _join_symbolic(value, term, c)
    if d <= 0 or not _has_multiple(value, term, c * d):
        return None
    quotient = simplified(divide(x, d))
    wanted = linear(quotient, exact=False).scaled(c * d)
    if wanted.terms and all(value.terms.get(t) == k for t, k in wanted.terms.items()):
        rest = value.plus(wanted, -1)
        return _replaced(rest, {term: c}, linear(x, exact=False), c)
    for other, k in value.terms.items():
        if other.op is Ops.MOD and other.src[0] is quotient and k == c * d:
            outer = integer_constant(other.src[1])
            if outer is not None and outer > 0 and fits(outer * d, outer * d, x.dtype):
                joined = Linear({remainder(x, outer * d): 1})
                return _replaced(value, {term: c, other: k}, joined, c)
    return None


def _join_quotient(value: Linear, term: UOp, c: int) -> Linear | None:
    """The sum with `c * (x / d)` joined to x mod d, however that is written."""
    x, divisor = term.src
    d = integer_constant(divisor)
    if d is None or d <= 0 or c % d or len(value.terms) == 1:
        return None
    rest = simplified(remainder(x, d))
    if rest.op is Ops.MOD and rest.src[0] is x:
        return None
    wanted = linear(rest, exact=False).scaled(c // d)
    if not wanted.terms or any(value.terms.get(t) != k for t, k in wanted.terms.items()):
        return None
    return _replaced(value.plus(wanted, -1), {term: c}, linear(x, exact=False), c // d)


def _has_multiple(value: Linear, term: UOp, factor: int) -> bool:
    """Whether another term than `term` has a multiple of `factor`: a quick test."""
    return any(k % factor == 0 and other is not term for other, k in value.terms.items())


def _join_symbolic(value: Linear, term: UOp, c: int) -> Linear | None:
    """(x / d) * d + x mod d == x, for a symbolic d that is never 0."""
    x, divisor = term.src
    if divisor.vmin <= 0 <= divisor.vmax:
        return None
    quotient = x.alu(Ops.IDIV, divisor)
    for whole in (quotient * divisor, divisor * quotient):
        if value.terms.get(whole) == c:
            return _replaced(value, {term: c, whole: c}, linear(x, exact=False), c)
    return None


def _replaced(value: Linear, gone: dict[UOp, int], joined: Linear, factor: int) -> Linear:
    result = Linear(dict(value.terms), value.constant)
    for term, c in gone.items():
        result.add(term, -c)
    return result.plus(joined, factor)


# *** floor division of what may be negative ***

NEGATIVE_REMAINDER = UPat(
    Ops.CMPLT, src=(UPat(Ops.MOD, src=(INT_X, DIVISOR), name="left"), UPat.const(0))
)


def _shift_up(x: UOp, d: int) -> tuple[UOp, int] | None:
    """(x + d*k, k), not negative; None if x has no lower bound or the sum might wrap."""
    if x.vmin <= -WEAKINT_LIMIT or d <= 0:
        return None
    k = -(int(x.vmin) // d)
    value = linear(x).shifted(k * d)
    if not can_write(value, x.dtype):
        return None
    shifted = write(value, x)
    return (shifted, k) if shifted.vmin >= 0 else None


@rule(
    UPat(Ops.WHERE, INTEGERS, src=(NEGATIVE_REMAINDER, UPat.var("lower"), UPat.var("upper"))),
    law="floor(x / d) == (x + d*k) / d - k",
)
def floor_of_bounded(x: UOp, divisor: UOp, left: UOp, lower: UOp, upper: UOp) -> UOp | None:
    """Floor division and its remainder, as the operators write them, where x has a lower bound.

    Then k makes the dividend positive, so that truncation is floor.
    """
    d = integer_constant(divisor)
    value = linear(upper)
    step = linear(lower).plus(value, -1)
    if d is None or step.terms:
        return None
    for term, c in value.terms.items():
        is_remainder = term is left and step.constant == c * d
        is_quotient = (
            term.op is Ops.IDIV
            and term.src[0] is x
            and term.src[1] is divisor
            and step.constant == -c
        )
        found = _shift_up(x, d) if is_remainder or is_quotient else None
        if found is None:
            continue
        shifted, k = found
        result = value.plus(Linear({term: c}, 0), -1)
        if is_remainder:
            result.add(remainder(shifted, d), c)
        else:
            result.add(divide(shifted, d), c)
            result.constant -= c * k
        return written(result, upper)
    return None


RECOMBINE = PatternMatcher([recombine, floor_of_bounded], pure=True)
