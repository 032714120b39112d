"""Propose loops for targets with work-groups: grid, groups, shared reductions, upcasts."""

from __future__ import annotations

from math import prod

from tg_uop import AxisType, Opt, OptOps

from tg_codegen.optimize.kernel_view import Scheduler
from tg_codegen.optimize.strategies.facts import load_facts, main_reduce
from tg_codegen.optimize.strategies.matmul import is_product
from tg_codegen.optimize.strategies.threads import largest_divisor
from tg_codegen.options import Options

# fewer results than this leave a GPU idle unless each reduction is shared by a group
_FEW_RESULTS = 2048
_GROUP_SIZES = (256, 128, 64, 32, 16)
_LOCAL_TARGET = 128


def optimize_for_groups(view: Scheduler, options: Options) -> Scheduler:
    """The kernel on the grid, with groups of some hundred work-items."""
    view.convert_loop_to_global()
    if not options.use_locals:
        view.apply_opt(Opt(OptOps.NOLOCALS))
    facts = main_reduce(view)
    if facts is not None and options.use_locals and facts.results <= _FEW_RESULTS:
        if _group_reduction(view):
            return view
    if facts is not None and is_product(facts):
        _upcast_reused(view)
    _upcast_contiguous(view)
    _unroll_last(view)
    if options.use_locals:
        _make_groups(view)
    return view


def _group_reduction(view: Scheduler) -> bool:
    """Share a long reduction between the work-items of a group."""
    if not view.caps.has_shared or len(view.reduces) > 1:
        return False
    axes = view.axes_of(AxisType.REDUCE)
    for position, axis in enumerate(axes):
        size = view.rngs[axis].size
        limit = view.caps.max_workgroup
        for amount in _GROUP_SIZES:
            if isinstance(size, int) and size % amount == 0 and amount <= limit:
                view.apply_opt(Opt(OptOps.GROUPTOP, position, amount))
                return True
    return False


def _upcast_reused(view: Scheduler) -> None:
    """Let one work-item compute several results that share operands."""
    facts = main_reduce(view)
    assert facts is not None
    reused = [r for r in facts.outputs if any(not load.moves_with(r) for load in facts.loads)]
    for loop in reused[-2:]:
        amount = largest_divisor(loop.size, 4) if isinstance(loop.size, int) else 1
        if amount > 1 and loop in view.rngs:
            view.apply_opt(Opt(OptOps.UPCAST, view.rngs.index(loop), amount))


def _upcast_contiguous(view: Scheduler) -> None:
    """Four neighbours a work-item where stores are contiguous and the grid stays large."""
    targets = [store.stored_target for store in view.stores]
    if view.upcast_size() > 4 or prod(int(view.rngs[i].vmax) + 1 for i in view.output_axes) < 8192:
        return
    for axis in view.upcastable_dims:
        loop = view.rngs[axis]
        contiguous = all(load_facts(target).is_contiguous(loop) for target in targets)
        if contiguous and isinstance(loop.size, int) and loop.size % 4 == 0:
            view.apply_opt(Opt(OptOps.UPCAST, axis, 4))
            return


def _unroll_last(view: Scheduler) -> None:
    dims = view.unrollable_dims
    if not dims:
        return
    size = view.rngs[dims[-1]].size
    if not isinstance(size, int):
        return
    amount = size if size <= 8 else largest_divisor(size, 4)
    if amount > 1 and view.upcast_size() * amount <= 64:
        view.apply_opt(Opt(OptOps.UNROLL, len(dims) - 1, amount))


def _make_groups(view: Scheduler) -> None:
    """Take work-items from the innermost grid axes until a group is large enough."""
    members = 1
    for _ in range(3):
        candidates = [
            axis for axis in view.axes_of(AxisType.GLOBAL) if isinstance(view.rngs[axis].size, int)
        ]
        wanted = min(_LOCAL_TARGET, view.caps.max_workgroup) // members
        amounts = [largest_divisor(int(view.rngs[a].vmax) + 1, wanted) for a in candidates]
        if not amounts or max(amounts) < 2:
            return
        best = max(range(len(amounts)), key=lambda i: (amounts[i] >= 16, i, amounts[i]))
        if amounts[best] < 2:
            best = max(range(len(amounts)), key=lambda i: amounts[i])
        view.apply_opt(Opt(OptOps.LOCAL, candidates[best], amounts[best]))
        members *= amounts[best]
        if members * 2 > _LOCAL_TARGET:
            return
