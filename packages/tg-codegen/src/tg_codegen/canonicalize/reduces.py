"""Simplify reductions whose loop does not matter: kernel form in, kernel form out."""

from __future__ import annotations

from tg_uop import Ops, UOp, dtypes

from tg_codegen.canonicalize.gathers import adds_up_exactly, collapse_selection
from tg_codegen.canonicalize.sums import number_of


def simplify_reduces(kernel: UOp) -> UOp:
    """The kernel with every reduction in its simplest form that gives the same bits."""
    done: dict[UOp, UOp] = {}
    for node in kernel.toposort():
        src = tuple(done[s] for s in node.src)
        fresh = node if src == node.src else node.replace(src=src)
        done[node] = simplified(fresh) if fresh.op is Ops.REDUCE else fresh
    return done[kernel]


def simplified(node: UOp) -> UOp:
    """One REDUCE, its operands already simple."""
    while node.op is Ops.REDUCE:
        found = next((f for f in (rule(node) for rule in RULES) if f is not None), None)
        if found is None:
            return node
        node = found
    return node


def _without_ranges(node: UOp) -> UOp | None:
    return node.reduced_value if not node.reduce_ranges else None


def _without_loop(node: UOp) -> UOp | None:
    """A loop that the value does not depend on repeats it: n * x for a sum, x for a maximum."""
    live = node.reduced_value.ranges
    idle = [loop for loop in node.reduce_ranges if loop not in live]
    if not idle:
        return None
    rest = tuple(loop for loop in node.reduce_ranges if loop in live)
    found = node.reduced_value
    if rest:
        found = simplified(node.replace(src=(found, *rest)))
    for loop in idle:
        repeated = repeat(node.reduce_op, found, loop)
        if repeated is None:
            return None
        found = repeated
    return found


def repeat(op: Ops, value: UOp, loop: UOp) -> UOp | None:
    """What `op` gives for as many copies of `value` as the loop has steps, if bits stay equal.

    A loop of variable size may be empty, so its maximum stays.
    """
    steps = number_of(loop.range_size)
    if op is Ops.MAX:
        return value if steps is not None else None
    if op is not Ops.ADD:
        return None
    if dtypes.is_int(value.dtype):
        return value * loop.range_size.cast(value.dtype) if steps is None else value * steps
    if steps is None:
        return None
    if not adds_up_exactly(value, steps):
        return None
    assert isinstance(value.arg, float), "only constants add up exactly"
    return value.const_like(value.arg * steps)


RULES = (_without_ranges, _without_loop, collapse_selection)
