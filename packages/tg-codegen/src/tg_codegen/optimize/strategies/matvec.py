"""Recognize products that reuse only their small operand: matrix times vector."""

from __future__ import annotations

from math import prod

from tg_codegen.optimize.strategies.facts import LoadFacts, ReduceFacts


def streams_in_stripes(facts: ReduceFacts) -> bool:
    """Whether the large operand is read once, a row of results at each step of the reduction.

    Nothing is gained by a tile of results then; wide stripes of the operand keep memory busy.
    """
    largest = max(facts.loads, key=lambda load: _elements(load, facts))
    if not all(largest.moves_with(loop) for loop in facts.outputs):
        return False
    along_reduction = any(largest.is_contiguous(loop) for loop in facts.reduced)
    return not along_reduction and any(largest.is_contiguous(loop) for loop in facts.outputs)


def _elements(load: LoadFacts, facts: ReduceFacts) -> int:
    """How many elements a load reads in all."""
    loops = (*facts.outputs, *facts.reduced)
    return prod(int(loop.vmax) + 1 for loop in loops if load.moves_with(loop))
