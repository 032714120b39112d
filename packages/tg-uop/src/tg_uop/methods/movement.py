"""Movement methods in terms of two hooks: views of a value, none of which touches its elements."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import index
from typing import Self

from tg_uop.arguments import shown
from tg_uop.errors import ArgumentTypeError, AxisError, DimensionError, ShapeError
from tg_uop.ir.ops import Ops
from tg_uop.plain import plain, plain_sequence

Dim = object
"""A dimension: an int, or a node that stands for one."""


class MovementMixin:
    """Views of a host that provides `shape` and `_movement`."""

    __slots__ = ()

    # *** hooks ***

    @property
    def shape(self) -> tuple[object, ...]:
        """The dimensions."""
        raise NotImplementedError

    def _movement(self, op: Ops, arg: tuple[object, ...]) -> Self:
        """This value under a movement op; dimensions in `arg` may be nodes."""
        raise NotImplementedError

    # *** facts ***

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def numel(self) -> int:
        """The number of elements."""
        return prod(self.shape)  # type: ignore[arg-type]

    def _axis(self, axis: int, extra: int = 0) -> int:
        """The axis counted from the front; `extra` more positions are allowed.

        Raises `AxisError`, which is a `ShapeError`, when there is no such axis, and
        `ArgumentTypeError` for what is no whole number.
        """
        # a value without axes counts as one element on an axis, as in PyTorch
        count = max(len(self.shape) + extra, 1)
        try:
            axis = index(axis)
        except TypeError:
            expected = f"a whole number: shape {self.shape} has {len(self.shape)} axes"
            raise ArgumentTypeError(argument="axis", given=shown(axis), expected=expected) from None
        if not -count <= axis < count:
            raise AxisError(
                op="axis",
                shapes=(self.shape,),
                reason=f"there is no axis {axis}",
                hint=f"axes go from {-count} to {count - 1}",
            )
        return axis + count if axis < 0 else axis

    def _own_axis(self, axis: int) -> int:
        """The axis counted from the front, where it has to have a length.

        Raises `AxisError` for a value without axes, too.
        """
        found = self._axis(axis)
        if not self.shape:
            raise AxisError(
                op="axis",
                shapes=(self.shape,),
                reason="a value without axes has no lengths",
                hint="reshape it to (1,) first",
            )
        return found

    # *** shape ***

    def reshape(self, shape: Dim | Sequence[Dim], *args: Dim) -> Self:
        """The elements in another shape; one dimension may be -1, None keeps that of the source.

        Raises `ShapeError` when the number of elements changes.
        """
        target = _as_dims(shape, args, self)
        old = self.shape
        if None in target or -1 in target:
            target = self._completed_dims(target)
        return self if target == old else self._movement(Ops.RESHAPE, target)

    def _completed_dims(self, dims: tuple[Dim, ...]) -> tuple[Dim, ...]:
        """Dimensions with the ones kept (None) and the one worked out (-1) put in."""
        wanted = list(dims)
        for position, dim in enumerate(wanted):
            if dim is None:
                wanted[position] = self.shape[position]
        unknown = [i for i, dim in enumerate(wanted) if isinstance(dim, int) and dim == -1]
        if unknown:
            wanted[unknown[0]] = self._remaining_size(wanted, unknown)
        return tuple(wanted)

    def _remaining_size(self, wanted: list[Dim], unknown: list[int]) -> Dim:
        others = [dim for i, dim in enumerate(wanted) if i != unknown[0]]
        known, total = prod(others), prod(self.shape)  # type: ignore[arg-type]
        fits = len(unknown) == 1 and not (isinstance(known, int) and known == 0)
        if fits and isinstance(known, int) and isinstance(total, int):
            fits = total % known == 0
        if not fits:
            raise ShapeError(
                op=Ops.RESHAPE.name,
                shapes=(self.shape, tuple(wanted)),
                reason="the dimension -1 cannot be worked out",
                hint="use one -1, and sizes whose product divides the number of elements",
            )
        return total // known

    def view(self, shape: Dim | Sequence[Dim], *args: Dim) -> Self:
        """See `reshape`."""
        return self.reshape(shape, *args)

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Self:
        """The axes from `start_dim` to `end_dim`, both included, as one.

        Raises `ShapeError` when `end_dim` comes before `start_dim`.
        """
        if not self.shape:
            return self.reshape((1,))
        first, last = self._axis(start_dim), self._axis(end_dim)
        shape = self.shape
        if last < first:
            raise ShapeError(
                op="flatten",
                shapes=(shape,),
                reason=f"axis {end_dim} comes before axis {start_dim}",
                hint="name the first axis first",
            )
        merged = prod(shape[first : last + 1])  # type: ignore[arg-type]
        return self.reshape((*shape[:first], merged, *shape[last + 1 :]))

    def unflatten(self, dim: int, sizes: Sequence[int]) -> Self:
        """Axis `dim` as several of `sizes`."""
        axis = self._axis(dim)
        shape = self.shape
        known = [size for size in sizes if size != -1]
        if len(known) < len(sizes):
            rest = shape[axis] // max(prod(known), 1)  # type: ignore[operator]
            sizes = [rest if size == -1 else size for size in sizes]
        return self.reshape((*shape[:axis], *sizes, *shape[axis + 1 :]))

    def squeeze(self, dim: int | Sequence[int] | None = None) -> Self:
        """Without axes of size 1: all of them, or those named that have it."""
        if dim is None:
            return self.reshape(tuple(s for s in self.shape if not _is_one(s)))
        axes = {self._axis(d) for d in plain_sequence(dim)}  # type: ignore[arg-type]
        if not self.shape:
            return self.reshape(())
        kept = (s for i, s in enumerate(self.shape) if i not in axes or not _is_one(s))
        return self.reshape(tuple(kept))

    def unsqueeze(self, dim: int) -> Self:
        """With an axis of size 1 at `dim`."""
        axis = self._axis(dim, extra=1)
        return self.reshape((*self.shape[:axis], 1, *self.shape[axis:]))

    # *** order ***

    def permute(self, order: int | Sequence[int], *args: int) -> Self:
        """The axes in another order.

        Raises `ShapeError` when `order` does not name each axis once.
        """
        axes = tuple(self._axis(a) for a in _as_ints(order, args))
        if axes == tuple(range(self.ndim)):
            return self
        return self._movement(Ops.PERMUTE, axes)

    def transpose(self, dim0: int = 1, dim1: int = 0) -> Self:
        """Two axes exchanged."""
        order = list(range(self.ndim))
        first, second = self._axis(dim0), self._axis(dim1)
        if not order:
            return self.permute(())
        order[first], order[second] = order[second], order[first]
        return self.permute(order)

    @property
    def T(self) -> Self:
        """The axes in reverse order."""
        return self.permute(tuple(reversed(range(self.ndim))))

    def flip(self, axis: int | Sequence[int], *args: int) -> Self:
        """The elements along some axes in reverse order."""
        axes = tuple(self._axis(a) for a in _as_ints(axis, args))
        return self._movement(Ops.FLIP, axes) if axes and self.shape else self

    # *** size ***

    def expand(self, shape: Dim | Sequence[Dim], *args: Dim) -> Self:
        """Axes of size 1 repeated, and axes added in front; -1 or None keeps a dimension.

        Raises `ShapeError` when an axis of another size would change.
        """
        wanted = _as_dims(shape, args, self)
        return self._expand_to(self._kept_dims(wanted))

    def _kept_dims(self, wanted: tuple[Dim, ...]) -> tuple[Dim, ...]:
        added = len(wanted) - self.ndim
        old = (1,) * added + self.shape
        keeps = (d is None or (isinstance(d, int) and d == -1) for d in wanted)
        return tuple(o if k else w for o, w, k in zip(old, wanted, keeps, strict=False))

    def _expand_to(self, target: tuple[Dim, ...]) -> Self:
        old = self.shape
        if old == target:
            return self
        added = len(target) - len(old)
        if added < 0:
            raise ShapeError(
                op=Ops.EXPAND.name,
                shapes=(old, target),
                reason="an expanded value has at least as many axes",
                hint="reshape or squeeze first",
            )
        source = self._movement(Ops.RESHAPE, (1,) * added + old) if added else self
        return source if source.shape == target else source._movement(Ops.EXPAND, target)

    def _pad_zeros(self, pads: Sequence[tuple[Dim, Dim]]) -> Self:
        """Zeros before and after each axis."""
        arg = tuple((plain(before), plain(after)) for before, after in pads)
        if all(_is_zero(before) and _is_zero(after) for before, after in arg):
            return self
        return self._movement(Ops.PAD, arg)

    def shrink(self, arg: Sequence[tuple[Dim, Dim] | None]) -> Self:
        """The elements from start to end of each axis; None keeps an axis.

        Raises `ShapeError` when the bounds leave an axis.
        """
        shape = self.shape
        if len(arg) != len(shape):
            raise ShapeError(
                op=Ops.SHRINK.name,
                shapes=(shape,),
                reason=f"{len(arg)} pairs of bounds for {len(shape)} axes",
                hint="give one (start, end) pair an axis, None to keep it",
            )
        pairs = zip(arg, shape, strict=True)
        bounds = tuple(
            (0, s) if pair is None else (plain(pair[0]), plain(pair[1])) for pair, s in pairs
        )
        if bounds == tuple((0, s) for s in shape):
            return self
        return self._movement(Ops.SHRINK, bounds)

    def shrink_to(self, shape: Dim | Sequence[Dim], *args: Dim) -> Self:
        """The leading elements of each axis; None keeps an axis."""
        wanted = _as_dims(shape, args, self)
        return self.shrink([None if dim is None else (0, dim) for dim in wanted])

    def pad_to(self, shape: Dim | Sequence[Dim], *args: Dim) -> Self:
        """Zeros after each axis up to a size; None keeps an axis."""
        wanted = _as_dims(shape, args, self)
        if len(wanted) != self.ndim:
            raise ShapeError(
                op=Ops.PAD.name,
                shapes=(self.shape, wanted),
                reason=f"{len(wanted)} sizes for {self.ndim} axes",
                hint="give one size an axis, None to keep it",
            )
        pairs = zip(wanted, self.shape, strict=True)
        after = (0 if dim is None else dim - size for dim, size in pairs)  # type: ignore[operator]
        padded = self._pad_zeros([(0, count) for count in after])
        return self.reshape(self.shape) if padded is self else padded

    def repeat(self, repeats: int | Sequence[int], *args: int) -> Self:
        """Copies side by side along each axis, axes in front added as needed.

        Raises `ShapeError` for fewer counts than axes, and for a negative one.
        """
        counts = _as_ints(repeats, args)
        if len(counts) < self.ndim or any(isinstance(c, int) and c < 0 for c in counts):
            raise ShapeError(
                op="repeat",
                shapes=(self.shape, counts),
                reason=f"{self.ndim} axes take as many counts of 0 or more, or counts for axes "
                "in front too",
            )
        base = (1,) * (len(counts) - self.ndim) + self.shape
        pairs = tuple(zip(counts, base, strict=True))
        spread = self.reshape(tuple(d for _, size in pairs for d in (1, size)))
        spread = spread.expand(tuple(d for pair in pairs for d in pair))
        return spread.reshape(tuple(count * size for count, size in pairs))  # type: ignore[operator]

    def repeat_interleave(self, repeats: int, dim: int | None = None) -> Self:
        """Each element repeated in place along `dim`, of the flattened value if None."""
        source = self.flatten() if dim is None else self
        axis = 0 if dim is None else self._own_axis(dim)
        shape, repeats = source.shape, plain(repeats)
        spread = source.reshape((*shape[: axis + 1], 1, *shape[axis + 1 :]))
        spread = spread.expand((*shape[: axis + 1], repeats, *shape[axis + 1 :]))
        merged = shape[axis] * repeats  # type: ignore[operator]
        return spread.reshape((*shape[:axis], merged, *shape[axis + 1 :]))

    def diagonal(self, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Self:
        """The diagonal of two axes as the last axis; `offset` above 0 lies right of the main one.

        Raises `ShapeError` when the axes are the same or the diagonal leaves them.
        """
        first, second, offset = self._axis(dim1), self._axis(dim2), index(offset)
        if first == second:
            raise ShapeError(
                op="diagonal",
                shapes=(self.shape,),
                reason=f"axes {dim1} and {dim2} are the same",
                hint="a diagonal needs two different axes",
            )
        others = [i for i in range(self.ndim) if i not in (first, second)]
        moved = self.permute([*others, first, second])
        *batch, rows, columns = moved.shape
        assert isinstance(rows, int), "a diagonal has known sizes"
        assert isinstance(columns, int), "a diagonal has known sizes"
        down, right = max(-offset, 0), max(offset, 0)
        length = max(min(rows - down, columns - right), 0)
        keep: list[tuple[Dim, Dim] | None] = [None] * len(batch)
        top, left = min(down, rows), min(right, columns)
        moved = moved.shrink([*keep, (top, top + length), (left, left + length)])
        # rows of length n + 1 put the diagonal into column 0
        flat = moved.reshape((*batch, length * length))
        flat = flat._pad_zeros([(0, 0)] * len(batch) + [(0, length)])
        skewed = flat.reshape((*batch, length, length + 1)).shrink([*keep, None, (0, 1)])
        return skewed.reshape((*batch, length))


def _is_one(dim: Dim) -> bool:
    return isinstance(dim, int) and dim == 1


def _is_zero(dim: Dim) -> bool:
    return isinstance(dim, int) and dim == 0


def _as_dims(
    first: Dim | Sequence[Dim], rest: tuple[Dim, ...], value: MovementMixin
) -> tuple[Dim, ...]:
    """`f((2, 3))` and `f(2, 3)` mean the same. Raises `DimensionError` for what is no dimension."""
    dims = tuple(first) if isinstance(first, (tuple, list)) and not rest else (first, *rest)
    for dim in dims:
        if type(dim) is not int:
            return tuple(_as_dim(dim, value) for dim in dims)
    return dims


def _as_dim(dim: Dim, value: MovementMixin) -> Dim:
    found = plain(dim)
    # a symbolic number has bounds, None keeps what there is
    if found is None or hasattr(found, "__index__") or hasattr(found, "vmin"):
        return found
    raise DimensionError(
        op="dimensions",
        shapes=(value.shape,),
        reason=f"{dim!r} is no dimension",
        hint="dimensions are whole numbers or variables",
    )


def _as_ints(first: int | Sequence[int], rest: tuple[int, ...]) -> tuple[int, ...]:
    given = (*first, *rest) if isinstance(first, (tuple, list)) else (first, *rest)
    return plain_sequence(given)  # type: ignore[return-value]
