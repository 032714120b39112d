"""The table of linear form, and the order and nesting of its list of instructions."""

from __future__ import annotations

from typing import NamedTuple

from tg_uop.ir.ops import Ops
from tg_uop.ir.uop import UOp
from tg_uop.spec.lowered import LOWERED
from tg_uop.spec.node import Row, Table, is_void


def _end(node: UOp) -> str | None:
    if len(node.src) != 1 or node.src[0].op is not Ops.RANGE:
        return "its only operand is the RANGE that it closes"
    return is_void(node)


def _define_var(node: UOp) -> str | None:
    return None if node.dtype.bitsize <= 64 else f"it has a width by now, not {node.dtype}"


LINEAR: Table = {
    **{op: row for op, row in LOWERED.items() if op not in (Ops.GROUP, Ops.NOOP)},
    Ops.END: Row("the end of a loop", _end),
}

OPENERS = {Ops.RANGE: Ops.END, Ops.IF: Ops.ENDIF}
CLOSERS = frozenset(OPENERS.values())

# of these, only the first operand is a value; the others say what comes first
VALUE_OPERANDS = {
    Ops.AFTER: 1,
    Ops.RANGE: 1,
    Ops.IF: 1,
    Ops.END: 0,
    Ops.ENDIF: 0,
    Ops.BARRIER: 0,
    Ops.SINK: 0,
}


class Misplaced(NamedTuple):
    """An instruction that cannot stand where it does."""

    node: UOp
    problem: str


def misplaced(instructions: tuple[UOp, ...]) -> Misplaced | None:
    """The first instruction that breaks order or nesting, None if all is well.

    Operands are defined before and in an enclosing loop; loops and conditions close in the reverse
    order of their opening; nothing is left open.
    """
    alive: set[UOp] = set()
    open_blocks: list[UOp] = []
    defined: list[list[UOp]] = [[]]
    for node in instructions:
        op = node.op
        if node in alive:
            return Misplaced(node, "it stands in the list twice")
        count = VALUE_OPERANDS.get(op)
        for operand in node.src if count is None else node.src[:count]:
            if operand not in alive:
                return Misplaced(
                    node, f"its operand {operand.op} is not defined before it, in a block around it"
                )
        if op in CLOSERS:
            if not open_blocks or open_blocks[-1] is not node.src[0]:
                inner = open_blocks[-1].op if open_blocks else "nothing"
                return Misplaced(node, f"it closes {node.src[0].op}, the innermost open is {inner}")
            open_blocks.pop()
            alive.difference_update(defined.pop())
        defined[-1].append(node)
        alive.add(node)
        if op in OPENERS:
            open_blocks.append(node)
            defined.append([node])
    if open_blocks:
        return Misplaced(open_blocks[-1], f"no {OPENERS[open_blocks[-1].op]} closes it")
    return None
