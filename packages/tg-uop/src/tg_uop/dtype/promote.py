"""Which dtype an operation on two dtypes has: one lattice.

bool < weakint < the integers < the narrow floats < float16 and bfloat16 < float32 < float64. The
idea of a lattice with weak Python scalars is that of JAX (JEP 9263); where it and PyTorch agree on
a pair, this one does too. A weakint (a Python int) takes the dtype of whatever real number stands
beside it; a Python float does so only beside a float.
"""

from __future__ import annotations

from collections.abc import Iterable

from tg_uop.dtype.dtype import DType, PtrDType, dtypes
from tg_uop.dtype.value import FORMATS
from tg_uop.errors import DTypeError

_ALL_FP8 = dtypes.fp8s

# the next higher dtypes; int64 and uint64 have no integer above both and meet in float32
_ABOVE: dict[DType, tuple[DType, ...]] = {
    dtypes.bool: (dtypes.weakint,),
    dtypes.weakint: (dtypes.int8, dtypes.uint8),
    dtypes.int8: (dtypes.int16,),
    dtypes.uint8: (dtypes.int16, dtypes.uint16),
    dtypes.int16: (dtypes.int32,),
    dtypes.uint16: (dtypes.int32, dtypes.uint32),
    dtypes.int32: (dtypes.int64,),
    dtypes.uint32: (dtypes.int64, dtypes.uint64),
    dtypes.int64: _ALL_FP8,
    dtypes.uint64: _ALL_FP8,
    **dict.fromkeys(_ALL_FP8, (dtypes.float16, dtypes.bfloat16)),
    dtypes.float16: (dtypes.float32,),
    dtypes.bfloat16: (dtypes.float32,),
    dtypes.float32: (dtypes.float64,),
    dtypes.float64: (),
}


def _reachable(dtype: DType) -> frozenset[DType]:
    found = {dtype}
    pending = [dtype]
    while pending:
        for above in _ABOVE[pending.pop()]:
            if above not in found:
                found.add(above)
                pending.append(above)
    return frozenset(found)


_UP = {dtype: _reachable(dtype) for dtype in _ABOVE}


def _join(left: DType, right: DType) -> DType:
    common = _UP[left] & _UP[right]
    lowest = [d for d in common if not any(d is not o and d in _UP[o] for o in common)]
    if len(lowest) == 1:
        return lowest[0]
    if left.is_int and right.is_int:
        return dtypes.float32
    # two kinds of fp8: float16 holds all of both
    return dtypes.float16


_JOINS = {(left, right): _join(left, right) for left in _UP for right in _UP}


def least_upper_dtype(*given: DType) -> DType:
    """The lowest dtype to which all of them promote.

    Raises `DTypeError` for vectors, pointers and void, and for nothing at all.
    """
    if not given:
        raise DTypeError(what="promotion", dtypes=[], reason="there is nothing to promote")
    result = given[0]
    for other in given:
        joined = _JOINS.get((result, other))
        if joined is None:
            raise DTypeError(
                what="promotion",
                dtypes=given,
                reason="only scalar number types promote",
                hint="take .scalar() of vectors first",
            )
        result = joined
    return result


def least_upper_float(dtype: DType) -> DType:
    """The dtype itself if it is a float, else the default float."""
    return dtype if dtype.is_float else dtypes.default_float


def scalar_dtype(value: bool | int | float, beside: DType) -> DType:
    """The dtype of a Python scalar next to a value of dtype `beside`.

    An int takes the dtype of any number, a float of any float; beside something lower they are of
    the default dtypes.
    """
    if isinstance(value, bool):
        return dtypes.bool if beside.is_bool else beside
    if isinstance(value, int):
        return dtypes.default_int if beside.is_bool else beside
    return beside if beside.is_float else dtypes.default_float


def promote_with_scalar(dtype: DType, value: bool | int | float) -> DType:
    """The dtype of an operation on a value of `dtype` and a Python scalar."""
    return least_upper_dtype(dtype, scalar_dtype(value, dtype))


def can_lossless_cast(source: DType, target: DType) -> bool:
    """Whether every value of `source` is one of `target` too, infinities and NaN included."""
    source, target = source.scalar(), target.scalar()
    if source is target:
        return True
    if isinstance(source, PtrDType) or isinstance(target, PtrDType):
        return False
    if target.is_float:
        return _fits_in_float(source, target)
    if source.is_float or not target.is_int:
        return False
    return source.is_bool or (target.min <= source.min and source.max <= target.max)


def _fits_in_float(source: DType, target: DType) -> bool:
    layout = FORMATS[target]
    if source.is_bool:
        return True
    if source.is_int:
        magnitude_bits = source.bitsize - (not source.is_unsigned)
        return magnitude_bits <= layout.mantissa + 1 and float(-source.min) <= layout.largest
    if not source.is_float:
        return False
    own = FORMATS[source]
    return (
        own.mantissa <= layout.mantissa
        and own.largest <= layout.largest
        and own.lowest_exponent - own.mantissa >= layout.lowest_exponent - layout.mantissa
        and own.has_inf <= layout.has_inf
        and own.has_negative_zero <= layout.has_negative_zero
    )


def sum_acc_dtype(dtype: DType) -> DType:
    """In which dtype a sum or product over values of `dtype` is accumulated.

    Integers narrower than 32 bits and bool take 32 bits of their signedness, floats narrower than
    float32 take float32.
    """
    if dtype is dtypes.weakint or dtype.itemsize >= 4:
        return dtype
    if dtype.is_float:
        return dtypes.float32
    return dtypes.uint32 if dtype.is_unsigned else dtypes.int32


def sum_result_dtype(dtype: DType) -> DType:
    """The dtype of a sum or product: of integers that of the accumulator, of floats their own."""
    return dtype if dtype.is_float else sum_acc_dtype(dtype)


def promotion_markdown(given: Iterable[DType] = tuple(_ABOVE)) -> str:
    """The lattice as a table: the dtype of each pair."""
    names = list(given)
    lines = [
        "| | " + " | ".join(d.name for d in names) + " |",
        "|" + " --- |" * (len(names) + 1),
    ]
    for left in names:
        cells = " | ".join(least_upper_dtype(left, right).name for right in names)
        lines.append(f"| {left.name} | {cells} |")
    return "\n".join(lines) + "\n"


def dtypes_markdown() -> str:
    """The reference page of number types: their sizes, and the dtype that two of them make."""
    aliases: dict[DType, list[str]] = {}
    for name, dtype in dtypes.fields().items():
        aliases.setdefault(dtype, []).append(f"`{name}`")
    lines = ["# Number types", "", "| names | bits |", "| --- | --- |"]
    for dtype in sorted(aliases):
        bits = "exact" if dtype is dtypes.weakint else str(dtype.bitsize)
        lines.append(f"| {', '.join(aliases[dtype])} | {bits} |")
    lines += ["", "## Promotion", "", PROMOTION_TEXT, "", promotion_markdown()]
    return "\n".join(lines)


PROMOTION_TEXT = (
    "What an operation on two number types gives. `weakint` is the type of a Python int: it takes\n"
    "the type of the number beside it. A Python float takes that of a float beside it, and is of\n"
    "`dtypes.default_float` beside an integer."
)
