"""Matrix decompositions by fixed numbers of steps, as a lazy graph wants them."""

from __future__ import annotations

from typing import Self

from tg_uop import dtypes
from tg_uop.errors import ShapeError

from tg_tensor.ops.attention import AttentionOps

_SWEEPS = 10


class LinalgOps(AttentionOps):
    """QR and singular values."""

    __slots__ = ()

    def qr(self) -> tuple[Self, Self]:
        """Q with orthonormal columns, square, and R upper triangular, with Q @ R = self.

        By Householder reflections (Golub and Van Loan, 5.2), one a column. Raises `ShapeError` for
        less than two axes.
        """
        self._check_matrix("qr")
        *batch, rows, columns = self.shape
        r = self._as_float()
        q = r._identity(rows).expand((*batch, rows, rows))
        line = self._iota(rows, self.device, dtypes.int32)
        for column in range(min(rows - 1, columns)):
            below = line >= column
            x = below.where(r._part(r.ndim - 1, column, column + 1).squeeze(-1), 0)
            pivot = line.eq(column)
            head = pivot.where(x, 0).sum(-1, keepdim=True)
            length = x.square().sum(-1, keepdim=True).sqrt()
            # away from cancellation: the sign of the pivot
            shift = (head < 0).where(-length, length)
            v = pivot.where(x + shift, x)
            size = v.square().sum(-1, keepdim=True)
            w = v * (2 / size.eq(0).where(1.0, size))
            row, across = v.unsqueeze(-2), w.unsqueeze(-1)
            r = (r - across @ (row @ r)).contiguous()
            q = (q - (q @ v.unsqueeze(-1)) @ w.unsqueeze(-2)).contiguous()
        position = self._iota(columns, self.device, dtypes.int32)
        upper = line.unsqueeze(-1) <= position
        return q, upper.where(r, 0)

    def _identity(self, size: int) -> Self:
        line = self._iota(size, self.device, dtypes.int32)
        return line.unsqueeze(-1).eq(line).cast(self.dtype)

    def _check_matrix(self, op: str) -> None:
        if self.ndim < 2:
            raise ShapeError(op=op, shapes=(self.shape,), reason="a matrix has two axes or more")

    def svd(self, full_matrices: bool = True) -> tuple[Self, Self, Self]:
        """U, S, V^T with U @ diag(S) @ V^T = self and S falling.

        By one-sided Jacobi rotations of column pairs (Hestenes, 1958), all disjoint pairs of a
        round at once. Raises `ShapeError` for less than two axes.
        """
        self._check_matrix("svd")
        *batch, rows, columns = self.shape
        if rows < columns:
            u, s, vt = self.transpose(-2, -1).svd(full_matrices)
            return vt.transpose(-2, -1), s, u.transpose(-2, -1)
        a = self._as_float()
        even = columns + columns % 2
        a = a._pad_zeros([(0, 0)] * (a.ndim - 1) + [(0, even - columns)])
        v = a._identity(even).expand((*batch, even, even))
        for _ in range(_SWEEPS):
            for _ in range(max(even - 1, 1)):
                a, v = a._rotated_with(v)
        norms = a.square().sum(-2).sqrt()
        # the column that made the number even is 0 and must stay last
        is_padding = (
            v._part(v.ndim - 2, columns, even).abs().sum(-2) > 0.5 if even > columns else None
        )
        keys = norms if is_padding is None else is_padding.where(-1.0, norms)
        order = keys.argsort(-1, descending=True)._part(norms.ndim - 1, 0, columns)
        s = norms.gather(-1, order)
        a = a._columns(order, rows)
        vt = v._columns(order, even)._part(v.ndim - 2, 0, columns).transpose(-2, -1)
        inverse = s.eq(0).where(0.0, 1 / s.eq(0).where(1.0, s))
        u = a * inverse.unsqueeze(-2)
        return (u._completed(rows) if full_matrices else u), s, vt

    def _columns(self, order: Self, rows: int) -> Self:
        wanted = order.unsqueeze(-2).expand((*order.shape[:-1], rows, order.shape[-1]))
        return self.gather(-1, wanted)

    def _rotated_with(self, v: Self) -> tuple[Self, Self]:
        """Make the columns of each pair orthogonal, then deal them out anew (round robin)."""
        even = self.shape[-1]
        half = even // 2
        left, right = self._part(self.ndim - 1, 0, half), self._part(self.ndim - 1, half, even)
        alpha, beta = left.square().sum(-2), right.square().sum(-2)
        gamma = (left * right).sum(-2)
        safe = gamma.eq(0).where(1.0, gamma)
        zeta = (beta - alpha) / (safe * 2)
        sign = (zeta < 0).where(-1.0, zeta.const_like(1))
        tangent = gamma.eq(0).where(0.0, sign / (zeta.abs() + (zeta.square() + 1).sqrt()))
        cosine = (tangent.square() + 1).rsqrt().unsqueeze(-2)
        sine = cosine * tangent.unsqueeze(-2)
        return self._turned(cosine, sine, half), v._turned(cosine, sine, half)

    def _turned(self, cosine: Self, sine: Self, half: int) -> Self:
        last = self.ndim - 1
        left, right = self._part(last, 0, half), self._part(last, half, 2 * half)
        new_left, new_right = left * cosine - right * sine, left * sine + right * cosine
        if half == 1:
            return new_left.cat(new_right, dim=-1).contiguous()
        # the first column stays, all others move one seat around the table
        top = new_left._part(last, 0, 1).cat(
            new_right._part(last, 0, 1), new_left._part(last, 1, half - 1), dim=-1
        )
        bottom = new_right._part(last, 1, half).cat(new_left._part(last, half - 1, half), dim=-1)
        return top.cat(bottom, dim=-1).contiguous()

    def _completed(self, rows: int) -> Self:
        """Orthonormal columns completed to a square basis."""
        columns = self.shape[-1]
        if columns == rows:
            return self
        q, r = self.qr()
        # R is diagonal with entries of size 1: its signs make Q agree with the columns
        signs = (r.diagonal(0, -2, -1) < 0).where(-1.0, 1.0)
        signs = signs._pad_value([(0, 0)] * (signs.ndim - 1) + [(0, rows - columns)], 1.0)
        return q * signs.unsqueeze(-2)
