"""Make memory accesses explicit: expanded form in, LOAD and STORE with wide accesses out.

Lanes that read neighbouring elements become one wide load, lanes that all read one element a
scalar load in every lane, a reversed or strided run a wide load and a choice of lanes. Anything
else is gathered where the target can, or a load for each lane. Stores likewise.
Indices stay exact integers; giving them a width is the next step.
"""

from __future__ import annotations

from tg_uop import Ops, PtrDType, UOp, dtypes
from tg_uop.ir.args import TileProduct

from tg_codegen.legalize.accesses import VectorAccess, address, read
from tg_codegen.legalize.gates import Gated, both, split_gates
from tg_codegen.legalize.lanes import LaneAnalysis
from tg_codegen.target.caps import Capabilities


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
            elif isinstance(node.arg, TileProduct):
                done[node] = node.replace(src=tuple(self.place(s) for s in node.src))
            elif node.op is Ops.INDEX and not isinstance(node.dtype, PtrDType):
                done[node] = self.load(node)
            else:
                src = tuple([done[s] for s in node.src])
                rebuilt = node if src == node.src else node.replace(src=src)
                done[node] = self.joined(with_alternative(plain_logic(rebuilt)))
        return done[root]

    def operands(self, node: UOp) -> tuple[UOp, UOp, UOp | None]:
        """Memory, index and gate of an INDEX in expanded form, rebuilt."""
        memory = self.done[node.index_buffer]
        split = split_gates(self.done[node.index_expr], self.gates)
        return memory, split.value, both(split.gate, None)

    def vector_access(self, memory: UOp, index: UOp, gate: UOp | None) -> VectorAccess:
        """What is known of an access with several lanes."""
        uniform_gate = None if gate is None else self.lanes.uniform(gate)
        positions = self.lanes.positions(index)
        return VectorAccess(memory, index, gate, uniform_gate, positions, self.lanes, self.caps)

    def load(self, node: UOp) -> UOp:
        """The value of an INDEX that is read."""
        memory, index, gate = self.operands(node)
        if gate is not None and not gate.vmax:
            return UOp.const(node.dtype, 0)
        if index.dtype.count == 1:
            return read(memory, index, gate, node.dtype)
        return self.vector_access(memory, index, gate).load()

    def joined(self, node: UOp) -> UOp:
        """A vector made of loads of neighbouring elements as one load."""
        if node.op is not Ops.STACK or self.caps.vector_bits == 0:
            return node
        first = node.src[0]
        if not all(map(_is_plain_load, node.src)) or all(s is first for s in node.src):
            return node
        memory = first.load_index.index_buffer
        if any(s.load_index.index_buffer is not memory for s in node.src):
            return node
        index = UOp.stack(*(s.load_index.index_expr for s in node.src))
        access = self.vector_access(memory, index, None)
        return access.load() if access.step() == 1 else node

    def place(self, node: UOp) -> UOp:
        """The address of an INDEX that a statement works on."""
        memory, index, gate = self.operands(node)
        assert gate is None, "a statement on tiles has no gate"
        return address(memory, index, None)

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
            return address(memory, index, gate).store(value)
        count = index.dtype.count
        value = value if value.dtype.count == count else value.broadcast(count)
        return self.vector_access(memory, index, gate).store(value)


def _only_stored(order: dict[UOp, None]) -> set[UOp]:
    """The INDEX nodes of which only the address is used: targets of a STORE, tiles."""
    targets = {node.stored_target for node in order if node.op is Ops.STORE}
    targets.update(s for node in order if isinstance(node.arg, TileProduct) for s in node.src)
    for node in order:
        if isinstance(node.arg, TileProduct):
            continue
        operands = node.src[1:] if node.op is Ops.STORE else node.src
        targets.difference_update(operands)
    return {t for t in targets if t.op is Ops.INDEX and not isinstance(t.dtype, PtrDType)}


def _is_plain_load(node: UOp) -> bool:
    return (
        node.op is Ops.LOAD
        and node.dtype.count == 1
        and node.load_index.op is Ops.INDEX
        and node.load_index.index_gate is None
    )


def with_alternative(node: UOp) -> UOp:
    """where(c, a load behind c, k)  becomes  the load with k in place of its 0"""
    if node.op is not Ops.WHERE:
        return node
    condition, loaded, other = node.src
    if loaded.op is not Ops.LOAD or other.op is not Ops.CONST or loaded.load_alt is None:
        return node
    if loaded.load_index.index_gate is not condition:
        return node
    return loaded.replace(src=(loaded.load_index, other))


# *** truth values ***

BOOL_OPS = {Ops.ADD: Ops.OR, Ops.MUL: Ops.AND, Ops.MAX: Ops.OR}


def plain_logic(node: UOp) -> UOp:
    """Sums, products and maxima of truth values as OR and AND."""
    if node.op in BOOL_OPS and node.dtype.scalar() is dtypes.bool:
        return node.replace(op=BOOL_OPS[node.op])
    return node
