"""Keccak, the permutation of SHA-3 (FIPS 202), on uint64 lanes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

from tg_uop import dtypes
from tg_uop.errors import DTypeError

from tg_tensor.errors import ArgumentError
from tg_tensor.ops.index_put import IndexPutOps

_LANES = 25
_ROUNDS = 24
# name to: bytes taken in a block, byte that starts the padding, bytes given out
_CONFIGS = {
    "sha3_224": (144, 0x06, 28),
    "sha3_256": (136, 0x06, 32),
    "sha3_384": (104, 0x06, 48),
    "sha3_512": (72, 0x06, 64),
    "shake_128": (168, 0x1F, 16),
    "shake_256": (136, 0x1F, 32),
}
_CHUNK = 4096


def _round_constants() -> Iterator[int]:
    """The constants of iota: bits of a linear feedback register (FIPS 202, 3.2.5)."""
    register = 1
    for _ in range(_ROUNDS):
        constant = 0
        for place in range(7):
            constant |= (register & 1) << ((1 << place) - 1)
            register <<= 1
            if register & 0x100:
                register ^= 0x171
        yield constant


def _rotations_and_places() -> tuple[list[int], list[int]]:
    """By how much each lane turns (rho), and from where each lane comes (pi)."""
    turns = [0] * _LANES
    x, y = 1, 0
    for step in range(_ROUNDS):
        turns[x + 5 * y] = (step + 1) * (step + 2) // 2 % 64
        x, y = y, (2 * x + 3 * y) % 5
    source = [0] * _LANES
    for y in range(5):
        for x in range(5):
            source[y + 5 * ((2 * x + 3 * y) % 5)] = x + 5 * y
    return turns, source


class HashOps(IndexPutOps):
    """Hashes of bytes, computed on the device."""

    __slots__ = ()

    def keccak(self, cfg: str = "sha3_256") -> Self:
        """The digest of the bytes in the last axis, as bytes.

        Raises `ArgumentError` for an unknown name, `DTypeError` unless the elements are uint8.
        """
        if cfg not in _CONFIGS:
            expected = f"one of {sorted(_CONFIGS)}"
            raise ArgumentError(op="keccak", argument="cfg", given=cfg, expected=expected)
        if self.dtype is not dtypes.uint8:
            raise DTypeError(what="keccak", dtypes=[self.dtype], reason="it takes bytes (uint8)")
        rate, suffix, length = _CONFIGS[cfg]
        *batch, count = self.shape
        blocks = count // rate + 1
        padded = self.reshape((-1, count))._with_suffix(blocks * rate, suffix)
        words = padded.reshape((-1, blocks, rate // 8, 8)).cast(dtypes.uint64)
        shifts = (self._iota(8, self.device, dtypes.int32) * 8).cast(dtypes.uint64)
        lanes = (words << shifts).sum(-1)._pad_zeros([(0, 0), (0, 0), (0, _LANES - rate // 8)])
        state = lanes[:, 0].contiguous()
        for block in range(blocks):
            if block:
                state = state ^ lanes[:, block]
            state = state._permuted()
        spread = (state.unsqueeze(-1) >> shifts) & 0xFF
        digest = spread.cast(dtypes.uint8).reshape((-1, _LANES * 8))
        return digest._part(1, 0, length).reshape((*batch, length))

    def _with_suffix(self, length: int, suffix: int) -> Self:
        """The padding of FIPS 202: a byte that says what it is, zeros, a last bit."""
        count = self.shape[1]
        place = self._iota(length, self.device, dtypes.int32)
        marks = place.eq(count).where(suffix, 0) | place.eq(length - 1).where(0x80, 0)
        return self._pad_zeros([(0, 0), (0, length - count)]) | marks.cast(dtypes.uint8)

    def _permuted(self) -> Self:
        """The 24 rounds on a state of 25 lanes."""
        turns, source = _rotations_and_places()
        turn = self._words(turns, self.device, dtypes.uint64)
        state = self
        for constant in _round_constants():
            square = state.reshape((-1, 5, 5))
            column = square[:, 0]
            for row in range(1, 5):
                column = column ^ square[:, row]
            column = column.contiguous()
            mixed = column.roll(1, 1) ^ column.roll(-1, 1)._turned_left(1)
            square = (square ^ mixed.unsqueeze(1)).reshape((-1, _LANES))
            moved = square._turned_left(turn).contiguous()[:, source].reshape((-1, 5, 5))
            chosen = moved ^ (moved.roll(-1, 2).bitwise_not() & moved.roll(-2, 2))
            first = self._iota(_LANES, self.device, dtypes.int32).eq(0)
            round_mark = first.where(self._of(self.ufix(constant).uop), 0)
            state = (chosen.reshape((-1, _LANES)) ^ round_mark).contiguous()
        return state

    def _turned_left(self, count: Self | int) -> Self:
        """All bits moved up, those that fall out come in below; by 0 to 63 places."""
        if isinstance(count, int):
            return (self << count) | (self >> (64 - count))
        # in two steps, because a shift by 64 places gives 0 or less
        return (self << count) | ((self >> (63 - count)) >> 1)

    def hash(self) -> Self:
        """16 bytes that stand for the bytes of this Tensor: a tree of SHAKE128 over 4096 bytes."""
        data = self.flatten().contiguous().bitcast(dtypes.uint8)
        while True:
            count = data.shape[0]
            chunks = max(-(-count // _CHUNK), 1)
            padded = data._pad_zeros([(0, chunks * _CHUNK - count)])
            data = padded.reshape((chunks, _CHUNK)).keccak("shake_128").flatten()
            if chunks == 1:
                return data
