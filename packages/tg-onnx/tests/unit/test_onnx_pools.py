"""Pools in all forms, BatchNormalization and Dropout in training, beside onnxruntime."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from onnx_one_node import check_node, one_node
from tg_onnx import OnnxRunner
from tg_tensor import Tensor

OPSETS = {"MaxPool": [10, 11, 12, 22], "AveragePool": [10, 11, 19, 22], "LpPool": [11, 18, 22]}
# the opset from which on there are dilations and ceil_mode
DILATED = {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}
CEILED = {"MaxPool": 10, "AveragePool": 10, "LpPool": 18}


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("operator", OPSETS)
def test_pools(operator, seed):
    rng = np.random.default_rng(seed)
    opset, rank = int(rng.choice(OPSETS[operator])), int(rng.integers(1, 4))
    dtypes = [np.float32, np.float32, np.float16, np.float64]
    if operator == "MaxPool" and opset >= 12:
        dtypes += [np.int8, np.uint8]
    dtype = dtypes[seed % len(dtypes)]
    kernel = [int(n) for n in rng.integers(1, 4, rank)]
    x = (rng.standard_normal((2, 2, *rng.integers(5, 9, rank))) * 5).astype(dtype)
    how = {"kernel_shape": kernel, "strides": [int(n) for n in rng.integers(1, 4, rank)]}
    auto = [None, None, "SAME_UPPER", "SAME_LOWER", "VALID"][int(rng.integers(5))]
    if auto is not None:
        how["auto_pad"] = auto
    else:
        how["pads"] = [int(rng.integers(0, kernel[i % rank])) for i in range(2 * rank)]
        if opset >= CEILED[operator]:
            how["ceil_mode"] = int(rng.integers(2))
        if opset >= DILATED[operator]:
            how["dilations"] = [int(n) for n in rng.integers(1, 3, rank)]
    outputs = 1
    if operator == "MaxPool":
        outputs = int(rng.integers(1, 3))
        how["storage_order"] = int(rng.integers(2)) if outputs == 2 else 0
    elif operator == "AveragePool":
        how["count_include_pad"] = int(rng.integers(2))
    else:
        how["p"] = int(rng.integers(1, 4))
    check_node(operator, [x], opset, outputs, **how)


def test_pads_as_large_as_the_window():
    x = np.random.default_rng(0).standard_normal((1, 1, 5, 5)).astype(np.float32)
    how = {"kernel_shape": [3, 3], "pads": [2, 2, 2, 2]}
    check_node("MaxPool", [x], 12, 2, **how)
    check_node("AveragePool", [x], 11, **how)
    check_node("LpPool", [x], 11, **how)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_global_lp_pool(p):
    pytest.importorskip("onnxruntime")
    x = np.random.default_rng(p).standard_normal((2, 3, 4, 5)).astype(np.float32)
    check_node("GlobalLpPool", [x], 2, p=p)


def test_max_unpool():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1, 2, 3, 3)).astype(np.float32)
    places = np.stack([rng.permutation(36)[:9] + 36 * c for c in range(2)]).reshape(x.shape)
    how = {"kernel_shape": [2, 2], "strides": [2, 2]}
    check_node("MaxUnpool", [x, places], 11, **how)
    shape = np.array([1, 2, 7, 8])
    check_node("MaxUnpool", [x, places, shape], 11, constants=(2,), by_reference=True, **how)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("training", [0, 1])
def test_batch_normalization(dtype, training):
    rng = np.random.default_rng(training)
    x = rng.standard_normal((3, 4, 2, 5)).astype(dtype)
    scale, bias, mean = (rng.standard_normal(4).astype(dtype) for _ in range(3))
    inputs = [x, scale, bias, mean, rng.uniform(0.5, 2, 4).astype(dtype)]
    how = {"training_mode": training, "momentum": 0.7}
    outputs = 3 if training else 1
    check_node("BatchNormalization", inputs, 15, outputs, by_reference=True, loose=4, **how)


def test_batch_normalization_in_training_before_opset_14_gives_five_outputs():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((3, 4, 5)).astype(np.float32)
    scale, bias, mean, var = (rng.uniform(0.5, 2, 4).astype(np.float32) for _ in range(4))
    model = one_node("BatchNormalization", [x, scale, bias, mean, var], 9, 5)
    given = {f"x{i}": v for i, v in enumerate((x, scale, bias, mean, var))}
    y, *running, saved_mean, saved_var = (
        v.numpy() for v in OnnxRunner(model.SerializeToString())(given).values()
    )
    own_mean, own_var = x.mean((0, 2)), x.var((0, 2))
    by_channel = [v.reshape(1, 4, 1) for v in (own_mean, own_var, scale, bias)]
    expected = (x - by_channel[0]) / np.sqrt(by_channel[1] + 1e-5) * by_channel[2] + by_channel[3]
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(running[0], mean * 0.9 + own_mean * 0.1, rtol=1e-5)
    np.testing.assert_allclose(running[1], var * 0.9 + own_var * 0.1, rtol=1e-5)
    np.testing.assert_allclose(saved_mean, own_mean, atol=1e-6)
    np.testing.assert_allclose(saved_var, own_var, rtol=1e-5)


@pytest.mark.parametrize("seed", [None, 7])
def test_dropout_in_training(seed):
    x = np.ones((40, 50), np.float32)
    how = {} if seed is None else {"seed": seed}
    inputs = [x, np.array(0.3, np.float32), np.array(True)]
    model = one_node("Dropout", inputs, 13, 2, constants=(1, 2), **how)
    runner = OnnxRunner(model.SerializeToString())
    Tensor.manual_seed(3)
    masks = []
    for _ in range(4):
        y, kept = (value.numpy() for value in runner({"x0": x}).values())
        np.testing.assert_allclose(y, kept / 0.7, rtol=1e-6)
        assert abs(kept.mean() - 0.7) < 0.05
        masks.append(kept)
    same = [np.array_equal(a, b) for a, b in itertools.pairwise(masks)]
    assert same == [seed is not None] * 3
