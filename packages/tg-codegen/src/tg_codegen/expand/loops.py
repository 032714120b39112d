"""Make every loop of a kernel close in one place: kernel form in, kernel form out.

A RANGE becomes one loop, so the ENDs and REDUCEs that close it must be able to share that loop:
they need the same surrounding loops, and none may wait for another's result. Where one cannot
share, it gets a range of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from tg_uop import AxisType, Ops, UOp
from tg_uop.ir.args import RangeArg

REPLICATED = frozenset((AxisType.UPCAST, AxisType.UNROLL))
CLOSERS = frozenset((Ops.END, Ops.REDUCE))


def is_replicated(node: UOp) -> bool:
    """Whether a RANGE is copied out rather than looped over."""
    return node.axis_type in REPLICATED


def axis_order(node: UOp) -> tuple[int, ...]:
    """Sort key of a RANGE: outer loops first."""
    return node.range_arg.axis_id


def closed_ranges(node: UOp) -> tuple[UOp, ...]:
    """The ranges that an END or a REDUCE closes."""
    return node.ended_ranges if node.op is Ops.END else node.reduce_ranges


def loops_of(node: UOp) -> tuple[UOp, ...]:
    """The ranges of an END or a REDUCE that become loops, outermost first."""
    loops = [r for r in closed_ranges(node) if r.op is Ops.RANGE and not is_replicated(r)]
    return tuple(sorted(loops, key=axis_order))


def live_loops(node: UOp) -> tuple[UOp, ...]:
    """The loops around a node, outermost first."""
    return tuple(sorted((r for r in node.ranges if not is_replicated(r)), key=axis_order))


@dataclass(frozen=True, slots=True)
class Closer:
    """An END or REDUCE with the loops it closes and the loops around it."""

    node: UOp
    loops: tuple[UOp, ...]
    around: frozenset[UOp]

    def surroundings(self, position: int) -> frozenset[UOp]:
        """The loops around the one at `position` of `loops`."""
        return self.around.union(self.loops[:position])


def closers_of(kernel: UOp) -> list[Closer]:
    """The nodes that close loops, operands first."""
    found = []
    for node in kernel.toposort():
        if node.op not in CLOSERS:
            continue
        loops = loops_of(node)
        if loops:
            found.append(Closer(node, loops, frozenset(live_loops(node))))
    return found


def close_once(kernel: UOp) -> UOp:
    """The kernel with a copied range wherever two closers cannot share a loop."""
    next_axis = 0
    while True:
        closers = closers_of(kernel)
        clashing = _first_clash(closers)
        if clashing is None:
            return kernel
        if next_axis == 0:
            next_axis = _first_free_axis(kernel)
        fresh: dict[UOp, UOp] = {}
        for loop in clashing.loops:
            path = (loop.range_arg.axis_id[0], next_axis)
            arg = RangeArg(path, loop.axis_type, loop.range_arg.lanes)
            fresh[loop] = loop.replace(arg=arg)
            next_axis += 1
        kernel = kernel.substitute({clashing.node: _with_own_loops(clashing.node, fresh)})


def _with_own_loops(closer: UOp, fresh: dict[UOp, UOp]) -> UOp:
    """The closer with its loops renamed, also where they live below it.

    A closer below that closes one of the loops itself keeps that loop.
    """
    body, *closed = closer.src
    renamed = rename_live(body, fresh)
    return closer.replace(src=(renamed, *(fresh.get(r, r) for r in closed)))


Active = frozenset[UOp]


def rename_live(root: UOp, fresh: dict[UOp, UOp]) -> UOp:
    """`root` with ranges replaced where they are live, and kept where a node below closes them."""
    start = (root, frozenset(fresh))
    done: dict[tuple[UOp, Active], UOp] = {}
    stack = [start]
    while stack:
        entry = stack[-1]
        node, active = entry
        if entry in done:
            stack.pop()
            continue
        if node in active:
            done[entry] = fresh[node]
            continue
        needed = _operands_with_active(node, active)
        pending = [e for e in needed if e[1] and e not in done]
        if pending:
            stack.extend(pending)
            continue
        operands = tuple(done[e] if e[1] else e[0] for e in needed)
        done[entry] = node if operands == node.src else node.replace(src=operands)
    return done[start]


def _operands_with_active(node: UOp, active: Active) -> list[tuple[UOp, Active]]:
    if node.op not in CLOSERS:
        return [(s, active.intersection(s.ranges)) for s in node.src]
    outside = active.difference(closed_ranges(node))
    body = (node.src[0], outside.intersection(node.src[0].ranges))
    return [body, *((s, outside.intersection(s.ranges)) for s in node.src[1:])]


def _first_free_axis(kernel: UOp) -> int:
    """A number above every part of every axis id."""
    parts = [max(n.range_arg.axis_id) for n in kernel.toposort() if n.op is Ops.RANGE]
    return max(parts, default=0) + 1


def _first_clash(closers: list[Closer]) -> Closer | None:
    """A closer that cannot share the loops of those before it."""
    around: dict[UOp, frozenset[UOp]] = {}
    shared = False
    for closer in closers:
        for position, loop in enumerate(closer.loops):
            expected = closer.surroundings(position)
            if loop in around:
                shared = True
            if around.setdefault(loop, expected) != expected:
                return closer
    return _first_cycle(closers) if shared else None


def _first_cycle(closers: list[Closer]) -> Closer | None:
    """A closer that waits for the end of a loop which it shares."""
    below = _closers_below(closers)
    needs: dict[UOp, set[UOp]] = {}
    for closer, wanted in zip(closers, below, strict=True):
        for position, loop in enumerate(closer.loops):
            ends = needs.setdefault(loop, set())
            ends.update(closers[i].loops[0] for i in wanted)
            ends.update(closer.loops[position + 1 :])
    for closer, wanted in reversed(list(zip(closers, below, strict=True))):
        waited_for = _reachable({closers[i].loops[0] for i in wanted}, needs)
        if not waited_for.isdisjoint(closer.loops):
            return closer
    return None


def _closers_below(closers: list[Closer]) -> list[set[int]]:
    """For each closer, the positions of those in its operands."""
    position = {closer.node: i for i, closer in enumerate(closers)}
    below: list[set[int]] = []
    for closer in closers:
        found: set[int] = set()
        for node in closer.node.backward_slice:
            if node in position:
                found.add(position[node])
        below.append(found)
    return below


def _reachable(start: set[UOp], needs: dict[UOp, set[UOp]]) -> set[UOp]:
    seen = set(start)
    stack = list(start)
    while stack:
        for other in needs.get(stack.pop(), ()):
            if other not in seen:
                seen.add(other)
                stack.append(other)
    return seen
