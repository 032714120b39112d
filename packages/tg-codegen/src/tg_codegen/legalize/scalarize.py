"""Split vectors that the target lacks into those it has: parts of a power of two of lanes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from tg_uop import AddrSpace, DType, GroupOp, Ops, PtrDType, UOp

from tg_codegen.legalize.rebuild import ordered
from tg_codegen.target.caps import Capabilities

Parts = tuple[UOp, ...]
T = TypeVar("T")


def split_vectors(root: UOp, caps: Capabilities) -> UOp:
    """The graph with no vector of more than `caps.max_lanes` lanes, nor of an odd number."""
    if caps.vector_any_width:
        return root
    return _Splitter(caps.max_lanes).run(root)


def part_sizes(count: int, most: int) -> tuple[int, ...]:
    """Powers of two that add up to `count`, none above `most`, the largest first."""
    sizes = []
    size = most
    while count:
        while size > count:
            size //= 2
        sizes.append(size)
        count -= size
    return tuple(sizes)


class _Splitter:
    """Every vector node becomes one node a part; all vectors of one length are cut alike."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.whole: dict[UOp, UOp] = {}
        self.parts: dict[UOp, Parts] = {}

    def run(self, root: UOp) -> UOp:
        """The rebuilt graph."""
        for node in ordered(root):
            if node.op is Ops.STORE:
                self.whole[node] = self._store(node)
            elif isinstance(node.dtype, PtrDType):
                self.whole[node] = self._memory(node)
            elif self._is_split(node.dtype):
                self.parts[node] = self._split(node)
            else:
                self.whole[node] = self._kept(node)
        return self.whole[root]

    def _sizes(self, dtype: DType) -> tuple[int, ...]:
        return part_sizes(dtype.count, self.most)

    def _is_split(self, dtype: DType) -> bool:
        return dtype.count > 1 and len(self._sizes(dtype)) > 1

    # *** nodes that stay one ***

    def _kept(self, node: UOp) -> UOp:
        if node.op is Ops.GEP and node.src[0] in self.parts:
            return self._picked(node.src[0], node.arg)
        src = self._values(node.src)
        return node if src == node.src else node.replace(src=src)

    def _values(self, nodes: Sequence[UOp]) -> Parts:
        return tuple(self.whole[node] for node in nodes)

    def _picked(self, source: UOp, lanes: object) -> UOp:
        """Lanes of a split vector, from whichever parts they are in."""
        assert isinstance(lanes, tuple), "a GEP carries its lanes"
        return UOp.stack(*(self._lane(source, lane) for lane in lanes))

    def _lane(self, source: UOp, lane: int) -> UOp:
        for part in self.parts[source]:
            if lane < part.dtype.count:
                return part if part.dtype.count == 1 else part.gep(lane)
            lane -= part.dtype.count
        raise AssertionError(f"{source} has no lane {lane}")

    # *** memory ***

    def _memory(self, node: UOp) -> UOp:
        """Registers of split vectors become registers of their parts, in order of lanes."""
        dtype = node.dtype
        assert isinstance(dtype, PtrDType), "only called on memory"
        src = self._values(node.src)
        if not self._is_split(dtype.base):
            return node if src == node.src else node.replace(src=src)
        assert dtype.addrspace is AddrSpace.REG, "only registers hold vectors"
        unit = self._unit(dtype.base)
        count = dtype.base.count // unit
        flat = dtype.base.scalar().vec(unit).ptr(dtype.size * count, dtype.addrspace)
        if node.op is Ops.INDEX:
            src = (src[0], src[1] * count)
        return node.replace(dtype=flat, src=src)

    def _unit(self, dtype: DType) -> int:
        """The lanes of an element of split registers: of a part, where all parts are alike."""
        sizes = self._sizes(dtype)
        return sizes[0] if sizes[0] == sizes[-1] else 1

    def _addresses(self, address: UOp, sizes: Sequence[int]) -> list[UOp]:
        """The addresses of the parts of an access, each with its part of the gate."""
        index = address
        while index.op is Ops.AFTER:
            index = index.src[0]
        new = self.whole[index]
        gate = index.index_gate
        gates = [None] * len(sizes) if gate is None else self._gates(gate, len(sizes))
        unit = new.dtype.base.count
        found = []
        offset = 0
        for size, part_gate in zip(sizes, gates, strict=True):
            place = new.index_expr + offset // unit if offset else new.index_expr
            tail = () if part_gate is None else (part_gate,)
            found.append(UOp(Ops.INDEX, new.dtype, (new.index_buffer, place, *tail)))
            offset += size
        return found

    def _gates(self, gate: UOp, count: int) -> Sequence[UOp]:
        return self.parts[gate] if gate in self.parts else (self.whole[gate],) * count

    def _store(self, node: UOp) -> UOp:
        value = node.stored_value
        if value not in self.parts:
            return self._kept(node)
        addresses = self._addresses(node.stored_target, self._sizes(value.dtype))
        stores = [a.store(v) for a, v in zip(addresses, self.parts[value], strict=True)]
        return stores[0].group(*stores[1:])

    def _load(self, node: UOp) -> Parts:
        sizes = self._sizes(node.dtype)
        addresses = self._addresses(node.load_index, sizes)
        alt = node.load_alt
        alts = [()] * len(sizes) if alt is None else [(part,) for part in self.parts[alt]]
        scalar = node.dtype.scalar()
        return tuple(
            UOp(Ops.LOAD, scalar.vec(size), (address, *tail))
            for size, address, tail in zip(sizes, addresses, alts, strict=True)
        )

    # *** values in parts ***

    def _split(self, node: UOp) -> Parts:
        op = node.op
        if op is Ops.LOAD:
            return self._load(node)
        if op is Ops.AFTER:
            return tuple(p.after(*self._values(node.effects)) for p in self.parts[node.src[0]])
        sizes = self._sizes(node.dtype)
        scalar = node.dtype.scalar()
        if op is Ops.CONST:
            return tuple(UOp.const(scalar.vec(size), node.arg) for size in sizes)
        if op is Ops.GEP:
            lanes = node.arg
            assert isinstance(lanes, tuple), "a GEP carries its lanes"
            return tuple(self._gep(node.src[0], part) for part in _cut(lanes, sizes))
        if op is Ops.VCONST:
            assert isinstance(node.arg, tuple), "a VCONST carries its lanes"
            return tuple(UOp.const(scalar.vec(len(p)), p) for p in _cut(node.arg, sizes))
        if op is Ops.STACK:
            return tuple(UOp.stack(*self._values(part)) for part in _cut(node.src, sizes))
        assert op in GroupOp.Elementwise, f"{op} has no parts"
        columns = [self._column(s, len(sizes)) for s in node.src]
        return tuple(
            node.replace(dtype=scalar.vec(size), src=tuple(column[i] for column in columns))
            for i, size in enumerate(sizes)
        )

    def _gep(self, source: UOp, lanes: tuple[int, ...]) -> UOp:
        if source in self.parts:
            return self._picked(source, lanes)
        return self.whole[source].gep(lanes if len(lanes) > 1 else lanes[0])

    def _column(self, operand: UOp, count: int) -> Sequence[UOp]:
        return self.parts[operand] if operand in self.parts else (self.whole[operand],) * count


def _cut(items: tuple[T, ...], sizes: Sequence[int]) -> list[tuple[T, ...]]:
    """The items in runs of these lengths."""
    found = []
    start = 0
    for size in sizes:
        found.append(items[start : start + size])
        start += size
    return found
