"""Normalizations by the names of PyTorch, against PyTorch: values, gradients, running numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tg_tensor import Tensor

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

F = torch.nn.functional
Call = Callable[..., Any]


def numbers(*shape: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(sum(shape) + 7 * len(shape) + 100 * seed)
    return rng.standard_normal(shape).astype(np.float32)


X = numbers(4, 6, 5)
LAST = numbers(6, 5, seed=1), numbers(6, 5, seed=2)
CHANNELS = numbers(6, seed=1), numbers(6, seed=2)


def assert_same(ours: Call, theirs: Call, *arrays: Any) -> None:
    mine = [Tensor(x, requires_grad=True) for x in arrays]
    other = [torch.tensor(x, requires_grad=True) for x in arrays]
    found, wanted = ours(*mine), theirs(*other)
    np.testing.assert_allclose(found.numpy(), wanted.detach().numpy(), rtol=1e-4, atol=1e-5)
    weights = numbers(*wanted.shape)
    flowing = (found * Tensor(weights)).sum().gradient(*mine)
    (wanted * torch.tensor(weights)).sum().backward()
    for gradient, tensor in zip(flowing, other, strict=True):
        np.testing.assert_allclose(gradient.numpy(), tensor.grad.numpy(), rtol=1e-3, atol=1e-4)


def test_over_the_last_axes() -> None:
    assert_same(
        lambda x, w, b: x.layer_norm((6, 5), w, b),
        lambda x, w, b: F.layer_norm(x, (6, 5), w, b),
        X,
        *LAST,
    )
    assert_same(
        lambda x, w: x.rms_norm((6, 5), w), lambda x, w: F.rms_norm(x, (6, 5), w), X, LAST[0]
    )
    assert_same(lambda x: x.rms_norm(5, eps=0.1), lambda x: F.rms_norm(x, (5,), eps=0.1), X)


def test_over_channels() -> None:
    assert_same(
        lambda x, w, b: x.group_norm(3, w, b),
        lambda x, w, b: F.group_norm(x, 3, w, b),
        X,
        *CHANNELS,
    )
    assert_same(
        lambda x, w, b: x.instance_norm(weight=w, bias=b),
        lambda x, w, b: F.instance_norm(x, weight=w, bias=b),
        X,
        *CHANNELS,
    )
    for size in (1, 2, 3, 5):
        assert_same(
            lambda x, size=size: x.local_response_norm(size, 0.5),
            lambda x, size=size: F.local_response_norm(x, size, 0.5),
            X,
        )


@pytest.mark.parametrize("name", ["batch_norm", "instance_norm"])
@pytest.mark.parametrize("training", [False, True])
def test_running_statistics(name: str, training: bool) -> None:
    mean, var = numbers(6, seed=3), np.abs(numbers(6, seed=4)) + np.float32(0.1)
    mine = [Tensor(mean).realize(), Tensor(var).realize()]
    theirs = [torch.tensor(mean), torch.tensor(var)]
    assert_same(
        lambda x, w, b: getattr(x, name)(*mine, w, b, training),
        lambda x, w, b: getattr(F, name)(x, *theirs, w, b, training),
        X,
        *CHANNELS,
    )
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(2, 0), (0, 3), (0,)])
def test_softmax_of_nothing(shape: tuple[int, ...]) -> None:
    for name in ("softmax", "log_softmax"):
        found = getattr(Tensor(numbers(*shape)), name)(-1)
        assert found.shape == tuple(getattr(torch.tensor(numbers(*shape)), name)(-1).shape)


def test_vectors_of_nothing_and_large_halves() -> None:
    x = np.array([[0, 0, 0], [1, 2, 3]], np.float32)
    for p in (1, 2, 3, float("inf")):
        assert_same(lambda x, p=p: x.normalize(p), lambda x, p=p: F.normalize(x, p), x)
    large = np.full((2, 300), 100, np.float16)
    found = Tensor(large).normalize().numpy()
    np.testing.assert_allclose(found, F.normalize(torch.tensor(large)).numpy(), rtol=1e-3)
