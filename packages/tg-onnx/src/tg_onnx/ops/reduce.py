"""Reductions over axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from tg_tensor import Tensor

from tg_onnx.proto import Array
from tg_onnx.registry import operator

Reduction = Callable[[Tensor, tuple[int, ...], bool], Tensor]


def _sum(x: Tensor, axes: tuple[int, ...], keep: bool) -> Tensor:
    return x.sum(axes, keepdim=keep).cast(x.dtype)


def _mean(x: Tensor, axes: tuple[int, ...], keep: bool) -> Tensor:
    return x.mean(axes, keepdim=keep).cast(x.dtype)


def _of_nothing(x: Tensor, axes: tuple[int, ...], keep: bool, value: object) -> Tensor:
    """The identity of a reduction over an axis without elements."""
    gone = {axis + x.ndim if axis < 0 else axis for axis in axes}
    shape = [1 if i in gone else int(n) for i, n in enumerate(x.shape) if keep or i not in gone]
    return Tensor(np.full(shape, value)).cast(x.dtype)


def _has_nothing(x: Tensor, axes: tuple[int, ...]) -> bool:
    return any(int(x.shape[axis]) == 0 for axis in axes)


def _max(x: Tensor, axes: tuple[int, ...], keep: bool) -> Tensor:
    if _has_nothing(x, axes):
        return _of_nothing(x, axes, keep, x.dtype.min)
    return x.max(axes, keepdim=keep)


def _min(x: Tensor, axes: tuple[int, ...], keep: bool) -> Tensor:
    if _has_nothing(x, axes):
        return _of_nothing(x, axes, keep, x.dtype.max)
    return x.min(axes, keepdim=keep)


def _prod(x: Tensor, axes: tuple[int, ...], keep: bool) -> Tensor:
    return x.prod(axes, keepdim=keep).cast(x.dtype)


def _l1(x: Tensor, axes: tuple[int, ...], keep: bool) -> Tensor:
    return x.abs().sum(axes, keepdim=keep).cast(x.dtype)


def _l2(x: Tensor, axes: tuple[int, ...], keep: bool) -> Tensor:
    return x.square().sum(axes, keepdim=keep).sqrt().cast(x.dtype)


def _sum_square(x: Tensor, axes: tuple[int, ...], keep: bool) -> Tensor:
    return x.square().sum(axes, keepdim=keep).cast(x.dtype)


def _log_sum(x: Tensor, axes: tuple[int, ...], keep: bool) -> Tensor:
    return x.sum(axes, keepdim=keep).log().cast(x.dtype)


def _log_sum_exp(x: Tensor, axes: tuple[int, ...], keep: bool) -> Tensor:
    if _has_nothing(x, axes):
        return _of_nothing(x, axes, keep, -np.inf)
    return x.logsumexp(axes, keepdim=keep).cast(x.dtype)


# the opset from which on the axes are an input instead of an attribute
REDUCTIONS: dict[str, tuple[Reduction, int]] = {
    "ReduceSum": (_sum, 13),
    "ReduceMean": (_mean, 18),
    "ReduceMax": (_max, 18),
    "ReduceMin": (_min, 18),
    "ReduceProd": (_prod, 18),
    "ReduceL1": (_l1, 18),
    "ReduceL2": (_l2, 18),
    "ReduceSumSquare": (_sum_square, 18),
    "ReduceLogSum": (_log_sum, 18),
    "ReduceLogSumExp": (_log_sum_exp, 18),
}


def _register(name: str, reduction: Reduction, axes_are_input_since: int) -> None:
    def by_attribute(x: Tensor, *, axes: Sequence[int] | None = None, keepdims: int = 1) -> Tensor:
        return reduction(x, tuple(axes or range(x.ndim)), bool(keepdims))

    def by_input(
        x: Tensor,
        axes: Array | None = None,
        *,
        keepdims: int = 1,
        noop_with_empty_axes: int = 0,
    ) -> Tensor:
        chosen = () if axes is None else tuple(int(axis) for axis in np.ravel(axes))
        if not chosen and noop_with_empty_axes:
            # over no axis: one element at a time, of which the square or logarithm is taken still
            return reduction(x.unsqueeze(-1), (x.ndim,), False)
        return reduction(x, chosen or tuple(range(x.ndim)), bool(keepdims))

    operator(name)(by_attribute)
    operator(name, since=axes_are_input_since, host=(1,))(by_input)


for _name, (_reduction, _since) in REDUCTIONS.items():
    _register(_name, _reduction, _since)


def _extreme(x: Tensor, axis: int, keepdims: int, last: int, find: Callable[..., Tensor]) -> Tensor:
    dim = axis + x.ndim if axis < 0 else axis
    if not last:
        return find(x, dim, keepdim=bool(keepdims)).long()
    size = int(x.shape[dim])
    return (size - 1 - find(x.flip(dim), dim, keepdim=bool(keepdims))).long()


@operator("ArgMax")
def argmax(x: Tensor, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Tensor:
    """The position of the greatest element, int64."""
    return _extreme(x, axis, keepdims, select_last_index, Tensor.argmax)


@operator("ArgMin")
def argmin(x: Tensor, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Tensor:
    """The position of the least element, int64."""
    return _extreme(x, axis, keepdims, select_last_index, Tensor.argmin)


@operator("TopK")
def top_k_attribute(x: Tensor, *, k: int, axis: int = -1) -> tuple[Tensor, Tensor]:
    """Before opset 10 the count is an attribute."""
    return top_k(x, np.asarray(k), axis=axis)


@operator("TopK", since=10, host=(1,))
def top_k(
    x: Tensor, k: Array, *, axis: int = -1, largest: int = 1, sorted: int = 1
) -> tuple[Tensor, Tensor]:
    """The k greatest or least elements and their positions."""
    values, indices = x.topk(int(np.ravel(k)[0]), axis, bool(largest), bool(sorted))
    return values, indices.long()
