"""Drop a choice that gated loads make by themselves: kernel form in, kernel form out.

    where(c, x[i where c and d], 0)    becomes    x[i where c and d]

Also where arithmetic between the loads keeps the 0, as in a product of two of them.
"""

from __future__ import annotations

from collections.abc import Collection

from tg_uop import Ops, UOp

from tg_codegen.canonicalize.conditions import conjuncts
from tg_codegen.linear_index import split_gate

# operations that give 0 when all their operands are 0
_KEEP_ZERO = frozenset((Ops.ADD, Ops.MUL, Ops.MAX, Ops.CAST, Ops.SQRT, Ops.OR, Ops.XOR, Ops.AND))
# larger expressions are not looked through
_MOST_NODES = 64


def drop_repeated_gates(kernel: UOp) -> UOp:
    """The kernel without choices between a value and the 0 that its gates would give."""
    done: dict[UOp, UOp] = {}
    for node in kernel.toposort():
        src = tuple(done[s] for s in node.src)
        fresh = node if src == node.src else node.replace(src=src)
        done[node] = fresh.src[1] if _is_repeated(fresh) else fresh
    return done[kernel]


def _is_repeated(node: UOp) -> bool:
    """Whether a WHERE gives 0 just where its value does."""
    if node.op is not Ops.WHERE or not _is_zero(node.src[2]):
        return False
    condition, chosen = node.src[0], node.src[1]
    return _is_zero_unless(chosen, set(conjuncts(condition)))


def _is_zero_unless(root: UOp, conditions: Collection[UOp]) -> bool:
    """Whether a value is 0 wherever one of the conditions does not hold.

    Each load must have all of the conditions in its gate, so that all are closed together.
    """
    stack = [root]
    seen = {root}
    while stack:
        node = stack.pop()
        if node.op is Ops.INDEX:
            gate = split_gate(node.index_expr)[0]
            if gate is None or not set(conditions) <= set(conjuncts(gate)):
                return False
        elif node.op in _KEEP_ZERO:
            new = [s for s in node.src if s not in seen]
            seen.update(new)
            stack.extend(new)
        elif not _is_zero(node):
            return False
        if len(seen) > _MOST_NODES:
            return False
    return True


def _is_zero(node: UOp) -> bool:
    return node.op is Ops.CONST and node.arg == 0
