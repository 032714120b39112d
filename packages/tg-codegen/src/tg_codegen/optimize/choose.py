"""Choose the loop structure of a kernel: as it asks itself, by strategy, or by search."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tg_uop import UOp

from tg_codegen.errors import KernelOptError
from tg_codegen.optimize.kernel_view import Scheduler, is_given_structure
from tg_codegen.optimize.loop_nest import HasCapabilities
from tg_codegen.optimize.padding import free_of_padding
from tg_codegen.optimize.strategies.elementwise import optimize_elementwise
from tg_codegen.optimize.strategies.facts import main_reduce
from tg_codegen.optimize.strategies.gpu import optimize_for_groups
from tg_codegen.optimize.strategies.matmul import dominates, is_product, optimize_product
from tg_codegen.optimize.strategies.matvec import streams_in_stripes
from tg_codegen.optimize.strategies.reduction import optimize_reduction
from tg_codegen.optimize.strategies.scan import optimize_scan, running_axis
from tg_codegen.optimize.strategies.separate import optimize_separately, separate_statements
from tg_codegen.optimize.strategies.tensor_core import (
    fitting_product,
    optimize_on_tensor_core,
)
from tg_codegen.options import Options


def optimized(ast: UOp, renderer: HasCapabilities, options: Options) -> UOp:
    """The kernel (kernel form) with its Opts applied.

    `opts_to_apply` of its KernelInfo decides where it is given; a kernel whose loops have roles
    already stays as it is; otherwise the heuristic chooses. Raises `KernelOptError` for Opts
    asked for that cannot be applied.
    """
    if options.optimize:
        ast = free_of_padding(ast)
    view = Scheduler(ast, renderer)
    wanted = view.info.opts_to_apply
    if wanted is not None:
        if view.caps.has_local:
            view.convert_loop_to_global()
        for opt in wanted:
            view.apply_opt(opt)
        return view.get_optimized_ast()
    if not is_given_structure(ast) and options.optimize:
        view = heuristic(view, options)
    return view.get_optimized_ast()


def heuristic(view: Scheduler, options: Options) -> Scheduler:
    """The kernel optimized by the strategy of its kind; `view` is not changed.

    Where a strategy's Opts do not fit the kernel, the next plainer one is tried.
    """
    if view.has_ordered_effects or not view.rngs:
        return view.copy()
    if not view.caps.has_local and separate_statements(view.ast):
        return optimize_separately(view, options, heuristic)
    for strategy in _strategies(view, options):
        try:
            return strategy(view.copy())
        except KernelOptError:
            continue
    return view.copy()


def _strategies(view: Scheduler, options: Options) -> list[Callable[[Scheduler], Scheduler]]:
    """What to try, the best first."""
    if view.caps.has_local:
        return [partial(optimize_for_groups, options=options)]
    facts = main_reduce(view)
    if facts is None:
        return [partial(optimize_elementwise, options=options)]
    plain = partial(optimize_reduction, options=options)
    running = running_axis(view)
    if running is not None:
        return [partial(optimize_scan, options=options, loop=running), plain]
    product = fitting_product(view, options)
    if product is not None:
        on_unit = partial(optimize_on_tensor_core, options=options, product=product)
        return [on_unit, partial(optimize_product, options=options), plain]
    if is_product(facts) and dominates(view, facts) and not streams_in_stripes(facts):
        return [partial(optimize_product, options=options), plain]
    return [plain]
