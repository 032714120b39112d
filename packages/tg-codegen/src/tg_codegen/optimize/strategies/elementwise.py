"""Propose loops for kernels without reductions: lanes along the stores, threads outside."""

from __future__ import annotations

from tg_uop import GroupOp, UOp

from tg_codegen.optimize.kernel_view import Scheduler
from tg_codegen.optimize.strategies.facts import load_facts, value_nodes
from tg_codegen.optimize.strategies.steps import Planner
from tg_codegen.optimize.strategies.threads import thread_choices
from tg_codegen.options import Options

# kernels with more arithmetic than this hold one vector a value, simpler ones up to four
_HEAVY_ARITHMETIC = 24


def optimize_elementwise(view: Scheduler, options: Options) -> Scheduler:
    """The kernel with threads and lanes."""
    planner = Planner(view)
    lane_loop = choose_lane_loop(view)
    choices = thread_choices(view, options)
    lanes = 1 if lane_loop is None else choose_lanes(view, lane_loop, dict(choices))
    if choices:
        others = [pair for pair in choices if pair[0] is not lane_loop]
        loop, amount = (others or choices)[0]
        if loop is not lane_loop or (int(loop.vmax) + 1) // amount % lanes == 0:
            planner.thread(loop, amount)
    if lane_loop is None or lanes == 1:
        return view
    planner.pad(lane_loop, lanes)
    planner.lanes(lane_loop, lanes)
    return view


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


def choose_lanes(view: Scheduler, loop: UOp, threads: dict[UOp, int]) -> int:
    """How many lanes along `loop`: up to four vectors, a divisor where there is a good one."""
    size = int(loop.vmax) + 1
    width = register_lanes(view)
    if width < 2:
        return 1
    share = size
    if loop in threads and len(view.upcastable_dims) == 1:
        share = size // threads[loop]
    most = 4 if arithmetic_count(view) <= _HEAVY_ARITHMETIC else 1
    options = [width * n for n in (4, 2, 1) if n <= most]
    exact = next((n for n in options if share % n == 0), None)
    if exact:
        return exact
    if size % width == 0:
        return width
    if size > width and view.caps.masked_memory:
        return width
    smaller = next((n for n in (width // 2, width // 4) if n > 1 and size % n == 0), 1)
    if smaller == 1 and view.caps.masked_memory and size * 2 > width:
        return width
    return smaller


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
