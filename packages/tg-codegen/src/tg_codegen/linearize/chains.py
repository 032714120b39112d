"""Let sums that run side by side take turns, so that a value which all of them use is used at once.

Each accumulator of a loop is stored after a chain of additions, one for each unrolled step. Term by
term over all chains, a step's operands are needed for a short time only, and the additions that
follow each other are independent. Chain by chain, all operands of all steps would be alive at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest

from tg_uop import AddrSpace, Ops, PtrDType, UOp

_LINKS = frozenset((Ops.ADD, Ops.MUL, Ops.MAX, Ops.OR, Ops.AND))


def turns_of_chains(order: Iterable[UOp]) -> list[UOp]:
    """The links of all chains: first links first, then second ones, and so on.

    Chains of different loops do not take turns with each other.
    """
    by_loops: dict[tuple[UOp, ...], list[list[UOp]]] = {}
    for node in order:
        if node.op is not Ops.STORE or not _is_register(node.stored_target):
            continue
        chain = chain_of(node)
        if len(chain) > 1:
            by_loops.setdefault(tuple(node.ranges), []).append(chain)
    found: list[UOp] = []
    for chains in by_loops.values():
        if len(chains) > 1:
            for turn in zip_longest(*chains):
                found.extend(link for link in turn if link is not None)
    return found


def chain_of(store: UOp) -> list[UOp]:
    """The additions between reading an accumulator and storing it, first to last."""
    memory = _memory(store.stored_target)
    links: list[UOp] = []
    node = store.stored_value
    while True:
        if node.op is Ops.LOAD and _memory(node.load_index) is memory:
            return links[::-1]
        links.append(node)
        following = _next_link(node, memory)
        if following is None:
            return []
        node = following


def _next_link(node: UOp, memory: UOp) -> UOp | None:
    """The operand that continues the chain toward the accumulator's old value."""
    if node.op is Ops.MULACC:
        return node.src[2]
    if node.op not in _LINKS:
        return None
    for operand in node.src:
        if operand.op is Ops.LOAD and _memory(operand.load_index) is memory:
            return operand
    for operand in node.src:
        if operand.op in (node.op, Ops.MULACC):
            return operand
    return None


def _memory(address: UOp) -> UOp:
    """The memory that an address points into."""
    node = address
    while node.op in (Ops.INDEX, Ops.AFTER):
        node = node.src[0]
    return node


def _is_register(address: UOp) -> bool:
    pointer = address.dtype
    return isinstance(pointer, PtrDType) and pointer.addrspace is AddrSpace.REG
