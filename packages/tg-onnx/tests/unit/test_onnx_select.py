"""Operators whose results are as long as their data say, and random ones, beside onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto
from onnx_one_node import check_node, one_node
from tg_onnx import OnnxRunner
from tg_tensor import Tensor


@pytest.mark.parametrize("seed", range(12))
def test_non_max_suppression(seed):
    rng = np.random.default_rng(seed)
    batches, kinds, count = rng.integers(1, 4), rng.integers(1, 4), rng.integers(0, 20)
    boxes = rng.random((batches, count, 4)).astype(np.float32)
    if seed % 3 == 0:
        boxes = (np.round(boxes * 4) / 4).astype(np.float32)
    # scores that are equal, too
    scores = np.round(rng.random((batches, kinds, count)) * 5).astype(np.float32)
    most = np.array([rng.integers(0, 6)], np.int64)
    overlap = np.array([rng.choice([0, 0.3, 0.5, 1])], np.float32)
    least = np.array([rng.random() * 3], np.float32) if seed % 2 else None
    inputs = [boxes, scores, most, overlap, least]
    by_center = int(seed % 4 == 0)
    check_node("NonMaxSuppression", inputs, 11, constants=(2, 3), center_point_box=by_center)


def test_non_max_suppression_of_many_boxes():
    rng = np.random.default_rng(0)
    low = rng.random((2, 300, 2))
    boxes = np.concatenate([low, low + rng.random((2, 300, 2)) * 0.2], -1).astype(np.float32)
    scores = rng.random((2, 3, 300)).astype(np.float32)
    overlap = np.array([0.4], np.float32)
    for most in (70, 1000):
        check_node("NonMaxSuppression", [boxes, scores, np.array([most]), overlap], 11)


def test_non_max_suppression_of_nothing_and_without_thresholds():
    boxes, scores = np.zeros((1, 2, 4), np.float32), np.ones((1, 1, 2), np.float32)
    check_node("NonMaxSuppression", [boxes, scores], 11)
    check_node("NonMaxSuppression", [boxes, scores, np.array([3])], 11)


@pytest.mark.parametrize("shape", [(), (0,), (4,), (2, 3), (2, 0, 3)])
def test_non_zero(shape):
    x = np.random.default_rng(0).integers(-1, 2, shape)
    for dtype in (np.float32, np.int64, bool):
        check_node("NonZero", [np.asarray(x, dtype)], 13)


@pytest.mark.parametrize("is_sorted", [0, 1])
def test_unique(is_sorted):
    x = np.array([[2, 1, 1], [3, 4, 1], [2, 1, 1]], np.float32)
    for more in ({}, {"axis": 0}, {"axis": -1}):
        check_node("Unique", [x], 11, outputs=4, sorted=is_sorted, **more)


def test_compress_has_a_gradient():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    for more in ({}, {"axis": 0}, {"axis": -1}):
        check_node("Compress", [x, np.array([False, True, True])], 11, **more)
    runner = OnnxRunner(one_node("Compress", [x, np.array([True])], 11, axis=1))
    given = Tensor(x, requires_grad=True)
    runner({"x0": given, "x1": Tensor([False, True])})["y0"].sum().backward()
    assert given.grad.numpy().tolist() == [[0, 1, 0, 0]] * 3


def test_data_that_change_lengths_are_seen_at_each_call():
    runner = OnnxRunner(one_node("NonZero", [np.zeros(4, np.float32)], 13))
    for number in range(5):
        x = (np.arange(4) < number).astype(np.float32)
        assert runner({"x0": x})["y0"].numpy().tolist() == [list(range(number))]


def drawn(operator, inputs=(), calls=2, **attributes):
    runner = OnnxRunner(one_node(operator, list(inputs), 15, **attributes))
    feeds = {f"x{i}": x for i, x in enumerate(inputs)}
    return [runner(feeds)["y0"].numpy() for _ in range(calls)]


def test_a_seed_decides_what_is_drawn():
    x = np.full((40, 50), 0.5, np.float32)
    for operator, inputs, more in (
        ("RandomNormal", [], {"shape": [40, 50]}),
        ("RandomUniformLike", [x], {}),
        ("Bernoulli", [x], {}),
        ("Multinomial", [x], {"sample_size": 9}),
    ):
        one, two, three = drawn(operator, inputs, calls=3, **more)
        assert (one != two).any()
        assert (two != three).any()
        same, again = drawn(operator, inputs, seed=3.5, **more)
        assert (same == again).all()
        assert (same != drawn(operator, inputs, seed=4.0, **more)[0]).any()


def test_distributions():
    normal = drawn("RandomNormal", shape=[90, 90], mean=2.0, scale=3.0)[0]
    assert abs(normal.mean() - 2) < 0.2
    assert abs(normal.std() - 3) < 0.2
    uniform = drawn("RandomUniform", shape=[90, 90], low=-1.0, high=3.0)[0]
    assert uniform.min() >= -1
    assert uniform.max() < 3
    assert abs(uniform.mean() - 1) < 0.1
    chances = np.repeat(np.array([[0.0, 0.25, 1.0]], np.float32), 4000, 0)
    hits = drawn("Bernoulli", [chances], dtype=TensorProto.INT64)[0]
    assert hits.dtype == np.int64
    np.testing.assert_allclose(hits.mean(0), [0, 0.25, 1], atol=0.05)
    weights = np.log(np.array([[1, 2, 7]], np.float32))
    columns = drawn("Multinomial", [weights], sample_size=4000)[0]
    assert (columns.dtype, columns.shape) == (np.int32, (1, 4000))
    np.testing.assert_allclose(np.bincount(columns[0]) / 4000, [0.1, 0.2, 0.7], atol=0.05)
