"""Propose loops for kernels without reductions: lanes along the stores, threads outside."""

from __future__ import annotations

from tg_uop import GroupOp, UOp

from tg_codegen.optimize.kernel_view import Scheduler
from tg_codegen.optimize.strategies.facts import load_facts, value_nodes
from tg_codegen.optimize.strategies.steps import Planner
from tg_codegen.optimize.strategies.threads import is_large, largest_divisor, thread_choices
from tg_codegen.options import Options

# kernels with more arithmetic than this hold one vector a value, simpler ones up to four
_HEAVY_ARITHMETIC = 24


def optimize_elementwise(view: Scheduler, options: Options) -> Scheduler:
    """The kernel with threads and lanes."""
    planner = Planner(view)
    lane_loop = choose_lane_loop(view)
    lanes = 1 if lane_loop is None else choose_lanes(view, lane_loop)
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
    return view


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
    most = 4 if arithmetic_count(view) <= _HEAVY_ARITHMETIC else 1
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
    """Operations on values for each element of the outputs."""
    nodes: set[UOp] = set()
    for store in view.stores:
        nodes.update(value_nodes(store.stored_value))
    return sum(node.op in GroupOp.ALU for node in nodes)
