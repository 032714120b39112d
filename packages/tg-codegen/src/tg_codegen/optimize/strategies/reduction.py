"""Propose loops for reductions that reuse nothing: sums, maxima, norms, softmax."""

from __future__ import annotations

from tg_uop import Opt, OptOps, UOp

from tg_codegen.errors import KernelOptError
from tg_codegen.optimize.keeping import Repeated, find_repeated
from tg_codegen.optimize.kernel_view import Scheduler
from tg_codegen.optimize.strategies.elementwise import (
    choose_lane_loop,
    copies_allowed,
    most_vectors,
    register_lanes,
)
from tg_codegen.optimize.strategies.facts import ReduceFacts, reduce_facts
from tg_codegen.optimize.strategies.steps import Planner
from tg_codegen.optimize.strategies.threads import is_large, thread_choices
from tg_codegen.options import Options

# a reduction of at most so many steps is written out in full
_FULL_UNROLL = 16
# reductions of so many steps read a wide stripe at each, so that memory streams
_LONG = 64


def optimize_reduction(view: Scheduler, options: Options) -> Scheduler:
    """The kernel with lanes along what is contiguous, and threads.

    Threads come last: nothing that decides in which order values are summed depends on them.
    """
    planner = Planner(view)
    facts = [reduce_facts(view, node) for node in view.reduces]
    inner = {loop: None for fact in facts for loop in fact.reduced}
    output_lane = _output_lane(view, facts)
    repeated = [find_repeated(view, fact.node) for fact in facts]
    if output_lane is not None and any(r and _runs_along(r, output_lane) for r in repeated):
        # lanes as in the reduction: only then do both read the same memory alike
        _lanes_of_long_loop(planner, output_lane, register_lanes(view))
    elif output_lane is not None:
        steps = max((f.steps for f in facts if output_lane in f.outputs), default=1)
        _lanes_along_output(planner, output_lane, steps)
    split: set[UOp] = set()
    for fact in facts:
        depends = output_lane is not None and output_lane in fact.outputs
        lane = None if depends else _reduce_lane(fact)
        # reductions side by side can share their loops: the first has split them for all
        if lane is not None and lane not in split:
            split.update(fact.reduced)
            _lanes_along_reduce(planner, fact, lane)
    for number, found in enumerate(repeated):
        if found is not None:
            _keep(view, number)
    _unroll_short(planner, list(inner))
    choices = thread_choices(view, options)
    if choices:
        view.apply_opt(Opt(OptOps.THREAD, view.rngs.index(choices[0][0]), choices[0][1]))
    return view


def _reduce_lane(fact: ReduceFacts) -> UOp | None:
    """The reduce loop along which the loads are contiguous."""
    for loop in reversed(fact.reduced):
        if not isinstance(loop.size, int):
            continue
        if _is_contiguous(fact, loop):
            return loop
    return None


def _is_contiguous(fact: ReduceFacts, loop: UOp) -> bool:
    """Whether all loads that move with a loop go to the next element at each of its steps."""
    moving = [load for load in fact.loads if load.moves_with(loop)]
    return bool(moving) and all(load.is_contiguous(loop) for load in moving)


def _output_lane(view: Scheduler, facts: list[ReduceFacts]) -> UOp | None:
    """The output loop for lanes: contiguous in the loads where no reduce loop is."""
    for fact in facts:
        lane = _reduce_lane(fact)
        sliding = None if lane is None else _sliding_lane(view, fact, lane)
        if sliding is not None:
            return sliding
        if lane is not None and int(lane.vmax) + 1 >= 8:
            free = _loops_outside_of(view, facts)
            return free
        for loop in reversed(fact.outputs):
            if isinstance(loop.size, int) and _is_contiguous(fact, loop):
                return loop
    return _loops_outside_of(view, facts)


def _sliding_lane(view: Scheduler, fact: ReduceFacts, lane: UOp) -> UOp | None:
    """Of short windows over contiguous elements the loop by which they slide: no sums of lanes."""
    if int(lane.vmax) >= _LONG:
        return None
    for loop in reversed(fact.outputs):
        if not isinstance(loop.size, int) or not _is_contiguous(fact, loop):
            continue
        if loop.size % register_lanes(view) == 0:
            return loop
    return None


def _loops_outside_of(view: Scheduler, facts: list[ReduceFacts]) -> UOp | None:
    """The lane loop of the epilogue when no reduction depends on it."""
    loop = choose_lane_loop(view)
    if loop is None or any(loop in fact.outputs for fact in facts):
        return None
    return loop


def _shares_needed(view: Scheduler, loop: UOp) -> int:
    """How many parts of the lanes' loop must remain, so that threads find something to share."""
    others = [r for r in view.shared_output_loops if r is not loop and isinstance(r.size, int)]
    if not is_large(view) or any(int(r.vmax) % 2 for r in others):
        return 1
    return 2


def _lanes_along_output(planner: Planner, loop: UOp, steps: int) -> None:
    """Lanes, and several vectors of them where each step of the reduction jumps far."""
    view = planner.view
    width, size = register_lanes(view), planner.size(loop)
    most = width * most_vectors(view)
    parts = _shares_needed(view, loop)
    sizes = (width * 4, width * 2, width, width // 2, width // 4)
    options = [n for n in sizes if 1 < n <= most]
    lanes = next((n for n in options if size % (n * parts) == 0), 0)
    if lanes < width and view.caps.masked_memory and size > width // 2:
        planner.pad(loop, width)
        lanes = width
    if lanes < width < size and size % width == 0:
        lanes = width
    if lanes < width < size and not view.reads_what_it_writes and loop not in view.reduce_loops:
        planner.lap(loop, width, lanes=True)
        lanes = width
    elif lanes > 1:
        planner.lanes(loop, lanes)
    if lanes >= width and steps >= _LONG:
        rest = planner.size(loop)
        planner.upcast(loop, next((n for n in (4, 2) if rest % (n * parts) == 0), 1))


def _runs_along(repeated: Repeated, loop: UOp) -> bool:
    """Whether a value of a reduction over one loop is computed again along `loop`."""
    return any(others == (loop,) for others in repeated.others)


def _keep(view: Scheduler, number: int) -> None:
    """Keep the value of a reduction, where its loops and those of others have remained alike."""
    try:
        view.apply_opt(Opt(OptOps.KEEP, None, number))
    except KernelOptError:
        return


def _lanes_along_reduce(planner: Planner, fact: ReduceFacts, loop: UOp) -> None:
    _lanes_of_long_loop(planner, loop, planner.view.caps.lanes(fact.node.dtype))


def _lanes_of_long_loop(planner: Planner, loop: UOp, width: int) -> None:
    """Lanes along a loop over contiguous elements, padded where it has a rest.

    The last step of a padded loop is peeled: the others have no conditions.
    """
    view, size = planner.view, planner.size(loop)
    most = width * max(2, most_vectors(view))
    sizes = (width * 4, width * 2, width, width // 2, width // 4)
    options = [n for n in sizes if 1 < n <= most]
    lanes = next((n for n in options if size % n == 0), 0)
    is_long = size > width * 16
    # where steps cannot be written out in pairs, each would wait for the one before
    is_chain = is_long and width <= lanes < most and size // lanes % 2 == 1
    if (lanes < width < size or is_chain) and not view.caps.has_local:
        lanes = most if is_long else width
        planner.pad(loop, lanes)
    if lanes > 1:
        planner.lanes(loop, lanes)


def _unroll_short(planner: Planner, loops: list[UOp]) -> None:
    """Write short reductions out, and give long ones some independent steps."""
    copies = max(1, planner.view.upcast_size() // 16)
    budget = max(1, min(64, copies_allowed(planner.view)) // copies)
    for loop in reversed(loops):
        if not isinstance(loop.size, int):
            continue
        size = planner.size(loop)
        if 1 < size <= min(_FULL_UNROLL, budget):
            planner.unroll(loop, size)
            budget //= size
        elif size > 1:
            amount = next((n for n in (4, 2) if size % n == 0 and n <= budget), 1)
            planner.unroll(loop, amount)
            return
