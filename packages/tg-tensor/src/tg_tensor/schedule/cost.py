"""What a value costs when it is computed inside of the kernel that uses it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tg_uop import GroupOp, Ops, UOp

LIMIT = 1_000_000
"""Above this, costs are all the same: large."""

COUNTING = 2
"""What is left of a sum that counts steps of a loop."""

OP_COST = {
    Ops.EXP2: 12,
    Ops.LOG2: 14,
    Ops.SIN: 30,
    Ops.POW: 40,
    Ops.SQRT: 4,
    Ops.FDIV: 4,
    Ops.RECIPROCAL: 4,
    Ops.IDIV: 8,
    Ops.MOD: 8,
    Ops.THREEFRY: 120,
    Ops.CAST: 1,
    Ops.BITCAST: 0,
}
"""Relative costs of operations; what is not listed costs 1. A load from memory counts as 1 too."""


class Cost(NamedTuple):
    """The work for one element of a value down to what is in memory.

    `reduces` tells that a reduction is among it whose result is not in memory.
    `constant` tells that no memory is read at all. `depth` is the longest chain of operations.
    """

    ops: int
    loads: int
    reduces: bool
    constant: bool
    depth: int = 0


FREE = Cost(0, 0, False, True)
IN_MEMORY = Cost(0, 1, False, False)
MOVEMENT = GroupOp.Movement
PASSES = frozenset((Ops.RESHAPE, Ops.PERMUTE, Ops.SHRINK, Ops.FLIP))
LEAVES = frozenset(
    (Ops.BUFFER, Ops.BUFFER_VIEW, Ops.AFTER, Ops.COPY, Ops.PARAM, Ops.GETTUPLE, Ops.CONTIGUOUS)
)
SCALARS = frozenset((Ops.CONST, Ops.DEFINE_VAR, Ops.BIND, Ops.DEVICE))


DEAR = 1000
"""Work on constants that is worth memory. Of a longer chain a piece of this length goes there, and
no node of a piece has to be looked at again."""

LONGEST_CHAIN = 500
"""Longer chains of operations are cut: a compiler's time grows faster than the length."""


def costs_of(order: Iterable[UOp], forced: set[UOp], users: Mapping[UOp, int]) -> dict[UOp, Cost]:
    """The cost of every node of `order` (operands first) from what is predicted to be in memory.

    A reduction whose result is used more than once, or is used expanded, is predicted to be in
    memory for those who use it. Where a chain becomes too long, or a value of constants too dear, a
    node is added to `forced`.
    """
    costs: dict[UOp, Cost] = {}
    seen_as: dict[UOp, Cost] = {}
    for node in order:
        cost = _cost(node, seen_as)
        costs[node] = cost
        is_long = cost.ops > DEAR if cost.constant else cost.depth >= LONGEST_CHAIN
        if is_long and node.op in GroupOp.ALU:
            forced.add(node)
        stored = node in forced or (cost.reduces and users.get(node, 0) > 1)
        seen_as[node] = IN_MEMORY if stored else cost
    return costs


def _cost(node: UOp, below: Mapping[UOp, Cost]) -> Cost:
    op = node.op
    if op in LEAVES:
        return IN_MEMORY
    if op in SCALARS:
        return FREE
    if op in PASSES:
        return below[node.src[0]]
    if op is Ops.EXPAND:
        return _expanded(below[node.src[0]])
    if op is Ops.PAD:
        source = below[node.src[0]]
        return source._replace(ops=min(source.ops + 1, LIMIT))
    if op is Ops.REDUCE:
        source = below[node.src[0]]
        constant = source.constant
        # a sum over constants counts something: it collapses to index arithmetic
        ops = COUNTING if constant else LIMIT
        return Cost(ops, source.loads, not constant, constant, source.depth + 1)
    if op in GroupOp.Elementwise:
        return _together(node, below)
    return IN_MEMORY


def _expanded(source: Cost) -> Cost:
    """What those pay who use a value expanded.

    The value is better computed once before it is expanded than with each of its users: whether it
    is, is decided for itself. So its work is no reason to keep what its users compute from it.
    """
    if source.constant:
        return source
    return IN_MEMORY if source.reduces else Cost(0, 1, False, False, source.depth)


def _together(node: UOp, below: Mapping[UOp, Cost]) -> Cost:
    ops = OP_COST.get(node.op, 1)
    loads = 0
    reduces = False
    constant = True
    depth = 0
    for operand in dict.fromkeys(node.src):
        cost = below[operand]
        ops += cost.ops
        loads += cost.loads
        reduces = reduces or cost.reduces
        constant = constant and cost.constant
        depth = max(depth, cost.depth)
    return Cost(min(ops, LIMIT), min(loads, LIMIT), reduces, constant, depth + 1)
