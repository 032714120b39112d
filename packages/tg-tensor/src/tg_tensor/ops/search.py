"""Where values are in others: binary search, distinct values, membership, positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from tg_uop import dtypes
from tg_uop.errors import ShapeError
from tg_uop.methods.broadcast import broadcast_shape
from tg_uop.plain import plain

from tg_tensor.errors import ArgumentError
from tg_tensor.ops.nan import NanOps

# up to this length every element is compared with every value
_LONGEST_COMPARED = 256
# its many overloads know no flags that are not literals
_unique: Callable[..., Any] = np.unique


class SearchOps(NanOps):
    """searchsorted, unique, isin, take and their kin."""

    __slots__ = ()

    # *** in order ***

    def searchsorted(
        self,
        values: Self | float,
        *,
        right: bool = False,
        side: str | None = None,
        sorter: Self | None = None,
    ) -> Self:
        """Where values would be put into the last axis of this, which is in order, to keep it so.

        Before equal elements, with `right` (or side "right") after them; `sorter` names an order
        (from `argsort`) in which this is sorted. Shape and leading axes of `values`; a vector is
        searched for values of any shape. NaN counts as largest. Raises `ShapeError` for other
        leading axes, `ArgumentError` for another side.
        """
        if side not in (None, "left", "right"):
            raise ArgumentError(
                op="searchsorted", argument="side", given=side, expected="'left' or 'right'"
            )
        if self.ndim == 0:
            raise ShapeError(
                op="searchsorted", shapes=(self.shape,), reason="a number has no order"
            )
        line = self if sorter is None else self.gather(-1, sorter)
        wanted = values if isinstance(values, SearchOps) else self._lift(values, self.device)
        common = line._common_dtype(wanted)
        values = plain(values)
        if isinstance(values, int | float):
            # a number takes its dtype from here, unless that holds no fractions
            common = line.dtype if line.dtype.is_float or isinstance(values, int) else common
        line, wanted = line.cast(common).detach(), wanted.cast(common).detach()
        if line.ndim > 1 and line.shape[:-1] != wanted.shape[:-1]:
            raise ShapeError(
                op="searchsorted",
                shapes=(self.shape, wanted.shape),
                reason="all axes but the last must agree, or this must be a vector",
            )
        after = right or side == "right"
        count = line.shape[-1]
        if count == 0 or wanted.numel() == 0:
            return wanted.ne(wanted).where(0, 0).cast(dtypes.default_int)
        flat = wanted.flatten() if line.ndim == 1 else wanted
        if count <= _LONGEST_COMPARED:
            found = line._counted_before(flat, after)
        else:
            found = line._halved(flat, after)
        return found.reshape(wanted.shape).cast(dtypes.default_int)

    def _comes_before(self, value: Self, after: bool) -> Self:
        """Whether an element stands before where `value` is put."""
        found = self <= value if after else self < value
        if not self.dtype.is_float:
            return found
        at_nan = value.ne(value) if after else value.ne(value) & self.eq(self)
        return found | at_nan

    def _counted_before(self, values: Self, after: bool) -> Self:
        return self.unsqueeze(-2)._comes_before(values.unsqueeze(-1), after).sum(-1)

    def _halved(self, values: Self, after: bool) -> Self:
        """Binary search: the largest steps first, as long as what they skip comes before."""
        count = self.shape[-1]
        position = values.ne(values).where(0, 0).cast(dtypes.int32)
        step = 1 << (count.bit_length() - 1)
        line = self.contiguous()
        while step:
            next_position = position + step
            place = next_position.minimum(count) - 1
            skipped = line.gather(-1, place)._comes_before(values, after)
            position = ((next_position <= count) & skipped).where(next_position, position)
            position = position.contiguous()
            step //= 2
        return position

    def bucketize(self, boundaries: Self | Sequence[float], *, right: bool = False) -> Self:
        """Between which boundaries, a rising vector, each element lies: how many are below it.

        With `right` a boundary that it is equal to counts as below. Raises `ShapeError` for
        boundaries that are no vector.
        """
        edges = boundaries if isinstance(boundaries, SearchOps) else self._lift(boundaries)
        if edges.ndim != 1:
            raise ShapeError(
                op="bucketize", shapes=(edges.shape,), reason="the boundaries are a vector"
            )
        return edges.searchsorted(self, right=right)

    def kthvalue(self, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Self, Self]:
        """The k-th smallest value of an axis (the first is 1), and where it was.

        Raises `ArgumentError` unless k is 1 to the length of the axis.
        """
        axis = self._axis(dim)
        if not self.shape:
            return self, self._of(self.ufix(0).uop.cast(dtypes.default_int))
        if not 1 <= k <= self.shape[axis]:
            expected = f"1 to {self.shape[axis]}"
            raise ArgumentError(op="kthvalue", argument="k", given=k, expected=expected)
        place = self.argsort(axis)._part(axis, k - 1, k)
        value = self.gather(axis, place)
        return (value, place) if keepdim else (value.squeeze(axis), place.squeeze(axis))

    def msort(self) -> Self:
        """The values in order along the first axis."""
        return self.sort(0)[0]

    # *** distinct values ***

    def unique(
        self,
        sorted: bool = True,
        return_inverse: bool = False,
        return_counts: bool = False,
        dim: int | None = None,
    ) -> Self | tuple[Self, ...]:
        """The distinct values, rising (always: `sorted` changes nothing); needs the values now.

        With `return_inverse` also where each element went, with `return_counts` how many each
        had; with `dim` the distinct parts along an axis. Each NaN is distinct.
        """
        found = _unique(
            self.numpy(),
            return_inverse=return_inverse,
            return_counts=return_counts,
            axis=None if dim is None else self._axis(dim),
            equal_nan=False,
        )
        shape = self.shape if dim is None else None
        return self._of_host(found, return_inverse, return_counts, shape)

    def unique_consecutive(
        self,
        return_inverse: bool = False,
        return_counts: bool = False,
        dim: int | None = None,
    ) -> Self | tuple[Self, ...]:
        """The values (with `dim` the parts along an axis) without repeats of the one before.

        Needs the values now; results as those of `unique`.
        """
        array = self.numpy()
        axis = 0 if dim is None else self._axis(dim)
        lines = array.reshape(-1) if dim is None else array
        count = lines.shape[axis]
        moved = np.moveaxis(lines, axis, 0).reshape(count, lines.size // max(count, 1))
        is_new = np.ones(count, bool)
        is_new[1:] = (moved[1:] != moved[:-1]).any(1)
        starts = np.flatnonzero(is_new)
        found: list[np.ndarray[Any, Any]] = [np.take(lines, starts, axis)]
        if return_inverse:
            found.append(np.cumsum(is_new) - 1)
        if return_counts:
            found.append(np.diff(np.append(starts, count)))
        shape = self.shape if dim is None else None
        result = tuple(found) if len(found) > 1 else found[0]
        return self._of_host(result, return_inverse, return_counts, shape)

    def _of_host(
        self,
        found: Any,
        return_inverse: bool,
        return_counts: bool,
        shape: tuple[int, ...] | None,
    ) -> Self | tuple[Self, ...]:
        arrays = found if isinstance(found, tuple) else (found,)
        tensors = [self._lift(arrays[0], self.device).cast(self.dtype)]
        for place, array in enumerate(arrays[1:]):
            positions = self._lift(array.astype(np.int32), self.device).cast(dtypes.default_int)
            is_inverse = return_inverse and place == 0
            if is_inverse:
                positions = positions.reshape(shape if shape is not None else (array.size,))
            tensors.append(positions)
        return tuple(tensors) if return_inverse or return_counts else tensors[0]

    def isin(self, test_elements: Self | Sequence[float] | float, *, invert: bool = False) -> Self:
        """Which elements are among others; with `invert` which are not. NaN is never."""
        others = (
            test_elements
            if isinstance(test_elements, SearchOps)
            else self._lift(test_elements, self.device)
        )
        flat = others.flatten()
        if flat.numel() == 0:
            found = self.ne(self) & False
        else:
            found = self.unsqueeze(-1).eq(flat).any(-1)
        return found.logical_not() if invert else found

    # *** positions ***

    def argwhere(self) -> Self:
        """See `nonzero`."""
        return self.nonzero()

    def flatnonzero(self) -> Self:
        """The positions in the flattened Tensor that are not 0; needs the values now."""
        return self.flatten().nonzero().reshape((-1,))

    def take(self, index: Self) -> Self:
        """The elements at positions in the flattened Tensor, in the shape of `index`.

        Negative positions count from the end.
        """
        return self.flatten().gather(0, index.flatten()).reshape(index.shape)

    def take_along_dim(self, indices: Self, dim: int | None = None) -> Self:
        """`gather` with axes other than `dim` broadcast; without `dim` as `take`."""
        if dim is None:
            return self.flatten().gather(0, indices.flatten())
        if self.ndim != indices.ndim:
            raise ShapeError(
                op="take_along_dim",
                shapes=(self.shape, indices.shape),
                reason="both must have equally many axes",
            )
        axis = self._axis(dim)
        mine = tuple(1 if i == axis else n for i, n in enumerate(self.shape))
        theirs = tuple(1 if i == axis else n for i, n in enumerate(indices.shape))
        shape = broadcast_shape(mine, theirs)
        source = tuple(self.shape[i] if i == axis else n for i, n in enumerate(shape))
        wanted = tuple(indices.shape[i] if i == axis else n for i, n in enumerate(shape))
        return self._expand_to(source).gather(axis, indices._expand_to(wanted))
