"""Run part of a reduction outside of the output loops, with the sums so far in scratch memory.

    for i: out[i] = f(sum over b, k)
becomes
    for i: part[i] = 0;  for b: for i: part[i] += sum over k;  for i: out[i] = f(part[i])

so that what only moves with `b` is brought near once for all outputs (cache blocking, as in Goto
and van de Geijn, Anatomy of High-Performance Matrix Multiplication, 2008).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from tg_uop import AxisType, Ops, UOp, dtypes

from tg_codegen.linear_index import linear_form, split_gate
from tg_codegen.optimize.loop_nest import LoopNest, identity_element, is_staging_copy
from tg_codegen.optimize.loop_rewrite import LoopReplacement, replace_loops, replace_nodes
from tg_codegen.optimize.staging import StagingRefusal, free_scratch, free_slot

# the blocks' loop stands outside of every loop of the kernel
_OUTERMOST = -1
# loops that clear and read the sums have numbers of their own, behind every other loop
_SUMS_AXIS = 1 << 21


def check_blocking(nest: LoopNest, loop: UOp, outside: Sequence[UOp] = ()) -> None:
    """Raise `StagingRefusal` for kernels of another shape and for sums that do not fit."""
    root, node = _only_reduction(nest, loop)
    wanted = sums_bytes(sum_axes(node, root, outside), node.dtype.itemsize)
    free = free_scratch(nest)
    if wanted > free:
        raise StagingRefusal(
            f"its sums need {wanted} bytes, of scratch memory {free} are free",
            "keep more of the output loops outside of the blocks",
        )


def block_reduction(nest: LoopNest, loop: UOp, outside: Sequence[UOp] = ()) -> UOp:
    """The kernel with a reduce loop outside of the output loops, except those of `outside`.

    Raises as `check_blocking`.
    """
    check_blocking(nest, loop, outside)
    root, node = _only_reduction(nest, loop)
    axes = sum_axes(node, root, outside)
    size = prod(int(r.vmax) + 1 for r in axes)
    scratch = UOp.define_local(free_slot(nest.ast), node.dtype, size)

    arg = loop.range_arg
    block = UOp.range(int(loop.size), (_OUTERMOST, *arg.axis_id), AxisType.LOOP)
    partial = replace_loops(node, {loop: LoopReplacement(block, ())})
    # the sums so far are read anew in each block, also where no loop inside of it moves them
    start = identity_element(node.reduce_op, node)
    clear = _clear(scratch.after(*outside), size, start)
    here = scratch.after(clear, block).index(_flat(axes))
    update = here.store(here.alu(node.reduce_op, partial)).end(block, *axes)
    total = scratch.after(update)

    effect = replace_nodes(root.ended_effect, {node: total.index(_flat(axes))})
    kept = [r for r in root.ended_ranges if r.axis_type is AxisType.THREAD or r in outside]
    targets = [store.stored_target for store in nest.stores]
    finishing = {r: _finishing_loop(r, targets) for r in root.ended_ranges if r not in kept}
    finished = _renamed_outside(effect, total, finishing).end(*kept, *finishing.values())
    return nest.ast.replace(src=(finished,))


def is_blocked(ast: UOp) -> bool:
    """Whether a reduction of the kernel has been blocked."""
    return any(
        effect.op is Ops.RANGE
        for node in ast.toposort()
        if is_staging_copy(node)
        for effect in node.effects
    )


def sums_bytes(loops: Iterable[UOp], itemsize: int) -> int:
    """The scratch memory for one sum for each step of `loops`."""
    return prod(int(r.vmax) + 1 for r in loops) * itemsize


def sum_axes(node: UOp, root: UOp, outside: Sequence[UOp] = ()) -> list[UOp]:
    """The loops over results of a reduction inside one thread and `outside`, the lanes last."""
    around = {r for r in root.ended_ranges if r.axis_type is AxisType.THREAD or r in outside}
    axes = [r for r in root.ended_ranges if r in node.ranges and r not in around]
    return sorted(axes, key=_position)


def _position(loop: UOp) -> tuple[bool, bool, tuple[int, ...]]:
    arg = loop.range_arg
    return arg.lanes, arg.axis_type is AxisType.UPCAST, arg.axis_id


def _only_reduction(nest: LoopNest, loop: UOp) -> tuple[UOp, UOp]:
    """The END and the REDUCE of a kernel that has one of each; it may store several results."""
    root = nest.only_end
    if root is None:
        raise StagingRefusal("the kernel has several loop nests", "block kernels with one")
    if len(nest.reduces) != 1 or loop not in nest.reduces[0].reduce_ranges:
        raise StagingRefusal("the kernel has several reductions", "block kernels with one")
    return root, nest.reduces[0]


def _clear(scratch: UOp, size: int, start: UOp) -> UOp:
    """Store the start value of a reduction in `size` elements."""
    wide = next((n for n in (32, 16, 8, 4) if size % n == 0), 1)
    step = UOp.range(size // wide, (_SUMS_AXIS, 0))
    if wide == 1:
        return scratch.index(step).store(start).end(step)
    lane = UOp.range(wide, (_SUMS_AXIS, 1), AxisType.UPCAST, lanes=True)
    return scratch.index(step * wide + lane).store(start).end(step, lane)


def _finishing_loop(loop: UOp, targets: Iterable[UOp]) -> UOp:
    """The loop by which results are written: plain, unless its lanes are contiguous in memory."""
    arg = loop.range_arg
    addresses = [split_gate(target.index_expr)[1] for target in targets]
    keeps_lanes = arg.lanes and all(linear_form(a).stride(loop) == 1 for a in addresses)
    role = arg.axis_type if keeps_lanes else AxisType.LOOP
    path = (_SUMS_AXIS + 1, *arg.axis_id)
    return loop.replace(arg=type(arg)(path, role, keeps_lanes))


def _flat(loops: Iterable[UOp]) -> UOp:
    position = UOp.const(dtypes.weakint, 0)
    for loop in loops:
        position = position * (int(loop.vmax) + 1) + loop
    return position


def _renamed_outside(effect: UOp, total: UOp, names: dict[UOp, UOp]) -> UOp:
    """`effect` with loops renamed, except below `total`, which has closed them."""
    done: dict[UOp, UOp] = {**names, total: total}
    for node in effect.toposort(lambda n: n is not total):
        if node in done:
            continue
        src = tuple(done[s] for s in node.src)
        done[node] = node if src == node.src else node.replace(src=src)
    return done[effect]
