"""The dtypes of the array API standard that there are, and the functions on them.

There are no complex dtypes. float16, bfloat16 and the fp8 kinds, which the standard does not know,
count as real floating-point types.
"""

from __future__ import annotations

from dataclasses import dataclass

from tg_tensor.defaults import DeviceName, DTypeLike, to_dtype
from tg_tensor.errors import ArgumentError
from tg_tensor.tensor import Tensor
from tg_uop import DType, dtypes
from tg_uop.dtype.promote import least_upper_dtype, promote_with_scalar
from tg_uop.dtype.value import FORMATS
from tg_uop.errors import DTypeError

bool = dtypes.bool
int8 = dtypes.int8
int16 = dtypes.int16
int32 = dtypes.int32
int64 = dtypes.int64
uint8 = dtypes.uint8
uint16 = dtypes.uint16
uint32 = dtypes.uint32
uint64 = dtypes.uint64
float32 = dtypes.float32
float64 = dtypes.float64

SIGNED = (int8, int16, int32, int64)
UNSIGNED = (uint8, uint16, uint32, uint64)
REAL = (float32, float64)
NARROW = (dtypes.float16, dtypes.bfloat16, *dtypes.fp8s)

Scalar = int | float
Kind = str | DType | tuple[object, ...]

_KINDS: dict[str, tuple[DType, ...]] = {
    "bool": (bool,),
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": (*SIGNED, *UNSIGNED),
    "real floating": (*REAL, *NARROW),
    "complex floating": (),
    "numeric": (*SIGNED, *UNSIGNED, *REAL, *NARROW),
}


@dataclass(frozen=True, slots=True)
class FloatLimits:
    """What `finfo` says of a floating-point dtype."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True, slots=True)
class IntegerLimits:
    """What `iinfo` says of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: DType


def _dtype_of(value: Tensor | DTypeLike) -> DType:
    return value.dtype if isinstance(value, Tensor) else to_dtype(value)


def astype(
    x: Tensor, dtype: DType, /, *, copy: object = True, device: DeviceName | None = None
) -> Tensor:
    """`x` in another dtype; with `copy=False` itself where it has it already."""
    moved = x if device is None else x.to(device)
    wanted = to_dtype(dtype)
    if moved.dtype is not wanted:
        return moved.cast(wanted)
    return moved.clone() if copy and moved is x else moved


def can_cast(from_: Tensor | DType, to: DType, /) -> object:
    """Whether the promotion of the two dtypes is `to`."""
    wanted = to_dtype(to)
    return least_upper_dtype(_dtype_of(from_), wanted) is wanted


def finfo(type: Tensor | DType, /) -> FloatLimits:
    """The limits of a floating-point dtype. Raises `DTypeError` for others."""
    dtype = _dtype_of(type)
    if not dtype.is_float:
        raise DTypeError(what="finfo", dtypes=[dtype], reason="it is no floating-point type")
    layout = FORMATS[dtype]
    return FloatLimits(
        bits=dtype.bitsize,
        eps=2.0**-layout.mantissa,
        max=layout.largest,
        min=-layout.largest,
        smallest_normal=2.0**layout.lowest_exponent,
        dtype=dtype,
    )


def iinfo(type: Tensor | DType, /) -> IntegerLimits:
    """The limits of an integer dtype. Raises `DTypeError` for others."""
    dtype = _dtype_of(type)
    if not dtype.is_int:
        raise DTypeError(what="iinfo", dtypes=[dtype], reason="it is no integer type")
    return IntegerLimits(bits=dtype.bitsize, max=int(dtype.max), min=int(dtype.min), dtype=dtype)


def isdtype(dtype: DType, kind: Kind) -> object:
    """Whether a dtype is one of a kind, by the standard's names, or a dtype itself.

    Raises `ArgumentError` for a name that the standard does not have.
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, part) for part in kind)  # type: ignore[arg-type]
    if isinstance(kind, DType):
        return dtype is kind
    found = _KINDS.get(kind)
    if found is None:
        raise ArgumentError(
            op="isdtype", argument="kind", given=kind, expected=f"one of {', '.join(_KINDS)}"
        )
    return dtype in found


def result_type(*arrays_and_dtypes: Tensor | DType | Scalar) -> DType:
    """The dtype to which all promote; Python numbers are weak.

    Raises `ArgumentError` without a Tensor or dtype.
    """
    strong = [_dtype_of(v) for v in arrays_and_dtypes if not isinstance(v, int | float)]
    if not strong:
        raise ArgumentError(
            op="result_type",
            argument="arrays_and_dtypes",
            given=arrays_and_dtypes,
            expected="at least one Tensor or dtype",
        )
    result = least_upper_dtype(*strong)
    for value in arrays_and_dtypes:
        if isinstance(value, int | float):
            result = promote_with_scalar(result, value)
    return result
