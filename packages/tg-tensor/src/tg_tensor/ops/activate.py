"""Activation functions that only Tensors have: shrinking, thresholds, gates, learned slopes."""

from __future__ import annotations

from typing import Self

from tg_uop.errors import ShapeError

from tg_tensor.errors import ArgumentError
from tg_tensor.ops.pairwise import PairwiseOps


class ActivateOps(PairwiseOps):
    """Activations by the names and defaults that PyTorch gives them."""

    __slots__ = ()

    def threshold(self, threshold: float, value: float) -> Self:
        """The value above the threshold, else `value`; NaN stays NaN."""
        return (self <= threshold).where(self._of(self.ufix(value).cast(self.dtype).uop), self)

    def hardshrink(self, lambd: float = 0.5) -> Self:
        """0 from -lambd to lambd, else the value."""
        return ((self >= -lambd) & (self <= lambd)).where(0, self)

    def softshrink(self, lambd: float = 0.5) -> Self:
        """0 from -lambd to lambd, else the value moved toward 0 by lambd.

        Raises `ArgumentError` for a negative lambd.
        """
        if lambd < 0:
            raise ArgumentError(
                op="softshrink", argument="lambd", given=lambd, expected="0 or more"
            )
        below = (self < -lambd).where(self + lambd, self * 0)
        return (self > lambd).where(self - lambd, below)

    def tanhshrink(self) -> Self:
        """x - tanh(x)."""
        return self - self.tanh()

    def softmin(self, axis: int = -1) -> Self:
        """The softmax of the negative."""
        return (-self).softmax(axis)

    def prelu(self, weight: Self) -> Self:
        """The value above 0, `weight` times it below: one weight, or one a channel (axis 1).

        Raises `ShapeError` for another number of weights.
        """
        channels = self.shape[1] if self.ndim > 1 else 1
        if weight.ndim > 1 or weight.numel() not in (1, channels):
            raise ShapeError(
                op="prelu",
                shapes=(self.shape, weight.shape),
                reason=f"the weight is one number, or one for each of {channels} channels",
            )
        shape = [1] * self.ndim
        if weight.numel() > 1:
            shape[1] = channels
        slope = weight.reshape(tuple(shape))
        return (self > 0).where(self, self * slope)

    def rrelu(self, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False) -> Self:
        """A leaky ReLU with the mean slope, or while training a random one for each element.

        Raises `ArgumentError` unless lower <= upper.
        """
        if lower > upper:
            raise ArgumentError(
                op="rrelu", argument="lower, upper", given=(lower, upper), expected="lower <= upper"
            )
        if not training:
            return self.leaky_relu((lower + upper) / 2)
        slope = self.rand_like() * (upper - lower) + lower
        return (self > 0).where(self, self * slope)

    def glu(self, dim: int = -1) -> Self:
        """The first half of an axis times the sigmoid of the second half.

        Raises `ShapeError` for an odd axis.
        """
        axis = self._axis(dim)
        size = self.shape[axis] if self.shape else 1
        if size % 2:
            raise ShapeError(
                op="glu", shapes=(self.shape,), reason=f"axis {axis} of {size} has no two halves"
            )
        keep: list[tuple[int, int] | None] = [None] * self.ndim
        keep[axis] = (0, size // 2)
        first = self.shrink(keep)
        keep[axis] = (size // 2, size)
        return first * self.shrink(keep).sigmoid()
