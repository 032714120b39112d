"""Files with flipped bytes, or cut short, give errors of the package and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from tg_onnx import OnnxRunner
from tg_uop.errors import TgError


def value(name: str, shape: list[int | str], kind: int = TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def plain_model() -> bytes:
    """A product, a reshape by an initializer, and attributes of several types."""
    w = numpy_helper.from_array(np.ones((3, 2), np.float32), "w")
    shape = numpy_helper.from_array(np.array([-1, 2], np.int64), "shape")
    nodes = [
        helper.make_node("Gemm", ["x", "w"], ["a"], alpha=0.5, transB=0),
        helper.make_node("Reshape", ["a", "shape"], ["b"]),
        helper.make_node("Softmax", ["b"], ["y"], axis=1),
    ]
    graph = helper.make_graph(
        nodes, "g", [value("x", ["n", 3])], [value("y", ["n", 2])], [w, shape]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()


def branching_model() -> bytes:
    """Graphs inside of a node, and a function of the model's own."""

    def branch(scale: float):
        c = helper.make_node("Constant", [], ["c"], value_float=scale)
        return helper.make_graph(
            [c, helper.make_node("Mul", ["x", "c"], ["r"])], "b", [], [value("r", [2])]
        )

    f = helper.make_function(
        "own", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])],
        [helper.make_opsetid("", 17)],
    )  # fmt: skip
    nodes = [
        helper.make_node("If", ["c"], ["i"], then_branch=branch(1.0), else_branch=branch(2.0)),
        helper.make_node("Twice", ["i"], ["y"], domain="own"),
    ]
    inputs = [value("x", [2]), value("c", [], TensorProto.BOOL)]
    graph = helper.make_graph(nodes, "g", inputs, [value("y", [2])])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, functions=[f], opset_imports=opsets).SerializeToString()


MODELS = {"plain": plain_model(), "branching": branching_model()}
INPUTS = {
    "plain": {"x": np.ones((4, 3), np.float32)},
    "branching": {"x": np.ones(2, np.float32), "c": np.array(True)},
}


def load_and_run(data: bytes, inputs: dict[str, np.ndarray]) -> None:
    try:
        runner = OnnxRunner(data, "PYTHON")
        for output in runner(inputs).values():
            output.numpy()
    except TgError:
        pass


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_flipped_bytes(name, data):
    damaged = bytearray(MODELS[name])
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(0, len(damaged) - 1))
        damaged[position] ^= data.draw(st.integers(1, 255))
    load_and_run(bytes(damaged), INPUTS[name])


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_cut_files(name, data):
    length = data.draw(st.integers(0, len(MODELS[name]) - 1))
    load_and_run(MODELS[name][:length], INPUTS[name])
