"""From an optimized kernel to expanded form: the steps of this folder in order."""

from __future__ import annotations

from tg_codegen.expand.accumulate import accumulate
from tg_codegen.expand.loops import close_once
from tg_codegen.expand.replicate import replicate
from tg_uop import UOp


def expand(kernel: UOp) -> UOp:
    """The kernel with its reductions as loops over registers, and its replicated axes copied out.

    Registers come first, on the small graph: they are arrays indexed by the replicated ranges, so
    that copying turns each into as many accumulators as there are copies.
    """
    return replicate(accumulate(close_once(kernel)))
