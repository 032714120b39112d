"""Rebuild a graph once, operands before users."""

from __future__ import annotations

from collections.abc import Callable

from tg_uop import UOp

Visit = Callable[[UOp], UOp | None]


def rebuild(root: UOp, visit: Visit) -> UOp:
    """The graph with `visit(node)` in place of each node for which that is not None.

    `visit` sees a node whose operands have been replaced; what it returns is not visited again, so
    that it may contain the same operation in a form that the target can do.
    """
    done: dict[UOp, UOp] = {}
    for node in root.toposort():
        src = tuple(done[s] for s in node.src)
        current = node if src == node.src else node.replace(src=src)
        replacement = visit(current)
        done[node] = current if replacement is None else replacement
    return done[root]
