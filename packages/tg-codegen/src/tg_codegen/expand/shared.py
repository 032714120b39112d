"""Reduce GROUP_REDUCE axes through shared memory: kernel form in, kernel form out.

    REDUCE(x, group, rest)    becomes    shared[group] = REDUCE(x, rest); REDUCE(shared[step], step)

Each work-item of a group reduces its part, all parts go to shared memory, and every work-item
combines them; the first one stores the result. Barriers come later (`barriers`).
"""

from __future__ import annotations

from collections.abc import Sequence

from tg_uop import AxisType, Ops, UOp, dtypes
from tg_uop.ir.args import RangeArg

from tg_codegen.expand.loops import axis_order, is_replicated

_ITEMS = frozenset((AxisType.LOCAL, AxisType.WARP))


def share_group_reduces(kernel: UOp) -> UOp:
    """The kernel without GROUP_REDUCE axes: they have become LOCAL ones."""
    order = kernel.toposort()
    group = [n for n in order if n.op is Ops.RANGE and n.axis_type is AxisType.GROUP_REDUCE]
    if not group:
        return kernel
    return _Sharing(order, group).run(kernel)


class _Sharing:
    def __init__(self, order: dict[UOp, None], group: Sequence[UOp]) -> None:
        self.order = order
        self.items = {r: r.replace(arg=r.range_arg.with_type(AxisType.LOCAL)) for r in group}
        ids = [max(n.range_arg.axis_id) for n in order if n.op is Ops.RANGE]
        self.next_axis = max(ids) + 1
        slots = [n.arg for n in order if n.op is Ops.DEFINE_LOCAL]
        self.next_slot = max((s for s in slots if isinstance(s, int)), default=-1) + 1
        # for each node, the work-item axes over which a result below it is the same
        self.repeated: dict[UOp, frozenset[UOp]] = {}

    def run(self, kernel: UOp) -> UOp:
        done: dict[UOp, UOp] = {}
        for node in self.order:
            src = tuple(done[s] for s in node.src)
            repeated: frozenset[UOp] = frozenset()
            repeated = repeated.union(*(self.repeated[s] for s in node.src))
            if node.op is Ops.REDUCE:
                items = [self.items[r] for r in node.reduce_ranges if r in self.items]
                done[node] = self._shared(node, src, items) if items else node.replace(src=src)
                repeated = repeated.union(items)
            elif node.op is Ops.STORE and repeated:
                done[node] = _stored_once(src, sorted(repeated, key=axis_order))
            elif node.op is Ops.END and repeated:
                done[node] = node.replace(src=(*src, *sorted(repeated, key=axis_order)))
                repeated = frozenset()
            elif node in self.items:
                done[node] = self.items[node]
            else:
                done[node] = node if src == node.src else node.replace(src=src)
            self.repeated[node] = repeated
        return done[kernel]

    def _shared(self, node: UOp, src: tuple[UOp, ...], items: list[UOp]) -> UOp:
        rest = tuple(r for r in src[1:] if r not in items)
        part = node.replace(src=(src[0], *rest)) if rest else src[0]
        copies = sorted((r for r in part.ranges if is_replicated(r)), key=axis_order)
        others = [r for r in part.ranges if r.axis_type in _ITEMS and r not in items]
        others.sort(key=axis_order)
        steps = [self._step(r) for r in items]

        size = 1
        for axis in (*others, *items, *copies):
            size *= axis.range_size.const_value
        memory = UOp.define_local(self.next_slot, node.dtype, size)
        self.next_slot += 1
        written = memory.index(_flat((*others, *items, *copies))).store(part)
        filled = memory.after(written.end(*items, *copies))
        return filled.index(_flat((*others, *steps, *copies))).reduce(*steps, arg=node.reduce_op)

    def _step(self, item: UOp) -> UOp:
        """The loop in which one work-item goes over the parts of all."""
        path = (*item.range_arg.axis_id, self.next_axis)
        self.next_axis += 1
        return item.replace(arg=RangeArg(path, AxisType.REDUCE))


def _flat(axes: Sequence[UOp]) -> UOp:
    """Row-major position for an assignment of `axes`."""
    position = UOp.const(dtypes.weakint, 0)
    stride = 1
    for axis in reversed(axes):
        position = axis * stride + position
        stride *= axis.range_size.const_value
    return position


def _stored_once(src: tuple[UOp, ...], items: Sequence[UOp]) -> UOp:
    """The STORE done by the first of the work-items that have the same result."""
    target = src[0]
    address = target.index_expr
    for item in items:
        address = address.valid(item.eq(0))
    return UOp(Ops.STORE, src=(target.replace(src=(target.index_buffer, address)), *src[1:]))
