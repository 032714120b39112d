"""What the lanes of a vector expression are: one scalar for all, or an offset each from a base."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tg_uop import GroupOp, Ops, UOp
from tg_uop.rules.linear import Linear, linear, write_sum


class LanePosition(NamedTuple):
    """A scalar index: `base` (a sum without constant) plus `offset`."""

    base: UOp
    offset: int


class LaneAnalysis:
    """Answers about lanes, kept for the expressions of one kernel."""

    __slots__ = ("_lanes", "_uniform")

    def __init__(self) -> None:
        self._uniform: dict[UOp, UOp | None] = {}
        self._lanes: dict[tuple[UOp, int], UOp] = {}

    def uniform(self, node: UOp) -> UOp | None:
        """The scalar that every lane of `node` holds, None where lanes may differ."""
        if node.dtype.count == 1:
            return node
        known = self._uniform
        for each in node.toposort(gate=lambda n: n not in known):
            known[each] = each if each.dtype.count == 1 else self._uniform_vector(each)
        return known[node]

    def _uniform_vector(self, node: UOp) -> UOp | None:
        if node.op is Ops.CONST:
            return UOp.const(node.dtype.scalar(), node.arg)
        if node.op is Ops.STACK:
            return node.src[0] if all(s is node.src[0] for s in node.src) else None
        if node.op not in GroupOp.Elementwise:
            return None
        parts = [self._uniform[s] for s in node.src]
        scalars = tuple(part for part in parts if part is not None)
        if len(scalars) < len(parts):
            return None
        return node.replace(dtype=node.dtype.scalar(), src=scalars)

    def lane(self, node: UOp, position: int) -> UOp:
        """The scalar in one lane of `node`."""
        if node.dtype.count == 1:
            return node
        known = self._lanes
        stack = [node]
        while stack:
            each = stack[-1]
            if (each, position) in known:
                stack.pop()
                continue
            if each.op in GroupOp.Elementwise:
                vectors = [s for s in each.src if s.dtype.count > 1]
                pending = [s for s in vectors if (s, position) not in known]
                if pending:
                    stack.extend(pending)
                    continue
            stack.pop()
            known[each, position] = self._make_lane(each, position)
        return known[node, position]

    def _make_lane(self, node: UOp, position: int) -> UOp:
        if node.op is Ops.CONST:
            return UOp.const(node.dtype.scalar(), node.arg)
        if node.op is Ops.VCONST:
            assert isinstance(node.arg, tuple), "a VCONST carries its lanes"
            return UOp.const(node.dtype.scalar(), node.arg[position])
        if node.op is Ops.STACK:
            return node.src[position]
        if node.op in GroupOp.Elementwise:
            scalars = tuple(s if s.dtype.count == 1 else self._lanes[s, position] for s in node.src)
            return node.replace(dtype=node.dtype.scalar(), src=scalars)
        return node.gep(position)

    def positions(self, index: UOp) -> Sequence[LanePosition]:
        """Each lane of an index as a base and an offset; equal bases are one node."""
        affine = self._affine(index)
        if affine is not None:
            return affine
        return [self._position(self.lane(index, i)) for i in range(index.dtype.count)]

    def _position(self, scalar: UOp) -> LanePosition:
        total = linear(scalar)
        base = write_sum(scalar.dtype, total.terms, 0, scalar)
        return LanePosition(base, total.constant)

    def _affine(self, index: UOp) -> Sequence[LanePosition] | None:
        """The lanes of a sum of uniform terms and constants."""
        total = linear(index)
        base = Linear({}, total.constant)
        offsets = [0] * index.dtype.count
        for term, factor in total.terms.items():
            if term.op is Ops.VCONST:
                assert isinstance(term.arg, tuple), "a VCONST carries its lanes"
                offsets = [o + factor * lane for o, lane in zip(offsets, term.arg, strict=True)]
                continue
            scalar = self.uniform(term)
            if scalar is None:
                return None
            base = base.plus(linear(scalar), factor)
        like = UOp.const(index.dtype.scalar(), 0)
        node = write_sum(index.dtype.scalar(), base.terms, 0, like)
        return [LanePosition(node, base.constant + offset) for offset in offsets]
