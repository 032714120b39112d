"""gather and scatter along one axis, and what picks elements by value."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Self

import numpy as np
from tg_uop import UOp, dtypes
from tg_uop.dtype.promote import sum_acc_dtype
from tg_uop.errors import DTypeError, ShapeError
from tg_uop.methods.broadcast import broadcast_shape
from tg_uop.plain import plain

from tg_tensor.algorithms.calls import Gradient, run_kernel, with_gradient
from tg_tensor.algorithms.lookups import pays_in_turn
from tg_tensor.algorithms.scattering import (
    LARGEST,
    LAST,
    SUM,
    SUM_TO_ADD,
    ScatterKernel,
    shares_of,
)
from tg_tensor.errors import ArgumentError
from tg_tensor.ops.index import IndexOps


class ScatterOps(IndexOps):
    """Elements by position along one axis, reading and combining."""

    __slots__ = ()

    # *** gather and scatter along one axis ***

    def gather(self, dim: int, index: Self) -> Self:
        """out[i][j] = self[index[i][j]][j] for dim 0, and so on for other axes.

        Raises `ShapeError` when `index` has another number of axes, or is longer in another axis.
        """
        if not self.shape and not index.shape:
            return self.reshape((1,)).gather(dim, index.reshape((1,))).reshape(())
        axis = self._axis(dim)
        self._check_index_shape("gather", axis, index)
        source = self._cut_to(index.shape, axis).transpose(axis, -1)
        wanted = index._counted_from_front(self.shape[axis]).transpose(axis, -1)
        counter = self._iota(self.shape[axis], self.device, dtypes.int32).cast(wanted.dtype)
        hits = wanted.unsqueeze(-1).eq(counter)
        picked = hits.where(source.unsqueeze(-2), False)
        found = picked._only_one(picked.ndim - 1).transpose(axis, -1)
        if not self.dtype.is_float or not self._takes_turns(axis, index):
            return found
        kind: Any = type(self)
        rule = _gradient_of_gather(kind, axis)
        return self._of(with_gradient("gather", [found.uop], rule, [self.uop, index.uop])[0])

    def _check_index_shape(self, op: str, axis: int, index: Self) -> None:
        pairs = list(zip(index.shape, self.shape, strict=False))
        fits = index.ndim == self.ndim and all(
            _may_fit(small, large) for i, (small, large) in enumerate(pairs) if i != axis
        )
        if not fits:
            raise ShapeError(
                op=op,
                shapes=(self.shape, index.shape),
                reason=f"the index must have {self.ndim} axes, none longer except axis {axis}",
                hint="expand or shrink the index first",
            )
        if not index.dtype.is_int:
            raise DTypeError(what=op, dtypes=[index.dtype], reason="an index is an integer")

    def _cut_to(self, shape: tuple[int, ...], axis: int) -> Self:
        """The leading part as long as `shape` in all axes but one."""
        return self.shrink([None if i == axis else (0, size) for i, size in enumerate(shape)])

    def _scatter_parts(self, axis: int, index: Self, src: Self) -> tuple[Self, Self]:
        """Which source hits which element, and the sources: shapes (..., size, sources)."""
        wanted = index._counted_from_front(self.shape[axis]).transpose(axis, -1).unsqueeze(-2)
        counter = self._iota(self.shape[axis], self.device, dtypes.int32).cast(wanted.dtype)
        hits = counter.reshape((self.shape[axis], 1)).eq(wanted)
        sources = src.transpose(axis, -1).unsqueeze(-2)._expand_to(hits.shape)
        return hits, sources

    def _spread_back(self, axis: int, value: Self) -> Self:
        """A result over the part that an index covers, in this shape, the rest 0."""
        moved = value.transpose(axis, -1)
        pairs = zip(self.shape, moved.shape, strict=True)
        return moved._pad_zeros([(0, whole - part) for whole, part in pairs])

    def scatter(
        self, dim: int, index: Self, src: Self | int | float, reduce: str | None = None
    ) -> Self:
        """self with self[index[i][j]][j] = src[i][j] for dim 0, and so on for other axes.

        Of several sources for one element the last stays; `reduce` "add" or "multiply" combines
        them all with what is there. Raises `ShapeError` when the shapes do not fit.
        """
        axis = self._axis(dim)
        source = self._scatter_source("scatter", axis, index, src)
        if reduce == "add":
            return self.scatter_reduce(dim, index, source, "sum")
        if reduce == "multiply":
            return self.scatter_reduce(dim, index, source, "prod")
        if reduce is not None:
            expected = "None, 'add' or 'multiply'"
            raise ArgumentError(op="scatter", argument="reduce", given=reduce, expected=expected)
        if 0 in index.shape:
            return self._itself()
        if self._takes_turns(axis, index):
            return self._scatter_in_turn(axis, index, source)
        hits, sources = self._scatter_parts(axis, index, source)
        turn = self._iota(index.shape[axis], self.device, dtypes.int32) + 1
        last = hits.where(turn, 0).max(-1, keepdim=True)
        picked = last.eq(turn).where(sources, False)._only_one(sources.ndim - 1)
        written = self._spread_back(axis, (last > 0).squeeze(-1))
        return written.where(self._spread_back(axis, picked), self)

    def _scatter_source(self, op: str, axis: int, index: Self, src: Self | int | float) -> Self:
        self._check_index_shape(op, axis, index)
        src = plain(src)
        if isinstance(src, int | float):
            return self._of(self.ufix(src).cast(self.dtype).uop)._expand_to(index.shape)
        pairs = zip(index.shape, src.shape, strict=False)
        if src.ndim != index.ndim or any(small > large for small, large in pairs):
            raise ShapeError(
                op=op,
                shapes=(self.shape, index.shape, src.shape),
                reason="the source must be at least as long as the index in every axis",
            )
        if src.dtype is not self.dtype:
            raise DTypeError(
                what=op, dtypes=[self.dtype, src.dtype], reason="the dtypes differ", hint="cast src"
            )
        return src.shrink([(0, size) for size in index.shape])

    def scatter_reduce(
        self,
        dim: int,
        index: Self,
        src: Self | int | float,
        reduce: str,
        include_self: bool = True,
    ) -> Self:
        """All sources of an element combined: "sum", "prod", "mean", "amax" or "amin".

        What is there takes part unless `include_self` is False; elements without a source stay.
        Raises `ArgumentError` for another name.
        """
        axis = self._axis(dim)
        source = self._scatter_source("scatter_reduce", axis, index, src)
        if 0 in index.shape:
            return self._itself()
        if reduce in ("sum", "mean") and self._takes_turns(axis, index):
            return self._sum_in_turn(axis, index, source, reduce, include_self)
        if reduce in ("amax", "amin") and self._takes_turns(axis, index):
            return self._extreme_in_turn(axis, index, source, reduce, include_self)
        hits, sources = self._scatter_parts(axis, index, source)
        touched = self._spread_back(axis, hits.any(-1))
        if reduce in ("sum", "mean"):
            total = self._spread_back(axis, hits.where(sources, 0).sum(-1).cast(self.dtype))
            total = total + self if include_self else total
            if reduce == "mean":
                count = self._spread_back(axis, hits.sum(-1)) + int(include_self)
                mean = total.div(count, rounding_mode=None if self.dtype.is_float else "floor")
                return touched.where(mean.cast(self.dtype), self)
            return touched.where(total, self)
        if reduce == "prod":
            product = hits.where(sources, 1).prod(-1).cast(self.dtype)
            moved = self._spread_back(axis, product)
            return touched.where(moved * self if include_self else moved, self)
        if reduce in ("amax", "amin"):
            return self._scatter_extreme(axis, hits, sources, touched, reduce, include_self)
        expected = "'sum', 'prod', 'mean', 'amax' or 'amin'"
        raise ArgumentError(op="scatter_reduce", argument="reduce", given=reduce, expected=expected)

    def _takes_turns(self, axis: int, index: Self) -> bool:
        """Whether a kernel goes through the sources instead of looking at each for each element."""
        sizes = (*self.shape, *index.shape)
        if not all(isinstance(size, int) for size in sizes) or self.dtype.is_bool:
            return False
        pairs = index.numel() * self.shape[axis]
        return pays_in_turn(self.device, pairs, index.shape[axis])

    def _in_turn(self, kernel: ScatterKernel, axis: int, index: Self, source: Self) -> Self:
        """What a kernel leaves where the index points to, in the shape of the index elsewhere."""
        size, count = self.shape[axis], index.shape[axis]
        outer, inner = math.prod(index.shape[:axis]), math.prod(index.shape[axis + 1 :])
        wanted = index._counted_from_front(size).reshape((outer, count, inner))
        shares = shares_of(outer, count * inner)
        rooms = [((-(-outer // shares) * shares, size, inner), source.dtype)]
        flat = source.reshape((outer, count, inner))
        found = run_kernel(kernel, rooms, wanted.uop, flat.uop)[0]
        shape = (*index.shape[:axis], size, *index.shape[axis + 1 :])
        return self._of(found)._part(0, 0, outer).reshape(shape)

    def _sums_in_turn(
        self, axis: int, index: Self, source: Self, kernel: ScatterKernel = SUM_TO_ADD
    ) -> Self:
        """For each element the sum of its sources, of the dtype in which sums are taken."""
        given = source.cast(sum_acc_dtype(source.dtype))
        sums = self._in_turn(kernel, axis, index, given).uop
        kind: Any = type(self)
        rule = _gradient_of_sums(kind, axis)
        found = with_gradient("scatter_add", [sums], rule, [index.uop, given.uop])[0]
        return self._spread_back(axis, self._of(found).transpose(axis, -1))

    def _sum_in_turn(
        self, axis: int, index: Self, source: Self, reduce: str, include_self: bool
    ) -> Self:
        """`scatter_reduce` for sums and means."""
        sums = self._sums_in_turn(axis, index, source)
        total = sums.cast(self.dtype)
        if reduce == "sum" and include_self:
            return total + self
        count = self._sources_of(axis, index)
        total = total + self if include_self else total
        if reduce == "sum":
            return (count > 0).where(total, self)
        mode = None if self.dtype.is_float else "floor"
        mean = total.div(count + int(include_self), rounding_mode=mode)
        return (count > 0).where(mean.cast(self.dtype), self)

    def _sources_of(self, axis: int, index: Self) -> Self:
        """How many sources each element has."""
        ones = self._of(self.ufix(1).uop.cast(dtypes.int32))._expand_to(index.shape)
        hits = self._in_turn(SUM, axis, index, ones)
        return self._spread_back(axis, hits.transpose(axis, -1))

    def _extreme_in_turn(
        self, axis: int, index: Self, source: Self, reduce: str, include_self: bool
    ) -> Self:
        """`scatter_reduce` for the largest and the smallest."""
        if reduce == "amin":
            flipped, turned = self._mirrored(), source._mirrored()
            return flipped._extreme_in_turn(axis, index, turned, "amax", include_self)._mirrored()
        found = self._in_turn(LARGEST, axis, index, source).uop
        kind: Any = type(self)
        rule = _gradient_of_largest(kind, axis)
        found = with_gradient("scatter_max", [found], rule, [index.uop, source.uop])[0]
        largest = self._spread_back(axis, self._of(found).transpose(axis, -1))
        combined = largest.maximum(self) if include_self else largest
        return (self._sources_of(axis, index) > 0).where(combined, self)

    def _mirrored(self) -> Self:
        """In the opposite order: the negative of floats, the complement of integers."""
        return -self if self.dtype.is_float else ~self

    def _scatter_in_turn(self, axis: int, index: Self, source: Self) -> Self:
        """`scatter`: the turn of the last source is found first, and then what it brings."""
        line = [1] * index.ndim
        line[axis] = index.shape[axis]
        turn = self._iota(index.shape[axis], self.device, dtypes.int32) + 1
        last = self._in_turn(LAST, axis, index, turn.reshape(line)._expand_to(index.shape))
        picked = source.gather(axis, last - 1)
        written = self._spread_back(axis, (last > 0).transpose(axis, -1))
        return written.where(self._spread_back(axis, picked.transpose(axis, -1)), self)

    def _scatter_extreme(
        self, axis: int, hits: Self, sources: Self, touched: Self, reduce: str, include_self: bool
    ) -> Self:
        largest = reduce == "amax"
        nothing = self.dtype.min if largest else self.dtype.max
        candidates = hits.where(sources, nothing)
        found = candidates.max(-1) if largest else candidates.min(-1)
        moved = self._spread_back(axis, found)
        if not include_self:
            return touched.where(moved, self)
        return touched.where(moved.maximum(self) if largest else moved.minimum(self), self)

    # *** classes and masks ***

    def one_hot(self, num_classes: int) -> Self:
        """A last axis with 1 at the position that each element names, else 0.

        Raises `ArgumentError` for a negative number of classes and `DTypeError` for floats.
        """
        num_classes = plain(num_classes)
        if not isinstance(num_classes, int) or num_classes < 0:
            raise ArgumentError(
                op="one_hot", argument="num_classes", given=num_classes, expected="0 or more"
            )
        if not self.dtype.is_int:
            raise DTypeError(what="one_hot", dtypes=[self.dtype], reason="classes are integers")
        named = self._as_places()
        counter = self._iota(num_classes, self.device, dtypes.int32)
        return named.unsqueeze(-1).eq(counter.cast(named.dtype)).cast(dtypes.default_int)

    def nonzero(self) -> Self:
        """The positions that are not 0, one row each; needs the values now."""
        found = np.argwhere(self.ne(0).numpy() if not self.dtype.is_bool else self.numpy())
        is_long = max(self.shape, default=0) >= 1 << 31
        return self._lift(found.astype(np.int64 if is_long else np.int32), self.device)

    def masked_select(self, mask: Self) -> Self:
        """The elements where the mask holds, as a vector; needs the mask's values now."""
        shape = broadcast_shape(self.shape, mask.shape)
        return self._expand_to(shape)[mask._expand_to(shape)]


@cache
def _gradient_of_gather(kind: Any, axis: int) -> Gradient:
    """To each element flows the sum of what flows to its copies."""

    def gradient(flowing: UOp, node: UOp) -> list[UOp | None]:
        source, index = (kind._of(node) for node in node.call_args)
        sums = source._sums_in_turn(axis, index, kind._of(flowing), SUM)
        return [sums.cast(source.dtype).uop, None]

    return gradient


@cache
def _gradient_of_sums(kind: Any, axis: int) -> Gradient:
    """To each source flows what flows to its element; one object an axis, for equal graphs."""

    def gradient(flowing: UOp, node: UOp) -> list[UOp | None]:
        index, _ = node.call_args
        return [None, kind._of(flowing).gather(axis, kind._of(index)).uop]

    return gradient


@cache
def _gradient_of_largest(kind: Any, axis: int) -> Gradient:
    """What flows to an element is shared evenly by the sources that are as large as it."""

    def gradient(flowing: UOp, node: UOp) -> list[UOp | None]:
        index, source = (kind._of(node) for node in node.call_args)
        whole = kind._of(node.gettuple(0))
        is_largest = source.eq(whole.gather(axis, index))
        count = whole._in_turn(SUM, axis, index, is_largest.cast(dtypes.int32))
        share = kind._of(flowing) / count.maximum(1).cast(source.dtype)
        return [None, is_largest.where(share.gather(axis, index), 0).uop]

    return gradient


def _may_fit(small: int, large: int) -> bool:
    """Whether an axis is no longer than another; of sizes that are nodes the views will tell."""
    return isinstance(small, UOp) or isinstance(large, UOp) or small <= large
