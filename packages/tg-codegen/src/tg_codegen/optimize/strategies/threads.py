"""Choose the loop that a kernel is split over threads along."""

from __future__ import annotations

from tg_uop import AxisType, GroupOp, Ops, UOp

from tg_codegen.optimize.kernel_view import Scheduler
from tg_codegen.options import Options

# below so many steps of arithmetic, or bytes, starting a second thread costs more than it saves
_MIN_OPERATIONS = 50_000
_MIN_BYTES = 100_000

# shares that overlap do some work twice: taken where a thread then has this much less to do
_WORTH_LAPPING = 1.1
# differences of less than one in so many between the largest shares hardly matter
_STEPS = 5


def thread_choices(view: Scheduler, options: Options) -> list[tuple[UOp, int]]:
    """Loops that can be split over threads with the number of threads.

    Those that leave a thread least to do come first, of nearly equal ones the outermost. Empty
    for kernels too small to share.
    """
    caps = view.caps
    limit = min(caps.max_threads, options.cores)
    if not caps.has_threads or limit < 2 or not is_large(view):
        return []
    found = []
    can_lap = not view.reads_what_it_writes
    for loop in view.shared_output_loops:
        if loop.axis_type is not AxisType.LOOP or not isinstance(loop.size, int):
            continue
        amount = largest_divisor(loop.size, limit)
        longest = loop.size // amount
        share = -(-loop.size // limit)
        if can_lap and share * _WORTH_LAPPING < longest:
            amount, longest = -(-loop.size // share), share
        if amount > 1:
            found.append((longest * limit * _STEPS // loop.size, loop, amount))
    return [(loop, amount) for _, loop, amount in sorted(found, key=lambda choice: choice[0])]


def is_large(view: Scheduler) -> bool:
    """Whether there is work for more than one thread."""
    operations = 0
    moved = 0
    for node in view.main_nodes:
        steps = 1
        for loop in node.ranges:
            steps *= int(loop.vmax) + 1
        if node.op is Ops.REDUCE:
            for loop in node.reduce_ranges:
                steps *= int(loop.vmax) + 1
        if node.op in GroupOp.ALU or node.op is Ops.REDUCE:
            operations = max(operations, steps)
        elif node.op is Ops.INDEX:
            moved = max(moved, steps * node.dtype.itemsize)
    return operations >= _MIN_OPERATIONS or moved >= _MIN_BYTES


def largest_divisor(size: int, limit: int) -> int:
    """The largest divisor of `size` that is at most `limit`."""
    return next((n for n in range(min(size, limit), 0, -1) if size % n == 0), 1)
