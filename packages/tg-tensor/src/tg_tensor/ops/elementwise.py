"""Elementwise methods that only Tensors have: conversions, comparisons with tolerance, mixes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

from tg_uop import Ops, UOp
from tg_uop.errors import BitsError

from tg_tensor.autograd.slopes import note_slopes
from tg_tensor.ops.convert import ConvertOps


class TensorElementwiseOps(ConvertOps):
    """Conversions and elementwise functions of several Tensors."""

    __slots__ = ()

    # *** comparison with tolerance ***

    def isclose(
        self,
        other: Self,
        rtol: float = 1e-05,
        atol: float = 1e-08,
        equal_nan: bool = False,
    ) -> Self:
        """Where |self - other| <= atol + rtol * |other|; equal infinities are close."""
        near = (self - other).abs() <= other.abs() * rtol + atol
        close = self.eq(other) | (self.isfinite() & other.isfinite() & near)
        return close | (self.isnan() & other.isnan()) if equal_nan else close

    def allclose(
        self,
        other: Self,
        rtol: float = 1e-05,
        atol: float = 1e-08,
        equal_nan: bool = False,
    ) -> Self:
        """Whether all elements are close, as a Tensor with one bool."""
        return self.isclose(other, rtol, atol, equal_nan).all()

    # *** mixes ***

    def logaddexp(self, other: Self) -> Self:
        """log(exp(self) + exp(other)), without overflow."""
        left, right = self._in_order(other, False)
        left, right = left._as_float(), right._as_float()
        largest = left.maximum(right)
        value = largest + (-left._ahead_of(right).abs()).exp()._log1p()
        kind = type(value)

        def slopes(node: UOp, operands: Sequence[UOp]) -> tuple[UOp, UOp]:
            one, two = operands
            ahead = kind._of(one)._ahead_of(kind._of(two))
            return ahead.sigmoid().uop, (-ahead).sigmoid().uop

        note_slopes(value.uop, (left.uop, right.uop), slopes)
        return value

    def _ahead_of(self, other: Self) -> Self:
        """The difference, 0 of equal infinities, which has no NaN then."""
        return (self.eq(other) & self.isinf()).where(0, self - other)

    def bitwise_not(self) -> Self:
        """All bits flipped; of a bool its opposite. Raises `DTypeError` for floats."""
        self._refuse_float("bitwise_not")
        return super().bitwise_not()

    def bitwise_and(self, x: object, reverse: bool = False) -> Self:
        """The bits set in both; of bools the logical and. Raises `DTypeError` for floats."""
        return self._integer_op(Ops.AND, x, reverse)

    def bitwise_or(self, x: object, reverse: bool = False) -> Self:
        """The bits set in either; of bools the logical or. Raises `DTypeError` for floats."""
        return self._integer_op(Ops.OR, x, reverse)

    def bitwise_xor(self, x: object, reverse: bool = False) -> Self:
        """The bits set in just one; of bools exclusive or. Raises `DTypeError` for floats."""
        return self._integer_op(Ops.XOR, x, reverse)

    def lshift(self, x: object, reverse: bool = False) -> Self:
        """The bits moved up by `x` places. Raises `DTypeError` for floats."""
        return self._integer_op(Ops.SHL, x, reverse)

    def rshift(self, x: object, reverse: bool = False) -> Self:
        """The bits moved down by `x` places, the sign kept. Raises `DTypeError` for floats."""
        return self._integer_op(Ops.SHR, x, reverse)

    def _integer_op(self, op: Ops, x: object, reverse: bool) -> Self:
        result = self._binop(op, x, reverse)
        result._refuse_float(op.name)
        return result

    def _refuse_float(self, what: str) -> None:
        if self.dtype.is_float:
            raise BitsError(
                what=what,
                dtypes=[self.dtype],
                reason="floats have no bits to work on",
                hint="cast to an integer, or bitcast to see the bits",
            )

    # *** in place, as Python's augmented assignment means it ***

    def __iadd__(self, x: object) -> Self:
        return self.assign(self + x)

    def __isub__(self, x: object) -> Self:
        return self.assign(self - x)

    def __imul__(self, x: object) -> Self:
        return self.assign(self * x)

    def __itruediv__(self, x: object) -> Self:
        return self.assign(self / x)

    def __ifloordiv__(self, x: object) -> Self:
        return self.assign(self // x)

    def __imod__(self, x: object) -> Self:
        return self.assign(self % x)

    def __ipow__(self, x: object) -> Self:
        return self.assign(self**x)

    def __iand__(self, x: object) -> Self:
        return self.assign(self & x)

    def __ior__(self, x: object) -> Self:
        return self.assign(self | x)

    def __ixor__(self, x: object) -> Self:
        return self.assign(self ^ x)

    def __ilshift__(self, x: object) -> Self:
        return self.assign(self << x)

    def __irshift__(self, x: object) -> Self:
        return self.assign(self >> x)

    # *** layers ***

    def sequential(self, ll: Sequence[Callable[[Self], Self]]) -> Self:
        """This value through a list of functions or layers, one after the other."""
        value = self
        for layer in ll:
            value = layer(value)
        return value
