"""Matrix products as broadcast, multiply, sum: the kernel compiler makes a matmul of it."""

from __future__ import annotations

from typing import Self

from tg_uop import Ops
from tg_uop.dtype.promote import least_upper_dtype, sum_acc_dtype
from tg_uop.errors import NoAxesError, ShapeError

from tg_tensor.defaults import DTypeLike, to_dtype
from tg_tensor.ops.reduce import TensorReduceOps


class MatmulOps(TensorReduceOps):
    """Products of matrices and vectors."""

    __slots__ = ()

    def dot(self, w: Self, dtype: DTypeLike | None = None) -> Self:
        """The sum of products over the last axis of this and the last but one of `w`.

        Vectors and batches are treated as `numpy.matmul` treats them. Half-precision products are
        added up in float32 and rounded once; `dtype` asks for another number type of the result.
        Raises `ShapeError` when the summed sizes differ or an operand has no axis.
        """
        left, right = self._in_order_of_dtype(w)
        _check_matmul(left, right)
        if right.ndim == 1:
            return left._contract(right, dtype)
        columns = right.transpose(-1, -2)
        if left.ndim == 1:
            return left._contract(columns, dtype)
        rows = left.reshape((*left.shape[:-1], 1, left.shape[-1]))
        shape = columns.shape
        columns = columns.reshape((*shape[:-2], 1, *shape[-2:]))
        return rows._contract(columns, dtype)

    def _in_order_of_dtype(self, w: object) -> tuple[Self, Self]:
        other = self.ufix(w)
        if other.dtype is self.dtype:
            return self, other
        left, right = self.uop, other.uop
        dtype = self._common_dtype(other)
        return self._of(left.cast(dtype)), self._of(right.cast(dtype))

    def _contract(self, other: Self, dtype: DTypeLike | None) -> Self:
        """The sum of products over the last axis, broadcast over the others."""
        return self._summed_product(other, (-1,), dtype)

    def _summed_product(self, other: Self, axes: tuple[int, ...], dtype: DTypeLike | None) -> Self:
        """The sum of products over axes, in the dtype of the product unless another is named.

        Both operands are widened before they are multiplied, so half-precision products are exact.
        """
        common = self._common_dtype(other)
        result = common if dtype is None else to_dtype(dtype)
        inner = sum_acc_dtype(least_upper_dtype(common, result))
        if common.is_int or common.is_bool:
            # wraps as the operands do, whatever the width of the accumulator
            inner = sum_acc_dtype(result)
        return (self.cast(inner) * other.cast(inner))._combine(Ops.ADD, axes, False).cast(result)

    def matmul(self, x: object, reverse: bool = False, dtype: DTypeLike | None = None) -> Self:
        """See `dot`; with `reverse` the operands change places."""
        other = self.ufix(x)
        return other.dot(self, dtype) if reverse else self.dot(other, dtype)

    def __matmul__(self, x: object) -> Self:
        return self.matmul(x)

    def __rmatmul__(self, x: object) -> Self:
        return self.matmul(x, True)

    def linear(
        self, weight: Self, bias: Self | None = None, dtype: DTypeLike | None = None
    ) -> Self:
        """self @ weight + bias; a vector as weight scales the last axis."""
        if dtype is not None:
            cast_bias = bias.cast(dtype) if bias is not None else None
            return self.cast(dtype).linear(weight.cast(dtype), cast_bias)
        product = self * weight if weight.ndim == 1 else self.dot(weight)
        return product if bias is None else product + bias


def _check_matmul(left: MatmulOps, right: MatmulOps) -> None:
    shapes = (left.shape, right.shape)
    if not left.shape or not right.shape:
        raise NoAxesError(
            op="matmul",
            shapes=shapes,
            reason="a number has no axis to sum over",
            hint="use * for products with a number",
        )
    inner = right.shape[-1] if right.ndim == 1 else right.shape[-2]
    if left.shape[-1] != inner:
        raise ShapeError(
            op="matmul",
            shapes=shapes,
            reason=f"{left.shape[-1]} columns on the left meet {inner} rows on the right",
            hint="the last axis on the left must be as long as the last but one on the right",
        )
