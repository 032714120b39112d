"""Copy out UPCAST and UNROLL ranges: kernel form with registers in, expanded form out.

Every node is copied once for each assignment of the replicated ranges that it depends on, in one
walk over the small graph. The range marked as lanes is not copied: nodes that depend on it become
vectors (`lanes`). Copies are kept in tables ordered by assignment, the last range fastest.
"""

from __future__ import annotations

from math import prod

from tg_uop import Ops, UOp, dtypes

from tg_codegen.expand import lanes
from tg_codegen.expand.accumulate import CHAINED
from tg_codegen.expand.fold import folded
from tg_codegen.expand.loops import axis_order, is_replicated

Axes = tuple[UOp, ...]

# dtypes of index arithmetic
_FOLDED = frozenset((dtypes.weakint, dtypes.bool))


class _Copies:
    """The copies of one node: one for each assignment of `axes`; vectors if `lane` is there."""

    __slots__ = ("axes", "lane", "nodes")

    def __init__(self, axes: Axes, lane: UOp | None, nodes: list[UOp]) -> None:
        self.axes = axes
        self.lane = lane
        self.nodes = nodes


def replicate(kernel: UOp) -> UOp:
    """The kernel without UPCAST and UNROLL ranges."""
    order = kernel.toposort()
    if not any(n.op is Ops.RANGE and is_replicated(n) for n in order):
        return kernel
    copier = _Copier()
    for node in order:
        copier.table[node] = copier.copies(node)
    return copier.table[kernel].nodes[0]


class _Copier:
    def __init__(self) -> None:
        self.table: dict[UOp, _Copies] = {}
        self.projections: dict[tuple[Axes, Axes], list[int]] = {}
        self.split: dict[tuple[UOp, ...], tuple[Axes, UOp | None]] = {}

    def copies(self, node: UOp) -> _Copies:
        """The copies of `node`, given those of its operands."""
        if node.op is Ops.RANGE and is_replicated(node):
            return self._range(node)
        if node.op is Ops.REDUCE:
            return self._reduce(node)
        if node.op is Ops.END:
            return self._end(node)
        if len(node.src) == 2 and node.src[1].op is Ops.REDUCE and node.src[1].tag == CHAINED:
            return self._chained(node)
        return self._plain(node)

    def _axes(self, node: UOp) -> tuple[Axes, UOp | None]:
        """The replicated ranges that a node depends on, and its lane range."""
        live = tuple(node.ranges)
        known = self.split.get(live)
        if known is None:
            replicated = sorted((r for r in live if is_replicated(r)), key=axis_order)
            lane = [r for r in replicated if r.range_arg.lanes]
            assert len(lane) < 2, f"{node.op} depends on two lane ranges"
            axes = tuple(r for r in replicated if not r.range_arg.lanes)
            known = (axes, lane[0] if lane else None)
            self.split[live] = known
        return known

    def _range(self, node: UOp) -> _Copies:
        count = node.range_size.const_value
        if node.range_arg.lanes:
            iota = UOp.const(node.dtype.vec(count), tuple(range(count)))
            return _Copies((), node, [iota])
        return _Copies((node,), None, [UOp.const(node.dtype, i) for i in range(count)])

    def _plain(self, node: UOp) -> _Copies:
        axes, lane = self._axes(node)
        operands = [self.table[s] for s in node.src]
        if not axes:
            src = tuple(o.nodes[0] for o in operands)
            return _Copies((), lane, [self._copy(node, src, lane)])
        columns = [self._column(o, axes) for o in operands]
        nodes = [self._copy(node, src, lane) for src in zip(*columns, strict=True)]
        return _Copies(axes, lane, nodes)

    def _copy(self, node: UOp, src: tuple[UOp, ...], lane: UOp | None) -> UOp:
        if lane is not None:
            return lanes.widened(node, src, lane.range_size.const_value)
        if src == node.src:
            return node
        if node.dtype.scalar() in _FOLDED:
            return folded(node.op, node.dtype, src, node.arg)
        return node.replace(src=src)

    def _column(self, operand: _Copies, axes: Axes) -> list[UOp]:
        """The copy of an operand for each assignment of `axes`."""
        if operand.axes == axes:
            return operand.nodes
        nodes = operand.nodes
        return [nodes[i] for i in self._projection(axes, operand.axes)]

    def _projection(self, axes: Axes, onto: Axes) -> list[int]:
        """For each assignment of `axes`, the number of its part in the assignments of `onto`."""
        key = (axes, onto)
        found = self.projections.get(key)
        if found is None:
            found = [0]
            for axis in axes:
                size = axis.range_size.const_value
                stride = _stride(axis, onto)
                found = [place + step * stride for place in found for step in range(size)]
            self.projections[key] = found
        return found

    def _reduce(self, node: UOp) -> _Copies:
        """A REDUCE over replicated ranges: its terms, combined here or by its one user."""
        axes, lane = self._axes(node)
        if node.tag == CHAINED:
            return _Copies(axes, lane, [])
        terms = self._terms(node, axes)
        closed_lane = next((r for r in node.reduce_ranges if r.range_arg.lanes), None)
        op = node.reduce_op
        nodes = []
        for parts in terms:
            total = lanes.combined(op, parts)
            if closed_lane is not None:
                total = lanes.across(op, self._wide(total, closed_lane))
            nodes.append(total)
        return _Copies(axes, lane, nodes)

    def _wide(self, node: UOp, lane: UOp) -> UOp:
        count = lane.range_size.const_value
        return node if node.dtype.count == count else node.broadcast(count)

    def _terms(self, node: UOp, axes: Axes) -> list[list[UOp]]:
        """For each assignment of `axes`, the values that a REDUCE over replicated ranges takes."""
        closed = tuple(r for r in node.reduce_ranges if not r.range_arg.lanes)
        value = self.table[node.reduced_value]
        column = self._column(value, (*axes, *closed))
        steps = prod(r.range_size.const_value for r in closed)
        return [column[i : i + steps] for i in range(0, len(column), steps)]

    def _chained(self, node: UOp) -> _Copies:
        """`start + REDUCE(terms)` as ((start + term) + term) ..., which suits multiply-add."""
        axes, lane = self._axes(node)
        start = self._column(self.table[node.src[0]], axes)
        terms = self._terms(node.src[1], axes)
        nodes = []
        for total, parts in zip(start, terms, strict=True):
            for part in parts:
                total = total.alu(node.op, lanes.spread(part, total.dtype.count))
            nodes.append(total)
        return _Copies(axes, lane, nodes)

    def _end(self, node: UOp) -> _Copies:
        """Copies of an effect are effects side by side in the same loops."""
        loops = tuple(r for r in node.ended_ranges if not is_replicated(r))
        closed = [r for r in node.ended_ranges if is_replicated(r) and not r.range_arg.lanes]
        axes, lane = self._axes(node)
        assert not (loops and (axes or lane)), "a loop would be closed once for each copy"
        effect = self.table[node.ended_effect]
        ranges = tuple(self.table[r].nodes[0] for r in loops)
        column = self._column(effect, (*axes, *closed))
        steps = prod(r.range_size.const_value for r in closed)
        groups = [_grouped(column[i : i + steps]) for i in range(0, len(column), steps)]
        return _Copies(axes, lane, [group.end(*ranges) for group in groups])


def _stride(axis: UOp, axes: Axes) -> int:
    """How far apart copies are that differ by one step of `axis`; 0 where they do not differ."""
    if axis not in axes:
        return 0
    return prod(a.range_size.const_value for a in axes[axes.index(axis) + 1 :])


def _grouped(effects: list[UOp]) -> UOp:
    """Several effects as one, without groups in groups."""
    flat: dict[UOp, None] = {}
    for effect in effects:
        members = effect.src if effect.op is Ops.GROUP else (effect,)
        flat.update(dict.fromkeys(members))
    return UOp.group(*flat)
