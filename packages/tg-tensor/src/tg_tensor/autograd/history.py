"""How values that were computed early came about, so that `loss.item(); loss.backward()` works.

Realizing replaces a value's graph by memory. Where the graph depends on a Tensor that requires a
gradient, it is kept beside the memory, and a gradient that reaches the memory goes on in the
graph. A graph that reads memory which was overwritten since is dropped: it no longer says how the
value came about.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tg_uop import Ops, UOp
from tg_uop.ir.walk import toposort

# enough for what a program looks at before it asks for gradients; older graphs are let go, so that
# a long list of results does not keep everything alive that it was computed from
_MOST_GRAPHS = 128


@dataclass(frozen=True, slots=True)
class Kept:
    """A graph, the memory that it reads, and whether all Tensors that want gradients lie there."""

    graph: UOp
    memory: frozenset[UOp]
    settled: bool


_graphs: weakref.WeakKeyDictionary[UOp, Kept] = weakref.WeakKeyDictionary()


def graph_behind(node: UOp) -> UOp | None:
    """The graph that computed what now lies in memory, None where it is not kept."""
    kept = _graphs.get(node) if _graphs else None
    return None if kept is None else kept.graph


def remember(memory: UOp, graph: UOp, leaves: set[UOp]) -> None:
    """Keep the graph of a value that was computed, if a gradient may be asked for."""
    if memory is graph:
        return
    kept = _described(graph, leaves)
    if kept is None:
        return
    while len(_graphs) >= _MOST_GRAPHS:
        del _graphs[next(iter(_graphs))]
    _graphs[memory] = kept


def _described(graph: UOp, leaves: set[UOp]) -> Kept | None:
    """None when no Tensor that wants a gradient lies below."""
    order = toposort((graph,))
    found = [node for node in order if node in leaves or graph_behind(node) is not None]
    if not found:
        return None
    memory = frozenset(node for node in order if node.op is Ops.BUFFER)
    return Kept(graph, memory, all(node.base.op is Ops.BUFFER for node in found))


def follow(replaced: Mapping[UOp, UOp]) -> None:
    """Put what was computed into the kept graphs, and drop those whose memory was overwritten."""
    if not _graphs:
        return
    written = frozenset(_written_memory(replaced))
    for memory, kept in list(_graphs.items()):
        if not written.isdisjoint(kept.memory):
            del _graphs[memory]
        elif not kept.settled:
            operands = tuple(s.substitute(replaced) for s in kept.graph.src)
            if operands != kept.graph.src:
                graph = kept.graph.replace(src=operands)
                _graphs[memory] = Kept(graph, kept.memory, False)


def _written_memory(replaced: Mapping[UOp, UOp]) -> Iterable[UOp]:
    for node in replaced:
        if node.op is Ops.AFTER:
            below = node
            while below.src and below.op is not Ops.BUFFER:
                below = below.src[0]
            yield below
