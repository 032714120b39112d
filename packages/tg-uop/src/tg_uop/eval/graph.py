"""The value of a small graph of index and ALU ops, given the values of its variables."""

from __future__ import annotations

from collections.abc import Mapping

from tg_uop.dtype.dtype import DType, Invalid, InvalidType
from tg_uop.dtype.value import Value, convert
from tg_uop.errors import EvaluationError, UnboundVariableError
from tg_uop.eval.scalar import scalar_bitcast, scalar_op
from tg_uop.ir.ops import GroupOp, Ops
from tg_uop.ir.uop import SERVICES, UOp

Lane = Value | InvalidType
Result = Lane | tuple[Lane, ...]
VarValues = Mapping[str, int]
NodeValues = Mapping[UOp, Result]

# they pass their first operand on
TRANSPARENT = frozenset(
    (Ops.AFTER, Ops.CONTIGUOUS, Ops.CONTIGUOUS_BACKWARD, Ops.DETACH, Ops.COPY, Ops.NOOP)
)


def evaluate(
    root: UOp, var_vals: VarValues | None = None, node_vals: NodeValues | None = None
) -> Result:
    """The value of `root`: a Python number, a tuple of them for a vector, or Invalid.

    `var_vals` gives variables by name, `node_vals` gives any node (a RANGE, an INDEX) a value.
    An operation on Invalid is Invalid; WHERE takes only what it chooses.
    Raises `UnboundVariableError` for a variable without a value and `EvaluationError` for an op
    that has none on the host.
    """
    known: dict[UOp, Result] = dict(node_vals or {})
    variables = var_vals or {}

    def is_open(node: UOp) -> bool:
        if node.op is Ops.BIND:
            known.setdefault(node, node.bound_value)
        return node not in known

    for node in root.toposort(gate=is_open):
        known[node] = _node_value(node, known, variables)
    return known[root]


def sym_infer(expr: int | UOp, var_vals: VarValues) -> int:
    """The integer that a size or index expression gives with variables put in.

    Raises as `evaluate` does, and `EvaluationError` when the result is no integer.
    """
    return expr if isinstance(expr, int) else evaluate_int(expr, var_vals)


def evaluate_int(expr: UOp, var_vals: VarValues) -> int:
    """`evaluate` for expressions that give one integer."""
    result = expr.arg if expr.op is Ops.CONST else evaluate(expr, var_vals)
    if not isinstance(result, int):
        raise EvaluationError(op=expr.op.name, reason=f"{result!r} is no integer")
    return int(result)


def _node_value(node: UOp, known: dict[UOp, Result], variables: VarValues) -> Result:
    op, dtype = node.op, node.dtype
    if op in GroupOp.ALU:
        return _alu(op, dtype, [known[s] for s in node.src])
    if op is Ops.CONST:
        return _constant(node.arg, dtype)
    if op is Ops.VCONST:
        return tuple(_constant_lane(lane, dtype) for lane in node.arg)  # type: ignore[attr-defined]
    if op is Ops.DEFINE_VAR:
        if node.var_name not in variables:
            raise UnboundVariableError(name=node.var_name, given=sorted(variables))
        return convert(variables[node.var_name], dtype)
    if op in (Ops.CAST, Ops.BITCAST):
        return _converted(node, known[node.src[0]])
    if op is Ops.STACK:
        return tuple(known[s] for s in node.src)  # type: ignore[misc]
    if op is Ops.GEP:
        return _picked(known[node.src[0]], node.arg)  # type: ignore[arg-type]
    if op in TRANSPARENT and node.src:
        return known[node.src[0]]
    raise EvaluationError(
        op=op.name, reason="it has no value on the host; give it one in node_vals"
    )


def _constant(value: object, dtype: DType) -> Result:
    lane = _constant_lane(value, dtype)
    return lane if dtype.count == 1 else (lane,) * dtype.count


def _constant_lane(value: object, dtype: DType) -> Lane:
    """What the constant is in its dtype: 0.1 in float16 is the float16 nearest to it."""
    if isinstance(value, InvalidType):
        return value
    assert isinstance(value, (bool, int, float)), f"{value!r} is no constant"
    return convert(value, dtype)


def _picked(source: Result, lanes: tuple[int, ...]) -> Result:
    values = source if isinstance(source, tuple) else (source,)
    picked = tuple(values[lane] for lane in lanes)
    return picked[0] if len(picked) == 1 else picked


def _converted(node: UOp, value: Result) -> Result:
    source, target = node.src[0].dtype, node.dtype

    def one(lane: Lane) -> Lane:
        if isinstance(lane, InvalidType):
            return Invalid
        if node.op is Ops.BITCAST:
            return scalar_bitcast(lane, source, target)
        return convert(lane, target.scalar())

    return tuple(one(lane) for lane in value) if isinstance(value, tuple) else one(value)


def _alu(op: Ops, dtype: DType, operands: list[Result]) -> Result:
    if dtype.count == 1:
        return _alu_lane(op, dtype, operands)  # type: ignore[arg-type]
    spread = [o if isinstance(o, tuple) else (o,) * dtype.count for o in operands]
    return tuple(_alu_lane(op, dtype, list(lanes)) for lanes in zip(*spread, strict=True))


def _alu_lane(op: Ops, dtype: DType, operands: list[Lane]) -> Lane:
    if op is Ops.WHERE:
        condition, chosen, other = operands
        if isinstance(condition, InvalidType):
            return Invalid
        return chosen if condition else other
    if any(isinstance(operand, InvalidType) for operand in operands):
        return Invalid
    return scalar_op(op, dtype)(*operands)


SERVICES.evaluate = evaluate_int
