"""Put stores that happen only under a condition between IF and ENDIF: a list in, a list out."""

from __future__ import annotations

from collections.abc import Sequence

from tg_uop import Ops, UOp


def with_branches(instructions: Sequence[UOp]) -> list[UOp]:
    """The instructions with no scalar gate left on a store.

    Neighbouring stores under one condition share a branch.
    """
    gated = [i for i in instructions if i.op is Ops.STORE and store_gate(i) is not None]
    if not gated:
        return list(instructions)
    unused = _addresses_only_of(gated, instructions)
    elsewhere = set(instructions)
    found: list[UOp] = []
    branch: UOp | None = None
    for instruction in instructions:
        if instruction in unused:
            continue
        gate = store_gate(instruction) if instruction.op is Ops.STORE else None
        if branch is not None and (gate is None or branch.src[0] is not gate):
            found.append(UOp(Ops.ENDIF, src=(branch,)))
            branch = None
        if gate is None:
            found.append(instruction)
            continue
        if branch is None:
            branch = UOp(Ops.IF, src=(gate,), tag=len(found))
            found.append(branch)
        target = instruction.stored_target
        address = target.replace(src=target.src[:2])
        if address in elsewhere:
            address = address.rtag(len(found))
        found.append(address)
        found.append(instruction.replace(src=(address, *instruction.src[1:])))
    if branch is not None:
        found.append(UOp(Ops.ENDIF, src=(branch,)))
    return found


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
