"""Turn THREAD axes into the number of the thread that runs: kernel form in, kernel form out."""

from __future__ import annotations

from tg_uop import AxisType, Ops, UOp

from tg_codegen.expand.grid import keep_only_ranges_closed
from tg_codegen.expand.loops import axis_order

CORE_ID = "core_id"


def number_threads(kernel: UOp) -> UOp:
    """The kernel with parts of `core_id` in place of its THREAD ranges."""
    ranges = [n for n in kernel.toposort() if n.op is Ops.RANGE]
    threads = sorted((r for r in ranges if r.axis_type is AxisType.THREAD), key=axis_order)
    if not threads:
        return kernel
    total = 1
    for axis in threads:
        total *= axis.range_size.const_value
    rest = UOp.special(total, CORE_ID)
    replacements: dict[UOp, UOp] = {}
    for axis in reversed(threads[1:]):
        replacements[axis] = rest.alu(Ops.MOD, axis.range_size)
        rest = rest.alu(Ops.IDIV, axis.range_size)
    replacements[threads[0]] = rest
    return keep_only_ranges_closed(kernel.substitute(replacements))
