"""Run the work-items of a group one after the other where a device has no groups: kernel form in,
kernel form out.

GLOBAL axes become loops around all else. LOCAL axes become loops around each single store, inside
of all other loops: then every store waits for the stores of all items before it, as a barrier
asks for. Registers, which each item has for itself, become arrays with a place for each item. This
is loop fission at barriers, as in Stratton, Stone and Hwu, "MCUDA" (2008), at its finest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tg_uop import AddrSpace, AxisType, Ops, PtrDType, UOp, dtypes
from tg_uop.ir.args import RangeArg, SpecialArg

from tg_codegen.errors import UnsupportedError
from tg_codegen.expand.grid import GROUP_AXES
from tg_codegen.expand.loops import axis_order
from tg_codegen.target.caps import Capabilities

_OF_A_LAUNCH = GROUP_AXES | {AxisType.GLOBAL, AxisType.GROUP_REDUCE}


def loop_over_items(kernel: UOp, caps: Capabilities) -> UOp:
    """The kernel with loops in place of GLOBAL, LOCAL and WARP axes and launch indices.

    Raises `UnsupportedError` for registers of groups whose size is not known.
    """
    if caps.has_local:
        return kernel
    order = kernel.toposort()
    if not any(_is_launch_axis(node) for node in order):
        return kernel
    axes = _launch_axes([node for node in order if node.op in (Ops.RANGE, Ops.SPECIAL)])
    return _Rewriter(axes).run(kernel)


def _is_launch_axis(node: UOp) -> bool:
    if node.op is Ops.RANGE:
        return node.axis_type in _OF_A_LAUNCH
    return node.op is Ops.SPECIAL and _role(node) is not None


def _role(special: UOp) -> AxisType | None:
    """Which part of a launch an index counts: gidx groups, lidx items; None for others."""
    name = special.arg.name if isinstance(special.arg, SpecialArg) else ""
    return {"gidx": AxisType.GLOBAL, "lidx": AxisType.LOCAL}.get(name[:4])


@dataclass(frozen=True, slots=True)
class _Axes:
    """What stands for each axis, and the loops over groups and over items."""

    loops: dict[UOp, UOp]
    groups: tuple[UOp, ...]
    items: tuple[UOp, ...]


def _launch_axes(found: Sequence[UOp]) -> _Axes:
    """Loops numbered in order: those over groups outside of all, those over items inside."""
    ranges = sorted((n for n in found if n.op is Ops.RANGE), key=axis_order)
    specials = sorted((n for n in found if n.op is Ops.SPECIAL), key=lambda n: str(n.arg))
    roles = {n: n.axis_type for n in ranges}
    roles.update({n: role for n in specials if (role := _role(n)) is not None})
    groups = [n for n in (*specials, *ranges) if roles.get(n) is AxisType.GLOBAL]
    items = [n for n in (*specials, *ranges) if roles.get(n) in GROUP_AXES]
    others = [n for n in ranges if n not in groups and n not in items]
    loops = {
        node: UOp.range(node.src[0], number, _kept_role(roles[node]))
        for number, node in enumerate((*groups, *others, *items))
    }
    for node in ranges:
        lanes = node.range_arg.lanes
        if lanes:
            arg = loops[node].range_arg
            loops[node] = loops[node].replace(arg=RangeArg(arg.axis_id, arg.axis_type, lanes))
    return _Axes(loops, tuple(loops[n] for n in groups), tuple(loops[n] for n in items))


def _kept_role(role: AxisType) -> AxisType:
    if role is AxisType.GROUP_REDUCE:
        return AxisType.REDUCE
    return AxisType.LOOP if role in _OF_A_LAUNCH else role


class _Rewriter:
    """Rebuilds a kernel operands first."""

    def __init__(self, axes: _Axes) -> None:
        self.axes = axes
        self.done: dict[UOp, UOp] = {}

    def run(self, kernel: UOp) -> UOp:
        for node in kernel.toposort():
            self.done[node] = self._rewritten(node, tuple(self.done[s] for s in node.src))
        return self.done[kernel]

    def _rewritten(self, node: UOp, src: tuple[UOp, ...]) -> UOp:
        if node in self.axes.loops:
            return self.axes.loops[node]
        if node.op is Ops.DEFINE_REG:
            return self._own_registers(node).after(*self.axes.groups)
        if node.op is Ops.DEFINE_LOCAL:
            return node.after(*self.axes.groups)
        if node.op is Ops.INDEX and node.src[0].addrspace is AddrSpace.REG:
            return self._own_element(node, src)
        if node.op is Ops.STORE:
            return self._closed(node.replace(src=src), self.axes.items)
        if node.op is Ops.BARRIER:
            return src[0].group(*src[1:])
        if node.op is Ops.END:
            return self._closed(src[0], [r for r in src[1:] if r not in self.axes.items])
        if node.op is Ops.AFTER:
            return src[0].after(*(s for s in src[1:] if s not in self.axes.items))
        if node.op is Ops.SINK:
            return node.replace(src=tuple(self._closed(s, self.axes.groups) for s in src))
        return node if src == node.src else node.replace(src=src)

    def _closed(self, effect: UOp, loops: Sequence[UOp]) -> UOp:
        """The effect in those of the loops that are open around it, in one END."""
        open_loops = [r for r in loops if r in effect.ranges]
        if effect.op is Ops.END and open_loops:
            return effect.replace(src=(*effect.src, *open_loops))
        return effect.end(*open_loops)

    def _own_registers(self, memory: UOp) -> UOp:
        """Registers for each item."""
        pointer = memory.dtype
        assert isinstance(pointer, PtrDType), "registers are memory"
        return memory.replace(dtype=pointer.base.ptr(pointer.size * self._count(), AddrSpace.REG))

    def _count(self) -> int:
        """The number of items in a group."""
        sizes = [loop.size for loop in self.axes.items]
        if not all(isinstance(size, int) for size in sizes):
            raise UnsupportedError(
                what="registers in groups of a size that is not known",
                target="a device without groups",
                reason="each work-item needs registers of its own",
                hint="use LOCAL axes of known size",
            )
        return prod(size for size in sizes if isinstance(size, int))

    def _own_element(self, node: UOp, src: tuple[UOp, ...]) -> UOp:
        """The element of the registers of this item."""
        pointer = node.src[0].dtype
        assert isinstance(pointer, PtrDType), "registers are memory"
        item: UOp = UOp.const(dtypes.weakint, 0)
        for loop in self.axes.items:
            item = item * loop.size + loop
        return node.replace(src=(src[0], item * pointer.size + src[1], *src[2:]))
