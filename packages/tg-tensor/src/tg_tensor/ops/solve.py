"""Linear systems, inverses, determinants, and what follows from factors of matrices."""

from __future__ import annotations

from typing import Any, NamedTuple, Self, TypeVar

from tg_uop import dtypes
from tg_uop.errors import ShapeError

from tg_tensor.algorithms.jacobi import smallest_part
from tg_tensor.algorithms.triangular import lu_kernel, lu_solve_kernel
from tg_tensor.ops.decompose import DecomposeOps
from tg_tensor.ops.kernels import Applied, ones_on_diagonal

S = TypeVar("S", bound="SolveOps")
_MOST_HALVINGS = 11


class LeastSquares(NamedTuple):
    """What `lstsq` finds."""

    solution: Any
    residuals: Any
    rank: Any
    singular_values: Any


class SolveOps(DecomposeOps):
    """solve, inv, det, slogdet, pinv, lstsq and their kin.

    Nothing is computed when a function is called, so a singular matrix is no error: it gives NaN.
    """

    __slots__ = ()

    # *** systems ***

    def solve(self, b: Self, left: bool = True) -> Self:
        """X with self @ X = b (X @ self = b unless `left`), by LU with row exchanges.

        Shapes (..., n, n) and (..., n, k), or a vector (n,) or vectors (..., n) with the batch of
        the matrices; batches broadcast. NaN where a matrix is singular. Raises `ShapeError` for
        shapes that do not fit.
        """
        self._check_square("solve")
        if b.ndim == 1 or (b.ndim == self.ndim - 1 and b.shape == self.shape[:-1]):
            matrix = self if left else self._flipped()
            return matrix.solve(b.unsqueeze(-1)).squeeze(-1)
        b._check_matrix("solve")
        if not left:
            return self._flipped().solve(b._flipped())._flipped()
        a, right = self._system("solve", b)
        wanted = self._common_float(b)
        if right.numel() == 0:
            return wanted._nothing(*right.shape)
        return a._solved(right).cast(wanted.dtype)

    def _solved(self, right: Self) -> Self:
        """`solve` for operands of one dtype and batch."""
        return self._differentiable("solve", _solve_body, _solve_rule, right)[0]

    def inv(self) -> Self:
        """The inverses of square matrices, NaN where there is none.

        Raises `ShapeError` for matrices that are not square.
        """
        self._check_square("inv")
        a = self._as_solvable()
        if a.numel() == 0:
            return self._as_float()
        eye = a._identity(a.shape[-1])._expand_to(a.shape)
        return self._in_own_dtype(a._solved(eye))[0]

    def inverse(self) -> Self:
        """See `inv`."""
        return self.inv()

    def cholesky_solve(self, factor: Self, upper: bool = False) -> Self:
        """X with A @ X = self for A = L @ L^T given by its `cholesky` factor."""
        lower = factor._flipped() if upper else factor
        inner = lower.solve_triangular(self, upper=False)
        return lower._flipped().solve_triangular(inner, upper=True)

    def cholesky_inverse(self, upper: bool = False) -> Self:
        """The inverse of A = L @ L^T, of which this is the factor."""
        self._check_square("cholesky_inverse")
        return self._identity(self.shape[-1]).cholesky_solve(self, upper)

    # *** determinants ***

    def det(self) -> Self:
        """The determinants of square matrices: shape (...). Of a singular one it is 0.

        The gradient at a singular matrix is that of one next to it. Raises `ShapeError` for
        matrices that are not square.
        """
        self._check_square("det")
        a = self._as_solvable()
        if a.shape[-1] == 0 or a.numel() == 0:
            return self._as_float()._nothing(*a.shape[:-2]) + int(a.shape[-1] == 0)
        return self._in_own_dtype(*a._differentiable("det", _det_body, _det_rule))[0]

    def slogdet(self) -> tuple[Self, Self]:
        """The sign and the logarithm of the size of determinants; 0 and -inf where singular.

        Raises `ShapeError` for matrices that are not square.
        """
        self._check_square("slogdet")
        a = self._as_solvable()
        if a.numel() == 0:
            nothing = self._as_float()._nothing(*a.shape[:-2])
            return nothing + 1, nothing
        found = a._differentiable("slogdet", _slogdet_body, _slogdet_rule)
        return self._in_own_dtype(*found)  # type: ignore[return-value]

    def logdet(self) -> Self:
        """The logarithm of determinants, NaN for negative ones."""
        sign, size = self.slogdet()
        return (sign < 0).where(float("nan"), size)

    # *** pseudo-inverses ***

    def pinv(
        self, rtol: float | None = None, hermitian: bool = False, atol: float | None = None
    ) -> Self:
        """The pseudo-inverse (Moore, Penrose): shape (..., n, m) for (..., m, n).

        Singular values up to max(atol, rtol * the largest) count as 0; `rtol` is max(m, n) times
        the distance of 1 to the next number, unless `atol` is given. With `hermitian` only the
        lower half of symmetric matrices is read. Raises `ShapeError` for less than two axes.
        """
        self._check_matrix("pinv")
        a = self._as_solvable()
        if a.numel() == 0:
            return self._in_own_dtype(a._flipped())[0]
        if hermitian:
            a = a.tril() + a.tril(-1)._flipped()
        inverse = a.detach()._pseudo_inverse(rtol, atol)
        found = a._differentiable("pinv", lambda _: (inverse,), _pinv_rule)
        return self._in_own_dtype(*found)[0]

    def _pseudo_inverse(self, rtol: float | None, atol: float | None) -> Self:
        u, s, vt = self.svd(False)
        kept = s > self._tolerance(s, rtol, atol)
        inverse = kept.where(1 / kept.where(s, 1), 0)
        return (vt._flipped() * inverse.unsqueeze(-2)) @ u._flipped()

    def _tolerance(self, s: Self, rtol: float | None, atol: float | None) -> Self:
        """Up to which size singular values count as 0."""
        if rtol is None:
            unset = max(self.shape[-2:]) * smallest_part(self.dtype)
            rtol = unset if atol is None or atol == 0 else 0.0
        relative = s._part(s.ndim - 1, 0, 1) * rtol
        return relative.maximum(atol) if atol is not None else relative

    def matrix_rank(
        self,
        tol: float | None = None,
        hermitian: bool = False,
        *,
        atol: float | None = None,
        rtol: float | None = None,
    ) -> Self:
        """The number of singular values above max(atol, rtol * the largest): shape (...).

        `tol` is another name for `atol`; defaults as in `pinv`.
        """
        self._check_matrix("matrix_rank")
        a = self._as_solvable().detach()
        if a.numel() == 0:
            return self._nothing(*a.shape[:-2]).cast(dtypes.default_int)
        s = a.eigvalsh().abs().sort(-1, descending=True)[0] if hermitian else a.svdvals()
        limit = a._tolerance(s, rtol, tol if atol is None else atol)
        return (s > limit).sum(-1).cast(dtypes.default_int)

    def lstsq(self, b: Self, rcond: float | None = None) -> LeastSquares:
        """The X with the least |self @ X - b|, and of those the smallest.

        Shapes (..., m, n) and (..., m, k), or a vector (m,). `residuals`, the squared lengths of
        the columns of self @ X - b, are empty unless m > n; `rank` and `singular_values` count
        values above `rcond` (as `rtol` in `pinv`) times the largest. Raises `ShapeError` for
        shapes that do not fit.
        """
        self._check_matrix("lstsq")
        if b.ndim == 1:
            found = self.lstsq(b.unsqueeze(-1), rcond)
            return found._replace(solution=found.solution.squeeze(-1))
        if b.shape[-2] != self.shape[-2]:
            raise ShapeError(
                op="lstsq",
                shapes=(self.shape, b.shape),
                reason=f"{b.shape[-2]} rows on the right meet {self.shape[-2]} on the left",
            )
        x = self.pinv(rcond) @ b
        rows, columns = self.shape[-2:]
        away = (self @ x - b).square().sum(-2)
        residuals = away if rows > columns else away._nothing(0)
        return LeastSquares(x, residuals, self.matrix_rank(rtol=rcond), self.svdvals())

    # *** powers ***

    def matrix_power(self, n: int) -> Self:
        """The product of n times this square matrix, of the inverse for negative n.

        Raises `ShapeError` for matrices that are not square.
        """
        self._check_square("matrix_power")
        if n < 0:
            return self.inv().matrix_power(-n)
        result = self._identity(self.shape[-1])._expand_to(self.shape) if n == 0 else None
        square = self
        while n:
            if n & 1:
                result = square if result is None else result @ square
            n >>= 1
            if n:
                square = square @ square
        assert result is not None, "a positive number has a highest bit"
        return result

    def matrix_exp(self) -> Self:
        """The exponential of square matrices: the sum of A^k / k!.

        By a Taylor polynomial of A / 2^s and s squarings (Golub and Van Loan, 9.3), with s for
        norms up to 2^10; infinite beyond. Raises `ShapeError` for matrices that are not square.
        """
        self._check_square("matrix_exp")
        a = self._as_solvable()
        if a.numel() == 0:
            return self._as_float()
        norm = a.detach().abs().sum(-1).max(-1).reshape((*a.shape[:-2], 1, 1))
        # how often to halve until the norm is at most 1/2
        halvings = (norm.log2().ceil() + 1).maximum(0).minimum(_MOST_HALVINGS).contiguous()
        scaled = (a * (-halvings).exp2()).contiguous()
        eye = a._identity(a.shape[-1])
        terms = 20 if a.dtype is dtypes.float64 else 10
        # counted in memory, all steps are one kernel with other numbers in it
        count = self._lift([terms], self.device).cast(a.dtype).contiguous()
        result = eye + scaled / count
        for _ in range(terms - 1):
            count = (count - 1).contiguous()
            result = (eye + scaled @ result / count).contiguous()
        for _ in range(_MOST_HALVINGS):
            result = (halvings > 0).where(result @ result, result).contiguous()
            halvings = (halvings - 1).contiguous()
        return self._in_own_dtype(result)[0]

    def cond(self, p: float | str | None = None) -> Self:
        """The condition number |A| |A^-1| in a norm: None (as 2), -2, 1, -1, inf, "fro", "nuc".

        By singular values for 2 and -2, which matrices of any shape have; infinity where the
        smallest is 0. Raises `ArgumentError` for another norm, `ShapeError` for other norms of
        matrices that are not square.
        """
        self._check_matrix("cond")
        if p in (None, 2, -2):
            s = self.svdvals()
            last = s.shape[-1] - 1
            first, least = s._part(s.ndim - 1, 0, 1), s._part(s.ndim - 1, last, last + 1)
            return ((least / first) if p == -2 else (first / least)).squeeze(-1)
        self._check_square("cond")
        inverse = self.inv()
        norms = self.matrix_norm(p), inverse.matrix_norm(p)
        # there is no inverse: the number is infinite
        return inverse.isnan().any((-2, -1)).where(float("inf"), norms[0] * norms[1])

    def matrix_norm(
        self,
        ord: float | str | None = "fro",
        dim: tuple[int, int] = (-2, -1),
        keepdim: bool = False,
        dtype: object = None,
    ) -> Self:
        """A norm of matrices."""
        raise NotImplementedError


# *** solve ***


def _solve_body(a: S, right: S) -> tuple[S, ...]:
    packed, order = _factored(a)
    return packed._run(lu_solve_kernel, [right.shape[-2:]], order, right)


def _factored(a: S) -> tuple[S, ...]:
    return a._run(lu_kernel, [a.shape[-2:], (a.shape[-2],)], integers=(1,))


def _solve_rule(call: Applied, grad: S) -> list[S]:
    """A^-T dX for the right side, minus that times X^T for the matrix."""
    a: S = call.arguments[0]
    to_right = a._flipped()._solved(grad)
    return [-(to_right @ call.results[0]._flipped()), to_right]


# *** determinants ***


def _diagonal_and_sign(a: S) -> tuple[S, S]:
    """The pivots, and the sign of the row exchanges: by the number of pairs in wrong order."""
    packed, order = _factored(a)
    line = a._iota(a.shape[-1], a.device, dtypes.int32)
    is_later = line.unsqueeze(-1) < line
    is_wrong = is_later & (order.unsqueeze(-2) < order.unsqueeze(-1))
    is_odd = (is_wrong.sum((-2, -1)) & 1).ne(0)
    return packed.diagonal(0, -2, -1), is_odd.where(-1.0, 1.0).cast(a.dtype)


def _det_body(a: S) -> tuple[S, ...]:
    diagonal, sign = _diagonal_and_sign(a)
    return (diagonal.prod(-1) * sign,)


def _det_rule(call: Applied, grad: S) -> list[S]:
    """det(A) A^-T; of a singular matrix, that of one which is moved by the root of a digit."""
    a: S = call.arguments[0]
    found: S = call.results[0]
    is_singular = found.eq(0)
    size = a.abs().max((-2, -1), keepdim=True).detach()
    step = size.eq(0).where(1.0, size) * smallest_part(a.dtype) ** 0.5
    line = a._iota(a.shape[-1], a.device, dtypes.int32)
    # different steps, so that equal rows and columns part
    moved = a + ones_on_diagonal(a) * step * (line + 1).cast(a.dtype)
    chosen = is_singular.reshape((*found.shape, 1, 1)).where(moved, a)
    value = is_singular.where(moved.det(), found)
    flowing = (grad * value).reshape((*found.shape, 1, 1))
    return [flowing * chosen.inv()._flipped()]


def _slogdet_body(a: S) -> tuple[S, ...]:
    diagonal, sign = _diagonal_and_sign(a)
    return diagonal.sign().prod(-1) * sign, diagonal.abs().log().sum(-1)


def _slogdet_rule(call: Applied, _: S | None, grad: S | None) -> list[S | None]:
    """A^-T for the logarithm."""
    a: S = call.arguments[0]
    if grad is None:
        return [None]
    return [grad.reshape((*grad.shape, 1, 1)) * a.inv()._flipped()]


# *** pinv ***


def _pinv_rule(call: Applied, grad: S) -> list[S]:
    """Golub and Pereyra, 1973: -P^T dP P^T + (1 - A P) dP^T P P^T + P^T P dP^T (1 - P A)"""
    a: S = call.arguments[0]
    p: S = call.results[0]
    pt, turned = p._flipped(), grad._flipped()
    left, right = turned @ p, p @ turned
    found = -(pt @ grad @ pt)
    found = found + (left - a @ (p @ left)) @ pt
    return [found + pt @ (right - (right @ p) @ a)]
