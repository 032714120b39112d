"""Find reductions that run along an output loop: each result is the one before and one term more.

    for i < n: out[i] = sum over r < n of (x[i + r - (n - 1)] where i + r >= n - 1, else 0)

is a cumulative sum, written as windows that end at each element. It takes n additions when the sum
so far is carried from one i to the next.
"""

from __future__ import annotations

from tg_uop import AxisType, Ops, UOp
from tg_uop.rules.simplify import simplify

RUNNING = "running"
"""The tag of a REDUCE whose result is to be carried along; it means what it means without."""

CARRIED = "carried"
"""The first part of the tag of a REDUCE of just the last term; the second names the loop."""


def is_scan(kernel: UOp) -> bool:
    """Whether a reduction of a kernel is marked."""
    return any(node.op is Ops.REDUCE and node.tag == RUNNING for node in kernel.toposort())


def running_loop(reduce: UOp) -> UOp | None:
    """The output loop along which a REDUCE runs, None for other reductions."""
    if len(reduce.reduce_ranges) != 1:
        return None
    window = reduce.reduce_ranges[0]
    for gate in _zero_conditions(reduce):
        for condition in gate.split_uop(Ops.AND):
            loop = _other_loop(condition, window)
            if loop is not None and _moves_with_sum(reduce.reduced_value, loop, window):
                return loop
    return None


def last_term(reduce: UOp) -> UOp:
    """What the last step of the window adds: the term that the result before did not have."""
    (window,) = reduce.reduce_ranges
    last = UOp.const(window.dtype, int(window.vmax))
    return simplify(reduce.reduced_value.substitute({window: last}))


def carrying_axis(node: UOp) -> object:
    """The axis id of the loop along which the last terms of a node from `with_last_terms` are
    combined, None for other nodes. The terms need not depend on that loop.
    """
    if node.op is not Ops.REDUCE or not isinstance(node.tag, tuple) or node.tag[0] != CARRIED:
        return None
    return node.tag[1]


def with_last_terms(kernel: UOp) -> UOp:
    """The kernel with the last term, and a note of the loop, in place of each marked reduction.

    Such a node is no reduction any more: it stands only while it is lowered or counted.
    """
    done: dict[UOp, UOp] = {}
    for node in kernel.toposort():
        src = tuple(done[s] for s in node.src)
        rebuilt = node if src == node.src else node.replace(src=src)
        if node.op is Ops.REDUCE and node.tag == RUNNING:
            loop = running_loop(node)
            assert loop is not None, "only what runs along a loop is marked"
            tag = (CARRIED, loop.range_arg.axis_id)
            rebuilt = node.replace(src=(last_term(rebuilt),), tag=tag)
        done[node] = rebuilt
    return done[kernel]


def _zero_conditions(reduce: UOp) -> list[UOp]:
    """Conditions without which a term changes nothing."""
    value = reduce.reduced_value
    while value.op is Ops.CAST and reduce.reduce_op is Ops.ADD:
        value = value.src[0]
    if value.op is Ops.WHERE:
        condition, inside, outside = value.src
        if _is_identity(outside, reduce):
            return [condition]
        return [condition.ne(True)] if _is_identity(inside, reduce) else []
    if value.op is not Ops.INDEX or reduce.reduce_op is not Ops.ADD:
        return []
    index = value.index_expr
    return [index.src[0]] if index.op is Ops.WHERE else []


def _is_identity(value: UOp, reduce: UOp) -> bool:
    return value.op is Ops.CONST and value.arg == _identity(reduce)


def _identity(reduce: UOp) -> object:
    if reduce.reduce_op is Ops.ADD:
        return 0
    return 1 if reduce.reduce_op is Ops.MUL else reduce.dtype.min


def _other_loop(condition: UOp, window: UOp) -> UOp | None:
    """i, where a condition says that i + window >= size - 1 and i has as many steps."""
    if condition.op is not Ops.CMPNE or condition.src[0].op is not Ops.CMPLT:
        return None
    below, bound = condition.src[0].src
    if bound.op is not Ops.CONST or bound.arg != window.vmax or below.op is not Ops.ADD:
        return None
    loops = [part for part in below.src if part is not window]
    if len(loops) != 1 or len(below.src) != 2 or loops[0].op is not Ops.RANGE:
        return None
    loop = loops[0]
    return loop if loop.vmax == window.vmax and loop.axis_type is AxisType.LOOP else None


def _moves_with_sum(value: UOp, loop: UOp, window: UOp) -> bool:
    """Whether a value is a function of loop + window (and of other loops)."""
    total = UOp.range(2 * int(loop.vmax) + 1, (-1,), AxisType.LOOP)
    moved = simplify(value.substitute({loop: total - window}))
    return window not in moved.ranges
