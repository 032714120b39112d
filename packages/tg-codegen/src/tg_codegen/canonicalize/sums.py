"""Find the integer sums of a kernel: expressions that something else than a sum uses."""

from __future__ import annotations

from collections.abc import Iterable

from tg_uop import Invalid, Ops, UOp, dtypes
from tg_uop.rules.linear import term_and_factor

_ORDERING = frozenset((Ops.END, Ops.REDUCE, Ops.AFTER))
_SUM_OPS = frozenset((Ops.ADD, Ops.SUB, Ops.NEG))


def number_of(node: UOp) -> int | None:
    """The value of an integer constant."""
    if node.op is Ops.CONST and node.arg is not Invalid and isinstance(node.arg, int):
        return node.arg
    return None


def is_sum(node: UOp) -> bool:
    """Whether a node adds index expressions, or scales one."""
    if node.dtype != dtypes.weakint:
        return False
    if node.op is Ops.MUL:
        return term_and_factor(node)[0] is not node
    return node.op in _SUM_OPS


def sum_roots(order: Iterable[UOp]) -> dict[UOp, None]:
    """The integer expressions that something else than a sum uses: where sums end."""
    roots: dict[UOp, None] = {}
    for node in order:
        if is_sum(node):
            continue
        # loops that are closed or waited for are no values
        for operand in node.src[:1] if node.op in _ORDERING else node.src:
            if operand.dtype == dtypes.weakint:
                roots[operand] = None
    return roots
