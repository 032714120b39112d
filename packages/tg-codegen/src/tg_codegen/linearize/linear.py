"""Turn a lowered kernel into the LINEAR node that renderers read."""

from __future__ import annotations

from tg_uop import Ops, UOp

from tg_codegen.linearize.control import with_branches
from tg_codegen.linearize.order import ordered


def linearize(kernel: UOp) -> UOp:
    """LINEAR with the kernel's instructions in the order in which they run."""
    return UOp(Ops.LINEAR, src=tuple(with_branches(ordered(kernel))))
