"""Propose a tensor core for products of matrices that one fits, split over threads."""

from __future__ import annotations

from tg_uop import AxisType, Opt, OptOps, UOp

from tg_codegen.optimize.kernel_view import Scheduler
from tg_codegen.optimize.strategies.steps import Planner
from tg_codegen.optimize.strategies.threads import is_large
from tg_codegen.optimize.tensor_core import (
    COLUMNS,
    ROWS,
    Product,
    TensorCoreRefusal,
    find_product,
    needs_padding,
)
from tg_codegen.options import Options

# packing costs more than it saves when each packed element is used for fewer results
_FEWEST = 8
# products below this many multiplications take vectors no longer
_SMALLEST = 32 * 32 * 32
_WITH_PADDING = 2


def fitting_product(view: Scheduler, options: Options) -> Product | None:
    """The product that a unit should compute, None where vectors do as well."""
    if options.tensor_cores != 1 or not view.caps.tensor_cores:
        return None
    try:
        product = find_product(view, options.tensor_core_select)
    except TensorCoreRefusal:
        return None
    rows, columns = int(product.rows.size), int(product.columns.size)
    if min(rows, columns) < _FEWEST or rows * columns * product.depth < _SMALLEST:
        return None
    if needs_padding(product) and options.tensor_core_effort < _WITH_PADDING:
        return None
    return product


def optimize_on_tensor_core(view: Scheduler, options: Options, product: Product) -> Scheduler:
    """The kernel on a unit, its blocks shared by the threads."""
    planner = Planner(view)
    threads = min(options.cores, view.caps.max_threads)
    if threads > 1 and is_large(view):
        loop, block = _shared_loop(view, product, threads)
        planner.pad(loop, block * threads)
        planner.thread(loop, threads)
    select = options.tensor_core_select
    view.apply_opt(Opt(OptOps.TC, 0, (select, _WITH_PADDING, 1)))
    return view


def _shared_loop(view: Scheduler, product: Product, threads: int) -> tuple[UOp, int]:
    """The loop to split over threads, and how many of its steps stay together.

    Products side by side first; then columns, so that each thread packs what it uses; then rows.
    """
    for loop in view.shared_output_loops:
        is_outside = loop is not product.rows and loop is not product.columns
        if is_outside and loop.axis_type is AxisType.LOOP and isinstance(loop.size, int):
            if loop.size % threads == 0:
                return loop, 1
    columns, rows = int(product.columns.size), int(product.rows.size)
    if columns >= COLUMNS * threads or columns >= rows:
        return product.columns, COLUMNS
    return product.rows, ROWS
