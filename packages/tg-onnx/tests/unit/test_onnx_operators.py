"""Operators agree with the reference implementation of the onnx package."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from tg_onnx import (
    ModelFormatError,
    ModelInputError,
    OnnxRunner,
    OperatorError,
    UnsupportedOperatorError,
)

RNG = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def model_of(operator, inputs, opset, outputs=1, **attributes):
    """A model of one node; arrays marked constant become initializers."""
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(operator, names, results, name="the node", **attributes)
    constants = [
        numpy_helper.from_array(x.array, n)
        for n, x in zip(names, inputs, strict=True)
        if isinstance(x, Constant)
    ]
    declared = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for n, x in zip(names, inputs, strict=True)
        if isinstance(x, np.ndarray)
    ]
    any_shape = [helper.make_tensor_value_info(r, TensorProto.UNDEFINED, None) for r in results]
    graph = helper.make_graph([node], "test", declared, any_shape, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


class Constant:
    def __init__(self, values, dtype=np.int64):
        self.array = np.asarray(values, dtype)


def check(operator, *inputs, opset=17, outputs=1, tolerance=1e-5, **attributes):
    model = model_of(operator, inputs, opset, outputs, **attributes)
    given = {f"x{i}": x for i, x in enumerate(inputs) if isinstance(x, np.ndarray)}
    expected = ReferenceEvaluator(model).run(None, given)
    found = OnnxRunner(model.SerializeToString())(given)
    for reference, ours in zip(expected, found.values(), strict=True):
        assert ours.numpy().dtype == reference.dtype
        np.testing.assert_allclose(ours.numpy(), reference, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("operator", ["Add", "Sub", "Mul", "Div", "Max", "Min"])
def test_arithmetic_broadcasts(operator):
    check(operator, floats(2, 3, 4), floats(3, 1))


@pytest.mark.parametrize(
    "operator", ["Abs", "Exp", "Neg", "Relu", "Sigmoid", "Tanh", "Floor", "Ceil", "Erf", "Sign"]
)
def test_functions(operator):
    check(operator, floats(3, 5))


def test_integer_division_truncates():
    check("Div", np.array([7, -7, 7], np.int32), np.array([2, 2, -2], np.int32))


@pytest.mark.parametrize("fmod", [0, 1])
def test_mod(fmod):
    check("Mod", np.array([7, -7, 7], np.int32), np.array([3, 3, -3], np.int32), fmod=fmod)


def test_clip_in_both_spellings():
    check("Clip", floats(4), opset=6, min=-0.5, max=0.5)
    check("Clip", floats(4), Constant(-0.5, np.float32), None, opset=13)


def test_shapes():
    x = floats(2, 3, 4)
    check("Reshape", x, Constant([0, -1]))
    check("Transpose", x, perm=[2, 0, 1])
    check("Flatten", x, axis=2)
    check("Unsqueeze", x, Constant([0, -1]))
    check("Squeeze", floats(1, 3, 1), Constant([0]))
    check("Expand", floats(3, 1), Constant([2, 1, 4]))
    check("Concat", x, floats(2, 1, 4), axis=1)
    check("Split", x, Constant([1, 2]), outputs=2, axis=1)
    check("Slice", x, Constant([2, 1]), Constant([-5, 3]), Constant([1, 2]), Constant([-1, 1]))
    check("Pad", x, Constant([0, 1, 0, 0, 0, 2]), Constant(1.5, np.float32))
    check("Pad", x, Constant([0, 1, 0, 0, 0, 2]), mode="reflect")
    check("Tile", x, Constant([1, 2, 1]))
    check("DepthToSpace", floats(1, 8, 2, 3), blocksize=2)
    check("Trilu", floats(4, 4), Constant(1))


def test_gathers():
    x = floats(3, 4)
    check("Gather", x, np.array([[0, -1], [2, 1]], np.int64), axis=1)
    check("GatherElements", x, np.array([[0, -1, 2, 1]], np.int64), axis=0)
    check("OneHot", np.array([0, 2, -1], np.int64), Constant(4), np.array([0, 5], np.float32))


@pytest.mark.parametrize("keepdims", [0, 1])
def test_reductions(keepdims):
    x = floats(2, 3, 4)
    check("ReduceSum", x, Constant([1]), keepdims=keepdims)
    check("ReduceMean", x, opset=17, axes=[0, 2], keepdims=keepdims)
    check("ReduceMax", x, opset=17, axes=[-1], keepdims=keepdims)
    check("ReduceL2", x, opset=17, axes=[1], keepdims=keepdims)
    check("ArgMax", x, axis=1, keepdims=keepdims)
    check("ArgMin", x, axis=2, keepdims=keepdims, select_last_index=1)


def test_products():
    check("MatMul", floats(2, 3, 4), floats(4, 5))
    check("Gemm", floats(4, 3), floats(5, 4), floats(5), transA=1, transB=1, alpha=0.5, beta=2.0)
    check("Einsum", floats(2, 3), floats(3, 4), equation="ij,jk->ki")


def test_convolutions():
    x = floats(1, 4, 7, 8)
    check("Conv", x, floats(6, 4, 3, 3), floats(6), pads=[1, 0, 1, 2], strides=[2, 1])
    check("Conv", x, floats(4, 2, 3, 3), group=2, dilations=[2, 2])
    check("Conv", x, floats(4, 4, 3, 2), auto_pad="SAME_UPPER", strides=[2, 2])
    check("ConvTranspose", x, floats(4, 3, 3, 3), strides=[2, 2], output_padding=[1, 1])
    check("ConvTranspose", x, floats(4, 3, 3, 3), strides=[2, 2], pads=[1, 0, 1, 2])


def test_pools_and_norms():
    x = floats(1, 4, 6, 7)
    check("MaxPool", x, kernel_shape=[2, 3], strides=[2, 2], pads=[0, 1, 0, 1])
    check("AveragePool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
    check("AveragePool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    check("GlobalAveragePool", x)
    check("BatchNormalization", x, floats(4), floats(4), floats(4), np.abs(floats(4)))
    check("LayerNormalization", x, floats(7), floats(7), tolerance=1e-4)
    check("Softmax", x, axis=1)


def test_softmax_before_opset_13_takes_all_axes_from_one_on():
    x = floats(2, 3, 4)
    runner = OnnxRunner(model_of("Softmax", [x], 11, axis=1).SerializeToString())
    e = np.exp(x)
    expected = e / e.sum(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(runner({"x0": x})["y0"].numpy(), expected, rtol=1e-5)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_resize(mode):
    x = floats(1, 1, 4, 5)
    check("Resize", x, None, Constant([1, 1, 2, 3], np.float32), mode=mode, tolerance=1e-4)
    check("Resize", x, None, None, Constant([1, 1, 7, 3]), mode=mode, tolerance=1e-4)


def test_an_unknown_operator_is_named_before_anything_runs():
    node = helper.make_node("Frobnicate", ["x"], ["y"], name="odd", domain="com.example")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])
    model = helper.make_model(
        helper.make_graph([node], "g", [x], [y]),
        opset_imports=[helper.make_opsetid("com.example", 3)],
    )
    with pytest.raises(UnsupportedOperatorError) as caught:
        OnnxRunner(model.SerializeToString())
    assert "Frobnicate (domain com.example, opset 3) of node 'odd'" in str(caught.value)


def test_wrong_inputs_are_named():
    runner = OnnxRunner(model_of("Relu", [floats(2, 3)], 17).SerializeToString())
    with pytest.raises(ModelInputError, match="missing"):
        runner({})
    with pytest.raises(ModelInputError, match=r"shape \(3, 2\)"):
        runner({"x0": floats(3, 2)})
    with pytest.raises(ModelInputError, match="dtype"):
        runner({"x0": floats(2, 3).astype(np.float64)})
    with pytest.raises(ModelInputError, match="no such input"):
        runner({"x0": floats(2, 3), "z": floats(1)})


def test_a_node_that_its_inputs_do_not_fit_is_named():
    runner = OnnxRunner(model_of("MatMul", [floats(2, 3), floats(4, 5)], 17).SerializeToString())
    with pytest.raises(OperatorError, match=r"node 'the node': MatMul on .*\(2, 3\).*\(4, 5\)"):
        runner({"x0": floats(2, 3), "x1": floats(4, 5)})


@pytest.mark.parametrize("data", [b"", b"not a model", b"\x08"], ids=["empty", "text", "cut"])
def test_bytes_that_are_no_model_are_refused(data):
    with pytest.raises(ModelFormatError, match="no valid ONNX model"):
        OnnxRunner(data)


def test_a_file_that_is_not_there_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        OnnxRunner(tmp_path / "none.onnx")
