"""Values put at positions: rows by index, elements by flat index or mask, slices and diagonals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

from tg_uop import UOp, dtypes
from tg_uop.errors import DTypeError, IndexShapeError, PositionError, ShapeError
from tg_uop.plain import plain, plain_sequence

from tg_tensor.errors import ArgumentError
from tg_tensor.ops.matmul import MatmulOps
from tg_tensor.ops.numbers import number


class PlaceValueOps(MatmulOps):
    """The families of index_add, put, masked_scatter and slice_scatter.

    Each gives a new Tensor; negative positions count from the end, those outside do nothing.
    """

    __slots__ = ()

    # *** any layout ***

    def as_strided(
        self, size: Sequence[int], stride: Sequence[int], storage_offset: int = 0
    ) -> Self:
        """The elements at `storage_offset` + sum of place * stride, of the values in order.

        A value, not a view of memory: the layout is that of a contiguous Tensor. Elements may
        appear several times, and their gradients are summed. Raises `ArgumentError` unless there
        is a stride of 0 or more for each size, `PositionError` where the last element lies
        outside.
        """
        sizes, strides = plain_sequence(size), plain_sequence(stride)
        storage_offset = plain(storage_offset)
        if len(sizes) != len(strides) or min((*sizes, *strides), default=0) < 0:
            expected = f"a size and a stride of 0 or more for each axis, not {sizes} and {strides}"
            raise ArgumentError(
                op="as_strided", argument="stride", given=strides, expected=expected
            )
        last = storage_offset + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
        is_inside = storage_offset >= 0 and last < self.numel()
        if not (is_inside or 0 in sizes):
            raise PositionError(
                op="as_strided",
                argument="size, stride, storage_offset",
                given=(sizes, strides, storage_offset),
                expected=f"elements among the {self.numel()} of the Tensor",
            )
        places = self._of(UOp.const(dtypes.int32, storage_offset, self.uop._device))
        for number_of, step in zip(sizes, strides, strict=True):
            along = type(self).arange(number_of, dtype=dtypes.int32, device=self.device)
            places = places.unsqueeze(-1) + along * step
        return self.flatten()[places]

    # *** rows of an axis ***

    def index_select(self, dim: int, index: Self) -> Self:
        """The slices of an axis that a vector names, in its order.

        Raises `ShapeError` unless `index` is a vector or a number.
        """
        axis = self._axis(dim)
        rows = self._row_index("index_select", index)
        if not self.shape:
            return self.reshape((1,))[rows].reshape(()) if index.ndim == 0 else self
        return self[(slice(None),) * axis + (rows,)]

    def index_add(self, dim: int, index: Self, source: Self, *, alpha: float = 1) -> Self:
        """`alpha` times the slices of `source` added to those that `index` names, all of them."""
        axis, hits = self._row_hits("index_add", dim, index, source)
        rows = source if alpha == 1 else source * alpha
        return self + self._sum_of_rows(axis, hits, rows)

    def index_copy(self, dim: int, index: Self, source: Self) -> Self:
        """The slices of `source` in place of those that `index` names; the last one counts."""
        axis, _ = self._row_hits("index_copy", dim, index, source)
        return self.scatter(axis, self._spread_rows(axis, index, source.shape), source)

    def index_fill(self, dim: int, index: Self, value: Self | int | float) -> Self:
        """`value` in every slice that `index` names."""
        axis = self._axis(dim)
        rows = self._row_index("index_fill", index)
        hits = self._hits(axis, rows).any(-1)
        tail = (1,) * (self.ndim - 1 - axis)
        return self._filled(hits.reshape((*hits.shape, *tail)), value)

    def index_reduce(
        self, dim: int, index: Self, source: Self, reduce: str, *, include_self: bool = True
    ) -> Self:
        """All slices of `source` for one of this combined: "prod", "mean", "amax" or "amin"."""
        axis, _ = self._row_hits("index_reduce", dim, index, source)
        spread = self._spread_rows(axis, index, source.shape)
        return self.scatter_reduce(axis, spread, source, reduce, include_self)

    def _row_index(self, op: str, index: Self) -> Self:
        if index.ndim > 1:
            raise IndexShapeError(op=op, shapes=(index.shape,), reason="the index is a vector")
        if not index.dtype.is_int:
            raise DTypeError(what=op, dtypes=[index.dtype], reason="an index is an integer")
        return index.reshape((index.numel(),))

    def _hits(self, axis: int, rows: Self) -> Self:
        """Which of the rows names which position of an axis: shape (size, rows)."""
        size = self.shape[axis]
        wanted = rows._counted_from_front(size)
        counter = self._iota(size, self.device, dtypes.int32).cast(wanted.dtype)
        return counter.unsqueeze(1).eq(wanted)

    def _row_hits(self, op: str, dim: int, index: Self, source: Self) -> tuple[int, Self]:
        axis = self._axis(dim)
        rows = self._row_index(op, index)
        wanted = tuple(rows.shape[0] if i == axis else s for i, s in enumerate(self.shape))
        if source.shape != wanted:
            raise IndexShapeError(
                op=op,
                shapes=(self.shape, index.shape, source.shape),
                reason=f"the source must have shape {wanted}: a slice for each index",
            )
        if source.dtype is not self.dtype:
            raise DTypeError(
                what=op, dtypes=[self.dtype, source.dtype], reason="the dtypes differ", hint="cast"
            )
        return axis, self._hits(axis, rows)

    def _spread_rows(self, axis: int, index: Self, shape: Sequence[int]) -> Self:
        """A vector of positions for every element of slices."""
        line = tuple(index.numel() if i == axis else 1 for i in range(len(shape)))
        return index.reshape(line).expand(tuple(shape))

    def _sum_of_rows(self, axis: int, hits: Self, rows: Self) -> Self:
        """For each position of an axis the sum of the rows that hit it."""
        last = rows.transpose(axis, -1).unsqueeze(-2)
        total = hits.where(last, False).sum(-1).cast(self.dtype)
        return total.transpose(axis, -1)

    # *** elements ***

    def scatter_add(self, dim: int, index: Self, src: Self) -> Self:
        """self with src[i][j] added at [index[i][j]][j] for dim 0, and so on for other axes."""
        return self.scatter_reduce(dim, index, src, "sum")

    def put(self, index: Self, source: Self, accumulate: bool = False) -> Self:
        """Elements at positions of the flattened Tensor replaced, or added to.

        Raises `ShapeError` unless there is one source for each position.
        """
        if index.numel() != source.numel():
            raise ShapeError(
                op="put", shapes=(index.shape, source.shape), reason="one source for each position"
            )
        flat = self.flatten()
        positions, values = index.flatten(), source.flatten()
        if accumulate:
            return flat.index_add(0, positions, values).reshape(self.shape)
        return flat.scatter(0, positions, values).reshape(self.shape)

    def masked_scatter(self, mask: Self, source: Self) -> Self:
        """Elements where the mask holds replaced by those of `source`, one after the other.

        Raises `DTypeError` unless the mask is one of bools.
        """
        if not mask.dtype.is_bool:
            raise DTypeError(what="masked_scatter", dtypes=[mask.dtype], reason="a mask is of bool")
        spread = mask._expand_to(self.shape)
        turn = spread.flatten().cast(dtypes.int32).cumsum(0) - 1
        picked = source.flatten()[spread.flatten().where(turn, 0)].reshape(self.shape)
        return spread.where(picked.cast(self.dtype), self)

    # *** views ***

    def select_scatter(self, src: Self, dim: int, index: int) -> Self:
        """The slice at one position of an axis replaced by `src`.

        Raises `ArgumentError` for a position outside, `ShapeError` for another shape.
        """
        axis = self._axis(dim)
        place = self.select(axis, index)
        _check_shape("select_scatter", src, place.shape)
        return self.slice_scatter(src.unsqueeze(axis), axis, index % self.shape[axis], length=1)

    def slice_scatter(
        self,
        src: Self,
        dim: int = 0,
        start: int | None = None,
        end: int | None = None,
        step: int = 1,
        *,
        length: int | None = None,
    ) -> Self:
        """The slice start:end:step of an axis replaced by `src`; `length` stands for an end.

        Raises `ArgumentError` for a step below 1, `ShapeError` for another shape.
        """
        axis = self._axis(dim)
        if step < 1:
            raise ArgumentError(
                op="slice_scatter", argument="step", given=step, expected="1 or more"
            )
        if length is not None:
            end = (start or 0) + length
        steps = range(*slice(start, end, step).indices(self.shape[axis]))
        shape = tuple(len(steps) if i == axis else s for i, s in enumerate(self.shape))
        _check_shape("slice_scatter", src, shape)
        if not steps:
            return self._itself()
        first, after = steps[0], self.shape[axis] - 1 - steps[-1]
        placed = src._spread_out(axis, step, first, after)
        line = self._of(self.ufix(True).uop.cast(dtypes.bool))._expand_to((len(steps),))
        mask = line._spread_out(0, step, first, after)
        tail = (1,) * (self.ndim - 1 - axis)
        return mask.reshape((*mask.shape, *tail)).where(placed.cast(self.dtype), self)

    def _spread_out(self, axis: int, step: int, before: int, after: int) -> Self:
        """Zeros between the elements of an axis, and around them."""
        front, size, back = self.shape[:axis], self.shape[axis], self.shape[axis + 1 :]
        value = self
        if step > 1:
            pairs = [(0, 0)] * (self.ndim + 1)
            pairs[axis + 1] = (0, step - 1)
            value = value.unsqueeze(axis + 1)._pad_zeros(pairs)
            value = value.reshape((*front, size * step, *back))
            value = value._part(axis, 0, (size - 1) * step + 1)
        pads = [(0, 0)] * self.ndim
        pads[axis] = (before, after)
        return value._pad_zeros(pads)

    def diagonal_scatter(self, src: Self, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Self:
        """The diagonal of two axes replaced by `src`, of the shape that `diagonal` gives.

        Raises `ShapeError` for another shape.
        """
        _check_shape("diagonal_scatter", src, self.diagonal(offset, dim1, dim2).shape)
        first, second = self._axis(dim1), self._axis(dim2)
        moved = self.movedim((first, second), (-2, -1))
        rows, columns = moved.shape[-2:]
        row = self._iota(rows, self.device, dtypes.int32).unsqueeze(1)
        column = self._iota(columns, self.device, dtypes.int32)
        on_diagonal = (column - row).eq(offset)
        size = rows if offset >= 0 else columns
        pads = [(0, 0)] * (src.ndim - 1) + [(0, size - src.shape[-1])]
        line = src.cast(self.dtype)._pad_zeros(pads)
        values = line.unsqueeze(-1) if offset >= 0 else line.unsqueeze(-2)
        return on_diagonal.where(values, moved).movedim((-2, -1), (first, second))

    def _filled(self, mask: Self, value: Self | int | float) -> Self:
        """`value` in this dtype where the mask holds.

        Raises `ArgumentError` for an infinity or NaN in an integer.
        """
        value = plain(value)
        if not isinstance(value, int | float):
            return mask.where(value.cast(self.dtype), self)
        if not self.dtype.is_float and not math.isfinite(value):
            raise ArgumentError(
                op="fill", argument="value", given=value, expected=f"a number that {self.dtype} has"
            )
        return mask.where(self._of(number(value, self.dtype)), self)

    def masked_fill(self, mask: Self, value: Self | int | float) -> Self:
        """`value`, in this dtype, where the mask holds, else this.

        Raises `DTypeError` unless the mask is one of bools, `ArgumentError` for an infinity in an
        integer.
        """
        if not mask.dtype.is_bool:
            raise DTypeError(
                what="masked_fill", dtypes=[mask.dtype], reason="a mask is of bool", hint="compare"
            )
        return self._filled(mask, value)


def _check_shape(op: str, src: PlaceValueOps, wanted: Sequence[int]) -> None:
    if src.shape != tuple(wanted):
        raise ShapeError(
            op=op, shapes=(src.shape, tuple(wanted)), reason="the source has another shape"
        )
