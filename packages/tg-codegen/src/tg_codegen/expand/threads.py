"""Turn THREAD axes into the number of the thread that runs: kernel form in, kernel form out.

Statements that share no loops have THREAD axes of their own, perhaps of different sizes: the kernel
runs on as many threads as the widest needs, and every other statement keeps to some of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from tg_uop import AxisType, Ops, UOp
from tg_uop.ir.args import RangeArg

from tg_codegen.expand.grid import keep_only_ranges_closed
from tg_codegen.expand.loops import axis_order
from tg_codegen.linear_index import split_gate

CORE_ID = "core_id"

Access = Callable[[UOp, UOp], tuple[UOp, UOp]]
"""From the memory and the index of an access to those of another."""

_CONDITIONAL = 1 << 16
"""Ends the id of a loop that some threads leave out; no split numbers its parts so high."""


def number_threads(kernel: UOp) -> UOp:
    """The kernel with parts of `core_id` in place of its THREAD ranges."""
    groups = [_thread_axes(root) for root in kernel.src]
    axes = dict.fromkeys(axis for group in groups for axis in group)
    if not axes:
        return kernel
    total = max(_steps(group) for group in groups)
    core = UOp.special(total, CORE_ID)
    if all(set(group) == set(axes) for group in groups):
        return keep_only_ranges_closed(kernel.substitute(_numbers(list(axes), core)))
    placed = _Placed(core, total)
    statements = [
        placed.statement(root, axes, number)
        for number, (root, axes) in enumerate(zip(kernel.src, groups, strict=True))
    ]
    return kernel.replace(src=tuple(statements))


def _thread_axes(root: UOp) -> list[UOp]:
    nodes = root.toposort()
    axes = (n for n in nodes if n.op is Ops.RANGE and n.axis_type is AxisType.THREAD)
    return sorted(axes, key=axis_order)


def _steps(axes: Sequence[UOp]) -> int:
    total = 1
    for axis in axes:
        total *= axis.range_size.const_value
    return total


def _numbers(axes: Sequence[UOp], rest: UOp) -> dict[UOp, UOp]:
    """The index of each axis in terms of the number of the thread."""
    numbers: dict[UOp, UOp] = {}
    for axis in reversed(axes[1:]):
        numbers[axis] = rest.alu(Ops.MOD, axis.range_size)
        rest = rest.alu(Ops.IDIV, axis.range_size)
    numbers[axes[0]] = rest
    return numbers


class _Placed:
    """Gives each statement its threads, and each single-threaded one to who has least to do."""

    def __init__(self, core: UOp, total: int) -> None:
        self.core = core
        self.total = total
        self.load = [0] * total

    def statement(self, root: UOp, axes: Sequence[UOp], number: int) -> UOp:
        """Statement `number`, that runs on its own threads only."""
        count = _steps(axes)
        if axes:
            root = keep_only_ranges_closed(
                UOp.sink(root.substitute(_numbers(axes, self.core)))
            ).src[0]
        if count == self.total:
            return root
        if count > 1:
            return _only_where(root, self.core < count, number)
        core = min(range(self.total), key=lambda other: self.load[other])
        self.load[core] += _loop_steps(root)
        return _only_where(root, self.core.eq(core), number)


def _loop_steps(root: UOp) -> int:
    steps = 1
    for node in root.toposort():
        if node.op is Ops.RANGE:
            steps *= int(node.vmax) + 1
    return steps


def _only_where(root: UOp, condition: UOp, number: int) -> UOp:
    """The statement with its outermost loop empty unless the condition holds.

    A statement without a loop has its accesses gated. The places of threads that leave the
    statement out may lie outside of the memory, so nothing is accessed there.
    """
    loops = [r for r in root.src[1:] if r.op is Ops.RANGE and r.axis_type is AxisType.LOOP]
    if not loops:
        return _gated(root, condition)
    outermost = min(loops, key=axis_order)
    size = condition.where(outermost.range_size, outermost.range_size.const_like(0))
    arg = outermost.range_arg
    # other statements may have the same loop, without the condition
    own = RangeArg((*arg.axis_id, _CONDITIONAL + number), arg.axis_type, arg.lanes)
    loop = outermost.replace(src=(size,), arg=own)
    return _inside(root.substitute({outermost: loop}), loop)


def _gated(root: UOp, condition: UOp) -> UOp:
    """The statement whose accesses happen under a condition only."""
    targets = [node.stored_target for node in root.toposort() if node.op is Ops.STORE]

    def gated(memory: UOp, index: UOp) -> tuple[UOp, UOp]:
        gate, address = split_gate(index)
        return memory, address.valid(condition if gate is None else condition & gate)

    return _with_accesses(root, gated, targets)


def _inside(root: UOp, loop: UOp) -> UOp:
    """The statement whose accesses wait for the loop, also where it does not move them.

    It may not move them any more only after later passes, so addresses cannot tell.
    """
    return _with_accesses(root, lambda memory, index: (memory.after(loop), index))


def _with_accesses(root: UOp, changed: Access, targets: Collection[UOp] = ()) -> UOp:
    """The statement with the accesses changed that depend on the thread, and those of `targets`."""
    done: dict[UOp, UOp] = {}
    for node in root.toposort():
        src = tuple(done[operand] for operand in node.src)
        if node.op is Ops.INDEX and (node in targets or _depends_on_thread(node.index_expr)):
            src = (*changed(src[0], src[1]), *src[2:])
        done[node] = node if src == node.src else node.replace(src=src)
    return done[root]


def _depends_on_thread(address: UOp) -> bool:
    return any(node.op is Ops.SPECIAL for node in address.toposort())
