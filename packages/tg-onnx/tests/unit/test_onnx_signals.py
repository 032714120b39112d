"""Fourier transforms, running products, reversed and written sequences: beside onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_one_node import check_node, one_node
from tg_onnx import OnnxRunner
from tg_tensor import Tensor

FLOATS = [np.float32, np.float64]


def number(value, dtype=np.int64):
    return np.array(value, dtype)


@pytest.mark.parametrize("seed", range(12))
def test_dft(seed):
    rng = np.random.default_rng(seed)
    inverse, onesided = [(0, 0), (0, 1), (1, 0), (1, 1)][seed % 4]
    parts = {(0, 1): 1, (1, 1): 2}.get((inverse, onesided), 1 + seed // 4 % 2)
    x = rng.standard_normal((2, 7, 6, parts)).astype(FLOATS[seed % 2])
    length = number(int(rng.integers(3, 13))) if seed % 3 else None
    how = {"inverse": inverse, "onesided": onesided, "by_reference": onesided and inverse}
    axis = int(rng.integers(1, 3))
    check_node("DFT", [x, length], 17, constants=(1,), axis=axis, **how)
    check_node("DFT", [x, length, number(axis - 4)], 20, constants=(1, 2), **how)


@pytest.mark.parametrize("onesided", [0, 1])
@pytest.mark.parametrize("given", ["window", "length", "both"])
def test_stft(given, onesided):
    rng = np.random.default_rng(onesided)
    x = rng.standard_normal((2, 25, 1)).astype(FLOATS[onesided])
    window = None if given == "length" else rng.uniform(0, 1, 8).astype(x.dtype)
    length = None if given == "window" else number(8)
    inputs = [x, number(3), window, length]
    check_node("STFT", inputs, 17, constants=(1, 3), onesided=onesided)
    if not onesided:
        pairs = rng.standard_normal((1, 20, 2)).astype(np.float32)
        check_node("STFT", [pairs, number(5), None, number(10)], 17, constants=(1, 3), onesided=0)


@pytest.mark.parametrize("bins", [1, 8, 20])
def test_mel_weight_matrix(bins):
    edges = [number(20.5, np.float32), number(3800, np.float32)]
    inputs = [number(bins), number(64), number(8000), *edges]
    check_node("MelWeightMatrix", inputs, 17, constants=range(5))
    check_node("MelWeightMatrix", inputs, 17, constants=range(5), output_datatype=11)


@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.float16])
def test_cumulative_product(dtype, exclusive, reverse):
    x = (np.random.default_rng(0).standard_normal((2, 3, 4)) * 2).astype(dtype)
    for axis in (0, -1):
        inputs = [x, number(axis, np.int32)]
        how = {"exclusive": exclusive, "reverse": reverse}
        check_node("CumProd", inputs, 26, constants=(1,), by_reference=True, **how)


@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (2, 3, 5, 5)])
def test_determinant(shape):
    x = np.random.default_rng(len(shape)).standard_normal(shape)
    check_node("Det", [x.astype(np.float32)], 11, loose=5)
    check_node("Det", [x], 22)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_, np.float16])
def test_reverse_sequence(dtype):
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((4, 5, 2)) * 3).astype(dtype)
    check_node("ReverseSequence", [x, np.array([1, 4, 2, 3, 4])], 10)
    check_node("ReverseSequence", [x, np.array([5, 1, 2, 4])], 10, batch_axis=0, time_axis=1)


@pytest.mark.parametrize("mode", ["linear", "circular"])
def test_tensor_scatter(mode):
    rng = np.random.default_rng(0)
    past = rng.standard_normal((2, 3, 6, 4)).astype(np.float32)
    update = rng.standard_normal((2, 3, 2, 4)).astype(np.float32)
    first = np.array([3, 5 if mode == "circular" else 4])
    check_node("TensorScatter", [past, update, first], 24, mode=mode)
    check_node("TensorScatter", [past, update], 24, mode=mode)
    inputs = [past[:, 0], update[:, 0], first]
    check_node("TensorScatter", inputs, 24, mode=mode, axis=1)


def test_a_spectrum_is_differentiable_and_replayed_for_each_length():
    rng = np.random.default_rng(0)
    window = rng.uniform(0, 1, 8).astype(np.float32)
    x = rng.standard_normal((1, 24, 1)).astype(np.float32)
    model = one_node("STFT", [x, number(4), window], 17, constants=(1, 2))
    runner = OnnxRunner(model.SerializeToString())
    for length in (24, 24, 24, 16, 16, 24):
        found = runner({"x0": x[:, :length]})["y0"].numpy()
        frames = np.stack([x[0, i : i + 8, 0] * window for i in range(0, length - 7, 4)])
        expected = np.fft.rfft(frames)
        np.testing.assert_allclose(found[0, ..., 0], expected.real, atol=1e-4)
        np.testing.assert_allclose(found[0, ..., 1], expected.imag, atol=1e-4)
    signal = Tensor(x, requires_grad=True)
    runner({"x0": signal})["y0"][..., 0].sum().backward()
    assert signal.grad is not None
    step = np.zeros_like(x)
    step[0, 8] = 1e-2
    sums = [runner({"x0": x + s * step})["y0"].numpy()[..., 0].sum() for s in (-1, 1)]
    np.testing.assert_allclose(signal.grad.numpy()[0, 8, 0], (sums[1] - sums[0]) / 2e-2, rtol=1e-2)
