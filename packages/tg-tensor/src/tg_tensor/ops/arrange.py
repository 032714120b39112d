"""Axes and shapes by the names that PyTorch and NumPy have for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from tg_uop.errors import ShapeError
from tg_uop.methods.broadcast import broadcast_shape
from tg_uop.methods.movement import MovementMixin
from tg_uop.plain import plain_sequence

from tg_tensor.errors import ArgumentError
from tg_tensor.ops.pad import PadOps

Axes = int | Sequence[int]


class ArrangeOps(PadOps):
    """Other names for views: moved axes, tiles, turned planes, shapes taken from others."""

    __slots__ = ()

    # *** order of axes ***

    def movedim(self, source: Axes, destination: Axes) -> Self:
        """Axes moved to other places, the rest in order.

        Raises `ArgumentError` when there are not as many places as axes, or one is named twice.
        """
        here = [self._axis(a) for a in _listed(source)]
        there = [self._axis(a) for a in _listed(destination)]
        if len(here) != len(there) or len(set(here)) < len(here) or len(set(there)) < len(there):
            raise ArgumentError(
                op="movedim",
                argument="source, destination",
                given=(source, destination),
                expected="as many places as axes, each named once",
            )
        if not self.shape:
            return self._itself()
        order = [axis for axis in range(self.ndim) if axis not in here]
        for place, axis in sorted(zip(there, here, strict=True)):
            order.insert(place, axis)
        return self.permute(order)

    def moveaxis(self, source: Axes, destination: Axes) -> Self:
        """See `movedim`."""
        return self.movedim(source, destination)

    def swapaxes(self, axis0: int, axis1: int) -> Self:
        """Two axes exchanged."""
        return self.transpose(axis0, axis1)

    def swapdims(self, dim0: int, dim1: int) -> Self:
        """Two axes exchanged."""
        return self.transpose(dim0, dim1)

    def adjoint(self) -> Self:
        """The last two axes exchanged; values are real, so that is all."""
        return self.mT

    @property
    def mT(self) -> Self:
        """The last two axes exchanged. Raises `ShapeError` for fewer."""
        if self.ndim < 2:
            raise ShapeError(op="mT", shapes=(self.shape,), reason="a matrix has two axes")
        return self.transpose(-2, -1)

    def t(self) -> Self:
        """A matrix transposed; a vector or a number as it is. Raises `ShapeError` for more axes."""
        if self.ndim > 2:
            raise ShapeError(
                op="t",
                shapes=(self.shape,),
                reason="it has more than two axes",
                hint="use transpose(dim0, dim1), or mT for the last two",
            )
        return self._itself() if self.ndim < 2 else self.transpose(0, 1)

    # *** planes ***

    def fliplr(self) -> Self:
        """Axis 1 in reverse. Raises `ShapeError` for fewer than two axes."""
        if self.ndim < 2:
            raise ShapeError(op="fliplr", shapes=(self.shape,), reason="it needs two axes")
        return self.flip(1)

    def flipud(self) -> Self:
        """Axis 0 in reverse. Raises `ShapeError` for a number."""
        if self.ndim < 1:
            raise ShapeError(op="flipud", shapes=(self.shape,), reason="it needs an axis")
        return self.flip(0)

    def rot90(self, k: int = 1, dims: Sequence[int] = (0, 1)) -> Self:
        """The plane of two axes turned `k` times, from the first toward the second.

        Raises `ArgumentError` unless `dims` names two different axes.
        """
        axes = [self._axis(a) for a in dims]
        if len(axes) != 2 or axes[0] == axes[1]:
            raise ArgumentError(
                op="rot90", argument="dims", given=tuple(dims), expected="two different axes"
            )
        turns = k % 4
        if turns == 2:
            return self.flip(axes)
        if turns == 1:
            return self.flip(axes[1]).transpose(*axes)
        return self.flip(axes[0]).transpose(*axes) if turns == 3 else self._itself()

    # *** shape ***

    def tile(self, *dims: int | Sequence[int]) -> Self:
        """Copies side by side; fewer counts than axes stand for the last ones."""
        counts = _flat_ints(dims)
        return self.repeat((1,) * (self.ndim - len(counts)) + counts)

    def ravel(self) -> Self:
        """All elements as one axis."""
        return self.flatten()

    def expand_as(self, other: MovementMixin) -> Self:
        """Expanded to the shape of another Tensor."""
        return self.expand(other.shape)

    def view_as(self, other: MovementMixin) -> Self:
        """In the shape of another Tensor."""
        return self.reshape(other.shape)

    def reshape_as(self, other: MovementMixin) -> Self:
        """In the shape of another Tensor."""
        return self.reshape(other.shape)

    def broadcast_to(self, *shape: int | Sequence[int]) -> Self:
        """Axes of size 1 repeated, and axes added in front, up to a shape."""
        return self.expand(_flat_ints(shape))

    def broadcast_tensors(self, *args: Self) -> tuple[Self, ...]:
        """This and other Tensors, all expanded to their common shape."""
        tensors = (self, *args)
        shape = broadcast_shape(*(t.shape for t in tensors))
        return tuple(t.expand(shape) for t in tensors)

    def expand_dims(self, axis: int | Sequence[int]) -> Self:
        """Axes of size 1 at these places of the result (NumPy's name for `unsqueeze`)."""
        places = _listed(axis)
        count = self.ndim + len(places)
        wanted = sorted(p + count if p < 0 else p for p in places)
        if len(set(wanted)) < len(wanted) or any(not 0 <= p < count for p in wanted):
            raise ArgumentError(
                op="expand_dims",
                argument="axis",
                given=axis,
                expected=f"different places of the {count} axes of the result",
            )
        value = self.reshape(self.shape)
        for place in wanted:
            value = value.unsqueeze(place)
        return value


def _listed(axes: Axes) -> list[int]:
    return list(plain_sequence(axes))  # type: ignore[arg-type]


def _flat_ints(given: tuple[int | Sequence[int], ...]) -> tuple[int, ...]:
    """`f(2, 3)` and `f((2, 3))` mean the same."""
    return plain_sequence(given[0] if len(given) == 1 else given)  # type: ignore[return-value]
