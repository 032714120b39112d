"""Decompose the transcendental functions that the target lacks."""

from __future__ import annotations

from collections.abc import Callable

from tg_uop import Ops, UOp

from tg_codegen.legalize.exponential import exp2, log2, power
from tg_codegen.legalize.rebuild import rebuild
from tg_codegen.legalize.trigonometric import sine
from tg_codegen.target.caps import Capabilities

DECOMPOSITIONS: dict[Ops, Callable[[UOp, Capabilities], UOp]] = {
    Ops.EXP2: exp2,
    Ops.LOG2: log2,
    Ops.SIN: sine,
    Ops.POW: power,
}


def decompose_transcendental(root: UOp, caps: Capabilities) -> UOp:
    """The graph without EXP2, LOG2, SIN and POW, as far as the target lacks them."""

    def visit(node: UOp) -> UOp | None:
        return DECOMPOSITIONS[node.op](node, caps)

    return rebuild(root, DECOMPOSITIONS.keys() - caps.ops, visit)
