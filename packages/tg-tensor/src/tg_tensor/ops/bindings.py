"""Which variables have which values in graphs, and whether two graphs can be run together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tg_uop import Ops, UOp
from tg_uop.ir.walk import toposort

from tg_tensor.ops.views import Step

Bindings = Mapping[UOp, UOp]


def bindings_of(nodes: Iterable[UOp]) -> dict[UOp, UOp]:
    """For each variable under the nodes, the BIND that gives it a value (the last one)."""
    return {n.src[0]: n for n in toposort(tuple(nodes)) if n.op is Ops.BIND}


def bindings_of_steps(steps: Iterable[Step]) -> dict[UOp, UOp]:
    """The same for the indices of a view."""
    return bindings_of(_nodes_in(arg for _, arg in steps))


def _nodes_in(entries: Iterable[object]) -> list[UOp]:
    found: list[UOp] = []
    stack = list(entries)
    while stack:
        entry = stack.pop()
        if isinstance(entry, UOp):
            found.append(entry)
        elif isinstance(entry, tuple | list):
            stack.extend(entry)
        elif isinstance(entry, slice):
            stack.extend((entry.start, entry.stop))
    return found


def clash(some: Bindings, node: UOp) -> bool:
    """Whether a variable has another value under `node`."""
    if not some:
        return False
    return any(n.op is Ops.BIND and some.get(n.src[0], n) is not n for n in toposort((node,)))
