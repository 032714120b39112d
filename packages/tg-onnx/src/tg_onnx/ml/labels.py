"""Values for values: labels, categories, maps of ai.onnx.ml."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tg_onnx.ml.linear import DOMAIN
from tg_onnx.proto import Array
from tg_onnx.registry import Map, Value, host_operator

NAN_KEYS = 4
NUMBERS = {"TO_FLOAT": np.float32, "TO_INT64": np.int64}


@host_operator("LabelEncoder", domain=DOMAIN)
def label_encoder_classes(
    x: Array,
    *,
    classes_strings: Sequence[str] = (),
    default_int64: int = -1,
    default_string: str = "_Unused",
) -> Array:
    """In version 1: strings to their places, and places to strings."""
    if x.dtype.kind in "OU":
        places = np.arange(len(classes_strings))
        return mapped(x, classes_strings, places, np.asarray(default_int64))
    names = np.asarray(classes_strings, object)
    return mapped(x, np.arange(len(names)), names, np.asarray(default_string, object))


@host_operator("LabelEncoder", since=2, domain=DOMAIN)
def label_encoder(
    x: Array,
    *,
    keys_floats: Sequence[float] = (),
    keys_int64s: Sequence[int] = (),
    keys_strings: Sequence[str] = (),
    keys_tensor: Array | None = None,
    values_floats: Sequence[float] = (),
    values_int64s: Sequence[int] = (),
    values_strings: Sequence[str] = (),
    values_tensor: Array | None = None,
    default_float: float = -0.0,
    default_int64: int = -1,
    default_string: str = "_Unused",
    default_tensor: Array | None = None,
    opset: int = 4,
) -> Array:
    """The value of the key that each element is, or the default.

    From version 4 on a key that is no number fits all of these.
    """
    keys = _given(keys_tensor, keys_floats, keys_int64s, keys_strings)
    values = _given(values_tensor, values_floats, values_int64s, values_strings)
    if default_tensor is not None:
        default = np.asarray(default_tensor).reshape(-1)[0]
    elif values.dtype.kind == "O":
        default = default_string
    elif values.dtype.kind == "f":
        default = default_float
    else:
        default = default_int64
    return mapped(x, keys, values, np.asarray(default, values.dtype), opset >= NAN_KEYS)


def _given(
    tensor: Array | None, floats: Sequence[float], ints: Sequence[int], strings: Sequence[str]
) -> Array:
    if tensor is not None:
        return tensor.reshape(-1)
    if len(strings):
        return np.asarray(strings, object)
    return np.asarray(floats, np.float32) if len(floats) else np.asarray(ints, np.int64)


def mapped(
    x: Array, keys: Array | Sequence[str], values: Array, default: Array, nan_fits: bool = True
) -> Array:
    """Elements replaced by values; of equal keys the first holds."""
    names = np.asarray(keys)
    given = x.reshape(-1)
    if names.dtype.kind in "OU":
        names, given = names.astype(str), given.astype(str)
    result = np.full(given.shape, default, np.asarray(values).dtype)
    if not len(names):
        return result.reshape(x.shape)
    sorted_keys, first = np.unique(names, return_index=True)
    places = np.minimum(np.searchsorted(sorted_keys, given), len(sorted_keys) - 1)
    hits = sorted_keys[places] == given
    if names.dtype.kind == "f" and nan_fits:
        hits |= np.isnan(sorted_keys[places]) & np.isnan(given)
    result[hits] = np.asarray(values)[first[places[hits]]]
    return result.reshape(x.shape)


@host_operator("CategoryMapper", domain=DOMAIN)
def category_mapper(
    x: Array,
    *,
    cats_int64s: Sequence[int] = (),
    cats_strings: Sequence[str] = (),
    default_int64: int = -1,
    default_string: str = "_Unused",
) -> Array:
    """Strings to numbers, and numbers to strings."""
    numbers, names = np.asarray(cats_int64s, np.int64), np.asarray(cats_strings, object)
    if x.dtype.kind in "OU":
        return mapped(x, names, numbers, np.asarray(default_int64))
    return mapped(x, numbers, names, np.asarray(default_string, object))


@host_operator("OneHotEncoder", domain=DOMAIN)
def one_hot_encoder(
    x: Array,
    *,
    cats_int64s: Sequence[int] = (),
    cats_strings: Sequence[str] = (),
    zeros: int = 1,
) -> Array:
    """A row of zeros with a 1 at the category that each element is, along a new last axis.

    Raises `ValueError` for what is no category, unless `zeros`.
    """
    if x.dtype.kind in "OU":
        names = np.asarray(cats_strings, str)
        result = x.astype(str)[..., None] == names
    else:
        result = x.astype(np.int64)[..., None] == np.asarray(cats_int64s, np.int64)
    if not zeros and not result.any(-1).all():
        raise ValueError("an element is none of the categories")
    return np.asarray(result.astype(np.float32))


@host_operator("DictVectorizer", domain=DOMAIN)
def dict_vectorizer(
    x: Map | list[Map],
    *,
    int64_vocabulary: Sequence[int] = (),
    string_vocabulary: Sequence[str] = (),
) -> Array:
    """The values of a map in the order of a vocabulary; 0 for keys that it lacks."""
    keys: list[object] = [*string_vocabulary, *int64_vocabulary]
    maps = x if isinstance(x, list) else [x]
    values = [value for m in maps for value in m.values()]
    if values and isinstance(values[0], str):
        return np.asarray([[m.get(key, "") for key in keys] for m in maps], object)
    dtype = np.int64 if values and isinstance(values[0], int | np.integer) else np.float32
    if values and isinstance(values[0], np.generic):
        dtype = values[0].dtype.type  # type: ignore[assignment]
    return np.asarray([[m.get(key, 0) for key in keys] for m in maps], dtype)


@host_operator("CastMap", domain=DOMAIN)
def cast_map(
    x: Map, *, cast_to: str = "TO_FLOAT", map_form: str = "DENSE", max_map: int = 1
) -> Array:
    """The values of a map in the order of its keys, a row; or each at its key in zeros."""
    keys = sorted(x)  # type: ignore[type-var]
    values = [x[key] for key in keys]
    if cast_to == "TO_STRING":
        row = np.asarray([str(value) for value in values], object)
    else:
        numbers = [float(value) for value in values]  # type: ignore[arg-type]
        row = np.asarray(numbers).astype(NUMBERS[cast_to])
    if map_form == "DENSE":
        return row.reshape(1, -1)
    result = np.zeros((1, max_map), row.dtype)
    if row.dtype.kind == "O":
        result[:] = ""
    for key, value in zip(keys, row, strict=True):
        result[0, int(key)] = value  # type: ignore[call-overload]
    return result


@host_operator("ZipMap", domain=DOMAIN)
def zip_map(
    x: Array, *, classlabels_int64s: Sequence[int] = (), classlabels_strings: Sequence[str] = ()
) -> list[Value]:
    """A map from labels to values for each row."""
    labels: list[object] = [*classlabels_strings, *classlabels_int64s]
    rows = x.reshape(1, -1) if x.ndim == 1 else x
    if rows.shape[1] != len(labels):
        raise ValueError(f"{rows.shape[1]} values a row, and {len(labels)} labels")
    return [dict(zip(labels, row, strict=True)) for row in rows.tolist()]
