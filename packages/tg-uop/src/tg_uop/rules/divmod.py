"""Laws of integer division and remainder, by way of the dividend as a sum of terms.

Everything rests on a split of the dividend: x == d * q + r with a remainder r whose bounds are
known. Division truncates, so a law of floor division is used only where the dividend cannot be
negative. Dividends are sums of numbers, not of numbers modulo a width (see `linear`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import gcd

from tg_uop.dtype.dtype import dtypes
from tg_uop.ir.ops import Ops
from tg_uop.ir.uop import UOp
from tg_uop.rewrite.matcher import PatternMatcher, rule
from tg_uop.rewrite.pattern import UPat
from tg_uop.rules.constants import INTEGERS, constant_like, integer_constant
from tg_uop.rules.linear import (
    Linear,
    can_write,
    fits,
    is_always_below,
    linear,
    term_and_factor,
    write,
)

X = UPat.var("x")
DIVISOR = UPat.cvar("divisor")
INT_X = UPat.var("x", INTEGERS)


def divide(x: UOp, divisor: int) -> UOp:
    """IDIV by a constant, the divisor 1 left out."""
    return x if divisor == 1 else x.alu(Ops.IDIV, UOp.const(x.dtype, divisor))


def remainder(x: UOp, divisor: int) -> UOp:
    """MOD by a constant."""
    return x.alu(Ops.MOD, UOp.const(x.dtype, divisor))


# *** splitting the dividend ***


def nearest_residue(value: int, divisor: int) -> int:
    """The number of least size that leaves the same remainder; positive where two are as near."""
    residue = value % divisor
    return residue - divisor if 2 * residue > divisor else residue


def _truncated_residue(value: int, divisor: int) -> int:
    residue = abs(value) % divisor
    return -residue if value < 0 else residue


def residues(value: Linear, divisor: int, residue: Callable[[int, int], int]) -> Linear:
    """What is left of each coefficient, and of the constant, after whole multiples of `divisor`."""
    result = Linear({}, value.constant % divisor)
    for term, c in value.terms.items():
        result.add(term, residue(c, divisor))
    return result


def constant_quotient(value: Linear, divisor: int) -> int | None:
    """floor(value / divisor) if it is the same number for every value."""
    low, high = value.bounds()
    quotient = low // divisor
    return quotient if quotient == high // divisor else None


def splits(value: Linear, divisor: int) -> Iterator[tuple[Linear, Linear]]:
    """(q, r) with value == divisor * q + r, for different choices of r."""
    choices = (lambda v, d: v % d, nearest_residue)
    for residue in choices:
        rest = residues(value, divisor, residue)
        yield value.plus(rest, -1).divided(divisor), rest


def divisors_within(value: Linear, divisor: int) -> list[int]:
    """Numbers between 1 and `divisor` that divide it and some coefficient; the largest first."""
    found = {gcd(c, divisor) for c in value.terms.values()}
    return sorted((g for g in found if 1 < g < divisor), reverse=True)


def multiples(value: Linear, factor: int) -> tuple[Linear, Linear]:
    """(q, r) with value == factor * q + r, where r has the terms that factor does not divide."""
    quotient = Linear({}, value.constant // factor)
    rest = Linear({}, value.constant % factor)
    for term, c in value.terms.items():
        if c % factor:
            rest.terms[term] = c
        else:
            quotient.terms[term] = c // factor
    return quotient, rest


# *** division by a positive constant ***


@rule(UPat(Ops.IDIV, src=(INT_X, DIVISOR), name="node"), law="(d*q + r) / d == q + r / d")
def divide_sum(node: UOp, x: UOp, divisor: UOp) -> UOp | None:
    """See the functions tried: each has its law."""
    d = integer_constant(divisor)
    if d is None or abs(d) < 2:
        return None
    if d < 0:
        # the quotient changes its sign; -1 times it cannot wrap, since |quotient| < |x|
        positive_fits = fits(-d, -d, node.dtype)
        return divide(x, -d) * UOp.const(x.dtype, -1) if positive_fits else None
    value = linear(x)
    result = _divide_exactly(node, value, d)
    if result is not None:
        return result
    if x.vmin < 0:
        return _divide_negative(node, x, value, d) if x.vmax <= 0 else None
    for attempt in (_whole_quotient, _divide_nested, _cancel_divisor, _take_out_multiples):
        result = attempt(node, value, d)
        if result is not None:
            return result
    return None


def written(value: Linear, node: UOp) -> UOp | None:
    """The sum in the dtype of `node`, None if a part of it might wrap there."""
    return write(value, node) if can_write(value, node.dtype) else None


def _divide_exactly(node: UOp, value: Linear, d: int) -> UOp | None:
    """g*y / g*d == y / d, whatever the sign."""
    common = gcd(d, value.constant, *value.terms.values())
    if common == 1:
        return None
    smaller = written(value.divided(common), node)
    return None if smaller is None else divide(smaller, d // common)


def _divide_negative(node: UOp, x: UOp, value: Linear, d: int) -> UOp | None:
    """x / d == -(-x / d), where x is never positive."""
    positive = written(value.scaled(-1), node)
    if positive is None or not fits(-int(x.vmin), -int(x.vmin), node.dtype):
        return None
    return divide(positive, d) * UOp.const(node.dtype, -1)


def _whole_quotient(node: UOp, value: Linear, d: int) -> UOp | None:
    """(d*q + r) / d == q + k, where r / d is always k."""
    for quotient, rest in splits(value, d):
        k = constant_quotient(rest, d)
        if k is not None:
            result = written(quotient.shifted(k), node)
            if result is not None:
                return result
    return None


def _cancel_divisor(node: UOp, value: Linear, d: int) -> UOp | None:
    """(g*y + r) / (g*d) == (y + k) / d, where r / g is always k."""
    for g in divisors_within(value, d):
        quotient, rest = multiples(value, g)
        k = constant_quotient(rest, g)
        if k is None:
            continue
        smaller = written(quotient.shifted(k), node)
        if smaller is not None and smaller.vmin >= 0:
            return divide(smaller, d // g)
    return None


def _take_out_multiples(node: UOp, value: Linear, d: int) -> UOp | None:
    """(d*q + r) / d == q + r / d, with r made not negative."""
    quotient, rest = multiples(value, d)
    low, _ = rest.bounds()
    borrowed = -(low // d) if low < 0 else 0
    quotient, rest = quotient.shifted(-borrowed), rest.shifted(borrowed * d)
    if not quotient.terms and not quotient.constant:
        return None
    smaller = written(rest, node)
    if smaller is None or smaller.vmin < 0:
        return None
    quotient.add(divide(smaller, d), 1)
    return written(quotient, node)


def _divide_nested(node: UOp, value: Linear, d: int) -> UOp | None:
    """(x/c + k) / d == (x + c*k) / (c*d), and (x mod c*d) / d == (x/d) mod c, for x >= 0."""
    if len(value.terms) != 1:
        return None
    ((term, c),) = value.terms.items()
    inner = integer_constant(term.src[1]) if term.op in (Ops.IDIV, Ops.MOD) else None
    if inner is None or inner <= 0 or c != 1 or term.src[0].vmin < 0:
        return None
    x = term.src[0]
    if term.op is Ops.IDIV:
        if not fits(inner * d, inner * d, node.dtype):
            return None
        dividend = written(linear(x).shifted(value.constant * inner), node)
        if dividend is None or dividend.vmin < 0:
            return None
        return divide(dividend, inner * d)
    if value.constant or inner % d:
        return None
    return remainder(divide(x, d), inner // d)


@rule(
    UPat(Ops.IDIV, src=(UPat(Ops.IDIV, src=(INT_X, UPat.cvar("inner"))), DIVISOR), name="node"),
    law="(x / c) / d == x / (c*d)",
)
def divide_twice(node: UOp, x: UOp, inner: UOp, divisor: UOp) -> UOp | None:
    """Whatever the signs: both truncate. If c*d does not fit, no quotient but 0 is left."""
    c, d = integer_constant(inner), integer_constant(divisor)
    if not c or not d:
        return None
    if not fits(c * d, c * d, node.dtype):
        lowest = node.dtype.scalar().min
        return constant_like(node, 0) if c > 0 and d > 0 and -lowest < c * d else None
    return divide(x, c * d)


# *** remainder by a positive constant ***


@rule(UPat(Ops.MOD, src=(INT_X, DIVISOR), name="node"), law="(d*q + r) mod d == r mod d")
def reduce_sum(node: UOp, x: UOp, divisor: UOp) -> UOp | None:
    """See the functions tried: each has its law."""
    d = integer_constant(divisor)
    if d is None or d < 2:
        return None
    value = linear(x)
    result = _common_factor_out(node, value, d)
    if result is not None:
        return result
    if x.vmin < 0:
        return _reduce_negative(node, x, value, d) if x.vmax <= 0 else None
    for attempt in (_whole_remainder, _factor_out, _reduce_coefficients):
        result = attempt(node, value, d)
        if result is not None:
            return result
    return None


def _common_factor_out(node: UOp, value: Linear, d: int) -> UOp | None:
    """g*y mod g*d == g * (y mod d), whatever the sign."""
    common = gcd(d, value.constant, *value.terms.values())
    if common == 1:
        return None
    if common == d:
        return constant_like(node, 0)
    smaller = written(value.divided(common), node)
    if smaller is None:
        return None
    return remainder(smaller, d // common) * UOp.const(node.dtype, common)


def _reduce_negative(node: UOp, x: UOp, value: Linear, d: int) -> UOp | None:
    """x mod d == -(-x mod d), where x is never positive."""
    positive = written(value.scaled(-1), node)
    if positive is None or not fits(-int(x.vmin), -int(x.vmin), node.dtype):
        return None
    return remainder(positive, d) * UOp.const(node.dtype, -1)


def _whole_remainder(node: UOp, value: Linear, d: int) -> UOp | None:
    """(d*q + r) mod d == r - d*k, where r / d is always k."""
    for _, rest in splits(value, d):
        k = constant_quotient(rest, d)
        if k is not None:
            result = written(rest.shifted(-k * d), node)
            if result is not None:
                return result
    return None


def _factor_out(node: UOp, value: Linear, d: int) -> UOp | None:
    """(g*y + r) mod g*d == g * ((y + k) mod d) + r - g*k, where r / g is always k."""
    for g in divisors_within(value, d):
        quotient, rest = multiples(value, g)
        k = constant_quotient(rest, g)
        if k is None:
            continue
        smaller = written(quotient.shifted(k), node)
        if smaller is None or smaller.vmin < 0:
            continue
        result = rest.shifted(-g * k)
        result.add(remainder(smaller, d // g), g)
        spelled = written(result, node)
        if spelled is not None:
            return spelled
    return None


def _reduce_coefficients(node: UOp, value: Linear, d: int) -> UOp | None:
    """Multiples of d and inner remainders that d does not need are dropped."""
    rest = residues(_without_inner_remainders(value, d), d, _truncated_residue)
    low, _ = rest.bounds()
    if low < 0:
        rest = rest.shifted(-(low // d) * d)
    if rest.terms == value.terms and rest.constant == value.constant:
        return None
    smaller = written(rest, node)
    if smaller is None or smaller.vmin < 0:
        return None
    result = remainder(smaller, d)
    return None if result is node else result


def _without_inner_remainders(value: Linear, d: int) -> Linear:
    """a * (t mod m)  becomes  a * t  where d divides a * m."""
    result = Linear({}, value.constant)
    for term, c in value.terms.items():
        inner = integer_constant(term.src[1]) if term.op is Ops.MOD else None
        if inner is not None and inner > 0 and c * inner % d == 0 and term.src[0].vmin >= 0:
            result = result.plus(linear(term.src[0]), c)
        else:
            result.add(term, c)
    return result


# *** division by a symbolic size ***


def is_below(r: UOp, d: UOp) -> bool:
    """Whether 0 <= r < d, for a divisor that is no constant."""
    return r.vmin >= 0 and is_always_below(linear(r), linear(d))


def _split_by_symbol(x: UOp, d: UOp) -> tuple[Linear, Linear] | None:
    """(q, r) with x == d * q + r, taking the terms that have the factors of d."""
    base, multiple = term_and_factor(d)
    wanted = base.split_uop(Ops.MUL)
    quotient, rest = Linear({}), Linear({})
    value = linear(x)
    rest.constant = value.constant
    for term, c in value.terms.items():
        others = None if c % multiple else _without_factors(term.split_uop(Ops.MUL), wanted)
        if others is None:
            rest.add(term, c)
        elif not others:
            quotient.constant += c // multiple
        else:
            quotient.add(_product(others), c // multiple)
    if not quotient.terms and not quotient.constant:
        return None
    return quotient, rest


def _without_factors(factors: list[UOp], wanted: list[UOp]) -> list[UOp] | None:
    """The factors but for those wanted, None if one of these is not there."""
    left = list(factors)
    for factor in wanted:
        if factor not in left:
            return None
        left.remove(factor)
    return left


def _product(factors: list[UOp]) -> UOp:
    result = factors[0]
    for factor in factors[1:]:
        result = result * factor
    return result


@rule(
    UPat((Ops.IDIV, Ops.MOD), dtypes.weakint, src=(X, UPat.var("d")), name="node"),
    law="(d*q + r) / d == q + r / d",
)
def divide_by_symbol(node: UOp, x: UOp, d: UOp) -> UOp | None:
    """Exact integers, divisor positive, dividend and r not negative; the remainder likewise."""
    if d.op is Ops.CONST or d.vmin <= 0 or x.vmin < 0:
        return None
    if is_below(x, d):
        return constant_like(node, 0) if node.op is Ops.IDIV else x
    found = _split_by_symbol(x, d)
    if found is None:
        return None
    quotient, rest = found
    smaller = write(rest, node)
    if smaller.vmin < 0:
        return None
    if node.op is Ops.MOD:
        return smaller.alu(Ops.MOD, d)
    return write(quotient, node) + smaller.alu(Ops.IDIV, d)


DIVISION = PatternMatcher(
    [divide_twice, divide_sum, divide_by_symbol, reduce_sum],
    pure=True,
)


def simplified(node: UOp) -> UOp:
    """A quotient or remainder as the rules of this file write it."""
    for _ in range(8):
        if node.op not in (Ops.IDIV, Ops.MOD):
            return node
        shorter = DIVISION.rewrite(node)
        if shorter is None:
            return node
        node = shorter
    return node
