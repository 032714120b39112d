"""Reductions that need positions, and running ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Self, TypeVar

from tg_uop import Ops, UOp, dtypes
from tg_uop.dtype.promote import sum_acc_dtype, sum_result_dtype
from tg_uop.methods.windows import Window, slide

from tg_tensor.autograd.slopes import note_pull
from tg_tensor.ops.create import position_dtype
from tg_tensor.ops.scatter import ScatterOps

# Up to this length a running reduction is one kernel, which carries the result from one element to
# the next. A longer axis is cut into blocks of about its square root, which run side by side; where
# there are enough rows, those do.
_LONGEST_DIRECT = 256
_LONGEST_SIDE_BY_SIDE = 4096
_ENOUGH_ROWS = 16
# elements of a block in which each sums the exponentials of all before it
_EXPONENTIALS = 16


class TensorReduceOps(ScatterOps):
    """argmax and argmin, cumulative sums and their kin."""

    __slots__ = ()

    # *** positions ***

    def argmax(self, axis: int | None = None, keepdim: bool = False) -> Self:
        """The first position of the largest value (the first NaN where there is one).

        Without an axis the position in the flattened Tensor. Raises `ShapeError` for no elements.
        """
        if axis is None:
            found = self.flatten().argmax(0)
            return found.reshape((1,) * self.ndim) if keepdim else found
        place = self._axis(axis)
        if not self.shape:
            return self._of(self.ufix(0).uop.cast(dtypes.default_int))
        self._refuse_empty("argmax", place)
        matches = self.eq(self.max(place, keepdim=True))
        if self.dtype.is_float:
            matches = matches | self.isnan()
        count = self.shape[place]
        tail = (1,) * (self.ndim - 1 - place)
        distance = count - self._iota(count, self.device, dtypes.int32).reshape((count, *tail))
        first = count - matches.where(distance, 0).max(place, keepdim)
        return first.cast(position_dtype(count))

    def argmin(self, axis: int | None = None, keepdim: bool = False) -> Self:
        """The first position of the smallest value (the first NaN where there is one).

        Raises `ShapeError` for no elements.
        """
        if self.shape:
            self._refuse_empty("argmin", axis)
        return self._mirrored().argmax(axis, keepdim)

    # *** running reductions ***

    def cumsum(self, axis: int = 0) -> Self:
        """Each element the sum of all up to it. Number types are those of `sum`."""
        wide, result = sum_acc_dtype(self.dtype), sum_result_dtype(self.dtype)
        return self.cast(wide)._running(Ops.ADD, axis).cast(result)

    def cumprod(self, axis: int) -> Self:
        """Each element the product of all up to it. Number types are those of `prod`."""
        wide, result = sum_acc_dtype(self.dtype), sum_result_dtype(self.dtype)
        return self.cast(wide)._running(Ops.MUL, axis).cast(result)

    def cummax(self, axis: int = 0) -> tuple[Self, Self]:
        """Each element the largest of all up to it, and its last position.

        The gradient of a value is that of the element at its position.
        """
        values = self._running(Ops.MAX, axis)
        return self._noted_positions(values, axis)

    def cummin(self, axis: int = 0) -> tuple[Self, Self]:
        """Each element the smallest of all up to it, and its last position.

        The gradient of a value is that of the element at its position.
        """
        values = self._mirrored()._running(Ops.MAX, axis)._mirrored()
        return self._noted_positions(values, axis)

    def _noted_positions(self, values: Self, axis: int) -> tuple[Self, Self]:
        """Values and their positions, by which the gradient goes back to the elements."""
        positions = self._running_position(values, axis)
        kind = type(self)

        def pull(node: UOp, operands: Sequence[UOp], grad: UOp) -> tuple[UOp]:
            source = kind._of(operands[0])
            places = source._running_position(kind._of(node), axis)
            zeros = source.const_like(0)
            return (zeros.scatter_reduce(axis, places, kind._of(grad), "sum").uop,)

        is_known = all(isinstance(size, int) for size in self.shape)
        if self.dtype.is_float and self.shape and is_known:
            note_pull(values.uop, (self.uop,), pull)
        return values, positions

    def _running_position(self, values: Self, axis: int) -> Self:
        matches = self.eq(values) | self.isnan() if self.dtype.is_float else self.eq(values)
        if not self.shape:
            return matches.where(0, 0).cast(dtypes.default_int)
        place = self._axis(axis)
        tail = (1,) * (self.ndim - 1 - place)
        count = self.shape[place]
        position = self._iota(count, self.device, dtypes.int32).reshape((count, *tail))
        latest = matches.where(position, 0)._running(Ops.MAX, axis)
        return latest.cast(position_dtype(count))

    def _running(self, op: Ops, axis: int) -> Self:
        """Each element combined with all before it on an axis."""
        place = self._axis(axis)
        if not self.shape or self.numel() == 0:
            return self._itself()
        moved = self.transpose(place, -1)

        def inside(block: Self) -> Self:
            return block._running_direct(op)

        def combine(left: Self, right: Self) -> Self:
            return _combined(op, left, right)

        return _in_blocks(moved, inside, combine, _identity(op, self)).transpose(place, -1)

    def _running_direct(self, op: Ops) -> Self:
        """The last axis combined over windows that end at each element."""
        count = self.shape[-1]
        pairs = [(0, 0)] * (self.ndim - 1) + [(count - 1, 0)]
        padded = self._pad_value(pairs, _identity(op, self))
        windows = slide(padded, [Window(count)])
        return windows._combine(op, -1, False) if count > 1 else self

    def logcumsumexp(self, axis: int = 0) -> Self:
        """Each element the logarithm of the sum of exponentials up to it, without overflow."""
        x = self._as_float()
        place = x._axis(axis)
        if not x.shape or x.numel() == 0:
            return x._itself()
        moved = x.transpose(place, -1)

        def inside(block: Self) -> Self:
            count = block.shape[-1]
            pairs = [(0, 0)] * (block.ndim - 1) + [(count - 1, 0)]
            return slide(block._pad_value(pairs, -math.inf), [Window(count)]).logsumexp(-1)

        def combine(left: Self, right: Self) -> Self:
            return left.logaddexp(right)

        running = _in_blocks(moved, inside, combine, -math.inf, _EXPONENTIALS)
        return running.transpose(place, -1)


R = TypeVar("R", bound=TensorReduceOps)


def _combined(op: Ops, left: R, right: R) -> R:
    if op is Ops.MAX:
        return left.maximum(right)
    return left * right if op is Ops.MUL else left + right


def _identity(op: Ops, value: TensorReduceOps) -> float:
    """What changes nothing under `op`."""
    if op is Ops.MAX:
        return value.dtype.min
    return 1 if op is Ops.MUL else 0


def _in_blocks(
    value: R,
    inside: Callable[[R], R],
    combine: Callable[[R, R], R],
    identity: float,
    block: int | None = None,
) -> R:
    """A running reduction of the last axis: inside of blocks, then over the blocks before each.

    Blocks have `block` elements where `inside` looks at all elements before each; else it carries
    on from one to the next, and blocks are there for threads and lanes.
    """
    count = value.shape[-1]
    if isinstance(count, UOp):
        # as long as it can be, and of that as much as there is: nothing depends on what follows
        room = [(0, 0)] * (value.ndim - 1) + [(0, count.vmax - count)]
        longest = _in_blocks(value._pad_value(room, identity), inside, combine, identity, block)
        return longest._part(value.ndim - 1, 0, count)
    batch = value.shape[:-1]
    rows = math.prod(int(dim.vmax) if isinstance(dim, UOp) else dim for dim in batch)
    direct = _LONGEST_DIRECT if rows < _ENOUGH_ROWS else _LONGEST_SIDE_BY_SIDE
    if count <= (direct if block is None else block):
        return inside(value)
    keep = [(0, 0)] * len(batch)
    size = block or 1 << math.ceil(math.log2(count) / 2)
    blocks = -(-count // size)
    padded = value._pad_value([*keep, (0, blocks * size - count)], identity)
    within = inside(padded.reshape((*batch, blocks, size))).contiguous()
    totals = within._part(value.ndim, size - 1, size).reshape((*batch, blocks))
    before = totals._part(value.ndim - 1, 0, blocks - 1)._pad_value([*keep, (1, 0)], identity)
    offsets = _in_blocks(before, inside, combine, identity, block).unsqueeze(-1)
    whole = combine(offsets, within).reshape((*batch, blocks * size))
    return whole._part(value.ndim - 1, 0, count)
