"""Sorting: short axes by rank, long ones by digits on a processor, elsewhere by a bitonic network
(Batcher, 1968).

A key and its position are packed into one 64-bit integer, so all keys differ and any network sorts
stably; a 64-bit key is sorted by its low and then by its high half.
"""

from __future__ import annotations

import math
from typing import Self

from tg_uop import UOp, dtypes

from tg_tensor.algorithms.calls import run_kernel
from tg_tensor.algorithms.radix import DIGITS, PASSES, RadixSortKernel, shares_of
from tg_tensor.errors import ArgumentError
from tg_tensor.ops.pool import PoolOps

_LONGEST_BY_RANK = 128
_POSITION_BITS = 31
# positions rise already, so that a stable sort need not look at them
_BY_DIGITS = RadixSortKernel(_POSITION_BITS)
# of so many values the first ones are found faster by sorting parts
_LONG_FOR_FIRST = 256
# for so many times fewer values than there are, a sort of parts pays
_FEW = 16


class SortOps(PoolOps):
    """sort, argsort, topk, and what is drawn by sorting."""

    __slots__ = ()

    def sort(
        self, dim: int = -1, descending: bool = False, stable: bool = True
    ) -> tuple[Self, Self]:
        """The values of an axis in order, and where they were; equal values keep their order,
        whatever `stable` says.

        NaN counts as largest.
        """
        order = self.argsort(dim, descending)
        if not self.shape:
            return self._itself(), order
        return self.gather(dim, order), order

    def argsort(self, dim: int = -1, descending: bool = False, stable: bool = True) -> Self:
        """The positions of the values of an axis in order; see `sort`."""
        axis = self._axis(dim)
        if not self.shape:
            return self._of(self.ufix(0).uop.cast(dtypes.default_int))
        size = self.shape[axis]
        if isinstance(size, UOp):
            return self._argsort_symbolic(axis, size, descending)
        if size <= 1:
            return self.eq(self).where(0, 0).cast(dtypes.default_int)
        moved = self.detach().transpose(axis, -1)
        keys = moved._sort_keys()
        if descending:
            keys = keys.bitwise_not()
        if keys.dtype.itemsize <= 4:
            order = keys._order()
        else:
            low = (keys & 0xFFFFFFFF) - (1 << 31)
            first = low._order()
            second = (keys >> 32).gather(-1, first)._order()
            order = first.gather(-1, second)
        return order.cast(dtypes.default_int).transpose(axis, -1)

    def _argsort_symbolic(self, axis: int, size: UOp, descending: bool) -> Self:
        """The order of an axis whose size depends on variables: what fills it up comes last."""
        room = [(0, size.vmax - size if i == axis else 0) for i in range(self.ndim)]
        keys = self.detach()._sort_keys()
        keys = keys.bitwise_not() if descending else keys
        filled = keys._pad_value(room, int(keys.dtype.max))  # type: ignore[arg-type]
        longest = filled.argsort(axis)
        return longest._part(axis, 0, size)  # type: ignore[arg-type]

    def _sort_keys(self) -> Self:
        """Signed integers in the same order: int32, or int64 for 64-bit values."""
        if self.dtype.is_bool or (self.dtype.is_int and self.dtype.itemsize < 4):
            return self.cast(dtypes.int32)
        if self.dtype.is_int:
            signed = dtypes.int32 if self.dtype.itemsize == 4 else dtypes.int64
            if not self.dtype.is_unsigned:
                return self
            top = 1 << (self.dtype.bitsize - 1)
            return self.bitwise_xor(top).bitcast(signed)
        value = self if self.dtype.itemsize >= 4 else self.cast(dtypes.float32)
        signed = dtypes.int32 if value.dtype.itemsize == 4 else dtypes.int64
        # minus zero equals zero; the bits of a negative float count downwards
        bits = value.eq(0).where(0.0, value).bitcast(signed)
        ordered = (bits < 0).where(bits ^ int(signed.max), bits)
        return value.isnan().where(int(signed.max), ordered)

    def _order(self) -> Self:
        """The positions of the last axis in the order of its keys, which are below 2**32 apart."""
        count = self.shape[-1]
        position = self._iota(count, self.device, dtypes.int64)
        packed = (self.cast(dtypes.int64) << _POSITION_BITS) + position
        if count <= _LONGEST_BY_RANK:
            return packed._order_by_rank()
        on_processor = packed._is_on_processor()
        ordered = packed._sorted_by_digits() if on_processor else packed._sorted_by_network()
        return (ordered & ((1 << _POSITION_BITS) - 1)).cast(dtypes.int32)

    def _order_by_rank(self) -> Self:
        """An element's place is the number of smaller ones."""
        count = self.shape[-1]
        keys = self.contiguous()
        rank = (keys.unsqueeze(-2) < keys.unsqueeze(-1)).sum(-1).contiguous()
        place = self._iota(count, self.device, dtypes.int32).unsqueeze(-1)
        hits = place.eq(rank.unsqueeze(-2))
        position = self._iota(count, self.device, dtypes.int32)
        found = hits.where(position, 0)
        return found._only_one(found.ndim - 1)

    def _is_on_processor(self) -> bool:
        """Whether one thread is fast here, and all sizes are known."""
        known = all(isinstance(size, int) for size in self.shape)
        return known and isinstance(self.device, str) and self.device.split(":")[0] == "CPU"

    def _sorted_by_digits(self) -> Self:
        """The last axis of packed keys sorted by one kernel."""
        count = self.shape[-1]
        batch = math.prod(self.shape[:-1])
        shares = shares_of(batch, count)
        rows = -(-batch // shares) * shares
        rooms = [
            ((rows, count), self.dtype),
            ((rows, count), self.dtype),
            ((rows, PASSES, DIGITS), dtypes.int32),
            ((rows, PASSES), dtypes.int32),
        ]
        ordered = run_kernel(_BY_DIGITS, rooms, self.reshape((batch, count)).uop)[0]
        return self._of(ordered)._part(0, 0, batch).reshape(self.shape)

    def _sorted_by_network(self) -> Self:
        """The last axis sorted: each stage compares disjoint pairs."""
        count = self.shape[-1]
        batch = self.shape[:-1]
        width = 1 << math.ceil(math.log2(count))
        pairs = [(0, 0)] * len(batch) + [(0, width - count)]
        keys = self._pad_value(pairs, int(dtypes.int64.max)).contiguous()
        block = 2
        while block <= width:
            half = block // 2
            # mirrored pairs make one rising run of two
            runs = keys.reshape((*batch, width // block, 2, half))
            low, high = runs._halves()
            high = high.flip(-1)
            keys = low.minimum(high)._joined_runs(low.maximum(high).flip(-1), batch, width)
            step = half // 2
            while step:
                low, high = keys.reshape((*batch, width // (2 * step), 2, step))._halves()
                keys = low.minimum(high)._joined_runs(low.maximum(high), batch, width)
                step //= 2
            block *= 2
        return keys._part(len(batch), 0, count)

    def _halves(self) -> tuple[Self, Self]:
        axis = self.ndim - 2
        return self._part(axis, 0, 1), self._part(axis, 1, 2)

    def _joined_runs(self, high: Self, batch: tuple[int, ...], width: int) -> Self:
        return self.cat(high, dim=-2).reshape((*batch, width)).contiguous()

    def topk(
        self,
        k: int,
        dim: int = -1,
        largest: bool = True,
        sorted_: bool = True,
        *,
        sorted: bool = True,
    ) -> tuple[Self, Self]:
        """The k largest (or smallest) values of an axis in order, and where they were.

        They are in order whatever `sorted` says. Raises `ArgumentError` when the axis is shorter
        than k.
        """
        axis = self._axis(dim)
        if not self.shape:
            values, places = self.reshape((1,)).topk(k, 0, largest)
            return values.reshape(()), places.reshape(())
        size = self.shape[axis]
        if not 0 <= k <= size:
            raise ArgumentError(op="topk", argument="k", given=k, expected=f"0 to {size}")
        order = self._first_places(axis, k, largest)
        return self.gather(axis, order), order

    def _first_places(self, axis: int, k: int, largest: bool) -> Self:
        """The positions of the first k values of an axis in order."""
        size = self.shape[axis]
        few = isinstance(size, int) and 0 < k * _FEW <= size and size > _LONG_FOR_FIRST
        if not few or not isinstance(self.device, str) or self.dtype.itemsize > 4:
            return self.argsort(axis, descending=largest)._part(axis, 0, k)
        keys = self.detach().transpose(axis, -1)._sort_keys()
        if largest:
            keys = keys.bitwise_not()
        return keys._least_in_blocks(k).cast(dtypes.default_int).transpose(axis, -1)

    def _least_in_blocks(self, k: int) -> Self:
        """The positions of the k least keys of the last axis in order, equal ones by position.

        They lie in those k blocks that have the least minima: each of these has one of its own, and
        what lies elsewhere is not below any of them. So only minima and these blocks are sorted.
        """
        *batch, count = self.shape
        width = max(2, math.isqrt(count // k))
        blocks = -(-count // width)
        room = [(0, 0)] * len(batch) + [(0, blocks * width - count)]
        parts = self._pad_value(room, int(self.dtype.max)).reshape((*batch, blocks, width))
        chosen = parts.min(-1).contiguous()._order()._part(len(batch), 0, k)
        # in the order of positions, so that equal keys stay in it
        chosen = chosen.sort()[0].unsqueeze(-1)
        inside = self._iota(width, self.device, dtypes.int32)
        places = (chosen * width + inside).reshape((*batch, k * width)).contiguous()
        keys = parts.reshape((*batch, blocks * width)).gather(-1, places).contiguous()
        return places.gather(-1, keys._order()._part(len(batch), 0, k))

    # *** drawing ***

    @classmethod
    def randperm(
        cls,
        n: int,
        device: str | None = None,
        dtype: object = dtypes.int32,
        **kwargs: object,
    ) -> Self:
        """The numbers 0 to n - 1 in random order."""
        bits = cls._draw((n,), device) >> 1
        return bits.cast(dtypes.int64).argsort().cast(dtype)  # type: ignore[arg-type]

    def multinomial(self, num_samples: int = 1, replacement: bool = False) -> Self:
        """Positions drawn with probabilities in proportion to the values of the last axis.

        Raises `ArgumentError` for more samples than there are values, without replacement.
        """
        if not 1 <= self.ndim <= 2 or num_samples <= 0:
            given = (self.shape, num_samples)
            expected = "one or two axes, and one or more samples"
            raise ArgumentError(op="multinomial", argument="self", given=given, expected=expected)
        if num_samples == 1 or replacement:
            return self._draw_with_replacement(num_samples)
        count = self.shape[-1]
        if num_samples > count:
            expected = f"at most {count}, or replacement"
            raise ArgumentError(
                op="multinomial", argument="num_samples", given=num_samples, expected=expected
            )
        # the largest of u^(1 / weight) are drawn in order (Efraimidis and Spirakis, 2006)
        uniform = self.rand(self.shape, device=self.device, dtype=dtypes.float32)
        keys = (1 - uniform).log() / self.cast(dtypes.float32)
        weightless = self.eq(0)
        return weightless.where(-math.inf, keys).topk(num_samples)[1]

    def _draw_with_replacement(self, num_samples: int) -> Self:
        weights = self.reshape((-1, self.shape[-1])).cast(dtypes.float32)
        upto = weights.cumsum(1)
        total = upto._part(1, self.shape[-1] - 1, self.shape[-1])
        chance = self.rand(weights.shape[0], num_samples, device=self.device, dtype=dtypes.float32)
        below = (upto.unsqueeze(1) <= (chance * total).unsqueeze(2)).sum(2)
        # rounding may put the chance at the very end: the last value with any weight then
        last = weights.ne(0).where(self._iota(self.shape[-1], self.device, dtypes.int32), 0)
        drawn = below.minimum(last.max(1, keepdim=True)).cast(dtypes.default_int)
        return drawn if self.ndim == 2 else drawn.reshape((num_samples,))
