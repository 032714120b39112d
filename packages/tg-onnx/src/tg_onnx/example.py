"""Make up inputs for a model from what it declares, or take them from a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from tg_tensor.interop.numpy import numpy_dtype
from tg_uop import DType

from tg_onnx.errors import ModelInputError
from tg_onnx.host import NARROW_DTYPES
from tg_onnx.model import ValueInfo
from tg_onnx.proto import Array

WORDS = np.array(["a", "bc", "def"])


def example_inputs(
    declared: Mapping[str, ValueInfo], sizes: Mapping[str, int], default: int, seed: int
) -> dict[str, Array]:
    """Normal numbers for floats, 0 and 1 for integers, short words for strings; `sizes` has the
    named dimensions.

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
    dtype = None if info.dtype is None else _dtype_of(info.dtype)
    if (dtype is None and info.kind != "string") or info.shape is None:
        reason = "no values can be made up for it, a file has to give them"
        raise ModelInputError(name=info.name, reason=reason, expected=str(info))
    shape = [n if isinstance(n, int) else sizes.get(n or "", default) for n in info.shape]
    if dtype is None:
        return rng.choice(WORDS, shape).astype(object)
    if dtype.kind in "iub":
        return rng.integers(0, 2, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def _dtype_of(dtype: DType) -> np.dtype[np.generic] | None:
    narrow = NARROW_DTYPES.get(dtype)
    return numpy_dtype(dtype) if narrow is None else narrow


def saved_inputs(path: Path) -> dict[str, Array]:
    """The arrays of an npz file, by name. Raises `ModelInputError` where it is none."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (ValueError, AttributeError) as error:
        raise ModelInputError(
            name=str(path), reason=f"it cannot be read: {error}", expected="an npz file"
        ) from error
