"""What users of ONNX runtimes report as wrong, as models of one node with the values they expect.

Each case is a symptom that was reported of some runtime: a corner that the text of an operator
decides, and an implementation easily misses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, ValueInfoProto, helper, numpy_helper
from tg_onnx import OnnxRunner

RNG = np.random.default_rng(29)
SMALLEST, LARGEST = -(2**63), 2**63 - 1


def floats(*values):
    return np.array(values, np.float32)


def drawn(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


@dataclass
class Case:
    """A node, its inputs and outputs; inputs whose places are in `fixed` are part of the model."""

    operator: str
    inputs: list[Any]
    wanted: Any
    attributes: dict[str, Any] = field(default_factory=dict)
    opset: int = 21
    fixed: tuple[int, ...] = ()
    tolerance: float = 1e-5


def model_of(case: Case, outputs: list[str]) -> bytes:
    given = {f"i{place}": value for place, value in enumerate(case.inputs)}
    names = ["" if value is None else name for name, value in given.items()]
    constants = [numpy_helper.from_array(case.inputs[p], f"i{p}") for p in case.fixed]
    inputs = [
        helper.make_tensor_value_info(
            name,
            helper.np_dtype_to_tensor_dtype(value.dtype),
            [f"{name}_{a}" for a in range(value.ndim)],
        )
        for place, (name, value) in enumerate(given.items())
        if value is not None and place not in case.fixed
    ]
    node = helper.make_node(case.operator, names, outputs, **case.attributes)
    results = [ValueInfoProto(name=name) for name in outputs]
    graph = helper.make_graph([node], "reported", inputs, results, constants)
    opsets = [helper.make_opsetid("", case.opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()


X20 = np.linspace(0, 1, 20, dtype=np.float32).reshape(1, 1, 1, 20)
LINE = np.arange(10, dtype=np.float32)
CUBE = drawn(2, 3, 4)
GRID = drawn(3, 4)
WIDE = np.abs(drawn(2, 3, 4, 5)) + 0.5
NARROW = np.abs(drawn(3, 4)) + 0.5
ALIGNED = NARROW.reshape(3, 4, 1)


def sliced(start, end, step, wanted):
    parts = [ints(value) for value in (start, end, 0, step)]
    return Case("Slice", [LINE, *parts], floats(*wanted), fixed=(1, 2, 3, 4))


CASES = {
    "slice back to but not with the first": sliced(9, 0, -3, [9, 6, 3]),
    "slice back away from its end": sliced(0, 5, -1, []),
    "slice back past the front": sliced(-1, SMALLEST, -4, [9, 5, 1]),
    "slice back from past the end": sliced(LARGEST, 7, -1, [9, 8]),
    "slice past the end": sliced(8, 2**31 - 1, 1, [8, 9]),
    "resize at ties toward the end": Case(
        "Resize",
        [X20, None, None, ints(1, 1, 1, 6)],
        X20[..., [1, 5, 8, 11, 15, 18]],
        {"mode": "nearest", "nearest_mode": "round_prefer_ceil"},
        fixed=(3,),
    ),
    "resize symmetric about the middle": Case(
        "Resize",
        [floats(100, 200), None, floats(1.3)],
        floats(111.53846, 188.46154),
        {"mode": "linear", "coordinate_transformation_mode": "half_pixel_symmetric"},
        fixed=(2,),
    ),
    "upsample of opset 1": Case(
        "Upsample",
        [drawn(1, 1, 2, 2)],
        None,
        {"width_scale": 2.0, "height_scale": 3.0},
        opset=6,
    ),
    "cast of what 8 bits cannot hold": Case(
        "Cast",
        [floats(300, np.nan, np.inf, -np.inf, 50, -50)],
        np.array([44, 0, 0, 0, 50, -50], np.int8),
        {"to": TensorProto.INT8},
    ),
    "sinh near the largest number": Case(
        "Sinh", [floats(88.85, 89.2, -88.95)], np.sinh(floats(88.85, 89.2, -88.95).astype(float))
    ),
    "softplus of little": Case("Softplus", [floats(-12.3392)], floats(4.37676e-6), tolerance=1e-10),
    "sum over no axes is all": Case(
        "ReduceSum", [CUBE, ints()], CUBE.sum(keepdims=True), fixed=(1,)
    ),
    "sum over no axes is nothing": Case(
        "ReduceSum", [CUBE], CUBE, {"noop_with_empty_axes": 1}, opset=18
    ),
    "squares are taken over no axes": Case(
        "ReduceSumSquare",
        [CUBE, ints()],
        CUBE**2,
        {"noop_with_empty_axes": 1},
        opset=18,
        fixed=(1,),
    ),
    "axes are an attribute before opset 18": Case(
        "ReduceL1", [CUBE], np.abs(CUBE).sum(1, keepdims=True), {"axes": [1]}, opset=13
    ),
    "the largest of nothing": Case(
        "ReduceMax", [np.zeros((2, 0), np.float32), ints(1)], floats([-np.inf], [-np.inf]), opset=20
    ),
    "logarithms of sums of much": Case(
        "ReduceLogSumExp", [floats([1000, 1000]), ints(1)], floats([1000 + np.log(2)]), fixed=(1,)
    ),
    "logarithms of sums of nothing": Case(
        "ReduceLogSumExp", [floats([-np.inf, -np.inf]), ints(1)], floats([-np.inf]), fixed=(1,)
    ),
    "whole numbers to negative powers": Case(
        "Pow",
        [np.array([2, 1, -1, -1], np.int32), np.array([-1, -2, -3, -4], np.int32)],
        np.array([0, 1, -1, 1], np.int32),
    ),
    "a power has the dtype of its base": Case(
        "Pow", [np.array([2, 4], np.int32), floats(2, 0.5)], np.array([4, 2], np.int32)
    ),
    "remainders have the sign of the divisor": Case(
        "Mod", [ints(-7, 7, -7), ints(3, -3, -3)], ints(2, -2, -1)
    ),
    "quotients go toward zero": Case("Div", [ints(-7, 7), ints(2, -2)], ints(-3, -3)),
    "clip without a lower bound": Case(
        "Clip", [floats(-5, 0, 5), None, floats(2).reshape(())], floats(-5, 0, 2)
    ),
    "clip with bounds in the wrong order": Case(
        "Clip",
        [floats(-5, 5), floats(3).reshape(()), floats(1).reshape(())],
        floats(1, 1),
        opset=13,
    ),
    "reshape to zero elements": Case(
        "Reshape",
        [np.zeros((0, 3), np.float32), ints(3, 4, 0)],
        np.zeros((3, 4, 0), np.float32),
        {"allowzero": 1},
    ),
    "reshape copies sizes": Case("Reshape", [CUBE, ints(0, -1)], CUBE.reshape(2, 12)),
    "the shape is an attribute before opset 5": Case(
        "Reshape", [CUBE], CUBE.reshape(4, 3, 2), {"shape": [4, 0, -1]}, opset=1
    ),
    "einsum with a diagonal": Case("Einsum", [drawn(2, 3, 3)], None, {"equation": "...ii->...i"}),
    "einsum over what is left out": Case("Einsum", [GRID, GRID], None, {"equation": "ab,ab->b"}),
    "the first of equal elements": Case(
        "TopK", [floats(1, 3, 3, 2, 3), ints(2)], (floats(3, 3), ints(1, 2)), {"axis": 0}
    ),
    "the last of equal elements": Case(
        "ArgMax",
        [floats([3, 1, 3])],
        ints([2]),
        {"axis": 1, "keepdims": 1, "select_last_index": 1},
    ),
    "topk of opset 1": Case(
        "TopK", [floats([1, 5, 2])], (floats([5, 2]), ints([1, 2])), {"k": 2}, opset=1
    ),
    "one hot of fractions": Case(
        "OneHot", [floats(0, 1.7), ints(2), floats(5, 9)], floats([9, 5], [5, 9])
    ),
    "one hot from the end": Case(
        "OneHot", [ints(-1, 5), ints(2), ints(0, 1)], ints([0, 1], [0, 0])
    ),
    "padding wraps more than once": Case(
        "Pad", [floats(0, 1, 2), ints(7, 8)], np.arange(-7, 11) % 3.0, {"mode": "wrap"}, fixed=(1,)
    ),
    "padding takes away before it wraps": Case(
        "Pad",
        [floats(0, 1, 2, 3), ints(-1, 5)],
        floats(1, 2, 3, 1, 2, 3, 1, 2),
        {"mode": "wrap"},
        fixed=(1,),
    ),
    "padding mirrors more than once": Case(
        "Pad",
        [floats(0, 1, 2), ints(4, 5)],
        np.pad(floats(0, 1, 2), (4, 5), mode="reflect"),
        {"mode": "reflect"},
        fixed=(1,),
    ),
    "padding of chosen axes": Case(
        "Pad",
        [GRID, ints(1, -1), floats(7).reshape(()), ints(-1)],
        np.pad(GRID, ((0, 0), (1, 0)), constant_values=7)[:, :-1],
        fixed=(1, 3),
    ),
    "running sums along a listed axis": Case(
        "CumSum", [GRID, ints(-1)], GRID.cumsum(1), tolerance=1e-4
    ),
    "running sums from the end without the own": Case(
        "CumSum",
        [floats(1, 2, 4), ints(0).reshape(())],
        floats(6, 4, 0),
        {"exclusive": 1, "reverse": 1},
    ),
    "products of sums with nothing of what is no number": Case(
        "Gemm", [floats([1, 2]), floats([3], [4]), floats(np.nan)], floats([11]), {"beta": 0.0}
    ),
    "points of one image": Case(
        "AffineGrid",
        [floats([[1, 0, 0], [0, 1, 0]]), ints(1, 1, 1, 2)],
        floats([[[-0.5, 0], [0.5, 0]]]),
        opset=20,
    ),
    "gather from the end": Case(
        "GatherND", [GRID, ints([-1, -4], [0, 1])], GRID[[-1, 0], [-4, 1]], {"batch_dims": 0}
    ),
    "gather in batches": Case(
        "GatherND", [CUBE, ints([1], [-1])], CUBE[[0, 1], [1, 2]], {"batch_dims": 1}
    ),
    "scatter adds what comes twice": Case(
        "ScatterND",
        [floats(1, 2, 3), ints([0], [2], [0]), floats(10, 20, 30)],
        floats(41, 2, 23),
        {"reduction": "add"},
    ),
    "a norm that was fused in an old opset": Case(
        "LayerNormalization",
        [floats([1, 3], [2, 2]), floats(1, 2), floats(0, 1)],
        floats([-1, 3], [0, 1]),
        opset=12,
        tolerance=1e-4,
    ),
    "softmax flattens before opset 13": Case("Softmax", [CUBE], None, opset=11),
    "softmax of what is masked": Case("Softmax", [floats([-np.inf, 0])], floats([0, 1])),
    "dropout does nothing, whatever its ratio": Case(
        "Dropout",
        [GRID, floats(0.7).reshape(()), np.array(False)],
        (GRID, np.ones((3, 4), bool)),
        opset=13,
    ),
    "uneven parts": Case(
        "Split", [LINE[:5]], (LINE[:2], LINE[2:4], LINE[4:5]), {"num_outputs": 3}, opset=18
    ),
    "norms of zeros": Case(
        "LpNormalization", [floats([0, 0], [3, 4])], floats([0, 0], [0.6, 0.8]), {"axis": 1, "p": 2}
    ),
    "averages leave out what is past the padding": Case(
        "AveragePool",
        [floats([1, 2, 3, 4])[None]],
        floats([2, 4])[None],
        {"kernel_shape": [3], "strides": [3], "ceil_mode": 1, "count_include_pad": 1},
    ),
    "no window starts past the end": Case(
        "MaxPool",
        [floats([[1, 2]])],
        floats([[1]]),
        {"kernel_shape": [1], "strides": [2], "ceil_mode": 1},
    ),
    "transposed convolutions grow by the stride": Case(
        "ConvTranspose",
        [floats([[1, 2]]), floats([[1, 1, 1]])],
        floats([[1, 1, 3, 2]]),
        {"auto_pad": "SAME_UPPER", "strides": [2]},
    ),
    "values that are no number go through": Case(
        "Max", [floats(np.nan, 1), floats(2, np.nan)], floats(np.nan, np.nan)
    ),
    "nothing to concatenate": Case(
        "Concat", [GRID, np.zeros((3, 0), np.float32)], GRID, {"axis": -1}
    ),
    "a shape from the end": Case("Shape", [CUBE], ints(3), {"start": -2, "end": -1}, opset=15),
}
BEFORE_7 = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": np.divide,
    "Pow": np.power,
    "Less": np.less,
    "Greater": np.greater,
}
ORACLES = {
    "upsample of opset 1": lambda x: x.repeat(3, 2).repeat(2, 3),
    "einsum with a diagonal": lambda x: np.einsum("...ii->...i", x),
    "einsum over what is left out": lambda a, b: (a * b).sum(0),
    "softmax flattens before opset 13": lambda x: np.exp(x) / np.exp(x).sum((1, 2), keepdims=True),
}


@pytest.mark.parametrize("name", CASES)
def test_reported(name):
    case = CASES[name]
    wanted = ORACLES[name](*case.inputs) if name in ORACLES else case.wanted
    expected = wanted if isinstance(wanted, tuple) else (wanted,)
    runner = OnnxRunner(model_of(case, [f"o{i}" for i in range(len(expected))]))
    feeds = {
        f"i{place}": value
        for place, value in enumerate(case.inputs)
        if value is not None and place not in case.fixed
    }
    for _ in range(2):
        for found, value in zip(runner(feeds).values(), expected, strict=True):
            assert found.shape == value.shape
            np.testing.assert_allclose(found.numpy(), value, case.tolerance, case.tolerance)


@pytest.mark.parametrize("operator", BEFORE_7)
def test_axes_were_aligned_by_an_attribute(operator):
    attributes = {"axis": 1, "broadcast": 1}
    case = Case(operator, [WIDE, NARROW], None, attributes, opset=6)
    found = OnnxRunner(model_of(case, ["y"]))({"i0": WIDE, "i1": NARROW})["y"].numpy()
    np.testing.assert_allclose(found, BEFORE_7[operator](WIDE, ALIGNED), rtol=1e-5)


@pytest.mark.parametrize("operator", ["Relu", "Sum", "Tanh"])
def test_inputs_that_were_consumed(operator):
    case = Case(operator, [GRID], None, {"consumed_inputs": [0]}, opset=1)
    found = OnnxRunner(model_of(case, ["y"]))({"i0": GRID})["y"].numpy()
    wanted = {"Relu": np.maximum(GRID, 0), "Sum": GRID, "Tanh": np.tanh(GRID)}[operator]
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize("opset", [11, 17])
def test_sizes_are_known_without_reading_them(opset):
    axes = {"axes": [0]} if opset < 13 else {}
    lists = [] if opset < 13 else ["zero"]
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "first"], ["rows"]),
        helper.make_node("Unsqueeze", ["rows", *lists], ["listed"], **axes),
        helper.make_node("Concat", ["listed", "rest"], ["sizes"], axis=0),
        helper.make_node("Reshape", ["x", "sizes"], ["y"]),
    ]
    constants = {"first": np.array(0), "zero": ints(0), "rest": ints(2, -1)}
    graph = helper.make_graph(
        nodes,
        "sizes",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", opset)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    runner = OnnxRunner(model.SerializeToString())
    for _ in range(3):
        np.testing.assert_array_equal(runner({"x": GRID})["y"].numpy(), GRID.reshape(3, 2, 2))
    assert not runner.plan.habits.count
