"""Rebuild a graph once, operands before users."""

from __future__ import annotations

from collections.abc import Callable, Set
from functools import lru_cache

from tg_uop import Ops, UOp
from tg_uop.ir.substitute import rebuilt

Visit = Callable[[UOp], UOp | None]


@lru_cache(maxsize=2)
def ordered(root: UOp) -> tuple[UOp, ...]:
    """All nodes, operands first. Steps that change nothing leave the next one the same graph."""
    return tuple(root.toposort())


@lru_cache(maxsize=2)
def ops_in(root: UOp) -> frozenset[Ops]:
    """The operations that a graph has."""
    return frozenset([node.op for node in ordered(root)])


def rebuild(root: UOp, ops: Set[Ops], visit: Visit) -> UOp:
    """The graph with `visit(node)` in place of each node of `ops` for which that is not None.

    `visit` sees a node whose operands have been replaced; what it returns is not visited again, so
    that it may contain the same operation in a form that the target can do.
    """
    if ops.isdisjoint(ops_in(root)):
        return root
    done: dict[UOp, UOp] = {}
    for node in ordered(root):
        current = node
        for s in node.src:
            if s in done:
                src = tuple([done.get(s, s) for s in node.src])
                current = rebuilt(node, src)
                break
        if node.op in ops:
            replacement = visit(current)
            if replacement is not None:
                current = replacement
        if current is not node:
            done[node] = current
    return done.get(root, root)
