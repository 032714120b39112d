"""Laws of CAST and BITCAST."""

from __future__ import annotations

from tg_uop.dtype.dtype import DType, dtypes
from tg_uop.eval.scalar import alu
from tg_uop.ir.ops import GroupOp, Ops
from tg_uop.ir.uop import UOp
from tg_uop.rewrite.matcher import PatternMatcher, rule
from tg_uop.rewrite.pattern import UPat
from tg_uop.rules.constants import (
    INTEGERS,
    WHOLE,
    constant_like,
    integer_constant,
    is_invalid,
)
from tg_uop.rules.linear import fits
from tg_uop.rules.logic import negation

X = UPat.var("x")


@rule(UPat((Ops.CAST, Ops.BITCAST), src=(X,), name="node"), law="cast to the same dtype is x")
def same_dtype(node: UOp, x: UOp) -> UOp | None:
    """Any dtype."""
    return x if x.dtype == node.dtype else None


@rule(UPat(Ops.BITCAST, src=(UPat(Ops.BITCAST, src=(X,)),), name="node"), law="bitcasts join")
def bitcast_twice(node: UOp, x: UOp) -> UOp | None:
    """Only where no bytes are regrouped on the way."""
    middle = node.src[0].dtype
    if not x.dtype.itemsize == middle.itemsize == node.dtype.itemsize:
        return None
    return x.bitcast(node.dtype)


@rule(UPat(Ops.CAST, src=(UPat(Ops.CAST, src=(X,), name="inner"),), name="node"), law="casts join")
def cast_twice(node: UOp, inner: UOp, x: UOp) -> UOp | None:
    """Where the inner cast keeps every value that x can have, or the outer one forgets the same
    high bits of an integer.
    """
    if holds_all(x, inner.dtype) or _keeps_low_bits(x.dtype, inner.dtype, node.dtype):
        return x.cast(node.dtype)
    return None


def holds_all(x: UOp, target: DType) -> bool:
    """Whether a cast of `x` to `target` loses nothing."""
    source, wide = x.dtype.scalar(), target.scalar()
    if source in WHOLE and wide in INTEGERS:
        return fits(int(x.vmin), int(x.vmax), wide)
    if source in WHOLE and wide.is_float:
        limit = 1 << (dtypes.finfo(wide).mantissa + 1)
        # the narrow formats end before their digits do
        return wide not in dtypes.fp8s and -limit <= x.vmin and x.vmax <= limit and limit < 65504
    if source.is_float and wide.is_float:
        return source == wide or (source, wide) in WIDER_FLOATS
    return False


WIDER_FLOATS = frozenset(
    (narrow, wide)
    for wide in (dtypes.float32, dtypes.float64)
    for narrow in (*dtypes.fp8s, dtypes.float16, dtypes.bfloat16, dtypes.float32)
    if narrow != wide
)


def _keeps_low_bits(source: DType, middle: DType, target: DType) -> bool:
    """Integers: low bits of low bits. weakint has no width, so it is no middle."""
    scalars = (source.scalar(), middle.scalar(), target.scalar())
    if any(s not in INTEGERS for s in scalars) or middle.scalar() is dtypes.weakint:
        return False
    return target.scalar() is not dtypes.weakint and target.bitsize <= middle.bitsize


@rule(
    UPat(Ops.CAST, dtypes.bool, src=(UPat(Ops.CAST, src=(UPat.var("x", dtypes.bool),)),)),
    law="bool(number(c)) == c",
)
def bool_and_back(x: UOp) -> UOp:
    """0 and 1 are numbers of every type."""
    return x


@rule(
    UPat(
        GroupOp.Comparison,
        src=(UPat(Ops.CAST, src=(UPat.var("x", dtypes.bool),), name="number"), UPat.cvar("k")),
        name="node",
    ),
    law="number(c) compared with k  is  c, not c, True or False",
)
def compare_number_of_bool(node: UOp, number: UOp, x: UOp, k: UOp) -> UOp | None:
    """Of 0 and 1 every comparison is known."""
    if is_invalid(k):
        return None
    no, yes = (bool(alu(node.op, dtypes.bool, (int(b), _value(k)))) for b in (False, True))
    if no is yes:
        return constant_like(node, yes)
    return x if yes else negation(x)


def _value(k: UOp) -> int | float:
    assert isinstance(k.arg, int | float), "Invalid was excluded"
    return k.arg


@rule(
    UPat(
        GroupOp.Comparison,
        src=(UPat(Ops.CAST, src=(UPat.var("x", INTEGERS),), name="cast"), UPat.cvar("k", INTEGERS)),
        name="node",
    ),
    law="cast(x) compared with k  is  x compared with k",
)
def compare_before_cast(node: UOp, cast: UOp, x: UOp, k: UOp) -> UOp | None:
    """Integers, where the cast keeps all values of x and its own type can write k."""
    value = integer_constant(k)
    if value is None or not holds_all(x, cast.dtype) or not fits(value, value, x.dtype):
        return None
    return x.alu(node.op, UOp.const(x.dtype, value))


@rule(
    UPat(
        GroupOp.Comparison,
        src=(
            UPat(Ops.CAST, src=(UPat.var("x", INTEGERS),), name="left"),
            UPat(Ops.CAST, src=(UPat.var("y", INTEGERS),), name="right"),
        ),
        name="node",
    ),
    law="cast(x) compared with cast(y)  is  x compared with y",
)
def compare_before_casts(node: UOp, left: UOp, right: UOp, x: UOp, y: UOp) -> UOp | None:
    """Integers of one type, where the casts keep all values."""
    if x.dtype != y.dtype or not holds_all(x, left.dtype) or not holds_all(y, right.dtype):
        return None
    return x.alu(node.op, y)


CASTS = PatternMatcher(
    [
        same_dtype,
        bitcast_twice,
        bool_and_back,
        cast_twice,
        compare_number_of_bool,
        compare_before_cast,
        compare_before_casts,
    ],
    pure=True,
)
