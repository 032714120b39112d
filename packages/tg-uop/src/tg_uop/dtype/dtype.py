"""The number types, and what can be asked of each."""

from __future__ import annotations

from functools import cache
from math import inf, isnan
from typing import Final, NamedTuple, final

from tg_uop.arguments import names_bad_arguments
from tg_uop.context import DEFAULT_FLOAT
from tg_uop.dtype.constant import ConstFloat as ConstFloat
from tg_uop.dtype.constant import ConstValue
from tg_uop.dtype.constant import Invalid as Invalid
from tg_uop.dtype.constant import InvalidType as InvalidType
from tg_uop.dtype.record import FLOAT32, imagef, imageh
from tg_uop.dtype.record import AddrSpace as AddrSpace
from tg_uop.dtype.record import DType as DType
from tg_uop.dtype.record import ImageDType as ImageDType
from tg_uop.dtype.record import PtrDType as PtrDType
from tg_uop.errors import DTypeError, UnknownDTypeError
from tg_uop.plain import plain

# weakint stands for exact integers of any size and never reaches memory; the width only gives it
# finite bounds, beyond any sum of products of 64-bit indices
WEAKINT_BITS = 800


class FloatInfo(NamedTuple):
    """Bits of the exponent and of the stored significand."""

    exponent: int
    mantissa: int


@names_bad_arguments
def finfo(dtype: DType) -> FloatInfo:
    """The layout of a float type.

    Raises `DTypeError` for other types.
    """
    found = _FLOAT_LAYOUTS.get(dtype.scalar())
    if found is None:
        raise DTypeError(what="finfo", dtypes=[dtype], reason="only float types have a layout")
    return found


def is_float(dtype: DType) -> bool:
    """Whether it is a float type or a vector of one."""
    return dtype.is_float


def is_int(dtype: DType) -> bool:
    """Whether it is an integer type (weakint included) or a vector of one; bool is none."""
    return dtype.is_int


def is_unsigned(dtype: DType) -> bool:
    """Whether it is an unsigned integer type or a vector of one."""
    return dtype.is_unsigned


def is_bool(dtype: DType) -> bool:
    """Whether it is bool or a vector of bool."""
    return dtype.is_bool


@names_bad_arguments
def min_value(dtype: DType) -> int | float | bool:
    """The smallest value; minus infinity for floats."""
    return dtype.min


@names_bad_arguments
def max_value(dtype: DType) -> int | float | bool:
    """The largest value; infinity for floats."""
    return dtype.max


def from_py(value: object) -> DType:
    """The dtype that a Python scalar, or the deepest kind in nested lists, becomes.

    bool < int < float; no elements at all are of the default float. An integer that the default
    one has no room for is of 64 bits. Raises `DTypeError` for one that needs more, and for
    anything else.
    """
    value = plain(value)
    if isinstance(value, bool):
        return dtypes.bool
    if isinstance(value, int):
        return _int_with_room(value)
    if isinstance(value, float):
        return dtypes.default_float
    if isinstance(value, (list, tuple)):
        found = [from_py(entry) for entry in value]
        return max(found, key=_kind_rank) if found else dtypes.default_float
    raise DTypeError(
        what="from_py", dtypes=[type(value).__name__], reason="it is no bool, int, float or list"
    )


def _int_with_room(value: int) -> DType:
    for dtype in (dtypes.default_int, dtypes.int64, dtypes.uint64):
        if dtype.min <= value <= dtype.max:
            return dtype
    raise DTypeError(
        what=f"an integer of {value.bit_length()} bits",
        dtypes=[dtypes.int64],
        reason="no integer type has room for it",
        hint="write it as a float, such as 1e30",
    )


def _kind_rank(dtype: DType) -> tuple[int, int]:
    return (2 if dtype.is_float else int(dtype.is_int), dtype.itemsize)


def as_const(value: object, dtype: DType) -> ConstValue | tuple[ConstValue, ...]:
    """`value` as the `arg` that a CONST (or VCONST, for a tuple) of `dtype` carries.

    Integers wrap at their width, floats become `ConstFloat`, `Invalid` stays; rounding to a
    narrow float is `value.truncate`. Raises `DTypeError` when the value is no number.
    """
    if isinstance(value, tuple):
        return tuple(scalar_const(entry, dtype) for entry in value)
    return scalar_const(value, dtype)


def scalar_const(value: object, dtype: DType) -> ConstValue:
    """`as_const` of one scalar."""
    if isinstance(value, InvalidType):
        return value
    if not isinstance(value, (int, float)):
        raise DTypeError(what="const", dtypes=[dtype], reason=f"{value!r} is no number")
    if dtype.is_float:
        return value if type(value) is ConstFloat else ConstFloat(value)
    if dtype.is_bool:
        return bool(value)
    return int_from_float(value, dtype) if isinstance(value, float) else wrap_int(int(value), dtype)


def int_from_float(value: float, dtype: DType) -> int:
    """`value` truncated to an integer of `dtype`.

    NaN gives 0. What an int64 cannot hold becomes the lowest int64 (an uint64 holds what it can),
    and that wraps at the width, as float to int conversion does on x86.
    """
    if isnan(value):
        return 0
    lowest = -(1 << 63)
    if abs(value) == inf:
        return wrap_int(lowest, dtype)
    whole = int(value)
    limit = 1 << (64 if dtype._scalar is dtypes.uint64 else 63)
    if dtype._scalar is not dtypes.weakint and not lowest <= whole < limit:
        whole = lowest
    return wrap_int(whole, dtype)


def wrap_int(value: int, dtype: DType) -> int:
    """`value` modulo the width of an integer type; unchanged for weakint."""
    scalar = dtype._scalar
    if scalar.min <= value <= scalar.max or scalar is dtypes.weakint:
        return value
    bits = scalar.bitsize
    wrapped = value & ((1 << bits) - 1)
    return wrapped - (1 << bits) if wrapped > scalar.max else wrapped


def from_name(name: str) -> DType:
    """The dtype with this name or alias.

    Raises `UnknownDTypeError`, listing the names.
    """
    found = _FIELDS.get(name)
    if found is None:
        raise UnknownDTypeError(name=name, known=sorted(_FIELDS))
    return found


def fields() -> dict[str, DType]:
    """Every name and alias with its dtype."""
    return dict(_FIELDS)


class _Defaults(type):
    """What numbers become that come without a dtype, as far as it can be set."""

    _chosen_float: DType | None = None

    @property
    def default_float(cls) -> DType:
        """What Python floats become: as assigned last, else as the setting DEFAULT_FLOAT says.

        `Context(DEFAULT_FLOAT="half")` holds to its end, as does what is assigned inside of it.
        Raises `DTypeError` where the setting names no float.
        """
        if cls._chosen_float is None or DEFAULT_FLOAT.is_put_in:
            return _float_named(DEFAULT_FLOAT.value)
        return cls._chosen_float

    @default_float.setter
    def default_float(cls, dtype: DType) -> None:
        if DEFAULT_FLOAT.is_put_in:
            DEFAULT_FLOAT.push(_float_of(dtype).name)
        else:
            cls._chosen_float = _float_of(dtype)

    @default_float.deleter
    def default_float(cls) -> None:
        cls._chosen_float = None


@cache
def _float_named(name: str) -> DType:
    return _float_of(from_name(name.lower()))


def _float_of(dtype: DType) -> DType:
    if not isinstance(dtype, DType) or not dtype.is_float:
        raise DTypeError(
            what="default_float",
            dtypes=[dtype if isinstance(dtype, DType) else repr(dtype)],
            reason="it is no float",
            hint="use dtypes.half, bfloat16, float32, double or an fp8",
        )
    return dtype


@final
class dtypes(metaclass=_Defaults):  # noqa: N801 - the name that users know
    """The namespace of dtypes: `dtypes.float`, `dtypes.int8`, `dtypes.is_float(d)`, ..."""

    void = DType(-1, 0, "void", None, kind="void")
    bool = DType(0, 1, "bool", "?", kind="bool")
    weakint = DType(1, WEAKINT_BITS, "weakint", None, kind="signed")
    int8 = DType(2, 8, "char", "b", kind="signed")
    uint8 = DType(3, 8, "uchar", "B", kind="unsigned")
    int16 = DType(4, 16, "short", "h", kind="signed")
    uint16 = DType(5, 16, "ushort", "H", kind="unsigned")
    int32 = DType(6, 32, "int", "i", kind="signed")
    uint32 = DType(7, 32, "uint", "I", kind="unsigned")
    int64 = DType(8, 64, "long", "q", kind="signed")
    uint64 = DType(9, 64, "ulong", "Q", kind="unsigned")
    fp8e4m3 = DType(10, 8, "fp8e4m3", None, kind="float")
    fp8e5m2 = DType(11, 8, "fp8e5m2", None, kind="float")
    fp8e4m3fnuz = DType(10, 8, "fp8e4m3fnuz", None, kind="float")
    fp8e5m2fnuz = DType(11, 8, "fp8e5m2fnuz", None, kind="float")
    float16 = DType(12, 16, "half", "e", kind="float")
    bfloat16 = DType(13, 16, "bfloat16", None, kind="float")
    float32 = FLOAT32
    float64 = DType(15, 64, "double", "d", kind="float")

    char = int8
    uchar = uint8
    short = int16
    ushort = uint16
    int = int32
    uint = uint32
    long = int64
    ulong = uint64
    half = float16
    float = float32
    double = float64

    imageh = staticmethod(imageh)
    imagef = staticmethod(imagef)

    default_int: DType = int32

    fp8s = (fp8e4m3, fp8e5m2, fp8e4m3fnuz, fp8e5m2fnuz)
    floats = (*fp8s, float16, bfloat16, float32, float64)
    uints = (uint8, uint16, uint32, uint64)
    sints = (int8, int16, int32, int64)
    ints = uints + sints
    all = (bool, *ints, *floats)

    is_float = staticmethod(is_float)
    is_int = staticmethod(is_int)
    is_unsigned = staticmethod(is_unsigned)
    is_bool = staticmethod(is_bool)
    min = staticmethod(min_value)
    max = staticmethod(max_value)
    finfo = staticmethod(finfo)
    from_py = staticmethod(from_py)
    from_name = staticmethod(from_name)
    as_const = staticmethod(as_const)
    fields = staticmethod(fields)


_FLOAT_LAYOUTS: Final = {
    dtypes.fp8e4m3: FloatInfo(4, 3),
    dtypes.fp8e5m2: FloatInfo(5, 2),
    dtypes.fp8e4m3fnuz: FloatInfo(4, 3),
    dtypes.fp8e5m2fnuz: FloatInfo(5, 2),
    dtypes.float16: FloatInfo(5, 10),
    dtypes.bfloat16: FloatInfo(8, 7),
    dtypes.float32: FloatInfo(8, 23),
    dtypes.float64: FloatInfo(11, 52),
}

_FIELDS: Final[dict[str, DType]] = {
    name: value
    for name, value in vars(dtypes).items()
    if isinstance(value, DType) and not name.startswith("default_")
}

# a name that is none fails at once
_float_named(DEFAULT_FLOAT.value)
