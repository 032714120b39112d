"""Linear models and scalings of ai.onnx.ml."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tg_tensor import Tensor, dtypes

from tg_onnx.ml.scores import Second, transformed
from tg_onnx.proto import Array
from tg_onnx.registry import host_operator, operator

DOMAIN = "ai.onnx.ml"


@host_operator("LinearClassifier", domain=DOMAIN)
def linear_classifier(
    x: Array,
    *,
    coefficients: Sequence[float],
    intercepts: Sequence[float] = (),
    classlabels_ints: Sequence[int] = (),
    classlabels_strings: Sequence[str] = (),
    multi_class: int = 0,
    post_transform: str = "NONE",
) -> tuple[Array, Array]:
    """The label of the greatest score of each row, and the scores.

    One score with two labels is that of the second one.
    """
    rows = x.reshape(1, -1) if x.ndim == 1 else x
    weights = np.asarray(coefficients, np.float32)
    labels = labels_of(classlabels_ints, classlabels_strings)
    width = rows.shape[1]
    classes = len(intercepts) or weights.size // max(width, 1)
    scores = rows.astype(np.float32) @ weights.reshape(classes, -1).T
    if len(intercepts):
        scores = scores + np.asarray(intercepts, np.float32)
    if classes > 1:
        return labels[scores.argmax(1)], transformed(scores, post_transform)
    is_second = scores[:, 0] > 0
    if len(labels) != 2:
        return is_second.astype(np.int64), transformed(scores, post_transform)
    parts = transformed(scores, post_transform, Second.COMPLEMENT)
    return labels[is_second.astype(int)], parts


@operator("LinearRegressor", domain=DOMAIN)
def linear_regressor(
    x: Tensor,
    *,
    coefficients: Sequence[float] = (),
    intercepts: Sequence[float] = (),
    targets: int = 1,
    post_transform: str = "NONE",
) -> Tensor:
    """Rows times coefficients, and intercepts."""
    rows = x.reshape(1, -1) if x.ndim == 1 else x
    weights = np.asarray(coefficients, np.float32).reshape(targets, -1)
    result = rows.cast(dtypes.float32) @ Tensor(weights.T.copy(), device=x.device)
    if len(intercepts):
        result = result + Tensor(np.asarray(intercepts, np.float32), device=x.device)
    # a score that stands alone has no share of others
    if post_transform == "NONE" or (targets == 1 and post_transform.startswith("SOFTMAX")):
        return result
    if post_transform == "LOGISTIC":
        return result.sigmoid()
    if post_transform == "SOFTMAX":
        return result.softmax(1)
    return Tensor(transformed(result.numpy(), post_transform), device=x.device)


@operator("Scaler", domain=DOMAIN)
def scaler(x: Tensor, *, offset: Sequence[float] = (), scale: Sequence[float] = ()) -> Tensor:
    """(x - offset) * scale, by the last axis."""
    result = x.cast(dtypes.float32)
    if len(offset):
        result = result - Tensor(np.asarray(offset, np.float32), device=x.device)
    return result * Tensor(np.asarray(scale, np.float32), device=x.device) if len(scale) else result


@operator("Normalizer", domain=DOMAIN)
def normalizer(x: Tensor, *, norm: str = "MAX") -> Tensor:
    """Each row by its greatest element, its sum of magnitudes, or its length."""
    wide = x.cast(dtypes.float32)
    if norm == "MAX":
        size = wide.max(-1, keepdim=True)
    elif norm == "L1":
        size = wide.abs().sum(-1, keepdim=True)
    else:
        # the sign of an element stays where a row has no length
        size = wide.square().sum(-1, keepdim=True).sqrt()
    return (size == 0).where(wide, wide / (size == 0).where(1, size))


@operator("Binarizer", domain=DOMAIN)
def binarizer(x: Tensor, *, threshold: float = 0.0) -> Tensor:
    """1 for what is greater, and else 0."""
    return (x > threshold).cast(x.dtype)


@operator("Imputer", domain=DOMAIN)
def imputer(
    x: Tensor,
    *,
    imputed_value_floats: Sequence[float] = (),
    imputed_value_int64s: Sequence[int] = (),
    replaced_value_float: float = 0.0,
    replaced_value_int64: int = 0,
) -> Tensor:
    """Another value, one for all or one a column, for what is missing."""
    if x.dtype.is_float:
        values, missing = np.asarray(imputed_value_floats), replaced_value_float
    else:
        values, missing = np.asarray(imputed_value_int64s), replaced_value_int64
    if values.size != 1 and values.size != x.shape[-1]:
        # onnxruntime takes the first value for all where the numbers differ
        values = values[:1]
    is_missing = x.isnan() if missing != missing else x == missing
    return is_missing.where(Tensor(values, device=x.device).cast(x.dtype), x)


@operator("FeatureVectorizer", domain=DOMAIN)
def feature_vectorizer(*columns: Tensor, inputdimensions: Sequence[int] = ()) -> Tensor:
    """The inputs side by side, each cut or filled with zeros to its width."""
    parts = []
    for column, width in zip(columns, inputdimensions, strict=True):
        rows = column.reshape(1, -1) if column.ndim == 1 else column
        rows = rows.reshape(int(rows.shape[0]), -1).cast(dtypes.float32)[:, :width]
        parts.append(rows.pad(((0, 0), (0, width - int(rows.shape[1])))))
    return parts[0].cat(*parts[1:], dim=1)


@operator("ArrayFeatureExtractor", domain=DOMAIN, host=(1,))
def array_feature_extractor(x: Tensor | Array, places: Array) -> Tensor | Array:
    """Columns by their numbers; strings come as an array."""
    rows = x.reshape(1, -1) if x.ndim == 1 else x
    if isinstance(rows, np.ndarray):
        return rows.take(places.reshape(-1).astype(np.int64), -1)
    return rows.index_select(rows.ndim - 1, Tensor(places.reshape(-1), device=x.device))


def labels_of(ints: Sequence[int], strings: Sequence[str]) -> Array:
    """The labels of classes."""
    return np.asarray(strings, object) if len(strings) else np.asarray(ints, np.int64)
