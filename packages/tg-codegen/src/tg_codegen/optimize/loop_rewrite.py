"""Replace loops of a kernel by expressions of other loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tg_uop import Ops, UOp


@dataclass(frozen=True, slots=True)
class LoopReplacement:
    """What a RANGE becomes: the value of its index, and the loops that run instead of it."""

    value: UOp
    loops: tuple[UOp, ...]


# where the loops that a node closes begin among its operands
_FIRST_CLOSED = {Ops.END: 1, Ops.REDUCE: 1}


def replace_loops(root: UOp, replacements: Mapping[UOp, LoopReplacement]) -> UOp:
    """`root` with loops replaced both where their index is used and where they are closed."""
    done: dict[UOp, UOp] = {loop: new.value for loop, new in replacements.items()}
    for node in root.toposort():
        if node in done:
            continue
        start = _FIRST_CLOSED.get(node.op, len(node.src))
        operands = [done[s] for s in node.src[:start]]
        for closed in node.src[start:]:
            replaced = replacements.get(closed)
            operands.extend(replaced.loops if replaced else (done[closed],))
        src = tuple(operands)
        done[node] = node if src == node.src else _rebuilt(node, src)
    return done[root]


def _rebuilt(node: UOp, src: tuple[UOp, ...]) -> UOp:
    if node.op in _FIRST_CLOSED and len(src) == 1:
        return src[0]
    return node.replace(src=src)


def replace_nodes(root: UOp, replacements: Mapping[UOp, UOp]) -> UOp:
    """`root` with nodes replaced; what is below a replaced node may be replaced as well."""
    done: dict[UOp, UOp] = {}
    for node in root.toposort():
        src = tuple(done[s] for s in node.src)
        wanted = replacements.get(node)
        if wanted is not None:
            done[node] = wanted
        else:
            done[node] = node if src == node.src else node.replace(src=src)
    return done[root]
