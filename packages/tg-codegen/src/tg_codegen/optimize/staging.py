"""Copy the tile of an operand that inner loops reuse into scratch memory, in reading order.

The reader's address is a sum of loops times strides. Loops that move the address by the same
distance (output and kernel positions of a convolution) form one coordinate of the tile, so that
what they share is kept once; its padding is written into the tile, and the reader needs no gate.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tg_uop import AddrSpace, AxisType, GroupOp, Ops, PtrDType, UOp, dtypes

from tg_codegen.linear_index import (
    LinearForm,
    is_single_index,
    linear_form,
    split_gate,
)
from tg_codegen.optimize.loop_nest import LoopNest
from tg_codegen.optimize.loop_rewrite import replace_nodes

# vectors in which the fastest axis is copied where it is contiguous in the source, too
_COPY_LANES = (32, 16, 8, 4)
# how much of the fastest axis is copied in one go where it is not
_COPY_STRIPS = (16, 8, 4)


class StagingRefusal(Exception):
    """Why an operand cannot be staged; `apply` turns it into a KernelOptError."""

    def __init__(self, reason: str, hint: str) -> None:
        self.reason = reason
        self.hint = hint
        super().__init__(reason, hint)


@dataclass(frozen=True, slots=True)
class TileAxis:
    """One coordinate of a tile: `low + sum(factor * loop)` runs from 0 to `extent` - 1.

    `stride` is how far a step moves in the source (0 for an axis inside irregular terms).
    """

    loops: tuple[UOp, ...]
    factors: tuple[int, ...]
    low: int
    extent: int
    stride: int

    def position(self) -> UOp:
        """The coordinate that the reader looks at."""
        value = UOp.const(dtypes.weakint, self.low)
        for loop, factor in zip(self.loops, self.factors, strict=True):
            value = value + loop * factor
        return value

    def origin(self, coordinate: UOp) -> UOp:
        """`sum(factor * loop)` in terms of a coordinate."""
        return coordinate - self.low


@dataclass(frozen=True, slots=True)
class Tile:
    """What is copied: the axes from the slowest to the fastest, source address, and condition.

    `coordinates` are where the copy is on each axis, in terms of its own `loops`.
    """

    axes: tuple[TileAxis, ...]
    coordinates: tuple[UOp, ...]
    loops: tuple[UOp, ...]
    address: UOp
    gate: UOp | None

    @property
    def size(self) -> int:
        """Elements of the tile."""
        total = 1
        for axis in self.axes:
            total *= axis.extent
        return total

    def flat(self, positions: Iterable[UOp]) -> UOp:
        """The element of the scratch memory at these coordinates."""
        value = UOp.const(dtypes.weakint, 0)
        for axis, position in zip(self.axes, positions, strict=True):
            value = value * axis.extent + position
        return value


def stage_operand(nest: LoopNest, index: UOp, fixed: set[UOp]) -> UOp:
    """The kernel with one load served from scratch memory that is filled inside `fixed` loops.

    Raises `StagingRefusal`.
    """
    _check_operand(nest, index)
    slot = free_slot(nest.ast)
    tile = plan_tile(nest, index, fixed, slot)
    itemsize = index.dtype.itemsize
    free = free_scratch(nest)
    if tile.size * itemsize > free:
        raise StagingRefusal(
            f"the tile has {tile.size * itemsize} bytes, of scratch memory {free} are free",
            "stage further inside, or split an axis that the operand moves with",
        )
    scratch = UOp.define_local(slot, index.dtype, tile.size)
    address = tile.address if tile.gate is None else tile.address.valid(tile.gate)
    value = index.index_buffer.index(address)
    copy = scratch.index(tile.flat(tile.coordinates)).store(value)
    filled = scratch.after(copy.end(*tile.loops))
    read = filled.index(tile.flat(axis.position() for axis in tile.axes))
    return replace_nodes(nest.ast, {index: read})


def free_slot(ast: UOp) -> int:
    """A number for one more DEFINE_LOCAL."""
    return 1 + max((_slot(n) for n in ast.toposort() if n.op is Ops.DEFINE_LOCAL), default=-1)


def _slot(scratch: UOp) -> int:
    assert isinstance(scratch.arg, int), f"DEFINE_LOCAL carries a number, not {scratch.arg!r}"
    return scratch.arg


def scratch_limit(nest: LoopNest) -> int:
    """Bytes of scratch memory that one kernel may use."""
    return nest.caps.shared_bytes or nest.caps.stack_bytes


def free_scratch(nest: LoopNest) -> int:
    """What is left of it."""
    taken = 0
    for node in nest.ast.toposort():
        if node.op is Ops.DEFINE_LOCAL and isinstance(node.dtype, PtrDType):
            taken += node.dtype.size * node.dtype.base.itemsize
    return scratch_limit(nest) - taken


def tile_bytes(nest: LoopNest, index: UOp, fixed: Iterable[UOp] = ()) -> int | None:
    """The size of the tile if it is copied inside the `fixed` loops, None where it cannot be."""
    outer = fixed_loops(nest, None) | set(fixed)
    try:
        _check_operand(nest, index)
        return plan_tile(nest, index, outer).size * index.dtype.itemsize
    except StagingRefusal:
        return None


def _check_operand(nest: LoopNest, index: UOp) -> None:
    if scratch_limit(nest) == 0:
        raise StagingRefusal("the target has no scratch memory", "leave the operand in place")
    if nest.axes_of(AxisType.LOCAL, AxisType.WARP, AxisType.GROUP_REDUCE):
        raise StagingRefusal(
            "work-items of a group would each copy the whole tile", "stage kernels without groups"
        )
    pointer = index.index_buffer.dtype
    if not isinstance(pointer, PtrDType) or pointer.addrspace is not AddrSpace.GLOBAL:
        raise StagingRefusal("the operand is in scratch memory already", "stage a global buffer")
    if not is_single_index(index):
        raise StagingRefusal("the operand has several index expressions", "flatten them first")
    written = [store.stored_target.index_buffer for store in nest.stores]
    if index.index_buffer in written:
        raise StagingRefusal("the kernel writes to this buffer", "stage what is only read")


def plan_tile(nest: LoopNest, index: UOp, fixed: set[UOp], slot: int = 0) -> Tile:
    """Which coordinates the tile has when copied inside `fixed`. Raises `StagingRefusal`."""
    gate, address = split_gate(index.index_expr)
    inner = _inner_loops(nest, index, fixed)
    if not inner:
        raise StagingRefusal(
            "no inner loop moves this operand's address", "stage at an axis further outside"
        )
    form = linear_form(address)
    tile = _tile_of(form, gate, _grouped_axes(form, inner), slot) or _tile_of(
        form, gate, _plain_axes(form, inner), slot
    )
    if tile is None:
        # a place that is read from memory may move with a loop that also moves it by itself
        raise StagingRefusal("its address is irregular in some loop", "leave the operand in place")
    return tile


def fixed_loops(nest: LoopNest, level: int | None) -> set[UOp]:
    """The loops around a copy that stands inside axis `level`."""
    fixed = {AxisType.THREAD, AxisType.GLOBAL}
    outer: set[UOp] = set()
    for number, loop in enumerate(nest.rngs):
        inside_level = level is not None and number <= level
        replicated = loop.axis_type in (AxisType.UPCAST, AxisType.UNROLL)
        if loop.axis_type in fixed or (inside_level and not replicated):
            outer.add(loop)
    return outer


def _inner_loops(nest: LoopNest, index: UOp, fixed: set[UOp]) -> list[UOp]:
    """The other loops that move an operand's address or gate, in nest order.

    Raises `StagingRefusal` for one whose size is not known.
    """
    used = index.index_expr.ranges
    inner = [loop for loop in nest.rngs if loop in used and loop not in fixed]
    for loop in inner:
        if not isinstance(loop.size, int):
            raise StagingRefusal("a loop of the tile has no known size", "stage further inside")
    return inner


# *** axes of the tile ***


def _plain_axes(form: LinearForm, inner: list[UOp]) -> list[TileAxis]:
    return _in_reading_order(
        [TileAxis((loop,), (1,), 0, int(loop.size), form.terms.get(loop, 0)) for loop in inner]
    )


def _grouped_axes(form: LinearForm, inner: list[UOp]) -> list[TileAxis]:
    """One axis for the loops that move the address by the same distance, and for their parts."""
    tangled = {loop for atom in form.terms if atom.op is not Ops.RANGE for loop in atom.ranges}
    groups: list[tuple[int, list[UOp]]] = []
    linear = [loop for loop in inner if loop not in tangled and form.terms.get(loop)]
    for loop in sorted(linear, key=lambda r: abs(form.terms[r])):
        distance = abs(form.terms[loop])
        for base, members in groups:
            overlaps = distance % base == 0 and distance < _span(form, members)
            if distance == base or (overlaps and _same_origin(loop, members)):
                members.append(loop)
                break
        else:
            groups.append((distance, [loop]))
    axes = [_group_axis(form, base, members) for base, members in groups]
    rest = [loop for loop in inner if loop not in linear]
    return _in_reading_order(axes + _plain_axes(form, rest))


def _span(form: LinearForm, members: list[UOp]) -> int:
    """The distance that a group covers in the source."""
    return 1 + sum(abs(form.terms[loop]) * (int(loop.size) - 1) for loop in members)


def _same_origin(loop: UOp, members: list[UOp]) -> bool:
    """Whether the loop was split off the same axis as one of the members."""
    return any(loop.range_arg.axis_id[0] == m.range_arg.axis_id[0] for m in members)


def _group_axis(form: LinearForm, base: int, members: list[UOp]) -> TileAxis:
    sign = 1 if form.terms[members[0]] > 0 else -1
    factors = tuple(sign * form.terms[loop] // base for loop in members)
    steps = [factor * (int(loop.size) - 1) for factor, loop in zip(factors, members, strict=True)]
    low = -sum(step for step in steps if step < 0)
    extent = 1 + sum(abs(step) for step in steps)
    return TileAxis(tuple(members), factors, low, extent, sign * base)


_ROLE_DEPTH = {AxisType.UNROLL: 1, AxisType.UPCAST: 2}


def _in_reading_order(axes: list[TileAxis]) -> list[TileAxis]:
    """The lanes' axis last; where no loop makes lanes, the order of the source."""
    if not any(loop.range_arg.lanes for axis in axes for loop in axis.loops):
        return sorted(axes, key=lambda axis: -abs(axis.stride))
    return sorted(axes, key=lambda axis: max(_depth(loop) for loop in axis.loops))


def _depth(loop: UOp) -> tuple[bool, int, bool, tuple[int, ...]]:
    arg = loop.range_arg
    return (
        arg.lanes,
        _ROLE_DEPTH.get(arg.axis_type, 0),
        arg.axis_type.is_reduce,
        arg.axis_id,
    )


# *** the copy ***

# copy loops have numbers of their own, behind every loop of the kernel
_COPY_AXIS = 1 << 20


def _tile_of(form: LinearForm, gate: UOp | None, axes: list[TileAxis], slot: int) -> Tile | None:
    """The tile with these axes, None where the gate cannot be written in its coordinates."""
    coordinates, loops = _copy_loops(axes, slot)
    places = list(zip(axes, coordinates, strict=True))
    address = _rewritten(form, places)
    condition = None if gate is None else _rewritten_gate(gate, places)
    if address is None or (gate is not None and condition is None):
        return None
    return Tile(tuple(axes), tuple(coordinates), tuple(loops), address, condition)


def _copy_loops(axes: list[TileAxis], slot: int) -> tuple[list[UOp], list[UOp]]:
    """Where the copy is on each axis, and its loops.

    Where the fastest axis is contiguous in the source, too, the copy moves vectors. Otherwise it
    goes across a strip of the fastest axis along the axis that is contiguous in the source, so
    that each cache line it touches is used up before it is gone.
    """
    fastest = axes[-1]
    along = fastest.stride == 1
    across = not along and any(abs(axis.stride) == 1 for axis in axes)
    order = sorted(range(len(axes)), key=lambda n: (abs(axes[n].stride) == 1, n))
    coordinates: list[UOp] = []
    loops: list[UOp] = []
    for number, axis in enumerate(axes):
        rank = 1 + order.index(number)
        wide = 1
        if axis is fastest and (along or across):
            rank = 0 if across else rank
            wide = _strip_width(axis.extent, _COPY_LANES if along else _COPY_STRIPS)
        position = UOp.const(dtypes.weakint, 0)
        if axis.extent > wide:
            step = UOp.range(axis.extent // wide, (_COPY_AXIS + slot, rank, 0))
            loops.append(step)
            position = step * wide if wide > 1 else step
        if wide > 1:
            path = (_COPY_AXIS + slot, len(axes) + 1, 0)
            part = UOp.range(wide, path, AxisType.UPCAST, lanes=along)
            loops.append(part)
            position = position + part if axis.extent > wide else part
        coordinates.append(position)
    return coordinates, loops


def _strip_width(extent: int, widths: tuple[int, ...]) -> int:
    return next((width for width in widths if extent % width == 0), 1)


def _rewritten(form: LinearForm, places: list[tuple[TileAxis, UOp]]) -> UOp | None:
    """A linear form with the loops of each axis replaced by its coordinate.

    None where the loops of an axis do not occur in the ratio that the coordinate has.
    """
    terms = dict(form.terms)
    value = UOp.const(dtypes.weakint, form.offset)
    alone: dict[UOp, UOp] = {}
    for axis, coordinate in places:
        if len(axis.loops) == 1 and axis.factors == (1,):
            alone[axis.loops[0]] = coordinate
        counts = [terms.pop(loop, 0) for loop in axis.loops]
        scale = counts[0] // axis.factors[0]
        expected = [scale * factor for factor in axis.factors]
        if counts != expected:
            return None
        if scale:
            value = value + axis.origin(coordinate) * scale
    grouped = {loop for axis, _ in places for loop in axis.loops if loop not in alone}
    for atom, count in terms.items():
        if any(loop in grouped for loop in atom.ranges):
            return None
        moved = atom.substitute({r: alone[r] for r in atom.ranges if r in alone})
        value = value + moved * count
    return value


def _rewritten_gate(gate: UOp, places: list[tuple[TileAxis, UOp]]) -> UOp | None:
    """A condition in the tile's coordinates, None where it is not a function of them."""
    moving = {loop for axis, _ in places for loop in axis.loops}
    done: dict[UOp, UOp] = {}
    for node in gate.toposort(lambda n: n.dtype == dtypes.bool):
        if not moving & node.ranges.keys():
            done[node] = node
        elif node.op in GroupOp.Comparison and node.src[0].dtype == dtypes.weakint:
            left, right = node.src
            rewritten = _rewritten(linear_form(left - right), places)
            if rewritten is None:
                return None
            done[node] = node.replace(src=(rewritten, rewritten.const_like(0)))
        elif all(s in done for s in node.src):
            done[node] = node.replace(src=tuple(done[s] for s in node.src))
        else:
            return None
    return done[gate]
