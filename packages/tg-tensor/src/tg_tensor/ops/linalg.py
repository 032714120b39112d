"""Norms, and products of vectors and matrices other than `dot`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self, TypeVar

from tg_uop import dtypes
from tg_uop.errors import ShapeError
from tg_uop.methods.broadcast import broadcast_shape
from tg_uop.plain import plain, plain_sequence

from tg_tensor.defaults import DTypeLike
from tg_tensor.errors import ArgumentError
from tg_tensor.ops.solve import SolveOps

Dims = int | Sequence[int] | None
L = TypeVar("L", bound="LinalgOps")


class LinalgOps(SolveOps):
    """Norms and products."""

    __slots__ = ()

    # *** norms ***

    def vector_norm(
        self,
        ord: float = 2,
        dim: Dims = None,
        keepdim: bool = False,
        dtype: DTypeLike | None = None,
    ) -> Self:
        """(sum |x|^ord)^(1/ord) over axes (all if None); the largest size for inf, the smallest
        for -inf, the number of elements that are not 0 for 0.

        The gradient of the norm of zeros is 0.
        """
        x = self._as_float() if dtype is None else self.cast(dtype)
        size = x.abs()
        if ord == math.inf:
            return size.max(dim, keepdim) if self.numel() else size.sum(dim, keepdim)
        if ord == -math.inf:
            return size.min(dim, keepdim)
        if ord == 0:
            return x.ne(0).sum(dim, keepdim).cast(x.dtype)
        if ord == 1:
            return size.sum(dim, keepdim)
        wide = x._as_solvable()
        if ord == 2:
            return _safe_root(wide.square().sum(dim, keepdim), 0.5).cast(x.dtype)
        if float(ord).is_integer() and ord > 0:
            return _safe_root((wide.abs() ** ord).sum(dim, keepdim), 1 / ord).cast(x.dtype)
        # a power that is infinite at 0 gives no NaN there
        is_zero = wide.eq(0)
        at_zero = 0.0 if ord > 0 else math.inf
        powers = is_zero.where(at_zero, is_zero.where(1.0, wide.abs()) ** ord)
        return _safe_root(powers.sum(dim, keepdim), 1 / ord).cast(x.dtype)

    def matrix_norm(
        self,
        ord: float | str | None = "fro",
        dim: tuple[int, int] = (-2, -1),
        keepdim: bool = False,
        dtype: object = None,
    ) -> Self:
        """A norm of matrices in two axes: "fro" (None too), "nuc", inf, -inf, 1, -1, 2, -2.

        Raises `ArgumentError` for another norm, `ShapeError` unless two axes are named.
        """
        x = self._as_float() if dtype is None else self.cast(dtype)  # type: ignore[arg-type]
        x._check_matrix("matrix_norm")
        rows, columns = x._axis(dim[0]), x._axis(dim[1])
        if rows == columns:
            raise ShapeError(
                op="matrix_norm", shapes=(self.shape,), reason="one axis is named twice"
            )
        if ord in ("fro", None):
            return x.vector_norm(2, (rows, columns), keepdim)
        if 0 in (x.shape[rows], x.shape[columns]) and ord in (1, 2, math.inf, "nuc"):
            # as NumPy has it: no row and no column is longer than 0
            return x.sum((rows, columns), keepdim=keepdim)
        if ord in (1, -1, math.inf, -math.inf):
            summed, other = (rows, columns) if abs(float(ord)) == 1 else (columns, rows)
            sums = x.abs().sum(summed, keepdim=True)
            found = sums.max(other, True) if float(ord) > 0 else sums.min(other, True)
        elif ord in ("nuc", 2, -2):
            rest = [axis for axis in range(x.ndim) if axis not in (rows, columns)]
            s = x.permute([*rest, rows, columns]).svdvals()
            last = s.shape[-1] - 1
            if ord == "nuc":
                found = s.sum(-1)
            else:
                place = 0 if ord == 2 else last
                found = s._part(s.ndim - 1, place, place + 1).squeeze(-1)
            sizes = tuple(1 if axis in (rows, columns) else n for axis, n in enumerate(x.shape))
            found = found.reshape(sizes)
        else:
            expected = "'fro', 'nuc', inf, -inf, 1, -1, 2 or -2"
            raise ArgumentError(op="matrix_norm", argument="ord", given=ord, expected=expected)
        return found if keepdim else found.squeeze((rows, columns))

    def norm(
        self,
        p: float | str | None = "fro",
        dim: Dims = None,
        keepdim: bool = False,
        dtype: DTypeLike | None = None,
    ) -> Self:
        """The vector norm of order `p` over axes, with "fro" (None too) of order 2; "nuc" is the
        sum of the singular values of a matrix.
        """
        if p == "nuc":
            axes = (-2, -1) if dim is None else dim
            return self.matrix_norm("nuc", axes, keepdim, dtype)  # type: ignore[arg-type]
        if isinstance(p, str) and p != "fro":
            raise ArgumentError(op="norm", argument="p", given=p, expected="a number, 'fro', 'nuc'")
        return self.vector_norm(2 if p in ("fro", None) else p, dim, keepdim, dtype)  # type: ignore[arg-type]

    def cdist(self, other: Self, p: float = 2.0) -> Self:
        """The distances of order `p` between rows: shapes (..., m, k) and (..., n, k) give
        (..., m, n); batches broadcast. The gradient at distance 0 is 0.

        Raises `ShapeError` when the last axes differ.
        """
        self._check_matrix("cdist")
        other._check_matrix("cdist")
        if self.shape[-1] != other.shape[-1]:
            raise ShapeError(
                op="cdist",
                shapes=(self.shape, other.shape),
                reason=f"rows of {self.shape[-1]} and of {other.shape[-1]} have no distance",
            )
        return (self.unsqueeze(-2) - other.unsqueeze(-3)).vector_norm(p, -1)

    def dist(self, other: Self, p: float = 2.0) -> Self:
        """The norm of order `p` of the difference, over all elements."""
        return (self - other).vector_norm(p)

    def pdist(self, p: float = 2.0) -> Self:
        """The distances of order `p` between each row of a matrix and all rows after it.

        Raises `ShapeError` for other numbers of axes.
        """
        if self.ndim != 2:
            raise ShapeError(op="pdist", shapes=(self.shape,), reason="rows of a matrix are needed")
        count = self.shape[0]
        rows = [(i, j) for i in range(count) for j in range(i + 1, count)]
        if not rows:
            return self._as_float()._nothing(0)
        first, second = (self._lift(list(side), self.device) for side in zip(*rows, strict=True))
        return (self[first] - self[second]).vector_norm(p, -1)

    # *** diagonals ***

    def trace(self, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Self:
        """The sum of a diagonal of two axes."""
        return self.diagonal(offset, dim1, dim2).sum(-1)

    def diag(self, diagonal: int = 0) -> Self:
        """The square matrix with this vector on a diagonal; of a matrix its diagonal.

        Raises `ArgumentError` for other numbers of axes.
        """
        if self.ndim == 2:
            return self.diagonal(diagonal)
        if self.ndim != 1:
            raise ArgumentError(
                op="diag",
                argument="self",
                given=self.shape,
                expected="a vector or a matrix (see diagonal, diag_embed)",
            )
        return self.diag_embed(diagonal)

    def diag_embed(self, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Self:
        """Square matrices in two axes of the result, with the last axis on a diagonal.

        Raises `ShapeError` when the two axes are one.
        """
        count = self.shape[-1]
        size = count + abs(offset)
        first, second = self._axis(dim1, extra=1), self._axis(dim2, extra=1)
        if first == second:
            raise ShapeError(
                op="diag_embed", shapes=(self.shape,), reason="one axis is named twice"
            )
        line = self._iota(size, self.device, dtypes.int32)
        on_diagonal = (line.unsqueeze(-1) + offset).eq(line)
        # the vector lies along the rows or the columns, whichever starts at 0
        keep = [(0, 0)] * (self.ndim - 1)
        padded = self._pad_zeros([*keep, (max(offset, 0), max(-offset, 0))])
        value = on_diagonal.where(padded.unsqueeze(-2), False)
        order = [axis for axis in range(value.ndim) if axis not in (first, second)]
        place = {axis: position for position, axis in enumerate(order)}
        place[first], place[second] = value.ndim - 2, value.ndim - 1
        return value.permute([place[axis] for axis in range(value.ndim)])

    # *** products of vectors ***

    def outer(self, other: Self) -> Self:
        """All products of an element of this with one of `other`; both as vectors."""
        return self.flatten().unsqueeze(-1) * other.flatten()

    def ger(self, other: Self) -> Self:
        """See `outer`."""
        return self.outer(other)

    def inner(self, other: Self) -> Self:
        """The sums of products over the last axes: shape (*self[:-1], *other[:-1]).

        Raises `ShapeError` when those differ in length.
        """
        if self.ndim == 0 or other.ndim == 0:
            return self * other
        if self.shape[-1] != other.shape[-1]:
            raise ShapeError(
                op="inner", shapes=(self.shape, other.shape), reason="the last axes differ"
            )
        return self.tensordot(other, ([-1], [-1]))

    def vdot(self, other: Self) -> Self:
        """The sum of products of two vectors. Raises `ShapeError` for other shapes."""
        if self.ndim != 1 or self.shape != other.shape:
            raise ShapeError(
                op="vdot",
                shapes=(self.shape, other.shape),
                reason="both must be vectors of one length",
            )
        return self.dot(other)

    def vecdot(self, other: Self, dim: int = -1) -> Self:
        """The sums of products over one axis of operands that broadcast."""
        shape = broadcast_shape(self.shape, other.shape)
        left, right = self._expand_to(shape), other._expand_to(shape)
        return left._summed_product(right, (left._axis(dim),), None)

    def cross(self, other: Self, dim: int = -1) -> Self:
        """The cross products of vectors of three elements along an axis.

        Raises `ShapeError` for another length.
        """
        shape = broadcast_shape(self.shape, other.shape)
        left, right = self._expand_to(shape), other._expand_to(shape)
        axis = left._axis(dim)
        if shape[axis] != 3:
            raise ShapeError(
                op="cross",
                shapes=(self.shape, other.shape),
                reason=f"axis {axis} has {shape[axis]} elements, not 3",
            )
        return left.roll(-1, axis) * right.roll(-2, axis) - left.roll(-2, axis) * right.roll(
            -1, axis
        )

    def kron(self, other: Self) -> Self:
        """The Kronecker product: each element of this times all of `other`, as blocks."""
        ndim = max(self.ndim, other.ndim)
        left = (1,) * (ndim - self.ndim) + self.shape
        right = (1,) * (ndim - other.ndim) + other.shape
        mine = self.reshape(tuple(n for size in left for n in (size, 1)))
        theirs = other.reshape(tuple(n for size in right for n in (1, size)))
        return (mine * theirs).reshape(tuple(a * b for a, b in zip(left, right, strict=True)))

    # *** products of matrices ***

    def tensordot(self, other: Self, dims: int | tuple[Sequence[int], Sequence[int]] = 2) -> Self:
        """The sums of products over axes: the last `dims` of this with the first of `other`, or
        two lists of axes. The rest of this comes first in the result.

        Raises `ShapeError` for axes of different lengths.
        """
        dims = plain(dims)
        if isinstance(dims, int):
            if not 0 <= dims <= min(self.ndim, other.ndim):
                expected = f"0 to {min(self.ndim, other.ndim)}, or two lists of axes"
                raise ArgumentError(op="tensordot", argument="dims", given=dims, expected=expected)
            dims = (range(self.ndim - dims, self.ndim), range(dims))
        first = [self._axis(axis) for axis in _as_list(dims[0])]
        second = [other._axis(axis) for axis in _as_list(dims[1])]
        lengths = [self.shape[axis] for axis in first], [other.shape[axis] for axis in second]
        if lengths[0] != lengths[1]:
            raise ShapeError(
                op="tensordot",
                shapes=(self.shape, other.shape),
                reason=f"axes {first} have lengths {lengths[0]}, axes {second} {lengths[1]}",
            )
        mine = [axis for axis in range(self.ndim) if axis not in first]
        theirs = [axis for axis in range(other.ndim) if axis not in second]
        shape = tuple(self.shape[a] for a in mine) + tuple(other.shape[a] for a in theirs)
        summed = math.prod(lengths[0])
        rows = math.prod(self.shape[axis] for axis in mine)
        columns = math.prod(other.shape[axis] for axis in theirs)
        left = self.permute([*mine, *first]).reshape((rows, summed))
        right = other.permute([*second, *theirs]).reshape((summed, columns))
        return (left @ right).reshape(shape)

    def mm(self, other: Self) -> Self:
        """The product of two matrices. Raises `ShapeError` for other numbers of axes."""
        return self._product("mm", other, 2, 2)

    def bmm(self, other: Self) -> Self:
        """The products of two batches of matrices. Raises `ShapeError` for other ranks."""
        if self.shape[:1] != other.shape[:1]:
            raise ShapeError(
                op="bmm", shapes=(self.shape, other.shape), reason="the batches differ"
            )
        return self._product("bmm", other, 3, 3)

    def mv(self, other: Self) -> Self:
        """The product of a matrix and a vector. Raises `ShapeError` for other ranks."""
        return self._product("mv", other, 2, 1)

    def _product(self, op: str, other: Self, left: int, right: int) -> Self:
        if self.ndim != left or other.ndim != right:
            raise ShapeError(
                op=op,
                shapes=(self.shape, other.shape),
                reason=f"the operands must have {left} and {right} axes",
                hint="matmul broadcasts",
            )
        return self @ other

    def addmm(self, mat1: Self, mat2: Self, *, beta: float = 1, alpha: float = 1) -> Self:
        """beta * self + alpha * (mat1 @ mat2); with beta 0 this is not looked at."""
        return _scaled_sum(self, mat1.mm(mat2), beta, alpha)

    def addmv(self, mat: Self, vec: Self, *, beta: float = 1, alpha: float = 1) -> Self:
        """beta * self + alpha * (mat @ vec)."""
        return _scaled_sum(self, mat.mv(vec), beta, alpha)

    def addr(self, vec1: Self, vec2: Self, *, beta: float = 1, alpha: float = 1) -> Self:
        """beta * self + alpha * the outer product of two vectors."""
        return _scaled_sum(self, vec1.outer(vec2), beta, alpha)

    def baddbmm(self, batch1: Self, batch2: Self, *, beta: float = 1, alpha: float = 1) -> Self:
        """beta * self + alpha * the products of two batches of matrices."""
        return _scaled_sum(self, batch1.bmm(batch2), beta, alpha)

    def addbmm(self, batch1: Self, batch2: Self, *, beta: float = 1, alpha: float = 1) -> Self:
        """beta * self + alpha * the sum of the products of two batches of matrices."""
        return _scaled_sum(self, batch1.bmm(batch2).sum(0), beta, alpha)

    def multi_dot(self, *others: Self) -> Self:
        """The product of this and other matrices, in the order of the least work.

        The first and the last may be vectors. Raises `ShapeError` for sizes that do not fit.
        """
        factors = [self, *others]
        if len(factors) == 1:
            return self._itself()
        shapes = [factor.shape for factor in factors]
        if any(len(shape) != 2 for shape in shapes[1:-1]) or not all(
            1 <= len(shape) <= 2 for shape in shapes
        ):
            raise ShapeError(
                op="multi_dot",
                shapes=shapes,
                reason="all must be matrices, the first and the last may be vectors",
            )
        rows = 1 if self.ndim == 1 else self.shape[0]
        columns = 1 if factors[-1].ndim == 1 else factors[-1].shape[1]
        sizes = [rows, *(shape[0] for shape in shapes[1:]), columns]
        return _in_best_order(factors, sizes)


def _as_list(axes: int | Sequence[int]) -> list[int]:
    return list(plain_sequence(axes))  # type: ignore[arg-type]


def _safe_root(total: L, exponent: float) -> L:
    """A root whose gradient at 0 is 0."""
    is_zero = total.eq(0)
    safe = is_zero.where(1.0, total)
    root = safe.sqrt() if exponent == 0.5 else safe**exponent
    return is_zero.where(0.0 if exponent > 0 else math.inf, root)


def _scaled_sum(value: L, product: L, beta: float, alpha: float) -> L:
    scaled = product if alpha == 1 else product * alpha
    if beta == 0:
        return scaled
    return (value if beta == 1 else value * beta) + scaled


def _in_best_order(factors: Sequence[L], sizes: Sequence[int]) -> L:
    """The parentheses with the fewest multiplications (Cormen et al., 15.2)."""
    count = len(factors)
    cost = {(i, i): 0 for i in range(count)}
    split: dict[tuple[int, int], int] = {}
    for length in range(2, count + 1):
        for i in range(count - length + 1):
            j = i + length - 1
            options = {
                k: cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                for k in range(i, j)
            }
            best = min(options, key=lambda k: options[k])
            cost[i, j], split[i, j] = options[best], best
    products: dict[tuple[int, int], L] = {(i, i): factor for i, factor in enumerate(factors)}
    for length in range(2, count + 1):
        for i in range(count - length + 1):
            j = i + length - 1
            k = split[i, j]
            products[i, j] = products[i, k] @ products[k + 1, j]
    return products[0, count - 1]
