"""Fold index arithmetic while nodes are copied: constants meet as soon as a range has a value.

Only weakint and bool nodes are folded, both exact. A sum keeps its constant outermost, as
`ADD(rest, constant)`, and a vector that counts in steps keeps the form `splat + constants`, so
that neighbouring copies share everything but the constant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tg_uop import DType, Invalid, Ops, UOp, dtypes

Lanes = tuple[int, ...]


def _truncated_quotient(x: int, y: int) -> int:
    if y == 0:
        return 0
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def _truncated_remainder(x: int, y: int) -> int:
    return x - y * _truncated_quotient(x, y) if y else 0


MEANING: dict[Ops, Callable[[int, int], int]] = {
    Ops.ADD: lambda x, y: x + y,
    Ops.SUB: lambda x, y: x - y,
    Ops.MUL: lambda x, y: x * y,
    Ops.MAX: max,
    Ops.IDIV: _truncated_quotient,
    Ops.MOD: _truncated_remainder,
    Ops.SHL: lambda x, y: x << y,
    Ops.SHR: lambda x, y: x >> y,
    Ops.AND: lambda x, y: x & y,
    Ops.OR: lambda x, y: x | y,
    Ops.XOR: lambda x, y: x ^ y,
    Ops.CMPLT: lambda x, y: x < y,
    Ops.CMPNE: lambda x, y: x != y,
    Ops.CMPEQ: lambda x, y: x == y,
}


class Affine(NamedTuple):
    """A vector of integers: the same scalar in all lanes (None for 0) plus a constant in each."""

    base: UOp | None
    steps: Lanes


def folded(op: Ops, dtype: DType, src: tuple[UOp, ...], arg: object = None) -> UOp:
    """The node with these fields, or an equal one with less to compute."""
    if dtype.scalar() in _EXACT:
        found = _fold(op, dtype, src)
        if found is not None:
            return found
    return UOp(op, dtype, src, arg)


_EXACT = frozenset((dtypes.weakint, dtypes.bool))


def _fold(op: Ops, dtype: DType, src: tuple[UOp, ...]) -> UOp | None:
    if op is Ops.WHERE:
        return _choose(src)
    if op in MEANING:
        if dtype.count > 1:
            return _fold_vector(op, dtype, src)
        return _fold_scalar(op, dtype, src)
    if op is Ops.NEG and dtype.scalar() == dtypes.weakint:
        return folded(Ops.MUL, dtype, (src[0], UOp.const(dtype, -1)))
    return None


def _choose(src: tuple[UOp, ...]) -> UOp | None:
    condition, chosen, other = src
    if condition.op is Ops.CONST:
        return chosen if condition.arg else other
    return chosen if chosen is other else None


def number_of(node: UOp) -> int | None:
    """The value of an integer or bool constant."""
    if node.op is Ops.CONST and node.arg is not Invalid and isinstance(node.arg, int):
        return node.arg
    return None


# *** scalars ***


def _fold_scalar(op: Ops, dtype: DType, src: tuple[UOp, ...]) -> UOp | None:
    left, right = src
    x, y = number_of(left), number_of(right)
    if x is not None and y is not None:
        return UOp.const(dtype, MEANING[op](x, y))
    if dtype == dtypes.bool:
        return _fold_condition(op, left, right, x, y)
    if op is Ops.ADD:
        return _sum(left, right)
    if op is Ops.SUB:
        return _sum(left, times(right, -1))
    if op is Ops.MUL and y is not None:
        return times(left, y)
    if op is Ops.MUL and x is not None:
        return times(right, x)
    if op in (Ops.IDIV, Ops.MOD) and y is not None and y > 0:
        return _divide(op, left, y)
    return None


def _fold_condition(op: Ops, left: UOp, right: UOp, x: int | None, y: int | None) -> UOp | None:
    if op in (Ops.AND, Ops.OR):
        for constant, other in ((x, right), (y, left)):
            if constant is not None:
                decided = bool(constant) is (op is Ops.OR)
                return UOp.const(dtypes.bool, bool(constant)) if decided else other
        return left if left is right else None
    if left.dtype.scalar() not in _EXACT:
        return None
    condition = UOp(op, dtypes.bool, (left, right))
    low, high = condition.bounds
    return UOp.const(dtypes.bool, bool(low)) if low == high else None


def split_constant(node: UOp) -> tuple[UOp | None, int]:
    """A sum as what varies (None for nothing) and its constant."""
    constant = number_of(node)
    if constant is not None:
        return None, constant
    if node.op is Ops.ADD:
        constant = number_of(node.src[1])
        if constant is not None:
            return node.src[0], constant
    return node, 0


def plus(rest: UOp | None, constant: int) -> UOp:
    """`rest + constant`, the constant outermost."""
    if rest is None:
        return UOp.const(dtypes.weakint, constant)
    if constant == 0:
        return rest
    return UOp(Ops.ADD, rest.dtype, (rest, UOp.const(rest.dtype, constant)))


def _sum(left: UOp, right: UOp) -> UOp:
    x, a = split_constant(left)
    y, b = split_constant(right)
    if x is None:
        return plus(y, a + b)
    if y is None:
        return plus(x, a + b)
    return plus(UOp(Ops.ADD, x.dtype, (x, y)), a + b)


def times(node: UOp, factor: int) -> UOp:
    """`node * factor`, distributed over a sum's constant."""
    if factor == 0:
        return UOp.const(dtypes.weakint, 0)
    if factor == 1:
        return node
    rest, constant = split_constant(node)
    if rest is None:
        return plus(None, constant * factor)
    if rest.op is Ops.MUL:
        inner = number_of(rest.src[1])
        if inner is not None:
            return plus(times(rest.src[0], inner * factor), constant * factor)
    scaled = UOp(Ops.MUL, rest.dtype, (rest, UOp.const(rest.dtype, factor)))
    return plus(scaled, constant * factor)


def known_factor(node: UOp) -> int:
    """A positive number that divides every value of `node`, as far as its form shows."""
    if node.op is Ops.MUL:
        factor = number_of(node.src[1])
        return max(abs(factor) if factor is not None else 1, 1)
    if node.op is Ops.ADD:
        left, right = (_factor_of_term(s) for s in node.src)
        while right:
            left, right = right, left % right
        return max(left, 1)
    return 1


def _factor_of_term(node: UOp) -> int:
    constant = number_of(node)
    return abs(constant) if constant is not None else known_factor(node)


def _divide(op: Ops, node: UOp, divisor: int) -> UOp | None:
    """(d*x + c) / d  becomes  x + c/d, where nothing is negative; likewise the remainder."""
    if node.vmin >= 0 and node.vmax < divisor:
        return UOp.const(dtypes.weakint, 0) if op is Ops.IDIV else node
    rest, constant = split_constant(node)
    if rest is None or rest.vmin < 0 or constant < 0 or known_factor(rest) % divisor:
        return None
    if op is Ops.MOD:
        return plus(None, constant % divisor)
    quotient = _exact_quotient(rest, divisor)
    return None if quotient is None else plus(quotient, constant // divisor)


def _exact_quotient(node: UOp, divisor: int) -> UOp | None:
    if node.op is Ops.ADD:
        parts = [_exact_quotient(s, divisor) for s in node.src]
        if parts[0] is None or parts[1] is None:
            return None
        return _sum(parts[0], parts[1])
    constant = number_of(node)
    if constant is not None:
        return plus(None, constant // divisor) if constant % divisor == 0 else None
    if node.op is Ops.MUL:
        factor = number_of(node.src[1])
        if factor is not None and factor % divisor == 0:
            return times(node.src[0], factor // divisor)
    return None


# *** vectors ***


def affine(node: UOp) -> Affine | None:
    """An integer vector as base and steps, where it has that form."""
    count = node.dtype.count
    if node.op is Ops.CONST:
        number = number_of(node)
        return None if number is None else Affine(None, (number,) * count)
    if node.op is Ops.VCONST and isinstance(node.arg, tuple):
        if any(part is Invalid for part in node.arg):
            return None
        return Affine(None, node.arg)
    if is_splat(node):
        rest, constant = split_constant(node.src[0])
        return Affine(rest, (constant,) * count)
    if node.op is Ops.ADD and is_splat(node.src[0]):
        steps = affine(node.src[1])
        if steps is not None and steps.base is None:
            rest, constant = split_constant(node.src[0].src[0])
            return Affine(rest, tuple(constant + s for s in steps.steps))
    return None


def is_splat(node: UOp) -> bool:
    """Whether a STACK has the same node in every lane."""
    return node.op is Ops.STACK and all(s is node.src[0] for s in node.src)


def from_affine(value: Affine) -> UOp:
    """The vector as a node: the constant that all lanes share goes into the base."""
    count = len(value.steps)
    shared = min(value.steps)
    steps = tuple(s - shared for s in value.steps)
    dtype = dtypes.weakint.vec(count)
    if value.base is None:
        return UOp.const(dtype, value.steps)
    splat = plus(value.base, shared).broadcast(count)
    if not any(steps):
        return splat
    return UOp(Ops.ADD, dtype, (splat, UOp.const(dtype, steps)))


def _fold_vector(op: Ops, dtype: DType, src: tuple[UOp, ...]) -> UOp | None:
    if all(is_splat(s) or s.op is Ops.CONST for s in src):
        scalars = tuple(_lane(s) for s in src)
        return folded(op, dtype.scalar(), scalars).broadcast(dtype.count)
    left, right = affine(src[0]), affine(src[1])
    if left is None or right is None:
        return None
    if left.base is None and right.base is None:
        pairs = zip(left.steps, right.steps, strict=True)
        return UOp.const(dtype, tuple(MEANING[op](x, y) for x, y in pairs))
    if dtype.scalar() == dtypes.bool:
        return _fold_vector_condition(op, dtype, src)
    combined = _combine(op, left, right)
    return None if combined is None else from_affine(combined)


def _lane(node: UOp) -> UOp:
    return node.src[0] if node.op is Ops.STACK else UOp.const(node.dtype.scalar(), node.arg)


def _fold_vector_condition(op: Ops, dtype: DType, src: tuple[UOp, ...]) -> UOp | None:
    if src[0].dtype.scalar() != dtypes.weakint:
        return None
    low, high = UOp(op, dtype, src).bounds
    return UOp.const(dtype, bool(low)) if low == high else None


def _combine(op: Ops, left: Affine, right: Affine) -> Affine | None:
    if op is Ops.ADD:
        steps = tuple(x + y for x, y in zip(left.steps, right.steps, strict=True))
        return Affine(_optional_sum(left.base, right.base), steps)
    if op is Ops.SUB:
        steps = tuple(x - y for x, y in zip(left.steps, right.steps, strict=True))
        negated = None if right.base is None else times(right.base, -1)
        return Affine(_optional_sum(left.base, negated), steps)
    factor = _uniform(right)
    if op is Ops.MUL and factor is None:
        left, factor = right, _uniform(left)
    if factor is None:
        return None
    if op is Ops.MUL:
        scaled = None if left.base is None else times(left.base, factor)
        return Affine(scaled, tuple(s * factor for s in left.steps))
    if op in (Ops.IDIV, Ops.MOD) and factor > 0:
        return _divide_lanes(op, left, factor)
    return None


def _optional_sum(left: UOp | None, right: UOp | None) -> UOp | None:
    if left is None or right is None:
        return left if right is None else right
    return _sum(left, right)


def _uniform(value: Affine) -> int | None:
    """The number that stands in all lanes."""
    if value.base is not None or min(value.steps) != max(value.steps):
        return None
    return value.steps[0]


def _divide_lanes(op: Ops, value: Affine, divisor: int) -> Affine | None:
    base = value.base
    if base is None or base.vmin < 0 or min(value.steps) < 0:
        return None
    if known_factor(base) % divisor == 0:
        if op is Ops.MOD:
            return Affine(None, tuple(s % divisor for s in value.steps))
        quotient = _exact_quotient(base, divisor)
        if quotient is not None:
            return Affine(quotient, tuple(s // divisor for s in value.steps))
    return None
