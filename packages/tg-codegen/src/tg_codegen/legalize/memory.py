"""Make memory accesses explicit: expanded form in, LOAD and STORE with wide accesses out.

Lanes that read neighbouring elements become one wide load, lanes that all read one element a
scalar load in every lane, a reversed or strided run a wide load and a choice of lanes, anything
else a load for each lane. Stores likewise, with a store for each lane where they are scattered.
Indices stay exact integers; giving them a width is the next step.
"""

from __future__ import annotations

from collections.abc import Sequence

from tg_uop import DType, GroupOp, Ops, PtrDType, UOp, dtypes

from tg_codegen.legalize.gates import Gated, both, split_gates
from tg_codegen.legalize.lanes import LaneAnalysis, LanePosition, at
from tg_codegen.target.caps import Capabilities

# a strided run is read as a whole when it is at most so many times as long as what it is read for
MAX_SPAN_FACTOR = 4
# lanes in pieces of at least this many neighbours are read piece by piece
MIN_PIECE = 4


def add_memory(root: UOp, caps: Capabilities) -> UOp:
    """The graph with each access an explicit LOAD or STORE."""
    return _MemoryAccess(caps).run(root)


class _MemoryAccess:
    def __init__(self, caps: Capabilities) -> None:
        self.caps = caps
        self.lanes = LaneAnalysis()
        self.gates: dict[UOp, Gated] = {}
        self.done: dict[UOp, UOp] = {}

    def run(self, root: UOp) -> UOp:
        """The rebuilt graph."""
        order = root.toposort()
        only_stored = _only_stored(order)
        done = self.done
        for node in order:
            if node in only_stored:
                continue
            if node.op is Ops.STORE and not isinstance(node.stored_target.dtype, PtrDType):
                done[node] = self.store(node)
            elif node.op is Ops.INDEX and not isinstance(node.dtype, PtrDType):
                done[node] = self.load(node)
            else:
                src = tuple(done[s] for s in node.src)
                rebuilt = node if src == node.src else node.replace(src=src)
                done[node] = self.joined(plain_logic(rebuilt))
        return done[root]

    # *** loads ***

    def load(self, node: UOp) -> UOp:
        """The value of an INDEX that is read."""
        memory, index, gate = self.operands(node)
        if gate is not None and not gate.vmax:
            return UOp.const(node.dtype, 0)
        if index.dtype.count == 1:
            return _read(memory, index, gate, node.dtype)
        uniform_gate = None if gate is None else self.lanes.uniform(gate)
        positions = self.lanes.positions(index)
        if gate is None or uniform_gate is not None:
            return _read_lanes(memory, index, positions, uniform_gate)
        if self.caps.masked_memory and _step(positions) == 1:
            return _read(memory, at(positions[0], index), gate, node.dtype)
        if self.caps.masked_memory:
            spread = _read_masked_span(memory, index, positions, gate)
            if spread is not None:
                return spread
        loads = [
            _read(memory, at(position, index), self.lanes.lane(gate, i), node.dtype.scalar())
            for i, position in enumerate(positions)
        ]
        return UOp.stack(*loads)

    def operands(self, node: UOp) -> tuple[UOp, UOp, UOp | None]:
        """Memory, index and gate of an INDEX in expanded form, rebuilt."""
        memory = self.done[node.index_buffer]
        split = split_gates(self.done[node.index_expr], self.gates)
        return memory, split.value, both(split.gate, None)

    def joined(self, node: UOp) -> UOp:
        """A vector made of loads of neighbouring elements as one load."""
        if node.op is not Ops.STACK or self.caps.vector_bits == 0:
            return node
        first = node.src[0]
        if not all(_is_plain_load(s) for s in node.src) or all(s is first for s in node.src):
            return node
        memory = first.load_index.index_buffer
        if any(s.load_index.index_buffer is not memory for s in node.src):
            return node
        index = UOp.stack(*(s.load_index.index_expr for s in node.src))
        positions = self.lanes.positions(index)
        if _step(positions) != 1:
            return node
        return _read(memory, at(positions[0], index), None, node.dtype)

    # *** stores ***

    def store(self, node: UOp) -> UOp:
        """The STOREs that write the value."""
        value = self.done[node.stored_value]
        target = node.stored_target
        while target.op is Ops.AFTER:
            target = target.src[0]
        memory, index, gate = self.operands(target)
        if gate is not None and not gate.vmax:
            return UOp(Ops.NOOP)
        if index.dtype.count == 1:
            return _address(memory, index, gate).store(value)
        count = index.dtype.count
        value = value if value.dtype.count == count else value.broadcast(count)
        positions = self.lanes.positions(index)
        uniform_gate = None if gate is None else self.lanes.uniform(gate)
        if _step(positions) == 1:
            if uniform_gate is not None or gate is None:
                return _address(memory, at(positions[0], index), uniform_gate).store(value)
            if self.caps.masked_memory:
                return _address(memory, at(positions[0], index), gate).store(value)
        return self._scattered(memory, index, gate, positions, value)

    def _scattered(
        self,
        memory: UOp,
        index: UOp,
        gate: UOp | None,
        positions: Sequence[LanePosition],
        value: UOp,
    ) -> UOp:
        """One STORE for each lane, in order of lanes, so that the last of equal indices stays."""
        stores: list[UOp] = []
        for i, position in enumerate(positions):
            lane_gate = None if gate is None else both(self.lanes.lane(gate, i), None)
            if lane_gate is not None and not lane_gate.vmax:
                continue
            where = memory.after(stores[-1]) if stores and _may_repeat(positions) else memory
            address = _address(where, at(position, index), lane_gate)
            stores.append(address.store(self.lanes.lane(value, i)))
        if not stores:
            return UOp(Ops.NOOP)
        return stores[0].group(*stores[1:])


def _only_stored(order: dict[UOp, None]) -> set[UOp]:
    """The INDEX nodes that only a STORE uses, as its target."""
    targets = {node.stored_target for node in order if node.op is Ops.STORE}
    for node in order:
        read = node.src[1:] if node.op is Ops.STORE else node.src
        targets.difference_update(read)
    return {t for t in targets if t.op is Ops.INDEX and not isinstance(t.dtype, PtrDType)}


def _address(memory: UOp, index: UOp, gate: UOp | None) -> UOp:
    src = (memory, index) if gate is None else (memory, index, gate)
    return UOp(Ops.INDEX, memory.dtype, src)


def _read(memory: UOp, index: UOp, gate: UOp | None, dtype: DType) -> UOp:
    """A LOAD of neighbouring elements from `index` on; 0 where the gate is closed."""
    if gate is not None and not gate.vmax:
        return UOp.const(dtype, 0)
    if gate is not None and gate.vmin:
        gate = None
    address = _address(memory, index, gate)
    if gate is None:
        return UOp(Ops.LOAD, dtype, (address,))
    return UOp(Ops.LOAD, dtype, (address, UOp.const(dtype, 0)))


def _read_lanes(
    memory: UOp, index: UOp, positions: Sequence[LanePosition], gate: UOp | None
) -> UOp:
    """A vector whose lanes are at `positions`, under one gate."""
    assert isinstance(memory.dtype, PtrDType), "an INDEX looks into memory"
    scalar = memory.dtype.base.scalar()
    count = len(positions)
    first = positions[0]
    step = _step(positions)
    if step == 0:
        return _read(memory, at(first, index), gate, scalar).broadcast(count)
    if step == 1:
        return _read(memory, at(first, index), gate, scalar.vec(count))
    span = _span(positions)
    if span is not None:
        low, length = span
        whole = _read(memory, at(LanePosition(first.base, low), index), gate, scalar.vec(length))
        return whole.gep(tuple(p.offset - low for p in positions))
    pieces = _pieces(positions)
    if len(pieces) * MIN_PIECE > count:
        pieces = [[p] for p in positions]
    lanes: list[UOp] = []
    for piece in pieces:
        part = _read(memory, at(piece[0], index), gate, scalar.vec(len(piece)))
        lanes += [part] if len(piece) == 1 else [part.gep(i) for i in range(len(piece))]
    return UOp.stack(*lanes)


def _read_masked_span(
    memory: UOp, index: UOp, positions: Sequence[LanePosition], gate: UOp
) -> UOp | None:
    """Lanes of one neighbourhood under a gate each, as a wide masked load and a choice of lanes.

    What lies between the lanes stays masked: it may be outside of the memory.
    """
    span = _span(positions)
    if span is None or len({p.offset for p in positions}) < len(positions):
        return None
    assert isinstance(memory.dtype, PtrDType), "an INDEX looks into memory"
    low, length = span
    lane_at = {position.offset - low: i for i, position in enumerate(positions)}
    reads = UOp.const(dtypes.bool.vec(length), tuple(i in lane_at for i in range(length)))
    mask = gate.gep(tuple(lane_at.get(i, 0) for i in range(length))) & reads
    start = LanePosition(positions[0].base, low)
    whole = _read(memory, at(start, index), mask, memory.dtype.base.scalar().vec(length))
    return whole.gep(tuple(p.offset - low for p in positions))


def _span(positions: Sequence[LanePosition]) -> tuple[int, int] | None:
    """The lowest offset and the length of what the lanes cover, if they lie close together."""
    first = positions[0]
    if any(p.base is not first.base for p in positions):
        return None
    low = min(p.offset for p in positions)
    length = max(p.offset for p in positions) - low + 1
    return (low, length) if length <= MAX_SPAN_FACTOR * len(positions) else None


def _step(positions: Sequence[LanePosition]) -> int | None:
    """The distance between lanes, None where it varies."""
    first = positions[0]
    step = positions[1].offset - first.offset
    for i, position in enumerate(positions):
        if position.base is not first.base or position.offset != first.offset + i * step:
            return None
    return step


def _pieces(positions: Sequence[LanePosition]) -> list[list[LanePosition]]:
    """Runs of lanes that are neighbours in memory."""
    pieces = [[positions[0]]]
    for position in positions[1:]:
        last = pieces[-1][-1]
        if position.base is last.base and position.offset == last.offset + 1:
            pieces[-1].append(position)
        else:
            pieces.append([position])
    return pieces


def _may_repeat(positions: Sequence[LanePosition]) -> bool:
    """Whether two lanes may be at one element."""
    return any(p.base is not positions[0].base for p in positions) or len(set(positions)) < len(
        positions
    )


def _is_plain_load(node: UOp) -> bool:
    return (
        node.op is Ops.LOAD
        and node.dtype.count == 1
        and node.load_index.op is Ops.INDEX
        and node.load_index.index_gate is None
    )


# *** truth values ***

BOOL_OPS = {Ops.ADD: Ops.OR, Ops.MUL: Ops.AND, Ops.MAX: Ops.OR}


def plain_logic(node: UOp) -> UOp:
    """Sums, products and maxima of truth values as OR and AND."""
    if node.op in BOOL_OPS and node.dtype.scalar() is dtypes.bool:
        return node.replace(op=BOOL_OPS[node.op])
    return node


assert set(BOOL_OPS) <= GroupOp.Binary
