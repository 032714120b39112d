"""Searching, sorting and set functions of the array API standard."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from tg_tensor.errors import ArgumentError
from tg_tensor.interop.array_api.operators import Operand
from tg_tensor.tensor import Tensor
from tg_uop import dtypes


class UniqueAll(NamedTuple):
    """What `unique_all` gives."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """What `unique_counts` gives."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """What `unique_inverse` gives."""

    values: Tensor
    inverse_indices: Tensor


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The first position of the greatest, or of the first NaN."""
    return _kept(x, x.argmax(axis), axis) if keepdims else x.argmax(axis)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The first position of the smallest, or of the first NaN."""
    return _kept(x, x.argmin(axis), axis) if keepdims else x.argmin(axis)


def _kept(x: Tensor, found: Tensor, axis: int | None) -> Tensor:
    gone = range(x.ndim) if axis is None else (x._axis(axis),)
    return found.reshape(tuple(1 if a in gone else size for a, size in enumerate(x.shape)))


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The positions of what is not 0, a Tensor for each axis; needs the values now.

    Raises `ArgumentError` for a Tensor without axes.
    """
    if x.ndim == 0:
        raise ArgumentError(op="nonzero", argument="x", given=x, expected="of one axis or more")
    return tuple(x.nonzero()[:, axis] for axis in range(x.ndim))


def searchsorted(
    x1: Tensor, x2: Operand, /, *, side: str = "left", sorter: Tensor | None = None
) -> Tensor:
    """Where `x2` would be put into the sorted `x1` to keep it so."""
    return x1.searchsorted(x1.ufix(x2), side=side, sorter=sorter)


def where(condition: Tensor, x1: Operand, x2: Operand, /) -> Tensor:
    """`x1` where the condition holds, else `x2`."""
    return condition.where(x1, x2)


# *** sorting ***


def argsort(
    x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """The positions that sort an axis; equal elements always keep their order."""
    return x.argsort(axis, descending)


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements along an axis in order; NaN counts as greatest."""
    return x.sort(axis, descending)[0]


# *** sets: these need the values now; every NaN is distinct ***


def unique_all(x: Tensor, /) -> UniqueAll:
    """The distinct values in order, where each is first, where each element went, how many each
    had."""
    values, first, inverse, counts = np.unique(
        _on_host(x), return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    return UniqueAll(
        _like(x, values),
        _positions(x, first),
        _positions(x, inverse.reshape(x.shape)),
        _positions(x, counts),
    )


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """The distinct values in order, and how many each had."""
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """The distinct values in order, and where each element went."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: Tensor, /) -> Tensor:
    """The distinct values in order."""
    return unique_all(x).values


def _on_host(x: Tensor) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    return x.numpy()


def _like(x: Tensor, values: object) -> Tensor:
    return Tensor(values, device=x.device, dtype=x.dtype)


def _positions(x: Tensor, values: object) -> Tensor:
    return Tensor(values, device=x.device, dtype=dtypes.default_int)
