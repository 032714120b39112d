"""Choose what LLVM does to the text of a kernel before it picks instructions.

A kernel with vectors comes as it is to run: loops unrolled, loads where they belong, nothing left
to vectorize. All of `-O2` finds little to do there, and takes as long as picking instructions. Nor
is it worth its time, some 20 ms, where little runs: in a kernel without loops, or of few steps.
"""

from __future__ import annotations

import math
import re
from typing import Final, Protocol

LIST_NUMBER = 3
"""Counts the changes of the short list: binaries of another one are not taken from the disk."""

RENDERED_VECTORS = '"llvm.loop.unroll.disable"'
"""What the renderer says about loops that it has unrolled itself."""

CHOICE = "select i1 "
"""A condition that is one for all lanes: LLVM takes it out of loops that do not change it."""

ARGUMENT = ".at = getelementptr"

MOST_ARGUMENTS = 16
"""With more addresses than registers, LLVM's full list finds offsets between them (measured: 1.4
times as fast with 53 arguments, no difference with 16)."""


FEW_STEPS = 1024
"""Steps that take about as long as starting the kernel, whatever LLVM would make of them."""

LOOP_END: Final = re.compile(r" = icmp slt i\d+ %\S*next\S*, (\d+)$", re.MULTILINE)
"""How the renderer ends a loop of known length."""


class Passes(Protocol):
    """A list of passes of LLVM's new pass manager, as llvmlite offers it."""

    def add_always_inliner_pass(self) -> None:
        """The body goes into the function that unpacks its arguments."""

    def add_sroa_pass(self) -> None:
        """Accumulators become registers."""

    def add_simplify_cfg_pass(self) -> None:
        """Blocks that follow each other become one."""

    def add_instruction_combine_pass(self) -> None:
        """Instructions become fewer or cheaper ones."""

    def add_sinking_pass(self) -> None:
        """Values are computed close to their use, so that fewer wait in registers."""

    def add_dead_store_elimination_pass(self) -> None:
        """Stores that nobody reads go."""


def is_plain_kernel(source: str) -> bool:
    """Whether a short list of passes makes as fast a kernel as the full one."""
    if _runs_few_steps(source):
        return True
    if RENDERED_VECTORS not in source or CHOICE in source:
        return False
    return source.count(ARGUMENT) <= MOST_ARGUMENTS


def _runs_few_steps(source: str) -> bool:
    """Whether a kernel has no loops, or these are of known length and short all together."""
    lengths = [int(length) for length in LOOP_END.findall(source)]
    is_known = len(lengths) == source.count(" = phi ")
    return is_known and math.prod(lengths) <= FEW_STEPS


def add_short_passes(passes: Passes) -> None:
    """What a kernel with vectors needs: its text simplified, its accumulators in registers.

    Without NewGVN, which LLVM itself leaves out: in nested loops it takes a condition of the step
    before from the last step of the inner loop.
    """
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_instruction_combine_pass()
    passes.add_sinking_pass()
    passes.add_dead_store_elimination_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
