"""Exchange of memory with other libraries by the DLPack protocol, without copies on a CPU.

NumPy makes and takes the capsules, so that lifetimes are kept by code that is tried. Number types
that NumPy does not exchange (bfloat16, fp8) travel as unsigned integers of their size; the two
bytes of the capsule that name the type are changed on the way. The layout is that of dlpack.h.
"""

from __future__ import annotations

import ctypes
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from tg_runtime import Buffer, BufferSpec
from tg_runtime.device import Memory
from tg_tensor.engine.buffers import attach
from tg_tensor.errors import DataError, ExchangeError
from tg_tensor.interop.numpy import dtype_of_array, node_of_array, numpy_dtype
from tg_uop import DType, UOp, dtypes
from tg_uop.errors import ArgumentTypeError

Array = npt.NDArray[np.generic]
# the numbers of dlpack.h for memory that the host reaches
HOST_DEVICE = (1, 0)
_HOST_KINDS = frozenset((1, 3, 11, 13))
_READ_ONLY, _IS_COPIED = 1 << 0, 1 << 1
# type codes of dlpack.h for what NumPy does not exchange; older producers know bfloat16 only
_CODES = {
    dtypes.bfloat16: 4,
    dtypes.fp8e4m3: 10,
    dtypes.fp8e4m3fnuz: 11,
    dtypes.fp8e5m2: 12,
    dtypes.fp8e5m2fnuz: 13,
}
_OF_CODE = {(code, dtype.itemsize * 8): dtype for dtype, code in _CODES.items()}
_UNSIGNED: dict[int, np.dtype[np.generic]] = {1: np.dtype(np.uint8), 2: np.dtype(np.uint16)}


class _Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_kind", ctypes.c_int32),
        ("device_number", ctypes.c_int32),
        ("axes", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    )


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned; the one without a version starts with the DLTensor."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


# NumPy takes and gives capsules with a version from 2.1 on
_NUMPY_KNOWS_VERSIONS = np.lib.NumpyVersion(np.__version__) >= "2.1.0"
_PLAIN_NAME, _VERSIONED_NAME = b"dltensor", b"dltensor_versioned"
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes, _is_valid.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_int
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.argtypes, _pointer.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_void_p


class Exporter(Protocol):
    """An object that offers its memory."""

    def __dlpack__(self, *, stream: int | None = None) -> object:
        """A capsule."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """Kind and number of the device."""


class _Carrier:
    """Hands NumPy a capsule that is there already."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: object) -> object:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return HOST_DEVICE


# *** out ***


def words_of(dtype: DType) -> np.dtype[np.generic]:
    """The NumPy type that the memory of a dtype travels as."""
    found = numpy_dtype(dtype)
    return _UNSIGNED[dtype.itemsize] if found is None else found


def capsule_of(
    array: Array, dtype: DType, max_version: tuple[int, int] | None, *, is_copy: bool
) -> object:
    """A capsule of memory that an array holds; `dtype` says what its elements are.

    The array lives until the consumer, or the capsule if nobody takes it, lets go.
    """
    capsule = _capsule_by_numpy(array, max_version)
    found = _fields(capsule)
    if dtype in _CODES:
        _tensor_of(found).code = _CODES[dtype]
    if is_copy and isinstance(found, _Versioned):
        found.flags |= _IS_COPIED
    return capsule


def _capsule_by_numpy(array: Array, max_version: tuple[int, int] | None) -> object:
    if max_version is not None and max_version[0] >= 1 and _NUMPY_KNOWS_VERSIONS:
        return array.__dlpack__(max_version=(1, 0))  # type: ignore[misc, call-arg]
    # every consumer takes a capsule without a version
    return array.__dlpack__()  # type: ignore[misc]


def _fields(capsule: object) -> _Versioned | _Tensor:
    if _is_valid(capsule, _VERSIONED_NAME):
        return _Versioned.from_address(_pointer(capsule, _VERSIONED_NAME))
    if _is_valid(capsule, _PLAIN_NAME):
        return _Tensor.from_address(_pointer(capsule, _PLAIN_NAME))
    raise ExchangeError(protocol="DLPack", reason="the exporter gave no capsule, or a used one")


def _tensor_of(found: _Versioned | _Tensor) -> _Tensor:
    if isinstance(found, _Tensor):
        return found
    inner: _Tensor = found.tensor
    return inner


# *** in ***


class Lent(NamedTuple):
    """Memory of another library: an array on it, what its elements are, and who may write it."""

    array: Array
    dtype: DType
    writable: bool


def lent_by(exporter: Exporter, copy: bool | None = None) -> Lent:
    """The memory of the host that an object offers; the object may be a capsule itself.

    Raises `ExchangeError`, a `BufferError`, for memory of another device, for number types that
    there is no dtype for, and where only a copy could be had that `copy=False` forbids;
    `ArgumentTypeError` for what offers none.
    """
    if isinstance(exporter, np.ndarray):
        array = exporter.copy() if copy else exporter
        return Lent(array, _dtype_lent(array), array.flags.writeable)
    if _is_capsule(exporter):
        capsule: object = exporter
    else:
        _check_exporter(exporter)
        capsule = _capsule_from(exporter, copy)
    found = _fields(capsule)
    _check_kind(_tensor_of(found).device_kind)
    # a capsule without a version does not say that nobody may write; NumPy then forbids it
    writable = isinstance(found, _Tensor) or not found.flags & _READ_ONLY
    tensor = _tensor_of(found)
    narrow = _OF_CODE.get((tensor.code, tensor.bits))
    if tensor.lanes == 1 and narrow is not None:
        tensor.code = 1
    try:
        array = np.from_dlpack(_Carrier(capsule))  # type: ignore[arg-type]
    except (RuntimeError, BufferError, TypeError) as error:
        raise ExchangeError(protocol="DLPack", reason=str(error)) from error
    return Lent(array, _dtype_lent(array) if narrow is None else narrow, writable)


def _is_capsule(value: object) -> bool:
    """Whether it is what `__dlpack__` gives, which older functions hand on by itself."""
    return type(value).__name__ == "PyCapsule"


def _check_exporter(exporter: Exporter) -> None:
    """Ask for the device before any memory is exported."""
    if not hasattr(exporter, "__dlpack__") or not hasattr(exporter, "__dlpack_device__"):
        raise ArgumentTypeError(
            argument="the exporter of from_dlpack",
            given=f"a {type(exporter).__name__}, which offers no memory",
            expected="an array with __dlpack__ and __dlpack_device__, or a capsule; "
            "Tensor(values) copies lists and other objects",
        )
    _check_kind(int(exporter.__dlpack_device__()[0]))


def _check_kind(kind: int) -> None:
    if kind not in _HOST_KINDS:
        raise ExchangeError(
            protocol="DLPack",
            reason=f"the memory is of device kind {kind}, which the host does not reach",
            hint="copy it to the host in the library that has it",
        )


def _dtype_lent(array: Array) -> DType:
    """The dtype of an array; the protocol asks for a `BufferError` where there is none."""
    try:
        return dtype_of_array(array)
    except DataError as error:
        raise ExchangeError(
            protocol="DLPack", reason=f"there is no such dtype as {array.dtype}", hint=error.hint
        ) from error


def _capsule_from(exporter: Exporter, copy: bool | None) -> object:
    """A capsule, with a version from whoever knows versions.

    What does not know `copy` shares, so that only `copy=True` is left to do.
    """
    if not _NUMPY_KNOWS_VERSIONS:
        return exporter.__dlpack__()
    wishes: list[dict[str, object]] = [{"max_version": (1, 0)}, {}]
    if copy is not None:
        wishes.insert(0, {"max_version": (1, 0), "copy": copy})
    for wish in wishes[:-1]:
        try:
            return exporter.__dlpack__(**wish)  # type: ignore[arg-type]
        except TypeError:
            # an exporter from before the versions of the protocol
            continue
    return exporter.__dlpack__()


class LentMemory(Memory):
    """Memory of another owner, who may have forbidden to write it."""

    __slots__ = ("writable",)

    def __init__(self, array: Array, writable: bool) -> None:
        super().__init__(array.ctypes.data, array.nbytes, owner=array)
        self.writable = writable


def shared_node(lent: Lent, device: str, copy: bool | None = None) -> UOp:
    """A buffer on the memory of an array, kept alive; a copy where it cannot be shared.

    Axes in any order and direction can be shared, gaps between the elements cannot. Raises
    `ExchangeError` where `copy=False` forbids the copy that is needed.
    """
    array, kind, writable = lent
    reversed_axes = tuple(a for a, s in enumerate(array.strides) if s < 0 and array.shape[a] > 1)
    forward = np.flip(array, reversed_axes) if reversed_axes else array
    order = sorted(range(array.ndim), key=lambda axis: (-forward.strides[axis], axis))
    packed = forward.transpose(order)
    reason = _why_not_shared(packed, device, kind)
    if copy or reason:
        if copy is False:
            raise ExchangeError(protocol="sharing memory", reason=f"{reason}, which takes a copy")
        return node_of_array(array, device, kind)
    node = UOp.new_buffer(device, packed.size, kind)
    options = BufferSpec(external_ptr=packed.ctypes.data)
    attach(
        node,
        Buffer(device, packed.size, kind, opaque=LentMemory(packed, writable), options=options),
    )
    seen = node.reshape(packed.shape)
    if order != list(range(array.ndim)):
        seen = seen.permute([order.index(axis) for axis in range(array.ndim)])
    return seen.flip(reversed_axes) if reversed_axes else seen


def _why_not_shared(array: Array, device: str, dtype: DType) -> str:
    if not device.startswith("CPU"):
        return f"device {device} has memory of its own"
    if not array.flags.c_contiguous:
        return "there are gaps between the elements, or they appear more than once"
    if not array.dtype.isnative:
        return "the bytes are in the order of another processor"
    if array.ctypes.data % dtype.itemsize:
        return f"the address is no multiple of {dtype.itemsize}"
    return "" if array.size else "there are no elements"
