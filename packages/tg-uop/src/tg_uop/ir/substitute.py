"""Replace nodes of a graph by others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from tg_uop.ir.node import Node

N = TypeVar("N", bound=Node)


def substitute(root: N, replacements: Mapping[N, N]) -> N:
    """`root` with every node that `replacements` names replaced.

    A replacement is taken as it is: nodes below it are not replaced again. Nodes above are
    rebuilt, all others stay the same objects.
    """
    done: dict[N, N] = dict(replacements)
    stack = [root]
    while stack:
        node = stack[-1]
        if node in done:
            stack.pop()
            continue
        pending = [s for s in node.src if s not in done]
        if pending:
            stack.extend(pending)
            continue
        stack.pop()
        operands = tuple(done[s] for s in node.src)
        done[node] = node if operands == node.src else rebuilt(node, operands)
    return done[root]


def rebuilt(node: N, operands: tuple[N, ...]) -> N:
    """The node with other operands; the user's line stays known."""
    fresh = type(node)(node.op, node.dtype, operands, node.arg, node.tag)
    if fresh.source_line is None:
        fresh.source_line = node.source_line
    return fresh
