"""Diagonals, sums to a shape and writes by index, by the names of PyTorch's Tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

from tg_uop.errors import ShapeError

from tg_tensor.ops.create import ShapeArgs, shape_of
from tg_tensor.ops.inplace_names import InplaceNameOps


class IndexPutOps(InplaceNameOps):
    """sum_to_size, diagflat, index_put and their kin."""

    __slots__ = ()

    # *** parts ***

    def diagonal(self, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Self:
        """The diagonal of two axes as the last axis; `offset` above 0 lies right of the main one.

        It is a view: what is written to it is written to the matrix. Raises `ShapeError` when the
        axes are the same.
        """
        first, second = self._axis(dim1), self._axis(dim2)
        others = [axis for axis in range(self.ndim) if axis not in (first, second)]
        top, left = max(-offset, 0), max(offset, 0)
        length = 0 if first == second else min(self.shape[first] - top, self.shape[second] - left)
        if length <= 0:
            return super().diagonal(offset, dim1, dim2)
        matrices = self.permute([*others, first, second])
        square = matrices[..., top : top + length, left : left + length]
        flat = square.reshape((*square.shape[:-2], length * length))
        return flat[..., :: length + 1]

    def split_with_sizes(self, split_sizes: Sequence[int], dim: int = 0) -> tuple[Self, ...]:
        """See `split`."""
        return self.split(split_sizes, dim)

    def sum_to_size(self, *size: ShapeArgs) -> Self:
        """The sum over the axes that were expanded from `size`.

        Raises `ShapeError` when `size` does not expand to this shape.
        """
        wanted = shape_of(size)
        front = self.ndim - len(wanted)
        fits = front >= 0 and all(
            a in (1, b) for a, b in zip(wanted, self.shape[max(front, 0) :], strict=True)
        )
        if not fits:
            raise ShapeError(
                op="sum_to_size",
                shapes=(self.shape, wanted),
                reason="the second shape does not expand to the first",
            )
        axes = [i for i, size in enumerate((0,) * front + wanted) if size != self.shape[i]]
        summed = self.sum(tuple(axes), keepdim=True) if axes else self
        return summed.reshape(wanted)

    def diagflat(self, offset: int = 0) -> Self:
        """The square matrix with all elements on a diagonal."""
        flat = self.flatten()
        size = flat.shape[0] + abs(offset)
        matrix = self.full((size, size), 0, dtype=self.dtype, device=self.device)
        return matrix.diagonal_scatter(flat, offset)

    def fill_diagonal_(self, fill_value: int | float) -> Self:
        """One value onto the main diagonal of a matrix, in place.

        Raises `ShapeError` for another number of axes.
        """
        if self.ndim != 2:
            raise ShapeError(
                op="fill_diagonal_", shapes=(self.shape,), reason="a matrix has two axes"
            )
        count = min(self.shape)
        line = self.full((count,), fill_value, dtype=self.dtype, device=self.device)
        return self.assign(self.diagonal_scatter(line))

    # *** writes by index ***

    def index_put(self, indices: Sequence[Self], values: Self, accumulate: bool = False) -> Self:
        """Elements that index Tensors name replaced by `values` (the last one counts), or added to.

        The indices are those of the first axes. Raises `ShapeError` when values do not fit.
        """
        if not accumulate:
            copy = self.clone()
            copy[tuple(indices)] = values
            return copy
        count = len(indices)
        rest = self.shape[count:]
        flat = self._flat_index(list(range(count)), list(indices))
        # what is outside is marked by -1, which must not count from the end
        lead = math.prod(self.shape[:count])
        rows = (flat < 0).where(lead, flat).flatten()
        spread = values.cast(self.dtype)._expand_to((*flat.shape, *rest))
        source = spread.reshape((rows.shape[0], *rest))
        return self.reshape((lead, *rest)).index_add(0, rows, source).reshape(self.shape)

    def index_put_(self, indices: Sequence[Self], values: Self, accumulate: bool = False) -> Self:
        """`index_put` in place."""
        return self.assign(self.index_put(indices, values, accumulate))
