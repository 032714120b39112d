"""Make float to integer conversions safe: out of range wraps through int64, NaN gives 0.

The conversion instructions of machines differ out of range, and LLVM and C leave it undefined.
After this step a CAST of a float to an integer only meets values that the integer holds.
"""

from __future__ import annotations

from tg_uop import DType, Ops, UOp, dtypes

from tg_codegen.legalize.arithmetic import KINDS, absolute, multiply_add
from tg_codegen.legalize.rebuild import rebuild
from tg_codegen.target.caps import Capabilities

WORD = 2.0**32
INT64_LIMIT = 2.0**63


def guard_conversions(root: UOp, caps: Capabilities) -> UOp:
    """The graph with no float to integer CAST out of range."""

    def visit(node: UOp) -> UOp | None:
        if node.op is not Ops.CAST or not node.dtype.is_int or not node.src[0].dtype.is_float:
            return None
        return guarded(node.src[0], node.dtype.scalar(), caps)

    return rebuild(root, frozenset((Ops.CAST,)), visit)


def guarded(value: UOp, target: DType, caps: Capabilities) -> UOp:
    """`value`, a float, as the integer type `target`."""
    if value.dtype.scalar() not in KINDS:
        value = value.cast(dtypes.float32)
    if target.itemsize == 8:
        return _to_64_bits(value, target)
    return _to_32_bits(value, caps).cast(target)


def _to_64_bits(value: UOp, target: DType) -> UOp:
    """int64 from -2**63 up to 2**63, uint64 also from there to 2**64."""
    shifted = value
    is_upper = None
    if target.is_unsigned:
        digits = KINDS[value.dtype.scalar()].mantissa + 1
        below = value.ufix(INT64_LIMIT * (1 - 2.0**-digits))
        is_upper = below.alu(Ops.CMPLT, value) & (value < 2.0**64)
        shifted = is_upper.where(value - INT64_LIMIT, value)
    fits = absolute(shifted, KINDS[value.dtype.scalar()]) < INT64_LIMIT
    whole = fits.where(shifted, value.ufix(0.0)).cast(dtypes.int64)
    lowest = whole.ufix(int(dtypes.int64.min))
    outside = value.eq(value).where(lowest, whole.ufix(0))
    result = fits.where(whole, outside)
    if is_upper is not None:
        result = is_upper.where(result ^ lowest, result)
    return result.cast(target)


def _to_32_bits(value: UOp, caps: Capabilities) -> UOp:
    """The low 32 bits of the int64, in floats: x - trunc(x / 2**32) * 2**32 is exact.

    What an int64 does not hold becomes its lowest value, whose low bits are 0. A float32 that large
    is a multiple of 2**32 anyway; infinity and NaN become NaN by the subtraction.
    """
    if value.dtype.scalar() is dtypes.float64:
        # a fraction must go before the sign can turn
        value = value.alu(Ops.TRUNC)
    turns = (value * (1 / WORD)).alu(Ops.TRUNC)
    rest = multiply_add(turns, value.ufix(-WORD), value, caps)
    rest = (rest < WORD / 2).where(rest, rest - WORD)
    rest = (rest < -WORD / 2).where(rest + WORD, rest)
    fits = rest.eq(rest)
    if value.dtype.scalar() is dtypes.float64:
        fits = absolute(value, KINDS[dtypes.float64]) < INT64_LIMIT
    return fits.where(rest, rest.ufix(0.0)).cast(dtypes.int32)
