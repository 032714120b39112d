"""Elementwise operators and methods in terms of one hook, `alu`."""

from __future__ import annotations

from typing import Self

from tg_uop.ir.ops import Ops

Operand = object


class ElementwiseMixin:
    """Needs `alu(op, *others)`, `ufix(value)`, `const_like(value)` and `dtype` of its host."""

    __slots__ = ()

    def alu(self, op: Ops, *others: Self) -> Self:
        """This value and `others` under `op`."""
        raise NotImplementedError

    def ufix(self, value: Operand) -> Self:
        """`value` as something that can stand beside this one."""
        raise NotImplementedError

    def const_like(self, value: object) -> Self:
        """A constant of this value's dtype and shape."""
        raise NotImplementedError

    def _binop(self, op: Ops, other: Operand, reverse: bool) -> Self:
        right = self.ufix(other)
        return right.alu(op, self) if reverse else self.alu(op, right)

    def add(self, x: Operand, reverse: bool = False) -> Self:
        return self._binop(Ops.ADD, x, reverse)

    def mul(self, x: Operand, reverse: bool = False) -> Self:
        return self._binop(Ops.MUL, x, reverse)

    def sub(self, x: Operand, reverse: bool = False) -> Self:
        return self._binop(Ops.SUB, x, reverse)

    def __add__(self, x: Operand) -> Self:
        return self.add(x)

    def __radd__(self, x: Operand) -> Self:
        return self.add(x, True)

    def __mul__(self, x: Operand) -> Self:
        return self.mul(x)

    def __rmul__(self, x: Operand) -> Self:
        return self.mul(x, True)

    def __sub__(self, x: Operand) -> Self:
        return self.sub(x)

    def __rsub__(self, x: Operand) -> Self:
        return self.sub(x, True)

    def __neg__(self) -> Self:
        return self.alu(Ops.NEG)

    def __lt__(self, x: Operand) -> Self:
        return self._binop(Ops.CMPLT, x, False)

    def __gt__(self, x: Operand) -> Self:
        return self._binop(Ops.CMPLT, x, True)

    def __ge__(self, x: Operand) -> Self:
        return (self < x).logical_not()

    def __le__(self, x: Operand) -> Self:
        return (self > x).logical_not()

    def ne(self, x: Operand) -> Self:
        return self._binop(Ops.CMPNE, x, False)

    def eq(self, x: Operand) -> Self:
        return self._binop(Ops.CMPEQ, x, False)

    def logical_not(self) -> Self:
        return self.ne(True)

    def __and__(self, x: Operand) -> Self:
        return self._binop(Ops.AND, x, False)

    def __or__(self, x: Operand) -> Self:
        return self._binop(Ops.OR, x, False)

    def __xor__(self, x: Operand) -> Self:
        return self._binop(Ops.XOR, x, False)

    def __rand__(self, x: Operand) -> Self:
        return self._binop(Ops.AND, x, True)

    def __ror__(self, x: Operand) -> Self:
        return self._binop(Ops.OR, x, True)

    def __lshift__(self, x: Operand) -> Self:
        return self._binop(Ops.SHL, x, False)

    def __rshift__(self, x: Operand) -> Self:
        return self._binop(Ops.SHR, x, False)

    def idiv(self, x: Operand) -> Self:
        """Division of integers that truncates toward zero."""
        return self._binop(Ops.IDIV, x, False)

    def mod(self, x: Operand) -> Self:
        return self._binop(Ops.MOD, x, False)

    def maximum(self, x: Operand) -> Self:
        return self._binop(Ops.MAX, x, False)

    def minimum(self, x: Operand) -> Self:
        other = self.ufix(x)
        return -((-self).maximum(-other))

    def where(self, x: Operand, y: Operand) -> Self:
        """`x` where this condition holds, `y` elsewhere."""
        if isinstance(x, type(self)):
            return self.alu(Ops.WHERE, x, x.ufix(y))
        assert isinstance(y, type(self)), "one branch must be a node, so that the dtype is known"
        return self.alu(Ops.WHERE, y.ufix(x), y)
