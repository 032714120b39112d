"""Layers give the values of their definition, written out in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from tg_nn import (
    BatchNorm,
    Conv1d,
    Conv2d,
    ConvTranspose2d,
    Embedding,
    GroupNorm,
    InstanceNorm,
    LayerNorm,
    LayerNorm2d,
    Linear,
    LSTMCell,
    RMSNorm,
)
from tg_nn.errors import LayerError
from tg_tensor import Tensor


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def close(ours: Tensor, expected: np.ndarray, tolerance: float = 1e-4) -> None:
    assert ours.shape == expected.shape
    np.testing.assert_allclose(ours.numpy(), expected, rtol=tolerance, atol=tolerance)


def test_linear_is_a_product_and_a_sum():
    layer, x = Linear(4, 3), random(5, 4)
    close(layer(Tensor(x)), x @ layer.weight.numpy().T + layer.bias.numpy())


def test_linear_starts_within_its_bound():
    weight = Linear(16, 64).weight.numpy()
    assert np.abs(weight).max() <= 0.25
    assert weight.std() == pytest.approx(0.25 / np.sqrt(3), rel=0.1)


def test_linear_without_bias_has_none():
    layer = Linear(4, 3, bias=False)
    assert layer.bias is None
    x = random(2, 4)
    close(layer(Tensor(x)), x @ layer.weight.numpy().T)


def naive_conv2d(x, w, b, stride=1, padding=0):
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    kh, kw = w.shape[2:]
    windows = np.lib.stride_tricks.sliding_window_view(x, (kh, kw), axis=(2, 3))
    windows = windows[:, :, ::stride, ::stride]
    return np.einsum("nchwij,ocij->nohw", windows, w) + b[None, :, None, None]


@pytest.mark.parametrize(("stride", "padding"), [(1, 0), (2, 1), (1, 2)])
def test_conv2d(stride, padding):
    layer, x = Conv2d(3, 5, 3, stride=stride, padding=padding), random(2, 3, 8, 9)
    expected = naive_conv2d(x, layer.weight.numpy(), layer.bias.numpy(), stride, padding)
    close(layer(Tensor(x)), expected)


def test_conv2d_same_padding_keeps_the_size():
    assert Conv2d(1, 1, 4, padding="same")(Tensor.ones(1, 1, 7, 6)).shape == (1, 1, 7, 6)


def test_conv1d():
    layer, x = Conv1d(3, 5, 3), random(2, 3, 8)
    windows = np.lib.stride_tricks.sliding_window_view(x, 3, axis=2)
    expected = np.einsum("ncli,oci->nol", windows, layer.weight.numpy())
    close(layer(Tensor(x)), expected + layer.bias.numpy()[None, :, None])


def test_conv_transpose2d_places_a_scaled_kernel_at_each_pixel():
    layer, x = ConvTranspose2d(2, 3, 2, stride=2), random(1, 2, 3, 3)
    expected = np.einsum("ncij,cokl->noikjl", x, layer.weight.numpy()).reshape(1, 3, 6, 6)
    close(layer(Tensor(x)), expected + layer.bias.numpy()[None, :, None, None])


def test_embedding_picks_rows():
    layer = Embedding(7, 4)
    index = np.array([[0, 6], [3, 3]], np.int32)
    close(layer(Tensor(index)), layer.weight.numpy()[index])


def test_batchnorm_in_training_uses_the_batch_and_moves_the_running_statistics():
    layer, x = BatchNorm(3), random(4, 3, 5, 5) * 2 + 1
    with Tensor.train():
        y = layer(Tensor(x))
    mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3))
    shape = (1, 3, 1, 1)
    close(y, (x - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + 1e-5))
    close(layer.running_mean, 0.1 * mean)
    close(layer.running_var, 0.9 + 0.1 * x.var((0, 2, 3), ddof=1))
    assert layer.num_batches_tracked.item() == 1


def test_batchnorm_outside_of_training_uses_the_running_statistics():
    layer, x = BatchNorm(3), random(4, 3, 5)
    layer.running_mean.assign(Tensor([1.0, 2.0, 3.0])).realize()
    mean = np.array([1.0, 2.0, 3.0], np.float32).reshape(1, 3, 1)
    close(layer(Tensor(x)), (x - mean) / np.sqrt(1 + 1e-5))


def test_layernorm_and_its_relatives():
    x = random(2, 6, 4, 3)

    def normed(axes, source=x):
        mean, var = source.mean(axes, keepdims=True), source.var(axes, keepdims=True)
        return (source - mean) / np.sqrt(var + 1e-5)

    close(LayerNorm(3)(Tensor(x)), normed((-1,)))
    close(LayerNorm((4, 3))(Tensor(x)), normed((-2, -1)))
    close(LayerNorm2d(6)(Tensor(x)), normed((1,)))
    close(InstanceNorm(6)(Tensor(x)), normed((2, 3)))
    grouped = normed((2, 3, 4), x.reshape(2, 2, 3, 4, 3)).reshape(x.shape)
    close(GroupNorm(2, 6)(Tensor(x)), grouped)


def test_rmsnorm():
    x = random(3, 8)
    close(RMSNorm(8)(Tensor(x)), x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6))


def test_lstm_cell():
    cell, x, h, c = LSTMCell(3, 4), random(2, 3), random(2, 4, seed=1), random(2, 4, seed=2)
    gates = x @ cell.weight_ih.numpy().T + h @ cell.weight_hh.numpy().T
    i, f, g, o = np.split(gates, 4, axis=1)

    def sigmoid(v):
        return 1 / (1 + np.exp(-v))

    cell_state = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    hidden, state = cell(Tensor(x), (Tensor(h), Tensor(c)))
    close(state, cell_state)
    close(hidden, sigmoid(o) * np.tanh(cell_state))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Linear(0, 3), "at least 1"),
        (lambda: Conv2d(3, 4, 3, groups=2), "do not divide"),
        (lambda: Conv2d(3, 4, (3, 3, 3)), "are not 2 sizes"),
        (lambda: Conv2d(3, 4, 3, padding="full"), "padding 'full'"),
        (lambda: GroupNorm(4, 6), "do not divide 6"),
        (lambda: BatchNorm(3)(Tensor.ones(1, 4, 2)), "axis 1"),
        (lambda: LayerNorm(5)(Tensor.ones(1, 4)), "last axes"),
        (lambda: Embedding(5, 2)(Tensor([1.0])), "integer"),
    ],
)
def test_misuse_says_what_is_wrong(build, message):
    with pytest.raises(LayerError, match=message):
        build()
