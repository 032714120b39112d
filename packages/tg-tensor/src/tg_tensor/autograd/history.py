"""How values that were computed early came about, so that `y.realize(); y.sum().backward()` works.

Realizing replaces a value's graph by memory. Where the graph depends on a Tensor that requires a
gradient, it is kept beside the memory, and a gradient that reaches the memory goes on in the
graph. A graph that reads memory which was overwritten since is dropped: it no longer says how the
value came about. So are graphs that lead to nothing but dropped ones, and those whose memory is
gone.

What a graph only reads behind DETACH is needed for its value, but no gradient goes on there: the
graph holds that memory under another name, so that it does not keep how that came about. A loop
over `m = (m.detach() + w).realize()` then holds one step, not all.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tg_uop import Ops, UOp
from tg_uop.ir.walk import toposort

from tg_tensor.autograd.beneath import Beneath, beneath
from tg_tensor.autograd.composites import carry_notes, rebuild_into
from tg_tensor.autograd.functional import without_writes
from tg_tensor.engine.buffers import attach, buffer_of
from tg_tensor.realize import recorders
from tg_tensor.schedule.hazards import version_of

# what a program keeps at once; a program that never lets go of its results is not to keep
# everything that they were computed from
_MOST_GRAPHS = 1 << 14


@dataclass(frozen=True, slots=True)
class Kept:
    """A graph, and what it leads to: Tensors that want gradients, memory that has a graph."""

    graph: UOp
    has_leaf: bool
    below: tuple[UOp, ...]
    renamed: tuple[UOp, ...] = ()
    """The second names of memory that the graph has."""


Dependents = weakref.WeakKeyDictionary[UOp, "weakref.WeakSet[UOp]"]

_graphs: weakref.WeakKeyDictionary[UOp, Kept] = weakref.WeakKeyDictionary()
_readers: Dependents = weakref.WeakKeyDictionary()
"""For each BUFFER the memory whose graphs read it."""
_users: Dependents = weakref.WeakKeyDictionary()
"""For memory that has a graph the memory whose graphs lead to it."""
_unsettled: weakref.WeakSet[UOp] = weakref.WeakSet()
"""Memory whose graphs lead to Tensors that are not computed yet."""
_second: weakref.WeakKeyDictionary[UOp, weakref.ref[UOp]] = weakref.WeakKeyDictionary()
"""For memory its second name."""
_first: weakref.WeakKeyDictionary[UOp, weakref.ref[UOp]] = weakref.WeakKeyDictionary()
"""For a second name the memory, which may be gone: then nobody can write to it any more."""


def graph_behind(node: UOp) -> UOp | None:
    """The graph that computed what now lies in memory, None where it is not kept."""
    kept = _graphs.get(node) if _graphs else None
    if kept is None:
        return None
    # by its first name memory is known to what protects lazy values from writes
    named = {name: first for name in kept.renamed if (first := _first[name]()) is not None}
    return kept.graph.substitute(named) if named else kept.graph


def remember(
    computed: Sequence[tuple[UOp, UOp]], replaced: Mapping[UOp, UOp], leaves: set[UOp]
) -> None:
    """Keep the graphs of values that were computed, if a gradient may be asked for.

    `computed` has the memory and the graph of each, `replaced` what stands for the nodes of the
    graphs now, `leaves` the nodes of the Tensors that require gradients.
    """
    overwritten = {version_of(node.src[0]) for node in replaced if node.op is Ops.AFTER}
    graphs = []
    for memory, value in computed:
        if memory is not value:
            is_write = version_of(value).op is Ops.AFTER
            graphs.append((memory, without_writes(value) if is_write else value))
    stale = _stale([graph for _, graph in graphs], replaced, overwritten)
    current = [(memory, graph) for memory, graph in graphs if graph not in stale]
    moved = _moved([graph for _, graph in current], replaced)
    memories = [memory for memory, _ in current]
    sets = _sets(moved, set(memories), leaves)
    for memory, graph in zip(memories, moved, strict=True):
        _keep(memory, graph, sets)


def _stale(graphs: list[UOp], replaced: Mapping[UOp, UOp], overwritten: set[UOp]) -> set[UOp]:
    """The graphs that read what was overwritten, above what was computed."""
    if not overwritten:
        return set()
    # the graphs share most of their nodes: all are walked at once
    roots = set(graphs)
    order = toposort(graphs, lambda node: node in roots or node not in replaced)
    reading: set[UOp] = set()
    stale: set[UOp] = set()
    for node in order:
        is_computed = node in replaced
        reads = any(operand in reading for operand in node.src)
        reads = reads or (not is_computed and node in overwritten)
        if reads and node in roots:
            stale.add(node)
        if reads and not is_computed:
            reading.add(node)
    return stale


def _moved(graphs: list[UOp], replaced: Mapping[UOp, UOp]) -> list[UOp]:
    """The graphs with what was computed below them in memory; they themselves stay graphs."""
    parts = [graph.src if graph in replaced else (graph,) for graph in graphs]
    found: dict[UOp, UOp] = dict(replaced)
    rebuild_into(found, [part for of_one in parts for part in of_one])
    moved = []
    for graph, of_one in zip(graphs, parts, strict=True):
        operands = tuple(found[part] for part in of_one)
        if graph in replaced and operands != graph.src:
            fresh = graph.replace(src=operands)
            carry_notes(graph, fresh, found)
            moved.append(fresh)
        else:
            moved.append(graph if graph in replaced else operands[0])
    return moved


@dataclass(frozen=True, slots=True)
class _Sets:
    """What lies below all graphs that are remembered together, and which of it is what."""

    below: Beneath
    leads: int
    """Tensors that require gradients."""
    waits: int
    """Those of them that are not computed yet."""
    buffers: int
    kept: int
    """Memory that has a graph, or gets one."""


def _sets(graphs: list[UOp], memories: set[UOp], leaves: set[UOp]) -> _Sets:
    def may_be_kept(node: UOp) -> bool:
        return node in memories or node in _graphs

    below = beneath(
        graphs, lambda node: node.op is Ops.BUFFER or node in leaves or may_be_kept(node)
    )
    return _Sets(
        below,
        leads=below.bits_of(leaves),
        waits=below.bits_of(leaf for leaf in leaves if leaf.base.op is not Ops.BUFFER),
        buffers=below.bits_of(node for node in below.noted if node.op is Ops.BUFFER),
        kept=below.bits_of(filter(may_be_kept, below.noted)),
    )


def _keep(memory: UOp, graph: UOp, sets: _Sets) -> None:
    below = sets.below
    if below.as_operands[graph] & below.bits_of((memory,)):
        # the value is what lay in memory already: it came about before
        return
    anywhere, seen = below.anywhere[graph], below.for_gradients[graph]
    has_leaf = bool(seen & sets.leads)
    under = tuple(node for node in below.nodes_of(seen & sets.kept) if node in _graphs)
    if not (has_leaf or under):
        return
    while len(_graphs) >= _MOST_GRAPHS:
        _drop([next(iter(_graphs))])
    names = {} if recorders.active else _second_names(anywhere, seen, sets)
    graph = graph.substitute(names) if names else graph
    _graphs[memory] = Kept(graph, has_leaf, under, tuple(names.values()))
    _note(_readers, below.nodes_of(anywhere & sets.buffers), memory)
    _note(_users, under, memory)
    if seen & sets.waits:
        _unsettled.add(memory)


def _note(table: Dependents, nodes: Iterable[UOp], memory: UOp) -> None:
    """Add memory to the sets of nodes."""
    for node in nodes:
        known = table.get(node)
        if known is None:
            known = table[node] = weakref.WeakSet()
        known.add(memory)


def _second_names(anywhere: int, seen: int, sets: _Sets) -> dict[UOp, UOp]:
    """Second names for memory with a graph of its own that gradients do not see."""
    hidden = 0
    for node in sets.below.nodes_of(anywhere & sets.kept & ~seen):
        if node in _graphs:
            hidden |= sets.below.anywhere[node]
    buffers = sets.below.nodes_of(hidden & sets.buffers & ~seen)
    return {node: _second_name(node) for node in buffers}


def _second_name(memory: UOp) -> UOp:
    known = _second[memory]() if memory in _second else None
    if known is not None:
        return known
    buffer = buffer_of(memory)
    name = attach(UOp.new_buffer(buffer.device, buffer.size, memory.dtype), buffer)
    _second[memory], _first[name] = weakref.ref(name), weakref.ref(memory)
    return name


def follow(replaced: Mapping[UOp, UOp]) -> None:
    """Put what was computed into the kept graphs, and drop those whose memory was overwritten."""
    if not _graphs:
        return
    for buffer in set(_written_memory(replaced)):
        _drop(list(_readers.pop(buffer, ())))
    for memory in list(_unsettled):
        kept = _graphs.get(memory)
        if kept is None:
            _unsettled.discard(memory)
            continue
        operands = tuple(s.substitute(replaced) for s in kept.graph.src)
        if operands != kept.graph.src:
            graph = kept.graph.replace(src=operands)
            _graphs[memory] = Kept(graph, kept.has_leaf, kept.below)
            read = (node for node in toposort((graph,)) if node.op is Ops.BUFFER)
            _note(_readers, read, memory)


def _drop(memories: list[UOp]) -> None:
    """Let go of graphs, and of those that then lead to no Tensor that requires a gradient."""
    while memories:
        memory = memories.pop()
        if _graphs.pop(memory, None) is None:
            continue
        for user in list(_users.pop(memory, ())):
            kept = _graphs.get(user)
            if kept is None or kept.has_leaf:
                continue
            if not any(node in _graphs for node in kept.below):
                memories.append(user)


def _written_memory(replaced: Mapping[UOp, UOp]) -> Iterable[UOp]:
    for node in replaced:
        if node.op is Ops.AFTER:
            below = node
            while below.src and below.op is not Ops.BUFFER:
                below = below.src[0]
            yield below
