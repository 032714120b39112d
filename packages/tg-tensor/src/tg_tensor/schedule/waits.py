"""Tell apart what an AFTER waits for: effects that write, and values that are only to be there."""

from __future__ import annotations

from tg_uop import Ops, UOp

EFFECTS = frozenset((Ops.STORE, Ops.CALL, Ops.GROUP, Ops.SINK))


def only_waits(node: UOp) -> bool:
    """Whether a node is an AFTER of values alone: it waits for them, and nothing is written.

    It reads the version of memory that is below it.
    """
    return node.op is Ops.AFTER and not any(waited.op in EFFECTS for waited in node.effects)
