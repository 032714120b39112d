"""Make up inputs for a model from what it declares, or take them from a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import ml_dtypes
import numpy as np
from tg_tensor import dtypes
from tg_uop import DType

from tg_onnx.errors import ModelInputError
from tg_onnx.model import ValueInfo
from tg_onnx.proto import Array

NUMPY_DTYPES: dict[DType, np.dtype[np.generic]] = {
    dtypes.float32: np.dtype(np.float32),
    dtypes.float64: np.dtype(np.float64),
    dtypes.float16: np.dtype(np.float16),
    dtypes.bfloat16: np.dtype(ml_dtypes.bfloat16),
    dtypes.fp8e4m3: np.dtype(ml_dtypes.float8_e4m3fn),
    dtypes.fp8e5m2: np.dtype(ml_dtypes.float8_e5m2),
    dtypes.int8: np.dtype(np.int8),
    dtypes.int16: np.dtype(np.int16),
    dtypes.int32: np.dtype(np.int32),
    dtypes.int64: np.dtype(np.int64),
    dtypes.uint8: np.dtype(np.uint8),
    dtypes.uint16: np.dtype(np.uint16),
    dtypes.uint32: np.dtype(np.uint32),
    dtypes.uint64: np.dtype(np.uint64),
    dtypes.bool: np.dtype(np.bool_),
}


def example_inputs(
    declared: Mapping[str, ValueInfo], sizes: Mapping[str, int], default: int, seed: int
) -> dict[str, Array]:
    """Normal numbers for floats, 0 and 1 for integers; `sizes` has the named dimensions.

    Raises `ModelInputError` for an input whose shape or elements are not declared.
    """
    rng = np.random.default_rng(seed)
    return {
        name: _example(info, sizes, default, rng)
        for name, info in declared.items()
        if not info.optional
    }


def _example(
    info: ValueInfo, sizes: Mapping[str, int], default: int, rng: np.random.Generator
) -> Array:
    dtype = None if info.dtype is None else NUMPY_DTYPES.get(info.dtype)
    if dtype is None or info.shape is None:
        raise ModelInputError(
            name=info.name, reason="no values can be made up for it", expected=str(info)
        )
    shape = [n if isinstance(n, int) else sizes.get(n or "", default) for n in info.shape]
    if dtype.kind in "iub":
        return rng.integers(0, 2, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def saved_inputs(path: Path) -> dict[str, Array]:
    """The arrays of an npz file, by name. Raises `ModelInputError` where it is none."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (ValueError, AttributeError) as error:
        raise ModelInputError(
            name=str(path), reason=f"it cannot be read: {error}", expected="an npz file"
        ) from error
