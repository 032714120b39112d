"""A loaded model is trained: its weights are tensors with gradients, calls see what they are."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from tg_onnx import OnnxRunner
from tg_tensor import Tensor, TinyJit


def network():
    """Convolution, batch normalization, pooling and a linear layer."""
    rng = np.random.default_rng(0)

    def floats(*shape):
        return (rng.standard_normal(shape) * 0.4).astype(np.float32)

    constants = {
        "kernel": floats(4, 1, 3, 3),
        "gain": 1 + floats(4),
        "shift": floats(4),
        "mean": floats(4),
        "variance": np.abs(floats(4)) + np.float32(0.5),
        "weight": floats(3, 16),
        "bias": floats(3),
        "top": np.array(6.0, np.float32),
    }
    statistics = ["gain", "shift", "mean", "variance"]
    nodes = [
        helper.make_node("Conv", ["x", "kernel"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c", *statistics], ["n"]),
        helper.make_node("Clip", ["n", "", "top"], ["r"]),
        helper.make_node("AveragePool", ["r"], ["p"], kernel_shape=[4, 4], strides=[4, 4]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("Gemm", ["f", "weight", "bias"], ["y"], transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 1, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])],
        [numpy_helper.from_array(v, k) for k, v in constants.items()],
    )
    opsets = [helper.make_opsetid("", 18)]
    return helper.make_model(graph, opset_imports=opsets).SerializeToString()


def batch(seed=1, count=6):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((count, 1, 8, 8)).astype(np.float32), rng.integers(0, 3, count)


def loss_of(runner, x, labels):
    return runner({"x": x})["y"].sparse_categorical_crossentropy(labels)


def test_the_parameters_are_the_weights():
    runner = OnnxRunner(network())
    named = runner.named_parameters()
    assert set(named) == {"kernel", "gain", "shift", "weight", "bias"}
    assert all(tensor.requires_grad for tensor in named.values())
    assert [id(p) for p in runner.parameters()] == [id(p) for p in named.values()]


@pytest.mark.parametrize("name", ["kernel", "gain", "weight", "bias"])
def test_gradients_are_slopes(name):
    runner = OnnxRunner(network())
    x, labels = batch()
    parameter = runner.named_parameters()[name]
    loss_of(runner, Tensor(x), Tensor(labels)).backward()
    assert parameter.grad is not None
    direction = np.random.default_rng(2).standard_normal(parameter.shape).astype(np.float32)
    slope = float((parameter.grad.numpy() * direction).sum())
    start, step, losses = parameter.numpy().copy(), 1e-2, []
    for sign in (1, -1):
        parameter.assign(Tensor(start + np.float32(sign * step) * direction)).realize()
        losses.append(loss_of(runner, Tensor(x), Tensor(labels)).item())
    assert slope == pytest.approx((losses[0] - losses[1]) / (2 * step), rel=2e-2, abs=1e-4)


@pytest.mark.parametrize("jitted", [False, True])
def test_training_lowers_the_loss(jitted):
    runner = OnnxRunner(network())
    x, labels = batch(3, 12)
    before = runner({"x": x})["y"].numpy()
    parameters = runner.parameters()

    def step(images, targets):
        for parameter in parameters:
            parameter.grad = None
        loss = loss_of(runner, images, targets)
        loss.backward()
        for parameter in parameters:
            parameter.assign(parameter.detach() - 0.3 * parameter.grad)
        return loss.realize(*parameters)

    run = TinyJit(step) if jitted else step
    losses = [run(Tensor(x), Tensor(labels)).item() for _ in range(12)]
    assert losses[-1] < 0.6 * losses[0]
    assert np.abs(runner({"x": x})["y"].numpy() - before).max() > 0.1


def test_captured_calls_see_changed_weights():
    runner = OnnxRunner(network())
    x, _ = batch()
    first = [runner({"x": x})["y"].numpy() for _ in range(3)][-1]
    named = runner.named_parameters()
    for parameter in named.values():
        parameter.requires_grad = False
    for shift in (0.0, 1.0, 2.0, 3.0):
        bias = named["bias"]
        bias.assign(bias + (1.0 if shift else 0.0)).realize()
        np.testing.assert_allclose(runner({"x": x})["y"].numpy(), first + shift, atol=1e-4)
