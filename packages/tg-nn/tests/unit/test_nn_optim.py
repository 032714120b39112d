"""Optimizers move parameters as their papers say, written out in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from tg_nn import Linear
from tg_nn.errors import OptimizerError
from tg_nn.optim import LAMB, LARS, SGD, Adam, AdamW, Muon, OptimizerGroup
from tg_nn.state import get_parameters
from tg_tensor import Tensor

START = np.array([[1.0, -2.0], [0.5, 3.0]], np.float32)
GRADS = [np.array([[0.1, -0.2], [0.3, 0.4]], np.float32) * (step + 1) for step in range(3)]


def run(build, grads=GRADS):
    """The parameter after a step with each gradient."""
    param = Tensor(START.copy(), requires_grad=True)
    optimizer = build([param])
    with Tensor.train():
        for grad in grads:
            optimizer.zero_grad()
            (param * Tensor(grad)).sum().backward()
            optimizer.step()
    return param.numpy()


def test_sgd():
    expected = START - 0.1 * sum(GRADS)
    np.testing.assert_allclose(run(lambda p: SGD(p, lr=0.1)), expected, rtol=1e-6)


@pytest.mark.parametrize("nesterov", [False, True])
def test_sgd_momentum_and_decay(nesterov):
    value, velocity = START.copy(), 0
    for grad in GRADS:
        full = grad + 0.01 * value
        velocity = 0.9 * velocity + full
        value = value - 0.1 * (full + 0.9 * velocity if nesterov else velocity)
    got = run(lambda p: SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=nesterov))
    np.testing.assert_allclose(got, value, rtol=1e-5)


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_adam_and_adamw(decay):
    value, m, v = START.astype(np.float64), 0, 0
    for step, grad in enumerate(GRADS, start=1):
        m = 0.9 * m + 0.1 * grad
        v = 0.999 * v + 0.001 * grad**2
        direction = (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
        value = value - 0.01 * (direction + decay * value)
    build = (
        (lambda p: AdamW(p, lr=0.01, weight_decay=decay)) if decay else (lambda p: Adam(p, 0.01))
    )
    np.testing.assert_allclose(run(build), value, rtol=1e-4)


def test_lamb_scales_by_the_trust_ratio():
    got = run(lambda p: LAMB(p, lr=0.01), GRADS[:1])
    direction = np.sign(GRADS[0])  # the first step of Adam
    trust = np.linalg.norm(START) / np.linalg.norm(direction)
    np.testing.assert_allclose(got, START - 0.01 * trust * direction, rtol=1e-3)


def test_lars_scales_by_the_trust_ratio():
    got = run(lambda p: LARS(p, lr=0.1, momentum=0.0, weight_decay=0.0), GRADS[:1])
    trust = 0.001 * np.linalg.norm(START) / np.linalg.norm(GRADS[0])
    np.testing.assert_allclose(got, START - 0.1 * trust * GRADS[0], rtol=1e-5)


def test_muon_moves_along_an_almost_orthogonal_matrix():
    build = lambda p: Muon(p, lr=1.0, momentum=0.0, weight_decay=0.0, nesterov=False)  # noqa: E731
    moved = START - run(build, GRADS[:1])
    singular = np.linalg.svd(moved, compute_uv=False)
    assert (singular > 0.5).all()
    assert (singular < 1.3).all()


def test_a_group_steps_all_its_optimizers():
    first, second = Tensor([1.0], requires_grad=True), Tensor([1.0], requires_grad=True)
    group = OptimizerGroup(SGD([first], lr=0.1), SGD([second], lr=0.2))
    with Tensor.train():
        (first + second).sum().backward()
        group.step()
    assert first.item() == pytest.approx(0.9)
    assert second.item() == pytest.approx(0.8)
    group.zero_grad()
    assert first.grad is None


def test_the_learning_rate_can_change_between_steps():
    param = Tensor([1.0], requires_grad=True)
    optimizer = SGD([param], lr=0.0)
    optimizer.lr.assign(Tensor([0.5])).realize()
    with Tensor.train():
        param.sum().backward()
        optimizer.step()
    assert param.item() == pytest.approx(0.5)


def test_training_a_linear_layer_finds_the_line():
    layer = Linear(1, 1)
    optimizer = Adam(get_parameters(layer), lr=0.1)
    x = np.linspace(-1, 1, 16, dtype=np.float32).reshape(-1, 1)
    with Tensor.train():
        for _ in range(150):
            optimizer.zero_grad()
            (layer(Tensor(x)) - Tensor(3 * x + 1)).square().mean().backward()
            optimizer.step()
    assert layer.weight.item() == pytest.approx(3, abs=0.05)
    assert layer.bias.item() == pytest.approx(1, abs=0.05)


def test_a_step_outside_of_training_is_refused():
    param = Tensor([1.0], requires_grad=True)
    optimizer = SGD([param])
    param.sum().backward()
    with pytest.raises(OptimizerError, match="outside of training"):
        optimizer.step()


def test_a_parameter_without_gradient_is_named():
    optimizer = SGD([Tensor([1.0], requires_grad=True)])
    with Tensor.train(), pytest.raises(OptimizerError, match=r"parameters \[0\] have no gradient"):
        optimizer.step()


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(OptimizerError, match="negative"):
        SGD([Tensor([1.0], requires_grad=True)], lr=-1)
    with pytest.raises(OptimizerError, match="no parameter"):
        SGD([Tensor([1.0], requires_grad=False)])
