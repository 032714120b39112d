"""Choose the loop that a kernel is split over threads along."""

from __future__ import annotations

from collections.abc import Callable

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
# what a thread reads decides between shares as alike as this, if it is that much more
_ALIKE = 1.03
_MUCH_MORE = 1.25


Choice = tuple[UOp, int]
"""A loop and the number of threads that share it."""


def thread_choices(
    view: Scheduler, options: Options, traffic: Callable[[Choice], float] | None = None
) -> list[Choice]:
    """Loops that can be split over threads with the number of threads.

    Those that leave a thread least to do come first, of nearly equal ones those by which each
    thread reads less (`traffic`), of these the outermost. Empty for kernels too small to share.
    """
    caps = view.caps
    limit = min(caps.max_threads, options.cores)
    if not caps.has_threads or limit < 2 or not is_large(view):
        return []
    found: list[tuple[float, UOp, int]] = []
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
            found.append((longest * limit / loop.size, loop, amount))
    found.sort(key=lambda choice: int(choice[0] * _STEPS))
    choices = [(loop, amount) for _, loop, amount in found]
    if traffic is None or len(choices) < 2:
        return choices
    shares = {loop: share for share, loop, _ in found}
    alike = [choice for choice in choices if shares[choice[0]] <= found[0][0] * _ALIKE]
    read = {choice: traffic(choice) for choice in alike}
    enough = min(read.values()) * _MUCH_MORE
    alike.sort(key=lambda choice: read[choice] > enough)
    return [*alike, *(choice for choice in choices if choice not in read)]


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
