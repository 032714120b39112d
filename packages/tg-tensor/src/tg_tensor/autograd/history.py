"""How numbers that were computed early came about, so that `loss.item(); loss.backward()` works.

Realizing replaces a value's graph by memory. For values of one element that depend on a Tensor
which requires a gradient, the graph is kept beside the memory; a gradient that reaches the memory
goes on in the graph. A graph whose memory was overwritten since is dropped: it no longer says how
the number came about.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping

from tg_uop import Ops, UOp
from tg_uop.ir.walk import reaches, toposort

_graphs: weakref.WeakKeyDictionary[UOp, UOp] = weakref.WeakKeyDictionary()


def graph_behind(node: UOp) -> UOp | None:
    """The graph that computed what now lies in memory, None where it is not kept."""
    return _graphs.get(node) if _graphs else None


def remember(memory: UOp, graph: UOp, leaves: set[UOp]) -> None:
    """Keep the graph of a value that was computed, if a gradient may be asked for."""
    if memory is not graph and reaches(graph, lambda node: node in leaves):
        _graphs[memory] = graph


def follow(replaced: Mapping[UOp, UOp]) -> None:
    """Put what was computed into the kept graphs, and drop those whose memory was overwritten."""
    if not _graphs:
        return
    written = set(_written_memory(replaced))
    for memory, graph in list(_graphs.items()):
        if written and any(node in written for node in toposort((graph,))):
            del _graphs[memory]
            continue
        operands = tuple(s.substitute(replaced) for s in graph.src)
        _graphs[memory] = graph.replace(src=operands) if operands != graph.src else graph


def _written_memory(replaced: Mapping[UOp, UOp]) -> Iterable[UOp]:
    for node in replaced:
        if node.op is Ops.AFTER:
            below = node
            while below.src and below.op is not Ops.BUFFER:
                below = below.src[0]
            yield below
