"""Models in QDQ form: products of codes in place of products of floats, beside onnxruntime."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_exact import exact_session
from tg_onnx import OnnxRunner

onnxruntime = pytest.importorskip("onnxruntime")

KINDS = {"uint8": np.uint8, "int8": np.int8}


class Model:
    """A model under construction: nodes with constants beside them."""

    def __init__(self, shape):
        self.shape = shape
        self.nodes = []
        self.constants = []

    def constant(self, array):
        name = f"k{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def add(self, operator, *inputs, **attributes):
        names = [self.constant(i) if isinstance(i, np.ndarray | np.generic) else i for i in inputs]
        output = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, names, [output], **attributes))
        return output

    def quantized(self, name, scale, zero, kind):
        """Q, then DQ."""
        parameters = [self.constant(np.float32(scale)), self.constant(KINDS[kind](zero))]
        codes = self.add("QuantizeLinear", name, *parameters)
        return self.add("DequantizeLinear", codes, *parameters)

    def weight(self, array, scale, zero, kind, axis=None):
        limits = np.iinfo(KINDS[kind])
        shape = [-1 if i == axis else 1 for i in range(array.ndim)]
        whole = np.rint(array / scale.reshape(shape)) + zero.reshape(shape)
        codes = np.clip(whole, limits.min, limits.max).astype(KINDS[kind])
        attributes = {} if axis is None else {"axis": axis}
        return self.add("DequantizeLinear", codes, scale, zero.astype(KINDS[kind]), **attributes)

    def finish(self, output, *more):
        graph = helper.make_graph(
            self.nodes,
            "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)],
            [helper.make_empty_tensor_value_info(name) for name in (output, *more)],
            self.constants,
        )
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
        return model.SerializeToString()


def check(model, x, unit, expected_operators):
    """The result is onnxruntime's up to one quantum, from the operators expected."""
    session = exact_session(model)
    (expected,) = session.run(None, {"x": x})
    runner = OnnxRunner(model)
    for _ in range(3):
        (found,) = runner({"x": x}).values()
        assert np.abs(found.numpy() - expected).max() <= unit * 1.001
    counts = Counter(node.operator for node in runner.plan.graph.nodes)
    for operator, count in expected_operators.items():
        assert counts[operator] == count, counts


def scales_of(rng, count, kind):
    scale = (0.004 + 0.004 * rng.random(count)).astype(np.float32)
    zero = np.zeros(count) if kind == "int8" else np.full(count, 128.0)
    return (scale[0], zero[0]) if count == 1 else (scale, zero)


@pytest.mark.parametrize("per_channel", [True, False])
@pytest.mark.parametrize("x_kind", ["uint8", "int8"])
@pytest.mark.parametrize("activation", [None, "Relu", "Clip"])
def test_convolutions(per_channel, x_kind, activation):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((2, 8, 9, 9)).astype(np.float32)
    model = Model(x.shape)
    scale, zero = scales_of(rng, 12 if per_channel else 1, "int8")
    weight = rng.standard_normal((12, 8, 3, 3)).astype(np.float32) * 0.2
    axis = 0 if per_channel else None
    w = model.weight(weight, np.asarray(scale), np.asarray(zero), "int8", axis)
    unit = np.asarray(scale * np.float32(0.03), np.float32)
    bias = rng.integers(-3000, 3000, 12).astype(np.int32)
    attributes = {"axis": 0} if per_channel else {}
    b = model.add("DequantizeLinear", bias, unit, **attributes)
    entering = model.quantized("x", 0.03, 120 if x_kind == "uint8" else -5, x_kind)
    y = model.add("Conv", entering, w, b, pads=[1, 1, 1, 1], strides=[2, 2])
    if activation == "Relu":
        y = model.add("Relu", y)
    elif activation == "Clip":
        y = model.add("Clip", y, np.array(0, np.float32), np.array(60, np.float32))
    low = 0 if x_kind == "uint8" else -128
    y = model.quantized(y, 0.05, low if activation else low + 100, x_kind)
    operators = {"QLinearConv": 1, "Conv": 0, "Relu": 0, "Clip": 0}
    check(model.finish(y), x, 0.05, operators)


def test_a_convolution_whose_result_stays_a_float():
    rng = np.random.default_rng(2)
    x = rng.standard_normal((1, 8, 7)).astype(np.float32)
    for bias in (None, "float", "whole"):
        model = Model(x.shape)
        weight = rng.standard_normal((5, 8, 3)).astype(np.float32) * 0.2
        scale = np.array(0.006, np.float32)
        inputs = [
            model.quantized("x", 0.03, 110, "uint8"),
            model.weight(weight, scale, np.array(128.0), "uint8"),
        ]
        if bias == "float":
            inputs.append(rng.standard_normal(5).astype(np.float32))
        elif bias == "whole":
            whole = rng.integers(-3000, 3000, 5).astype(np.int32)
            inputs.append(model.add("DequantizeLinear", whole, scale * np.float32(0.03)))
        y = model.add("Conv", *inputs, pads=[2, 0])
        check(model.finish(model.add("Tanh", y)), x, 1e-4, {"ConvInteger": 1, "Conv": 0})


@pytest.mark.parametrize("is_quantized", [True, False])
@pytest.mark.parametrize("per_channel", [True, False])
def test_products_of_matrices(is_quantized, per_channel):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((2, 5, 40)).astype(np.float32)
    model = Model(x.shape)
    scale, zero = scales_of(rng, 24 if per_channel else 1, "int8")
    weight = rng.standard_normal((40, 24)).astype(np.float32) * 0.2
    axis = 1 if per_channel else None
    w = model.weight(weight, np.asarray(scale), np.asarray(zero), "int8", axis)
    y = model.add("MatMul", model.quantized("x", 0.03, 128, "uint8"), w)
    operator = "QLinearMatMul" if is_quantized else "MatMulIntegerToFloat"
    y = model.quantized(y, 0.04, 120, "uint8") if is_quantized else model.add("Sigmoid", y)
    check(model.finish(y), x, 0.04 if is_quantized else 1e-4, {operator: 1, "MatMul": 0})


@pytest.mark.parametrize("is_quantized", [True, False])
@pytest.mark.parametrize("turned", [0, 1])
def test_gemm(is_quantized, turned):
    rng = np.random.default_rng(4)
    x = rng.standard_normal((5, 40)).astype(np.float32)
    model = Model(x.shape)
    scale = (0.004 + 0.004 * rng.random(24)).astype(np.float32)
    weight = rng.standard_normal((24, 40) if turned else (40, 24)).astype(np.float32) * 0.2
    w = model.weight(weight, scale, np.zeros(24), "int8", 1 - turned)
    # a bias of floats, which becomes whole numbers
    b = rng.standard_normal(24).astype(np.float32)
    y = model.add("Gemm", model.quantized("x", 0.03, 128, "uint8"), w, b, transB=turned)
    y = model.quantized(y, 0.04, 120, "uint8") if is_quantized else model.add("Sigmoid", y)
    check(model.finish(y), x, 0.04 if is_quantized else 1e-3, {"QGemm": 1, "Gemm": 0})


def test_a_weight_that_is_transposed_afterwards():
    rng = np.random.default_rng(8)
    x = rng.standard_normal((1, 8, 9, 9)).astype(np.float32)
    model = Model(x.shape)
    scale = (0.004 + 0.004 * rng.random(12)).astype(np.float32)
    weight = rng.standard_normal((3, 3, 8, 12)).astype(np.float32) * 0.2
    w = model.weight(weight, scale, np.zeros(12), "int8", 3)
    w = model.add("Transpose", w, perm=[3, 2, 0, 1])
    y = model.add("Conv", model.quantized("x", 0.03, 120, "uint8"), w)
    y = model.quantized(y, 0.05, 110, "uint8")
    check(model.finish(y), x, 0.05, {"QLinearConv": 1, "Transpose": 0})


def test_products_of_two_values_and_what_is_not_folded():
    rng = np.random.default_rng(5)
    x = rng.standard_normal((3, 6, 6)).astype(np.float32)
    model = Model(x.shape)
    left = model.quantized("x", 0.03, 128, "uint8")
    y = model.quantized(model.add("MatMul", left, left), 0.06, 100, "uint8")
    check(model.finish(y), x, 0.06, {"QLinearMatMul": 1})
    # a result that is used twice, and one operand that is a float
    model = Model(x.shape)
    left = model.quantized("x", 0.03, 128, "uint8")
    y = model.add("MatMul", left, "x")
    y = model.add("Add", model.quantized(y, 0.06, 100, "uint8"), y)
    check(model.finish(y), x, 0.06, {"MatMul": 1})


def test_what_the_model_gives_out_is_computed_as_it_is():
    """Values inside of a chain that are outputs too: the product of floats, or its codes."""
    rng = np.random.default_rng(6)
    x = rng.standard_normal((5, 40)).astype(np.float32)
    for shown in (0, 1):
        model = Model(x.shape)
        weight = rng.standard_normal((40, 24)).astype(np.float32) * 0.2
        w = model.weight(weight, np.array(0.006, np.float32), np.array(0.0), "int8")
        product = model.add("MatMul", model.quantized("x", 0.03, 128, "uint8"), w)
        y = model.quantized(product, 0.04, 120, "uint8")
        codes = f"v{len(model.nodes) - 2}"
        made = model.finish(y, (product, codes)[shown])
        session = exact_session(made)
        expected = session.run(None, {"x": x})
        runner = OnnxRunner(made)
        found = [value.numpy() for value in runner({"x": x}).values()]
        for one, other in zip(found, expected, strict=True):
            assert one.dtype == other.dtype
            assert np.abs(one.astype(np.float32) - other).max() <= (1e-4, 1)[shown]
        counts = Counter(node.operator for node in runner.plan.graph.nodes)
        assert counts["QLinearMatMul"] == shown


@pytest.mark.parametrize("element", ["INT4", "UINT4"])
def test_weights_of_4_bits(element):
    rng = np.random.default_rng(7)
    x = rng.standard_normal((3, 8)).astype(np.float32)
    low = -8 if element == "INT4" else 0
    codes = rng.integers(low, low + 16, (8, 6))
    kind = getattr(TensorProto, element)
    model = Model(x.shape)
    for name, values, shape in (("w", codes, (8, 6)), ("z", np.array([low + 7]), ())):
        model.constants.append(helper.make_tensor(name, kind, shape, values.reshape(-1)))
    scale = model.constant(np.float32(0.1))
    w = model.add("DequantizeLinear", "w", scale, "z", domain="com.microsoft")
    made = model.finish(model.add("MatMul", "x", w))
    options = onnxruntime.SessionOptions()
    # its optimizer would round x to 8 bits
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = exact_session(made, options)
    (expected,) = session.run(None, {"x": x})
    (found,) = OnnxRunner(made)({"x": x}).values()
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-5)
