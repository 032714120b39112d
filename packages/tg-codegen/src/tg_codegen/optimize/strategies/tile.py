"""What a register tile is: lanes along one loop, rows along others, operands to stage."""

from __future__ import annotations

from dataclasses import dataclass

from tg_uop import UOp

from tg_codegen.optimize.strategies.stage_plan import BlockChoice, StagePlan


@dataclass(frozen=True, slots=True)
class LaneChoice:
    """`vectors` vectors of `lanes` elements along a loop that takes `padded` steps.

    Where these are more than it has, vectors overlap (`laps`) or the loop is padded.
    """

    loop: UOp
    lanes: int
    vectors: int
    padded: int
    laps: bool = False

    @property
    def width(self) -> int:
        """Elements along the loop that a tile covers."""
        return self.lanes * self.vectors


@dataclass(frozen=True, slots=True)
class RegisterTile:
    """Lanes along one loop (None: no vectors), rows along others, and operands to stage."""

    lane: LaneChoice | None
    rows: tuple[tuple[UOp, int], ...]
    staged: tuple[StagePlan, ...]
    block: BlockChoice | None
    cost: float

    @property
    def outside(self) -> list[UOp]:
        """The output loops that a blocked reduction stands inside of."""
        inside = (plan.fixed for plan in self.staged if plan.in_block)
        return list(dict.fromkeys(loop for fixed in inside for loop in fixed))
