"""Which element of a source each element of a node reads: movement ops as index arithmetic.

An `Access` is an index for every axis of a node together with the conditions (gates) under which
the element is wanted. Indices are made of the loops (RANGEs) of the kernel that asks. Going from
users to sources, a movement op maps the access of its result to the access of its operand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, cast, final

from tg_uop import AxisType, Ops, UOp, dtypes

from tg_tensor.schedule.affine import (
    ZERO,
    Affine,
    Dim,
    as_index,
    drop_bindings,
    integer,
    is_one,
)

Shape = tuple[Dim, ...]


class Access(NamedTuple):
    """One element of a node, as a function of the loops: an index an axis, and conditions."""

    indices: tuple[UOp, ...]
    gates: tuple[UOp, ...] = ()

    @property
    def loops(self) -> dict[UOp, None]:
        """The RANGEs that the element depends on."""
        found: dict[UOp, None] = {}
        for node in self.indices + self.gates:
            found.update(node.ranges)
        return found


SCALAR = Access(())


@final
class Indexer:
    """Maps accesses from nodes to their operands, remembering each step."""

    __slots__ = ("_loops", "_reduced", "_shapes", "_steps", "_versions", "affine")

    def __init__(self) -> None:
        self.affine = Affine()
        self._shapes: dict[UOp, Shape] = {}
        self._steps: dict[tuple[UOp, Access], Access] = {}
        self._loops: dict[Shape, Access] = {}
        self._versions: dict[UOp, UOp] = {}
        self._reduced: dict[tuple[UOp, Access], tuple[Access, tuple[UOp, ...]]] = {}

    def shape(self, node: UOp) -> Shape:
        """The shape of a node in terms of variables."""
        found = self._shapes.get(node)
        if found is None:
            raw = cast(Shape, node.shape)
            plain = all(type(dim) is int for dim in raw)
            found = raw if plain else tuple(drop_bindings(dim) for dim in raw)
            self._shapes[node] = found
        return found

    def whole(self, shape: Shape) -> Access:
        """Loops over all elements of a shape, numbered in order; axes of size 1 have none."""
        found = self._loops.get(shape)
        if found is None:
            parts = []
            number = 0
            for dim in shape:
                if is_one(dim):
                    parts.append(ZERO)
                else:
                    parts.append(UOp.range(dim, number))
                    number += 1
            index = tuple(parts)
            found = Access(index)
            self._loops[shape] = found
        return found

    def operand(self, node: UOp, access: Access) -> Access:
        """The access to the operand of a movement op that an access to its result needs."""
        key = (node, access)
        found = self._steps.get(key)
        if found is None:
            found = MOVEMENTS[node.op](self, node, access)
            self._steps[key] = found
        return found

    def elementwise(self, operand: UOp, access: Access) -> Access:
        """The access to an operand of an elementwise op: scalars stand beside any shape."""
        if operand._shape == ():
            return SCALAR if not access.gates else Access((), access.gates)
        return access

    def reduced(self, node: UOp, access: Access) -> tuple[Access, tuple[UOp, ...]]:
        """The access to the operand of a REDUCE, and the loops that it reduces."""
        key = (node, access)
        found = self._reduced.get(key)
        if found is not None:
            return found
        shape = self.shape(node.src[0])
        index = list(access.indices)
        loops = []
        first = FIRST_REDUCE_ID + 32 * len(self._reduced)
        for axis in sorted(node.reduce_axes):
            if is_one(shape[axis]):
                continue
            loop = UOp.range(shape[axis], first + axis, AxisType.REDUCE)
            index[axis] = loop
            loops.append(loop)
        result = (Access(tuple(index), access.gates), tuple(loops))
        self._reduced[key] = result
        return result

    def flat(self, node: UOp, access: Access) -> UOp:
        """The position of an element in memory that holds `node` in order of its shape."""
        return self.affine.join(access.indices, self.shape(node))

    def in_memory(self, view: UOp, access: Access) -> tuple[UOp, Access]:
        """The memory below a chain of movement ops and AFTERs, and the access to it."""
        node = view
        while True:
            if node.op in MOVEMENTS:
                access = self.operand(node, access)
                node = node.src[0]
            elif node.op is Ops.AFTER:
                node = self.first_version(node)
            else:
                return node, access

    def first_version(self, after: UOp) -> UOp:
        """What is below a pile of AFTERs, which a thousand writes make a thousand high."""
        node = after
        passed = []
        while node.op is Ops.AFTER:
            found = self._versions.get(node)
            if found is not None:
                node = found
                break
            passed.append(node)
            node = node.src[0]
        for version in passed:
            self._versions[version] = node
        return node


FIRST_REDUCE_ID = 1000


def gate_index(index: UOp, gates: Sequence[UOp]) -> UOp:
    """The index where all conditions hold, no element elsewhere."""
    if not gates:
        return index
    return index.valid(conjunction(gates))


def conjunction(gates: Sequence[UOp]) -> UOp:
    """All conditions as one."""
    condition = gates[0]
    for gate in gates[1:]:
        condition = condition.alu(Ops.AND, gate)
    return condition


# *** one step an op ***


def _reshape(indexer: Indexer, node: UOp, access: Access) -> Access:
    old, new = indexer.shape(node.src[0]), indexer.shape(node)
    return Access(indexer.affine.reshape(access.indices, old, new), access.gates)


def _permute(indexer: Indexer, node: UOp, access: Access) -> Access:
    order = cast(tuple[int, ...], node.arg)
    index = [ZERO] * len(order)
    for position, axis in enumerate(order):
        index[axis] = access.indices[position]
    return Access(tuple(index), access.gates)


def _expand(indexer: Indexer, node: UOp, access: Access) -> Access:
    old = indexer.shape(node.src[0])
    index = tuple(
        ZERO if is_one(dim) else part for dim, part in zip(old, access.indices, strict=True)
    )
    return Access(index, access.gates)


def _shrink(indexer: Indexer, node: UOp, access: Access) -> Access:
    bounds = cast(tuple[tuple[Dim, Dim], ...], node.movement_arg)
    index = []
    for part, (start, _) in zip(access.indices, bounds, strict=True):
        start = drop_bindings(start)
        moved = part if isinstance(start, int) and start == 0 else indexer.affine.add(part, start)
        index.append(moved)
    return Access(tuple(index), access.gates)


def _flip(indexer: Indexer, node: UOp, access: Access) -> Access:
    shape = indexer.shape(node)
    index = list(access.indices)
    for axis in cast(tuple[int, ...], node.arg):
        last = as_index(shape[axis])
        index[axis] = indexer.affine.weighted([(last, 1), (integer(1), -1), (index[axis], -1)])
    return Access(tuple(index), access.gates)


def _pad(indexer: Indexer, node: UOp, access: Access) -> Access:
    shape = indexer.shape(node.src[0])
    pads = cast(tuple[tuple[Dim, Dim], ...], node.movement_arg)
    affine = indexer.affine
    gates = dict.fromkeys(access.gates)
    index = []
    for part, size, (before, after) in zip(access.indices, shape, pads, strict=True):
        before, after = drop_bindings(before), drop_bindings(after)
        if _is_zero(before) and _is_zero(after):
            index.append(part)
            continue
        moved = affine.weighted([(part, 1), (as_index(before), -1)])
        low, high = affine.node_bounds(moved)
        if low < 0:
            gates[_at_least(part, before)] = None
        if not isinstance(size, int) or high >= size:
            end = affine.weighted([(as_index(size), 1), (as_index(before), 1)])
            gates[part.alu(Ops.CMPLT, end)] = None
        index.append(moved)
    return Access(tuple(index), tuple(gates))


def _is_zero(dim: Dim) -> bool:
    return isinstance(dim, int) and dim == 0


def _at_least(part: UOp, low: Dim) -> UOp:
    """part >= low, in the spelling of the shared operators."""
    below = part.alu(Ops.CMPLT, as_index(low))
    return below.alu(Ops.CMPNE, UOp.const(dtypes.bool, True))


MOVEMENTS: dict[Ops, Callable[[Indexer, UOp, Access], Access]] = {
    Ops.RESHAPE: _reshape,
    Ops.PERMUTE: _permute,
    Ops.EXPAND: _expand,
    Ops.SHRINK: _shrink,
    Ops.FLIP: _flip,
    Ops.PAD: _pad,
}


def new_gates(before: Access, after: Access) -> tuple[UOp, ...]:
    """The conditions that a PAD has added."""
    known = set(before.gates)
    return tuple(gate for gate in after.gates if gate not in known)
