"""Host data to nodes and back: Python lists, bytes, NumPy arrays.

Arrays are copied in and out, so that neither side sees what the other does later; `Tensor.data`,
`Tensor.from_blob` and DLPack share memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeGuard

import numpy as np
import numpy.typing as npt
from tg_runtime.memory.buffer import Buffer
from tg_tensor.engine.buffers import attach
from tg_tensor.errors import DataError, DataKindError
from tg_uop import DType, UOp, dtypes

Array = npt.NDArray[np.generic]

_TO_NUMPY: dict[DType, np.dtype[np.generic]] = {
    dtype: np.dtype("?" if dtype.is_bool else dtype.fmt) for dtype in dtypes.all if dtype.fmt
}
_FROM_NUMPY = {(kind.kind, kind.itemsize): dtype for dtype, kind in _TO_NUMPY.items()}
# the names of ml_dtypes, whose arrays carry numbers that NumPy itself does not have
_FROM_NAME = {
    "bfloat16": dtypes.bfloat16,
    "float8_e4m3fn": dtypes.fp8e4m3,
    "float8_e5m2": dtypes.fp8e5m2,
    "float8_e4m3fnuz": dtypes.fp8e4m3fnuz,
    "float8_e5m2fnuz": dtypes.fp8e5m2fnuz,
}


def numpy_dtype(dtype: DType) -> np.dtype[np.generic] | None:
    """NumPy's name for a dtype, None where it has none."""
    return _TO_NUMPY.get(dtype)


def dtype_of_name(name: str) -> DType | None:
    """The dtype that ml_dtypes has under a name, None for other names."""
    return _FROM_NAME.get(name)


def dtype_of_array(array: Array) -> DType:
    """The dtype of an array.

    Raises `DataError` for kinds that there is no dtype for.
    """
    found = _FROM_NUMPY.get((array.dtype.kind, array.dtype.itemsize))
    found = _FROM_NAME.get(array.dtype.name) if found is None else found
    if found is None:
        raise DataError(
            given=f"an array of {array.dtype}",
            reason="there is no such dtype",
            hint="convert it with .astype() first",
        )
    return found


def node_of_bytes(data: memoryview, dtype: DType, shape: Sequence[int], device: str) -> UOp:
    """A buffer with a copy of `data`, seen in `shape`."""
    size = math.prod(shape)
    node = UOp.new_buffer(device, size, dtype)
    attach(node, Buffer(device, size, dtype).copyin(data))
    return node.reshape(tuple(shape))


def node_of_array(array: Array, device: str, dtype: DType | None = None) -> UOp:
    """A buffer with a copy of an array; `dtype` says what words of its size are."""
    dtype = dtype_of_array(array) if dtype is None else dtype
    native = array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    flat = np.ascontiguousarray(native).reshape(-1)
    return node_of_bytes(flat.view(np.uint8).data, dtype, array.shape, device)


def node_of_list(data: Sequence[object], dtype: DType | None, device: str) -> UOp:
    """A buffer with the numbers of nested lists, in the dtype that they call for.

    Raises `DataError` for ragged lists, things that are no numbers, and integers that do not fit.
    """
    array = _array_of_list(data)
    wanted = _list_dtype(data, array) if dtype is None else dtype
    target = _TO_NUMPY.get(wanted)
    if target is None:
        wide = node_of_array(array.astype(np.float32), device)
        return wide.cast(wanted)
    _check_range(array, wanted)
    return node_of_array(array.astype(target), device)


def _array_of_list(data: Sequence[object]) -> Array:
    try:
        array = np.array(data)
    except (ValueError, OverflowError) as error:
        raise DataError(
            given="nested lists",
            reason="they do not have the shape of a box" if "shape" in str(error) else str(error),
            hint="make all lists at one depth equally long",
        ) from error
    if array.dtype == np.float64 and array.size and np.max(array) >= 2.0**63:
        array = _unrounded(data, array)
    if array.dtype.kind == "O" and all(type(leaf) is int for leaf in array.flat):
        raise DataError(
            given="a list of integers",
            reason="no integer type has room for all of them",
            hint="write them as floats, such as 1e30",
        )
    if array.dtype.kind not in "?biuf" and array.dtype.name not in _FROM_NAME:
        raise DataKindError(
            given=f"lists with {type(_first_leaf(data)).__name__}",
            reason="the elements must be numbers",
            hint="use Tensor.stack for a list of Tensors",
        )
    return array


def _unrounded(data: Sequence[object], array: Array) -> Array:
    """Integers that fit an uint64, of which NumPy makes floats when small ones are among them."""
    exact = np.array(data, dtype=object)
    if all(type(leaf) is int and 0 <= leaf < 2**64 for leaf in exact.flat):
        return exact.astype(np.uint64)
    return array


def _first_leaf(data: object) -> object:
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return data


def _list_dtype(data: Sequence[object], array: Array) -> DType:
    """Python numbers are of the default dtypes, NumPy's keep their own."""
    leaf = _first_leaf(data)
    if isinstance(leaf, np.generic | np.ndarray):
        return dtype_of_array(array)
    if array.dtype.kind in "b?":
        return dtypes.bool
    if array.dtype.kind not in "iu":
        return dtypes.default_float
    if array.size == 0:
        return dtypes.default_int
    return dtypes.from_py([int(array.min()), int(array.max())])


def _check_range(array: Array, dtype: DType) -> None:
    if not dtype.is_int or array.dtype.kind not in "iu" or array.size == 0:
        return
    low, high = int(array.min()), int(array.max())
    if low < dtype.min or high > dtype.max:
        raise DataError(
            given="a list of integers",
            reason=f"{low if low < dtype.min else high} does not fit into {dtype}",
            hint="name a wider dtype, such as dtype=dtypes.int64",
        )


def is_array(value: object) -> TypeGuard[Array]:
    """Whether it is a NumPy array or scalar."""
    return isinstance(value, np.ndarray)


def array_of_bytes(data: memoryview, dtype: DType, shape: Sequence[int]) -> Array:
    """An array that shares `data`.

    Raises `DataError` for a dtype that NumPy does not have.
    """
    target = _TO_NUMPY.get(dtype)
    if target is None:
        raise DataError(
            given=str(dtype), reason="NumPy has no such type", hint="cast to float32 first"
        )
    if math.prod(shape) == 0:
        return np.empty(tuple(shape), target)
    return np.frombuffer(data, target).reshape(tuple(shape))
