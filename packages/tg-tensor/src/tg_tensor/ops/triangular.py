"""Triangular systems, and triangular factors of matrices: cholesky and lu.

The gradients are those of Giles (2008, "Collected matrix derivative results").
"""

from __future__ import annotations

from typing import Self, TypeVar

from tg_uop import dtypes
from tg_uop.errors import ShapeError
from tg_uop.methods.broadcast import broadcast_shape

from tg_tensor.algorithms.triangular import SubstitutionKernel, cholesky_kernel, lu_kernel
from tg_tensor.ops.kernels import Applied, Body, KernelOps, Rule, ones_on_diagonal

T = TypeVar("T", bound="TriangularOps")


class TriangularOps(KernelOps):
    """solve_triangular, cholesky, lu.

    Half-precision matrices are factored in float32 and the factors rounded once; integers become
    the default float. NaN or infinity in a matrix gives NaN in its factors.
    """

    __slots__ = ()

    # *** systems ***

    def solve_triangular(
        self, b: Self, *, upper: bool, left: bool = True, unitriangular: bool = False
    ) -> Self:
        """X with self @ X = b (X @ self = b unless `left`) for triangular matrices.

        Shapes (..., n, n) and (..., n, k), or (..., k, n) unless `left`; batches broadcast. The
        other half is not read, nor the diagonal if `unitriangular`: it counts as 1. A 0 on the
        diagonal gives infinity or NaN. Raises `ShapeError` for shapes that do not fit.
        """
        self._check_square("solve_triangular")
        b._check_matrix("solve_triangular")
        if not left:
            turned = self._flipped().solve_triangular(
                b._flipped(), upper=not upper, unitriangular=unitriangular
            )
            return turned._flipped()
        a, right = self._system("solve_triangular", b)
        if right.numel() == 0:
            return self._common_float(b)._nothing(*right.shape)
        found = a._substituted(right, upper=upper, unit=unitriangular)
        return found.cast(self._common_float(b).dtype)

    def _common_float(self, other: Self) -> Self:
        return self.cast(self._common_dtype(other))._as_float()

    def _system(self, op: str, b: Self) -> tuple[Self, Self]:
        """Matrices and right sides in one dtype and with one batch."""
        if b.shape[-2] != self.shape[-1]:
            raise ShapeError(
                op=op,
                shapes=(self.shape, b.shape),
                reason=f"{b.shape[-2]} rows on the right meet a matrix of size {self.shape[-1]}",
            )
        dtype = self._common_float(b)._as_solvable().dtype
        batch = broadcast_shape(self.shape[:-2], b.shape[:-2])
        a = self.cast(dtype)._expand_to((*batch, *self.shape[-2:]))
        return a, b.cast(dtype)._expand_to((*batch, *b.shape[-2:]))

    def _substituted(self, right: Self, *, upper: bool, unit: bool = False) -> Self:
        """`solve_triangular` for operands of one dtype and batch."""
        body, rule = _SUBSTITUTIONS[upper, unit]
        return self._differentiable("solve_triangular", body, rule, right)[0]

    # *** factors ***

    def cholesky(self, upper: bool = False) -> Self:
        """The lower triangular L with L @ L^T = self, for symmetric positive definite matrices.

        Shape (..., n, n), of which the lower half is read; with `upper` the upper half, and the
        result is L^T. Where a matrix is not positive definite the rest of the factor is NaN.
        Raises `ShapeError` for matrices that are not square.
        """
        self._check_square("cholesky")
        if upper:
            return self._flipped().cholesky()._flipped()
        if self.numel() == 0:
            return self._as_float()
        found = self._as_solvable()._differentiable("cholesky", _cholesky_body, _cholesky_rule)
        return self._in_own_dtype(*found)[0]

    def lu(self) -> tuple[Self, Self, Self]:
        """P, L, U with P @ L @ U = self: a permutation, lower with ones on the diagonal, upper.

        Shapes (..., m, m), (..., m, k), (..., k, n) with k = min(m, n). Rows are swapped so that
        each pivot is the largest of its column. Raises `ShapeError` for less than two axes.
        """
        self._check_matrix("lu")
        *batch, rows, columns = self.shape
        least = min(rows, columns)
        a = self._as_solvable()
        if a.numel() == 0:
            eye = a._identity(rows)._expand_to((*batch, rows, rows))
            lower = a._nothing(*batch, rows, least)
            return self._in_own_dtype(eye, lower, a._nothing(*batch, least, columns))  # type: ignore[return-value]
        packed, order = a._packed_lu()
        lower = packed._part(a.ndim - 1, 0, least).tril(-1)
        lower = lower + ones_on_diagonal(lower)
        upper = packed._part(a.ndim - 2, 0, least).triu()
        line = self._iota(rows, self.device, dtypes.int32)
        permutation = line.unsqueeze(-1).eq(order.unsqueeze(-2)).cast(a.dtype)
        return self._in_own_dtype(permutation, lower, upper)  # type: ignore[return-value]

    def _packed_lu(self) -> tuple[Self, Self]:
        """L below the diagonal and U in one matrix; the row that each row was."""
        packed, order = self._differentiable("lu", _lu_body, _lu_rule)
        return packed, order


# *** solve_triangular ***


def _substitution(upper: bool, unit: bool) -> tuple[Body, Rule]:
    """Body and gradient of systems with one kind of matrix."""
    kernel = SubstitutionKernel(upper, unit)

    def body(a: T, right: T) -> tuple[T, ...]:
        return a._run(kernel, [right.shape[-2:]], right)

    def rule(call: Applied, grad: T) -> list[T]:
        """A^-T dX for the right side, minus that times X^T in the half that is read."""
        a: T = call.arguments[0]
        found: T = call.results[0]
        to_right = a._flipped()._substituted(grad, upper=not upper, unit=unit)
        product = to_right @ found._flipped()
        edge = int(unit)
        half = product.triu(edge) if upper else product.tril(-edge)
        return [-half, to_right]

    return body, rule


_SUBSTITUTIONS = {
    (upper, unit): _substitution(upper, unit) for upper in (False, True) for unit in (False, True)
}


# *** cholesky ***


def _cholesky_body(a: T) -> tuple[T, ...]:
    return a._run(cholesky_kernel, [a.shape[-2:]])


def _cholesky_rule(call: Applied, grad: T) -> list[T]:
    """With P the lower half of L^T dL: L^-T P L^-1, and its transpose, halved."""
    factor: T = call.results[0]
    product = factor._flipped() @ grad.tril()
    lower = product.tril() * (1 - ones_on_diagonal(product) * 0.5)
    left = factor._flipped()._substituted(lower, upper=True)
    both = factor._flipped()._substituted(left._flipped(), upper=True)
    return [(both + both._flipped()) * 0.5]


# *** lu ***


def _lu_body(a: T) -> tuple[T, ...]:
    rows = a.shape[-2]
    return a._run(lu_kernel, [a.shape[-2:], (rows,)], integers=(1,))


def _lu_rule(call: Applied, grad: T | None, _: T | None) -> list[T | None]:
    """The square part as in the square case, the rest by what it follows from."""
    if grad is None:
        return [None]
    packed: T = call.results[0]
    order: T = call.results[1]
    rows, columns = packed.shape[-2:]
    least = min(rows, columns)
    r, c = packed.ndim - 2, packed.ndim - 1
    square = packed._part(r, 0, least)._part(c, 0, least)
    flowing = grad._part(r, 0, least)._part(c, 0, least)
    to_lower, to_upper = flowing.tril(-1), flowing.triu()
    rest: T | None = None
    if rows > columns:
        # L2 = A2 U^-1
        below = packed._part(r, least, rows)
        rest = square._substituted(grad._part(r, least, rows)._flipped(), upper=True)
        to_upper = to_upper - (rest @ below)._flipped().triu()
        rest = rest._flipped()
    elif rows < columns:
        # U2 = L^-1 A2
        right = packed._part(c, least, columns)
        flowing_right = grad._part(c, least, columns)
        rest = square._flipped()._substituted(flowing_right, upper=True, unit=True)
        to_lower = to_lower - (rest @ right._flipped()).tril(-1)
    lower = square.tril(-1) + ones_on_diagonal(square)
    upper = square.triu()
    inner = (lower._flipped() @ to_lower).tril(-1) + (to_upper @ upper._flipped()).triu()
    half = square._flipped()._substituted(inner, upper=True, unit=True)
    # X with X U^T = half
    whole = upper._substituted(half._flipped(), upper=True)._flipped()
    if rest is not None:
        whole = whole.cat(rest, dim=-2 if rows > columns else -1)
    line = packed._iota(rows, packed.device, dtypes.int32)
    back = line.unsqueeze(-1).eq(order.unsqueeze(-2)).cast(packed.dtype)
    return [back @ whole]
