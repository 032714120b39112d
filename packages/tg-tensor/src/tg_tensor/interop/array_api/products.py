"""The four functions of linear algebra in the main namespace of the array API standard."""

from __future__ import annotations

from collections.abc import Sequence

from tg_tensor.errors import ArgumentError
from tg_tensor.tensor import Tensor
from tg_uop.dtype.promote import least_upper_dtype


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The product of matrices; leading axes broadcast."""
    return x1 @ x2


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The matrices with their last two axes swapped. Raises `ArgumentError` without two axes."""
    if x.ndim < 2:
        raise ArgumentError(
            op="matrix_transpose", argument="x", given=x, expected="of two axes or more"
        )
    return x.transpose(-2, -1)


def tensordot(
    x1: Tensor, x2: Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Tensor:
    """The sum of products over pairs of axes, or over the last and first `axes` of them."""
    return x1.tensordot(x2, axes)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The sum of products along an axis, counted from the last; other axes broadcast.

    Raises `ArgumentError` for an axis that is not counted from the last, or sizes that differ.
    """
    shorter = min(x1.ndim, x2.ndim)
    if not -shorter <= axis < 0:
        raise ArgumentError(
            op="vecdot", argument="axis", given=axis, expected=f"from -{shorter} to -1"
        )
    if x1.shape[axis] != x2.shape[axis]:
        raise ArgumentError(
            op="vecdot",
            argument="axis",
            given=axis,
            expected=f"one of equal sizes in {x1.shape} and {x2.shape}",
        )
    dtype = least_upper_dtype(x1.dtype, x2.dtype)
    return (x1.cast(dtype) * x2.cast(dtype)).sum(axis).cast(dtype)
