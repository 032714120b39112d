"""Sums of products of integers: read a node as one, calculate with it, write it in one spelling.

A sum is written as ((t0 * c0 + t1 * c1) + ...) + constant. Terms of outer loops come first, so that
the prefix which an inner loop does not change is one node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cmp_to_key
from math import gcd

from tg_uop.dtype.dtype import DType, dtypes, wrap_int
from tg_uop.ir.ops import Ops
from tg_uop.ir.uop import UOp
from tg_uop.rules.constants import constant_like

# Sums of more terms are kept in the order in which they stand: sorting each prefix of a long chain
# would take quadratic time.
MAX_TERMS = 64


@dataclass(slots=True)
class Linear:
    """A sum: coefficients by term, and a constant. Zero coefficients are not kept."""

    terms: dict[UOp, int]
    constant: int = 0

    def add(self, term: UOp, coefficient: int) -> None:
        """Add a multiple of a term in place."""
        total = self.terms.get(term, 0) + coefficient
        if total:
            self.terms[term] = total
        else:
            self.terms.pop(term, None)

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        """This sum and a multiple of another."""
        result = Linear(dict(self.terms), self.constant + other.constant * factor)
        for term, coefficient in other.terms.items():
            result.add(term, coefficient * factor)
        return result

    def scaled(self, factor: int) -> Linear:
        """A multiple of this sum."""
        return Linear({}).plus(self, factor)

    def shifted(self, amount: int) -> Linear:
        """This sum and a constant."""
        return Linear(self.terms, self.constant + amount)

    def divided(self, divisor: int) -> Linear:
        """This sum over a number that divides all of it."""
        terms = {term: c // divisor for term, c in self.terms.items()}
        return Linear(terms, self.constant // divisor)

    def bounds(self) -> tuple[int, int]:
        """Lowest and highest value, from those of the terms."""
        low = high = self.constant
        for term, c in self.terms.items():
            first, last = term.bounds
            if c > 0:
                low += c * int(first)
                high += c * int(last)
            else:
                low += c * int(last)
                high += c * int(first)
        return low, high

    def content(self) -> int:
        """The greatest number that divides every coefficient; the constant does not count."""
        return gcd(*self.terms.values())


def term_and_factor(node: UOp) -> tuple[UOp, int]:
    """A product as what it multiplies, and its constant factor."""
    if node.op is Ops.MUL:
        left, right = node.src
        if right.op is Ops.CONST and type(right.arg) is int:
            return left, right.arg
        if left.op is Ops.CONST and type(left.arg) is int:
            return right, left.arg
    return node, 1


def linear(node: UOp, exact: bool = True) -> Linear:
    """The node as a sum, down to terms that are no sums.

    Where `exact`, sums and products of a fixed width that may wrap are terms themselves, so that
    the result holds for the numbers and not only modulo the width. Sums of very many terms are
    opened only so far.
    """
    terms: dict[UOp, int] = {}
    constant = 0
    stack = [(node, 1)]
    opened = 0
    exact = exact and node.dtype.scalar() is not dtypes.weakint
    while stack:
        current, factor = stack.pop()
        op = current.op
        if op is Ops.CONST and type(current.arg) is int:
            constant += current.arg * factor
            continue
        if op in RING and opened <= MAX_TERMS and not (exact and not is_exact(current)):
            if op is Ops.ADD:
                opened += 1
                left, right = current.src
                stack += ((right, factor), (left, factor))
                continue
            if op is Ops.MUL:
                term, coefficient = term_and_factor(current)
                if term is not current:
                    stack.append((term, factor * coefficient))
                    continue
            elif op is Ops.SUB:
                left, right = current.src
                stack += ((right, -factor), (left, factor))
                continue
            else:
                stack.append((current.src[0], -factor))
                continue
        terms[current] = terms.get(current, 0) + factor
    if 0 in terms.values():
        terms = {term: c for term, c in terms.items() if c}
    return Linear(terms, constant)


RING = frozenset((Ops.ADD, Ops.MUL, Ops.SUB, Ops.NEG))


def is_exact(node: UOp) -> bool:
    """Whether this one operation gives the number that mathematics gives: it cannot wrap."""
    dtype = node.dtype.scalar()
    if dtype is dtypes.weakint or node.op not in RING:
        return True
    low, high = _exact_bounds(node)
    return fits(low, high, dtype)


def fits(low: int, high: int, dtype: DType) -> bool:
    """Whether an interval lies within an integer type."""
    scalar = dtype.scalar()
    return scalar is dtypes.weakint or (scalar.min <= low and high <= scalar.max)


def _exact_bounds(node: UOp) -> tuple[int, int]:
    low, high = int(node.src[0].vmin), int(node.src[0].vmax)
    if node.op is Ops.NEG:
        return -high, -low
    other_low, other_high = int(node.src[1].vmin), int(node.src[1].vmax)
    if node.op is Ops.ADD:
        return low + other_low, high + other_high
    if node.op is Ops.SUB:
        return low - other_high, high - other_low
    corners = (low * other_low, low * other_high, high * other_low, high * other_high)
    return min(corners), max(corners)


def upper_bound(value: Linear) -> Linear:
    """A sum that is never below this one, in which loop indices have gone into their sizes.

    A loop index of symbolic size n is at most n - 1, as is a remainder of a division by n > 0.
    """
    result = Linear({}, value.constant)
    for term, c in value.terms.items():
        size = _symbolic_size(term)
        if c > 0 and size is not None:
            result = result.plus(linear(size).shifted(-1), c)
        else:
            result.add(term, c)
    return result


def _symbolic_size(term: UOp) -> UOp | None:
    size: UOp | None = None
    if term.op is Ops.RANGE:
        size = term.range_size
    elif term.op is Ops.MOD and term.src[1].vmin > 0:
        size = term.src[1]
    return None if size is None or size.op is Ops.CONST else size


def is_always_below(left: Linear, right: Linear) -> bool:
    """Whether left < right for all values, loop indices held against their symbolic sizes."""
    difference = left.plus(right, -1)
    return upper_bound(difference).bounds()[1] < 0


# *** the spelling ***


def loop_order(node: UOp) -> tuple[tuple[int, ...], Ops]:
    """Coarse order of terms: by the innermost loop they depend on, then by op."""
    ranges = node.ranges
    if not ranges:
        return (), node.op
    return max([r.range_arg.axis_id for r in ranges]), node.op


def fine_order(node: UOp) -> tuple[str, bytes]:
    """Order among terms that `loop_order` does not tell apart, the same in every process."""
    name = str(node.arg) if not node.src else ""
    return name, node.key


def is_before(left: UOp, right: UOp) -> bool:
    """Whether `left` stands before `right` in a sum or product."""
    first, second = loop_order(left), loop_order(right)
    if first != second:
        return first < second
    return fine_order(left) < fine_order(right)


def _compare(left: UOp, right: UOp) -> int:
    if left is right:
        return 0
    return -1 if is_before(left, right) else 1


by_order = cmp_to_key(_compare)


def in_order(nodes: Iterable[UOp]) -> list[UOp]:
    """Terms or factors in the order of the one spelling."""
    found = list(nodes)
    if len(found) < 2:
        return found
    return sorted(found, key=by_order)


def write_sum(dtype: DType, terms: Mapping[UOp, int], constant: int, like: UOp) -> UOp:
    """The sum in its one spelling; coefficients wrap at the width of `dtype`.

    `like` gives the shape when nothing but a constant is left.
    """
    total: UOp | None = None
    for term in in_order(terms):
        factor = wrap_int(terms[term], dtype)
        if factor == 0:
            continue
        part = term if factor == 1 else UOp(Ops.MUL, dtype, (term, UOp.const(dtype, factor)))
        total = part if total is None else UOp(Ops.ADD, dtype, (total, part))
    offset = wrap_int(constant, dtype)
    if total is None:
        return constant_like(like, offset)
    if offset == 0:
        return total
    return UOp(Ops.ADD, dtype, (total, UOp.const(dtype, offset)))


def write(value: Linear, like: UOp) -> UOp:
    """The sum as a node of the dtype of `like`."""
    return write_sum(like.dtype, value.terms, value.constant, like)


def can_write(value: Linear, dtype: DType) -> bool:
    """Whether the sum and all its parts, written in `dtype`, are exact.

    A term that is itself a sum, one that may wrap, can only stand alone: beside others it would
    be opened when the whole is brought into order.
    """
    scalar = dtype.scalar()
    if scalar is dtypes.weakint:
        return True
    if any(_is_opened(term) for term in value.terms):
        return value.constant == 0 and list(value.terms.values()) == [1]
    low = high = 0
    for term in in_order(value.terms):
        c = value.terms[term]
        first, last = sorted((c * int(term.vmin), c * int(term.vmax)))
        low, high = low + first, high + last
        if not (fits(c, c, scalar) and fits(first, last, scalar) and fits(low, high, scalar)):
            return False
    return fits(low + value.constant, high + value.constant, scalar)


def _is_opened(term: UOp) -> bool:
    """Whether the order of sums looks into this term."""
    if term.op is Ops.MUL:
        return term_and_factor(term)[0] is not term
    return term.op in RING
