"""Elements moved along axes: rolled, seen through windows, rearranged by formula."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from tg_uop import UOp
from tg_uop.methods.windows import Window, slide
from tg_uop.plain import plain, plain_sequence

from tg_tensor.errors import ArgumentError
from tg_tensor.ops.arrange import ArrangeOps
from tg_tensor.ops.rearrange import rearrange


class TensorMovementOps(ArrangeOps):
    """The last of the movement methods; see `JoinOps`, `PadOps` and `ArrangeOps` for the others."""

    __slots__ = ()

    def roll(self, shifts: int | Sequence[int], dims: int | Sequence[int] | None = None) -> Self:
        """The elements moved along axes, those that leave come in at the other end."""
        if dims is None:
            return self.flatten().roll(shifts, 0).reshape(self.shape)
        amounts = (shifts,) if isinstance(shifts, UOp) else plain_sequence(shifts)
        axes = plain_sequence(dims)
        if len(amounts) != len(axes):
            raise ArgumentError(
                op="roll", argument="shifts", given=amounts, expected=f"one for each of {axes}"
            )
        value = self
        for amount, dim in zip(amounts, axes, strict=True):
            value = value._roll_axis(value._own_axis(dim), amount)
        return value

    def _roll_axis(self, axis: int, amount: int) -> Self:
        size = self.shape[axis]
        if isinstance(size, int) and size == 0:
            return self._itself()
        start = -amount % size
        if isinstance(start, int) and start == 0:
            return self._itself()
        twice = [2 if i == axis else 1 for i in range(self.ndim)]
        return self.repeat(twice)._part(axis, start, start + size)

    def unfold(self, dim: int, size: int, step: int) -> Self:
        """Windows of `size` along an axis, every `step`; their elements are the last axis.

        Raises `ArgumentError` for a negative size and a step below 1, `ShapeError` for a size
        larger than the axis.
        """
        size, step = plain(size), plain(step)
        if size < 0 or step < 1:
            raise ArgumentError(
                op="unfold",
                argument="size, step",
                given=(size, step),
                expected="0 or more, and 1 or more",
            )
        if not self.shape:
            return self.reshape((1,)).unfold(dim, size, step).reshape((size,))
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
