"""Follow an element of a view of memory down to the memory: which element is it there?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from tg_uop import Ops, UOp, dtypes
from tg_uop.ir.infer.shape import merge_symbolic

from tg_codegen.linear_index import split_gate

Dims = Sequence[object]


@dataclass(frozen=True, slots=True)
class Place:
    """An element of memory: an index for each axis of `shape`, or one flat index (`whole`).

    `gate` is the condition under which there is an element, None for always.
    """

    shape: Dims
    indices: tuple[UOp, ...] | None
    whole: UOp | None = None
    gate: UOp | None = None

    @classmethod
    def of(cls, indices: Sequence[UOp], shape: Dims) -> Place:
        """The element at these indices, each of which may be gated."""
        place = cls(shape, ())
        addresses = []
        for index in indices:
            condition, address = split_gate(index)
            addresses.append(address)
            place = place.where(condition)
        return replace(place, indices=tuple(addresses))

    @classmethod
    def flat(cls, index: UOp, shape: Dims) -> Place:
        """The element at this row-major position."""
        condition, address = split_gate(index)
        return cls(shape, None, address, condition)

    def where(self, condition: UOp | None) -> Place:
        """The same, if `condition` holds too."""
        if condition is None:
            return self
        return replace(self, gate=condition if self.gate is None else self.gate & condition)

    def row_major(self) -> UOp:
        """The flat position without its gate."""
        if self.indices is None:
            assert self.whole is not None, "a place has indices or a position"
            return self.whole
        total: UOp | None = None
        stride: object = 1
        for index, dim in zip(reversed(self.indices), reversed(self.shape), strict=True):
            term = index if stride == 1 else index * stride
            total = term if total is None else term + total
            stride = stride * dim  # type: ignore[operator]
        return UOp.const(dtypes.weakint, 0) if total is None else total

    def position(self) -> UOp:
        """The flat position, gated."""
        found = self.row_major()
        return found if self.gate is None else found.valid(self.gate)

    def by_axis(self) -> tuple[UOp, ...]:
        """An index for each axis."""
        if self.indices is not None:
            return self.indices
        rest = self.row_major()
        found: list[UOp] = []
        for dim in reversed(self.shape[1:]):
            size = rest.ufix(dim)
            found.append(rest.alu(Ops.MOD, size))
            rest = rest.alu(Ops.IDIV, size)
        return (rest, *reversed(found)) if self.shape else ()


def below(view: UOp, place: Place, done: Mapping[UOp, UOp]) -> Place:
    """The element of what a movement op views that is `place` of the view.

    Nodes among the op's operands are looked up in `done`.
    """
    arg = cast("tuple[object, ...]", view.arg)
    if len(view.src) > 1:
        arg = merge_symbolic(arg, [done[s] for s in view.src[1:]])
    return _STEPS[view.op](place, view.src[0].shape, arg)


def _reshape(place: Place, old: Dims, arg: Dims) -> Place:
    found = _without_ones(place, old)
    return replace(place, shape=old, indices=found, whole=None if found else place.row_major())


def _without_ones(place: Place, old: Dims) -> tuple[UOp, ...] | None:
    """The indices where a reshape only adds or drops axes of one element."""
    if place.indices is None:
        return None
    kept = [(i, dim) for i, dim in zip(place.indices, place.shape, strict=True) if dim != 1]
    if [dim for _, dim in kept] != [dim for dim in old if dim != 1]:
        return None
    rest = iter(kept)
    zero = UOp.const(dtypes.weakint, 0)
    return tuple(zero if dim == 1 else next(rest)[0] for dim in old)


def _permute(place: Place, old: Dims, arg: Dims) -> Place:
    indices = place.by_axis()
    order = cast("tuple[int, ...]", arg)
    return replace(
        place, shape=old, indices=tuple(indices[order.index(i)] for i in range(len(old)))
    )


def _expand(place: Place, old: Dims, arg: Dims) -> Place:
    zero = UOp.const(dtypes.weakint, 0)
    indices = tuple(zero if dim == 1 else i for i, dim in zip(place.by_axis(), old, strict=True))
    return replace(place, shape=old, indices=indices)


def _flip(place: Place, old: Dims, arg: Dims) -> Place:
    indices = tuple(
        (dim - 1) - i if axis in arg else i  # type: ignore[operator]
        for axis, (i, dim) in enumerate(zip(place.by_axis(), old, strict=True))
    )
    return replace(place, shape=old, indices=indices)


def _shrink(place: Place, old: Dims, arg: Dims) -> Place:
    indices = []
    for index, (start, _) in zip(place.by_axis(), cast("tuple[Dims, ...]", arg), strict=True):
        condition, first = split_gate(start) if isinstance(start, UOp) else (None, start)
        place = place.where(condition)
        indices.append(index if first == 0 else index + first)
    return replace(place, shape=old, indices=tuple(indices))


def _pad(place: Place, old: Dims, arg: Dims) -> Place:
    indices = []
    pairs = cast("tuple[Dims, ...]", arg)
    for index, dim, (before, after) in zip(place.by_axis(), old, pairs, strict=True):
        if before != 0:
            index = index - before
            place = place.where(index >= 0)
        if after != 0:
            place = place.where(index < dim)
        indices.append(index)
    return replace(place, shape=old, indices=tuple(indices))


_STEPS: dict[Ops, Callable[[Place, Dims, Dims], Place]] = {
    Ops.RESHAPE: _reshape,
    Ops.PERMUTE: _permute,
    Ops.EXPAND: _expand,
    Ops.FLIP: _flip,
    Ops.SHRINK: _shrink,
    Ops.PAD: _pad,
}
