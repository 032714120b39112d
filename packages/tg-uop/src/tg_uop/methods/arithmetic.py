"""Arithmetic, comparison and bit operators in terms of `alu` and a few other hooks."""

from __future__ import annotations

from typing import Self

from tg_uop.dtype.dtype import DType, dtypes
from tg_uop.errors import ArgumentTypeError
from tg_uop.ir.ops import Ops

Operand = object
"""A value of the host's class, or a Python scalar that takes its dtype from the other operand."""


class ArithmeticMixin:
    """Operators of a host that has a few hooks.

    The host provides `alu`, `ufix`, `const_like`, `cast`, `detach` and `dtype`. A host that brings
    operands to one dtype and shape (Tensor) overrides `_binop` and `_pick` to do so.
    """

    __slots__ = ()

    def _itself(self) -> Self:
        """This value, where an operation changes nothing."""
        return self

    # *** hooks ***

    def alu(self, op: Ops, *others: Self) -> Self:
        """This value and `others` under `op`."""
        raise NotImplementedError

    def ufix(self, value: Operand) -> Self:
        """`value` as something that can stand beside this one."""
        raise NotImplementedError

    def const_like(self, value: object) -> Self:
        """A constant of this value's dtype and shape."""
        raise NotImplementedError

    def detach(self) -> Self:
        """This value, through which no gradient flows."""
        raise NotImplementedError

    def _binop(self, op: Ops, other: Operand, reverse: bool) -> Self:
        right = self.ufix(other)
        return right.alu(op, self) if reverse else self.alu(op, right)

    def _pick(self, x: Operand, y: Operand) -> Self:
        """WHERE with this condition: at least one branch is of the host's class."""
        if isinstance(x, type(self)):
            return self.alu(Ops.WHERE, x, x.ufix(y))
        if isinstance(y, type(self)):
            return self.alu(Ops.WHERE, y.ufix(x), y)
        raise ArgumentTypeError(
            call="where",
            argument="neither branch",
            given="more than a number",
            expected="at least one: it gives the dtype",
        )

    def _number_type(self) -> DType:
        """The dtype; a pattern, which has none of its own, counts as an integer."""
        found = getattr(self, "dtype", None)
        return found if isinstance(found, DType) else dtypes.weakint

    def _never_negative(self) -> bool:
        """Whether this value is known not to be below 0."""
        dtype = self._number_type()
        if dtype.is_unsigned or dtype.is_bool:
            return True
        lowest = getattr(self, "vmin", None)
        return isinstance(lowest, int | float) and lowest >= 0

    # *** plus, minus, times ***

    def add(self, x: Operand, reverse: bool = False) -> Self:
        """The sum; of bools the logical or."""
        return self._binop(Ops.ADD, x, reverse)

    def mul(self, x: Operand, reverse: bool = False) -> Self:
        """The product."""
        return self._binop(Ops.MUL, x, reverse)

    def sub(self, x: Operand, reverse: bool = False) -> Self:
        """The difference."""
        return self._binop(Ops.SUB, x, reverse)

    def neg(self) -> Self:
        """The negative; of a bool its opposite."""
        return self.logical_not() if self._number_type().is_bool else self.alu(Ops.NEG)

    def __add__(self, x: Operand) -> Self:
        return self._binop(Ops.ADD, x, False)

    def __radd__(self, x: Operand) -> Self:
        return self._binop(Ops.ADD, x, True)

    def __mul__(self, x: Operand) -> Self:
        return self._binop(Ops.MUL, x, False)

    def __rmul__(self, x: Operand) -> Self:
        return self._binop(Ops.MUL, x, True)

    def __sub__(self, x: Operand) -> Self:
        return self.sub(x)

    def __rsub__(self, x: Operand) -> Self:
        return self.sub(x, True)

    def __neg__(self) -> Self:
        return self.neg()

    # *** division ***

    def idiv(self, x: Operand, reverse: bool = False) -> Self:
        """Division of integers that truncates toward zero; division by zero gives 0."""
        return self._binop(Ops.IDIV, x, reverse)

    def fdiv(self, x: Operand, reverse: bool = False) -> Self:
        """Division of floats."""
        return self._binop(Ops.FDIV, x, reverse)

    def floordiv(self, x: Operand, reverse: bool = False) -> Self:
        """Division that rounds toward minus infinity, as Python's `//`."""
        left, right = self._in_order(x, reverse)
        if left._number_type().is_float:
            return left.fdiv(right)._floor()
        if left._never_negative() and right._never_negative():
            return left.alu(Ops.IDIV, right)
        quotient = left.alu(Ops.IDIV, right)
        inexact = left._remainder_has_other_sign(right)
        return inexact.where(quotient - 1, quotient)

    def mod(self, x: Operand, reverse: bool = False) -> Self:
        """The remainder with the sign of the divisor, as Python's `%`; 0 for a divisor of 0."""
        left, right = self._in_order(x, reverse)
        if left._number_type().is_float:
            return left - left.fdiv(right)._floor() * right
        remainder = left.alu(Ops.MOD, right)
        if left._never_negative() and right._never_negative():
            return remainder
        return left._remainder_has_other_sign(right).where(remainder + right, remainder)

    def _remainder_has_other_sign(self, divisor: Self) -> Self:
        remainder = self.alu(Ops.MOD, divisor)
        return remainder.ne(0) & (remainder < 0).ne(divisor < 0)

    def _in_order(self, x: Operand, reverse: bool) -> tuple[Self, Self]:
        other = self.ufix(x)
        return (other, self) if reverse else (self, other)

    def __floordiv__(self, x: Operand) -> Self:
        return self.floordiv(x)

    def __rfloordiv__(self, x: Operand) -> Self:
        return self.floordiv(x, True)

    def __mod__(self, x: Operand) -> Self:
        return self.mod(x)

    def __rmod__(self, x: Operand) -> Self:
        return self.mod(x, True)

    def __truediv__(self, x: Operand) -> Self:
        return self.fdiv(x)

    def __rtruediv__(self, x: Operand) -> Self:
        return self.fdiv(x, True)

    def _floor(self) -> Self:
        whole = self.alu(Ops.TRUNC)
        return (self < whole).where(whole - 1, whole)

    # *** comparison ***

    def __lt__(self, x: Operand) -> Self:
        return self._binop(Ops.CMPLT, x, False)

    def __gt__(self, x: Operand) -> Self:
        return self._binop(Ops.CMPLT, x, True)

    def __ge__(self, x: Operand) -> Self:
        return (self > x) | self.eq(x) if self._may_be_nan(x) else (self < x).logical_not()

    def __le__(self, x: Operand) -> Self:
        return (self < x) | self.eq(x) if self._may_be_nan(x) else (self > x).logical_not()

    def _may_be_nan(self, x: Operand) -> bool:
        """A comparison with NaN is false, so `>=` of floats is not the opposite of `<`."""
        if isinstance(x, float) or self._number_type().is_float:
            return True
        return isinstance(x, ArithmeticMixin) and x._number_type().is_float

    def ne(self, x: Operand) -> Self:
        """Where the values differ."""
        return self._binop(Ops.CMPNE, x, False)

    def eq(self, x: Operand) -> Self:
        """Where the values are equal."""
        return self._binop(Ops.CMPEQ, x, False)

    # *** bits and logic ***

    def logical_not(self) -> Self:
        """True where the value is 0 or False."""
        return self.ne(True) if self._number_type().is_bool or self._is_pattern() else self.eq(0)

    def _is_pattern(self) -> bool:
        return not isinstance(getattr(self, "dtype", None), DType)

    def bitwise_and(self, x: Operand, reverse: bool = False) -> Self:
        """The bits set in both; of bools the logical and."""
        return self._binop(Ops.AND, x, reverse)

    def bitwise_or(self, x: Operand, reverse: bool = False) -> Self:
        """The bits set in either; of bools the logical or."""
        return self._binop(Ops.OR, x, reverse)

    def bitwise_xor(self, x: Operand, reverse: bool = False) -> Self:
        """The bits set in just one; of bools the exclusive or."""
        return self._binop(Ops.XOR, x, reverse)

    def bitwise_not(self) -> Self:
        """All bits flipped; of a bool its opposite."""
        if self._number_type().is_bool:
            return self.logical_not()
        every_bit = self._number_type().max if self._number_type().is_unsigned else -1
        return self._binop(Ops.XOR, every_bit, False)

    def lshift(self, x: Operand, reverse: bool = False) -> Self:
        """The bits moved up by `x` places."""
        return self._binop(Ops.SHL, x, reverse)

    def rshift(self, x: Operand, reverse: bool = False) -> Self:
        """The bits moved down by `x` places, the sign kept."""
        return self._binop(Ops.SHR, x, reverse)

    def __and__(self, x: Operand) -> Self:
        return self.bitwise_and(x)

    def __rand__(self, x: Operand) -> Self:
        return self.bitwise_and(x, True)

    def __or__(self, x: Operand) -> Self:
        return self.bitwise_or(x)

    def __ror__(self, x: Operand) -> Self:
        return self.bitwise_or(x, True)

    def __xor__(self, x: Operand) -> Self:
        return self.bitwise_xor(x)

    def __rxor__(self, x: Operand) -> Self:
        return self.bitwise_xor(x, True)

    def __invert__(self) -> Self:
        return self.bitwise_not()

    def __lshift__(self, x: Operand) -> Self:
        return self.lshift(x)

    def __rlshift__(self, x: Operand) -> Self:
        return self.lshift(x, True)

    def __rshift__(self, x: Operand) -> Self:
        return self.rshift(x)

    def __rrshift__(self, x: Operand) -> Self:
        return self.rshift(x, True)

    def threefry(self, seed: Self) -> Self:
        """Random bits for this uint64 counter under the uint64 key `seed` (Salmon et al., 2011)."""
        return self.alu(Ops.THREEFRY, seed)

    # *** choice ***

    def maximum(self, x: Operand) -> Self:
        """The larger value; NaN where either is NaN."""
        return self._binop(Ops.MAX, x, False)

    def minimum(self, x: Operand) -> Self:
        """The smaller value; NaN where either is NaN."""
        left, right = self._in_order(x, False)
        return left._mirrored().maximum(right._mirrored())._mirrored()

    def _mirrored(self) -> Self:
        """The value under an exact map that turns the order around and undoes itself.

        The negative of the lowest integer wraps, so integers flip their bits instead.
        """
        return self.neg() if self._number_type().is_float else self.bitwise_not()

    def where(self, x: Operand, y: Operand) -> Self:
        """`x` where this condition holds, `y` elsewhere."""
        return self._pick(x, y)
