"""What a captured step assumes of its arguments, and whether a call keeps to it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

from tg_runtime import Buffer
from tg_uop import Ops, UOp
from tg_uop.ir.args import BufferArg

from tg_tensor.engine.buffers import buffer_of
from tg_tensor.jit.containers import Found, bindings_in, frozen
from tg_tensor.jit.errors import JitError
from tg_tensor.jit.modes import Modes, current_modes
from tg_tensor.schedule.affine import count
from tg_tensor.schedule.indexing import Indexer
from tg_tensor.schedule.roots import place_in_memory


class Place(NamedTuple):
    """A part of a BUFFER that an argument lies in: `size` elements from `start` on."""

    buffer: UOp
    start: int
    size: int

    @property
    def is_whole(self) -> bool:
        """Whether it is all of the buffer."""
        return self.size == buffer_size(self.buffer)

    @property
    def node(self) -> UOp:
        """The part as a node."""
        if self.is_whole:
            return self.buffer
        return self.buffer.shrink([(self.start, self.start + self.size)])

    @property
    def memory(self) -> Buffer:
        """The part as memory."""
        whole = buffer_of(self.buffer)
        if self.is_whole:
            return whole
        dtype = self.buffer.dtype
        return whole.view(self.size, dtype, self.start * dtype.itemsize)

    def overlaps(self, other: Place) -> bool:
        """Whether two parts share elements."""
        ends_before = self.start + self.size <= other.start
        starts_behind = other.start + other.size <= self.start
        return self.buffer is other.buffer and not (ends_before or starts_behind)


def buffer_size(buffer: UOp) -> int:
    """The number of elements of a BUFFER."""
    return cast(BufferArg, buffer.arg).size


@dataclass(frozen=True, slots=True)
class Layout:
    """How a tensor lies in memory: the view with numbered stand-ins for the places."""

    view: UOp
    places: tuple[Place, ...]
    variables: tuple[UOp, ...] = ()

    def stand_in(self, number: int) -> UOp:
        """What stands for a place in the view."""
        place = self.places[number]
        return _numbered(place.buffer, number, place.size)


def layouts_of(nodes: Sequence[UOp]) -> list[Layout]:
    """How realized values lie. A value in one piece of a buffer counts as memory of its own, so
    that all slices of one size are alike, unless another value overlaps with the piece.
    """
    layouts = [layout_of(node) for node in nodes]
    if all(place.is_whole for layout in layouts for place in layout.places):
        return layouts
    places = list(dict.fromkeys(place for layout in layouts for place in layout.places))
    crowded = {
        place.buffer
        for number, place in enumerate(places)
        for other in places[:number]
        if place.overlaps(other)
    }
    return [
        layout_in_whole(node) if any(p.buffer in crowded for p in layout.places) else layout
        for node, layout in zip(nodes, layouts, strict=True)
    ]


def layout_of(node: UOp) -> Layout:
    """How one realized value lies, seen alone."""
    buffer = node.src[0] if node.op is Ops.RESHAPE else node
    if buffer.op is Ops.BUFFER and len(node.src) == 1:
        # by far the most common
        return layout_in_whole(node)
    base = node.base
    if base.op is not Ops.BUFFER or node._shape is None:
        return layout_in_whole(node)
    if not all(isinstance(dim, int) for dim in node._shape) or bindings_below(node):
        return layout_in_whole(node)
    start = place_in_memory(Indexer(), node)
    if start is None:
        return layout_in_whole(node)
    place = Place(base, start, count(node.shape))  # type: ignore[arg-type]
    return Layout(_numbered(base, 0, place.size).reshape(node.shape), (place,))


def bindings_below(node: UOp) -> list[UOp]:
    """The variables with values in the movement ops of a view."""
    return [below for below in node.toposort() if below.op is Ops.BIND]


def _numbered(buffer: UOp, number: int, size: int) -> UOp:
    """The stand-in of a layout for memory like `buffer`."""
    return UOp(Ops.BUFFER, buffer.dtype, buffer.src, BufferArg(-1 - number, size))


def layout_in_whole(node: UOp) -> Layout:
    """The layout in terms of whole buffers."""
    places: dict[UOp, UOp] = {}
    variables: dict[UOp, UOp] = {}
    for below in node.toposort():
        if below.op is Ops.BUFFER:
            places[below] = _numbered(below, len(places), buffer_size(below))
        elif below.op is Ops.BIND:
            variables[below] = below.src[0]
    view = node.substitute({**places, **variables})
    whole = tuple(Place(buffer, 0, buffer_size(buffer)) for buffer in places)
    return Layout(view, whole, tuple(variables))


Signature = tuple[Hashable, ...]


def signature_of(layouts: Sequence[Layout], found: Found) -> Signature:
    """What must stay the same for a captured step to be used again."""
    order: dict[Place, int] = {}
    aliases = tuple(
        order.setdefault(place, len(order)) for layout in layouts for place in layout.places
    )
    views = tuple(layout.view for layout in layouts)
    variables = tuple(without_values(node) for _, node in found.variables)
    constants = tuple(frozen(value) for _, value in found.constants)
    return (views, aliases, variables, constants, found.names, current_modes())


def without_values(node: UOp) -> UOp:
    """An expression in terms of its variables."""
    if node.op is Ops.BIND:
        return node.src[0]
    return node.substitute({bound: bound.src[0] for bound in bindings_below(node)})


def values_of(function: str, layouts: Sequence[Layout], found: Found) -> dict[str, int]:
    """The values of all variables of a call.

    Raises `JitError` when one variable has two.
    """
    values: dict[str, int] = {}
    bound = [node for layout in layouts for node in layout.variables]
    bound += [below for _, node in found.variables for below in bindings_in(node)]
    for node in bound:
        known = values.setdefault(node.var_name, node.bound_value)
        if known != node.bound_value:
            raise JitError(
                function=function,
                reason=f"variable {node.var_name!r} is bound to {known} and to {node.bound_value}",
                hint="give each number of a call a variable of its own",
            )
    return values


def differences(
    found: Found, layouts: Sequence[Layout], known: Signature, fresh: Signature
) -> list[str]:
    """What differs between two signatures, in words."""
    lines: list[str] = []
    old_views, old_aliases, old_variables, old_constants = cast(
        tuple[tuple[UOp, ...], tuple[int, ...], tuple[UOp, ...], tuple[Hashable, ...]], known[:4]
    )
    if known[4] != fresh[4]:
        lines.append("arguments are given in other places or by other names")
    for modes in known[5:]:
        lines += cast(Modes, modes).changes(cast(Modes, fresh[5]))
    if len(old_views) != len(layouts):
        lines.append(f"{len(layouts)} tensors were given, {len(old_views)} are captured")
    for (name, _), layout, old in zip(found.tensors, layouts, old_views, strict=False):
        if layout.view is not old:
            lines.append(f"{name} was {describe(old)}, now it is {describe(layout.view)}")
    if not lines and fresh[1] != old_aliases:
        lines.append("tensors that shared memory no longer do, or the other way round")
    if fresh[2] != old_variables:
        lines.append("other variables are bound")
    new_constants = cast(tuple[Hashable, ...], fresh[3])
    if len(new_constants) != len(old_constants):
        lines.append("there are more or fewer constants or container entries")
    for (name, value), new, old_value in zip(
        found.constants, new_constants, old_constants, strict=False
    ):
        if new != old_value:
            lines.append(f"{name} was {_constant(old_value)}, now it is {value!r}")
    return lines


def _constant(value: Hashable) -> str:
    """A frozen constant as it was given."""
    if not isinstance(value, tuple) or len(value) != 2:
        return "another array"
    kind, shown = value
    return repr(float.fromhex(shown)) if kind is float else repr(shown)


def describe(view: UOp) -> str:
    """A view in words: shape, dtype, device."""
    sizes = view._shape or ()
    shape = ", ".join(size.render() if isinstance(size, UOp) else str(size) for size in sizes)
    return f"shape ({shape}) of {view.dtype} on {view._device} (a {view.op.name.lower()})"


def is_plain(node: UOp) -> bool:
    """Whether a value is a view of buffers and nothing else."""
    if node.op is Ops.RESHAPE and node.src[0].op is Ops.BUFFER:
        return True
    leaves_only = (Ops.BUFFER, Ops.BUFFER_VIEW, Ops.MULTI)
    while node.src and node.op not in leaves_only:
        if node.op not in VIEW_OPS:
            return False
        node = node.src[0]
    if node.op is Ops.MULTI:
        return all(is_plain(shard) for shard in node.src)
    return node.op in leaves_only


VIEW_OPS = frozenset((Ops.RESHAPE, Ops.PERMUTE, Ops.SHRINK, Ops.FLIP, Ops.EXPAND))

NO_VALUES: Mapping[str, int] = {}
