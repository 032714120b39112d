"""Keep in scratch memory what a reduction computes at each step and another loop computes again.

    sum over r of exp(x[r] - m),  then  y[o] = exp(x[o] - m) / sum

becomes

    kept[k] = exp(x[k] - m),  then  sum over r of kept[r],  then  y[o] = kept[o] / sum

The opposite of rematerialization: worth its memory where the value takes more than a few
instructions. Compilers know the array that stands for a scalar of the loop as scalar expansion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tg_uop import AxisType, GroupOp, UOp, dtypes

from tg_codegen.optimize.loop_nest import LoopNest
from tg_codegen.optimize.loop_rewrite import replace_nodes
from tg_codegen.optimize.staging import StagingRefusal, free_scratch, free_slot
from tg_codegen.optimize.strategies.facts import value_nodes
from tg_codegen.optimize.strategies.instructions import instructions

# a value of fewer instructions is computed again: storing and loading it costs as much
_WORTH_KEEPING = 8
# loops that fill memory have numbers of their own, behind every loop of the kernel
_KEPT_AXIS = 3 << 19


@dataclass(frozen=True, slots=True)
class Repeated:
    """A value inside of a reduction over `loops`, and the same in terms of `others`' loops."""

    value: UOp
    loops: tuple[UOp, ...]
    others: tuple[tuple[UOp, ...], ...]

    @property
    def size(self) -> int:
        """How many elements the value has."""
        total = 1
        for loop in self.loops:
            total *= int(loop.vmax) + 1
        return total

    def under(self, loops: Sequence[UOp]) -> UOp:
        """The value in terms of other loops of the same sizes."""
        return self.value.substitute(dict(zip(self.loops, loops, strict=True)))


def find_repeated(nest: LoopNest, reduce: UOp) -> Repeated | None:
    """The largest value of a REDUCE that loops beside it compute again, None where there is none.

    Only values of known size that stand inside of no replicated axis but the reduction's own, on
    targets where each thread has its scratch memory for itself.
    """
    if not nest.caps.stack_bytes or nest.caps.has_local:
        return None
    loops = _in_order(reduce.reduce_ranges)
    if any(not isinstance(loop.size, int) for loop in loops):
        return None
    around = reduce.ranges.keys()
    if any(loop.axis_type in (AxisType.UPCAST, AxisType.UNROLL) for loop in around):
        return None
    groups = [found for g in _other_loops(nest, reduce) if (found := _paired(loops, g)) is not None]
    for value in reversed(value_nodes(reduce.reduced_value)):
        if not groups or not _is_worth_keeping(value, loops):
            continue
        others = tuple(
            group
            for group in groups
            if value.substitute(dict(zip(loops, group, strict=True))) in nest.main_nodes
        )
        if others:
            return Repeated(value, loops, others)
    return None


def keep_value(nest: LoopNest, reduce: UOp) -> UOp:
    """The kernel with what a REDUCE and other loops compute kept. Raises `StagingRefusal`."""
    repeated = find_repeated(nest, reduce)
    if repeated is None:
        raise StagingRefusal(
            "no other loop computes what this reduction does",
            "give the other loops the same sizes and lanes first",
        )
    free = free_scratch(nest)
    if repeated.size * repeated.value.dtype.itemsize > free:
        raise StagingRefusal(
            f"it would take {repeated.size * repeated.value.dtype.itemsize} bytes of scratch "
            f"memory, of which {free} are free",
            "compute it again",
        )
    slot = free_slot(nest.ast)
    scratch = UOp.define_local(slot, repeated.value.dtype, repeated.size)
    fresh = tuple(_filling(loop, slot, n) for n, loop in enumerate(repeated.loops))
    fill = scratch.index(_place(fresh)).store(repeated.under(fresh)).end(*fresh)
    kept = scratch.after(fill)
    replaced = {
        repeated.under(loops): kept.index(_place(loops))
        for loops in (repeated.loops, *repeated.others)
    }
    return replace_nodes(nest.ast, replaced)


def _in_order(loops: Sequence[UOp]) -> tuple[UOp, ...]:
    """The loops from the outermost to the innermost, lanes last."""
    return tuple(sorted(loops, key=lambda r: (r.range_arg.lanes, r.range_arg.axis_id)))


def _other_loops(nest: LoopNest, reduce: UOp) -> list[tuple[UOp, ...]]:
    """The loops of the other reductions, and those of the outputs, that are not around this one."""
    around = reduce.ranges.keys()
    own = frozenset(reduce.reduce_ranges)
    families = {frozenset(node.reduce_ranges): None for node in nest.reduces}
    reduced = nest.reduce_loops
    families[frozenset(r for r in nest.rngs if r not in reduced and r not in around)] = None
    return [_in_order(tuple(family)) for family in families if family and not family & own]


def _paired(loops: tuple[UOp, ...], others: tuple[UOp, ...]) -> tuple[UOp, ...] | None:
    """`others` if they run as `loops` do: the same sizes, lanes where those are lanes."""
    described = [
        [(loop.size, loop.range_arg.lanes) for loop in nest_part] for nest_part in (loops, others)
    ]
    return others if described[0] == described[1] else None


def _is_worth_keeping(value: UOp, loops: tuple[UOp, ...]) -> bool:
    if value.op not in GroupOp.Elementwise or value.dtype == dtypes.bool:
        return False
    if any(loop not in value.ranges for loop in loops):
        return False
    return instructions(value_nodes(value)) >= _WORTH_KEEPING


def _filling(loop: UOp, slot: int, number: int) -> UOp:
    """The loop that fills what `loop` will read."""
    role = AxisType.UPCAST if loop.range_arg.lanes else AxisType.LOOP
    path = (_KEPT_AXIS + slot, number)
    return UOp.range(int(loop.vmax) + 1, path, role, lanes=loop.range_arg.lanes)


def _place(loops: Sequence[UOp]) -> UOp:
    """Where the element of these loops' steps stands."""
    place = UOp.const(dtypes.weakint, 0)
    for loop in loops:
        place = place * (int(loop.vmax) + 1) + loop
    return place
