"""A schedule without its buffers: what is remembered of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tg_uop import UOp

from tg_tensor.schedule.memory import MemoryPlan


class PlannedCall(NamedTuple):
    """What runs, and on which buffers."""

    called: UOp
    arguments: tuple[UOp, ...]


@dataclass(frozen=True, slots=True)
class Recipe:
    """A schedule in terms of stand-ins for buffers: `fresh` are allocated for each use."""

    calls: tuple[PlannedCall, ...]
    fresh: tuple[UOp, ...]
    results: dict[UOp, UOp]
    memory: MemoryPlan | None
