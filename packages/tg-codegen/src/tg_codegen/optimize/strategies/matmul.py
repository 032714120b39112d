"""Propose loops for reductions over products: register tiles, staged operands, threads."""

from __future__ import annotations

from tg_uop import Ops, UOp

from tg_codegen.optimize.kernel_view import Scheduler
from tg_codegen.optimize.linear_index import split_gate
from tg_codegen.optimize.staging import tile_bytes
from tg_codegen.optimize.strategies.facts import LoadFacts, ReduceFacts
from tg_codegen.optimize.strategies.register_tile import RegisterTile, TileModel
from tg_codegen.optimize.strategies.steps import Planner
from tg_codegen.optimize.strategies.threads import thread_choices
from tg_codegen.options import Options

# statements of the innermost loop after replication
_BODY_LIMIT = 64
_UNROLLS = (8, 5, 4, 3, 2)


def is_product(facts: ReduceFacts) -> bool:
    """Whether a sum over products reuses its operands for several results."""
    if facts.node.reduce_op is not Ops.ADD or len(facts.loads) < 2 or facts.results < 2:
        return False
    return any(
        isinstance(loop.size, int) and any(not load.moves_with(loop) for load in facts.loads)
        for loop in facts.outputs
    )


def optimize_product(view: Scheduler, facts: ReduceFacts, options: Options) -> Scheduler:
    """The kernel with the cheapest register tile, its operands staged, split over threads."""
    tile = TileModel(view, facts).best()
    planner = Planner(view)
    staged = [_Staged(load, view) for load in tile.staged]
    _pad(planner, tile)
    _split_threads(planner, tile, options)
    for loop, amount in tile.rows:
        planner.upcast(loop, amount)
    if tile.lane is not None:
        _make_lanes(planner, tile)
    _unroll(planner, facts, tile)
    _stage(planner, facts, staged)
    return view


class _Staged:
    """A load to stage, found again after other Opts have changed its address."""

    def __init__(self, load: LoadFacts, view: Scheduler) -> None:
        self.load = load
        self.position = view.bufs.index(load.index)

    def current(self, view: Scheduler) -> UOp:
        """The load as it is now: Opts keep the order of loads."""
        return view.bufs[self.position]


def _pad(planner: Planner, tile: RegisterTile) -> None:
    if tile.lane is not None:
        planner.pad(tile.lane.loop, tile.lane.width)


def _split_threads(planner: Planner, tile: RegisterTile, options: Options) -> None:
    """Along the outermost loop whose shares the tile still divides."""
    taken = dict(tile.rows)
    if tile.lane is not None:
        taken[tile.lane.loop] = tile.lane.width
    for loop, amount in thread_choices(planner.view, options):
        root = loop.range_arg.axis_id[0]
        needed = next((n for r, n in taken.items() if r.range_arg.axis_id[0] == root), 1)
        if (int(loop.vmax) + 1) // amount % needed == 0:
            planner.thread(loop, amount)
            return


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


def _unroll(planner: Planner, facts: ReduceFacts, tile: RegisterTile) -> None:
    """Write out steps of the innermost reduce loop while the body stays small."""
    body = 1
    for _, amount in tile.rows:
        body *= amount
    if tile.lane is not None:
        body *= tile.lane.vectors
    for loop in reversed(facts.reduced):
        size = planner.size(loop)
        if size == 1:
            continue
        amount = next((n for n in _UNROLLS if size % n == 0 and n * body <= _BODY_LIMIT), 1)
        planner.unroll(loop, amount)
        if amount < size:
            return
        body *= amount


def _stage(planner: Planner, facts: ReduceFacts, staged: list[_Staged]) -> None:
    """Stage each operand outside of all loops if it fits there, else inside those it moves with."""
    view = planner.view
    budget = min(view.caps.l2_bytes // 2, view.caps.shared_bytes or view.caps.stack_bytes)
    for operand in staged:
        whole = tile_bytes(view, operand.current(view), None)
        if whole is not None and whole <= budget:
            planner.stage(operand.current(view), None)
            budget -= whole
            continue
        _stage_inside(planner, facts, operand, budget)


def _stage_inside(planner: Planner, facts: ReduceFacts, operand: _Staged, budget: int) -> None:
    """Move the loops that the operand moves with outside, and stage inside of them."""
    view = planner.view
    moving = [loop for loop in facts.outputs if operand.load.moves_with(loop)]
    resting = [loop for loop in facts.outputs if not operand.load.moves_with(loop)]
    planner.order([loop for loop in (*moving, *resting) if planner.rest(loop) is not None])
    used = split_gate(operand.current(view).index_expr)[1].ranges
    levels = [r for r in view.rngs if r in used and r in view.shared_output_loops]
    outer = [r for r in levels if r.axis_type.name == "LOOP"]
    if not outer:
        return
    level = outer[-1]
    held = tile_bytes(view, operand.current(view), view.rngs.index(level))
    if held is not None and held <= budget:
        planner.stage(operand.current(view), level)
