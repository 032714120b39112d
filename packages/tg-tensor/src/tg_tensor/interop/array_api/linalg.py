"""The linear algebra extension of the array API standard, on real matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tg_tensor.defaults import DTypeLike
from tg_tensor.interop.array_api.products import matmul, matrix_transpose, tensordot, vecdot
from tg_tensor.interop.array_api.reductions import sum as _sum
from tg_tensor.tensor import Tensor

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


class Eigen(NamedTuple):
    """What `eigh` gives."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QR(NamedTuple):
    """What `qr` gives."""

    Q: Tensor
    R: Tensor


class SignedLogarithm(NamedTuple):
    """What `slogdet` gives."""

    sign: Tensor
    logabsdet: Tensor


class SVD(NamedTuple):
    """What `svd` gives."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """The triangular root of symmetric positive matrices."""
    return x.cholesky(upper=upper)


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The cross product of vectors of three elements along an axis."""
    return x1.cross(x2, axis)


def det(x: Tensor, /) -> Tensor:
    """The determinants."""
    return x.det()


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """The diagonals of the matrices in the last two axes."""
    return x.diagonal(offset, -2, -1)


def eigh(x: Tensor, /) -> Eigen:
    """Eigenvalues, rising, and eigenvectors of symmetric matrices."""
    values, vectors = x.eigh()
    return Eigen(values, vectors)


def eigvalsh(x: Tensor, /) -> Tensor:
    """Eigenvalues of symmetric matrices, rising."""
    return x.eigvalsh()


def inv(x: Tensor, /) -> Tensor:
    """The inverses."""
    return x.inv()


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: int | float | str = "fro") -> Tensor:
    """The norms of the matrices in the last two axes."""
    return x.matrix_norm(ord, (-2, -1), keepdims)


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """The matrices multiplied `n` times; inverses for a negative `n`."""
    return x.matrix_power(n)


def matrix_rank(x: Tensor, /, *, rtol: float | None = None) -> Tensor:
    """How many singular values are greater than `rtol` times the greatest."""
    return x.matrix_rank(rtol=rtol)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Every product of an element of one vector with one of the other."""
    return x1.outer(x2)


def pinv(x: Tensor, /, *, rtol: float | None = None) -> Tensor:
    """The pseudo-inverses; singular values below `rtol` times the greatest count as 0."""
    return x.pinv(rtol=rtol)


def qr(x: Tensor, /, *, mode: str = "reduced") -> QR:
    """Matrices of orthonormal columns and upper triangular ones, whose product is `x`."""
    left, right = x.qr(mode=mode)
    return QR(left, right)


def slogdet(x: Tensor, /) -> SignedLogarithm:
    """The signs of the determinants and the logarithms of their sizes."""
    sign, size = x.slogdet()
    return SignedLogarithm(sign, size)


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """What multiplied by `x1` gives `x2`, a vector or matrices."""
    return x1.solve(x2)


def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVD:
    """Left singular vectors, singular values, falling, and right ones as rows."""
    left, values, right = x.svd(full_matrices)
    return SVD(left, values, right)


def svdvals(x: Tensor, /) -> Tensor:
    """The singular values, falling."""
    return x.svdvals()


def trace(x: Tensor, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Tensor:
    """The sums of the diagonals of the matrices in the last two axes."""
    return _sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(
    x: Tensor,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    ord: int | float = 2,
) -> Tensor:
    """The norms along axes, of all elements as one vector without one."""
    axes = axis if axis is None or isinstance(axis, int) else tuple(axis)
    return x.vector_norm(ord, axes, keepdims)
