"""Keep Invalid at the top of an index: operations move under the WHERE that guards it."""

from __future__ import annotations

from tg_uop.dtype.dtype import Invalid
from tg_uop.ir.ops import GroupOp, Ops
from tg_uop.ir.uop import UOp
from tg_uop.rewrite.matcher import PatternMatcher, rule
from tg_uop.rewrite.pattern import UPat
from tg_uop.rules.constants import invalid_like, is_invalid
from tg_uop.rules.logic import negation

X = UPat.var("x")
Y = UPat.var("y")
COND = UPat.var("cond")
INVALID = UPat.const(Invalid)
GUARDED = UPat(Ops.WHERE, src=(COND, X, INVALID), name="guarded")
ARITHMETIC = GroupOp.ALU - {Ops.WHERE}
UNARY = GroupOp.Unary | {Ops.CAST}


@rule(
    UPat.any(
        UPat(UNARY, src=(INVALID,)),
        UPat(GroupOp.Binary, src=(INVALID, UPat())),
        UPat(GroupOp.Binary, src=(UPat(), INVALID)),
        name="node",
    ),
    law="op(Invalid) == Invalid",
)
def invalid_operand(node: UOp) -> UOp:
    """Whatever the other operand is."""
    return invalid_like(node)


@rule(UPat(UNARY, src=(GUARDED,), name="node"), law="op(where(c, x, Invalid)) guarded by c")
def under_guard_unary(node: UOp, cond: UOp, x: UOp) -> UOp:
    """The guard goes outside."""
    return _guarded(cond, node.replace(src=(x,)))


@rule(UPat(GroupOp.Binary, src=(GUARDED, Y), name="node"), law="where(c, x, Invalid) op y")
def under_guard_left(node: UOp, cond: UOp, x: UOp, y: UOp) -> UOp:
    """The guard goes outside."""
    return _guarded(cond, node.replace(src=(x, y)))


@rule(UPat(GroupOp.Binary, src=(Y, GUARDED), name="node"), law="y op where(c, x, Invalid)")
def under_guard_right(node: UOp, cond: UOp, x: UOp, y: UOp) -> UOp:
    """The guard goes outside."""
    return _guarded(cond, node.replace(src=(y, x)))


def _guarded(cond: UOp, value: UOp) -> UOp:
    return cond.where(value, invalid_like(value))


@rule(UPat(Ops.WHERE, src=(GUARDED, Y, UPat.var("z"))), law="where(where(c, x, Invalid), y, z)")
def guard_of_condition(guarded: UOp, cond: UOp, x: UOp, y: UOp, z: UOp) -> UOp:
    """A choice that is itself guarded is guarded as a whole."""
    return (cond & x).where(y, z) if is_invalid(z) else _guarded(cond, x.where(y, z))


@rule(UPat(Ops.WHERE, src=(INVALID, UPat(), UPat()), name="node"), law="where(Invalid, x, y)")
def invalid_condition(node: UOp) -> UOp:
    """A choice by Invalid is Invalid."""
    return invalid_like(node)


@rule(
    UPat(Ops.WHERE, src=(COND, INVALID, X)), law="where(c, Invalid, x) == where(not c, x, Invalid)"
)
def invalid_last(cond: UOp, x: UOp) -> UOp | None:
    """Invalid stands last."""
    return None if is_invalid(x) else _guarded(negation(cond), x)


INVALID_INDEX = PatternMatcher(
    [
        invalid_operand,
        under_guard_unary,
        under_guard_left,
        under_guard_right,
        guard_of_condition,
        invalid_condition,
        invalid_last,
    ],
    pure=True,
)
