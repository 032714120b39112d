"""Propose loops for reductions that run along an output loop: cumulative sums and their like."""

from __future__ import annotations

from math import gcd

from tg_uop import AxisType, Opt, OptOps, UOp

from tg_codegen.optimize.kernel_view import Scheduler
from tg_codegen.optimize.strategies.elementwise import copies_allowed, register_lanes
from tg_codegen.optimize.strategies.facts import load_facts
from tg_codegen.optimize.strategies.steps import Planner
from tg_codegen.optimize.strategies.threads import largest_divisor
from tg_codegen.options import Options
from tg_codegen.running import running_loop

# An addition takes four cycles, and two start in each (Agner Fog, instruction tables): so many
# independent sums keep the unit busy.
_CHAINS = 8
# Addresses so far apart fall into one set of a first cache, of which this many lines are ours.
_SET_PERIOD = 4096
_LINES_OF_A_SET = 4
# with less work a second thread costs more than it saves
_WORTH_SHARING = 1 << 15


def running_axis(view: Scheduler) -> UOp | None:
    """The loop that the one reduction of a kernel runs along."""
    if len(view.reduces) != 1:
        return None
    loop = running_loop(view.reduces[0])
    return loop if loop in view.rngs else None


def optimize_scan(view: Scheduler, options: Options, loop: UOp) -> Scheduler:
    """The kernel with the other loops in lanes or side by side, and shared by the threads."""
    planner = Planner(view)
    others = [r for r in _other_loops(view, loop) if isinstance(r.size, int)]
    lane = next((r for r in others if _is_contiguous(view, r)), None)
    steps = 1
    for number in view.output_axes:
        steps *= int(view.rngs[number].vmax) + 1
    threads = min(options.cores, view.caps.max_threads)
    shared = [r for r in others if r in view.shared_output_loops and int(r.size) % threads == 0]
    if threads > 1 and steps >= _WORTH_SHARING and shared:
        planner.thread(shared[0], threads)
    width = register_lanes(view)
    if lane is not None and width > 1 and planner.size(lane) >= width:
        planner.pad(lane, width)
        planner.lanes(lane, width)
        chains = max(1, _CHAINS // 2)
    else:
        chains = _CHAINS
    limit = min(chains, copies_allowed(view))
    for other in reversed(others):
        if planner.is_known(other):
            most = min(limit, _rows_side_by_side(planner, other))
            amount = largest_divisor(planner.size(other), most)
            planner.upcast(other, amount)
            limit //= amount
    view.apply_opt(Opt(OptOps.SCAN, view.rngs.index(loop)))
    return view


def _rows_side_by_side(planner: Planner, loop: UOp) -> int:
    """How many steps of a loop leave each other's lines in the first cache."""
    rest = planner.rest(loop)
    needed = 0.0
    for index in planner.view.bufs:
        stride = load_facts(index).strides.get(rest) if rest is not None else None
        if stride:
            needed += gcd(stride * index.dtype.itemsize, _SET_PERIOD) / _SET_PERIOD
    return max(1, int(_LINES_OF_A_SET / needed)) if needed else _CHAINS


def _other_loops(view: Scheduler, loop: UOp) -> list[UOp]:
    found = (view.rngs[number] for number in view.output_axes)
    return [r for r in found if r is not loop and r.axis_type is AxisType.LOOP]


def _is_contiguous(view: Scheduler, loop: UOp) -> bool:
    """Whether what is written and read lies side by side along a loop."""
    facts = [load_facts(index) for index in view.bufs]
    moving = [fact for fact in facts if fact.moves_with(loop)]
    return bool(moving) and all(fact.is_contiguous(loop) for fact in moving)
