"""Read integer expressions as sums: a number for each atom, and a constant."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tg_uop import Invalid, Ops, UOp, dtypes

# what a sum is made of; anything else is an atom
_SUM_OPS = frozenset((Ops.ADD, Ops.SUB, Ops.NEG, Ops.MUL))


@dataclass(frozen=True, slots=True)
class Sum:
    """`constant + sum(factor * atom)`; no factor is 0."""

    factors: dict[UOp, int]
    constant: int

    def node(self) -> UOp:
        """The sum as an expression, its constant outermost."""
        total: UOp | None = None
        for atom, factor in self.factors.items():
            term = atom if factor == 1 else atom * factor
            total = term if total is None else total + term
        if total is None:
            return UOp.const(dtypes.weakint, self.constant)
        return total if self.constant == 0 else total + self.constant


def number_of(node: UOp) -> int | None:
    """The value of an integer constant."""
    if node.op is Ops.CONST and node.arg is not Invalid and isinstance(node.arg, int):
        return node.arg
    return None


def is_sum(node: UOp) -> bool:
    """Whether a node adds or scales index expressions."""
    if node.dtype != dtypes.weakint or node.op not in _SUM_OPS:
        return False
    return node.op is not Ops.MUL or any(number_of(s) is not None for s in node.src)


def sum_of(node: UOp) -> Sum:
    """The sum that an integer expression is."""
    factors: dict[UOp, int] = {}
    constant = 0
    stack = [(node, 1)]
    while stack:
        part, factor = stack.pop()
        number = number_of(part)
        if number is not None:
            constant += factor * number
        elif not is_sum(part):
            factors[part] = factors.get(part, 0) + factor
        elif part.op is Ops.MUL:
            left, right = part.src
            scale = number_of(right)
            if scale is None:
                left, scale = right, number_of(left)
            assert scale is not None, "is_sum has found a constant"
            stack.append((left, factor * scale))
        else:
            sign = -1 if part.op in (Ops.SUB, Ops.NEG) else 1
            for position, operand in reversed(list(enumerate(part.src))):
                negated = part.op is Ops.NEG or (part.op is Ops.SUB and position == 1)
                stack.append((operand, factor * sign if negated else factor))
    return Sum({atom: f for atom, f in factors.items() if f}, constant)


def sum_roots(order: Iterable[UOp]) -> dict[UOp, None]:
    """The integer expressions that something else than a sum uses: where sums end."""
    roots: dict[UOp, None] = {}
    for node in order:
        if is_sum(node):
            continue
        for operand in node.src:
            if operand.dtype == dtypes.weakint:
                roots[operand] = None
    return roots
