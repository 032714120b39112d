"""The checks and rows of arithmetic, which every form has."""

from __future__ import annotations

from tg_uop.dtype.dtype import DType, dtypes
from tg_uop.ir.ops import GroupOp, Ops
from tg_uop.ir.uop import UOp
from tg_uop.spec.node import BOOL, Check, Kinds, Row, Table, not_allowed, wrong_count


def unary(allowed: frozenset[DType]) -> Check:
    """One operand of an allowed dtype, which is that of the result."""

    def check(node: UOp) -> str | None:
        src, dtype = node.src, node.dtype
        if len(src) != 1:
            return wrong_count(node, 1)
        if src[0].dtype is not dtype:
            return _mixed(node)
        return None if dtype.scalar() in allowed else not_allowed(dtype, allowed)

    return check


def binary(allowed: frozenset[DType]) -> Check:
    """Two operands of one allowed dtype, which is that of the result."""

    def check(node: UOp) -> str | None:
        src, dtype = node.src, node.dtype
        if len(src) != 2:
            return wrong_count(node, 2)
        if src[0].dtype is not dtype or src[1].dtype is not dtype:
            return _mixed(node)
        return None if dtype.scalar() in allowed else not_allowed(dtype, allowed)

    return check


def ternary(allowed: frozenset[DType]) -> Check:
    """Three operands of one allowed dtype, which is that of the result."""

    def check(node: UOp) -> str | None:
        if len(node.src) != 3:
            return wrong_count(node, 3)
        dtype = node.dtype
        if any(operand.dtype is not dtype for operand in node.src):
            return _mixed(node)
        return None if dtype.scalar() in allowed else not_allowed(dtype, allowed)

    return check


def comparison(allowed: frozenset[DType]) -> Check:
    """Two operands of one allowed dtype; the result is bool with as many lanes."""

    def check(node: UOp) -> str | None:
        src = node.src
        if len(src) != 2:
            return wrong_count(node, 2)
        dtype = src[0].dtype
        if src[1].dtype is not dtype:
            return _mixed(node)
        if node.dtype is not dtypes.bool.vec(dtype.count):
            return f"it gives bool for each lane, not {node.dtype}"
        return None if dtype.scalar() in allowed else not_allowed(dtype, allowed)

    return check


def where(allowed: frozenset[DType]) -> Check:
    """A bool for each lane and two values of the result's dtype."""

    def check(node: UOp) -> str | None:
        src, dtype = node.src, node.dtype
        if len(src) != 3:
            return wrong_count(node, 3)
        if src[0].dtype is not dtypes.bool.vec(dtype.count):
            return f"its condition is a bool for each lane, not {src[0].dtype}"
        if src[1].dtype is not dtype or src[2].dtype is not dtype:
            return _mixed(node)
        return None if dtype.scalar() in allowed else not_allowed(dtype, allowed)

    return check


def cast(allowed: frozenset[DType]) -> Check:
    """One operand of an allowed dtype and as many lanes as the result."""

    def check(node: UOp) -> str | None:
        if len(node.src) != 1:
            return wrong_count(node, 1)
        source, dtype = node.src[0].dtype, node.dtype
        if source.count != dtype.count:
            return f"it keeps the number of lanes, {source.count} are no {dtype.count}"
        for each in (source, dtype):
            if each.scalar() not in allowed:
                return not_allowed(each, allowed)
        return None

    return check


def bitcast(allowed: frozenset[DType]) -> Check:
    """One operand of an allowed dtype and as many bytes as the result."""

    def check(node: UOp) -> str | None:
        if len(node.src) != 1:
            return wrong_count(node, 1)
        source, dtype = node.src[0].dtype, node.dtype
        if source.itemsize != dtype.itemsize:
            return f"it keeps the bytes, {source} has {source.itemsize}, {dtype} {dtype.itemsize}"
        for each in (source, dtype):
            if each.scalar() not in allowed:
                return not_allowed(each, allowed)
        return None

    return check


def _mixed(node: UOp) -> str:
    return f"{node.dtype} is made of {', '.join(str(s.dtype) for s in node.src)}"


def arithmetic_rows(kinds: Kinds, *, bool_sums: bool) -> Table:
    """The rows of ALU ops that all forms share.

    `bool_sums` admits ADD and MUL of bool (OR and AND), which only the upper forms have.
    """
    ints, floats, numbers = kinds.ints, kinds.floats, kinds.numbers
    logic = ints | BOOL
    sums = kinds.values if bool_sums else numbers
    rows = {
        Ops.ADD: Row("sum; of bool it is OR", binary(sums)),
        Ops.MUL: Row("product; of bool it is AND", binary(sums)),
        Ops.MAX: Row("the larger, NaN if there is one", binary(sums)),
        Ops.SUB: Row("difference", binary(numbers)),
        Ops.NEG: Row("minus", unary(numbers)),
        Ops.IDIV: Row("quotient truncated toward zero, 0 for a divisor of 0", binary(ints)),
        Ops.MOD: Row("remainder with the sign of the dividend", binary(ints)),
        Ops.SHL: Row("shift left, 0 from the width on", binary(ints)),
        Ops.SHR: Row("shift right, by the sign where there is one", binary(ints)),
        Ops.AND: Row("bits of both", binary(logic)),
        Ops.OR: Row("bits of either", binary(logic)),
        Ops.XOR: Row("bits of just one", binary(logic)),
        Ops.FDIV: Row("IEEE quotient", binary(floats)),
        Ops.POW: Row("power", binary(floats)),
        Ops.THREEFRY: Row("random bits", binary(frozenset({dtypes.uint64}))),
        Ops.WHERE: Row("one of two values", where(kinds.values)),
        Ops.MULACC: Row("product and sum, rounded once or twice", ternary(numbers)),
        Ops.CAST: Row("conversion", cast(kinds.values)),
    }
    for op in (Ops.EXP2, Ops.LOG2, Ops.SIN, Ops.SQRT, Ops.RECIPROCAL, Ops.TRUNC):
        rows[op] = Row("a function of floats", unary(floats))
    for op in GroupOp.Comparison:
        rows[op] = Row("a comparison", comparison(kinds.values))
    return rows
