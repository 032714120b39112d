"""Orthogonal factors of matrices: QR, eigenvectors, singular vectors.

Each is one kernel of sequential loops with a gradient of its own: that of Walter and Lehmann (2012)
for QR, those of Seeger et al. (2017) for the others.
"""

from __future__ import annotations

from typing import Self, TypeVar

from tg_tensor.algorithms.jacobi import eigh_kernel, svd_kernel
from tg_tensor.algorithms.orthogonal import qr_kernel
from tg_tensor.errors import ArgumentError, GradientError
from tg_tensor.ops.kernels import Applied, ones_on_diagonal, ratio_where
from tg_tensor.ops.triangular import TriangularOps

D = TypeVar("D", bound="DecomposeOps")


class DecomposeOps(TriangularOps):
    """qr, eigh, svd.

    Half-precision matrices are factored in float32 and the factors rounded once; integers become
    the default float. NaN or infinity in a matrix gives NaN in its factors.
    """

    __slots__ = ()

    # *** orthogonal factors ***

    def qr(self, mode: str = "complete") -> tuple[Self, Self]:
        """Q with orthonormal columns and R upper triangular, with Q @ R = self.

        For shape (..., m, n) and k = min(m, n): (..., m, m) and (..., m, n) with mode "complete"
        (the default here; in PyTorch it is "reduced"), (..., m, k) and (..., k, n) with "reduced";
        with "r" an empty Q and the reduced R. The gradient needs the first k columns to be
        independent; of "complete" it exists for m <= n only. Raises `ShapeError` for less than two
        axes, `ArgumentError` for another mode.
        """
        self._check_matrix("qr")
        if mode not in ("complete", "reduced", "r"):
            raise ArgumentError(
                op="qr", argument="mode", given=mode, expected="'complete', 'reduced' or 'r'"
            )
        *batch, rows, columns = self.shape
        least = min(rows, columns)
        a = self._as_solvable()
        if a.numel() == 0:
            height = rows if mode == "complete" else least
            q = a._identity(rows)._part(1, 0, height)._expand_to((*batch, rows, height))
            return self._in_own_dtype(q, a._nothing(*batch, height, columns))  # type: ignore[return-value]
        if mode == "complete":
            found = a._differentiable("qr", _qr_body, _qr_rule)
        else:
            found = a._differentiable("qr", _reduced_qr_body, _qr_rule)
        q, r = self._in_own_dtype(*found)
        return (q._nothing(0) if mode == "r" else q), r

    # *** eigenvalues and singular values ***

    def eigh(self, UPLO: str = "L") -> tuple[Self, Self]:
        """Eigenvalues, rising, and eigenvectors as columns, of symmetric matrices.

        Shapes (..., n) and (..., n, n). The lower half is read, with "U" the upper. Gradients of
        vectors count on different eigenvalues; between equal ones nothing flows. Raises
        `ShapeError` for matrices that are not square, `ArgumentError` for another UPLO.
        """
        self._check_square("eigh")
        if UPLO not in ("L", "U"):
            raise ArgumentError(op="eigh", argument="UPLO", given=UPLO, expected="'L' or 'U'")
        a = self._as_solvable()
        if a.numel() == 0:
            return self._in_own_dtype(a._nothing(*a.shape[:-1]), a)  # type: ignore[return-value]
        side = a if UPLO == "L" else a._flipped()
        found = side._differentiable("eigh", _eigh_body, _eigh_rule)
        return self._in_own_dtype(*found)  # type: ignore[return-value]

    def eigvalsh(self, UPLO: str = "L") -> Self:
        """The eigenvalues of symmetric matrices, rising; see `eigh`."""
        return self.eigh(UPLO)[0]

    def svd(self, full_matrices: bool = True) -> tuple[Self, Self, Self]:
        """U, S, V^T with U @ diag(S) @ V^T = self; U and V orthogonal, S falling.

        For shape (..., m, n) and k = min(m, n): S is (..., k); U and V^T are (..., m, m) and
        (..., n, n), or without `full_matrices` (..., m, k) and (..., k, n). Gradients of U and V
        count on different singular values, not 0, and exist without the vectors that only
        `full_matrices` asks for. Raises `ShapeError` for less than two axes.
        """
        self._check_matrix("svd")
        *batch, rows, columns = self.shape
        if rows < columns:
            u, s, vt = self._flipped().svd(full_matrices)
            return vt._flipped(), s, u._flipped()
        a = self._as_solvable()
        if a.numel() == 0:
            width = rows if full_matrices else columns
            u = a._identity(rows)._part(1, 0, width)._expand_to((*batch, rows, width))
            v = a._identity(columns)._expand_to((*batch, columns, columns))
            return self._in_own_dtype(u, a._nothing(*batch, columns), v)  # type: ignore[return-value]
        body = _full_svd_body if full_matrices and rows > columns else _svd_body
        found = a._differentiable("svd", body, _svd_rule)
        return self._in_own_dtype(*found)  # type: ignore[return-value]

    def svdvals(self) -> Self:
        """The singular values, falling: shape (..., min(m, n)); see `svd`."""
        return self.svd(False)[1]


def _without(flowing: D | None, like: D) -> D:
    return like.const_like(0) if flowing is None else flowing


# *** qr ***


def _qr_body(a: D) -> tuple[D, ...]:
    rows, columns = a.shape[-2:]
    return a._run(qr_kernel, [(rows, rows), (rows, columns), (rows,)])[:2]


def _reduced_qr_body(a: D) -> tuple[D, ...]:
    least = min(a.shape[-2:])
    q, r = _qr_body(a)
    return q._part(q.ndim - 1, 0, least), r._part(r.ndim - 2, 0, least)


def _qr_rule(call: Applied, to_q: D | None, to_r: D | None) -> list[D | None]:
    q: D = call.results[0]
    r: D = call.results[1]
    rows, columns = q.shape[-2], r.shape[-1]
    if rows > columns and q.shape[-1] == rows:
        if to_q is not None:
            raise GradientError(
                op="qr",
                reason="the columns of Q beyond those of the matrix are not determined by it",
                hint='use mode="reduced"',
            )
        q, r = q._part(q.ndim - 1, 0, columns), r._part(r.ndim - 2, 0, columns)
        to_r = None if to_r is None else to_r._part(r.ndim - 2, 0, columns)
    if to_q is None and to_r is None:
        return [None]
    q_grad, r_grad = _without(to_q, q), _without(to_r, r)
    if rows >= columns:
        return [_tall_qr_gradient(q, r, q_grad, r_grad)]
    # A = [X, Y] and R = [U, V] with X = Q U, Y = Q V
    last = r.ndim - 1
    square, v_grad = r._part(last, 0, rows), r_grad._part(last, rows, columns)
    y = q @ r._part(last, rows, columns)
    q_grad = q_grad + y @ v_grad._flipped()
    x_grad = _tall_qr_gradient(q, square, q_grad, r_grad._part(last, 0, rows))
    return [x_grad.cat(q @ v_grad, dim=-1)]


def _tall_qr_gradient(q: D, r: D, to_q: D, to_r: D) -> D:
    """(dQ + Q sym(M)) R^-T with M = R dR^T - dQ^T Q, of which the lower half is mirrored."""
    mixed = r @ to_r.triu()._flipped() - to_q._flipped() @ q
    mirrored = mixed.tril() + mixed.tril(-1)._flipped()
    left = to_q + q @ mirrored
    return r._substituted(left._flipped(), upper=True)._flipped()


# *** eigh ***


def _eigh_body(a: D) -> tuple[D, ...]:
    size = a.shape[-1]
    square = (size, size)
    return a._run(eigh_kernel, [(size,), square, square, square])[:2]


def _eigh_rule(call: Applied, to_values: D | None, to_vectors: D | None) -> list[D | None]:
    """V (diag(dw) + (V^T dV) / (w_j - w_i)) V^T, made symmetric."""
    values: D = call.results[0]
    vectors: D = call.results[1]
    inner: D | None = None
    if to_vectors is not None:
        gaps = values.unsqueeze(-2) - values.unsqueeze(-1)
        inner = ratio_where(gaps.ne(0), vectors._flipped() @ to_vectors, gaps)
    if to_values is not None:
        diagonal = ones_on_diagonal(vectors) * to_values.unsqueeze(-2)
        inner = diagonal if inner is None else inner + diagonal
    if inner is None:
        return [None]
    found = vectors @ inner @ vectors._flipped()
    return [(found + found._flipped()) * 0.5]


# *** svd ***


def _svd_body(a: D) -> tuple[D, ...]:
    u, s, v = _full_svd_body(a)
    return u._part(u.ndim - 1, 0, a.shape[-1]), s, v


def _full_svd_body(a: D) -> tuple[D, ...]:
    """The left vectors of values that are 0, and those beyond, are whatever completes a basis."""
    rows, columns = a.shape[-2:]
    square = (columns, columns)
    shapes = [(columns,), (rows, columns), square, (columns, rows), square, (columns,)]
    s, left, v = a._run(svd_kernel, shapes)[:3]
    q, r = _qr_body(left)
    # R is diagonal with entries of size 1 or 0: its signs make Q agree with the left vectors
    signs = (r.diagonal(0, -2, -1) < 0).where(-1.0, 1.0).cast(a.dtype)
    signs = signs._pad_value([(0, 0)] * (signs.ndim - 1) + [(0, rows - columns)], 1.0)
    return q * signs.unsqueeze(-2), s, v


def _svd_rule(call: Applied, to_u: D | None, to_s: D | None, to_v: D | None) -> list[D | None]:
    u: D = call.results[0]
    s: D = call.results[1]
    vt: D = call.results[2]
    columns = vt.shape[-1]
    if u.shape[-1] > columns:
        if to_u is not None:
            raise GradientError(
                op="svd",
                reason="the vectors of U beyond the singular values are not determined",
                hint="use full_matrices=False",
            )
        u = u._part(u.ndim - 1, 0, columns)
    inner: D | None = None
    if to_s is not None:
        inner = ones_on_diagonal(vt) * to_s.unsqueeze(-2)
    wide, tall = s.unsqueeze(-2), s.unsqueeze(-1)
    gaps = wide.square() - tall.square()
    if to_u is not None:
        skew = _skew(u._flipped() @ to_u)
        part = ratio_where(gaps.ne(0), skew, gaps) * wide
        inner = part if inner is None else inner + part
    if to_v is not None:
        skew = _skew(vt @ to_v._flipped())
        part = tall * ratio_where(gaps.ne(0), skew, gaps)
        inner = part if inner is None else inner + part
    if inner is None:
        return [None]
    result = u @ inner
    if to_u is not None and u.shape[-2] > columns:
        outside = to_u - u @ (u._flipped() @ to_u)
        result = result + ratio_where(wide.ne(0), outside, wide)
    return [result @ vt]


def _skew(matrix: D) -> D:
    return matrix - matrix._flipped()
