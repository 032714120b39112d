"""Gradients, functions and kernels of one's own on sharded values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from tg_tensor import Tensor, function
from tg_uop import KernelInfo, UOp

Array = npt.NDArray[np.float32]
D = ("CPU:0", "CPU:1")
rng = np.random.default_rng(3)
A = rng.standard_normal((8, 6)).astype(np.float32)
B = rng.standard_normal((6, 4)).astype(np.float32)
PLACEMENTS = list(product((None, 0, 1), repeat=2))


def outcome(
    loss: Callable[..., Tensor], arrays: Sequence[Array], axes: Sequence[int | None] | None
) -> list[Array]:
    """The value of a function and its gradients; on one device without `axes`."""
    leaves = [Tensor(a) for a in arrays]
    if axes is not None:
        leaves = [leaf.shard(D, axis) for leaf, axis in zip(leaves, axes, strict=True)]
    for leaf in leaves:
        leaf.realize().requires_grad_()
    value = loss(*leaves)
    value.backward()
    grads = [leaf.grad for leaf in leaves if leaf.grad is not None]
    assert len(grads) == len(leaves)
    return [value.numpy(), *(grad.numpy() for grad in grads)]  # type: ignore[list-item]


def compare(
    loss: Callable[..., Tensor], arrays: Sequence[Array], axes: Sequence[int | None]
) -> None:
    """On shards as on one device."""
    pairs = zip(outcome(loss, arrays, axes), outcome(loss, arrays, None), strict=True)
    for found, expected in pairs:
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(("left", "right"), PLACEMENTS)
def test_products(left: int | None, right: int | None) -> None:
    compare(lambda x, w: (x @ w).relu().square().sum(), [A, B], (left, right))


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_rows(axis: int | None) -> None:
    def loss(x: Tensor) -> Tensor:
        kept = x.log_softmax(1)[1:7] * x.pad(((0, 0), (1, 0)))[2:, :6].flip(0)
        return kept.max(0).sum() + x.cat(x.layernorm(), dim=0).square().mean()

    compare(loss, [A], (axis,))


@pytest.mark.parametrize(("image", "weight"), [(0, None), (1, 1), (None, 0)])
def test_convolutions(image: int | None, weight: int | None) -> None:
    arrays = [
        rng.standard_normal((4, 2, 5, 5)).astype(np.float32),
        rng.standard_normal((4, 2, 3, 3)).astype(np.float32),
    ]
    compare(lambda x, w: x.conv2d(w).relu().max_pool2d().sum(), arrays, (image, weight))


def test_a_gradient_reaches_what_was_sharded() -> None:
    x, w = Tensor(A), Tensor(B)
    for leaf in (x, w):
        leaf.requires_grad_()
    (x.shard(D, 0) @ w.shard(D)).square().sum().backward()
    assert x.grad is not None
    assert w.grad is not None
    assert x.grad.device == w.grad.device == "CPU"
    np.testing.assert_allclose(x.grad.numpy(), 2 * A @ B @ B.T, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(w.grad.numpy(), A.T @ (2 * A @ B), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_values_computed_on_the_way(axis: int | None) -> None:
    w = Tensor(B).shard(D, axis).realize().requires_grad_()
    hidden = (Tensor(A).shard(D, 0) @ w).relu()
    hidden.realize()
    hidden.square().sum().backward()
    assert w.grad is not None
    expected = A.T @ (2 * np.maximum(A @ B, 0))
    np.testing.assert_allclose(w.grad.numpy(), expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_functions_with_a_gradient_of_their_own(axis: int | None) -> None:
    def gradient(of_product: UOp, of_sum: UOp, call: UOp) -> tuple[UOp, UOp]:
        _, a, b = call.src
        return of_product * b + of_sum, of_product * a + of_sum

    @function(grad_fxn=gradient)
    def both(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        return a * b, a + b

    def loss(a: Tensor, b: Tensor) -> Tensor:
        product, total = both(a, b)  # type: ignore[misc]
        return product.sum() + (total * total).sum()

    compare(loss, [A, A + 1], (axis, axis))


def twice_and_one(out: UOp, x: UOp) -> UOp:
    """out = 2 x + 1"""
    row, column = UOp.range(x.shape[0], 0), UOp.range(x.shape[1], 1)  # type: ignore[arg-type]
    stored = out[row, column].store(x[row, column] * 2 + 1)
    return stored.end(row, column).sink(arg=KernelInfo(name="twice_and_one"))


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_kernels_run_on_each_shard(axis: int | None) -> None:
    x = Tensor(A).shard(D, axis).realize()
    x.requires_grad_()
    out = x.detach().empty_like()
    found = out.custom_kernel(x, fxn=twice_and_one, grad_fxn=lambda g, _: (None, g * 2))[0]
    assert found.uop.axis == axis
    found.square().sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(found.numpy(), A * 2 + 1, rtol=1e-6)
    np.testing.assert_allclose(x.grad.numpy(), 4 * (A * 2 + 1), rtol=1e-6)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_matrix_functions_see_the_whole_matrix(axis: int | None) -> None:
    square = A[:6] + 4 * np.eye(6, dtype=np.float32)
    compare(
        lambda x: x.solve(x.sum(1, keepdim=True)).sum() + x.det().abs().log(), [square], (axis,)
    )
