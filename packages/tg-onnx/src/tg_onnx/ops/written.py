"""Casts between numbers and strings that write them."""

from __future__ import annotations

import numpy as np

from tg_onnx.proto import Array

DIGITS = 8
"""Significant digits of a float in a string, as onnxruntime writes them."""
TRUE_WORDS = frozenset(["true", "1"])


def as_strings(x: Array) -> Array:
    """Numbers as they are written: whole ones without a point, and NaN, INF and -INF."""
    if x.dtype.kind in "OU":
        return x.astype(object)
    if x.dtype.kind in "iub":
        words = [str(int(value)) for value in x.reshape(-1)]
    else:
        words = [_written(float(value)) for value in x.reshape(-1)]
    return np.asarray(words, object).reshape(x.shape)


def from_strings(x: Array, dtype: np.dtype[np.generic]) -> Array:
    """The numbers that strings are. Raises `ValueError` for other words."""
    words = [str(word).strip() for word in x.reshape(-1)]
    if dtype.kind == "b":
        values = np.asarray([word.lower() in TRUE_WORDS for word in words], np.bool_)
    elif dtype.kind in "iu":
        values = np.asarray([int(word) for word in words], object).astype(dtype)
    else:
        values = np.asarray([float(word) for word in words], np.float64).astype(dtype)
    return values.reshape(x.shape)


def _written(value: float) -> str:
    if value != value:
        return "NaN"
    if np.isinf(value):
        return "INF" if value > 0 else "-INF"
    return f"{value:.{DIGITS}g}"
