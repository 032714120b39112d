"""The kernel that sorts rows digit by digit, the lowest first (Knuth, The Art of Computer
Programming, volume 3, 5.2.5).

Each of four passes puts the keys of a row in the order of one byte of theirs, those with equal
bytes in the order of the pass before: four steps for a key however long the row.
"""

from __future__ import annotations

from tg_uop import UOp, dtypes

from tg_tensor.algorithms.loops import Loops, as_index

PASSES = 4
DIGITS = 256
"""One byte at a time: so many places that are written to at once have room in the caches."""
_LANES = 64


def shares_of(batch: int, count: int) -> int:
    """How many threads sort: with fewer keys a second one costs more than it saves."""
    return 2 if batch > 1 and batch * count >= 1 << 12 else 1


class RadixSortKernel:
    """Rows of int64 keys sorted by their 32 bits from bit `lowest` on, in a stable order."""

    __slots__ = ("lowest",)

    def __init__(self, lowest: int) -> None:
        self.lowest = lowest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RadixSortKernel) and other.lowest == self.lowest

    def __hash__(self) -> int:
        return hash((RadixSortKernel, self.lowest))

    def __call__(self, ordered: UOp, between: UOp, counts: UOp, total: UOp, keys: UOp) -> UOp:
        """The keys (batch, count) of each row in rising order, in `ordered`.

        `ordered` and `between` may have a row more than there are keys, so that threads get equally
        many: the last one is then sorted twice. `counts` (rows, 4, 256) says how many keys have
        each digit, and then where the next one goes; `total` (rows, 4) has running sums.
        """
        rows, count = ordered.shape
        batch = keys.shape[0]
        assert isinstance(rows, int), "sizes of kernels are integers"
        assert isinstance(count, int), "sizes of kernels are integers"
        assert isinstance(batch, int), "sizes of kernels are integers"
        loops = Loops()
        shares = shares_of(batch, count)
        share = loops.threads(shares) if shares > 1 else loops.loop(1)
        with share as thread, loops.loop(rows // shares) as rest:
            row = thread * (rows // shares) + rest
            given = row.minimum(batch - 1)
            with (
                loops.nest(PASSES, DIGITS // _LANES) as (place, part),
                loops.at_once((), _LANES) as (lane,),
            ):
                zero = UOp.const(dtypes.int32, 0)
                loops.write(counts, row, place, part * _LANES + lane, value=zero)
            with loops.loop(count) as index:
                for byte in range(PASSES):
                    digit = self._digit(loops.read(keys, given, index), byte)
                    so_far = loops.read(counts, row, byte, digit)
                    loops.write(counts, row, byte, digit, value=so_far + 1)
            _sum_up(loops, counts, total, row)
            memories = [keys, between, ordered, between, ordered]
            for byte in range(PASSES):
                source, target = memories[byte], memories[byte + 1]
                with loops.loop(count) as index:
                    key = loops.read(source, row if byte else given, index)
                    digit = self._digit(key, byte)
                    goes_to = as_index(loops.read(counts, row, byte, digit))
                    loops.write(target, row, goes_to, value=key)
                    key = loops.read(source, row if byte else given, index)
                    digit = self._digit(key, byte)
                    so_far = loops.read(counts, row, byte, digit)
                    loops.write(counts, row, byte, digit, value=so_far + 1)
        return loops.kernel("radix_sort")

    def _digit(self, key: UOp, byte: int) -> UOp:
        """A byte of the key; the highest one has the sign, and negative keys come first."""
        digit = (key >> (self.lowest + 8 * byte)) & (DIGITS - 1)
        digit = digit ^ (DIGITS // 2) if byte == PASSES - 1 else digit
        return as_index(digit.cast(dtypes.int32))


def _sum_up(loops: Loops, counts: UOp, total: UOp, row: UOp) -> None:
    """For each digit of a pass the number of keys with a smaller one."""
    with loops.loop(PASSES) as place:
        loops.write(total, row, place, value=UOp.const(dtypes.int32, 0))
        with loops.loop(DIGITS) as digit:
            here = loops.read(counts, row, place, digit)
            loops.write(total, row, place, value=loops.read(total, row, place) + here)
            here = loops.read(counts, row, place, digit)
            before = loops.read(total, row, place) - here
            loops.write(counts, row, place, digit, value=before)
