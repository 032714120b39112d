"""Powers by small constants become products, and nothing else does."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from tg_onnx import OnnxRunner


def model_of(exponent, *, as_node=False, x_kind=TensorProto.FLOAT):
    constants = [] if as_node else [numpy_helper.from_array(exponent, "e")]
    made = [helper.make_node("Constant", [], ["e"], value=numpy_helper.from_array(exponent))]
    nodes = [*(made if as_node else []), helper.make_node("Pow", ["x", "e"], ["y"])]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", x_kind, None)],
        [helper.make_tensor_value_info("y", x_kind, None)],
        constants,
    )
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()


@pytest.mark.parametrize("as_node", [False, True])
@pytest.mark.parametrize(
    ("exponent", "products"),
    [
        (np.float32(2), 1),
        (np.int64(3), 2),
        (np.float32(2.5), 0),
        (np.float32(1), 0),
        (np.float32(4), 0),
        (np.full((2, 1, 1), 2, np.float32), 0),
    ],
)
def test_powers(exponent, products, as_node):
    x = np.abs(np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32))
    runner = OnnxRunner(model_of(np.asarray(exponent), as_node=as_node))
    found = runner({"x": x})["y"]
    expected = x ** np.asarray(exponent, np.float32)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5)
    counts = Counter(node.operator for node in runner.plan.graph.nodes)
    assert (counts["Mul"], counts["Pow"]) == (products, 0 if products else 1)


def test_whole_numbers_and_negative_ones():
    runner = OnnxRunner(model_of(np.asarray(3, np.int64), x_kind=TensorProto.INT32))
    found = runner({"x": np.array([-2, 0, 5], np.int32)})["y"]
    assert found.dtype.name == "int"
    assert found.tolist() == [-8, 0, 125]
