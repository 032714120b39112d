"""Statistical and utility functions of the array API standard."""

from __future__ import annotations

from collections.abc import Sequence

from tg_tensor.defaults import DTypeLike, to_dtype
from tg_tensor.errors import ArgumentError
from tg_tensor.interop.array_api.creation import full
from tg_tensor.interop.array_api.manipulation import concat
from tg_tensor.tensor import Tensor
from tg_uop import DType
from tg_uop.dtype.promote import sum_result_dtype

Axes = int | Sequence[int] | None


def _axes(axis: Axes) -> int | tuple[int, ...] | None:
    return axis if axis is None or isinstance(axis, int) else tuple(axis)


def all(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Whether none is 0, along axes."""
    return x.all(_axes(axis), keepdims)


def any(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Whether one is not 0, along axes."""
    return x.any(_axes(axis), keepdims)


def max(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The greatest along axes; NaN where one is NaN."""
    return x.max(_axes(axis), keepdims)


def min(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The smallest along axes; NaN where one is NaN."""
    return x.min(_axes(axis), keepdims)


def mean(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The mean along axes; NaN of nothing."""
    return x.mean(_axes(axis), keepdims)


def prod(
    x: Tensor, /, *, axis: Axes = None, dtype: DTypeLike | None = None, keepdims: bool = False
) -> Tensor:
    """The product along axes; small integers give 32 bits."""
    wanted = _accumulated(x, dtype)
    return x.cast(wanted).prod(_axes(axis), keepdims).cast(wanted)


def std(
    x: Tensor, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """The standard deviation along axes, of a population unless `correction` is 1."""
    return x.std(_axes(axis), keepdims, correction)


def sum(
    x: Tensor, /, *, axis: Axes = None, dtype: DTypeLike | None = None, keepdims: bool = False
) -> Tensor:
    """The sum along axes; small integers give 32 bits."""
    wanted = _accumulated(x, dtype)
    return x.cast(wanted).sum(_axes(axis), keepdims).cast(wanted)


def var(
    x: Tensor, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """The variance along axes, of a population unless `correction` is 1."""
    return x.var(_axes(axis), keepdims, correction)


def cumulative_sum(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Tensor:
    """The sums up to each element; `include_initial` has the sum of nothing in front.

    Raises `ArgumentError` without an axis where there are several.
    """
    place = _one_axis("cumulative_sum", x, axis)
    found = x.cast(_accumulated(x, dtype)).cumsum(place)
    return _with_first(0, found, place) if include_initial else found


def cumulative_prod(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Tensor:
    """The products up to each element; `include_initial` has that of nothing in front.

    Raises `ArgumentError` without an axis where there are several.
    """
    place = _one_axis("cumulative_prod", x, axis)
    found = x.cast(_accumulated(x, dtype)).cumprod(place)
    return _with_first(1, found, place) if include_initial else found


def diff(
    x: Tensor,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """The differences of neighbours along an axis, `n` times."""
    parts = [part for part in (prepend, x, append) if part is not None]
    found = concat(parts, axis=axis)
    place = x._axis(axis)
    every = (slice(None),) * place
    for _ in range(n):
        right, left = found[(*every, slice(1, None))], found[(*every, slice(None, -1))]
        found = right ^ left if found.dtype.is_bool else right - left
    return found


def count_nonzero(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """How many are not 0, along axes."""
    return x.ne(0).sum(_axes(axis), keepdims)


def _accumulated(x: Tensor, dtype: DTypeLike | None) -> DType:
    return sum_result_dtype(x.dtype) if dtype is None else to_dtype(dtype)


def _one_axis(op: str, x: Tensor, axis: int | None) -> int:
    if axis is None and x.ndim != 1:
        raise ArgumentError(
            op=op, argument="axis", given=None, expected=f"an axis of shape {x.shape}"
        )
    return x._axis(axis or 0)


def _with_first(identity: int, found: Tensor, axis: int) -> Tensor:
    shape = [1 if a == axis else size for a, size in enumerate(found.shape)]
    return full(shape, identity, dtype=found.dtype, device=found.device).cat(found, dim=axis)
