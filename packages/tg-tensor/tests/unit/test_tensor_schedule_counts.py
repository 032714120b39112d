"""How many kernels typical graphs become, and that their values are right."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from tg_tensor import GlobalCounters, Tensor

Array = npt.NDArray[np.float32]
rng = np.random.default_rng(0)


def data(*shape: int) -> tuple[Tensor, Array]:
    array = rng.standard_normal(shape).astype(np.float32)
    return Tensor(array).realize(), array


def check(tensor: Tensor, expected: npt.ArrayLike, kernels: int) -> None:
    GlobalCounters.reset()
    tensor.realize()
    assert GlobalCounters.kernel_count == kernels
    np.testing.assert_allclose(tensor.numpy(), expected, rtol=1e-4, atol=1e-5)


def test_elementwise_chain() -> None:
    x, a = data(6, 7)
    y, b = data(6, 7)
    check(((x + y) * 2 - x).relu(), np.maximum((a + b) * 2 - a, 0), 1)


def test_reduce_with_prologue_and_epilogue() -> None:
    x, a = data(6, 7)
    check((x * x).sum(1) * 0.5 + 1, (a * a).sum(1) * 0.5 + 1, 1)


def test_matmul_with_bias_and_activation() -> None:
    x, a = data(8, 16)
    w, b = data(16, 12)
    c, d = data(12)
    check((x @ w + c).relu(), np.maximum(a @ b + d, 0), 1)


@pytest.mark.parametrize("steps", [40, 300])
def test_products_of_one_factor_are_a_kernel_each(steps: int) -> None:
    """Each has tiles of its own: what they share is read from a cache anyway."""
    x, a = data(24, steps)
    v, b = data(steps, 32)
    w, c = data(steps, 32)
    GlobalCounters.reset()
    first, second = Tensor.realize(x @ v, x @ w), x @ w
    assert GlobalCounters.kernel_count == 2
    np.testing.assert_allclose(first.numpy(), a @ b, rtol=1e-4, atol=1e-4)
    check((x @ v).relu() * second, np.maximum(a @ b, 0) * (a @ c), 2)


def test_small_products_of_one_factor_share_a_kernel() -> None:
    x, a = data(4, 8)
    v, b = data(8, 16)
    w, c = data(8, 16)
    check((x @ v).relu() * (x @ w), np.maximum(a @ b, 0) * (a @ c), 1)


def test_convolution_with_bias_and_activation() -> None:
    x, _ = data(2, 3, 8, 8)
    w, _ = data(4, 3, 3, 3)
    b, _ = data(4)
    GlobalCounters.reset()
    x.conv2d(w, b).relu().realize()
    assert GlobalCounters.kernel_count == 1


# one kernel where the work is too little for two, or rows are long and few enough for a cache
ROWS = [((4, 10), 1), ((300, 20), 2), ((300, 100), 1), ((16, 512), 1)]


@pytest.mark.parametrize(("shape", "kernels"), ROWS)
def test_softmax(shape: tuple[int, int], kernels: int) -> None:
    x, a = data(*shape)
    e = np.exp(a - a.max(1, keepdims=True))
    check(x.softmax(1), e / e.sum(1, keepdims=True), kernels)


@pytest.mark.parametrize(("shape", "kernels"), ROWS)
def test_layernorm(shape: tuple[int, int], kernels: int) -> None:
    x, a = data(*shape)
    expected = (a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-5)
    check(x.layernorm(), expected, kernels)


def test_two_sums_of_one_value_are_one_kernel() -> None:
    x, a = data(4, 5, 6)
    first, second = x.sum((0, 2)), (x * x).sum((0, 2))
    GlobalCounters.reset()
    first.realize(second)
    assert GlobalCounters.kernel_count == 1
    np.testing.assert_allclose(first.numpy(), a.sum((0, 2)), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(second.numpy(), (a * a).sum((0, 2)), rtol=1e-4, atol=1e-5)


def test_adam_update_is_one_kernel_a_parameter() -> None:
    g, _ = data(6, 5)
    (m, a), (v, b), (p, c) = data(6, 5), data(6, 5), data(6, 5)
    gradient = g.numpy()
    m.assign(m * 0.9 + g * 0.1)
    v.assign(v * 0.99 + g * g * 0.01)
    p.assign(p - m * 0.1 / (v.abs().sqrt() + 1e-3))
    GlobalCounters.reset()
    m.realize(v, p)
    assert GlobalCounters.kernel_count == 1
    a, b = a * 0.9 + gradient * 0.1, b * 0.99 + gradient * gradient * 0.01
    np.testing.assert_allclose(m.numpy(), a, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(v.numpy(), b, rtol=1e-5, atol=1e-6)
    expected = c - a * 0.1 / (np.sqrt(np.abs(b)) + 1e-3)
    np.testing.assert_allclose(p.numpy(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.reshape(3, 8),
        lambda x: x.permute(1, 0),
        lambda x: x.flip(0),
        lambda x: x[1:3],
        lambda x: x.reshape(2, 12).permute(1, 0)[2:5],
    ],
)
def test_views_of_memory_cost_nothing(view: Callable[[Tensor], Tensor]) -> None:
    x, _ = data(4, 6)
    GlobalCounters.reset()
    view(x).realize()
    assert GlobalCounters.kernel_count == 0


def test_views_fuse_into_their_users() -> None:
    x, a = data(4, 6)
    check(x.permute(1, 0)[::-1].reshape(3, 8) * 2, a.T[::-1].reshape(3, 8) * 2, 1)


def test_padding_fuses() -> None:
    x, a = data(4, 6)
    check((x + 1).pad(((1, 2), (0, 3))) * 2, np.pad(a + 1, ((1, 2), (0, 3))) * 2, 1)


def test_concatenation_is_one_kernel() -> None:
    x, a = data(2, 3)
    y, b = data(4, 3)
    check(x.cat(y, dim=0), np.concatenate([a, b]), 1)


def test_large_sums_are_cut_in_two() -> None:
    x, a = data(1 << 16)
    check(x.sum(), a.sum(), 2)


@pytest.mark.parametrize(("size", "kernels"), [(10, 1), (66, 2)])
def test_gradient_of_a_padded_convolution_reads_plain_memory(size: int, kernels: int) -> None:
    x, _ = data(2, 16, size, size)
    w, _ = data(8, 16, 3, 3)
    x.requires_grad_()
    x.conv2d(w).backward(Tensor.ones(2, 8, size - 2, size - 2).contiguous().realize())
    assert x.grad is not None
    # where it pays, the border is written once, and the sum has no conditions
    GlobalCounters.reset()
    x.grad.realize()
    assert GlobalCounters.kernel_count == kernels


def test_nothing_runs_for_values_without_elements() -> None:
    GlobalCounters.reset()
    empty = (Tensor.ones(0, 3) + 1).realize()
    assert GlobalCounters.kernel_count == 0
    assert empty.numpy().shape == (0, 3)
    assert Tensor.ones(0, 3).sum().numpy() == 0


def test_constants_stay_numbers() -> None:
    GlobalCounters.reset()
    Tensor.ones(3, 4).realize()
    assert GlobalCounters.kernel_count == 0


def test_schedules_are_reused() -> None:
    from tg_tensor.schedule import pipeline

    x, _ = data(5)
    (x * 3 + 1).realize()
    before = len(pipeline._cache)
    y, b = data(5)
    z = y * 3 + 1
    z.realize()
    assert len(pipeline._cache) == before
    np.testing.assert_allclose(z.numpy(), b * 3 + 1, rtol=1e-6)


def test_a_long_chain_schedules() -> None:
    x, a = data(4)
    y = x
    for _ in range(3000):
        y = y + 1
    np.testing.assert_allclose(y.numpy(), a + 3000, rtol=1e-3)


def test_a_chain_of_a_hundred_thousand_nodes_schedules() -> None:
    x, _ = data(4)
    y = x
    for i in range(100_000):
        y = y * x if i % 2 else y + x
    assert len(y.schedule_linear().src) == 200
