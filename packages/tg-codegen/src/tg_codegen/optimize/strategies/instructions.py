"""Estimate how many instructions the values of a kernel take."""

from __future__ import annotations

from collections.abc import Iterable

from tg_uop import GroupOp, Ops, UOp

# what an operation becomes on a target that has no instruction for it, or a slow one
_INSTRUCTIONS = {
    Ops.EXP2: 16,
    Ops.LOG2: 20,
    Ops.SIN: 40,
    Ops.POW: 48,
    Ops.THREEFRY: 100,
    Ops.FDIV: 4,
    Ops.RECIPROCAL: 4,
    Ops.SQRT: 4,
    Ops.IDIV: 8,
    Ops.MOD: 10,
}


def instructions(nodes: Iterable[UOp]) -> int:
    """Instructions of these nodes for each element, roughly."""
    return sum(_INSTRUCTIONS.get(node.op, 1) for node in nodes if node.op in GroupOp.ALU)
