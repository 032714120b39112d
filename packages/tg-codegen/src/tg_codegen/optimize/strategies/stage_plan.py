"""Decide inside which loops an operand's tile is copied, so that it fits and is copied seldom."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

from tg_uop import UOp

from tg_codegen.optimize.loop_nest import LoopNest
from tg_codegen.optimize.staging import scratch_limit, tile_bytes
from tg_codegen.optimize.strategies.facts import LoadFacts, ReduceFacts


@dataclass(frozen=True, slots=True)
class BlockChoice:
    """A reduce loop that runs outside of the output loops, in `blocks` parts."""

    loop: UOp
    blocks: int

    @property
    def steps(self) -> int:
        """Steps of the loop inside one block."""
        return (int(self.loop.vmax) + 1) // self.blocks


@dataclass(frozen=True, slots=True)
class StagePlan:
    """One operand's tile of `size` bytes, copied inside the `fixed` loops, `copies` times.

    `in_block` says that it is copied once in each block of a blocked reduction, too.
    """

    load: LoadFacts
    fixed: tuple[UOp, ...]
    size: int
    copies: int
    in_block: bool = False


class StagePlanner:
    """Plans for the operands of one reduction."""

    def __init__(self, nest: LoopNest, facts: ReduceFacts) -> None:
        self.nest = nest
        self.facts = facts
        self.limit = min(nest.caps.l2_bytes // 2, scratch_limit(nest))
        self._known: dict[tuple[LoadFacts, tuple[UOp, ...]], int | None] = {}

    def plan(
        self,
        load: LoadFacts,
        sizes: Mapping[UOp, int],
        padded: Mapping[UOp, int],
        block: BlockChoice | None = None,
    ) -> StagePlan | None:
        """The tile copied furthest outside that fits; `sizes` are steps of loops in one tile.

        `padded` are the steps of loops that will be padded. With a block the sums must fit, too.
        Loops are fixed from the outside, of those that the operand moves with: what is copied
        then is used by all the other loops.
        """
        moving = [loop for loop in self.facts.outputs if load.moves_with(loop)]
        in_block = block is not None and load.moves_with(block.loop)
        is_padded = any(
            load.moves_with(loop) and steps > int(loop.vmax) + 1 for loop, steps in padded.items()
        )
        for count in range(len(moving) + 1):
            fixed = tuple(loop for loop in moving[:count] if _blocks(loop, sizes) > 1)
            around = (*fixed, block.loop) if block and in_block else fixed
            if is_padded:
                held: int | None = self._plain_bytes(load, around, padded)
            else:
                held = self._bytes(load, around)
            if held is None:
                continue
            copies = prod(_blocks(loop, sizes) for loop in fixed)
            if block is not None and in_block:
                held *= block.steps
                copies *= block.blocks
            held *= prod(sizes.get(loop, 1) for loop in fixed)
            if held + (self.sums(fixed, sizes) if in_block else 0) <= self.limit:
                return StagePlan(load, fixed, held, copies, in_block)
        return None

    def sums(self, outside: Iterable[UOp], sizes: Mapping[UOp, int]) -> int:
        """Bytes of the sums of a blocked reduction that stands inside of some output loops."""
        whole = self.facts.results * self.facts.node.dtype.itemsize
        return whole // prod(_blocks(loop, sizes) for loop in outside)

    def _plain_bytes(
        self, load: LoadFacts, around: tuple[UOp, ...], padded: Mapping[UOp, int]
    ) -> int:
        """The tile when one of its loops is padded, which loops then do not share elements with."""
        loops = (*self.facts.outputs, *self.facts.reduced)
        inner = [loop for loop in loops if load.moves_with(loop) and loop not in around]
        return load.itemsize * prod(padded.get(loop, int(loop.vmax) + 1) for loop in inner)

    def _bytes(self, load: LoadFacts, fixed: tuple[UOp, ...]) -> int | None:
        key = (load, fixed)
        if key not in self._known:
            loops = (*self.facts.outputs, *self.facts.reduced)
            inner = [r for r in loops if load.moves_with(r) and r not in fixed]
            held = tile_bytes(self.nest, load.index, fixed if inner else ())
            # without inner loops only their parts in one tile will move the operand
            self._known[key] = held if inner or held is None else load.itemsize
        return self._known[key]


def _blocks(loop: UOp, sizes: Mapping[UOp, int]) -> int:
    """How often a loop runs once blocks of it are taken out."""
    return -(-(int(loop.vmax) + 1) // sizes.get(loop, 1))
