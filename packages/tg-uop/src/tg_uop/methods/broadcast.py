"""Bring the operands of elementwise ops to one shape."""

from __future__ import annotations

from functools import lru_cache
from typing import Self

from tg_uop.errors import ArgumentTypeError, ShapeError
from tg_uop.ir.ops import Ops
from tg_uop.methods.elementwise import ElementwiseMixin, Operand
from tg_uop.methods.indexing import IndexingMixin

Shape = tuple[object, ...]


class BroadcastMixin(ElementwiseMixin, IndexingMixin):
    """Elementwise methods that broadcast as NumPy does.

    The host also provides `_shape`, None for values without one, and `_fits_any_shape`.
    """

    __slots__ = ()

    _shape: Shape | None

    @property
    def _fits_any_shape(self) -> bool:
        """Whether this is a number that may stand next to any shape without being expanded."""
        raise NotImplementedError

    def _binop(self, op: Ops, other: Operand, reverse: bool) -> Self:
        left, right = self._in_order(other, reverse)
        return left.alu(op, right)

    def _in_order(self, x: Operand, reverse: bool) -> tuple[Self, Self]:
        left, right = self._spread(self.ufix(x))
        return (right, left) if reverse else (left, right)

    def _spread(self, other: Self) -> tuple[Self, Self]:
        """This value and `other` in one shape; numbers stay as they are."""
        mine, theirs = self._shape, other._shape
        if mine == theirs or mine is None or theirs is None:
            return self, other
        if (not mine and self._fits_any_shape) or (not theirs and other._fits_any_shape):
            return self, other
        shape = broadcast_shape(mine, theirs)
        return self._expand_to(shape), other._expand_to(shape)

    def _pick(self, x: Operand, y: Operand) -> Self:
        if isinstance(x, type(self)):
            left, right = x, x.ufix(y)
        elif isinstance(y, type(self)):
            left, right = y.ufix(x), y
        else:
            raise ArgumentTypeError(
                call="where",
                argument="neither branch",
                given="more than a number",
                expected="at least one: it gives the dtype",
            )
        operands = [self, left, right]
        shapes = [o._shape for o in operands if o._shape is not None and not o._fits_any_shape]
        if len(set(shapes)) > 1:
            shape = broadcast_shape(*shapes)
            operands = [o if o._fits_any_shape else o._expand_to(shape) for o in operands]
        condition, left, right = operands
        return condition.alu(Ops.WHERE, left, right)


@lru_cache(maxsize=4096)
def broadcast_shape(*shapes: Shape) -> Shape:
    """The shape that values of all these shapes expand to.

    Raises `ShapeError` when two sizes of an axis differ and none of them is 1.
    """
    count = max(map(len, shapes))
    padded = [(1,) * (count - len(shape)) + shape for shape in shapes]
    result: list[object] = []
    for sizes in zip(*padded, strict=True):
        chosen: object = 1
        for size in sizes:
            if isinstance(size, int) and size == 1:
                continue
            if chosen != size and not (isinstance(chosen, int) and chosen == 1):
                raise ShapeError(
                    op="broadcast",
                    shapes=shapes,
                    reason=f"axis {len(result) - count} has sizes {chosen} and {size}",
                    hint="sizes must be equal or 1, counted from the last axis",
                )
            chosen = size
        result.append(chosen)
    return tuple(result)
