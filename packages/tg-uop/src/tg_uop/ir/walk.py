"""Walk graphs without recursion: orders, slices, users."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, Self, TypeVar

from tg_uop.ir.ops import Ops


class Walkable(Protocol):
    """A node with operands."""

    op: Ops

    @property
    def src(self) -> tuple[Self, ...]:
        """The operands."""


N = TypeVar("N", bound=Walkable)


def toposort(roots: Iterable[N], gate: Callable[[N], bool] | None = None) -> dict[N, None]:
    """All nodes under `roots`, operands before users, in a deterministic order.

    Where `gate(node)` is false, the node is left out with all that only it reaches.
    """
    order: dict[N, None] = {}
    # None stands before a node whose operands are done: a marker costs less than a pair
    stack: list[N | None] = list(reversed(tuple(roots)))
    opened: list[N] = []
    while stack:
        node = stack.pop()
        if node is None:
            order[opened.pop()] = None
            continue
        if node in order or (gate is not None and not gate(node)):
            continue
        operands = node.src
        if not operands:
            order[node] = None
            continue
        opened.append(node)
        stack.append(None)
        for operand in reversed(operands):
            if operand not in order:
                stack.append(operand)
    return order


def consumers(order: Iterable[N]) -> dict[N, dict[N, None]]:
    """For each node of `order`, the nodes of `order` that use it."""
    users: dict[N, dict[N, None]] = {}
    for node in order:
        users.setdefault(node, {})
        for operand in node.src:
            users.setdefault(operand, {})[node] = None
    return users


def reaches(root: N, wanted: Callable[[N], bool]) -> bool:
    """Whether a node under `root`, itself included, is wanted."""
    seen = {root}
    stack = [root]
    while stack:
        node = stack.pop()
        if wanted(node):
            return True
        for operand in node.src:
            if operand not in seen:
                seen.add(operand)
                stack.append(operand)
    return False
