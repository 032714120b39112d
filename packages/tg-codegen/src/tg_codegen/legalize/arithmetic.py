"""Building blocks of numeric decompositions: constants, fused sums, polynomials, bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tg_uop import DType, Ops, UOp, dtypes

from tg_codegen.target.caps import Capabilities


@dataclass(frozen=True, slots=True)
class FloatKind:
    """A float type with an integer of its width, and the numbers of its encoding.

    Adding `round_magic` to a number of magnitude below half of it rounds it to an integer, which
    stands in the low bits of the sum.
    """

    float_type: DType
    int_type: DType
    mantissa: int
    bias: int
    round_magic: float
    round_magic_bits: int

    @property
    def one_bits(self) -> int:
        """The encoding of 1.0."""
        return self.bias << self.mantissa

    def lanes(self, count: int) -> tuple[DType, DType]:
        """The vectors of `count` floats and of as many integers."""
        return self.float_type.vec(count), self.int_type.vec(count)


SINGLE = FloatKind(dtypes.float32, dtypes.int32, 23, 127, 1.5 * 2.0**23, 0x4B400000)
DOUBLE = FloatKind(dtypes.float64, dtypes.int64, 52, 1023, 1.5 * 2.0**52, 0x4338000000000000)
KINDS = {SINGLE.float_type: SINGLE, DOUBLE.float_type: DOUBLE}


def multiply_add(a: UOp, b: UOp, c: UOp, caps: Capabilities) -> UOp:
    """a * b + c, rounded once where the target can."""
    if caps.has_fma:
        return a.alu(Ops.MULACC, b, c)
    return a * b + c


def polynomial(x: UOp, coefficients: Sequence[float], caps: Capabilities) -> UOp:
    """The polynomial with `coefficients`, that of the constant first, by Horner's rule."""
    result = x.ufix(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = multiply_add(result, x, x.ufix(coefficient), caps)
    return result


def smaller(x: UOp, limit: float) -> UOp:
    """x or the constant `limit`, whichever is smaller; NaN stays."""
    bound = x.ufix(limit)
    return bound.alu(Ops.CMPLT, x).where(bound, x)


def absolute(x: UOp, kind: FloatKind) -> UOp:
    """|x|, by its bits."""
    float_type, int_type = kind.lanes(x.dtype.count)
    mask = (1 << (kind.int_type.bitsize - 1)) - 1
    return (x.bitcast(int_type) & mask).bitcast(float_type)


def power_of_two(exponent: UOp, kind: FloatKind) -> UOp:
    """2 ** exponent for an integer exponent in the range of normal numbers."""
    float_type, _ = kind.lanes(exponent.dtype.count)
    return ((exponent << kind.mantissa) + kind.one_bits).bitcast(float_type)


def times_power_of_two(value: UOp, shifted: UOp, kind: FloatKind) -> UOp:
    """value * 2 ** n, where `shifted` is the whole number n plus `round_magic`.

    The scale is applied in two halves, each a normal number, so that a subnormal result is rounded
    just once. |n| is at most twice the bias.
    """
    _, int_type = kind.lanes(value.dtype.count)
    exponent = shifted.bitcast(int_type) - kind.round_magic_bits
    half = exponent >> 1
    return (value * power_of_two(half, kind)) * power_of_two(exponent - half, kind)


def scaled_by_power(node: UOp) -> tuple[UOp, UOp] | None:
    """`value` and `shifted` of a node that `times_power_of_two` has made, None for any other.

    Targets with an instruction for it write that instead, and the halves are never computed.
    """
    kind = KINDS.get(node.dtype.scalar())
    if kind is None or node.op is not Ops.MUL or node.src[1].op is not Ops.BITCAST:
        return None
    inner = node.src[0]
    if inner.op is not Ops.MUL or inner.src[1].op is not Ops.BITCAST:
        return None
    value = inner.src[0]
    shifted = _shifted_exponent(inner.src[1].src[0], kind)
    if shifted is None or times_power_of_two(value, shifted, kind) is not node:
        return None
    return value, shifted


def _shifted_exponent(bits: UOp, kind: FloatKind) -> UOp | None:
    """What half the exponent in the encoding `bits` was taken from."""
    path = (Ops.ADD, Ops.SHL, Ops.SHR, Ops.SUB, Ops.BITCAST)
    node = bits
    for op in path:
        if node.op is not op:
            return None
        node = node.src[0]
    return node if node.dtype.scalar() is kind.float_type else None


def exact_product_error(a: UOp, b: UOp, product: UOp, kind: FloatKind, caps: Capabilities) -> UOp:
    """a * b - product, where `product` is the rounded one: exact.

    Without a fused operation the factors are split into halves of their digits (Dekker, 1971).
    """
    if caps.has_fma:
        return a.alu(Ops.MULACC, b, -product)
    a_high, a_low = _halves(a, kind)
    b_high, b_low = _halves(b, kind)
    error = a_high * b_high - product
    error = error + a_high * b_low
    error = error + a_low * b_high
    return error + a_low * b_low


def _halves(x: UOp, kind: FloatKind) -> tuple[UOp, UOp]:
    """x as a sum of two numbers with half the digits each, split by a mask."""
    float_type, int_type = kind.lanes(x.dtype.count)
    kept = -1 << ((kind.mantissa + 2) // 2)
    high = (x.bitcast(int_type) & kept).bitcast(float_type)
    return high, x - high
