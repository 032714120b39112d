"""Give a recipe the buffers of the graph at hand: what makes a schedule to run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from tg_uop import Ops, UOp
from tg_uop.ir.args import BufferArg, CallArg

from tg_tensor.schedule.memory import MemoryPlan
from tg_tensor.schedule.recipe import Recipe
from tg_tensor.schedule.roots import Roots

PLAIN_CALL = CallArg()


@dataclass(frozen=True, slots=True)
class Schedule:
    """What to run, with which values of variables, and what then stands for the wanted values."""

    linear: UOp
    var_vals: dict[str, int]
    results: dict[UOp, UOp]
    memory: MemoryPlan | None = None


def instantiate(recipe: Recipe, roots: Roots, sinks: Sequence[UOp]) -> Schedule:
    """The recipe with buffers in place of the stand-ins."""
    actual = roots.actual()
    for stand_in in recipe.fresh:
        size = cast(BufferArg, stand_in.arg).size
        actual[stand_in] = UOp.new_buffer(cast(str, stand_in.device), size, stand_in.dtype)
    calls = []
    for call in recipe.calls:
        arguments = tuple(_actual(argument, actual) for argument in call.arguments)
        made = UOp(Ops.CALL, call.called.dtype, (call.called, *arguments), PLAIN_CALL)
        made.source_line = call.called.source_line
        calls.append(made)
    results: dict[UOp, UOp] = {}
    for node, clean in roots.clean.items():
        if node.op is Ops.AFTER and clean in recipe.results:
            results[node] = recipe.results[clean].substitute(actual)
    for sink, clean in zip(sinks, roots.wanted, strict=True):
        found = recipe.results.get(clean)
        if found is not None:
            results[sink] = found.substitute(actual)
    return Schedule(UOp(Ops.LINEAR, src=tuple(calls)), roots.var_vals, results, recipe.memory)


def _actual(argument: UOp, actual: dict[UOp, UOp]) -> UOp:
    found = actual.get(argument)
    if found is not None:
        return found
    view = UOp(Ops.BUFFER_VIEW, argument.dtype, (actual[argument.src[0]],), argument.arg)
    actual[argument] = view
    return view
