"""Operators on strings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from tg_onnx.proto import Array
from tg_onnx.registry import host_operator

try:
    import re2
except ImportError:  # the extra "text"
    re2 = None

CASES = {"LOWER": str.lower, "UPPER": str.upper}


@host_operator("StringConcat", since=20)
def string_concat(x: Array, y: Array) -> Array:
    """Strings one after the other, of shapes that broadcast."""
    return np.asarray(x.astype(object) + y.astype(object), object)


@host_operator("StringSplit", since=20)
def string_split(
    x: Array, *, delimiter: str | None = None, maxsplit: int | None = None
) -> tuple[Array, Array]:
    """The parts of each string along a new last axis, filled with empty ones, and their number.

    Without a delimiter white space separates, however long.
    """
    most = -1 if maxsplit is None else maxsplit
    parts = [_parts(str(text), delimiter, most) for text in x.reshape(-1)]
    width = max((len(found) for found in parts), default=0)
    result = np.full((len(parts), width), "", object)
    for row, found in enumerate(parts):
        result[row, : len(found)] = found
    counts = np.asarray([len(found) for found in parts], np.int64)
    return result.reshape((*x.shape, width)), counts.reshape(x.shape)


def _parts(text: str, delimiter: str | None, most: int) -> list[str]:
    """The parts of a string; an empty one has none, as onnxruntime has it."""
    if delimiter:
        return text.split(delimiter, most) if text else []
    return text.strip().split(None, most)


@host_operator("StringNormalizer", since=10)
def string_normalizer(
    x: Array,
    *,
    case_change_action: str = "NONE",
    is_case_sensitive: int = 0,
    locale: str = "",
    stopwords: Sequence[str] = (),
) -> Array:
    """Strings without those of a list, then in another case; one empty string for nothing."""
    if x.ndim > 1 and x.shape[0] != 1:
        raise ValueError(f"strings of shape {x.shape}, where there is one row")
    words = [str(word) for word in x.reshape(-1)]
    if is_case_sensitive:
        dropped = set(stopwords)
        kept = [word for word in words if word not in dropped]
    else:
        dropped = {word.lower() for word in stopwords}
        kept = [word for word in words if word.lower() not in dropped]
    change = CASES.get(case_change_action, str)
    result = np.asarray([change(word) for word in kept] or [""], object)
    return result.reshape(1, -1) if x.ndim > 1 else result


@host_operator("RegexFullMatch", since=20)
def regex_full_match(x: Array, *, pattern: str) -> Array:
    """Whether a pattern of RE2 fits each string as a whole.

    A pattern comes with the model: it must not take more time than the strings are long, which
    backtracking would. Raises `ValueError` for what is no pattern, and where RE2 is not installed.
    """
    if re2 is None:
        raise ValueError("patterns need google-re2: pip install 'tg-onnx[text]'")
    try:
        expression = re2.compile(pattern)
    except re2.error as error:
        raise ValueError(f"{pattern!r} is no pattern of RE2: {error}") from None
    found = [expression.fullmatch(str(text)) is not None for text in x.reshape(-1)]
    return np.asarray(found, np.bool_).reshape(x.shape)


@host_operator("TfIdfVectorizer", since=9)
def tf_idf_vectorizer(
    x: Array,
    *,
    max_gram_length: int,
    max_skip_count: int,
    min_gram_length: int,
    mode: str,
    ngram_counts: Sequence[int],
    ngram_indexes: Sequence[int],
    pool_int64s: Sequence[int] = (),
    pool_strings: Sequence[str] = (),
    weights: Sequence[float] = (),
) -> Array:
    """How often each of the grams of a pool is in each row: counted, weighed, or both.

    A gram is so many elements, with equally many left out between each two.
    """
    pool: Sequence[object] = list(pool_strings) or list(pool_int64s)
    columns = _columns(pool, ngram_counts, ngram_indexes)
    width = max(ngram_indexes, default=-1) + 1
    rows = x.reshape(-1, x.shape[-1]) if x.ndim else x.reshape(1, 1)
    counts = np.zeros((len(rows), width), np.float32)
    for place, row in enumerate(rows.tolist()):
        grams: Counter[tuple[object, ...]] = Counter()
        for length in range(min_gram_length, min(max_gram_length, len(row)) + 1):
            # grams that reach beyond the row are none
            room = (len(row) - 1) // (length - 1) if length > 1 else 1
            for step in range(1, min(max_skip_count + 1, room) + 1):
                reach = step * (length - 1) + 1
                grams.update(tuple(row[i : i + reach : step]) for i in range(len(row) - reach + 1))
        for gram, number in grams.items():
            if gram in columns:
                counts[place, columns[gram]] += number
    scale = np.ones(width, np.float32)
    # weights stand in the order of the pool
    scale[list(ngram_indexes[: len(weights)])] = weights
    result = counts if mode == "TF" else (counts > 0) * scale if mode == "IDF" else counts * scale
    return result.astype(np.float32).reshape((*x.shape[:-1], width))


def _columns(
    pool: Sequence[object], starts: Sequence[int], indexes: Sequence[int]
) -> dict[tuple[object, ...], int]:
    """The column of each gram: those of one element come first in the pool, then those of two."""
    columns: dict[tuple[object, ...], int] = {}
    number = 0
    ends = [*starts[1:], len(pool)]
    for length, (start, end) in enumerate(zip(starts, ends, strict=True), 1):
        for place in range(start, end, length):
            columns[tuple(pool[place : place + length])] = indexes[number]
            number += 1
    return columns
