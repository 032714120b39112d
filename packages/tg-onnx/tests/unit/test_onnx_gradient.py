"""The Gradient operator: derivatives inside of a model."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper
from tg_onnx import OnnxRunner
from tg_onnx.errors import UnsupportedOperatorError

DOMAIN = "ai.onnx.preview.training"
rng = np.random.default_rng(0)


def model(nodes, inputs, outputs):
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()]
    results = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs]
    graph = helper.make_graph(nodes, "g", infos, results)
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid(DOMAIN, 1)]
    made = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    return made.SerializeToString()


def gradient(inputs, outputs, **attributes):
    return helper.make_node("Gradient", inputs, outputs, domain=DOMAIN, **attributes)


def test_gradients_of_a_layer_in_every_call():
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Tanh", ["h"], ["t"]),
        helper.make_node("ReduceSum", ["t"], ["y"], keepdims=0),
        gradient(["w", "x"], ["dw"], xs=["w"], zs=["x"], y="y"),
        gradient(["h"], ["dh"], xs=["h"], y="y"),
    ]
    runner = OnnxRunner(model(nodes, {"x": (4, 3), "w": (3, 5)}, ["y", "dw", "dh"]))
    for _ in range(4):
        x, w = (rng.standard_normal(shape).astype(np.float32) for shape in ((4, 3), (3, 5)))
        found = runner({"x": x, "w": w})
        slope = 1 - np.tanh(x @ w) ** 2
        np.testing.assert_allclose(found["dh"].numpy(), slope, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(found["dw"].numpy(), x.T @ slope, rtol=1e-4, atol=1e-5)


def test_gradients_of_gradients():
    nodes = [
        helper.make_node("Mul", ["x", "x"], ["s"]),
        helper.make_node("Mul", ["s", "x"], ["y"]),
        gradient(["x"], ["first"], xs=["x"], y="y"),
        gradient(["x"], ["second"], xs=["x"], y="first"),
    ]
    runner = OnnxRunner(model(nodes, {"x": (3,)}, ["first", "second"]))
    x = np.array([1, -2, 3], np.float32)
    found = runner({"x": x})
    np.testing.assert_allclose(found["first"].numpy(), 3 * x**2)
    np.testing.assert_allclose(found["second"].numpy(), 6 * x)


def test_gradients_elsewhere_are_refused_when_the_model_is_loaded():
    nodes = [
        helper.make_node("Mul", ["x", "x"], ["y"]),
        gradient(["z"], ["dx"], xs=["x"], y="y"),
    ]
    with pytest.raises(UnsupportedOperatorError, match="the values that xs and zs name, x"):
        OnnxRunner(model(nodes, {"x": (3,), "z": (3,)}, ["dx"]))
