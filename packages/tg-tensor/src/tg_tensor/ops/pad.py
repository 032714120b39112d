"""Padding: elements added around a value, of one number or continued from its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

from tg_uop import UOp, dtypes
from tg_uop.plain import plain, plain_sequence

from tg_tensor.errors import ArgumentError, UnknownModeError
from tg_tensor.ops.join import JoinOps
from tg_tensor.ops.numbers import number

Pair = tuple[int, int]
Padding = int | Sequence[int] | Sequence[Pair | None]

_MODES = ("constant", "reflect", "replicate", "circular")


class PadOps(JoinOps):
    """`pad` in all its modes."""

    __slots__ = ()

    def pad(self, padding: Padding, mode: str = "constant", value: float = 0.0) -> Self:
        """Elements added around; negative amounts take elements away first.

        `padding` is one pair an axis (None for none), or a flat list of pairs that starts with the
        last axis, as in PyTorch. "constant" adds `value` in this dtype, "reflect" mirrors at the
        first and last element, "replicate" repeats those, "circular" goes on at the other end.
        Raises `ArgumentError` for another mode or a padding that does not fit.
        """
        if mode not in _MODES:
            expected = f"one of {_MODES}"
            raise UnknownModeError(op="pad", argument="mode", given=mode, expected=expected)
        pairs = _pairs(padding, self.ndim)
        if any(isinstance(amount, UOp) for pair in pairs for amount in pair):
            return self._pad_value(pairs, value)
        kept = self._without_negative(pairs)
        pairs = [(max(before, 0), max(after, 0)) for before, after in pairs]
        if mode == "constant":
            return kept._pad_value(pairs, value)
        for axis, (before, after) in enumerate(pairs):
            if before or after:
                kept = kept._pad_axis(axis, before, after, mode)
        return kept

    def _without_negative(self, pairs: list[Pair]) -> Self:
        """The elements that negative amounts leave."""
        bounds: list[Pair | None] = []
        for size, (before, after) in zip(self.shape, pairs, strict=True):
            start, stop = max(-before, 0), size - max(-after, 0)
            if start > stop:
                raise ArgumentError(
                    op="pad",
                    argument="padding",
                    given=(before, after),
                    expected=f"no more taken away than the {size} elements of the axis",
                )
            bounds.append(None if (start, stop) == (0, size) else (start, stop))
        return self.shrink(bounds)

    def _pad_value(self, pairs: list[Pair], value: float) -> Self:
        padded = self._pad_zeros(pairs)
        if padded is self:
            return self._itself()
        if value == 0:
            return padded
        if not self.dtype.is_float and not math.isfinite(value):
            raise ArgumentError(
                op="pad", argument="value", given=value, expected=f"a number that {self.dtype} has"
            )
        inside = self._of(self.ufix(True).uop.cast(dtypes.bool))._expand_to(self.shape)
        return inside._pad_zeros(pairs).where(padded, self._of(number(value, self.dtype)))

    def _pad_axis(self, axis: int, before: int, after: int, mode: str) -> Self:
        """One axis continued from its own elements."""
        size = self.shape[axis]
        limit = {"reflect": size - 1, "circular": size, "replicate": before + after}[mode]
        if size == 0 or max(before, after) > limit:
            raise ArgumentError(
                op="pad",
                argument="padding",
                given=(before, after),
                expected=f"at most {max(limit, 0)} on axis {axis} in mode {mode!r}",
            )
        if mode == "replicate":
            first = self._part(axis, 0, 1)._repeat_axis(axis, before)
            last = self._part(axis, size - 1, size)._repeat_axis(axis, after)
        elif mode == "circular":
            first = self._part(axis, size - before, size)
            last = self._part(axis, 0, after)
        else:
            first = self._part(axis, 1, before + 1).flip(axis)
            last = self._part(axis, size - 1 - after, size - 1).flip(axis)
        parts = [part for part in (first, self, last) if part.shape[axis]]
        return parts[0].cat(*parts[1:], dim=axis)

    def _repeat_axis(self, axis: int, count: int) -> Self:
        return self.expand([count if i == axis else size for i, size in enumerate(self.shape)])


def _pairs(padding: Padding, ndim: int) -> list[Pair]:
    """One (before, after) an axis, from either spelling."""
    padding = plain(padding)
    if isinstance(padding, int):
        return [(padding, padding)] * ndim
    given = [plain_sequence(p) if isinstance(p, tuple | list) else plain(p) for p in padding]
    if all(isinstance(p, int | UOp) for p in given):
        return _flat_pairs(given, ndim)  # type: ignore[arg-type]
    pairs = [(0, 0) if p is None else p for p in given]
    if len(pairs) != ndim or not all(_is_pair(p) for p in pairs):
        raise ArgumentError(
            op="pad",
            argument="padding",
            given=tuple(given),
            expected=f"{ndim} pairs of whole numbers, one an axis",
        )
    return [(p[0], p[1]) for p in pairs]  # type: ignore[index]


def _flat_pairs(flat: list[int], ndim: int) -> list[Pair]:
    """Pairs from a flat list that starts with the last axis."""
    if len(flat) % 2 or len(flat) > 2 * ndim:
        raise ArgumentError(
            op="pad",
            argument="padding",
            given=tuple(flat),
            expected=f"pairs for at most {ndim} axes, the last axis first",
        )
    pairs = list(zip(flat[::2], flat[1::2], strict=True))[::-1]
    return [(0, 0)] * (ndim - len(pairs)) + pairs


def _is_pair(given: object) -> bool:
    if not isinstance(given, tuple | list) or len(given) != 2:
        return False
    return all(isinstance(amount, int | UOp) for amount in given)
