"""Factors, systems, norms and products of matrices, against NumPy and by finite differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tg_tensor import GlobalCounters, Tensor, TinyJit, Variable
from tg_tensor.errors import ArgumentError, GradientError
from tg_uop.errors import ShapeError

Array = np.ndarray[Any, np.dtype[Any]]
SHAPES = [(4, 4), (2, 5, 3), (2, 3, 5), (1, 1), (2, 2, 3, 3)]


def numbers(*shape: int) -> Array:
    return np.random.default_rng(sum(shape) + len(shape)).standard_normal(shape)


def positive(*batch: int, size: int = 4) -> Array:
    root = numbers(*batch, size, size)
    return root @ root.swapaxes(-1, -2) + np.eye(size)


def low_rank(rows: int, columns: int, rank: int = 2) -> Array:
    return numbers(rows, rank) @ numbers(rank, columns + 1)[:, :columns]


def close(found: Tensor, wanted: object, tolerance: float = 1e-10) -> None:
    array = found.numpy()
    assert array.shape == np.shape(wanted)
    np.testing.assert_allclose(array, wanted, rtol=tolerance, atol=tolerance)


def check_gradient(function: Callable[..., Any], *inputs: Array, tolerance: float = 1e-5) -> None:
    """A weighted sum of the results, differentiated, against differences in one direction."""
    tensors = [Tensor(x, requires_grad=True) for x in inputs]

    def loss(*values: Tensor) -> Tensor:
        found = function(*values)
        parts = found if isinstance(found, tuple) else (found,)
        total = None
        for part in parts:
            weights = Tensor(np.cos(np.arange(part.numel(), dtype=np.float64)).reshape(part.shape))
            term = (part * weights).sum()
            total = term if total is None else total + term
        assert total is not None
        return total

    gradients = loss(*tensors).gradient(*tensors)
    directions = [np.sin(np.arange(x.size) + 1.0).reshape(x.shape) for x in inputs]
    step = 1e-6
    ends = []
    for sign in (1, -1):
        moved = [Tensor(x + sign * step * d) for x, d in zip(inputs, directions, strict=True)]
        ends.append(loss(*moved).item())
    slope = sum(float((g.numpy() * d).sum()) for g, d in zip(gradients, directions, strict=True))
    assert math.isclose(slope, (ends[0] - ends[1]) / (2 * step), rel_tol=tolerance, abs_tol=1e-7)


# *** factors ***


def test_cholesky() -> None:
    a = positive(2, 3)
    close(Tensor(a).cholesky(), np.linalg.cholesky(a))
    close(Tensor(a).cholesky(upper=True), np.linalg.cholesky(a).swapaxes(-1, -2))
    check_gradient(lambda x: (x @ x.transpose(0, 1)).cholesky(), numbers(4, 4))


def test_cholesky_reads_one_half_and_gives_nan_where_there_is_none() -> None:
    a = positive()
    spoilt = np.tril(a) + np.triu(np.full_like(a, 7.0), 1)
    close(Tensor(spoilt).cholesky(), np.linalg.cholesky(a))
    assert np.isnan(Tensor(-a).cholesky().numpy()[0, 0])


@pytest.mark.parametrize("shape", SHAPES)
def test_lu(shape: tuple[int, ...]) -> None:
    a = numbers(*shape)
    p, lower, upper = Tensor(a).lu()
    close(p @ lower @ upper, a)
    assert abs(lower.numpy()).max() <= 1
    assert (np.triu(lower.numpy(), 1) == 0).all()
    assert (np.tril(upper.numpy(), -1) == 0).all()
    check_gradient(lambda x: x.lu()[1:], a)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mode", ["complete", "reduced"])
def test_qr(shape: tuple[int, ...], mode: str) -> None:
    a = numbers(*shape)
    q, r = Tensor(a).qr(mode)
    rows, columns = shape[-2:]
    width = rows if mode == "complete" else min(rows, columns)
    assert q.shape == (*shape[:-1], width)
    assert r.shape == (*shape[:-2], width, columns)
    close(q @ r, a)
    close(q.transpose(-2, -1) @ q, np.broadcast_to(np.eye(width), (*shape[:-2], width, width)))
    assert (np.tril(r.numpy(), -1) == 0).all()
    if mode == "reduced" or rows <= columns:
        check_gradient(lambda x: x.qr(mode), a)


def test_qr_of_dependent_columns_and_of_zeros() -> None:
    for a in (low_rank(5, 4), np.zeros((3, 3)), np.ones((4, 2))):
        q, r = Tensor(a).qr()
        close(q @ r, a)
        close(q.transpose(0, 1) @ q, np.eye(a.shape[0]))


def test_columns_beyond_the_matrix_have_no_gradient() -> None:
    a = Tensor(numbers(5, 3), requires_grad=True)
    with pytest.raises(GradientError, match="reduced"):
        a.qr()[0].sum().gradient(a)
    with pytest.raises(GradientError, match="full_matrices"):
        a.svd()[0].sum().gradient(a)
    a.qr()[1].sum().gradient(a)
    a.svd()[1].sum().gradient(a)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("full", [False, True])
def test_svd(shape: tuple[int, ...], full: bool) -> None:
    a = numbers(*shape)
    rows, columns = shape[-2:]
    least = min(rows, columns)
    u, s, vt = Tensor(a).svd(full)
    assert u.shape == (*shape[:-1], rows if full else least)
    assert vt.shape == (*shape[:-2], columns if full else least, columns)
    close(s, np.linalg.svd(a)[1])
    close(u[..., :least] * s.unsqueeze(-2) @ vt[..., :least, :], a)
    for basis in (u, vt.transpose(-2, -1)):
        size = basis.shape[-1]
        wanted = np.broadcast_to(np.eye(size), (*shape[:-2], size, size))
        close(basis.transpose(-2, -1) @ basis, wanted)
    close(Tensor(a).svdvals(), np.linalg.svd(a)[1])
    check_gradient(lambda x: x.svdvals(), a)
    check_gradient(lambda x: tuple(part.square() for part in x.svd(False)), a)


def test_svd_of_low_rank_has_whole_bases() -> None:
    for rows, columns in ((6, 4), (4, 6), (4, 4)):
        a = low_rank(rows, columns)
        u, s, vt = (part.numpy() for part in Tensor(a).svd())
        assert (s[2:] < 1e-12).all()
        np.testing.assert_allclose(u @ u.T, np.eye(rows), atol=1e-12)
        np.testing.assert_allclose(vt @ vt.T, np.eye(columns), atol=1e-12)
        diagonal = np.zeros((rows, columns))
        np.fill_diagonal(diagonal, s)
        np.testing.assert_allclose(u @ diagonal @ vt, a, atol=1e-12)


def test_eigh() -> None:
    a = numbers(2, 5, 5)
    symmetric = a + a.swapaxes(-1, -2)
    values, vectors = Tensor(symmetric).eigh()
    close(values, np.linalg.eigvalsh(symmetric))
    close(vectors * values.unsqueeze(-2) @ vectors.transpose(-2, -1), symmetric)
    close(Tensor(a).eigvalsh("U"), np.linalg.eigvalsh(a, "U"))
    check_gradient(lambda x: (x + x.transpose(-2, -1)).eigvalsh(), a)
    check_gradient(lambda x: (x + x.transpose(-2, -1)).eigh()[1].square(), a)


def test_equal_eigenvalues_have_a_finite_gradient() -> None:
    a = Tensor(np.eye(3), requires_grad=True)
    values, vectors = a.eigh()
    flowing = (values.sum() + vectors.square().sum()).gradient(a)[0]
    close(flowing, np.eye(3))


@pytest.mark.parametrize("size", [16, 64])
def test_single_precision(size: int) -> None:
    a = numbers(size, size).astype(np.float32)
    u, s, vt = Tensor(a).svd()
    scale = float(np.linalg.norm(a, 2))
    assert abs(s.numpy() - np.linalg.svd(a)[1]).max() < 2e-6 * scale
    assert abs((u * s @ vt).numpy() - a).max() < 4e-6 * scale
    symmetric = a + a.T
    values, vectors = Tensor(symmetric).eigh()
    assert abs(values.numpy() - np.linalg.eigvalsh(symmetric)).max() < 4e-6 * scale
    assert abs((vectors.transpose(0, 1) @ vectors).numpy() - np.eye(size)).max() < 1e-5
    q, r = Tensor(a).qr()
    assert abs((q @ r).numpy() - a).max() < 4e-6 * scale


def test_factors_take_few_kernels() -> None:
    a = Tensor(positive(size=8)).realize()
    wanted = {"cholesky": 1, "lu": 2, "qr": 1, "svdvals": 1, "eigvalsh": 1, "inv": 3, "svd": 3}
    for name, count in wanted.items():
        GlobalCounters.reset()
        found = getattr(a, name)()
        (found[0] if isinstance(found, tuple) else found).realize()
        assert GlobalCounters.kernel_count <= count, name


def test_results_in_any_order_and_after_each_other() -> None:
    a = numbers(3, 5)
    wanted = np.linalg.svd(a)[1]
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2)):
        parts = Tensor(a).transpose(0, 1).svd(False)
        arrays = {place: parts[place].numpy() for place in order}
        np.testing.assert_allclose(arrays[0] * arrays[1] @ arrays[2], a.T, atol=1e-12)
        np.testing.assert_allclose(arrays[1], wanted)


def test_factors_inside_a_captured_step() -> None:
    @TinyJit
    def step(x: Tensor, b: Tensor) -> Tensor:
        return x.solve(b).realize()

    found = []
    for seed in range(4):
        a, b = positive() + seed, numbers(4, seed + 1)[:, :1]
        found.append((step(Tensor(a).realize(), Tensor(b).realize()), np.linalg.solve(a, b)))
    for tensor, wanted in found:
        close(tensor, wanted)


# *** systems ***


def test_solve() -> None:
    a, b = numbers(2, 4, 4), numbers(2, 4, 3)
    close(Tensor(a).solve(Tensor(b)), np.linalg.solve(a, b))
    close(Tensor(a[0]).solve(Tensor(b)), np.linalg.solve(a[:1], b))
    close(Tensor(a[0]).solve(Tensor(b[0, :, 0])), np.linalg.solve(a[0], b[0, :, 0]))
    right = Tensor(a[0]).solve(Tensor(b[0].T), left=False)
    close(right, np.linalg.solve(a[0].T, b[0]).T)
    check_gradient(lambda x, y: x.solve(y), a, b)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("left", [False, True])
def test_solve_triangular(upper: bool, unit: bool, left: bool) -> None:
    a, b = numbers(4, 4) + 3 * np.eye(4), numbers(4, 4)
    half = np.triu(a) if upper else np.tril(a)
    if unit:
        np.fill_diagonal(half, 1)
    found = Tensor(a).solve_triangular(Tensor(b), upper=upper, unitriangular=unit, left=left)
    close(found, np.linalg.solve(half, b) if left else np.linalg.solve(half.T, b.T).T)
    check_gradient(
        lambda x, y: x.solve_triangular(y, upper=upper, unitriangular=unit, left=left), a, b
    )


def test_inverse_and_determinant() -> None:
    a = numbers(2, 4, 4)
    close(Tensor(a).inv(), np.linalg.inv(a))
    close(Tensor(a).det(), np.linalg.det(a))
    sign, size = Tensor(a).slogdet()
    close(sign, np.linalg.slogdet(a)[0])
    close(size, np.linalg.slogdet(a)[1])
    close(Tensor(positive()).logdet(), np.log(np.linalg.det(positive())))
    for function in (Tensor.inv, Tensor.det, lambda x: x.slogdet()[1]):
        check_gradient(function, a)


def test_singular_matrices() -> None:
    a = np.array([[1.0, 2, 3], [2, 4, 6], [1, 0, 1]])
    assert np.isnan(Tensor(a).inv().numpy()).all()
    assert np.isnan(Tensor(a).solve(Tensor(np.ones(3))).numpy()).all()
    x = Tensor(a, requires_grad=True)
    assert x.det().item() == 0
    assert [part.item() for part in x.slogdet()] == [0, -math.inf]
    cofactors = np.array([[4.0, 4, -4], [-2, -2, 2], [0, 0, 0]])
    np.testing.assert_allclose(x.det().gradient(x)[0].numpy(), cofactors, atol=1e-6)


def test_pseudo_inverse_rank_and_least_squares() -> None:
    for a in (numbers(5, 3), numbers(2, 3, 5), low_rank(5, 4)):
        close(Tensor(a).pinv(), np.linalg.pinv(a))
        assert (Tensor(a).matrix_rank().numpy() == np.linalg.matrix_rank(a)).all()
    check_gradient(lambda x: x.pinv(), numbers(5, 3))
    a, b = numbers(6, 3), numbers(6, 2)
    found, wanted = Tensor(a).lstsq(Tensor(b)), np.linalg.lstsq(a, b)
    close(found.solution, wanted[0])
    close(found.residuals, wanted[1])
    assert found.rank.item() == 3
    close(found.singular_values, wanted[3])
    close(
        Tensor(low_rank(5, 4)).lstsq(Tensor(np.ones(5))).solution,
        np.linalg.lstsq(low_rank(5, 4), np.ones(5))[0],
    )
    check_gradient(lambda x, y: x.lstsq(y).solution, a, b)


def test_powers_and_condition() -> None:
    a = numbers(2, 3, 3)
    for n in (-2, 0, 1, 5):
        close(Tensor(a).matrix_power(n), np.linalg.matrix_power(a, n), 1e-8)
    for p in (None, 2, -2, 1, -1, math.inf, -math.inf, "fro", "nuc"):
        close(Tensor(a).cond(p), np.linalg.cond(a, p), 1e-8)
    factor = Tensor(np.linalg.cholesky(positive()))
    close(factor.cholesky_inverse(), np.linalg.inv(positive()))
    close(Tensor(numbers(4, 2)).cholesky_solve(factor), np.linalg.solve(positive(), numbers(4, 2)))


def test_matrices_without_elements() -> None:
    empty = Tensor(np.zeros((2, 0, 0)))
    assert empty.det().tolist() == [1, 1]
    assert [part.tolist() for part in empty.slogdet()] == [[1, 1], [0, 0]]
    for name in ("inv", "cholesky"):
        assert getattr(empty, name)().shape == (2, 0, 0)
    assert [part.shape for part in empty.eigh()] == [(2, 0), (2, 0, 0)]
    assert [part.shape for part in Tensor(np.zeros((3, 0))).svd()] == [(3, 3), (0,), (0, 0)]
    assert [part.shape for part in Tensor(np.zeros((3, 0))).qr("reduced")] == [(3, 0), (0, 0)]
    assert Tensor(np.zeros((3, 0))).pinv().shape == (0, 3)
    assert Tensor(np.zeros((0, 4, 4))).solve(Tensor(np.zeros((0, 4, 2)))).shape == (0, 4, 2)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int32", "float64"])
def test_number_types(dtype: str) -> None:
    a = Tensor([[4, 1], [1, 3]]).cast(dtype)
    wanted = a.dtype if a.dtype.is_float else Tensor([1.0]).dtype
    for found in (a.inv(), a.cholesky(), a.det(), a.eigvalsh(), a.qr()[1], a.norm()):
        assert found.dtype is wanted
    close(a.inv().cast("float32"), [[3 / 11, -1 / 11], [-1 / 11, 4 / 11]], 1e-2)


@pytest.mark.parametrize(
    "call",
    [
        lambda: Tensor([1.0]).inv(),
        lambda: Tensor(numbers(2, 3)).det(),
        lambda: Tensor(numbers(2, 3)).cholesky(),
        lambda: Tensor(numbers(3, 3)).solve(Tensor(numbers(2, 2))),
        lambda: Tensor(numbers(3, 3)).lstsq(Tensor(numbers(2, 2))),
        lambda: Tensor([1.0]).svd(),
        lambda: Tensor([1.0]).qr(),
        lambda: Tensor([1.0, 2]).cross(Tensor([1.0, 2])),
        lambda: Tensor(numbers(2, 3)).cdist(Tensor(numbers(2, 2))),
        lambda: Tensor(numbers(2, 3)).tensordot(Tensor(numbers(2, 3)), ([1], [0])),
        lambda: Tensor(numbers(2, 3)).mm(
            Tensor(
                numbers(
                    3,
                )
            )
        ),
        lambda: Tensor(numbers(2, 3)).vdot(Tensor(numbers(2, 3))),
        lambda: Tensor(numbers(2, 3)).inner(Tensor(numbers(2, 2))),
        lambda: Tensor(numbers(2, 3)).matrix_norm("fro", (0, 0)),
    ],
)
def test_shapes_that_do_not_fit(call: Callable[[], object]) -> None:
    with pytest.raises(ShapeError):
        call()


def test_unknown_names() -> None:
    for call in (
        lambda: Tensor(numbers(2, 2)).qr("thin"),
        lambda: Tensor(numbers(2, 2)).eigh("M"),
        lambda: Tensor(numbers(2, 2)).matrix_norm("abs"),
        lambda: Tensor(numbers(2, 2)).norm("abs"),
        lambda: Tensor(numbers(2, 2)).tensordot(Tensor(numbers(2, 2)), 3),
    ):
        with pytest.raises(ArgumentError):
            call()


# *** norms and products ***


@pytest.mark.parametrize("order", [0, 1, 2, 3, 2.5, -1, math.inf, -math.inf])
def test_vector_norms(order: float) -> None:
    a = numbers(2, 3, 4)
    close(Tensor(a).vector_norm(order), np.linalg.vector_norm(a, ord=order))
    close(
        Tensor(a).vector_norm(order, 1, keepdim=True),
        np.linalg.vector_norm(a, ord=order, axis=1, keepdims=True),
    )
    close(Tensor(a).vector_norm(order, (0, 2)), np.linalg.vector_norm(a, ord=order, axis=(0, 2)))
    if order:
        check_gradient(lambda x: x.vector_norm(order, 1), a)


@pytest.mark.parametrize("order", ["fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf])
def test_matrix_norms(order: float | str) -> None:
    a = numbers(2, 3, 4)
    close(Tensor(a).matrix_norm(order), np.linalg.norm(a, order, (-2, -1)))
    close(
        Tensor(a).matrix_norm(order, (0, 2), keepdim=True),
        np.linalg.norm(a, order, (0, 2), keepdims=True),
    )
    check_gradient(lambda x: x.matrix_norm(order), a)


def test_norms_of_zeros_have_a_gradient_of_zero() -> None:
    zeros = Tensor(np.zeros((2, 3)), requires_grad=True)
    for norm in (zeros.norm(), zeros.vector_norm(3), zeros.cdist(zeros).sum()):
        assert (norm.gradient(zeros)[0].numpy() == 0).all()
    close(Tensor(numbers(3, 2)).norm(), np.linalg.norm(numbers(3, 2)))
    close(Tensor(numbers(3, 2)).norm("nuc"), np.linalg.norm(numbers(3, 2), "nuc"))
    close(Tensor(numbers(3, 2)).norm(1, 0), abs(numbers(3, 2)).sum(0))


@pytest.mark.parametrize("p", [1, 2, 3, math.inf])
def test_distances(p: float) -> None:
    a, b = numbers(2, 5, 3), numbers(4, 3)
    wanted = np.linalg.vector_norm(a[:, :, None] - b[None, None], ord=p, axis=-1)
    close(Tensor(a).cdist(Tensor(b), p), wanted)
    check_gradient(lambda x, y: x.cdist(y, p), a, b)


def test_diagonals() -> None:
    a, v = numbers(2, 3, 4), numbers(3)
    close(Tensor(a[0]).trace(), np.trace(a[0]))
    close(Tensor(a).trace(1, 1, 2), np.trace(a, 1, 1, 2))
    for offset in (-2, -1, 0, 1, 2):
        close(Tensor(v).diag(offset), np.diag(v, offset))
        close(Tensor(a[0]).diag(offset), np.diag(a[0], offset))
        spread = Tensor(a).diag_embed(offset, 0, 2)
        close(spread.diagonal(offset, 0, 2), a)
        assert abs(spread.numpy()).sum() == pytest.approx(abs(a).sum())
        check_gradient(lambda x, offset=offset: x.diag_embed(offset), a)  # type: ignore[misc]
    with pytest.raises(ArgumentError):
        Tensor(a).diag()


def test_products() -> None:
    a, b, v, w = numbers(2, 3, 4), numbers(2, 4, 5), numbers(3), numbers(4)
    table: list[tuple[Callable[..., Tensor], object, tuple[Array, ...]]] = [
        (Tensor.outer, np.outer(v, w), (v, w)),
        (Tensor.ger, np.outer(v, w), (v, w)),
        (Tensor.inner, np.inner(a, w), (a, w)),
        (Tensor.vdot, np.vdot(v, v + 1), (v, v + 1)),
        (Tensor.vecdot, np.vecdot(a, a[:1] + 1), (a, a[:1] + 1)),
        (Tensor.cross, np.cross(a.swapaxes(1, 2), v), (a.swapaxes(1, 2), v)),
        (Tensor.kron, np.kron(a, b[0]), (a, b[0])),
        (Tensor.kron, np.kron(v, a), (v, a)),
        (Tensor.bmm, a @ b, (a, b)),
        (Tensor.mm, a[0] @ b[0], (a[0], b[0])),
        (Tensor.mv, a[0] @ w, (a[0], w)),
        (lambda x, y: x.tensordot(y, 1), np.tensordot(a, b[0], 1), (a, b[0])),
        (lambda x, y: x.tensordot(y, 0), np.tensordot(v, w, 0), (v, w)),
        (
            lambda x, y: x.tensordot(y, ([0, 2], [0, 1])),
            np.tensordot(a, b, ([0, 2], [0, 1])),
            (a, b),
        ),
        (Tensor.multi_dot, a[0] @ b[0] @ b[0].T, (a[0], b[0], b[0].T)),
        (Tensor.multi_dot, v @ a[0] @ b[0] @ b[0].T @ w, (v, a[0], b[0], b[0].T, w)),
        (
            lambda x, y, z: x.addmm(y, z, beta=2, alpha=3),
            2 * b[0, 0] + 3 * a[0] @ b[0],
            (b[0, 0], a[0], b[0]),
        ),
        (Tensor.addmv, v + a[0] @ w, (v, a[0], w)),
        (Tensor.addr, a[0] + np.outer(v, w), (a[0], v, w)),
        (Tensor.baddbmm, v[:, None] + a @ b, (v[:, None], a, b)),
        (lambda x, y, z: x.addbmm(y, z, beta=0), (a @ b).sum(0), (v[:, None], a, b)),
    ]
    for function, wanted, inputs in table:
        close(function(*(Tensor(x) for x in inputs)), wanted)
        if len(inputs) == 2:
            check_gradient(function, *inputs)


def test_products_of_integers_stay_integers() -> None:
    a, b = np.arange(6).reshape(2, 3), np.arange(3)
    for found, wanted in (
        (Tensor(a).inner(Tensor(b)), np.inner(a, b)),
        (Tensor(b).outer(Tensor(b)), np.outer(b, b)),
        (Tensor(a).kron(Tensor(b)), np.kron(a, b)),
        (Tensor(b).cross(Tensor(b + 1)), np.cross(b, b + 1)),
        (Tensor(a[:, :2]).matrix_power(3), np.linalg.matrix_power(a[:, :2], 3)),
    ):
        assert found.dtype.is_int
        assert found.tolist() == wanted.tolist()


@pytest.mark.parametrize(
    ("formula", "shapes"),
    [
        ("ab,bc,cd,de->ae", [(3, 4), (4, 5), (5, 2), (2, 6)]),
        ("ab,cb,cd,de->ae", [(3, 4), (5, 4), (5, 2), (2, 6)]),
        ("i,i,i->", [(4,), (4,), (4,)]),
        ("i,j,k->kji", [(2,), (3,), (4,)]),
        ("...ab,bc,cd->...ad", [(2, 3, 4), (4, 5), (5, 2)]),
        ("aab,bc,c->", [(3, 3, 4), (4, 5), (5,)]),
        ("ab,bc,cd->a", [(3, 4), (4, 5), (5, 2)]),
        ("ab,bc,c", [(3, 4), (4, 0), (0,)]),
    ],
)
def test_einsum_of_many_operands(formula: str, shapes: list[tuple[int, ...]]) -> None:
    arrays = [numbers(*shape) for shape in shapes]
    close(Tensor.einsum(formula, *(Tensor(a) for a in arrays)), np.einsum(formula, *arrays))
    if all(a.size for a in arrays):
        check_gradient(lambda *x: Tensor.einsum(formula, *x), *arrays)


def test_einsum_takes_the_order_of_the_least_work() -> None:
    chain = [Tensor(numbers(24, 24)).realize() for _ in range(5)]
    GlobalCounters.reset()
    Tensor.einsum("ab,bc,cd,de,ef->af", *chain).realize()
    assert GlobalCounters.global_ops < 20 * 24**3


def test_einsum_of_halves_rounds_once() -> None:
    big = Tensor(np.full((2, 300), 16.0)).cast("float16")
    small = Tensor(np.full((300, 2), 1 / 64)).cast("float16")
    # the sum of the first two is beyond the range of halves
    found = Tensor.einsum("ab,cb,bd,cb->ad", big, big, small, big * 0 + 1 / 1024)
    close(found.cast("float64"), np.full((2, 2), 2 * 300 * 256 / 64 / 1024), 1e-3)


@pytest.mark.parametrize("size", [1e-3, 1.0, 20.0])
def test_matrix_exponential(size: float) -> None:
    a = numbers(2, 3, 3) * size / 3
    values, vectors = np.linalg.eig(a)
    wanted = ((vectors * np.exp(values)[:, None]) @ np.linalg.inv(vectors)).real
    found = Tensor(a).matrix_exp().numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12 * abs(wanted).max())
    check_gradient(lambda x: x.matrix_exp() * (1 / abs(wanted).max()), a)


def test_distances_within_and_between() -> None:
    a, b = numbers(5, 3), numbers(5, 4)[:, :3]
    close(Tensor(a).dist(Tensor(b), 3), np.linalg.vector_norm(a - b, ord=3))
    rows, others = np.triu_indices(5, 1)
    close(Tensor(a).pdist(), np.linalg.norm(a[rows] - a[others], axis=1))
    assert Tensor(a[:1]).pdist().shape == (0,)
    with pytest.raises(ShapeError):
        Tensor([1.0]).pdist()


def test_huge_and_tiny_matrices_keep_their_digits() -> None:
    for size in (1e30, 1e-30):
        a = (numbers(6, 6) * size).astype(np.float32)
        wanted = np.linalg.svd(a.astype(np.float64))[1]
        close(Tensor(a).svdvals() / size, wanted / size, 2e-6)
        symmetric = a + a.T
        wanted = np.linalg.eigvalsh(symmetric.astype(np.float64))
        close(Tensor(symmetric).eigvalsh() / size, wanted / size, 1e-5)
        q, r = Tensor(a).qr()
        close(q @ r / size, a / size, 1e-5)


def test_what_is_no_number_spreads() -> None:
    a = np.eye(3)
    a[1, 0] = math.nan
    for name in ("inv", "svdvals", "eigvalsh", "pinv"):
        assert np.isnan(getattr(Tensor(a), name)().numpy()).all(), name


def test_sizes_that_depend_on_variables_are_refused() -> None:
    some = Variable("some", 1, 5).bind(3)
    with pytest.raises(ShapeError, match="variables"):
        Tensor(numbers(5, 4, 4))[:some].inv()
