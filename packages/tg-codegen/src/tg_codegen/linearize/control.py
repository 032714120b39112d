"""Put stores that happen only under a condition between IF and ENDIF: a list in, a list out."""

from __future__ import annotations

from collections.abc import Sequence

from tg_uop import Ops, UOp

# a store may not move past these: they begin or end a block, or something waits for stores
_FENCES = frozenset((Ops.RANGE, Ops.END, Ops.AFTER, Ops.BARRIER, Ops.IF, Ops.ENDIF, Ops.WMMA))


def with_branches(instructions: Sequence[UOp]) -> list[UOp]:
    """The instructions with no scalar gate left on a store.

    Stores under one condition share a branch where nothing between them waits for a store.
    """
    gated = [i for i in instructions if i.op is Ops.STORE and store_gate(i) is not None]
    if not gated:
        return list(instructions)
    writer = _Branches(instructions, _addresses_only_of(gated, instructions))
    for instruction in instructions:
        writer.take(instruction)
    writer.flush()
    return writer.written


class _Branches:
    """Writes instructions, and holds gated stores back until their branch must be written."""

    def __init__(self, instructions: Sequence[UOp], unused: set[UOp]) -> None:
        self.unused = unused
        self.elsewhere = set(instructions) - unused
        self.written: list[UOp] = []
        self.waiting: dict[UOp, list[UOp]] = {}

    def take(self, instruction: UOp) -> None:
        if instruction in self.unused:
            return
        if instruction.op in _FENCES:
            self.flush()
        gate = store_gate(instruction) if instruction.op is Ops.STORE else None
        if gate is None:
            self.written.append(instruction)
        else:
            self.waiting.setdefault(gate, []).append(instruction)

    def flush(self) -> None:
        """Write the branches that wait."""
        for gate, stores in self.waiting.items():
            # two branches on one condition are two nodes
            branch = UOp(Ops.IF, src=(gate,), tag=len(self.written))
            self.written.append(branch)
            for store in stores:
                self._write_plain(store)
            self.written.append(UOp(Ops.ENDIF, src=(branch,)))
        self.waiting.clear()

    def _write_plain(self, store: UOp) -> None:
        target = store.stored_target
        address = target.replace(src=target.src[:2])
        if address in self.elsewhere:
            address = address.rtag(len(self.written))
        self.elsewhere.add(address)
        self.written.append(address)
        self.written.append(store.replace(src=(address, *store.src[1:])))


def store_gate(store: UOp) -> UOp | None:
    """The scalar condition under which a store happens, None where it always does.

    A gate with a condition for each lane stays where it is: the target has masked stores.
    """
    target = store.stored_target
    if target.op is not Ops.INDEX:
        return None
    gate = target.index_gate
    return gate if gate is not None and gate.dtype.count == 1 else None


def _addresses_only_of(stores: Sequence[UOp], instructions: Sequence[UOp]) -> set[UOp]:
    """The gated addresses that nothing but `stores` uses."""
    addresses = {store.stored_target for store in stores}
    writing = set(stores)
    for instruction in instructions:
        if instruction not in writing:
            addresses.difference_update(instruction.src)
    return addresses
