"""Laws of conditions, and of choice by WHERE."""

from __future__ import annotations

from tg_uop.dtype.dtype import dtypes
from tg_uop.ir.ops import GroupOp, Ops
from tg_uop.ir.uop import UOp
from tg_uop.rewrite.matcher import PatternMatcher, rule
from tg_uop.rewrite.pattern import UPat
from tg_uop.rules.constants import constant_like, is_constant, is_invalid

X = UPat.var("x")
Y = UPat.var("y")
Z = UPat.var("z")
COND = UPat.var("cond", dtypes.bool)
OTHER = UPat.var("other", dtypes.bool)
TRUE = UPat.const(True)
FALSE = UPat.const(False)
NOT_COND = UPat(Ops.CMPNE, src=(COND, TRUE))


def negation(cond: UOp) -> UOp:
    """The opposite of a condition, without a double one."""
    inner = negated(cond)
    return cond.ne(True) if inner is None else inner


def negated(cond: UOp) -> UOp | None:
    """What a condition is the opposite of, None if it is not written as an opposite."""
    if cond.op is Ops.CMPNE and is_constant(cond.src[1], True):
        return cond.src[0]
    return None


# *** not ***


@rule(UPat(Ops.CMPNE, src=(NOT_COND, TRUE)), law="not not c == c")
def double_negation(cond: UOp) -> UOp:
    """Bools."""
    return cond


@rule(UPat(Ops.CMPNE, src=(COND, FALSE)), law="c != False == c")
def differs_from_false(cond: UOp) -> UOp:
    """Bools."""
    return cond


@rule(UPat(Ops.CMPEQ, src=(COND, UPat.cvar("c"))), law="(c == True) == c")
def equals_constant(cond: UOp, c: UOp) -> UOp:
    """Bools; (c == False) == not c."""
    return cond if c.arg is True else negation(cond)


@rule(UPat(Ops.CMPNE, src=(UPat(Ops.CMPEQ, src=(X, Y)), TRUE)), law="not x == y  is  x != y")
def not_equal(x: UOp, y: UOp) -> UOp:
    """Also of nan."""
    return x.ne(y)


@rule(
    UPat(Ops.CMPNE, src=(UPat(Ops.CMPNE, src=(X, Y)), TRUE)),
    law="not x != y  is  x == y",
)
def not_different(x: UOp, y: UOp) -> UOp | None:
    """Also of nan. A comparison of bools stays: it is how opposites are written."""
    return None if x.dtype.is_bool else x.eq(y)


@rule(UPat(Ops.XOR, src=(COND, TRUE)), law="c ^ True == not c")
def xor_with_true(cond: UOp) -> UOp:
    """Bools."""
    return negation(cond)


# *** and, or ***


@rule(UPat(Ops.MUL, dtypes.bool, src=(X, Y)), law="x * y == x & y")
def product_is_and(x: UOp, y: UOp) -> UOp:
    """Bools."""
    return x & y


@rule(UPat((Ops.ADD, Ops.MAX), dtypes.bool, src=(X, Y)), law="x + y == x | y")
def sum_is_or(x: UOp, y: UOp) -> UOp:
    """Bools."""
    return x | y


@rule(UPat(Ops.AND, src=[COND, NOT_COND]), law="c & not c == False")
def and_opposite(cond: UOp) -> UOp:
    """Bools."""
    return constant_like(cond, False)


@rule(UPat(Ops.OR, src=[COND, NOT_COND]), law="c | not c == True")
def or_opposite(cond: UOp) -> UOp:
    """Bools."""
    return constant_like(cond, True)


@rule(
    UPat(Ops.AND, src=[UPat(Ops.AND, src=[COND, OTHER], name="both"), COND]),
    law="(c & d) & c == c & d",
)
def and_repeated(both: UOp, cond: UOp, other: UOp) -> UOp:
    """Bools."""
    return both


@rule(
    UPat(Ops.OR, src=[UPat(Ops.OR, src=[COND, OTHER], name="either"), COND]),
    law="(c | d) | c == c | d",
)
def or_repeated(either: UOp, cond: UOp, other: UOp) -> UOp:
    """Bools."""
    return either


@rule(UPat(Ops.AND, src=[UPat(Ops.OR, src=[COND, OTHER]), COND]), law="(c | d) & c == c")
def and_absorbs_or(cond: UOp, other: UOp) -> UOp:
    """Bools."""
    return cond


@rule(UPat(Ops.OR, src=[UPat(Ops.AND, src=[COND, OTHER]), COND]), law="(c & d) | c == c")
def or_absorbs_and(cond: UOp, other: UOp) -> UOp:
    """Bools."""
    return cond


@rule(UPat(Ops.CMPLT, src=(COND, OTHER)), law="c < d  is  not c & d")
def less_than_of_bools(cond: UOp, other: UOp) -> UOp:
    """Bools: False is less than True."""
    return negation(cond) & other


# *** where ***


@rule(UPat(Ops.WHERE, src=(UPat.cvar("c"), X, Y)), law="where(True, x, y) == x")
def where_constant(c: UOp, x: UOp, y: UOp) -> UOp | None:
    """Chooses at compile time."""
    if is_invalid(c):
        return None
    return x if c.arg else y


@rule(UPat(Ops.WHERE, src=(COND, X, X)), law="where(c, x, x) == x")
def where_same(cond: UOp, x: UOp) -> UOp:
    """Any dtype."""
    return x


@rule(
    UPat(Ops.WHERE, dtypes.bool, src=(COND, UPat.cvar("a"), UPat.cvar("b"))),
    law="where(c, True, False) == c",
)
def where_of_truths(cond: UOp, a: UOp, b: UOp) -> UOp | None:
    """Bools; where(c, False, True) == not c."""
    if is_constant(a, True) and is_constant(b, False):
        return cond
    if is_constant(a, False) and is_constant(b, True):
        return negation(cond)
    return None


@rule(UPat(Ops.WHERE, dtypes.bool, src=(COND, X, FALSE)), law="where(c, x, False) == c & x")
def where_or_false(cond: UOp, x: UOp) -> UOp | None:
    """Bools."""
    return None if is_invalid(x) else cond & x


@rule(UPat(Ops.WHERE, dtypes.bool, src=(COND, TRUE, Y)), law="where(c, True, y) == c | y")
def where_true_or(cond: UOp, y: UOp) -> UOp | None:
    """Bools."""
    return None if is_invalid(y) else cond | y


@rule(UPat(Ops.WHERE, src=(NOT_COND, X, Y)), law="where(not c, x, y) == where(c, y, x)")
def where_not(cond: UOp, x: UOp, y: UOp) -> UOp | None:
    """Unless that would put Invalid first: an index comes before it."""
    return None if is_invalid(y) else cond.where(y, x)


@rule(
    UPat(Ops.WHERE, src=(COND, UPat(Ops.WHERE, src=(COND, X, Y)), Z)),
    law="where(c, where(c, x, y), z) == where(c, x, z)",
)
def where_known_true(cond: UOp, x: UOp, y: UOp, z: UOp) -> UOp:
    """Any dtype."""
    return cond.where(x, z)


@rule(
    UPat(Ops.WHERE, src=(COND, X, UPat(Ops.WHERE, src=(COND, Y, Z)))),
    law="where(c, x, where(c, y, z)) == where(c, x, z)",
)
def where_known_false(cond: UOp, x: UOp, y: UOp, z: UOp) -> UOp:
    """Any dtype."""
    return cond.where(x, z)


@rule(
    UPat(Ops.WHERE, src=(COND, UPat(Ops.WHERE, src=(OTHER, X, Y)), Y)),
    law="where(c, where(d, x, y), y) == where(c & d, x, y)",
)
def where_both(cond: UOp, other: UOp, x: UOp, y: UOp) -> UOp:
    """Any dtype."""
    return (cond & other).where(x, y)


CHOICE = UPat(Ops.WHERE, src=(UPat.var("c"), UPat.cvar("a"), UPat.cvar("b")), name="choice")
CONST = UPat.cvar("k")
UNARY = GroupOp.Unary | {Ops.CAST}


@rule(UPat(UNARY, src=(CHOICE,), name="node"), law="op(where(c, a, b)) == where(c, op(a), op(b))")
def operation_on_chosen(node: UOp, choice: UOp, c: UOp, a: UOp, b: UOp) -> UOp | None:
    """Where both branches are constants, so that the operations fold. Invalid is left alone."""
    if is_invalid(a) or is_invalid(b):
        return None
    return c.where(node.replace(src=(a,)), node.replace(src=(b,)))


@rule(
    UPat.any(
        UPat(GroupOp.Binary, src=(CHOICE, CONST), name="node"),
        UPat(GroupOp.Binary, src=(CONST, CHOICE), name="node"),
    ),
    law="where(c, a, b) op k == where(c, a op k, b op k)",
)
def operation_on_chosen_and_constant(
    node: UOp, choice: UOp, c: UOp, a: UOp, b: UOp, k: UOp
) -> UOp | None:
    """Where everything but the condition is constant. Invalid is left alone."""
    if is_invalid(a) or is_invalid(b) or is_invalid(k):
        return None
    is_left = node.src[0] is choice
    yes = node.replace(src=(a, k) if is_left else (k, a))
    no = node.replace(src=(b, k) if is_left else (k, b))
    return c.where(yes, no)


LOGIC = PatternMatcher(
    [
        double_negation,
        differs_from_false,
        equals_constant,
        not_equal,
        not_different,
        xor_with_true,
        product_is_and,
        sum_is_or,
        and_opposite,
        or_opposite,
        and_repeated,
        or_repeated,
        and_absorbs_or,
        or_absorbs_and,
        less_than_of_bools,
        where_constant,
        where_same,
        where_of_truths,
        where_or_false,
        where_true_or,
        where_not,
        where_known_true,
        where_known_false,
        where_both,
        operation_on_chosen,
        operation_on_chosen_and_constant,
    ],
    pure=True,
)
