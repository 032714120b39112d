"""Graphs inside of graphs, functions, sparse constants, and their malformed forms."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper
from tg_onnx import ModelFormatError, OnnxRunner, OperatorError, UnsupportedOperatorError


def floats(name, shape=(2,)):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def model_of(nodes, inputs, outputs, **fields):
    graph = helper.make_graph(nodes, "main", inputs, outputs)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=opsets, **fields).SerializeToString()


def branch(operator, *inputs):
    node = helper.make_node(operator, inputs, ["result"])
    return helper.make_graph([node], operator, [], [floats("result")])


def if_model(then_branch, else_branch):
    node = helper.make_node(
        "If", ["condition"], ["y"], then_branch=then_branch, else_branch=else_branch
    )
    condition = helper.make_tensor_value_info("condition", TensorProto.BOOL, [])
    return model_of([node], [condition, floats("x")], [floats("y")])


@pytest.mark.parametrize(("condition", "expected"), [(True, [-1, 2]), (False, [1, 2])])
def test_a_branch_uses_values_around_it(condition, expected):
    runner = OnnxRunner(if_model(branch("Neg", "x"), branch("Abs", "x")))
    x = np.array([1, -2], np.float32)
    found = runner({"condition": np.array(condition), "x": x})["y"]
    np.testing.assert_array_equal(found.numpy(), expected)


def test_an_unknown_operator_in_a_branch_is_named_before_anything_runs():
    with pytest.raises(UnsupportedOperatorError, match="Nothing"):
        OnnxRunner(if_model(branch("Neg", "x"), branch("Nothing", "x")))


def test_a_branch_that_uses_an_unknown_value_is_refused():
    with pytest.raises(ModelFormatError, match="nowhere"):
        OnnxRunner(if_model(branch("Neg", "x"), branch("Abs", "nowhere")))


def own_function(name, *nodes):
    return helper.make_function("own", name, ["a"], ["b"], nodes, [helper.make_opsetid("", 18)])


def test_a_function_of_the_model_is_expanded():
    double = own_function("Double", helper.make_node("Add", ["a", "a"], ["b"]))
    call = helper.make_node("Double", ["x"], ["y"], domain="own")
    runner = OnnxRunner(model_of([call], [floats("x")], [floats("y")], functions=[double]))
    found = runner({"x": np.array([1, -2], np.float32)})["y"]
    np.testing.assert_array_equal(found.numpy(), [2, -4])


def test_a_function_that_calls_itself_is_refused():
    endless = own_function("Endless", helper.make_node("Endless", ["a"], ["b"], domain="own"))
    call = helper.make_node("Endless", ["x"], ["y"], domain="own")
    with pytest.raises(ModelFormatError, match="call themselves"):
        OnnxRunner(model_of([call], [floats("x")], [floats("y")], functions=[endless]))


def test_an_operator_defined_by_others_keeps_its_default_attributes():
    node = helper.make_node("MeanVarianceNormalization", ["x"], ["y"])
    x = np.random.default_rng(0).standard_normal((2, 3, 4, 5)).astype(np.float32)
    runner = OnnxRunner(model_of([node], [floats("x", x.shape)], [floats("y", x.shape)]))
    axes = (0, 2, 3)
    expected = (x - x.mean(axes, keepdims=True)) / x.std(axes, keepdims=True)
    np.testing.assert_allclose(runner({"x": x})["y"].numpy(), expected, rtol=1e-4, atol=1e-5)


def test_a_missing_optional_value_is_named():
    nodes = [
        helper.make_node("Optional", [], ["o"], type=floats("t").type),
        helper.make_node("OptionalGetElement", ["o"], ["y"]),
    ]
    with pytest.raises(OperatorError, match="no value"):
        OnnxRunner(model_of(nodes, [floats("x")], [floats("y")]))({"x": np.zeros(2, np.float32)})
