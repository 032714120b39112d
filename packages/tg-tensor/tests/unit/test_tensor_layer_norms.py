"""Normalizations and dropouts by name: their formulas in NumPy, and what does not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tg_tensor import Tensor
from tg_tensor.errors import ArgumentError
from tg_uop.errors import ShapeError

X = np.random.default_rng(0).standard_normal((4, 6, 5)).astype(np.float32)


def normed(x: Any, axes: Any) -> Any:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)


def test_formulas() -> None:
    x, w = Tensor(X), Tensor(X[0])
    wanted = {
        "layer_norm": (x.layer_norm((6, 5), w, w), normed(X, (1, 2)) * X[0] + X[0]),
        "rms_norm": (x.rms_norm(5, eps=0.0), X / np.sqrt((X**2).mean(-1, keepdims=True))),
        "group_norm": (
            x.group_norm(2),
            normed(X.reshape(4, 2, 15), -1).reshape(X.shape),
        ),
        "instance_norm": (x.instance_norm(), normed(X, -1)),
        "batch_norm": (x.batch_norm(None, None, training=True), normed(X, (0, 2))),
    }
    for name, (found, numbers) in wanted.items():
        np.testing.assert_allclose(found.numpy(), numbers, rtol=1e-4, atol=1e-5, err_msg=name)
    squares = np.pad(X**2, ((0, 0), (1, 1), (0, 0)))
    near = (squares[:, :-2] + squares[:, 1:-1] + squares[:, 2:]) / 3
    np.testing.assert_allclose(
        x.local_response_norm(3, 0.5, 1.0).numpy(), X / (1 + 0.5 * near), rtol=1e-5
    )


def test_running_statistics_are_updated_in_place() -> None:
    mean, var = Tensor.zeros(6).contiguous().realize(), Tensor.ones(6).contiguous().realize()
    Tensor(X).batch_norm(mean, var, training=True, momentum=0.5).realize()
    np.testing.assert_allclose(mean.numpy(), X.mean((0, 2)) / 2, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(var.numpy(), 0.5 + X.var((0, 2), ddof=1) / 2, rtol=1e-4)
    used = Tensor(X).batch_norm(mean, var)
    wanted = (X - mean.numpy()[:, None]) / np.sqrt(var.numpy()[:, None] + 1e-5)
    np.testing.assert_allclose(used.numpy(), wanted, rtol=1e-4, atol=1e-5)


def test_dropouts() -> None:
    ones = Tensor.ones(3, 40, 2, 2)
    assert np.array_equal(ones.dropout2d().numpy(), ones.numpy())
    assert np.array_equal(ones.alpha_dropout().numpy(), ones.numpy())
    with Tensor.train():
        for dims in (1, 2, 3):
            value = Tensor.ones(3, 40, *(2,) * dims)
            kept = getattr(value, f"dropout{dims}d")().numpy().reshape(3, 40, -1)
            assert set(np.unique(kept)) == {0.0, 2.0}
            assert (kept == kept[..., :1]).all()
        drawn = Tensor.randn(100, 100).alpha_dropout(0.3).numpy()
        assert abs(drawn.mean()) < 0.1
        assert abs(drawn.std() - 1) < 0.1
        assert Tensor.ones(4).dropout(1.0).tolist() == [0.0] * 4


def test_softmax_of_nothing() -> None:
    assert Tensor.zeros(2, 0).softmax().shape == (2, 0)
    assert Tensor.zeros(0, 3).log_softmax(0).shape == (0, 3)
    assert Tensor(2.0).softmax().item() == 1.0


MISTAKES: dict[str, tuple[type[Exception], Callable[[], object]]] = {
    "another shape": (ShapeError, lambda: Tensor(X).layer_norm((5, 6))),
    "no shape": (ShapeError, lambda: Tensor(X).rms_norm(())),
    "groups": (ShapeError, lambda: Tensor(X).group_norm(4)),
    "nothing running": (ArgumentError, lambda: Tensor(X).batch_norm(None, None)),
    "size of 0": (ArgumentError, lambda: Tensor(X).local_response_norm(0)),
    "two axes": (ShapeError, lambda: Tensor(X[0]).local_response_norm(2)),
    "no channels": (ShapeError, lambda: Tensor(X).dropout3d()),
    "p above 1": (ArgumentError, lambda: Tensor(X).alpha_dropout(1.5)),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    error, mistake = MISTAKES[name]
    with pytest.raises(error):
        mistake()


def test_the_norm_of_nothing_has_a_gradient() -> None:
    x = Tensor([[0.0, 0.0], [3.0, 4.0]], requires_grad=True)
    gradient = x.normalize().sum().gradient(x)[0].numpy()
    assert np.isfinite(gradient).all()
    large = Tensor.full((1, 300), 100.0, dtype="float16").normalize()
    np.testing.assert_allclose(large.numpy(), np.full((1, 300), 300**-0.5), rtol=2e-3)
