"""The records and instances of number types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum, auto
from math import inf, isnan, prod
from typing import Final, NamedTuple, final

from tg_uop.context import DEFAULT_FLOAT
from tg_uop.dtype.constant import ConstFloat as ConstFloat
from tg_uop.dtype.constant import ConstValue
from tg_uop.dtype.constant import Invalid as Invalid
from tg_uop.dtype.constant import InvalidType as InvalidType
from tg_uop.errors import DTypeError, UnknownDTypeError
from tg_uop.plain import plain


class AddrSpace(Enum):
    """Where a pointer points: device memory, memory of a work-group, registers of a thread."""

    GLOBAL = auto()
    LOCAL = auto()
    REG = auto()

    def __repr__(self) -> str:
        return f"AddrSpace.{self.name}"


class DType:
    """A number type, scalar or vector; one object each, so `is` and hashing by identity are right.

    `priority` orders the types for promotion, `fmt` is the letter of the `struct` module (None
    where it has none), `count` is the number of lanes of a vector.
    """

    __slots__ = (
        "_ptrs",
        "_scalar",
        "_vecs",
        "bitsize",
        "count",
        "fmt",
        "is_bool",
        "is_float",
        "is_int",
        "is_unsigned",
        "itemsize",
        "max",
        "min",
        "name",
        "priority",
    )

    priority: int
    bitsize: int
    itemsize: int
    name: str
    fmt: str | None
    count: int
    is_float: bool
    is_int: bool
    is_unsigned: bool
    is_bool: bool
    min: int | float | bool
    max: int | float | bool

    def __init__(
        self, priority: int, bitsize: int, name: str, fmt: str | None, *, kind: str, count: int = 1
    ) -> None:
        self.priority = priority
        self.bitsize = bitsize * count
        self.itemsize = (bitsize + 7) // 8 * count
        self.name = name
        self.fmt = fmt
        self.count = count
        self.is_float = kind == "float"
        self.is_int = kind in ("signed", "unsigned")
        self.is_unsigned = kind == "unsigned"
        self.is_bool = kind == "bool"
        self.min, self.max = _bounds(kind, bitsize)
        self._scalar: DType = self
        self._vecs: dict[int, DType] = {}
        self._ptrs: dict[tuple[int, AddrSpace], PtrDType] = {}

    def __repr__(self) -> str:
        if self.count == 1:
            return f"dtypes.{self.name}"
        return f"dtypes.{self._scalar.name}.vec({self.count})"

    __str__ = __repr__

    def __reduce__(self) -> tuple[Callable[..., DType], tuple[object, ...]]:
        return _rebuild, (self._scalar.name, self.count)

    def __lt__(self, other: DType) -> bool:
        return self.sort_key < other.sort_key

    @property
    def sort_key(self) -> tuple[int, int, str, int]:
        """Orders dtypes the same in every process."""
        return (self.priority, self.count, self.name, -1)

    @property
    def base(self) -> DType:
        """What a pointer points to; any other dtype is its own base."""
        return self

    @property
    def vcount(self) -> int:
        """The number of lanes of the base."""
        return self.count

    @property
    def nbytes(self) -> int:
        """Bytes of one value; of the memory behind it for a pointer of known size."""
        return self.itemsize

    def scalar(self) -> DType:
        """The type of one lane."""
        return self._scalar

    def vec(self, count: int) -> DType:
        """The vector of `count` of these; the type itself for 1.

        Raises `DTypeError` on a vector, a pointer, void, or a count below 1.
        """
        if count == 1:
            return self
        found = self._vecs.get(count)
        return found if found is not None else self._make_vec(count)

    def _make_vec(self, count: int) -> DType:
        if count < 1 or self.count != 1 or self.bitsize == 0:
            raise DTypeError(
                what=f"vec({count})",
                dtypes=[self],
                reason="a vector is made of one or more lanes of a scalar type",
                hint="use .scalar().vec(n)",
            )
        kind = _kind_of(self)
        scalar_bits = self.bitsize
        made = DType(
            self.priority, scalar_bits, f"{self.name}{count}", None, kind=kind, count=count
        )
        made._scalar = self
        return self._vecs.setdefault(count, made)

    def ptr(self, size: int = -1, addrspace: AddrSpace = AddrSpace.GLOBAL) -> PtrDType:
        """A pointer to `size` of these (-1: unknown) in an address space."""
        key = (size, addrspace)
        found = self._ptrs.get(key)
        return found if found is not None else self._ptrs.setdefault(key, PtrDType(self, *key))


class PtrDType(DType):
    """A pointer to `size` elements of `base`; made by `DType.ptr`, one object each.

    `itemsize` is that of the base, `nbytes` that of all elements.
    """

    __slots__ = ("_base", "addrspace", "size")

    size: int
    addrspace: AddrSpace

    def __init__(self, base: DType, size: int, addrspace: AddrSpace) -> None:
        super().__init__(base.priority, 0, base.name, None, kind="pointer")
        self.bitsize = base.bitsize
        self.itemsize = base.itemsize
        self._base = base
        self.size = size
        self.addrspace = addrspace

    def __repr__(self) -> str:
        parts = [str(self.size)] if self.size != -1 else []
        if self.addrspace is not AddrSpace.GLOBAL:
            parts = [str(self.size), repr(self.addrspace)]
        return f"{self._base!r}.ptr({', '.join(parts)})"

    __str__ = __repr__

    def __reduce__(self) -> tuple[Callable[..., DType], tuple[object, ...]]:
        return _rebuild_ptr, (self._base, self.size, self.addrspace)

    @property
    def sort_key(self) -> tuple[int, int, str, int]:
        """Orders dtypes the same in every process; pointers come after values."""
        return (1000 + self.priority, self._base.count, self.name, self.size)

    @property
    def base(self) -> DType:
        """The type of what it points to."""
        return self._base

    @property
    def vcount(self) -> int:
        """The number of lanes of what it points to."""
        return self._base.count

    @property
    def nbytes(self) -> int:
        """Bytes of all elements.

        Raises `DTypeError` when the size is not known.
        """
        if self.size == -1:
            raise DTypeError(
                what="nbytes",
                dtypes=[self],
                reason="the size is not known",
                hint="make the pointer with .ptr(size)",
            )
        return self.size * self._base.itemsize

    def vec(self, count: int) -> DType:
        """A pointer has no vectors; 1 gives the pointer itself.

        Raises `DTypeError` for any other count.
        """
        if count == 1:
            return self
        raise DTypeError(
            what=f"vec({count})",
            dtypes=[self],
            reason="there are no vectors of pointers",
            hint="make a pointer to vectors with .base.vec(n).ptr(size)",
        )

    def with_size(self, size: int) -> PtrDType:
        """The same kind of pointer to another number of elements."""
        return self._base.ptr(size, self.addrspace)


@final
class ImageDType(PtrDType):
    """A two-dimensional image of four channels; made by `dtypes.imageh` and `dtypes.imagef`.

    `shape` is (height, width, 4); a read gives float32 values, stored as half or float.
    """

    __slots__ = ("shape",)

    shape: tuple[int, ...]

    def __init__(self, name: str, itembits: int, shape: tuple[int, ...]) -> None:
        super().__init__(_FLOAT, prod(shape), AddrSpace.GLOBAL)
        self.name = name
        self.bitsize = itembits
        self.itemsize = itembits // 8
        self.shape = shape

    def __repr__(self) -> str:
        return f"dtypes.{self.name}({self.shape})"

    __str__ = __repr__

    def __reduce__(self) -> tuple[Callable[..., DType], tuple[object, ...]]:
        return _image, (self.name, self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the whole image."""
        return self.size * self.itemsize


_IMAGES: Final[dict[tuple[str, tuple[int, ...]], ImageDType]] = {}


def _image(name: str, shape: Sequence[int]) -> ImageDType:
    key = (name, tuple(shape))
    found = _IMAGES.get(key)
    if found is not None:
        return found
    made = ImageDType(name, 16 if name == "imageh" else 32, key[1])
    return _IMAGES.setdefault(key, made)


def imageh(shape: Sequence[int]) -> ImageDType:
    """An image stored as float16, of shape (height, width, 4)."""
    return _image("imageh", shape)


def imagef(shape: Sequence[int]) -> ImageDType:
    """An image stored as float32, of shape (height, width, 4)."""
    return _image("imagef", shape)


def _kind_of(dtype: DType) -> str:
    if dtype.is_float:
        return "float"
    if dtype.is_bool:
        return "bool"
    if not dtype.is_int:
        return "pointer"
    return "unsigned" if dtype.is_unsigned else "signed"


def _bounds(kind: str, bits: int) -> tuple[int | float | bool, int | float | bool]:
    if kind == "float":
        return -inf, inf
    if kind == "unsigned":
        return 0, (1 << bits) - 1
    if kind == "signed":
        return -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return False, kind == "bool"


def _rebuild(name: str, count: int) -> DType:
    return from_name(name).vec(count)


def _rebuild_ptr(base: DType, size: int, addrspace: AddrSpace) -> DType:
    return base.ptr(size, addrspace)


_FLOAT: Final = DType(14, 32, "float", "f", kind="float")

# weakint stands for exact integers of any size and never reaches memory; the width only gives it
# finite bounds, beyond any sum of products of 64-bit indices
WEAKINT_BITS = 800


class FloatInfo(NamedTuple):
    """Bits of the exponent and of the stored significand."""

    exponent: int
    mantissa: int


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


def min_value(dtype: DType) -> int | float | bool:
    """The smallest value; minus infinity for floats."""
    return dtype.min


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


@final
class dtypes:  # noqa: N801 - the name that users know
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
    float32 = _FLOAT
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

    default_float: DType = float32
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

dtypes.default_float = from_name(DEFAULT_FLOAT.value.lower())
