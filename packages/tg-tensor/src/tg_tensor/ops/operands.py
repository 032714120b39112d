"""Operands brought to one dtype and shape, and the arithmetic that depends on their dtypes.

Building is the hot path of eager-looking code, so `_binop` avoids work: operands that already
agree in dtype and shape get no node, and scalars stay constants without a shape.
"""

from __future__ import annotations

import math
from typing import Self

from tg_uop import DType, Ops, UOp, dtypes
from tg_uop.arguments import shown
from tg_uop.dtype.promote import least_upper_dtype, scalar_dtype
from tg_uop.errors import DTypeError, OperandError, ShapeError
from tg_uop.ir.ops import GroupOp

from tg_tensor.errors import ArgumentError, DataKindError
from tg_tensor.ops.company import in_company
from tg_tensor.ops.core import TensorCore
from tg_tensor.ops.numbers import beside_number, number

_COMPARISONS = GroupOp.Comparison
_BOOL = dtypes.bool


class OperandOps(TensorCore):
    """What stands beside a Tensor in an operation: another, a number, an array, a node."""

    __slots__ = ()

    def ufix(self, x: object) -> Self:
        """`x` as a Tensor that can stand beside this one; a number takes its dtype from here."""
        if isinstance(x, type(self)):
            return x
        if isinstance(x, int | float):
            return self._of(number(x, scalar_dtype(x, self.uop.dtype)))
        if isinstance(x, UOp):
            return self._of(x)
        try:
            return self._lift(x, self.uop._device)
        except DataKindError:
            raise OperandError(
                argument="an operand",
                given=shown(x),
                expected="a Tensor, a number, a list of numbers or an array",
                hint="leave the operation out where there is none" if x is None else "",
            ) from None

    # *** operands of one dtype and shape ***

    def _binop(self, op: Ops, other: object, reverse: bool) -> Self:
        if type(other) is int and op in _COMPARISONS:
            other = self._comparable(other)
        try:
            left, right = self._operands(other)
        except ShapeError as error:
            raise _of_op(error, op) from None
        except OperandError as error:
            error.call = f"{op.name} on shape {self.shape} of {self.dtype}"
            raise
        if reverse:
            left, right = right, left
        return self._of(UOp(op, _BOOL if op in _COMPARISONS else left.dtype, (left, right)))

    def _comparable(self, number_beside: int) -> Self | int:
        """A number as it is compared with this: by value, an infinity where no dtype has room."""
        dtype = self.uop.dtype
        if not dtype.is_int or dtype.min <= number_beside <= dtype.max:
            return number_beside
        if dtype is dtypes.uint64 or not dtypes.int64.min <= number_beside <= dtypes.int64.max:
            beyond = math.inf if number_beside > 0 else -math.inf
            return self._of(number(beyond, dtypes.float32))
        return self._of(number(number_beside, dtypes.int64))

    def _in_order(self, x: object, reverse: bool) -> tuple[Self, Self]:
        mine, theirs = self._operands(x)
        left = self if mine is self.uop else self._of(mine)
        right = x if isinstance(x, type(self)) and theirs is x.uop else self._of(theirs)
        return (right, left) if reverse else (left, right)

    def _operands(self, other: object) -> tuple[UOp, UOp]:
        """The nodes of this Tensor and `other`, brought to one dtype and shape."""
        mine = self.uop
        if not isinstance(other, TensorCore):
            if isinstance(other, int | float):
                return beside_number(mine, other)
            other = self.ufix(other)
        theirs = other.uop
        if mine._device != theirs._device:
            mine, theirs = in_company(mine, theirs)
        if mine.dtype is not theirs.dtype:
            mine, theirs = promoted(mine, theirs)
        if mine.shape != theirs.shape:
            mine, theirs = mine._spread(theirs)
        return mine, theirs

    def _pick(self, x: object, y: object) -> Self:
        condition = self if self.dtype.is_bool else self.ne(0)
        parts = in_company(condition.uop, *self._branches(x, y))
        return self._of(parts[0]._pick(*parts[1:]))

    def _branches(self, x: object, y: object) -> tuple[UOp, UOp]:
        if isinstance(x, int | float) and isinstance(y, int | float):
            dtype = least_upper_dtype(dtypes.from_py(x), dtypes.from_py(y))
            return number(x, dtype), number(y, dtype)
        if isinstance(x, int | float):
            right, left = beside_number(self.ufix(y).uop, x)
            return left, right
        left = self.ufix(x).uop
        if isinstance(y, int | float):
            return beside_number(left, y)
        return promoted(left, self.ufix(y).uop)

    def _common_dtype(self, *others: Self) -> DType:
        return least_upper_dtype(self.dtype, *(o.dtype for o in others))

    # *** arithmetic that depends on dtypes ***

    def sub(self, x: object, reverse: bool = False) -> Self:
        """The difference. Raises `DTypeError` between two bools."""
        left, right = self._operands(x)
        if left.dtype is _BOOL:
            raise DTypeError(
                what="SUB",
                dtypes=[left.dtype, right.dtype],
                reason="the difference of bools is not defined",
                hint="use ^ or logical_not, or cast to an integer first",
            )
        if reverse:
            left, right = right, left
        return self._of(UOp(Ops.SUB, left.dtype, (left, right)))

    def fdiv(self, x: object, reverse: bool = False) -> Self:
        """The quotient as a float."""
        left, right = self._operands(x)
        if not left.dtype.is_float:
            left, right = left.cast(dtypes.default_float), right.cast(dtypes.default_float)
        if reverse:
            left, right = right, left
        return self._of(UOp(Ops.FDIV, left.dtype, (left, right)))

    def div(self, x: object, reverse: bool = False, rounding_mode: str | None = None) -> Self:
        """The quotient: a float, or rounded as "trunc" or "floor" in the dtype of the operands."""
        if rounding_mode is None:
            return self.fdiv(x, reverse)
        if rounding_mode == "floor":
            return self.floordiv(x, reverse)
        if rounding_mode == "trunc":
            return self.idiv(x, reverse)
        raise ArgumentError(
            op="div",
            argument="rounding_mode",
            given=rounding_mode,
            expected="None, 'trunc' or 'floor'",
        )

    def idiv(self, x: object, reverse: bool = False) -> Self:
        """The quotient rounded toward zero; of integers by zero 0."""
        left, right = self._in_order(x, reverse)
        if left.dtype.is_float:
            return left.fdiv(right).trunc()
        return left.alu(Ops.IDIV, right)


def _of_op(error: ShapeError, op: Ops) -> ShapeError:
    """The same mistake, with the operation that it was made in."""
    return ShapeError(op=op.name, shapes=error.shapes, reason=error.reason, hint=error.hint)


def promoted(left: UOp, right: UOp) -> tuple[UOp, UOp]:
    """Two nodes in their common dtype.

    Raises `DTypeError` when there is none.
    """
    dtype = least_upper_dtype(left.dtype, right.dtype)
    return left.cast(dtype), right.cast(dtype)
