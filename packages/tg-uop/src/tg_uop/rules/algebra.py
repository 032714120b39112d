"""Laws of sums, products, choice, bits and logic that hold whatever the bounds are."""

from __future__ import annotations

from math import frexp, isfinite

from tg_uop.dtype.dtype import dtypes, wrap_int
from tg_uop.ir.ops import GroupOp, Ops
from tg_uop.ir.uop import UOp
from tg_uop.rewrite.matcher import PatternMatcher, rule
from tg_uop.rewrite.pattern import UPat
from tg_uop.rules.constants import (
    INTEGERS,
    WHOLE,
    constant_like,
    integer_constant,
)
from tg_uop.rules.linear import (
    MAX_TERMS,
    in_order,
    is_before,
    linear,
    term_and_factor,
    write,
)

FLOATS = dtypes.floats
X = UPat.var("x")
Y = UPat.var("y")
WHOLE_X = UPat.var("x", WHOLE)
INT_X = UPat.var("x", INTEGERS)
INT_Y = UPat.var("y", INTEGERS)
BOOL_X = UPat.var("x", dtypes.bool)
BOOL_Y = UPat.var("y", dtypes.bool)
FLOAT_X = UPat.var("x", FLOATS)

# *** neutral and absorbing operands ***


@rule(INT_X + UPat.const(0), law="x + 0 == x")
def add_zero(x: UOp) -> UOp:
    """Integers; for floats see `add_negative_zero`."""
    return x


@rule(FLOAT_X + UPat.const(-0.0), law="x + -0.0 == x")
def add_negative_zero(x: UOp) -> UOp:
    """Floats: x + 0.0 would turn -0.0 into 0.0."""
    return x


@rule(FLOAT_X + UPat.const(0.0), law="x + 0.0 == x")
def add_positive_zero(x: UOp) -> UOp | None:
    """Only where x cannot be -0.0."""
    return x if never_negative_zero(x) else None


@rule(UPat(Ops.SUB, src=(FLOAT_X, UPat.const(0.0))), law="x - 0.0 == x")
def subtract_zero(x: UOp) -> UOp:
    """Floats; integer differences become sums."""
    return x


@rule(X * UPat.const(1), law="x * 1 == x")
def multiply_by_one(x: UOp) -> UOp:
    """Any number type."""
    return x


@rule(INT_X * UPat.const(0), law="x * 0 == 0")
def multiply_by_zero(x: UOp) -> UOp:
    """Integers only: infinity * 0 is nan."""
    return constant_like(x, 0)


@rule(UPat(Ops.FDIV, src=(X, UPat.const(1.0))), law="x / 1 == x")
def divide_by_one(x: UOp) -> UOp:
    """Floats."""
    return x


@rule(UPat(Ops.FDIV, src=(X, UPat.cvar("c")), name="node"), law="x / 2**k == x * 2**-k")
def divide_by_power_of_two(node: UOp, x: UOp, c: UOp) -> UOp | None:
    """Both are the same exact number, rounded, if the reciprocal is a normal number of the type."""
    value = c.arg
    if not isinstance(value, float) or not isfinite(value):
        return None
    mantissa, exponent = frexp(value)
    largest = (1 << (dtypes.finfo(node.dtype).exponent - 1)) - 3
    if abs(mantissa) != 0.5 or abs(exponent) > largest:
        return None
    return x * UOp.const(node.dtype, 1.0 / value)


@rule(UPat(Ops.NEG, FLOATS, src=(UPat(Ops.NEG, src=(X,)),)), law="--x == x")
def negate_twice(x: UOp) -> UOp:
    """Floats; integer negation becomes a product."""
    return x


NO_NEGATIVE_ZERO_DEPTH = 4


def never_negative_zero(x: UOp, depth: int = NO_NEGATIVE_ZERO_DEPTH) -> bool:
    """Whether a float cannot be -0.0."""
    if x.op is Ops.CONST:
        return x.arg != -0.0  # a ConstFloat: 0.0 is not -0.0
    if x.op is Ops.CAST:
        return not x.src[0].dtype.is_float
    if x.op is Ops.EXP2:
        return True
    if x.op is Ops.MUL and x.src[0] is x.src[1]:
        return True
    if depth == 0:
        return False
    if x.op is Ops.ADD:
        # rounding to nearest, a sum is -0.0 only if both operands are
        return any(never_negative_zero(s, depth - 1) for s in x.src)
    if x.op is Ops.WHERE:
        return all(never_negative_zero(s, depth - 1) for s in x.src[1:])
    return False


# *** the spelling of integer sums and products ***


@rule(UPat(Ops.SUB, INTEGERS, src=(X, Y), name="node"), law="x - y == x + y * -1")
def subtract_as_sum(node: UOp, x: UOp, y: UOp) -> UOp | None:
    """Modulo the width too. Unsigned differences stay, unless y is a constant or x itself."""
    if x is y:
        return constant_like(node, 0)
    if node.dtype.is_unsigned and y.op is not Ops.CONST:
        return None
    return x + y * UOp.const(node.dtype, wrap_int(-1, node.dtype))


@rule(UPat(Ops.NEG, INTEGERS, src=(X,), name="node"), law="-x == x * -1")
def negate_as_product(node: UOp, x: UOp) -> UOp | None:
    """Signed and exact integers."""
    return None if node.dtype.is_unsigned else x * UOp.const(node.dtype, -1)


@rule(UPat(Ops.XOR, dtypes.weakint, src=(X, UPat.const(-1))), law="x ^ -1 == x * -1 - 1")
def flipped_bits_as_sum(x: UOp) -> UOp:
    """Exact integers, whose minimum is written with flipped bits."""
    return x * -1 + -1


@rule(UPat(Ops.ADD, INTEGERS, name="total"), law="a sum has one spelling")
def order_sum(total: UOp) -> UOp | None:
    """Like terms together, outer loops first, the constant last. Holds modulo the width too."""
    left, right = total.src
    if _extends_sum(left, right):
        return None
    found = linear(total, exact=False)
    if len(found.terms) > MAX_TERMS:
        return _move_constant_last(total, left, right)
    return write(found, total)


def _extends_sum(left: UOp, right: UOp) -> bool:
    """Whether `right` is a term that comes after the last one of `left`, which is in order."""
    if right.op in (Ops.ADD, Ops.SUB, Ops.NEG):
        return False
    constant_last = left.op is Ops.ADD and left.src[1].op is Ops.CONST
    if left.op is Ops.CONST or constant_last or left.op in (Ops.SUB, Ops.NEG):
        return False
    if right.op is Ops.CONST:
        return right.arg != 0
    last = left.src[1] if left.op is Ops.ADD else left
    return is_before(term_and_factor(last)[0], term_and_factor(right)[0])


def _move_constant_last(total: UOp, left: UOp, right: UOp) -> UOp | None:
    """(x + c) + y == (x + y) + c: all that is done to a very long sum."""
    if right.op is Ops.CONST and left.op is Ops.ADD and left.src[1].op is Ops.CONST:
        return left.src[0] + (left.src[1] + right)
    if left.op is Ops.ADD and left.src[1].op is Ops.CONST:
        return (left.src[0] + right) + left.src[1]
    if left.op is Ops.CONST:
        return right + left
    if right.op is Ops.ADD and right.src[1].op is Ops.CONST:
        return (left + right.src[0]) + right.src[1]
    return None


@rule(UPat(Ops.MUL, INTEGERS, name="product"), law="a product has one spelling")
def order_product(product: UOp) -> UOp | None:
    """Factors in order, the constant last; a constant times a sum is spread over its terms."""
    left, right = product.src
    if right.op is Ops.CONST:
        return _times_constant(product, left, right)
    if left.op is Ops.CONST:
        return right * left
    factors, constant = _factors(product)
    if constant == 1 and _is_ordered(product, factors):
        return None
    result = factors[0]
    for factor in factors[1:]:
        result = result * factor
    return result if constant == 1 else result * UOp.const(product.dtype, constant)


def _times_constant(product: UOp, left: UOp, right: UOp) -> UOp | None:
    inner = term_and_factor(left)
    if inner[0] is not left or left.op in (Ops.ADD, Ops.SUB, Ops.NEG):
        found = linear(product, exact=False)
        if len(found.terms) <= MAX_TERMS:
            return write(found, product)
    return None


def _factors(product: UOp) -> tuple[list[UOp], int]:
    """Factors in order without constants, and the constant."""
    found: list[UOp] = []
    constant = 1
    for part in product.split_uop(Ops.MUL):
        value = integer_constant(part)
        if value is None:
            found.append(part)
        else:
            constant = wrap_int(constant * value, product.dtype)
    return (in_order(found) if len(found) <= MAX_TERMS else found), constant


def _is_ordered(product: UOp, factors: list[UOp]) -> bool:
    """Whether the product is already the chain over these factors."""
    node = product
    for factor in reversed(factors[1:]):
        if node.op is not Ops.MUL or node.src[1] is not factor:
            return False
        node = node.src[0]
    return node is factors[0]


@rule(
    UPat(
        (Ops.AND, Ops.OR, Ops.XOR, Ops.MAX, Ops.CMPNE, Ops.CMPEQ),
        src=(UPat.cvar("c"), X),
        name="node",
    ),
    law="c op x == x op c",
)
def constant_last(node: UOp, c: UOp, x: UOp) -> UOp | None:
    """Operations that commute, on integers and bools; two constants are folded elsewhere."""
    if x.op in GroupOp.Constant or c.dtype.is_float:
        return None
    return node.replace(src=(x, c))


@rule(
    UPat(
        (Ops.AND, Ops.OR, Ops.XOR, Ops.MAX),
        WHOLE,
        name="node",
        src=(UPat(name="inner", src=(X, UPat.cvar("a"))), UPat.cvar("b")),
    ),
    law="(x op a) op b == x op (a op b)",
)
def join_constants(node: UOp, inner: UOp, x: UOp, a: UOp, b: UOp) -> UOp | None:
    """Operations that associate, on integers and bools."""
    return x.alu(node.op, a.alu(node.op, b)) if inner.op is node.op else None


# *** the same operand twice ***


@rule(UPat((Ops.AND, Ops.OR, Ops.MAX), src=(X, X)), law="x op x == x")
def idempotent(x: UOp) -> UOp:
    """And, or, max: also of floats, where max of nan is nan."""
    return x


@rule(UPat(Ops.XOR, WHOLE, src=(X, X)), law="x ^ x == 0")
def xor_itself(x: UOp) -> UOp:
    """Bits and bools."""
    return constant_like(x, 0)


@rule(UPat(Ops.IDIV, src=(INT_X, X)), law="x / x == 1")
def divide_by_itself(x: UOp) -> UOp | None:
    """Only where x is known not to be 0: 0 / 0 is 0."""
    return constant_like(x, 1) if x.vmin > 0 or x.vmax < 0 else None


@rule(UPat(Ops.MOD, src=(INT_X, X)), law="x mod x == 0")
def remainder_of_itself(x: UOp) -> UOp:
    """Also for x == 0."""
    return constant_like(x, 0)


@rule(UPat(Ops.CMPLT, src=(X, X), name="node"), law="not x < x")
def less_than_itself(node: UOp, x: UOp) -> UOp:
    """Also of nan."""
    return constant_like(node, False)


@rule(UPat((Ops.CMPNE, Ops.CMPEQ), src=(WHOLE_X, X), name="node"), law="x == x")
def equal_to_itself(node: UOp, x: UOp) -> UOp:
    """Integers and bools: nan differs from itself."""
    return constant_like(node, node.op is Ops.CMPEQ)


# *** bits ***


@rule(UPat(Ops.AND, WHOLE, src=(X, UPat.cvar("c"))), law="x & 0 == 0, x & -1 == x")
def and_with_constant(x: UOp, c: UOp) -> UOp | None:
    """Integers and bools."""
    if c.arg == 0:
        return constant_like(x, 0)
    return x if _is_all_ones(c) else None


@rule(UPat(Ops.OR, WHOLE, src=(X, UPat.cvar("c"))), law="x | 0 == x, x | -1 == -1")
def or_with_constant(x: UOp, c: UOp) -> UOp | None:
    """Integers and bools."""
    if c.arg == 0:
        return x
    return constant_like(x, c.arg) if _is_all_ones(c) else None


@rule(UPat(Ops.XOR, WHOLE, src=(X, UPat.const(0))), law="x ^ 0 == x")
def xor_with_zero(x: UOp) -> UOp:
    """Integers."""
    return x


def _is_all_ones(c: UOp) -> bool:
    if c.dtype.is_bool:
        return c.arg is True
    return c.arg == (c.dtype.scalar().max if c.dtype.is_unsigned else -1)


@rule(UPat((Ops.SHL, Ops.SHR), src=(INT_X, UPat.const(0))), law="x << 0 == x")
def shift_by_zero(x: UOp) -> UOp:
    """Both directions."""
    return x


# *** division by special constants ***


@rule(UPat(Ops.IDIV, src=(INT_X, UPat.cvar("c")), name="node"), law="x / 1 == x, x / -1 == -x")
def divide_by_unit(node: UOp, x: UOp, c: UOp) -> UOp | None:
    """Division by 0 gives 0."""
    if c.arg == 1:
        return x
    if c.arg == 0:
        return constant_like(node, 0)
    return x * c if c.arg == -1 else None


@rule(UPat(Ops.MOD, src=(INT_X, UPat.cvar("c")), name="node"), law="x mod 1 == 0")
def remainder_by_unit(node: UOp, x: UOp, c: UOp) -> UOp | None:
    """For -1 and 0 too. The sign of a divisor does not matter."""
    if c.arg in (-1, 0, 1):
        return constant_like(node, 0)
    if c.arg < 0 and -c.arg <= node.dtype.scalar().max:  # type: ignore[operator]
        return node.replace(src=(x, UOp.const(c.dtype, -c.arg)))  # type: ignore[operator]
    return None


@rule(UPat((Ops.IDIV, Ops.MOD), src=(UPat.const(0), INT_X), name="node"), law="0 / x == 0")
def divide_zero(node: UOp, x: UOp) -> UOp:
    """Division by 0 gives 0."""
    return constant_like(node, 0)


ALGEBRA = PatternMatcher(
    [
        add_zero,
        add_negative_zero,
        add_positive_zero,
        subtract_zero,
        multiply_by_one,
        multiply_by_zero,
        divide_by_one,
        divide_by_power_of_two,
        negate_twice,
        idempotent,
        xor_itself,
        divide_by_itself,
        remainder_of_itself,
        less_than_itself,
        equal_to_itself,
        and_with_constant,
        or_with_constant,
        xor_with_zero,
        shift_by_zero,
        divide_by_unit,
        remainder_by_unit,
        divide_zero,
    ],
    pure=True,
)

SPELLING = PatternMatcher(
    [
        subtract_as_sum,
        negate_as_product,
        flipped_bits_as_sum,
        constant_last,
        join_constants,
        order_sum,
        order_product,
    ],
    pure=True,
)
