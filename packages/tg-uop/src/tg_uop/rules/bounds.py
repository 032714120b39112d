"""Decide comparisons and choices by bounds, and bring comparisons into one spelling.

A comparison of integers says something about the difference of its sides, a sum: common terms
cancel, common factors divide out, and a part that cannot change the outcome is dropped.
"""

from __future__ import annotations

from math import gcd

from tg_uop.dtype.dtype import wrap_int
from tg_uop.ir.ops import GroupOp, Ops
from tg_uop.ir.uop import UOp
from tg_uop.rewrite.matcher import PatternMatcher, rule
from tg_uop.rewrite.pattern import UPat
from tg_uop.rules.constants import (
    INTEGERS,
    WHOLE,
    constant_like,
    integer_constant,
    may_be_invalid,
)
from tg_uop.rules.linear import (
    Linear,
    can_write,
    fits,
    in_order,
    is_always_below,
    linear,
    write,
    write_sum,
)
from tg_uop.rules.logic import negation

X = UPat.var("x")
Y = UPat.var("y")
INT_X = UPat.var("x", INTEGERS)
DECIDED = (GroupOp.ALU - {Ops.THREEFRY, Ops.POW}) | {Ops.CAST}


@rule(UPat(DECIDED, WHOLE, name="node"), law="x in [c, c] means x == c")
def single_value(node: UOp) -> UOp | None:
    """Integers and bools. A value that may be Invalid stays, bounds do not tell of it."""
    low, high = node.bounds
    if low != high or any(map(may_be_invalid, node.src)):
        return None
    return constant_like(node, low)


@rule(UPat(Ops.MAX, WHOLE, src=(X, Y)), law="max(x, y) == x if x >= y")
def maximum_by_bounds(x: UOp, y: UOp) -> UOp | None:
    """Integers."""
    if x.vmin >= y.vmax:
        return x
    return y if y.vmin >= x.vmax else None


FLIPPED = UPat(Ops.XOR, src=(X, UPat.cvar("ones")))


@rule(
    UPat(Ops.XOR, INTEGERS, src=(UPat(Ops.MAX, src=(FLIPPED, Y)), UPat.cvar("ones"))),
    law="~max(~x, y) == min(x, ~y)",
)
def minimum_by_bounds(x: UOp, y: UOp, ones: UOp) -> UOp | None:
    """Integers: x where it is the smaller one. The minimum is written with all bits flipped."""
    value = integer_constant(ones)
    if value != (ones.dtype.scalar().max if ones.dtype.is_unsigned else -1):
        return None
    other = integer_constant(y)
    if other is not None:
        low = high = wrap_int(other ^ value, y.dtype)
    elif y.op is Ops.XOR and y.src[1] is ones:
        low, high = (int(bound) for bound in y.src[0].bounds)
    else:
        return None
    if x.vmax <= low:
        return x
    return y ^ ones if high <= x.vmin else None


# *** comparison of sums ***


def _terms_exact(x: UOp, y: UOp) -> Linear:
    """x - y as a sum."""
    return linear(x).plus(linear(y), -1)


def _ceil_div(value: int, divisor: int) -> int:
    return -(-value // divisor)


@rule(UPat(Ops.CMPLT, src=(INT_X, Y), name="node"), law="x < y  is  x - y < 0")
def less_than(node: UOp, x: UOp, y: UOp) -> UOp | None:
    """One spelling: positive terms left, negative ones right, or else the constant right.

    A bound from below is spelled not(sum < constant).
    """
    difference = _terms_exact(x, y)
    if not difference.terms:
        return constant_like(node, difference.constant < 0)
    if _is_symbolic(x, y) and is_always_below(difference, Linear({})):
        return constant_like(node, True)
    positive, negative, limit = _tightened(difference)
    if not positive:
        # -sum < limit  is  sum > -limit  is  not sum < 1 - limit
        if not _writable(negative, x) or not fits(1 - limit, 1 - limit, x.dtype):
            return None
        opposite = _less(negative, {}, 1 - limit, x)
        return negation(opposite)
    if not negative:
        if not _writable(positive, x) or not fits(limit, limit, x.dtype):
            return None
        return _less(positive, {}, limit, x)
    if not (_writable(positive, x) and can_write(Linear(negative, limit), x.dtype)):
        return None
    return _less(positive, negative, limit, x)


def _is_symbolic(x: UOp, y: UOp) -> bool:
    """Whether no side is a number, so that bounds alone may not decide."""
    return x.op is not Ops.CONST and y.op is not Ops.CONST


def _less(left: dict[UOp, int], right: dict[UOp, int], limit: int, like: UOp) -> UOp:
    lower = write_sum(like.dtype, left, 0, like)
    upper = write_sum(like.dtype, right, limit, like)
    return lower.alu(Ops.CMPLT, upper)


def _writable(terms: dict[UOp, int], like: UOp) -> bool:
    return can_write(Linear(terms), like.dtype)


def _tightened(difference: Linear) -> tuple[dict[UOp, int], dict[UOp, int], int]:
    """difference < 0 as positive < negative + limit, without what does not matter."""
    limit = -difference.constant
    terms = difference.terms
    while True:
        common = gcd(*terms.values())
        if common > 1:
            terms = {term: c // common for term, c in terms.items()}
            limit = _ceil_div(limit, common)
        smaller = _without_small_part(terms, limit)
        if smaller is None:
            break
        terms, limit = smaller
    positive = {term: c for term, c in terms.items() if c > 0}
    negative = {term: -c for term, c in terms.items() if c < 0}
    return positive, negative, limit


def _without_small_part(terms: dict[UOp, int], limit: int) -> tuple[dict[UOp, int], int] | None:
    """g*p + r < limit  is  p < k, where (limit - r) / g rounded up is always k."""
    for g in sorted({abs(c) for c in terms.values() if abs(c) > 1}, reverse=True):
        part = {term: c // g for term, c in terms.items() if c % g == 0}
        rest = Linear({term: c for term, c in terms.items() if c % g})
        low, high = rest.bounds()
        k = _ceil_div(limit - low, g)
        if rest.terms and k == _ceil_div(limit - high, g):
            return part, k
    return None


@rule(
    UPat(Ops.CMPLT, src=(UPat(Ops.IDIV, src=(INT_X, UPat.cvar("d"))), UPat.cvar("c")), name="node"),
    law="x / d < c  is  x < c*d",
)
def quotient_less_than(node: UOp, x: UOp, d: UOp, c: UOp) -> UOp | None:
    """For d > 0. Division truncates: below a c that is not positive it is x < (c-1)*d + 1."""
    divisor, limit = integer_constant(d), integer_constant(c)
    if divisor is None or limit is None or divisor <= 0:
        return None
    bound = limit * divisor if limit > 0 else (limit - 1) * divisor + 1
    if not fits(bound, bound, x.dtype):
        return None
    return x.alu(Ops.CMPLT, UOp.const(x.dtype, bound))


@rule(UPat((Ops.CMPNE, Ops.CMPEQ), src=(INT_X, Y), name="node"), law="x == y  is  x - y == 0")
def equal(node: UOp, x: UOp, y: UOp) -> UOp | None:
    """One spelling, as for `less_than`; decided where a common factor does not divide."""
    difference = _terms_exact(x, y)
    limit = -difference.constant
    is_equal = node.op is Ops.CMPEQ
    if not difference.terms:
        return constant_like(node, (limit == 0) is is_equal)
    common = difference.content()
    if limit % common or _remainder_is_other(difference.terms, limit):
        return constant_like(node, not is_equal)
    if difference.terms[in_order(difference.terms)[0]] < 0:
        common = -common
    limit //= common
    terms = {term: c // common for term, c in difference.terms.items()}
    left = Linear({term: c for term, c in terms.items() if c > 0})
    right = Linear({term: -c for term, c in terms.items() if c < 0})
    if right.terms and limit < 0:
        left.constant = -limit
    else:
        right.constant = limit
    if not (can_write(left, x.dtype) and can_write(right, x.dtype)):
        return None
    return write(left, x).alu(node.op, write(right, x))


def _remainder_is_other(terms: dict[UOp, int], limit: int) -> bool:
    """Whether g*p + r == limit has no solution: no r leaves the remainder of limit modulo g."""
    for g in {abs(c) for c in terms.values() if abs(c) > 1}:
        low, high = Linear({term: c for term, c in terms.items() if c % g}).bounds()
        if (limit - low) % g > high - low:
            return True
    return False


BOUNDS = PatternMatcher(
    [single_value, maximum_by_bounds, minimum_by_bounds],
    pure=True,
)
COMPARISON = PatternMatcher(
    [quotient_less_than, less_than, equal],
    pure=True,
)
