"""Indexing with Tensors, lists and masks, reading and writing.

A gather is written as `sum over j of where(j == index, x[j], 0)`, which the compiler turns into a
load at `index`; an index outside of its axis meets no j and reads 0.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Self

import numpy as np
import numpy.typing as npt
from tg_uop import Ops, UOp, dtypes
from tg_uop.dtype.value import const_value
from tg_uop.errors import (
    IndexDTypeError,
    IndexItemError,
    IndexRangeError,
    IndexShapeError,
    ShapeError,
)
from tg_uop.methods.broadcast import broadcast_shape
from tg_uop.methods.indexing import (
    apply_cuts,
    axis_cut,
    basic_view,
    expand_ellipsis,
    plain_items,
)

from tg_tensor.algorithms.lookups import last_turns, pays_in_turn, row_lookup
from tg_tensor.ops.movement import TensorMovementOps
from tg_tensor.ops.numbers import check_room
from tg_tensor.ops.views import INDEX
from tg_tensor.schedule.affine import max_dim


class IndexOps(TensorMovementOps):
    """`x[...]` and `x[...] = y`."""

    __slots__ = ("_host_range",)

    # lowest and highest value of indices that came from the host; unset elsewhere
    _host_range: tuple[int, int]

    # *** reading ***

    def __getitem__(self, index: object) -> Self:
        """The elements that an index names, as NumPy does it.

        Ints, slices (any step), None and ... give views; int Tensors, arrays and lists look
        elements up; bool masks pick, which needs their values now. Raises `IndexRangeError` for
        what is outside and visible on the host; elsewhere an index outside reads 0.
        """
        plain = plain_items(index, self.ndim)
        if plain is not None:
            return self._seen_as(basic_view(self.uop, plain), INDEX, plain)
        source, index = self._with_axes_of_bools(index)
        items = source._index_items(index)
        if not any(isinstance(item, IndexOps) for item in items):
            return self._seen_as(basic_view(self.uop, items), INDEX, tuple(items))
        view, positions, indices, place = source._lookup_parts(items)
        return view._looked_up(positions, indices, place)

    def _with_axes_of_bools(self, index: object) -> tuple[Self, object]:
        """This and the index, with an axis of size 1 for each bool without axes.

        NumPy counts such a bool as a position on an axis that it adds: True is the one element
        there, False is none.
        """
        given = index if isinstance(index, tuple) else (index,)
        if not any(map(_is_bool, given)):
            return self, index
        raw = [self._index_item(item) for item in given]
        shape: list[int] = []
        items: list[object] = []
        axis = 0
        for item in expand_ellipsis(tuple(raw), self.shape, [_width(item) for item in raw]):
            if isinstance(item, IndexOps) and _is_bool(item):
                shape.append(1)
                items.append(self._host_index(np.arange(int(bool(item.numpy())))))
                continue
            width = _width(item)
            shape.extend(self.shape[axis : axis + width])
            items.append(item)
            axis += width
        return self.reshape(tuple(shape)), tuple(items)

    def _index_items(self, index: object) -> list[object]:
        """One item an axis, with lists and arrays as Tensors and masks as positions."""
        given = index if isinstance(index, tuple) else (index,)
        raw = [self._index_item(item) for item in given]
        widths = [_width(item) for item in raw]
        items = expand_ellipsis(tuple(raw), self.shape, widths)
        result: list[object] = []
        axis = 0
        for item in items:
            if isinstance(item, IndexOps) and item.dtype.is_bool:
                result.extend(self._mask_positions(item, axis))
                axis += item.ndim
                continue
            result.append(item)
            axis += item is not None
        return result

    def _index_item(self, item: object) -> object:
        if isinstance(item, list | tuple | range | np.ndarray) or (
            isinstance(item, np.generic) and not isinstance(item, np.integer)
        ):
            array = _as_array(item)
            if array.size == 0 and isinstance(item, list | tuple | range):
                array = array.astype(np.int32)
            return self._host_index(array)
        if isinstance(item, bool):
            return self._host_index(np.array(item))
        if not isinstance(item, int | IndexOps | UOp) and hasattr(type(item), "__index__"):
            return operator.index(item)  # type: ignore[arg-type]
        if isinstance(item, IndexOps) and not (item.dtype.is_int or item.dtype.is_bool):
            raise IndexDTypeError(
                what="index",
                dtypes=[item.dtype],
                reason="an index is an integer or a bool",
                hint="cast it",
            )
        return item

    def _host_index(self, array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> Self:
        if array.dtype.kind not in "iub":
            raise IndexDTypeError(
                what="index", dtypes=[array.dtype], reason="an index is an integer or a bool"
            )
        device = self.device if isinstance(self.device, str) else self.device[0]
        tensor = self._lift(array if array.dtype.kind == "b" else array.astype(np.int64), device)
        if not isinstance(self.device, str):
            tensor = tensor._replicate(self.device)
        tensor._host_range = (int(array.min()), int(array.max())) if array.size else (0, 0)
        return tensor

    def _mask_positions(self, mask: Self, axis: int) -> list[Self]:
        """Where a mask over some axes is True, as one index an axis."""
        covered = self.shape[axis : axis + mask.ndim]
        if mask.shape != covered:
            raise IndexShapeError(
                op="index",
                shapes=(self.shape, mask.shape),
                reason=f"a mask of shape {mask.shape} lies over axes of shape {covered}",
                hint="a mask has the shape of the axes that it picks from",
            )
        found = np.nonzero(mask.numpy())
        return [self._host_index(positions) for positions in found]

    def _lookup_parts(self, items: list[object]) -> tuple[Self, list[int], list[Self], int]:
        """Split an index: the view that ints and slices give, on which of its axes to look up what,
        and behind how many of the other axes those of the lookups stand.

        Lookups that stand side by side leave their axes in place; lookups (and ints, which count
        as such) with a slice or None between them move theirs to the front, as in NumPy.
        """
        shape = self.shape
        axis_items = [item for item in items if item is not None]
        cuts = []
        for axis, item in enumerate(axis_items):
            plain = slice(None) if isinstance(item, IndexOps) else item
            cuts.append(axis_cut(plain, shape[axis], axis, shape))
            if isinstance(item, IndexOps):
                _check_host_range(item, shape[axis], axis, shape)
        view = apply_cuts(self, cuts)
        sizes: list[int] = []
        positions: list[int] = []
        indices: list[Self] = []
        axis = 0
        first = _first_lookup(items)
        place = 0
        for number, item in enumerate(items):
            if number == first:
                place = len(sizes) - len(positions)
            if item is None:
                sizes.append(1)
                continue
            if isinstance(item, IndexOps):
                positions.append(len(sizes))
                indices.append(item)  # type: ignore[arg-type]
            if not cuts[axis].dropped:
                sizes.append(view.shape[axis])
            axis += 1
        return view.reshape(tuple(sizes)), positions, indices, place

    def _looked_up(self, positions: list[int], indices: list[Self], place: int) -> Self:
        """Elements by position on some axes, the axes of the positions behind `place` others."""
        flat_index = self._flat_index(positions, indices)
        others = [axis for axis in range(self.ndim) if axis not in positions]
        moved = self.permute([*others[:place], *positions, *others[place:]])
        before, after = moved.shape[:place], moved.shape[place + len(positions) :]
        count = math.prod(moved.shape[place : place + len(positions)])
        lines = (1,) * flat_index.ndim
        source = moved.reshape((*before, *lines, count, *after))
        column = flat_index.reshape((*flat_index.shape, *(1,) * (1 + len(after))))
        counter = self._iota(count, flat_index.device, dtypes.int32)
        counter = counter.reshape((count, *(1,) * len(after)))
        picked = counter.eq(column).where(source, False)
        found = picked._only_one(place + flat_index.ndim)
        if not self._sums_rows_in_turn(flat_index):
            return found
        rows = moved.reshape((*before, count, *after)).uop
        return self._of(row_lookup(type(self), found.uop, rows, flat_index.uop, place))

    def _sums_rows_in_turn(self, index: Self) -> bool:
        """Whether the gradient of a lookup goes through the indices, not through all pairs."""
        named = math.prod(index.shape)
        pairs = named * math.prod(self.shape)
        return self.dtype.is_float and pays_in_turn(self.device, pairs, named)

    def _only_one(self, axis: int) -> Self:
        """The sum along an axis of which one element at most is not 0."""
        op = Ops.MAX if self.dtype.is_bool else Ops.ADD
        if self.shape[axis] == 0:
            return self.sum(axis).cast(self.dtype)
        result = self._reduce(op, (axis,)) if self.shape[axis] != 1 else self
        return result.reshape((*self.shape[:axis], *self.shape[axis + 1 :]))

    def _flat_index(self, positions: list[int], indices: list[Self]) -> Self:
        """The indices of several axes as one into those axes made one; -1 where one is outside."""
        sizes = [self.shape[axis] for axis in positions]
        wide = dtypes.int64 if math.prod(sizes) > dtypes.int32.max else dtypes.int32
        shape = _common_shape([index.shape for index in indices])
        flat: Self | None = None
        valid: Self | None = None
        narrowed = False
        for index, size in zip(indices, sizes, strict=True):
            counted = index._counted_from_front(size)._expand_to(shape)
            inside = (counted >= 0) & (counted < size)
            valid = inside if valid is None else valid & inside
            wrapped = counted.cast(wide)
            flat = wrapped if flat is None else flat * size + wrapped
            # what is outside in more bits may be inside in fewer
            narrowed |= counted.dtype.itemsize > wide.itemsize and not _is_seen(index)
        assert flat is not None, "there is at least one index"
        assert valid is not None, "there is at least one index"
        return valid.where(flat, -1) if narrowed or len(indices) > 1 else flat

    def _counted_from_front(self, size: int) -> Self:
        """Indices with the negative ones, which count from the end, made positive.

        They get 64 bits where the size is too large for 32.
        """
        known = getattr(self, "_host_range", None)
        wide = self._as_places()
        if self.dtype.is_unsigned or (known is not None and known[0] >= 0):
            return wide
        if wide.dtype is dtypes.int32 and max_dim(size) > dtypes.int32.max:
            wide = wide.cast(dtypes.int64)
        return (wide < 0).where(wide + size, wide)

    def _as_places(self) -> Self:
        """Indices or classes in 32 bits or more: an axis may be longer than a byte can count."""
        return self.cast(dtypes.int32) if self.dtype.itemsize < 4 else self

    # *** writing ***

    def __setitem__(self, index: object, value: object) -> None:
        """Write `value`, broadcast and cast to this dtype, to the elements that an index names.

        Of an element that is named twice the last value stays; an index outside writes nothing.
        """
        target = (
            self._lift(value, self.device)
            if not isinstance(value, IndexOps | int | float)
            else value
        )
        given = index if isinstance(index, tuple) else (index,)
        masks = [m for m in map(self._index_item, given) if isinstance(m, IndexOps) and _is_mask(m)]
        if masks and len(given) == 1 and (masks[0].ndim == 0 or _fits_everywhere(target)):
            self._write_mask(masks[0], target)  # type: ignore[arg-type]
            return
        place, index = self._with_axes_of_bools(index)
        items = place._index_items(index)
        if any(isinstance(item, IndexOps) for item in items):
            place._write_lookup(items, target)
            return
        self._write_view(items, target)

    def _write_mask(self, mask: Self, value: Self | int | float) -> None:
        _check_mask(mask, self.shape)
        if isinstance(value, IndexOps) and value.numel() == 0:
            return
        spread = mask.reshape((*mask.shape, *(1,) * (self.ndim - mask.ndim)))
        everything: list[object] = [slice(None)] * self.ndim
        self._write_view(everything, value, where=spread._expand_to(self.shape))

    def _as_element(self, value: Self | int | float) -> Self:
        """A value in this dtype, on this device."""
        if not isinstance(value, IndexOps):
            check_room(value, self.dtype)
            device = self.uop._device
            place = device if isinstance(device, str) else None
            return self._of(UOp.const(self.dtype, const_value(value, self.dtype), place))
        return value if value.dtype is self.dtype else value.cast(self.dtype)

    def _write_view(
        self, items: list[object], value: Self | int | float, where: Self | None = None
    ) -> None:
        shape = basic_view(self.uop, items).shape
        stored = self._as_element(value)
        if stored.ndim > len(shape):
            stored = stored.reshape(stored.shape[stored.ndim - len(shape) :])
        stored = stored._expand_to(shape)
        if 0 not in shape:
            condition = None if where is None else where.uop
            self._write(stored.uop, (INDEX, tuple(items)), where=condition)

    def _write_lookup(self, items: list[object], value: Self | int | float) -> None:
        """Give each element the value of the last index that names it, if there is one."""
        view, positions, indices, place = self._lookup_parts(items)
        flat_index = view._flat_index(positions, indices)
        if flat_index.numel() == 0:
            return
        others = [axis for axis in range(view.ndim) if axis not in positions]
        order = [*others[:place], *positions, *others[place:]]
        source = view.permute(order)
        before, after = source.shape[:place], source.shape[place + len(positions) :]
        count = math.prod(view.shape[axis] for axis in positions)
        named = flat_index.numel()
        stored = self._as_element(value)._expand_to((*before, *flat_index.shape, *after))
        last = view._last_turns(count, flat_index.reshape((named,)), stored.numel())
        tail = (1,) * len(after)
        picked = stored.reshape((*before, named, *after))._looked_up([place], [last - 1], place)
        written = (last > 0).reshape((count, *tail))._expand_to((*before, count, *after))
        back = [order.index(axis) for axis in range(view.ndim)]
        plain = [slice(None) if isinstance(item, IndexOps) else item for item in items]
        self._write_view(
            plain,
            picked.reshape(source.shape).permute(back),
            where=written.reshape(source.shape).permute(back),
        )

    def _last_turns(self, count: int, index: Self, elements: int) -> Self:
        """For each of `count` places the number of the last index that names it, from 1; else 0."""
        named = index.numel()
        turn = self._iota(named, self.device, dtypes.int32) + 1
        if pays_in_turn(self.device, count * elements, named):
            return self._of(last_turns(index.uop, turn.uop, count))
        rows = self._iota(count, self.device, dtypes.int32).reshape((count, 1))
        return rows.eq(index.reshape((1, named))).where(turn, 0).max(1)


def _first_lookup(items: list[object]) -> int | None:
    """The item where the axes of all lookups stand; None in front of all.

    An int counts as a lookup of one element.
    """
    lookups = [i for i, item in enumerate(items) if isinstance(item, IndexOps) or _is_int(item)]
    are_beside = lookups == list(range(lookups[0], lookups[-1] + 1))
    return lookups[0] if are_beside else None


def _is_int(item: object) -> bool:
    return isinstance(item, int | UOp) and not isinstance(item, bool)


def _is_mask(item: object) -> bool:
    return isinstance(item, IndexOps) and item.dtype.is_bool


def _is_bool(item: object) -> bool:
    """Whether an item is one bool, without axes."""
    if isinstance(item, np.ndarray | IndexOps):
        return item.ndim == 0 and item.dtype in (np.bool_, dtypes.bool)
    return isinstance(item, bool | np.bool_)


def _width(item: object) -> int:
    """How many axes an item takes."""
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if isinstance(item, IndexOps) and item.dtype.is_bool else 1


def _fits_everywhere(value: object) -> bool:
    """Whether a value can be written through a mask without counting its elements."""
    return isinstance(value, int | float) or (isinstance(value, IndexOps) and value.numel() == 1)


def _as_array(item: object) -> npt.NDArray[np.generic]:
    try:
        return np.array(item)
    except ValueError as error:
        reason = "its lists do not have the shape of a box"
        raise IndexItemError(item=repr(item), reason=reason) from error


def _common_shape(shapes: Sequence[tuple[object, ...]]) -> tuple[object, ...]:
    """The shape of several indices together. Raises `IndexShapeError` when there is none."""
    try:
        return broadcast_shape(*shapes)
    except ShapeError as error:
        raise IndexShapeError(
            op="index",
            shapes=error.shapes,
            reason=error.reason,
            hint="indices of several axes are broadcast together",
        ) from None


def _check_mask(mask: IndexOps, shape: tuple[int, ...]) -> None:
    if mask.shape != shape[: mask.ndim]:
        raise IndexShapeError(
            op="index",
            shapes=(shape, mask.shape),
            reason="the mask does not have the shape of the leading axes",
        )


def _is_seen(index: IndexOps) -> bool:
    """Whether the host knows the values, which were checked."""
    return getattr(index, "_host_range", None) is not None


def _check_host_range(index: IndexOps, size: int, axis: int, shape: tuple[int, ...]) -> None:
    known = getattr(index, "_host_range", None)
    if known is None or index.numel() == 0:
        return
    low, high = known
    if low < -size or high >= size:
        raise IndexRangeError(
            index=low if low < -size else high,
            shape=shape,
            reason=f"axis {axis} has {size} elements",
        )
