"""Propose loops for kernels without reductions: lanes along the stores, threads outside."""

from __future__ import annotations

from tg_uop import Ops, Opt, OptOps, UOp

from tg_codegen.optimize.kernel_view import Scheduler
from tg_codegen.optimize.strategies.facts import load_facts, value_nodes
from tg_codegen.optimize.strategies.instructions import instructions
from tg_codegen.optimize.strategies.steps import Planner
from tg_codegen.optimize.strategies.threads import is_large, largest_divisor, thread_choices
from tg_codegen.options import Options

# kernels with more arithmetic than this hold one vector a value, simpler ones up to four
_HEAVY_ARITHMETIC = 24
# a transposition goes block by block, so that each cache line is used up while it is near; a block
# of this side does not collide in a cache where rows are a power of two apart
_BLOCK_SIDE = 8
# statements without lanes that are written out instead of looped over
_SHORT_LOOPS = 20
# instructions in a loop's body beyond which compile time is not worth it
_MOST_INSTRUCTIONS = 512


def optimize_elementwise(view: Scheduler, options: Options) -> Scheduler:
    """The kernel with threads and lanes."""
    planner = Planner(view)
    lane_loop = choose_lane_loop(view)
    lanes = 1 if lane_loop is None else choose_lanes(view, lane_loop)
    crossing = None if lane_loop is None else crossing_loop(view, lane_loop)
    if crossing is not None:
        lanes = min(lanes, _BLOCK_SIDE)
    choices = thread_choices(view, options)
    others = [pair for pair in choices if pair[0] is not lane_loop]
    if others:
        planner.thread(*others[0])
    elif lane_loop is not None and is_large(view) and lanes > 1:
        _share_lane_loop(planner, lane_loop, lanes, options)
    elif choices:
        planner.thread(*choices[0])
    if lane_loop is not None and lanes > 1:
        planner.pad(lane_loop, lanes)
        planner.lanes(lane_loop, lanes)
    if crossing is not None and planner.rest(crossing) is not None:
        side = min(_BLOCK_SIDE, copies_allowed(view))
        planner.upcast(crossing, largest_divisor(planner.size(crossing), side))
    if lanes == 1:
        write_out_short_loops(planner)
    return view


def write_out_short_loops(planner: Planner) -> None:
    """Write the innermost output loops out while they are short: it saves their overhead."""
    view = planner.view
    left = min(_SHORT_LOOPS, copies_allowed(view))
    while view.upcastable_dims:
        axis = view.upcastable_dims[-1]
        size = int(view.rngs[axis].vmax) + 1
        if size > left:
            return
        view.apply_opt(Opt(OptOps.UPCAST, axis, size))
        left //= size


def _share_lane_loop(planner: Planner, loop: UOp, lanes: int, options: Options) -> None:
    """Split the loop of the lanes over threads, each of which gets whole vectors."""
    threads = min(options.cores, planner.view.caps.max_threads)
    if threads < 2 or loop not in planner.view.shared_output_loops:
        return
    blocks = -(-planner.size(loop) // lanes)
    amount = largest_divisor(blocks, threads)
    if amount * 2 <= threads and planner.view.caps.masked_memory:
        amount = threads
    planner.pad(loop, lanes * amount)
    planner.thread(loop, amount)


def choose_lane_loop(view: Scheduler) -> UOp | None:
    """The output loop along which most accesses are contiguous, the stores before the loads."""
    if view.caps.vector_bits == 0:
        return None
    best: tuple[int, int, UOp] | None = None
    stores = [store.stored_target for store in view.stores]
    loads = [index for index in view.bufs if index not in stores]
    for number in view.upcastable_dims:
        loop = view.rngs[number]
        written = sum(load_facts(target).is_contiguous(loop) for target in stores)
        facts = [load_facts(index) for index in loads]
        read = sum(f.is_contiguous(loop) for f in facts)
        strided = sum(loop in f.strides and not f.is_contiguous(loop) for f in facts)
        score = 2 * written + read - strided
        if written and score > 0 and (best is None or score > best[0]):
            best = (score, int(loop.vmax) + 1, loop)
    return best[2] if best else None


def choose_lanes(view: Scheduler, loop: UOp) -> int:
    """How many lanes along `loop`: up to four vectors, a divisor where there is a good one."""
    size = int(loop.vmax) + 1
    width = register_lanes(view)
    if width < 2:
        return 1
    most = most_vectors(view)
    options = [width * n for n in (4, 2, 1) if n <= most]
    exact = next((n for n in options if size % n == 0), None)
    if exact:
        return exact
    if view.caps.masked_memory and size > width // 2:
        return width
    return next((n for n in (width // 2, width // 4) if n > 1 and size % n == 0), 1)


def register_lanes(view: Scheduler) -> int:
    """Lanes of the widest dtype that the kernel loads or stores."""
    dtypes = {index.dtype.scalar() for index in view.bufs}
    return min((view.caps.lanes(dtype) for dtype in dtypes), default=1)


def arithmetic_count(view: Scheduler) -> int:
    """Instructions on values for each element of the outputs, roughly."""
    nodes: set[UOp] = set()
    for store in view.stores:
        nodes.update(value_nodes(store.stored_value))
    for reduce in view.reduces:
        nodes.update(value_nodes(reduce.reduced_value))
    return instructions(nodes)


def copies_allowed(view: Scheduler) -> int:
    """How often a statement may be written out before its program gets too long."""
    return max(1, _MOST_INSTRUCTIONS // max(1, arithmetic_count(view)))


def most_vectors(view: Scheduler) -> int:
    """How many vectors a value may be: one where its computation needs the registers."""
    return 4 if arithmetic_count(view) <= _HEAVY_ARITHMETIC else 1


def crossing_loop(view: Scheduler, lane_loop: UOp) -> UOp | None:
    """A loop along which a load is contiguous that jumps along the lanes: a transposition."""
    for store in view.stores:
        for node in value_nodes(store.stored_value):
            if node.op is not Ops.INDEX:
                continue
            facts = load_facts(node)
            if facts.strides.get(lane_loop, 1) == 1:
                continue
            for loop in facts.strides:
                if facts.is_contiguous(loop) and loop is not lane_loop:
                    return loop
    return None
