"""EXP2, LOG2 and POW out of sums, products and bit operations.

Errors are below 1 ulp in float32 over the full range, subnormal numbers included; there are no
branches, so that vectors work as scalars do. The polynomials are minimax fits (Lawson's iteration).
"""

from __future__ import annotations

from fractions import Fraction
from math import factorial, inf, log, nan, sqrt

from tg_uop import DType, Ops, UOp, dtypes
from tg_uop.dtype.value import convert, to_bits

from tg_codegen.legalize.arithmetic import (
    DOUBLE,
    KINDS,
    SINGLE,
    FloatKind,
    absolute,
    exact_product_error,
    multiply_add,
    polynomial,
    smaller,
    times_power_of_two,
)
from tg_codegen.target.caps import Capabilities

LOG2_E = Fraction("1.442695040888963407359924681001892137426645954152985934135449406931")

# *** 2 ** x ***

# (2**f - 1) / f on [-1/2, 1/2], error 2**-28.9
EXP2_SINGLE = (
    0.6931471824645996,
    0.24022647738456726,
    0.055503323674201965,
    0.00961843691766262,
    0.0013398875016719103,
    0.00015353360504377633,
)
# the Taylor series: the first term left out is below 2**-57
EXP2_DOUBLE = tuple(log(2) ** k / factorial(k) for k in range(1, 14))
# beyond these the result is 0 or infinity
EXP2_LIMIT = {SINGLE.float_type: 200.0, DOUBLE.float_type: 1200.0}


def exp2(node: UOp, caps: Capabilities) -> UOp:
    """EXP2 by 2**x == 2**n * 2**f with n the nearest integer.

    Of 2**(x * log2(e)), which is how e**x comes here, the product is taken with twice the digits:
    its rounding error would be a relative error of the result, up to 40 ulp.
    """
    x = node.src[0]
    kind = KINDS[node.dtype.scalar()]
    limit = EXP2_LIMIT[kind.float_type]
    factors = _natural_factors(x, kind)
    if factors is None:
        clamped = smaller(x.maximum(x.ufix(-limit)), limit)
        return _exp2_sum(clamped, None, kind, caps)
    base, scale, missing = factors
    bound = abs(limit / scale)
    clamped = smaller(base.maximum(base.ufix(-bound)), bound)
    product = clamped * scale
    error = exact_product_error(clamped, clamped.ufix(scale), product, kind, caps)
    error = multiply_add(clamped, clamped.ufix(missing), error, caps)
    return _exp2_sum(product, error, kind, caps)


def _natural_factors(x: UOp, kind: FloatKind) -> tuple[UOp, float, float] | None:
    """Of x = base * scale, where scale is a rounded log2(e) or -log2(e), once or twice: base, scale
    and what rounding has taken from scale.
    """
    if x.op is not Ops.MUL:
        return None
    for base, scale in (x.src, x.src[::-1]):
        if scale.op is not Ops.CONST or not isinstance(scale.arg, float):
            continue
        value = float(convert(float(scale.arg), kind.float_type))
        for exact in (LOG2_E, -LOG2_E, 2 * LOG2_E, -2 * LOG2_E):
            if value == convert(float(exact), kind.float_type):
                return base, value, float(exact - Fraction(value))
    return None


def _exp2_sum(x: UOp, addend: UOp | None, kind: FloatKind, caps: Capabilities) -> UOp:
    """2 ** (x + addend) with a tiny addend and x within the limits."""
    shifted = x + kind.round_magic
    whole = shifted - kind.round_magic
    rest = x - whole if addend is None else (x - whole) + addend
    coefficients = EXP2_SINGLE if kind is SINGLE else EXP2_DOUBLE
    series = polynomial(rest, coefficients, caps)
    mantissa = multiply_add(series, rest, rest.ufix(1.0), caps)
    return times_power_of_two(mantissa, shifted, kind)


# *** log2(x) ***

# log2(1 + r) / r - 1 on [sqrt(1/2) - 1, sqrt(2) - 1], relative error 2**-27.9
LOG2_SINGLE = (
    0.4426950514316559,
    -0.7213473320007324,
    0.4808982312679291,
    -0.3606966435909271,
    0.2885673940181732,
    -0.23961739242076874,
    0.2046007663011551,
    -0.19106297194957733,
    0.18617413938045502,
    -0.1099480614066124,
)
# of log(1 + r) == 2 * atanh(s), s == r / (2 + r), what follows the first term, over s squared
ATANH_DOUBLE = tuple(2 / (2 * k + 1) for k in range(1, 12))


def log2(node: UOp, caps: Capabilities) -> UOp:
    """LOG2 by x == 2**n * (1 + r) with 1 + r between the square roots of 1/2 and 2."""
    x = node.src[0]
    kind = KINDS[node.dtype.scalar()]
    exponent, r = _split_exponent(x, kind)
    if kind is SINGLE:
        fraction = multiply_add(polynomial(r, LOG2_SINGLE, caps), r, r, caps)
        result = exponent + fraction
    else:
        high, low = _log2_pair(exponent, r, caps)
        result = high + low
    return _log2_special(x, result)


def _split_exponent(x: UOp, kind: FloatKind) -> tuple[UOp, UOp]:
    """n as a float, and r. Subnormal numbers are scaled up first."""
    float_type, int_type = kind.lanes(x.dtype.count)
    shift = kind.mantissa + 1
    is_tiny = x < 2.0 ** (1 - kind.bias)
    normal = is_tiny.where(x * 2.0**shift, x)
    bits = normal.bitcast(int_type)
    root = to_bits(sqrt(0.5), kind.float_type)
    exponent = (bits - root) >> kind.mantissa
    r = (bits - (exponent << kind.mantissa)).bitcast(float_type) - 1.0
    n = exponent.cast(float_type)
    return is_tiny.where(n - float(shift), n), r


def _log2_special(x: UOp, result: UOp) -> UOp:
    """The logarithm of 0 is -inf, of a negative number NaN; infinity and NaN stay."""
    of_zero = x.eq(0.0).where(x.ufix(-inf), x)
    special = (x < 0.0).where(x.ufix(nan), of_zero)
    is_regular = x.ufix(0.0).alu(Ops.CMPLT, x) & (x < inf)
    return is_regular.where(result, special)


def _log2_pair(n: UOp, r: UOp, caps: Capabilities) -> tuple[UOp, UOp]:
    """n + log2(1 + r) as an unevaluated sum; after fdlibm's logarithm (Sun Microsystems, 1993).

    log(1 + r) == r - (h - s * (h + R)) with h == r * r / 2. The part r - h is cut to half the
    digits, so that its product with a cut log2(e) is exact.
    """
    int_type = dtypes.int64.vec(r.dtype.count)
    s = r.alu(Ops.FDIV, r + 2.0)
    square = s * s
    series = polynomial(square, ATANH_DOUBLE, caps) * square
    half_square = r * r * 0.5
    cut = ((r - half_square).bitcast(int_type) & (-1 << 32)).bitcast(r.dtype)
    rest = ((r - cut) - half_square) + s * (half_square + series)
    factor_high = float(Fraction(int(LOG2_E * 2**20), 2**20))
    factor_low = float(LOG2_E - Fraction(factor_high))
    high = cut * factor_high
    low = (rest + cut) * factor_low + rest * factor_high
    total = n + high
    # exact, as n is 0 or larger than the other
    return total, low + ((n - total) + high)


# *** x ** y ***


def power(node: UOp, caps: Capabilities) -> UOp:
    """POW by 2 ** (y * log2(|x|)) in float64, with the special cases of C's pow."""
    x, y = node.src
    double = dtypes.float64.vec(node.dtype.count)
    if node.dtype.scalar() is dtypes.float64:
        magnitude = _power_of_magnitude(absolute(x, DOUBLE), y, caps)
    else:
        wide = x.cast(double)
        magnitude = _power_of_magnitude(absolute(wide, DOUBLE), y.cast(double), caps)
        magnitude = magnitude.cast(node.dtype)
    return _power_special(x, y, magnitude)


def _power_of_magnitude(x: UOp, y: UOp, caps: Capabilities) -> UOp:
    """x ** y for x that is not negative."""
    n, r = _split_exponent(x, DOUBLE)
    high, low = _log2_pair(n, r, caps)
    sum_high = high + low
    sum_low = (high - sum_high) + low
    logarithm = _log2_special(x, sum_high)
    product = y * logarithm
    clamped = smaller(product.maximum(product.ufix(-EXP2_LIMIT[DOUBLE.float_type])), 1200.0)
    error = multiply_add(y, sum_low, exact_product_error(y, sum_high, product, DOUBLE, caps), caps)
    is_small = absolute(product, DOUBLE) < 1100.0
    is_exact = is_small & error.eq(error)
    return _exp2_sum(clamped, is_exact.where(error, error.ufix(0.0)), DOUBLE, caps)


def _power_special(x: UOp, y: UOp, magnitude: UOp) -> UOp:
    """The sign, and where the magnitude does not tell: bases of 1 and -1, NaN."""
    whole = y.alu(Ops.TRUNC)
    half = (y * 0.5).alu(Ops.TRUNC)
    is_whole = whole.eq(y)
    is_odd = is_whole & (half + half).ne(y)
    kind_of_bits = _sign_kind(x.dtype)
    is_negative = x.bitcast(kind_of_bits) < 0
    size_one = (x.eq(1.0) | x.eq(-1.0)) & y.eq(y)
    result = size_one.where(x.ufix(1.0), magnitude)
    result = (is_negative & is_odd).where(-result, result)
    result = ((x < 0.0) & (x.ufix(-inf).alu(Ops.CMPLT, x)) & _not(is_whole)).where(nan, result)
    result = (x.eq(x) & y.eq(y)).where(result, x.ufix(nan))
    return (x.eq(1.0) | y.eq(0.0)).where(x.ufix(1.0), result)


def _not(condition: UOp) -> UOp:
    return condition.ne(True)


def _sign_kind(dtype: DType) -> DType:
    return KINDS[dtype.scalar()].int_type.vec(dtype.count)
