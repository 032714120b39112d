"""Count the work of a kernel: arithmetic, bytes through registers, bytes of memory touched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tg_uop import AddrSpace, AxisType, Estimates, GroupOp, Ops, PtrDType, UOp, sint
from tg_uop.ir.args import TileProduct

_ACCESSES = frozenset((Ops.LOAD, Ops.STORE))


def estimate_kernel(ast: UOp) -> Estimates:
    """The work of a kernel form SINK, before or after Opts.

    Each operation counts as often as it runs: in the innermost loop that it depends on, and in
    the loops around that one. So what a reduction leaves outside of an inner loop counts once, and
    what does not depend on a replicated axis is shared by its copies. Address arithmetic counts
    nothing. Sizes that are not known stay symbolic.
    """
    work = _Work()
    around = _surroundings(ast)
    for node in _value_nodes(ast):
        steps = _steps(_executed_loops(node.ranges, around))
        if node.op is Ops.REDUCE:
            work.add_operations(_steps(_executed_loops(node.reduced_value.ranges, around)))
        elif node.op in GroupOp.ALU:
            work.add_operations(steps * _operations(node))
        elif node.op is Ops.INDEX:
            work.add_access(node.index_buffer, steps, node.dtype.itemsize, False)
        elif node.op is Ops.STORE:
            target = node.stored_target
            work.add_access(target, steps, target.dtype.itemsize, True)
    return work.estimates()


def estimate_linear(instructions: Sequence[UOp]) -> Estimates:
    """The work of a linear form instruction list, all launched work-items together."""
    work = _Work()
    addresses = _address_nodes(instructions)
    steps: sint = 1
    outside: list[sint] = []
    for node in instructions:
        if node.op is Ops.SPECIAL:
            steps = steps * node.size
        elif node.op is Ops.RANGE:
            outside.append(steps)
            steps = steps * node.size
        elif node.op is Ops.END:
            steps = outside.pop()
        elif node.op in _ACCESSES:
            width = node.stored_value.dtype if node.op is Ops.STORE else node.dtype
            work.add_access(node.src[0], steps, width.itemsize, node.op is Ops.STORE)
        elif node.op is Ops.WMMA:
            work.add_operations(steps * _matrix_operations(node))
        elif node.op in GroupOp.ALU and node not in addresses:
            work.add_operations(steps * _operations(node) * node.dtype.count)
    return work.estimates()


class _Work:
    """Running totals."""

    def __init__(self) -> None:
        self.ops: sint = 0
        self.moved: sint = 0
        self.touched: dict[tuple[UOp, bool], sint] = {}

    def add_operations(self, count: sint) -> None:
        self.ops = self.ops + count

    def add_access(self, place: UOp, steps: sint, itemsize: int, is_store: bool) -> None:
        memory = _memory_of(place)
        pointer = memory.dtype
        if not isinstance(pointer, PtrDType) or pointer.addrspace is AddrSpace.REG:
            return
        self.moved = self.moved + steps * itemsize
        if pointer.addrspace is AddrSpace.GLOBAL:
            key = (memory, is_store)
            self.touched[key] = self.touched.get(key, 0) + steps * itemsize

    def estimates(self) -> Estimates:
        memory: sint = 0
        for (buffer, _), accessed in self.touched.items():
            memory = memory + _at_most(accessed, _bytes_of(buffer))
        return Estimates(_plain(self.ops), _plain(self.moved), _plain(memory))


def _at_most(accessed: sint, held: int | None) -> sint:
    if held is None:
        return accessed
    if isinstance(accessed, int):
        return min(accessed, held)
    return accessed if accessed.vmax <= held else held


def _bytes_of(buffer: UOp) -> int | None:
    pointer = buffer.dtype
    if not isinstance(pointer, PtrDType) or pointer.size < 0:
        return None
    return pointer.size * pointer.base.itemsize


def _memory_of(place: UOp) -> UOp:
    """The memory under an address."""
    while place.op in (Ops.INDEX, Ops.AFTER, Ops.CAST, Ops.GEP, Ops.RESHAPE):
        place = place.src[0]
    return place


def _operations(node: UOp) -> int:
    return 2 if node.op is Ops.MULACC else 1


def _matrix_operations(node: UOp) -> int:
    """Two for each product of a matrix unit; its arg holds (name, (n, m, k), ...)."""
    arg = node.arg
    if isinstance(arg, TileProduct):
        return arg.operations
    dims = arg[1] if isinstance(arg, tuple) and len(arg) > 1 else ()
    total = 2
    for dim in dims if isinstance(dims, tuple) else ():
        total *= dim
    return total


def _steps(loops: Iterable[UOp]) -> sint:
    total: sint = 1
    for loop in loops:
        total = total * loop.size
    return total


def _surroundings(ast: UOp) -> dict[UOp, dict[UOp, None]]:
    """For each loop the loops around it; replicated axes are around nothing."""
    around: dict[UOp, dict[UOp, None]] = {}
    for node in ast.toposort():
        if node.op not in (Ops.END, Ops.REDUCE):
            continue
        outer = {loop: None for loop in node.ranges if not _is_replicated(loop)}
        closed = [loop for loop in node.src[1:] if loop.op is Ops.RANGE]
        for loop in sorted(closed, key=lambda r: r.range_arg.axis_id):
            known = around.setdefault(loop, {})
            if not _is_replicated(loop):
                known.update(outer)
                outer[loop] = None
    return around


def _is_replicated(loop: UOp) -> bool:
    return loop.axis_type in (AxisType.UPCAST, AxisType.UNROLL)


def _executed_loops(loops: Iterable[UOp], around: dict[UOp, dict[UOp, None]]) -> dict[UOp, None]:
    """The loops that something runs in, given those that it depends on."""
    found: dict[UOp, None] = {}
    for loop in loops:
        found[loop] = None
        found.update(around.get(loop, {}))
    return found


def _plain(count: sint) -> sint:
    """A symbolic count in simple form, a known one as an int."""
    if isinstance(count, int):
        return count
    simple = count.simplify()
    return simple.const_value if simple.op is Ops.CONST else simple


def _value_nodes(ast: UOp) -> list[UOp]:
    """Nodes that compute or move values; what computes addresses and loop bounds is left out."""
    order: dict[UOp, None] = {}
    stack = [ast]
    while stack:
        node = stack.pop()
        if node in order:
            continue
        order[node] = None
        if node.op is Ops.INDEX:
            stack.append(node.index_buffer)
        elif node.op is Ops.STORE:
            stack += [node.stored_target.index_buffer, node.stored_value]
        elif node.op in (Ops.END, Ops.REDUCE):
            stack.append(node.src[0])
        elif node.op is not Ops.RANGE:
            stack.extend(node.src)
    return list(order)


def _address_nodes(instructions: Sequence[UOp]) -> dict[UOp, None]:
    """Everything that only serves to compute addresses, conditions of accesses, loop bounds."""
    roots: list[UOp] = []
    for node in instructions:
        if node.op is Ops.INDEX:
            roots.extend(node.src[1:])
        elif node.op in (Ops.RANGE, Ops.SPECIAL, Ops.IF):
            roots.extend(node.src[:1])
    found: dict[UOp, None] = {}
    while roots:
        node = roots.pop()
        if node in found or node.op in _ACCESSES:
            continue
        found[node] = None
        roots.extend(node.src)
    return found
