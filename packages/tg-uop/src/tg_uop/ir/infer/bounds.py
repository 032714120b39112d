"""Infer an interval that holds every value of a node.

Interval arithmetic (Moore, 1966) over exact integers. An interval that leaves the range of a
fixed-width integer may have wrapped, so it becomes the whole range of the dtype.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

from tg_uop.dtype.dtype import DType, InvalidType, dtypes
from tg_uop.ir.ops import GroupOp, Ops

Number = int | float | bool
Interval = tuple[Number, Number]
IntInterval = tuple[int, int]


class Bounded(Protocol):
    """What bounds inference reads of a node."""

    op: Ops
    dtype: DType
    src: tuple[Bounded, ...]
    arg: object


# no exact integer in an index expression comes near it, and it fits every comparison
WEAKINT_LIMIT = 1 << 80


def dtype_interval(dtype: DType) -> Interval:
    """Everything that the dtype can hold."""
    scalar = dtype.scalar()
    if scalar == dtypes.weakint:
        return -WEAKINT_LIMIT, WEAKINT_LIMIT
    if scalar == dtypes.bool:
        return False, True
    if dtypes.is_int(scalar):
        return int(dtypes.min(scalar)), int(dtypes.max(scalar))
    return -math.inf, math.inf


def infer_bounds(node: Bounded, operands: list[Interval]) -> Interval:
    """Lowest and highest value of `node`, given the intervals of its operands."""
    op, dtype = node.op, node.dtype
    if op is Ops.CONST:
        return _constant(node)
    if op is Ops.VCONST:
        return _vector_constant(node)
    if op is Ops.DEFINE_VAR:
        assert isinstance(node.arg, tuple), f"DEFINE_VAR carries name and bounds, not {node.arg!r}"
        return node.arg[1], node.arg[2]
    if op in (Ops.RANGE, Ops.SPECIAL):
        return 0, max(int(operands[0][1]) - 1, 0) if operands else 0
    if op is Ops.BIND:
        # those of the variable: what is decided while a graph is built holds for every value
        return operands[0]
    if op in (Ops.STACK, Ops.WHERE):
        return _union(node, operands)
    if op is Ops.GEP or op in COPIES:
        return operands[0]
    if op is Ops.CAST:
        return _cast(dtype, operands[0], node.src[0].dtype)
    if not (dtypes.is_int(dtype) or dtypes.is_bool(dtype)):
        return -math.inf, math.inf
    return _alu(op, dtype, operands, node)


COPIES = frozenset((Ops.CONTIGUOUS, Ops.DETACH, Ops.CONTIGUOUS_BACKWARD, Ops.COPY))


def _constant(node: Bounded) -> Interval:
    value = node.arg
    if isinstance(value, InvalidType):
        return dtype_interval(node.dtype)
    if isinstance(value, float) and math.isnan(value):
        return -math.inf, math.inf
    assert isinstance(value, bool | int | float), f"{value!r} is no constant"
    return value, value


def _vector_constant(node: Bounded) -> Interval:
    values = node.arg
    assert isinstance(values, tuple), f"VCONST carries a tuple, not {values!r}"
    if any(isinstance(v, InvalidType) or v != v for v in values):
        return dtype_interval(node.dtype)
    return min(values), max(values)


def _union(node: Bounded, operands: list[Interval]) -> Interval:
    chosen = operands
    if node.op is Ops.WHERE:
        branches = list(zip(node.src[1:], operands[1:], strict=True))
        # an address that is Invalid is never used, so it does not widen the interval
        valid = [
            interval
            for branch, interval in branches
            if not (branch.op is Ops.CONST and isinstance(branch.arg, InvalidType))
        ]
        chosen = valid or operands[1:]
    return min(low for low, _ in chosen), max(high for _, high in chosen)


def _cast(dtype: DType, operand: Interval, source: DType) -> Interval:
    low, high = operand
    whole = dtype_interval(dtype)
    if dtypes.is_bool(dtype):
        if low > 0 or high < 0:
            return True, True
        return (False, False) if low == high == 0 else (False, True)
    if not dtypes.is_int(dtype) or not (dtypes.is_int(source) or dtypes.is_bool(source)):
        return whole
    if whole[0] <= low and high <= whole[1]:
        return int(low), int(high)
    return whole


def _alu(op: Ops, dtype: DType, operands: list[Interval], node: Bounded) -> Interval:
    whole = dtype_interval(dtype)
    if op in GroupOp.Comparison:
        return _compare(op, operands[0], operands[1], node.src[0].dtype)
    rule = INTEGER_RULES.get(op)
    if rule is None:
        return whole
    intervals = [(int(low), int(high)) for low, high in operands]
    found = rule(*intervals)
    if found is None:
        return whole
    if dtypes.is_bool(dtype):
        return bool(found[0]), bool(found[1])
    if found[0] < whole[0] or found[1] > whole[1]:
        return whole
    return found


def _compare(op: Ops, left: Interval, right: Interval, dtype: DType) -> Interval:
    if not (dtypes.is_int(dtype) or dtypes.is_bool(dtype)):
        return False, True
    if op is Ops.CMPLT:
        return left[1] < right[0], left[0] < right[1]
    disjoint = left[1] < right[0] or right[1] < left[0]
    same_point = left[0] == left[1] == right[0] == right[1]
    if op is Ops.CMPNE:
        return disjoint, not same_point
    return same_point, not disjoint


def _add(x: IntInterval, y: IntInterval) -> IntInterval | None:
    return x[0] + y[0], x[1] + y[1]


def _sub(x: IntInterval, y: IntInterval) -> IntInterval | None:
    return x[0] - y[1], x[1] - y[0]


def _neg(x: IntInterval) -> IntInterval | None:
    return -x[1], -x[0]


def _mul(x: IntInterval, y: IntInterval) -> IntInterval | None:
    corners = (x[0] * y[0], x[0] * y[1], x[1] * y[0], x[1] * y[1])
    return min(corners), max(corners)


def _multiply_add(x: IntInterval, y: IntInterval, z: IntInterval) -> IntInterval | None:
    product = _mul(x, y)
    return _add(product, z) if product else None


def _max(x: IntInterval, y: IntInterval) -> IntInterval | None:
    return max(x[0], y[0]), max(x[1], y[1])


def truncating_div(x: int, y: int) -> int:
    """The quotient rounded toward zero; 0 where the divisor is 0."""
    if y == 0:
        return 0
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def _idiv(x: IntInterval, y: IntInterval) -> IntInterval | None:
    if y[0] == y[1] == 0:
        return 0, 0
    divisors = {d for d in (y[0], y[1]) if d != 0}
    if y[0] <= 1 <= y[1]:
        divisors.add(1)
    if y[0] <= -1 <= y[1]:
        divisors.add(-1)
    corners = [truncating_div(n, d) for n in x for d in divisors]
    if y[0] <= 0 <= y[1]:
        corners.append(0)
    return min(corners), max(corners)


def _mod(x: IntInterval, y: IntInterval) -> IntInterval | None:
    """The remainder has the sign of the dividend and is smaller than the divisor."""
    largest = max(abs(y[0]), abs(y[1])) - 1
    if largest < 0:
        return 0, 0
    if y[0] == y[1] and x[0] >= 0 and x[0] // y[0] == x[1] // y[0] and y[0] > 0:
        return x[0] % y[0], x[1] % y[0]
    low = 0 if x[0] >= 0 else max(-largest, x[0])
    high = 0 if x[1] <= 0 else min(largest, x[1])
    return low, high


def _shl(x: IntInterval, y: IntInterval) -> IntInterval | None:
    if not 0 <= y[0] <= y[1] < 64:
        return None
    return _mul(x, (1 << y[0], 1 << y[1]))


def _shr(x: IntInterval, y: IntInterval) -> IntInterval | None:
    if not 0 <= y[0] <= y[1] < 64:
        return None
    corners = [value >> count for value in x for count in y]
    return min(corners), max(corners)


def _and(x: IntInterval, y: IntInterval) -> IntInterval | None:
    """An operand that is never negative bounds the result from above."""
    limits = [interval[1] for interval in (x, y) if interval[0] >= 0]
    return (0, min(limits)) if limits else None


def _ones(value: int) -> int:
    """The smallest 2**n - 1 that is not below `value`."""
    return (1 << value.bit_length()) - 1


def _or(x: IntInterval, y: IntInterval) -> IntInterval | None:
    if x[0] < 0 or y[0] < 0:
        return None
    return max(x[0], y[0]), _ones(max(x[1], y[1]))


def _xor(x: IntInterval, y: IntInterval) -> IntInterval | None:
    if x[0] < 0 or y[0] < 0:
        return None
    return 0, _ones(max(x[1], y[1]))


INTEGER_RULES: dict[Ops, Callable[..., IntInterval | None]] = {
    Ops.ADD: _add,
    Ops.SUB: _sub,
    Ops.NEG: _neg,
    Ops.MUL: _mul,
    Ops.MULACC: _multiply_add,
    Ops.MAX: _max,
    Ops.IDIV: _idiv,
    Ops.MOD: _mod,
    Ops.SHL: _shl,
    Ops.SHR: _shr,
    Ops.AND: _and,
    Ops.OR: _or,
    Ops.XOR: _xor,
}
