"""Propose loops for reductions over products: register tiles, staged operands, threads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from tg_uop import Ops, UOp

from tg_codegen.optimize.kernel_view import Scheduler
from tg_codegen.optimize.strategies.elementwise import copies_allowed
from tg_codegen.optimize.strategies.facts import (
    LoadFacts,
    ReduceFacts,
    main_reduce,
    reduce_facts,
)
from tg_codegen.optimize.strategies.phases import Phases
from tg_codegen.optimize.strategies.register_tile import TileModel
from tg_codegen.optimize.strategies.stage_plan import StagePlan
from tg_codegen.optimize.strategies.steps import Planner
from tg_codegen.optimize.strategies.threads import Choice, thread_choices
from tg_codegen.optimize.strategies.tile import RegisterTile
from tg_codegen.options import Options

# statements of the innermost loop after replication
_BODY_LIMIT = 64
# another reduction with this much less work hardly matters for the choice of loops
_SMALL_BESIDE = 16
_UNROLLS = (8, 5, 4, 3, 2)
# copying an operand into scratch memory takes about this many times as long as reading it
_COPY_WEIGHT = 3
# loops change places where that much less comes from memory
_MUCH_LESS = 1.5


def is_product(facts: ReduceFacts) -> bool:
    """Whether a sum over products reuses its operands for several results."""
    if facts.node.reduce_op is not Ops.ADD or len(facts.loads) < 2 or facts.results < 2:
        return False
    return any(
        isinstance(loop.size, int) and any(not load.moves_with(loop) for load in facts.loads)
        for loop in facts.outputs
    )


def dominates(view: Scheduler, facts: ReduceFacts) -> bool:
    """Whether the other reductions of the kernel are small beside this one."""
    others = [reduce_facts(view, node) for node in view.reduces if node is not facts.node]
    return all(other.work * _SMALL_BESIDE <= facts.work for other in others)


def optimize_product(view: Scheduler, options: Options) -> Scheduler:
    """The kernel with the cheapest register tile, its operands staged, split over threads."""
    facts = main_reduce(view)
    assert facts is not None, "a product is a reduction"
    model = TileModel(view, facts)
    tile = model.best()
    planner = Planner(view)
    staged = [_Staged(plan, view.bufs.index(plan.load.index)) for plan in tile.staged]
    _pad(planner, tile)
    for loop, amount in tile.rows:
        if loop in model.phases.steps:
            planner.pad(loop, amount)
        elif int(loop.size) % amount:
            planner.lap(loop, amount)
    for loop, amount in tile.rows:
        if loop in model.phases.steps or int(loop.size) % amount == 0:
            planner.upcast(loop, amount)
    if tile.lane is not None and not tile.lane.laps:
        _make_lanes(planner, tile)
    # tiles stay whole: threads share what remains of the loops

    def traffic(choice: Choice) -> float:
        return _bytes_a_thread(planner, facts, tile, choice)

    for loop, amount in thread_choices(planner.view, options, traffic)[:1]:
        planner.thread(loop, amount)
    body = _write_out(planner, model.phases)
    _unroll(planner, facts, tile, body)
    _stage(planner, facts, staged, tile)
    return view


def _bytes_a_thread(
    planner: Planner, facts: ReduceFacts, tile: RegisterTile, choice: Choice
) -> float:
    """What each thread reads when they share a loop, copies into scratch memory counted more."""
    loop, amount = choice
    copied = {plan.load for plan in tile.staged}
    total = 0.0
    for load in facts.loads:
        loops = [r for r in facts.outputs if load.moves_with(r)]
        elements = _elements(load, (*facts.outputs, *facts.reduced))
        share = amount if any(planner.rest(r) is loop for r in loops) else 1
        weight = _COPY_WEIGHT if load in copied else 1
        total += elements * load.itemsize * weight / share
    return total


def _nearest_order(planner: Planner, facts: ReduceFacts) -> list[UOp]:
    """The output loops so that what an outer one does not move stays near, if that saves much.

    Only the loops of one operand come to the front; the others keep their order.
    """
    given = [loop for loop in facts.outputs if planner.is_known(loop)]
    if len(given) < len(facts.outputs):
        return []
    orders = [given]
    for load in facts.loads:
        moving = [loop for loop in given if load.moves_with(loop)]
        orders.append([*moving, *(loop for loop in given if loop not in moving)])
    fetched = [_bytes_fetched(planner, facts, order) for order in orders]
    best = min(range(len(orders)), key=fetched.__getitem__)
    return orders[best] if fetched[best] * _MUCH_LESS < fetched[0] else []


def _bytes_fetched(planner: Planner, facts: ReduceFacts, order: list[UOp]) -> float:
    """What comes from beyond the second cache when the output loops stand in an order."""
    total = 0.0
    for load in facts.loads:
        held = _elements(load, facts.reduced) * load.itemsize
        fetched = held
        for loop in reversed(order):
            if load.moves_with(loop):
                held *= int(loop.vmax) + 1
                fetched *= int(loop.vmax) + 1
            elif held > planner.view.caps.l2_bytes // 2:
                fetched *= planner.size(loop)
        total += fetched
    return total


def _elements(load: LoadFacts, loops: Iterable[UOp]) -> int:
    return prod(int(r.vmax) + 1 for r in loops if load.moves_with(r))


@dataclass(frozen=True, slots=True)
class _Staged:
    """An operand to stage; Opts keep the order of loads, so its position stays."""

    plan: StagePlan
    position: int


def _pad(planner: Planner, tile: RegisterTile) -> None:
    if tile.lane is None:
        return
    if tile.lane.laps:
        planner.lap(tile.lane.loop, tile.lane.width, lanes=True)
    else:
        planner.pad(tile.lane.loop, tile.lane.width)


def _make_lanes(planner: Planner, tile: RegisterTile) -> None:
    assert tile.lane is not None
    if tile.lane.vectors > 1:
        planner.lanes(tile.lane.loop, tile.lane.lanes)
        if tile.lane.loop.axis_type.is_reduce:
            planner.unroll(tile.lane.loop, tile.lane.vectors)
        else:
            planner.upcast(tile.lane.loop, tile.lane.vectors)
    else:
        planner.lanes(tile.lane.loop, tile.lane.lanes)


def _write_out(planner: Planner, phases: Phases) -> int:
    """Write out the places of a window: each is known to count or not then. How many there are."""
    places = 1
    for loop in phases.places:
        places *= planner.size(loop)
        planner.unroll(loop, planner.size(loop))
    return places


def _unroll(planner: Planner, facts: ReduceFacts, tile: RegisterTile, body: int) -> None:
    """Write out steps of the innermost reduce loop while the body stays small.

    Not steps that read what rows read: a compiler would keep all that in registers, of which the
    sums leave few.
    """
    limit = min(_BODY_LIMIT, copies_allowed(planner.view))
    for _, amount in tile.rows:
        body *= amount
    if tile.lane is not None:
        body *= tile.lane.vectors
    for loop in reversed(facts.reduced):
        if not planner.is_known(loop):
            continue
        size = planner.size(loop)
        if size == 1:
            continue
        if tile.block is None and _reads_what_rows_read(facts, tile, loop):
            return
        amount = next((n for n in _UNROLLS if size % n == 0 and n * body <= limit), 1)
        planner.unroll(loop, amount)
        if amount < size:
            return
        body *= amount


def _reads_what_rows_read(facts: ReduceFacts, tile: RegisterTile, loop: UOp) -> bool:
    """Whether an element for some step of a loop is also one for another step and another row."""
    size = int(loop.vmax) + 1
    for load in facts.loads:
        step = abs(load.strides.get(loop) or 0)
        if step == 0 or (tile.lane is not None and load.moves_with(tile.lane.loop)):
            continue
        for row, amount in tile.rows:
            distance = abs(load.strides.get(row) or 0)
            if distance and distance < step * size and step < distance * amount:
                return True
    return False


def _stage(planner: Planner, facts: ReduceFacts, staged: list[_Staged], tile: RegisterTile) -> None:
    """Put the loops that the copies stand in outside of the others, and stage the operands."""
    fixed = list(
        dict.fromkeys((*tile.outside, *(r for operand in staged for r in operand.plan.fixed)))
    )
    if fixed:
        others = [loop for loop in facts.outputs if loop not in fixed]
        planner.order([*fixed, *others])
    elif tile.block is None:
        planner.order(_nearest_order(planner, facts))
    view = planner.view
    for operand in staged:
        if operand.plan.in_block:
            continue
        around = [r for loop in operand.plan.fixed if (r := planner.rest(loop)) is not None]
        level = max(around, key=view.rngs.index) if around else None
        planner.stage(view.bufs[operand.position], level)
    if tile.block is not None:
        operands = tuple(o.position for o in staged if o.plan.in_block)
        outside = sum(planner.rest(loop) is not None for loop in tile.outside)
        planner.block(tile.block.loop, tile.block.blocks, outside, operands)
