"""SIN out of sums, products and bit operations, for arguments of any size, without branches.

The argument is reduced with as many digits of 2/pi as its exponent asks for (Payne and Hanek,
1983).
"""

from __future__ import annotations

from fractions import Fraction
from math import factorial, inf, nan

from tg_uop import Ops, UOp, dtypes

from tg_codegen.legalize.arithmetic import DOUBLE, SINGLE, absolute, multiply_add, polynomial
from tg_codegen.target.caps import Capabilities

# 1280 bits of 2/pi: more than the exponent of a float64 plus two significands reach
TWO_OVER_PI_BITS = 1280


def _inverse_tangent(divisor: int, bits: int) -> int:
    """arctan(1 / divisor) * 2**bits, by its Taylor series."""
    power = (1 << bits) // divisor
    total = power
    square = divisor * divisor
    term = 3
    sign = -1
    while power:
        power //= square
        total += sign * (power // term)
        sign = -sign
        term += 2
    return total


def _two_over_pi() -> int:
    """2/pi * 2**TWO_OVER_PI_BITS, pi by Machin's formula."""
    bits = TWO_OVER_PI_BITS + 64
    pi = 4 * (4 * _inverse_tangent(5, bits) - _inverse_tangent(239, bits))
    return (2 << (bits + TWO_OVER_PI_BITS)) // pi


TWO_OVER_PI = _two_over_pi()
HALF_PI = float(Fraction(1 << TWO_OVER_PI_BITS, TWO_OVER_PI))

# (sin(r) / r - 1) / r**2 and (cos(r) - 1 + r**2 / 2) / r**4 in r**2 for |r| <= pi/4: errors 2**-28
# and 2**-33
SIN_SINGLE = (-0.16666655242443085, 0.008332177996635437, -0.00019517233886290342)
COS_SINGLE = (0.04166664555668831, -0.0013887315290048718, 2.4433080398011953e-05)

# *** float32: the reduction in float64 ***

# x == y * 2**(26 * step) with an integer y below 2**50, or x itself is below; then what is a
# multiple of 4 in 2/pi * 2**(26 * step) does not matter, and products with 29-bit pieces are exact
STEP = 26
STEPS = 4
LIMIT = 50
PIECE_BITS = 29
# bits before the point that matter: quadrants count modulo 4
WHOLE_BITS = 2


def _pieces(shift: int) -> tuple[float, ...]:
    """2/pi * 2**shift modulo 4, from -2 to 2, as three pieces of 29 bits and a rest."""
    fraction_bits = TWO_OVER_PI_BITS - shift
    modulus = 1 << (fraction_bits + WHOLE_BITS)
    value = TWO_OVER_PI % modulus
    if value >= modulus // 2:
        value -= modulus
    pieces = []
    for number in range(1, 4):
        unit = fraction_bits + WHOLE_BITS - PIECE_BITS * number
        piece = value >> unit
        value -= piece << unit
        pieces.append(float(Fraction(piece << unit, 1 << fraction_bits)))
    return (*pieces, float(Fraction(value, 1 << fraction_bits)))


PIECES = tuple(_pieces(STEP * step) for step in range(STEPS))


def sine(node: UOp, caps: Capabilities) -> UOp:
    """SIN; of infinity and NaN it is NaN."""
    if node.dtype.scalar() is dtypes.float64:
        return _sine_double(node.src[0], caps)
    return _sine_single(node.src[0], caps)


def _sine_single(x: UOp, caps: Capabilities) -> UOp:
    quadrant, r = _reduce_single(x, caps)
    square = r * r
    cube = square * r
    sine_r = multiply_add(polynomial(square, SIN_SINGLE, caps), cube, r, caps)
    series = multiply_add(polynomial(square, COS_SINGLE, caps), square, x.ufix(-0.5), caps)
    cosine_r = multiply_add(series, square, x.ufix(1.0), caps)
    is_odd = (quadrant & 1).ne(0)
    magnitude = is_odd.where(cosine_r, sine_r)
    sign = (quadrant & 2) << 30
    result = (magnitude.bitcast(sign.dtype) ^ sign).bitcast(x.dtype)
    # the reduction loses the sign of -0
    return x.eq(0.0).where(x, result)


def _reduce_single(x: UOp, caps: Capabilities) -> tuple[UOp, UOp]:
    """The quadrant (its low two bits) and r with |r| <= pi/4."""
    count = x.dtype.count
    size = absolute(x, SINGLE)
    below_one = 1.0 - 2.0**-24
    limits = [2.0 ** (LIMIT + STEP * step) * below_one for step in range(STEPS - 1)]
    is_large = [x.ufix(limit).alu(Ops.CMPLT, size) for limit in limits]
    scale = _by_step(is_large, [x.ufix(2.0 ** (-STEP * step)) for step in range(STEPS)])
    y = (x * scale).cast(dtypes.float64)
    columns = zip(*PIECES, strict=True)
    first, second, third, rest = (
        _by_step(is_large, [y.ufix(piece) for piece in column]) for column in columns
    )
    magic = DOUBLE.round_magic
    product = y * first
    whole = product + magic
    turn = multiply_add(y, second, product - (whole - magic), caps)
    more = turn + magic
    turn = multiply_add(y, third, turn - (more - magic), caps)
    turn = multiply_add(y, rest, turn, caps)
    bits = dtypes.int64.vec(count)
    quadrant = (whole.bitcast(bits) + more.bitcast(bits)).cast(dtypes.int32)
    return quadrant, (turn * HALF_PI).cast(dtypes.float32)


def _by_step(is_large: list[UOp], values: list[UOp]) -> UOp:
    """values[n] where the first n conditions hold."""
    result = values[0]
    for condition, value in zip(is_large, values[1:], strict=True):
        result = condition.where(value, result)
    return result


# *** float64: the reduction in integers ***

WORD = 64
# 2/pi with a word of zeros in front, so that small exponents find their bits too
WORDS = tuple(
    (TWO_OVER_PI >> (TWO_OVER_PI_BITS - WORD * number)) & ((1 << WORD) - 1) for number in range(21)
)
# sine and cosine by their Taylor series
SIN_DOUBLE = tuple((-1) ** k / factorial(2 * k + 1) for k in range(1, 9))
COS_DOUBLE = tuple((-1) ** k / factorial(2 * k) for k in range(2, 10))
QUARTER_PI = HALF_PI / 2


def _sine_double(x: UOp, caps: Capabilities) -> UOp:
    size = absolute(x, DOUBLE)
    quadrant, reduced = _reduce_double(x)
    is_small = size < QUARTER_PI
    r = is_small.where(x, reduced)
    quadrant = is_small.where(quadrant.ufix(0), quadrant)
    square = r * r
    sine_r = multiply_add(polynomial(square, SIN_DOUBLE, caps), square * r, r, caps)
    series = multiply_add(polynomial(square, COS_DOUBLE, caps), square, x.ufix(-0.5), caps)
    cosine_r = multiply_add(series, square, x.ufix(1.0), caps)
    magnitude = (quadrant & 1).ne(0).where(cosine_r, sine_r)
    sign = (quadrant & 2) << 62
    result = (magnitude.bitcast(sign.dtype) ^ sign).bitcast(x.dtype)
    result = x.eq(0.0).where(x, result)
    return (size < inf).where(result, x.ufix(nan))


def _reduce_double(x: UOp) -> tuple[UOp, UOp]:
    """The quadrant as uint64 (its low two bits) and r, for |x| of at least pi/4.

    x == m * 2**e with an integer m of 53 bits. Of m * 2**e * 2/pi modulo 4, 192 bits are taken.
    """
    unsigned = dtypes.uint64.vec(x.dtype.count)
    bits = x.bitcast(unsigned)
    biased = (bits >> 52) & 0x7FF
    m = (bits & ((1 << 52) - 1)) | (1 << 52)
    # the first of the 192 bits is number e - 2 of 2/pi; e is at least -53 here
    first = biased - (1075 + 2 - WORD)
    window = _window(first >> 6, first & 63)
    high, middle, low = _times(m, window)
    quadrant = (high + (1 << 61)) >> 62
    # the two bits of the quadrant leave at the top: a signed fraction of a quarter turn is left
    fraction = [(high << 2) | (middle >> 62), (middle << 2) | (low >> 62), low << 2]
    is_below = fraction[0].bitcast(dtypes.int64.vec(x.dtype.count)) < 0
    size = [is_below.where(part ^ ((1 << WORD) - 1), part) for part in fraction]
    turn = size[0].cast(x.dtype) * 2.0**-64 + size[1].cast(x.dtype) * 2.0**-128
    r = turn * HALF_PI
    is_negative = is_below.ne(x < 0.0)
    flipped = (x < 0.0).where(quadrant.ufix(0) - quadrant, quadrant)
    return flipped, is_negative.where(-r, r)


def _window(index: UOp, shift: UOp) -> list[UOp]:
    """Three words of 2/pi from bit `shift` of word `index` on, halving the words to choose from."""
    words = [index.ufix(word) for word in WORDS]
    for step in (16, 8, 4, 2, 1):
        is_set = (index & step).ne(0)
        kept = 4 + step - 1
        words = [
            is_set.where(words[i + step], words[i]) if i + step < len(words) else words[i]
            for i in range(min(kept, len(words)))
        ]
    back = shift.ufix(63) - shift
    return [(words[i] << shift) | ((words[i + 1] >> 1) >> back) for i in range(3)]


def _times(m: UOp, window: list[UOp]) -> tuple[UOp, UOp, UOp]:
    """The low 192 bits of m * window, by the school method in digits of 32 bits."""
    mask = (1 << 32) - 1
    digits = []
    for word in reversed(window):
        digits += [word & mask, word >> 32]
    multiplier = [m & mask, m >> 32]
    total = []
    carry = m.ufix(0)
    for position, digit in enumerate(digits):
        product = digit * multiplier[0] + (carry & mask)
        upper = carry >> 32
        if position > 0:
            other = digits[position - 1] * multiplier[1]
            lower_sum = (product & mask) + (other & mask)
            total.append(lower_sum & mask)
            carry = (product >> 32) + (other >> 32) + (lower_sum >> 32) + upper
        else:
            total.append(product & mask)
            carry = (product >> 32) + upper
    return (
        total[4] | (total[5] << 32),
        total[2] | (total[3] << 32),
        total[0] | (total[1] << 32),
    )
