"""Which of some noted nodes lie below each of many graphs, found in one walk over all of them.

The gradients of a network share nearly all of their nodes: to walk under each of them takes as
many walks over the whole network as it has parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import final

from tg_uop import Ops, UOp
from tg_uop.ir.walk import toposort

CHUNK = 1024
"""So many noted nodes at once: a set of them is kept for every node of the graphs."""


@final
@dataclass(slots=True)
class Beneath:
    """Sets of noted nodes, as bits of a number in the order of `noted`."""

    noted: list[UOp]
    place: dict[UOp, int]
    """Where each noted node stands in that order."""
    anywhere: dict[UOp, int] = field(default_factory=dict)
    """For each graph and noted node those below, itself among them."""
    for_gradients: dict[UOp, int] = field(default_factory=dict)
    """Those that a gradient gets to: not behind DETACH or an integer."""
    as_operands: dict[UOp, int] = field(default_factory=dict)
    """Those below without the bodies of functions, whose results are their outcome."""

    def bits_of(self, nodes: Iterable[UOp]) -> int:
        """The set of the noted nodes that are in a collection."""
        bits = 0
        for node in nodes:
            place = self.place.get(node)
            if place is not None:
                bits |= 1 << place
        return bits

    def nodes_of(self, bits: int) -> Iterator[UOp]:
        """The nodes of a set, in order."""
        while bits:
            lowest = bits & -bits
            yield self.noted[lowest.bit_length() - 1]
            bits ^= lowest


def beneath(graphs: Sequence[UOp], is_noted: Callable[[UOp], bool]) -> Beneath:
    """Which noted nodes lie below each graph, and below each of these."""
    order = toposort(graphs)
    listed = [node for node in order if is_noted(node)]
    found = Beneath(listed, {node: place for place, node in enumerate(listed)})
    kept = [*dict.fromkeys((*graphs, *found.noted))]
    for start in range(0, max(1, len(found.noted)), CHUNK):
        places = {node: 1 << i for i, node in enumerate(found.noted[start : start + CHUNK])}
        for sets, one in zip(
            (found.anywhere, found.for_gradients, found.as_operands),
            _one_chunk(order, places),
            strict=True,
        ):
            for node in kept:
                sets[node] = sets.get(node, 0) | one[node] << start
    return found


def _one_chunk(order: Iterable[UOp], places: dict[UOp, int]) -> tuple[dict[UOp, int], ...]:
    anywhere: dict[UOp, int] = {}
    for_gradients: dict[UOp, int] = {}
    as_operands: dict[UOp, int] = {}
    for node in order:
        own = places.get(node, 0)
        below = open_below = plain_below = own
        for operand in node.src:
            below |= anywhere[operand]
            open_below |= for_gradients[operand]
            plain_below |= as_operands[operand]
        if node.op is Ops.FUNCTION:
            plain_below = own
            for operand in node.src[1:]:
                plain_below |= as_operands[operand]
        anywhere[node] = below
        for_gradients[node] = 0 if node.op is Ops.DETACH or node.dtype.is_int else open_below
        as_operands[node] = plain_below
    return anywhere, for_gradients, as_operands
