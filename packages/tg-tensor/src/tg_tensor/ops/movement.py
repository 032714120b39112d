"""Movement methods that only Tensors have: joining, splitting, padding with values, rearranging."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from tg_uop import Ops, dtypes
from tg_uop.errors import ShapeError
from tg_uop.methods.windows import Window, slide

from tg_tensor.errors import ArgumentError
from tg_tensor.ops.elementwise import TensorElementwiseOps
from tg_tensor.ops.rearrange import rearrange

Pair = tuple[int, int]
Padding = int | Sequence[int] | Sequence[Pair | None]


class TensorMovementOps(TensorElementwiseOps):
    """Joining, splitting, padding."""

    __slots__ = ()

    # *** joining ***

    def cat(self, *args: Self, dim: int = 0) -> Self:
        """This and other Tensors one after the other along `dim`.

        Raises `ShapeError` when they differ in another axis.
        """
        tensors = [self, *args]
        axis = self._axis(dim)
        for other in args:
            if other.ndim != self.ndim or any(
                a != b
                for i, (a, b) in enumerate(zip(self.shape, other.shape, strict=False))
                if i != axis
            ):
                raise ShapeError(
                    op="cat",
                    shapes=[t.shape for t in tensors],
                    reason=f"the shapes differ in another axis than {axis}",
                    hint="pad or shrink the other axes first",
                )
        dtype = self._common_dtype(*args)
        sizes = [t.shape[axis] for t in tensors]
        total = sum(sizes)
        parts: list[Self] = []
        before = 0
        for tensor, size in zip(tensors, sizes, strict=True):
            pads = [
                (before, total - before - size) if i == axis else (0, 0) for i in range(self.ndim)
            ]
            parts.append(tensor.cast(dtype)._pad_zeros(pads))
            before += size
        # every element is 0 in all parts but one
        op = Ops.OR if dtype.is_bool else Ops.ADD
        while len(parts) > 1:
            joined = [a.alu(op, b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
            parts = [*joined, parts[-1]] if len(parts) % 2 else joined
        return parts[0]

    def stack(self, *args: Self, dim: int = 0) -> Self:
        """This and other Tensors of the same shape along a new axis."""
        axis = self._axis(dim, extra=1)
        return self.unsqueeze(axis).cat(*(t.unsqueeze(axis) for t in args), dim=axis)

    # *** splitting ***

    def split(self, sizes: int | Sequence[int], dim: int = 0) -> tuple[Self, ...]:
        """Parts along `dim` of these lengths, or all of one length but perhaps the last.

        Raises `ShapeError` when the lengths do not add up.
        """
        axis = self._axis(dim)
        total = self.shape[axis]
        if isinstance(sizes, int):
            if sizes <= 0:
                expected = "1 or more"
                raise ArgumentError(op="split", argument="sizes", given=sizes, expected=expected)
            sizes = [min(sizes, total - i) for i in range(0, max(total, 1), sizes)]
        if sum(sizes) != total:
            raise ShapeError(
                op="split",
                shapes=(self.shape,),
                reason=f"parts of {tuple(sizes)} do not add up to the {total} of axis {axis}",
            )
        parts = []
        start = 0
        for size in sizes:
            parts.append(self._part(axis, start, start + size))
            start += size
        return tuple(parts)

    def chunk(self, chunks: int, dim: int = 0) -> tuple[Self, ...]:
        """At most `chunks` parts of one length along `dim`, the last perhaps shorter."""
        if chunks <= 0:
            raise ArgumentError(op="chunk", argument="chunks", given=chunks, expected="1 or more")
        total = self.shape[self._axis(dim)]
        if total == 0:
            return (self,) * chunks
        return self.split(-(-total // chunks), dim)

    def _part(self, axis: int, start: int, stop: int) -> Self:
        return self.shrink([(start, stop) if i == axis else None for i in range(self.ndim)])

    # *** padding ***

    def pad(self, padding: Padding, mode: str = "constant", value: float = 0.0) -> Self:
        """Elements added around; negative amounts take elements away.

        `padding` is one pair an axis (None for none), or a flat list of pairs that starts with the
        last axis, as in PyTorch. Modes: constant, reflect, replicate, circular. Raises
        `ArgumentError` for another mode or a padding that does not fit.
        """
        pairs = _pairs(padding, self.ndim)
        negative = [(max(-before, 0), max(-after, 0)) for before, after in pairs]
        sizes = zip(negative, self.shape, strict=True)
        kept = self.shrink([(b, s - a) if (b or a) else None for (b, a), s in sizes])
        pairs = [(max(before, 0), max(after, 0)) for before, after in pairs]
        if mode == "constant":
            return kept._pad_value(pairs, value)
        if mode not in ("reflect", "replicate", "circular"):
            expected = "'constant', 'reflect', 'replicate' or 'circular'"
            raise ArgumentError(op="pad", argument="mode", given=mode, expected=expected)
        for axis, (before, after) in enumerate(pairs):
            if before or after:
                kept = kept._pad_axis(axis, before, after, mode)
        return kept

    def _pad_value(self, pairs: list[Pair], value: float) -> Self:
        padded = self._pad_zeros(pairs)
        if value == 0 or padded is self:
            return padded
        inside = self._of(self.ufix(True).uop.cast(dtypes.bool))._expand_to(self.shape)
        return inside._pad_zeros(pairs).where(padded, value)

    def _pad_axis(self, axis: int, before: int, after: int, mode: str) -> Self:
        """One axis continued from its own elements."""
        size = self.shape[axis]
        limit = {"reflect": size - 1, "circular": size, "replicate": before + after}[mode]
        if size == 0 or max(before, after) > limit:
            raise ArgumentError(
                op="pad",
                argument="padding",
                given=(before, after),
                expected=f"at most {limit} on axis {axis} in mode {mode!r}",
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

    # *** order ***

    def roll(self, shifts: int | Sequence[int], dims: int | Sequence[int] | None = None) -> Self:
        """The elements moved along axes, those that leave come in at the other end."""
        if dims is None:
            return self.flatten().roll(shifts, 0).reshape(self.shape)
        amounts = (shifts,) if isinstance(shifts, int) else tuple(shifts)
        axes = (dims,) if isinstance(dims, int) else tuple(dims)
        if len(amounts) != len(axes):
            raise ArgumentError(
                op="roll", argument="shifts", given=amounts, expected=f"one for each of {axes}"
            )
        value = self
        for amount, dim in zip(amounts, axes, strict=True):
            value = value._roll_axis(value._axis(dim), amount)
        return value

    def _roll_axis(self, axis: int, amount: int) -> Self:
        size = self.shape[axis]
        start = -amount % size if size else 0
        if start == 0:
            return self
        twice = [2 if i == axis else 1 for i in range(self.ndim)]
        return self.repeat(twice)._part(axis, start, start + size)

    def unfold(self, dim: int, size: int, step: int) -> Self:
        """Windows of `size` along an axis, every `step`; their elements are the last axis."""
        axis = self._axis(dim)
        order = [i for i in range(self.ndim) if i != axis]
        windows = slide(self.permute([*order, axis]), [Window(size, step)])
        back = [order.index(i) if i != axis else len(order) for i in range(self.ndim)]
        return windows.permute([*back, self.ndim])

    def rearrange(self, formula: str, **sizes: int) -> Self:
        """Axes split, ordered and merged as in "b (h d) t -> b h t d" (the notation of einops).

        Raises `ArgumentError` for a formula that does not fit the shape.
        """
        return rearrange(self, formula, sizes)


def _pairs(padding: Padding, ndim: int) -> list[Pair]:
    """One (before, after) an axis, from either spelling."""
    if isinstance(padding, int):
        return [(padding, padding)] * ndim
    given = list(padding)
    if all(isinstance(p, int) for p in given):
        flat: list[int] = given  # type: ignore[assignment]
        if len(flat) % 2 or len(flat) > 2 * ndim:
            raise ArgumentError(
                op="pad",
                argument="padding",
                given=tuple(flat),
                expected=f"pairs for at most {ndim} axes, the last axis first",
            )
        pairs = list(zip(flat[::2], flat[1::2], strict=True))[::-1]
        return [(0, 0)] * (ndim - len(pairs)) + pairs
    if len(given) != ndim:
        raise ArgumentError(
            op="pad", argument="padding", given=tuple(given), expected=f"{ndim} pairs, one an axis"
        )
    return [(0, 0) if p is None else (p[0], p[1]) for p in given]  # type: ignore[index]
