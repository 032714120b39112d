"""Compute operations whose operands are all constants."""

from __future__ import annotations

from math import isnan

from tg_uop.dtype.dtype import InvalidType
from tg_uop.dtype.value import Value
from tg_uop.errors import EvaluationError
from tg_uop.eval.graph import evaluate
from tg_uop.ir.ops import GroupOp, Ops
from tg_uop.ir.uop import UOp
from tg_uop.rewrite.matcher import PatternMatcher, rule
from tg_uop.rewrite.pattern import UPat
from tg_uop.rules.constants import constant_like

CONSTANTS = UPat(GroupOp.Constant)
FOLDED = GroupOp.ALU | {Ops.CAST, Ops.BITCAST}


@rule(UPat(FOLDED, src=CONSTANTS, name="node"), law="op(constants) == constant")
def fold_constants(node: UOp) -> UOp | None:
    """By the evaluator, which every device agrees with. Invalid is left to the gate rules, as is
    what has no value (a negative power of an integer), and a BITCAST to a NaN: constants know but
    one NaN, and would lose the payload.
    """
    if any(_has_invalid(s.arg) for s in node.src):
        return None
    try:
        value = evaluate(node)
    except EvaluationError:
        return None
    if node.op is Ops.BITCAST and _has_nan(value):
        return None
    return _constant(node, value)


def _has_nan(value: object) -> bool:
    parts = value if isinstance(value, tuple) else (value,)
    return any(isinstance(part, float) and isnan(part) for part in parts)


def _has_invalid(value: object) -> bool:
    parts = value if isinstance(value, tuple) else (value,)
    return any(isinstance(part, InvalidType) for part in parts)


def _constant(node: UOp, value: Value | InvalidType | tuple[Value | InvalidType, ...]) -> UOp:
    if isinstance(value, tuple):
        return UOp.const(node.dtype, value)
    return constant_like(node, value)


@rule(UPat(Ops.GEP, src=(CONSTANTS,), name="node"), law="constant[lanes] == constant")
def fold_picked_lanes(node: UOp) -> UOp:
    """Lanes of a constant vector."""
    value = evaluate(node)
    return _constant(node, value)


@rule(UPat(Ops.STACK, src=UPat(Ops.CONST), name="node"), law="stack(constants) == constant")
def fold_constant_stack(node: UOp) -> UOp:
    """A vector of constants."""
    return UOp.const(node.dtype, tuple(s.arg for s in node.src))


FOLD = PatternMatcher(
    [fold_constants, fold_picked_lanes, fold_constant_stack],
    pure=True,
)
