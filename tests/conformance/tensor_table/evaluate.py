"""Expressions of the table evaluated on Tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tg_runtime
import tg_tensor
from tensor_table.cases import ALL
from tensor_table.inputs import Array, scattered
from tg_tensor import Tensor, TinyJit, Variable, dtypes
from tg_tensor.custom.function import function
from tg_uop import Ops, UOp

NAMES: dict[str, Any] = {
    "Tensor": Tensor,
    "TinyJit": TinyJit,
    "Variable": Variable,
    "Device": tg_runtime.Device,
    "dtypes": dtypes,
    "function": function,
    "tg_tensor": tg_tensor,
    "math": math,
    "np": np,
    "Ops": Ops,
    "UOp": UOp,
    "inf": math.inf,
    "nan": math.nan,
}

_FP8 = ("fp8e4m3", "fp8e5m2", "fp8e4m3fnuz", "fp8e5m2fnuz")
_NAME_OF_DTYPE = {dtypes.from_name(name): name for name in (*ALL, *_FP8)}


def dtype_name(tensor: Tensor) -> str:
    """The dtype of a Tensor by its long name."""
    return _NAME_OF_DTYPE[tensor.dtype]


def tensor_of(array: Array, dtype: str, layout: str = "plain") -> Tensor:
    """A Tensor of an array, which lies in memory in the given way."""
    if not array.ndim or layout in ("plain", "special"):
        return _plain(array, dtype)
    axes = tuple(range(array.ndim))
    if layout == "permuted":
        return _plain(np.ascontiguousarray(array.transpose(axes[::-1])), dtype).permute(axes[::-1])
    if layout == "flipped":
        return _plain(np.ascontiguousarray(np.flip(array)), dtype).flip(axes)
    if layout == "sliced":
        return _plain(np.repeat(array, 2, axis=-1), dtype)[..., ::2]
    if layout == "expanded":
        return _plain(array[:1], dtype).expand(array.shape)
    raise AssertionError(f"no layout is called {layout}")


def _plain(array: Array, dtype: str) -> Tensor:
    if array.dtype.kind == "V" or dtype.startswith(("bfloat", "fp8")):
        return Tensor(array.astype(np.float32)).cast(dtype)
    return Tensor(np.ascontiguousarray(array).reshape(array.shape))


def value_of(expression: str, inputs: Mapping[str, Any]) -> Any:
    """An expression with these names."""
    return eval(expression, {**NAMES, **inputs})


def as_list(result: Any) -> list[Any]:
    """A result of one value or several, as a list."""
    return list(result) if isinstance(result, tuple | list) else [result]


def weights(shape: Sequence[int], place: int) -> Array:
    """What the elements of a result count in the sum whose gradient is taken."""
    count = math.prod(shape)
    steps = (scattered(count, 77 + place) % np.uint64(15)).astype(np.float64) - 7
    return ((steps * 2 + 1) / 8).reshape(tuple(shape))
