"""The records of number types: scalars, vectors, pointers, images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum, auto
from math import inf, prod
from typing import Final, final

from tg_uop.errors import DTypeError


class AddrSpace(Enum):
    """Where a pointer points: device memory, memory of a work-group, registers of a thread."""

    GLOBAL = auto()
    LOCAL = auto()
    REG = auto()

    def __repr__(self) -> str:
        return f"AddrSpace.{self.name}"


_SCALARS: Final[dict[str, DType]] = {}
"""The scalar types by name, from which a pickle finds them again."""


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
        if count == 1 and kind != "pointer":
            _SCALARS[name] = self

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
        super().__init__(FLOAT32, prod(shape), AddrSpace.GLOBAL)
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
    return _SCALARS[name].vec(count)


def _rebuild_ptr(base: DType, size: int, addrspace: AddrSpace) -> DType:
    return base.ptr(size, addrspace)


FLOAT32: Final = DType(14, 32, "float", "f", kind="float")
"""Here because an image is read as this."""
