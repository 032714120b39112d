"""Casts between numbers and strings: as onnxruntime writes and reads them."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper
from tg_onnx import OnnxRunner
from tg_onnx.errors import OperatorError

FLOATS = [1.5, -2, np.nan, np.inf, -np.inf, 1e-7, 123456789.0, 0.1, 1e20, -0.0]
WRITTEN = ["1.5", "-2", "NaN", "INF", "-INF", "1e-07", "1.2345679e+08", "0.1", "1e+20", "-0"]


def cast(x, source, target):
    node = helper.make_node("Cast", ["x"], ["y"], name="cast", to=target)
    inputs = [helper.make_tensor_value_info("x", source, list(x.shape))]
    outputs = [helper.make_tensor_value_info("y", target, list(x.shape))]
    graph = helper.make_graph([node], "g", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    result = OnnxRunner(model.SerializeToString())({"x": x})["y"]
    return result.tolist()


@pytest.mark.parametrize(
    ("numbers", "source", "words"),
    [
        (np.array(FLOATS, np.float32), TensorProto.FLOAT, WRITTEN),
        (np.array([0.1, 3.0], np.float64), TensorProto.DOUBLE, ["0.1", "3"]),
        (np.array([[2**62, -3]], np.int64), TensorProto.INT64, [["4611686018427387904", "-3"]]),
        (np.array([True, False]), TensorProto.BOOL, ["1", "0"]),
    ],
    ids=["float", "double", "int64", "bool"],
)
def test_numbers_are_written(numbers, source, words):
    assert cast(numbers, source, TensorProto.STRING) == words


def test_numbers_are_read():
    words = np.array(["1.5", "-2", "NaN", "INF", "-INF", " 1e-7"], object)
    read = cast(words, TensorProto.STRING, TensorProto.FLOAT)
    np.testing.assert_array_equal(
        np.float32(read), np.float32([1.5, -2, np.nan, np.inf, -np.inf, 1e-7])
    )
    assert cast(np.array(["7", "-2"], object), TensorProto.STRING, TensorProto.INT32) == [7, -2]


@pytest.mark.parametrize(
    ("word", "target"),
    [("abc", TensorProto.FLOAT), ("1.5", TensorProto.INT32), ("300", TensorProto.INT8)],
)
def test_other_words_are_refused(word, target):
    with pytest.raises(OperatorError, match="node 'cast': Cast"):
        cast(np.array([word], object), TensorProto.STRING, target)
