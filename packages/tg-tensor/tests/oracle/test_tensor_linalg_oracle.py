"""Matrix functions, transforms, statistics and searches against PyTorch, gradients included."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tg_tensor import Tensor

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

LA = torch.linalg
RNG = np.random.default_rng(3)
Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]

A = RNG.standard_normal((2, 4, 4))
POSITIVE = A @ A.swapaxes(-1, -2) + np.eye(4)
SYMMETRIC = A + A.swapaxes(-1, -2)
TALL, WIDE = RNG.standard_normal((2, 5, 3)), RNG.standard_normal((2, 3, 5))
B, V, X = RNG.standard_normal((2, 4, 3)), RNG.standard_normal(4), RNG.standard_normal((3, 5, 4))
PAIRS = RNG.standard_normal((3, 7, 6, 2))


def parts_of(found: Any) -> tuple[Any, ...]:
    return tuple(found) if isinstance(found, (tuple, list)) else (found,)


def assert_same(ours: Function, theirs: Function, *inputs: Array, tolerance: float = 1e-9) -> None:
    """Equal values, shapes and gradients of a weighted sum."""
    mine = [Tensor(x, requires_grad=x.dtype.kind == "f") for x in inputs]
    other = [torch.tensor(x, requires_grad=x.dtype.kind == "f") for x in inputs]
    found, wanted = parts_of(ours(*mine)), parts_of(theirs(*other))
    total, reference = Tensor(0.0, dtype="float64"), torch.zeros(())
    differentiable = False
    for a, b in zip(found, wanted, strict=True):
        assert a.shape == tuple(b.shape)
        expected = b.detach().resolve_conj().numpy()
        np.testing.assert_allclose(a.numpy(), expected, rtol=tolerance, atol=tolerance)
        if b.requires_grad:
            differentiable = True
            weights = np.cos(np.arange(b.numel()) + 1.0).reshape(tuple(b.shape))
            total = total + (a * Tensor(weights)).sum()
            reference = reference + (b * torch.tensor(weights)).sum()
    if not differentiable:
        return
    gradients = total.gradient(*mine)
    for a, b in zip(gradients, torch.autograd.grad(reference, other), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=100 * tolerance, atol=10 * tolerance)


def squares(found: Any) -> tuple[Any, ...]:
    """What does not depend on the signs of vectors."""
    return tuple(part.square() for part in found)


MATRICES: dict[str, tuple[Function, Function, tuple[Array, ...]]] = {
    "cholesky": (Tensor.cholesky, LA.cholesky, (POSITIVE,)),
    "cholesky_upper": (
        lambda a: a.cholesky(upper=True),
        lambda a: LA.cholesky(a, upper=True),
        (POSITIVE,),
    ),
    "cholesky_inverse": (
        lambda a: a.cholesky().cholesky_inverse(),
        lambda a: torch.cholesky_inverse(LA.cholesky(a)),
        (POSITIVE[0],),
    ),
    "cholesky_solve": (
        lambda b, a: b.cholesky_solve(a.cholesky()),
        lambda b, a: torch.cholesky_solve(b, LA.cholesky(a)),
        (B, POSITIVE),
    ),
    "lu": (Tensor.lu, LA.lu, (A,)),
    "lu_tall": (Tensor.lu, LA.lu, (TALL,)),
    "lu_wide": (Tensor.lu, LA.lu, (WIDE,)),
    "qr": (lambda a: a.qr("reduced"), LA.qr, (A,)),
    "qr_tall": (lambda a: a.qr("reduced"), LA.qr, (TALL,)),
    "qr_wide": (lambda a: a.qr("reduced"), LA.qr, (WIDE,)),
    "qr_complete": (Tensor.qr, lambda a: LA.qr(a, mode="complete"), (WIDE,)),
    "eigh": (lambda a: squares(a.eigh()), lambda a: squares(LA.eigh(a)), (SYMMETRIC,)),
    "eigh_upper": (
        lambda a: squares(a.eigh("U")),
        lambda a: squares(LA.eigh(a, "U")),
        (SYMMETRIC,),
    ),
    "eigvalsh": (Tensor.eigvalsh, LA.eigvalsh, (SYMMETRIC,)),
    "svd_tall": (
        lambda a: squares(a.svd(False)),
        lambda a: squares(LA.svd(a, full_matrices=False)),
        (TALL,),
    ),
    "svd_wide": (
        lambda a: squares(a.svd(False)),
        lambda a: squares(LA.svd(a, full_matrices=False)),
        (WIDE,),
    ),
    "svdvals": (Tensor.svdvals, LA.svdvals, (TALL,)),
    "solve": (Tensor.solve, LA.solve, (A, B)),
    "solve_broadcast": (Tensor.solve, LA.solve, (A[0], B)),
    "solve_vector": (Tensor.solve, LA.solve, (A[0], V)),
    "solve_vectors": (Tensor.solve, LA.solve, (A, A[:, 0])),
    "solve_right": (
        lambda a, b: a.solve(b, left=False),
        lambda a, b: LA.solve(a, b, left=False),
        (A, B.swapaxes(-1, -2).copy()),
    ),
    "inv": (Tensor.inv, LA.inv, (A,)),
    "inverse": (Tensor.inverse, torch.inverse, (A,)),
    "det": (Tensor.det, LA.det, (A,)),
    "slogdet": (Tensor.slogdet, LA.slogdet, (A,)),
    "logdet": (Tensor.logdet, torch.logdet, (POSITIVE,)),
    "pinv": (Tensor.pinv, LA.pinv, (TALL,)),
    "pinv_wide": (Tensor.pinv, LA.pinv, (WIDE,)),
    "lstsq": (
        lambda a, b: a.lstsq(b).solution,
        lambda a, b: LA.lstsq(a, b).solution,
        (TALL, TALL[:, :, :2].copy()),
    ),
    "matrix_power": (lambda a: a.matrix_power(-3), lambda a: LA.matrix_power(a, -3), (POSITIVE,)),
    "cdist": (Tensor.cdist, torch.cdist, (TALL, WIDE.swapaxes(-1, -2)[:, :4].copy())),
    "trace": (Tensor.trace, torch.trace, (TALL[0],)),
    "diag_embed": (
        lambda a: a.diag_embed(-1, 0, 2),
        lambda a: torch.diag_embed(a, -1, 0, 2),
        (TALL,),
    ),
    "inner": (Tensor.inner, torch.inner, (TALL, TALL[0])),
    "vecdot": (Tensor.vecdot, LA.vecdot, (TALL, TALL[0])),
    "cross": (Tensor.cross, LA.cross, (TALL, TALL[:1])),
    "kron": (Tensor.kron, torch.kron, (TALL[0], WIDE)),
    "tensordot": (
        lambda a, b: a.tensordot(b, ([0, 2], [0, 1])),
        lambda a, b: torch.tensordot(a, b, ([0, 2], [0, 1])),
        (TALL, WIDE),
    ),
    "multi_dot": (
        lambda a, b, c: a.multi_dot(b, c),
        lambda a, b, c: LA.multi_dot([a, b, c]),
        (TALL[0], WIDE[0], TALL[1]),
    ),
    "addmm": (
        lambda a, b, c: a.addmm(b, c, beta=2, alpha=0.5),
        lambda a, b, c: torch.addmm(a, b, c, beta=2, alpha=0.5),
        (V[:1], TALL[0], WIDE[0]),
    ),
    "baddbmm": (Tensor.baddbmm, torch.baddbmm, (np.ones((2, 5, 5)), TALL, WIDE)),
    "addbmm": (Tensor.addbmm, torch.addbmm, (np.ones((5, 5)), TALL, WIDE)),
    "addr": (Tensor.addr, torch.addr, (A[0], V, V + 1)),
    "addmv": (Tensor.addmv, torch.addmv, (V, A[0], V + 1)),
}


@pytest.mark.parametrize("name", MATRICES)
def test_matrices(name: str) -> None:
    ours, theirs, inputs = MATRICES[name]
    assert_same(ours, theirs, *inputs)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("left", [False, True])
def test_triangular(upper: bool, unit: bool, left: bool) -> None:
    options = {"upper": upper, "unitriangular": unit, "left": left}
    assert_same(
        lambda a, b: a.solve_triangular(b, **options),
        lambda a, b: LA.solve_triangular(a, b, **options),
        A + 3 * np.eye(4),
        SYMMETRIC,
    )


@pytest.mark.parametrize("order", [1, 2, 3, 2.5, -1, 0.5, math.inf, -math.inf])
def test_norms(order: float) -> None:
    for dim in (None, 0, (0, 2)):
        assert_same(
            lambda a, dim=dim: a.vector_norm(order, dim),
            lambda a, dim=dim: LA.vector_norm(a, order, dim),
            TALL,
        )
    if order > 0.5:
        assert_same(
            lambda a, b: a.cdist(b, order),
            lambda a, b: torch.cdist(a, b, order),
            TALL,
            TALL[:, :2] * 2 + 1,
        )


@pytest.mark.parametrize("order", ["fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf])
def test_matrix_norms(order: Any) -> None:
    assert_same(lambda a: a.matrix_norm(order), lambda a: LA.matrix_norm(a, order), TALL)
    assert_same(
        lambda a: a.matrix_norm(order, (0, 2), True),
        lambda a: LA.matrix_norm(a, order, (0, 2), True),
        TALL,
    )


def test_second_derivatives() -> None:
    cases: list[tuple[Function, Function]] = [
        (Tensor.cholesky, LA.cholesky),
        (Tensor.inv, LA.inv),
        (Tensor.det, LA.det),
        (Tensor.svdvals, LA.svdvals),
        (Tensor.eigvalsh, LA.eigvalsh),
    ]
    for ours, theirs in cases:
        x, y = Tensor(POSITIVE[0]), torch.tensor(POSITIVE[0], requires_grad=True)
        mine = ours(x).square().sum().gradient(x)[0]
        first = torch.autograd.grad(theirs(y).square().sum(), y, create_graph=True)[0]
        again = (mine * mine).sum().gradient(x)[0].numpy()
        wanted = torch.autograd.grad((first * first).sum(), y)[0].numpy()
        np.testing.assert_allclose(again, wanted, rtol=1e-7, atol=1e-7)


def real(value: Any) -> Any:
    return torch.view_as_real(value.resolve_conj())


def plural(value: Any) -> Any:
    return torch.view_as_complex(value)


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("n", [None, 4, 9])
def test_fourier_transforms(norm: str, n: int | None) -> None:
    for dim in (0, -1):
        given = (n, dim, norm)
        for name in ("fft", "ifft"):
            theirs = getattr(torch.fft, name)
            assert_same(
                lambda a, name=name, given=given: getattr(a, name)(*given),
                lambda a, theirs=theirs, given=given: real(theirs(plural(a), *given)),
                PAIRS,
            )
        for name in ("irfft", "hfft"):
            theirs = getattr(torch.fft, name)
            assert_same(
                lambda a, name=name, given=given: getattr(a, name)(*given),
                lambda a, theirs=theirs, given=given: theirs(plural(a), *given),
                PAIRS,
            )
        for name in ("rfft", "ihfft"):
            theirs = getattr(torch.fft, name)
            assert_same(
                lambda a, name=name, given=given: getattr(a, name)(*given),
                lambda a, theirs=theirs, given=given: real(theirs(a, *given)),
                X,
            )


STATISTICS: dict[str, tuple[Function, Function, tuple[Array, ...]]] = {
    "quantile": (lambda a: a.quantile(0.3, 1), lambda a: torch.quantile(a, 0.3, 1), (X,)),
    "median": (lambda a: a.median(1), lambda a: torch.median(a, 1), (X,)),
    "mode": (Tensor.mode, torch.mode, (RNG.integers(0, 4, (6, 9)),)),
    "histc": (lambda a: a.histc(5, -1, 1), lambda a: torch.histc(a, 5, -1, 1), (X,)),
    "histogram": (lambda a: a.histogram(5), lambda a: torch.histogram(a.detach(), 5), (X,)),
    "cov": (Tensor.cov, torch.cov, (X[0],)),
    "corrcoef": (Tensor.corrcoef, torch.corrcoef, (X[0],)),
    "diff": (lambda a: a.diff(2, 1), lambda a: torch.diff(a, 2, 1), (X,)),
    "trapezoid": (lambda a, x: a.trapezoid(x), torch.trapezoid, (X, np.array([0.0, 1, 3, 4]))),
    "cumulative_trapezoid": (
        lambda a: a.cumulative_trapezoid(dim=1),
        lambda a: torch.cumulative_trapezoid(a, dim=1),
        (X,),
    ),
    "nansum": (lambda a: a.nansum(1), lambda a: torch.nansum(a, 1), (X,)),
    "nanmean": (lambda a: a.nanmean(1), lambda a: torch.nanmean(a, 1), (X,)),
    "aminmax": (lambda a: a.aminmax(dim=1), lambda a: torch.aminmax(a, dim=1), (X,)),
    "kthvalue": (lambda a: a.kthvalue(2, 1), lambda a: torch.kthvalue(a, 2, 1), (X,)),
    "bucketize": (lambda a, b: a.detach().bucketize(b.detach()), torch.bucketize, (X, np.sort(V))),
    "unique": (
        lambda a: a.unique(return_inverse=True, return_counts=True),
        lambda a: torch.unique(a, return_inverse=True, return_counts=True),
        (RNG.integers(0, 4, (6, 9)),),
    ),
    "unique_consecutive": (
        lambda a: a.unique_consecutive(True, True),
        lambda a: torch.unique_consecutive(a, True, True),
        (RNG.integers(0, 2, (6, 9)),),
    ),
    "take": (
        lambda a: a.take(Tensor([[1, -2], [3, 3]])),
        lambda a: torch.take(a, torch.tensor([[1, -2], [3, 3]])),
        (X,),
    ),
    "take_along_dim": (
        lambda a: a.take_along_dim(Tensor([[[1], [0]]]), 1),
        lambda a: torch.take_along_dim(a, torch.tensor([[[1], [0]]]), 1),
        (X,),
    ),
}


@pytest.mark.parametrize("name", STATISTICS)
def test_statistics_and_searches(name: str) -> None:
    ours, theirs, inputs = STATISTICS[name]
    assert_same(ours, theirs, *inputs)
