"""Infer which loops a node lives in: the RANGEs it depends on that nothing has closed yet."""

from __future__ import annotations

from typing import Protocol, TypeVar

from tg_uop.ir.ops import Ops


class Ranged(Protocol):
    """What range inference reads of a node."""

    op: Ops
    src: tuple[Ranged, ...]


Node = TypeVar("Node", bound=Ranged)

# where the ranges that a node closes begin among its operands
CLOSING_OPERANDS = {Ops.END: 1, Ops.REDUCE: 1}


def infer_ranges(node: Node, known: dict[Node, dict[Node, None]]) -> dict[Node, None]:
    """The live ranges of `node` in order of first use, given those of its operands.

    END(x, *ranges) and REDUCE(x, *ranges) close their ranges. The dicts are shared between nodes
    and must not be changed.
    """
    src = node.src
    start = CLOSING_OPERANDS.get(node.op)
    live: dict[Node, None] = {}
    shared = True
    for operand in src:
        other = known[operand]  # type: ignore[index]
        if not other or other is live:
            continue
        if not live:
            live = other
            continue
        if other.keys() <= live.keys():
            continue
        live = live | other
        shared = False
    if node.op is Ops.RANGE:
        return {**live, node: None}
    if start is not None and live:
        closed = src[start:]
        if any(r in live for r in closed):
            if shared:
                live = dict(live)
            for closing in closed:
                live.pop(closing, None)  # type: ignore[arg-type]
    return live
