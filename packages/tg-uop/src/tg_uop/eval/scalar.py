"""The meaning of every ALU op on exact Python values.

The constant folder and the interpreter use it, and every device is held to it. Values are as in
`tg_uop.dtype.value`. Integers wrap at their width, each float operation is rounded once to its
dtype, division by the integer 0 gives 0, NaN passes through MAX.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from math import copysign, inf, isfinite, isinf, isnan, nan

from tg_uop.dtype.dtype import DType, dtypes
from tg_uop.dtype.value import Value, bitcast, convert, rounder
from tg_uop.errors import EvaluationError
from tg_uop.ir.ops import GroupOp, Ops

ScalarOp = Callable[..., Value]


def alu(op: Ops, dtype: DType, operands: Sequence[Value]) -> Value:
    """`op` on operands, giving a value of the scalar `dtype` (bool for a comparison).

    CAST converts its operand; BITCAST needs the dtype of its operand: see `bitcast`.
    Raises `EvaluationError` for an op without a meaning on this dtype.
    """
    return scalar_op(op, dtype)(*operands)


@cache
def scalar_op(op: Ops, dtype: DType) -> ScalarOp:
    """The function that computes `op` with a result of the scalar `dtype`.

    Raises `EvaluationError` for an op without a meaning on this dtype.
    """
    scalar = dtype.scalar()
    if op is Ops.WHERE:
        return _where
    if op in GroupOp.Comparison:
        return COMPARISONS[op]
    if op is Ops.CAST:
        return lambda value: convert(value, scalar)
    if op is Ops.THREEFRY:
        return threefry
    if scalar.is_bool:
        found = BOOL_OPS.get(op)
    elif scalar.is_int:
        found = _int_op(op, scalar)
    elif scalar.is_float:
        found = _float_op(op, scalar)
    else:
        found = None
    if found is None:
        raise EvaluationError(op=op.name, reason=f"it has no meaning on {dtype}")
    return found


def scalar_bitcast(value: Value, source: DType, target: DType) -> Value:
    """BITCAST of one value."""
    return bitcast(value, source.scalar(), target.scalar())


# *** any dtype ***


def _where(condition: Value, chosen: Value, other: Value) -> Value:
    return chosen if condition else other


def _less(left: Value, right: Value) -> bool:
    return left < right


def _equal(left: Value, right: Value) -> bool:
    if isinstance(left, float) or isinstance(right, float):
        # a ConstFloat compares by identity of value; here IEEE decides
        return float.__eq__(float(left), float(right))
    return left == right


def _differ(left: Value, right: Value) -> bool:
    return not _equal(left, right)


COMPARISONS: dict[Ops, ScalarOp] = {Ops.CMPLT: _less, Ops.CMPEQ: _equal, Ops.CMPNE: _differ}


# *** bool ***


def _both(left: Value, right: Value) -> bool:
    return bool(left) and bool(right)


def _either(left: Value, right: Value) -> bool:
    return bool(left) or bool(right)


def _just_one(left: Value, right: Value) -> bool:
    return bool(left) != bool(right)


BOOL_OPS: dict[Ops, ScalarOp] = {
    Ops.ADD: _either,
    Ops.MAX: _either,
    Ops.OR: _either,
    Ops.MUL: _both,
    Ops.AND: _both,
    Ops.XOR: _just_one,
}


# *** integers ***


def truncated_quotient(left: int, right: int) -> int:
    """The quotient rounded toward zero; 0 for a divisor of 0."""
    if right == 0:
        return 0
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def truncated_remainder(left: int, right: int) -> int:
    """What the truncated quotient leaves, with the sign of `left`; 0 for a divisor of 0."""
    return 0 if right == 0 else left - truncated_quotient(left, right) * right


def _shift_left(width: int | None) -> Callable[[int, int], int]:
    def shifted(value: int, amount: int) -> int:
        if width is None:
            if amount < 0:
                raise EvaluationError(op="SHL", reason=f"the shift by {amount} is negative")
            return value << amount
        return value << amount if 0 <= amount < width else 0

    return shifted


def _shift_right(width: int | None) -> Callable[[int, int], int]:
    def shifted(value: int, amount: int) -> int:
        if width is None and amount < 0:
            raise EvaluationError(op="SHR", reason=f"the shift by {amount} is negative")
        if width is not None and not 0 <= amount < width:
            # all bits are gone: what is left is the sign, which a value of an unsigned type lacks
            return -1 if value < 0 else 0
        return value >> amount

    return shifted


def _whole_power(base: int, exponent: int) -> int:
    if exponent < 0:
        raise EvaluationError(op="POW", reason=f"the exponent {exponent} is negative")
    return int(base**exponent)


INT_OPS: dict[Ops, Callable[..., int]] = {
    Ops.ADD: lambda a, b: a + b,
    Ops.SUB: lambda a, b: a - b,
    Ops.MUL: lambda a, b: a * b,
    Ops.NEG: lambda a: -a,
    Ops.MAX: max,
    Ops.IDIV: truncated_quotient,
    Ops.MOD: truncated_remainder,
    Ops.AND: lambda a, b: a & b,
    Ops.OR: lambda a, b: a | b,
    Ops.XOR: lambda a, b: a ^ b,
    Ops.MULACC: lambda a, b, c: a * b + c,
    Ops.POW: _whole_power,
}

# their results always fit
_NEVER_WRAP = frozenset((Ops.MAX, Ops.MOD, Ops.AND, Ops.OR, Ops.XOR, Ops.SHR))


def _int_op(op: Ops, dtype: DType) -> ScalarOp | None:
    width = None if dtype is dtypes.weakint else dtype.bitsize
    if op is Ops.SHL:
        exact: Callable[..., int] | None = _shift_left(width)
    elif op is Ops.SHR:
        exact = _shift_right(width)
    else:
        exact = INT_OPS.get(op)
    if exact is None or width is None or op in _NEVER_WRAP:
        return exact
    return _wrapping(exact, dtype)


def _wrapping(exact: Callable[..., int], dtype: DType) -> ScalarOp:
    mask = (1 << dtype.bitsize) - 1
    if dtype.is_unsigned:
        return lambda *operands: exact(*operands) & mask
    offset = 1 << (dtype.bitsize - 1)
    return lambda *operands: ((exact(*operands) + offset) & mask) - offset


# *** floats ***


def _float_max(left: float, right: float) -> float:
    if isnan(left) or isnan(right):
        return nan
    return right if left < right else left


def _quotient(left: float, right: float) -> float:
    if right != 0.0:
        return left / right
    if left == 0.0 or isnan(left):
        return nan
    return copysign(inf, left) * copysign(1.0, right)


def _reciprocal(value: float) -> float:
    return 1.0 / value if value != 0.0 else copysign(inf, value)


def _square_root(value: float) -> float:
    if value < 0.0:
        return nan
    return math.sqrt(value)


def _exp2(value: float) -> float:
    try:
        return math.exp2(value)
    except OverflowError:
        return inf


def _log2(value: float) -> float:
    if value > 0.0:
        return math.log2(value)
    return -inf if value == 0.0 else nan


def _sine(value: float) -> float:
    return nan if isinf(value) else math.sin(value)


def _truncated(value: float) -> float:
    return copysign(float(math.trunc(value)), value) if isfinite(value) else float(value)


def _power(base: float, exponent: float) -> float:
    is_odd = isfinite(exponent) and exponent == math.trunc(exponent) and exponent % 2.0 == 1.0
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -inf if base < 0.0 and is_odd else inf
    except ValueError:
        if base == 0.0:
            return copysign(inf, base) if is_odd else inf
        return nan


FLOAT_OPS: dict[Ops, Callable[..., float]] = {
    Ops.ADD: lambda a, b: a + b,
    Ops.SUB: lambda a, b: a - b,
    Ops.MUL: lambda a, b: a * b,
    Ops.NEG: lambda a: -a,
    Ops.MAX: _float_max,
    Ops.FDIV: _quotient,
    Ops.RECIPROCAL: _reciprocal,
    Ops.SQRT: _square_root,
    Ops.EXP2: _exp2,
    Ops.LOG2: _log2,
    Ops.SIN: _sine,
    Ops.TRUNC: _truncated,
    Ops.POW: _power,
}


def _float_op(op: Ops, dtype: DType) -> ScalarOp | None:
    rounded = rounder(dtype)
    if op is Ops.MULACC:
        return lambda a, b, c: rounded(product_sum(a, b, c, dtype))
    wide = FLOAT_OPS.get(op)
    if wide is None:
        return None
    # float64 has more than twice the digits of any narrower type, so that rounding its result
    # again gives the correctly rounded sum, difference, product, quotient and root (Figueroa, 1995)
    if dtype is dtypes.float64 or op in (Ops.NEG, Ops.MAX, Ops.TRUNC):
        return wide
    if op in UNARY_FLOAT:
        return lambda a: rounded(wide(a))
    return lambda a, b: rounded(wide(a, b))


UNARY_FLOAT = GroupOp.Unary


def product_sum(left: float, right: float, addend: float, dtype: DType) -> float:
    """left * right + addend, to be rounded just once to `dtype`."""
    product = left * right
    total = product + addend
    if not (isfinite(left) and isfinite(right)):
        return total
    if not isfinite(addend):
        return addend
    if dtype is not dtypes.float64:
        return _round_to_odd(product, addend, total)
    (n1, d1), (n2, d2), (n3, d3) = (x.as_integer_ratio() for x in (left, right, addend))
    numerator, denominator = n1 * n2 * d3 + n3 * d1 * d2, d1 * d2 * d3
    if numerator == 0:
        return total
    try:
        # the division of two integers is correctly rounded
        return numerator / denominator
    except OverflowError:
        return -inf if numerator < 0 else inf


def _round_to_odd(left: float, right: float, total: float) -> float:
    """The sum of two exact floats such that rounding it to half the digits rounds just once.

    An inexact sum takes the neighbour with an odd last bit (Boldo and Melquiond, 2008); the error
    of the sum is found as by Knuth.
    """
    shifted = total - left
    error = (left - (total - shifted)) + (right - shifted)
    if error == 0.0 or _has_odd_significand(total):
        return total
    return math.nextafter(total, copysign(inf, error))


def _has_odd_significand(value: float) -> bool:
    mantissa, _ = math.frexp(value)
    return int(math.ldexp(mantissa, 53)) % 2 == 1


# *** random bits ***

THREEFRY_PARITY = 0x1BD11BDA
THREEFRY_ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)
_MASK32 = 0xFFFFFFFF


def threefry(counter: int, key: int) -> int:
    """Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror and Shaw, 2011).

    Counter, key and result are 64 bits wide and pack two words of 32: the low one is the first.
    """
    first_key, second_key = key & _MASK32, key >> 32
    schedule = (first_key, second_key, first_key ^ second_key ^ THREEFRY_PARITY)
    first = (counter + first_key) & _MASK32
    second = ((counter >> 32) + second_key) & _MASK32
    for turn in range(20):
        rotation = THREEFRY_ROTATIONS[turn % 8]
        first = (first + second) & _MASK32
        second = ((second << rotation) | (second >> (32 - rotation))) & _MASK32
        second ^= first
        if turn % 4 == 3:
            injection = turn // 4 + 1
            first = (first + schedule[injection % 3]) & _MASK32
            second = (second + schedule[(injection + 1) % 3] + injection) & _MASK32
    return first | second << 32
