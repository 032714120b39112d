"""Divide integers by constants without a division.

Multiplication by a scaled reciprocal, after Granlund and Montgomery, "Division by Invariant
Integers using Multiplication", 1994, and Warren, "Hacker's Delight", chapter 10; shifts for powers
of two.
Known bounds of the dividend make the product fit where the full range would need a wider one.
"""

from __future__ import annotations

from typing import NamedTuple

from tg_uop import Ops, UOp, dtypes

from tg_codegen.legalize.rebuild import rebuild
from tg_codegen.target.caps import Capabilities

DIVISIONS = frozenset((Ops.IDIV, Ops.MOD))


def divide_by_constants(root: UOp, caps: Capabilities) -> UOp:
    """The graph with IDIV and MOD by constants as multiplications and shifts.

    Where the target's tool chain multiplies by wide reciprocals itself, only the divisions are
    replaced of which bounds are known that the tool chain does not know.
    """

    def visit(node: UOp) -> UOp | None:
        if node.src[1].op is not Ops.CONST:
            return None
        if caps.expands_division and not _is_cheap(node):
            return None
        return divided(node)

    return rebuild(root, DIVISIONS, visit)


def _is_cheap(node: UOp) -> bool:
    divisor = node.src[1].const_value
    if divisor <= 0 or int(node.src[0].vmin) < 0:
        return False
    return divisor & (divisor - 1) == 0 or _narrow_reciprocal(node) is not None


def divided(node: UOp) -> UOp:
    """An IDIV or MOD by a constant without a division."""
    x, divisor = node.src[0], node.src[1].const_value
    if divisor == 0:
        return node.const_like(0)
    is_quotient = node.op is Ops.IDIV
    if abs(divisor) == 1:
        if not is_quotient:
            return node.const_like(0)
        return x if divisor == 1 else -x
    if not is_quotient and divisor > 0 and int(x.vmin) >= 0 and divisor & (divisor - 1) == 0:
        return x & (divisor - 1)
    quotient = _quotient(node, abs(divisor))
    if is_quotient:
        return quotient if divisor > 0 else -quotient
    return x - quotient * abs(divisor)


def _quotient(node: UOp, divisor: int) -> UOp:
    """x / divisor toward zero, for a divisor above 1 (it may be 2**(n-1) of an n-bit type)."""
    x = node.src[0]
    if int(x.vmin) >= 0:
        return _quotient_of_positive(node, divisor)
    bits = x.dtype.scalar().bitsize
    sign = x >> (bits - 1)
    if divisor & (divisor - 1) == 0:
        shift = divisor.bit_length() - 1
        # negative numbers are rounded up: the sign bits that become the addend are all ones
        addend = sign & (divisor - 1) if divisor - 1 <= int(x.dtype.max) else sign
        return (x + addend) >> shift if shift < bits - 1 else _is_lowest(x)
    reciprocal = _reciprocal(divisor, 1 << (bits - 1))
    high = _high_product(x, reciprocal.multiplier, reciprocal.shift)
    return high - sign


def _is_lowest(x: UOp) -> UOp:
    """The quotient by the magnitude of the lowest integer: -1 for that one, else 0."""
    return x.eq(int(x.dtype.min)).where(x.ufix(-1), x.ufix(0))


class Reciprocal(NamedTuple):
    """x / d == (x * multiplier) >> shift."""

    multiplier: int
    shift: int


def _reciprocal(divisor: int, limit: int) -> Reciprocal:
    """The smallest multiplier that is exact for every x below or at `limit`.

    With multiplier * divisor == 2**shift + error, the quotient is right as long as
    error * x < 2**shift.
    """
    shift = divisor.bit_length() - 1
    while True:
        multiplier = (1 << shift) // divisor + 1
        error = multiplier * divisor - (1 << shift)
        if error * limit < 1 << shift:
            return Reciprocal(multiplier, shift)
        shift += 1


def _narrow_reciprocal(node: UOp) -> Reciprocal | None:
    """One whose products with the dividend fit the dtype, if there is one."""
    x, divisor = node.src[0], node.src[1].const_value
    if divisor <= 1:
        return None
    highest = int(x.vmax)
    found = _reciprocal(divisor, highest)
    return found if found.multiplier * highest <= int(node.dtype.max) else None


def _quotient_of_positive(node: UOp, divisor: int) -> UOp:
    x = node.src[0]
    if divisor & (divisor - 1) == 0:
        return x >> (divisor.bit_length() - 1)
    highest = int(x.vmax)
    found = _reciprocal(divisor, highest)
    if found.multiplier * highest <= int(x.dtype.max):
        return (x * found.multiplier) >> found.shift
    return _high_product(x, found.multiplier, found.shift)


# *** products of twice the width ***


def _high_product(x: UOp, multiplier: int, shift: int) -> UOp:
    """(x * multiplier) >> shift, rounded down, for an x of any sign and a large multiplier."""
    bits = x.dtype.scalar().bitsize
    if bits < 32 or (bits == 32 and multiplier < 1 << 31):
        wide = dtypes.uint64 if x.dtype.is_unsigned else dtypes.int64
        return ((x.cast(wide) * multiplier) >> shift).cast(x.dtype)
    if shift < bits:
        multiplier <<= bits - shift
        shift = bits
    modulus = 1 << bits
    signed = not x.dtype.is_unsigned
    if signed:
        return _high_product_signed(x, multiplier, shift, bits)
    high = _multiply_high(x, multiplier % modulus)
    if multiplier < modulus:
        return high >> (shift - bits)
    # one bit of the multiplier is left: (x + high) / 2 without the carry
    return (((x - high) >> 1) + high) >> (shift - bits - 1)


def _high_product_signed(x: UOp, multiplier: int, shift: int, bits: int) -> UOp:
    """The same for signed numbers; the multiplier is below 2**bits."""
    unsigned = (dtypes.uint32 if bits == 32 else dtypes.uint64).vec(x.dtype.count)
    high = _multiply_high(x.bitcast(unsigned), multiplier).bitcast(x.dtype)
    # of a negative x the unsigned product has 2**bits * multiplier too much
    wrapped = multiplier - (1 << bits) if multiplier >= 1 << (bits - 1) else multiplier
    high = high - ((x >> (bits - 1)) & wrapped)
    return high >> (shift - bits)


def _multiply_high(x: UOp, multiplier: int) -> UOp:
    """The upper half of the product of two unsigned numbers of 32 or 64 bits."""
    if x.dtype.scalar().bitsize == 32:
        return ((x.cast(dtypes.uint64) * multiplier) >> 32).cast(x.dtype)
    mask = (1 << 32) - 1
    x_low, x_high = x & mask, x >> 32
    m_low, m_high = multiplier & mask, multiplier >> 32
    cross = x_high * m_low + ((x_low * m_low) >> 32)
    other = x_low * m_high + (cross & mask)
    return x_high * m_high + (cross >> 32) + (other >> 32)
