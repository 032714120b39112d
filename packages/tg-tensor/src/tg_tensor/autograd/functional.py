"""Writes as values: what memory holds after stores, as an expression of what was stored.

A gradient passes a value that was written in parts long after the parts are in memory. There the
memory has its last contents; as an expression the value does not read it.
"""

from __future__ import annotations

from tg_uop import Ops, UOp
from tg_uop.ir.walk import toposort

from tg_tensor.ops.company import in_company
from tg_tensor.ops.views import covers, merged, taken_back
from tg_tensor.schedule.hazards import memory_of


def without_writes(value: UOp) -> UOp:
    """What memory holds, with each AFTER of stores into that memory written as an expression.

    What a store fills in part shows what was there before elsewhere; other effects stay.
    """
    memory = memory_of(value)
    order = toposort((value,))
    found: dict[UOp, UOp] = {}
    writes = [node for node in order if node.op is Ops.STORE and memory_of(node.src[0]) is memory]
    if not any(memory in toposort((store.stored_value,)) for store in writes):
        # no gradient asks what was there before: it is overwritten or stays
        found[memory] = memory.const_like(0)
    for node in order:
        if node in found:
            continue
        operands = tuple(found.get(s, s) for s in node.src)
        is_write = node.op is Ops.AFTER and all(e.op is Ops.STORE for e in node.effects)
        if is_write and memory_of(node) is memory:
            found[node] = _after_stores(node, found)
        elif operands != node.src:
            found[node] = UOp(node.op, node.dtype, operands, node.arg, node.tag)
    return found.get(value, value)


def _after_stores(node: UOp, found: dict[UOp, UOp]) -> UOp:
    value = found.get(node.src[0], node.src[0])
    for store in node.effects:
        stored = found.get(store.stored_value, store.stored_value)
        view, base = store.stored_target, node.src[0]
        if covers(view, base):
            value = taken_back(view, base, stored)
        else:
            # a number that is stored into shards goes to where they are
            stored, value = in_company(stored, value)
            value = merged(view, base, stored, value)
    return value
