"""Basic indexing: ints, slices, None and Ellipsis as a chain of views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

from tg_uop.errors import IndexItemError, IndexRangeError
from tg_uop.ir.ops import Ops
from tg_uop.methods.movement import Dim, MovementMixin

V = TypeVar("V", bound=MovementMixin)


@dataclass(frozen=True, slots=True)
class AxisCut:
    """What an index keeps of one axis: elements from `start` to `stop`, every `step`-th.

    A negative step counts from the far end, as the views do it: cut, flip, skip.
    `dropped` marks an axis that an integer index removes.
    """

    start: Dim
    stop: Dim
    step: int = 1
    dropped: bool = False


class IndexingMixin(MovementMixin):
    """`value[...]` for a host of the movement methods."""

    __slots__ = ()

    def __getitem__(self, index: object) -> Self:
        """The part of the value that ints, slices (any step), None and Ellipsis name.

        Raises `IndexRangeError` for an integer outside of its axis or too many indices, and
        `TypeError` for an index of another kind.
        """
        items = expand_ellipsis(index, self.shape)
        return basic_view(self, items)


def expand_ellipsis(
    index: object, shape: Sequence[Dim], widths: Sequence[int] = ()
) -> list[object]:
    """The index as a list with one item for each axis, and None for each new one.

    `widths` gives the number of axes that items take which take other than one (masks); it is
    aligned with the items of the index. Raises `IndexRangeError` when there are too many.
    """
    items = list(index) if isinstance(index, tuple) else [index]
    sizes = list(widths) if widths else [0 if item is None else 1 for item in items]
    dots = [i for i, item in enumerate(items) if item is Ellipsis]
    used = sum(size for i, size in enumerate(sizes) if i not in dots)
    if len(dots) > 1 or used > len(shape):
        reason = "more than one ..." if len(dots) > 1 else f"{used} indices for {len(shape)} axes"
        raise IndexRangeError(index=repr(index), shape=tuple(shape), reason=reason)
    rest: list[object] = [slice(None)] * (len(shape) - used)
    if not dots:
        return items + rest
    return items[: dots[0]] + rest + items[dots[0] + 1 :]


def plain_items(index: object, ndim: int) -> tuple[object, ...] | None:
    """One item an axis of an index made of numbers, slices and None; None for other indices."""
    items = index if type(index) is tuple else (index,)
    used = 0
    for item in items:
        if item is None:
            continue
        if type(item) is not int and type(item) is not slice:
            return None
        used += 1
    return (*items, *(_ALL,) * (ndim - used)) if used <= ndim else None


_ALL = slice(None)


def basic_view(value: V, items: Sequence[object]) -> V:
    """The part of `value` that one item an axis names, with a new axis for each None."""
    shape = value.shape
    plain = _plain_bounds(items, shape)
    if plain is not None:
        bounds, kept_sizes = plain
        if bounds is not None:
            value = value._movement(Ops.SHRINK, bounds)
        return value if kept_sizes == shape else value.reshape(kept_sizes)
    axis_items = [item for item in items if item is not None]
    pairs = enumerate(zip(axis_items, shape, strict=True))
    cuts = [axis_cut(item, size, axis, shape) for axis, (item, size) in pairs]
    return view_of_cuts(value, items, cuts)


def view_of_cuts(value: V, items: Sequence[object], cuts: Sequence[AxisCut]) -> V:
    """What the cuts keep, one an axis, with a new axis for each None among the items."""
    value = apply_cuts(value, cuts)
    kept = iter(zip(cuts, value.shape, strict=True))
    final: list[Dim] = []
    for item in items:
        if item is None:
            final.append(1)
            continue
        cut, size = next(kept)
        if not cut.dropped:
            final.append(size)
    return value.reshape(tuple(final))


Bounds = tuple[tuple[int, int], ...]


def _plain_bounds(
    items: Sequence[object], shape: Sequence[Dim]
) -> tuple[Bounds | None, tuple[int, ...]] | None:
    """Bounds (None for all of the value) and sizes that are kept, for numbers and plain slices.

    None for anything else, errors included: they are left to those who know all cases.
    """
    bounds: list[tuple[int, int]] = []
    kept: list[int] = []
    is_whole = True
    for item in items:
        if item is None:
            kept.append(1)
            continue
        size = shape[len(bounds)]
        if type(size) is not int:
            return None
        if type(item) is int:
            if not -size <= item < size:
                return None
            start = item if item >= 0 else item + size
            stop = start + 1
        elif type(item) is slice:
            if item.step not in _STEP_OF_ONE or not _has_plain_ends(item):
                return None
            start, stop, _ = item.indices(size)
            if stop <= start:
                start = stop = 0
            kept.append(stop - start)
        else:
            return None
        is_whole = is_whole and start == 0 and stop == size
        bounds.append((start, stop))
    return None if is_whole else tuple(bounds), tuple(kept)


_STEP_OF_ONE = (None, 1)
_PLAIN_ENDS = (int, type(None))


def _has_plain_ends(item: slice) -> bool:
    return type(item.start) in _PLAIN_ENDS and type(item.stop) in _PLAIN_ENDS


def axis_cut(item: object, size: Dim, axis: int, shape: Sequence[Dim]) -> AxisCut:
    """What one index keeps of an axis."""
    if isinstance(item, slice):
        return _slice_cut(item, size)
    if isinstance(item, bool) or not (isinstance(item, int) or _is_symbolic(item)):
        raise IndexItemError(
            item=repr(item),
            reason=f"a {type(item).__name__} on axis {axis} of shape {tuple(shape)}",
            hint="use ints, slices, None, ..., or integer or bool tensors",
        )
    if isinstance(size, int) and isinstance(item, int):
        if not -size <= item < size:
            raise IndexRangeError(
                index=item,
                shape=tuple(shape),
                reason=f"axis {axis} has {size} elements",
            )
    item = _from_front(item, size)
    return AxisCut(item, item + 1, dropped=True)  # type: ignore[operator]


def _is_symbolic(item: object) -> bool:
    return isinstance(item, MovementMixin) and item.shape == ()


def _slice_cut(item: slice, size: Dim) -> AxisCut:
    parts = (item.start, item.stop, item.step)
    if isinstance(item.step, int) and item.step == 0:
        raise IndexItemError(item=repr(item), reason="its step is 0", hint="leave the step out")
    if isinstance(size, int) and all(p is None or hasattr(p, "__index__") for p in parts):
        start, stop, step = item.indices(size)
        steps = range(start, stop, step)
        if not steps:
            return AxisCut(0, 0)
        low, high = min(steps[0], steps[-1]), max(steps[0], steps[-1]) + 1
        # whole periods where the axis has them: then nothing must be padded to skip elements
        length = len(steps) * abs(step)
        if step > 0:
            return AxisCut(low, low + length if low + length <= size else high, step)
        return AxisCut(high - length if high >= length else low, high, step)
    return _symbolic_cut(item, size)


def _symbolic_cut(item: slice, size: Dim) -> AxisCut:
    """A slice whose bounds or size depend on variables."""
    step = 1 if item.step is None else item.step
    if not isinstance(step, int) or step == 0:
        raise IndexItemError(
            item=repr(item), reason=f"its step is {step!r}", hint="use a whole number other than 0"
        )
    start, stop = item.start, item.stop
    for bound in (start, stop):
        if not (bound is None or isinstance(bound, int) or _is_symbolic(bound)):
            raise IndexItemError(
                item=repr(item),
                reason=f"its bound is {bound!r}",
                hint="use whole numbers, Variables or None",
            )
    if step < 0:
        # what a negative step keeps lies between the same bounds, given from the other end
        start, stop = (
            None if stop is None else _from_front(stop, size) + 1,  # type: ignore[operator]
            None if start is None else _from_front(start, size) + 1,  # type: ignore[operator]
        )
    low = 0 if start is None else _within(_from_front(start, size), size)
    high = size if stop is None else _within(_from_front(stop, size), size)
    return AxisCut(low, high, step)


def _from_front(position: Dim, size: Dim) -> Dim:
    """A position counted from the front, where negative ones count from the end."""
    if isinstance(position, int):
        return position if position >= 0 else size + position  # type: ignore[operator]
    if position.vmax < 0:  # type: ignore[attr-defined]
        return size + position  # type: ignore[operator]
    if position.vmin < 0:  # type: ignore[attr-defined]
        raise IndexItemError(
            item=f"a value from {position.vmin} to {position.vmax}",  # type: ignore[attr-defined]
            reason="it may count from either end",
            hint="give the variable bounds of one sign",
        )
    return position


def _within(position: Dim, size: Dim) -> Dim:
    """A number as NumPy takes it, cut off at the end of an axis of symbolic size."""
    if not isinstance(position, int) or isinstance(size, int):
        return position
    if position <= size.vmin:  # type: ignore[attr-defined]
        return position
    return (size < position).where(size, position)  # type: ignore[operator, attr-defined]


def apply_cuts(value: V, cuts: Sequence[AxisCut]) -> V:
    """Shrink, flip and skip; axes that an integer index removes stay as size 1."""
    value = value.shrink([(cut.start, cut.stop) for cut in cuts])
    value = value.flip([axis for axis, cut in enumerate(cuts) if cut.step < 0])
    for axis, cut in enumerate(cuts):
        if abs(cut.step) > 1:
            value = _every(value, axis, abs(cut.step))
    return value


def _every(value: V, axis: int, step: int) -> V:
    """Each `step`-th element of an axis, from the first on."""
    shape = value.shape
    size = shape[axis]
    count = (size + (step - 1)) // step  # type: ignore[operator]
    missing = count * step - size  # type: ignore[operator]
    pads = [(0, missing) if i == axis else (0, 0) for i in range(len(shape))]
    rows = value._pad_zeros(pads).reshape((*shape[:axis], count, step, *shape[axis + 1 :]))
    first = rows.shrink([(0, 1) if i == axis + 1 else None for i in range(len(shape) + 1)])
    return first.reshape((*shape[:axis], count, *shape[axis + 1 :]))
