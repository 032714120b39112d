"""Keep schedules of large graphs on disk, so that the next process does not make them again."""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from typing import final

import tg_uop
from tg_runtime import DiskCache, code_key, content_key
from tg_uop import Ops, UOp
from tg_uop.context import CCACHE, SPEC
from tg_uop.ir.key import encode
from tg_uop.ir.walk import toposort

from tg_tensor.schedule.memory import MemoryPlan
from tg_tensor.schedule.recipe import PlannedCall, Recipe

LEAST_NODES = 200
"""Nodes of a graph that is worth a file: making a smaller schedule takes no longer than reading."""

# their args hold functions, of which a name says too little
_OPAQUE = frozenset((Ops.CALL, Ops.FUNCTION, Ops.CUSTOM_FUNCTION, Ops.CUSTOM, Ops.CUSTOMI))

_disk = DiskCache("schedules")


def _scheduler_key() -> str:
    return code_key(*tg_uop.__path__, os.path.dirname(__file__))


@final
class StoredSchedule:
    """The place on disk of the schedule of one clean graph."""

    def __init__(self, wanted: Sequence[UOp], options: object) -> None:
        self.order = list(toposort(wanted))
        self.wanted = wanted
        self.options = options
        is_plain = _OPAQUE.isdisjoint([node.op for node in self.order])
        self.is_used = bool(CCACHE) and not SPEC and len(self.order) >= LEAST_NODES and is_plain
        self._key = ""

    @property
    def key(self) -> str:
        """What the schedule depends on, by content; the user's lines are named in reports."""
        if not self._key:
            graph = [node.key for node in self.wanted]
            lines = repr([node.source_line for node in self.order])
            self._key = content_key(_scheduler_key(), encode(self.options), lines, *graph)
        return self._key

    def load(self) -> Recipe | None:
        """The recipe from disk, None where there is none that can be read."""
        return _disk.get_as(self.key, self._read) if self.is_used else None

    def save(self, recipe: Recipe) -> None:
        """Write a recipe to disk."""
        if self.is_used:
            _disk.put(self.key, self._written(recipe))

    def _written(self, recipe: Recipe) -> bytes:
        """All nodes as one graph, which they share most of, and how to take it apart."""
        place = {node: number for number, node in enumerate(self.order)}
        nodes: list[UOp] = []
        for call in recipe.calls:
            nodes += (call.called, *call.arguments)
        nodes += recipe.fresh
        nodes += recipe.results.values()
        plan = recipe.memory
        if plan is not None:
            nodes += plan.offsets
        sizes = None
        if plan is not None:
            sizes = (list(plan.offsets.values()), plan.arena_bytes, plan.separate_bytes)
        contents = (
            UOp(Ops.SINK, src=tuple(nodes)),
            [len(call.arguments) for call in recipe.calls],
            len(recipe.fresh),
            [place[node] for node in recipe.results],
            sizes,
        )
        return pickle.dumps(contents)

    def _read(self, raw: bytes) -> Recipe:
        whole, arguments, fresh, results, sizes = pickle.loads(raw)
        nodes = iter(whole.src)
        calls = tuple(
            PlannedCall(next(nodes), tuple(next(nodes) for _ in range(number)))
            for number in arguments
        )
        made = tuple(next(nodes) for _ in range(fresh))
        values = {self.order[place]: next(nodes) for place in results}
        if sizes is None:
            return Recipe(calls, made, values, None)
        offsets, arena_bytes, separate_bytes = sizes
        plan = MemoryPlan(dict(zip(nodes, offsets, strict=True)), arena_bytes, separate_bytes)
        return Recipe(calls, made, values, plan)
