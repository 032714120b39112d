"""Arrays of whatever offers its values: other libraries' arrays, images, tables, buffers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from tg_tensor.errors import ExchangeError
from tg_tensor.interop.dlpack import lent_by
from tg_tensor.interop.numpy import dtype_of_array
from tg_uop import DType

Array = npt.NDArray[np.generic]


def array_of_any(value: object) -> tuple[Array, DType] | None:
    """An array of the values and what its elements are; None for an object that has none.

    DLPack is asked first, because it knows bfloat16 and fp8, then `__array__`,
    `__array_interface__` and the buffer protocol. Raises `DataError` for elements that there is
    no dtype for.
    """
    if isinstance(value, np.ndarray | np.generic):
        return _typed(np.asarray(value))
    if hasattr(value, "__dlpack__"):
        found = _by_dlpack(value)
        if found is not None:
            return found
    if hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
        return _typed(np.asarray(value))
    try:
        return _typed(np.asarray(memoryview(value)))  # type: ignore[arg-type]
    except TypeError:
        return None


def _typed(array: Array) -> tuple[Array, DType]:
    return array, dtype_of_array(array)


def _by_dlpack(value: object) -> tuple[Array, DType] | None:
    # a copy of the values has no part in the gradients of the library that they come from
    detach = getattr(value, "detach", None)
    source = detach() if callable(detach) else value
    try:
        lent = lent_by(source)  # type: ignore[arg-type]
    except (ExchangeError, BufferError, RuntimeError):
        if hasattr(value, "__array__"):
            return None
        raise
    return lent.array, lent.dtype
