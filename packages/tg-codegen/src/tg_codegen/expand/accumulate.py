"""Lower reductions over loops to registers that a loop updates.

    REDUCE(value, loop)    becomes    reg = identity; for loop: reg = reg + value; read reg

The register of a reduction is an array with one element for each assignment of the replicated
ranges that its value depends on; a lane range makes the elements vectors instead. All loops of the
kernel must close in one place each (`loops.close_once`); each gets one END here, with the updates
of all the reductions that share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tg_uop import AddrSpace, DType, Ops, UOp, dtypes

from tg_codegen.expand.loops import (
    Closer,
    axis_order,
    closed_ranges,
    closers_of,
    is_replicated,
)
from tg_codegen.running import carrying_axis, with_last_terms

# An addition of float32 takes four cycles on current x86 cores, of which two start in each: eight
# independent sums keep the unit busy (Agner Fog, instruction tables; the same holds for AArch64).
INDEPENDENT_SUMS = 8

# tag of a REDUCE over replicated ranges that is folded onto the operand beside it, term by term
CHAINED = "chained"


def accumulate(kernel: UOp) -> UOp:
    """The kernel without REDUCEs over loops, and with one END for each loop."""
    kernel = with_last_terms(kernel)
    closers = closers_of(kernel)
    lowering = _Lowering(kernel, closers)
    return lowering.run()


def identity(op: Ops, dtype: DType) -> UOp:
    """The constant that a reduction starts from."""
    if op is Ops.ADD:
        return UOp.const(dtype, 0)
    if op is Ops.MUL:
        return UOp.const(dtype, 1)
    assert op is Ops.MAX, f"{op} is no reduction"
    return UOp.const(dtype, dtypes.min(dtype))


@dataclass(slots=True)
class _Loop:
    """What happens in a loop: updates and stores of closers, and loops directly inside."""

    members: list[Closer] = field(default_factory=list)
    inner: dict[UOp, None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Register:
    """Where a reduction's value is once its loops have ended."""

    memory: UOp
    position: tuple[UOp, ...]
    combined_after: tuple[UOp, ...]


class _Lowering:
    """Rebuilds a kernel operands first, and each loop's END when all of its body is there."""

    def __init__(self, kernel: UOp, closers: list[Closer]) -> None:
        self.kernel = kernel
        self.closers = {closer.node: closer for closer in closers}
        self.loops: dict[UOp, _Loop] = {}
        for closer in closers:
            self._place(closer)
        self.done: dict[UOp, UOp] = {}
        self.ends: dict[UOp, UOp] = {}
        self.registers: dict[UOp, _Register] = {}
        slots = [n.arg for n in kernel.toposort() if n.op is Ops.DEFINE_REG]
        self.next_slot = max((s for s in slots if isinstance(s, int)), default=-1) + 1

    def _place(self, closer: Closer) -> None:
        outer: UOp | None = None
        for loop in closer.loops:
            self.loops.setdefault(loop, _Loop())
            if outer is not None:
                self.loops[outer].inner[loop] = None
            outer = loop
        self.loops[closer.loops[-1]].members.append(closer)

    def _loops_around(self, loop: UOp) -> list[UOp]:
        """The loops that a loop is in, the innermost first."""
        found: list[UOp] = []
        inside: UOp | None = loop
        while inside is not None:
            inside = next((r for r, held in self.loops.items() if inside in held.inner), None)
            if inside is not None:
                found.append(inside)
        return found

    def run(self) -> UOp:
        stack = [(self.kernel, False)]
        while stack:
            node, ends_loop = stack[-1]
            finished = self.ends if ends_loop else self.done
            if node in finished:
                stack.pop()
                continue
            pending = self._missing(node, ends_loop)
            if pending:
                stack.extend(reversed(pending))
                continue
            stack.pop()
            finished[node] = self._end_loop(node) if ends_loop else self._lower(node)
        return self.done[self.kernel]

    def _missing(self, node: UOp, ends_loop: bool) -> list[tuple[UOp, bool]]:
        """What must be built before `node`, or before the END of the loop `node`."""
        if ends_loop:
            loop = self.loops[node]
            bodies = [m.node.src[0] for m in loop.members]
            ranges = [r for m in loop.members for r in closed_ranges(m.node)]
            missing = [(b, False) for b in (*bodies, *ranges) if b not in self.done]
            missing.extend((r, True) for r in loop.inner if r not in self.ends)
            return missing
        closer = self.closers.get(node)
        if closer is not None:
            outermost = closer.loops[0]
            return [] if outermost in self.ends else [(outermost, True)]
        return [(s, False) for s in node.src if s not in self.done]

    def _lower(self, node: UOp) -> UOp:
        closer = self.closers.get(node)
        if closer is not None:
            end = self.ends[closer.loops[0]]
            return end if node.op is Ops.END else self._read(node, end)
        if node.op is Ops.END:
            ranges = tuple(r for r in node.ended_ranges if r.op is Ops.RANGE)
            return self.done[node.ended_effect].end(*(self.done[r] for r in ranges))
        axis = carrying_axis(node)
        if axis is not None:
            loop = next(r for r in self.loops if r.range_arg.axis_id == axis)
            return self._carried(node, loop)
        operands = tuple(self.done[s] for s in node.src)
        if node.op in (Ops.SINK, Ops.GROUP):
            operands = tuple(dict.fromkeys(operands))
        return node if operands == node.src else node.replace(src=operands)

    def _end_loop(self, loop: UOp) -> UOp:
        """The END of a loop, around all that happens in it."""
        content = self.loops[loop]
        effects = [self.ends[r] for r in content.inner]
        effects.extend(self._effect(member) for member in content.members)
        return UOp.group(*dict.fromkeys(effects)).end(self.done[loop])

    def _effect(self, member: Closer) -> UOp:
        node = member.node
        body = self.done[node.src[0]]
        if node.op is Ops.END:
            return body.end(*self._replicated(closed_ranges(node)))
        return self._update(member, body)

    def _carried(self, node: UOp, loop: UOp) -> UOp:
        """A reduction that runs along a loop: what it was a step before, and a term."""
        value = self.done[node.reduced_value]
        replicated = self._replicated(tuple(value.ranges))
        lane = next((r for r in replicated if r.range_arg.lanes), None)
        axes = tuple(r for r in replicated if r is not lane)
        memory = self._register(node.dtype, axes, lane)
        position = (_flat_position(axes), *(() if lane is None else (lane,)))
        # each run of the loop starts anew, also where the value depends on no loop around it
        around = [self.done[r] for r in self._loops_around(loop)]
        start = _element(memory.after(*around), position).store(
            identity(node.reduce_op, node.dtype)
        )
        element = _element(memory.after(start.end(*replicated), loop), position)
        update = element.store(element.alu(node.reduce_op, value)).end(*replicated)
        return _element(memory.after(update), position)

    def _replicated(self, ranges: Sequence[UOp]) -> tuple[UOp, ...]:
        found = [r for r in ranges if r.op is Ops.RANGE and is_replicated(r)]
        return tuple(self.done[r] for r in sorted(found, key=axis_order))

    def _update(self, member: Closer, value: UOp) -> UOp:
        """The effect that takes one more value into a reduction's register."""
        node = member.node
        op = node.reduce_op
        closed = self._replicated(node.reduce_ranges)
        outer = tuple(r for r in self._replicated(tuple(value.ranges)) if r not in closed)
        apart = summed_apart(outer, closed)
        folded = tuple(r for r in closed if r not in apart)
        axes = (*outer, *apart)
        lane = next((r for r in axes if r.range_arg.lanes), None)
        axes = tuple(r for r in axes if r is not lane)

        memory = self._register(node.dtype, axes, lane)
        position = (_flat_position(axes), *(() if lane is None else (lane,)))
        self.registers[node] = _Register(memory, position, apart)

        replicated = (*axes, *(() if lane is None else (lane,)))
        around = sorted((self.done[r] for r in member.around), key=axis_order)
        start = _element(memory.after(*around), position).store(identity(op, node.dtype))
        loops = (self.done[r] for r in member.loops)
        element = _element(memory.after(start.end(*replicated), *loops), position)
        if folded:
            value = UOp(Ops.REDUCE, node.dtype, (value, *folded), op, CHAINED)
        return element.store(element.alu(op, value)).end(*replicated)

    def _register(self, dtype: DType, axes: tuple[UOp, ...], lane: UOp | None) -> UOp:
        size = 1
        for axis in axes:
            size *= axis.range_size.const_value
        element = dtype if lane is None else dtype.vec(lane.range_size.const_value)
        memory = UOp(Ops.DEFINE_REG, element.ptr(size, AddrSpace.REG), (), self.next_slot)
        self.next_slot += 1
        return memory

    def _read(self, node: UOp, end: UOp) -> UOp:
        register = self.registers[node]
        value = _element(register.memory.after(end), register.position)
        if not register.combined_after:
            return value
        return UOp(Ops.REDUCE, node.dtype, (value, *register.combined_after), node.reduce_op)


def summed_apart(outer: tuple[UOp, ...], closed: tuple[UOp, ...]) -> tuple[UOp, ...]:
    """Which of the replicated ranges of a reduction keep sums of their own until the loop ends.

    Lanes always do. Others do while there would be too few independent sums otherwise.
    """
    sums = 1
    for axis in outer:
        if not axis.range_arg.lanes:
            sums *= axis.range_size.const_value
    apart = [r for r in closed if r.range_arg.lanes]
    for axis in closed:
        if axis.range_arg.lanes:
            continue
        steps = axis.range_size.const_value
        if sums * steps <= INDEPENDENT_SUMS:
            sums *= steps
            apart.append(axis)
    return tuple(apart)


def _flat_position(axes: tuple[UOp, ...]) -> UOp:
    """The element of a register array for an assignment of `axes`, the last one fastest."""
    position = UOp.const(dtypes.weakint, 0)
    stride = 1
    for axis in reversed(axes):
        position = position + axis * stride
        stride *= axis.range_size.const_value
    return position


def _element(memory: UOp, position: tuple[UOp, ...]) -> UOp:
    """An element of a register; a lane range as second index says that elements are vectors."""
    return UOp(Ops.INDEX, memory.dtype.base.scalar(), (memory, *position))
