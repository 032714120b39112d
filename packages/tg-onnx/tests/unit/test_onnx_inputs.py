"""What models take: constants that a caller may replace, strings, sequences, and what info says."""

from __future__ import annotations

import io

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tg_onnx import ModelFormatError, ModelInputError, OnnxRunner
from tg_onnx.cli import main
from tg_tensor import Tensor


def model(nodes, inputs, outputs, constants=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(constants))
    opsets = [helper.make_opsetid("", 21)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def value(name, kind=TensorProto.FLOAT, shape=("n",)):
    return helper.make_tensor_value_info(name, kind, shape)


def test_constants_that_are_inputs_can_be_given():
    weight = numpy_helper.from_array(np.ones(2, np.float32), "w")
    nodes = [
        helper.make_node("Mul", ["w", "w"], ["square"]),
        helper.make_node("Add", ["x", "square"], ["y"]),
    ]
    data = model(nodes, [value("x", shape=[2]), value("w", shape=[2])], [value("y")], [weight])
    runner = OnnxRunner(data.SerializeToString())
    assert list(runner.graph_inputs) == ["x"]
    x, w = np.float32([1, 2]), np.float32([3, 4])
    for _ in range(3):
        np.testing.assert_array_equal(runner({"x": x})["y"].numpy(), x + 1)
        np.testing.assert_array_equal(runner({"x": x, "w": w}, ["y"])["y"].numpy(), x + w * w)
    with pytest.raises(ModelInputError, match="'w': it has shape"):
        runner({"x": x, "w": np.float32([1])})


def test_strings_are_made_up_and_named(tmp_path, capsys):
    path = str(tmp_path / "m.onnx")
    text = TensorProto.STRING
    node = helper.make_node("StringConcat", ["a", "a"], ["y"])
    onnx.save(model([node], [value("a", text)], [value("y", text)]), path)
    assert main(["info", path]) == 0
    assert "a     string  ('n',)" in capsys.readouterr().out
    assert main(["run", path]) == 0
    assert main(["bench", path, "--count", "1"]) == 0
    assert "kernels       0" in capsys.readouterr().out


def test_sequences_are_named_and_have_to_be_given(tmp_path, capsys):
    path = str(tmp_path / "m.onnx")
    sequence = helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)
    node = helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=0)
    onnx.save(model([node], [sequence], [value("y")]), path)
    assert main(["info", path]) == 0
    assert "sequence of float" in capsys.readouterr().out
    assert main(["run", path]) == 2
    assert "no values can be made up" in capsys.readouterr().err


def test_what_onnxruntime_cannot_run_is_said_in_a_line(tmp_path, capsys):
    pytest.importorskip("onnxruntime")
    path = str(tmp_path / "m.onnx")
    kind = TensorProto.BFLOAT16
    node = helper.make_node("Add", ["x", "x"], ["y"])
    onnx.save(model([node], [value("x", kind)], [value("y", kind)]), path)
    assert main(["compare", path]) == 2
    assert capsys.readouterr().err.startswith("error: onnxruntime cannot run ")
    assert main(["bench", path, "--count", "1"]) == 0
    assert "cannot run the model" in capsys.readouterr().out


def test_functions_of_a_model_have_defaults():
    text = """<ir_version: 9, opset_import: ["" : 17, "own" : 1]>
    calls (float[n] x) => (float[n] y, float[n] z) {
        y = own.scaled (x)
        z = own.scaled <by: float = 2.0> (x)
    }
    <opset_import: ["" : 17], domain: "own">
    scaled <by: float = 3.0> (x) => (y) {
        factor = Constant <value_float: float = @by> ()
        y = Mul (x, factor)
    }"""
    runner = OnnxRunner(onnx.parser.parse_model(text).SerializeToString())
    found = runner({"x": np.float32([1, 2])})
    np.testing.assert_array_equal(found["y"].numpy(), [3, 6])
    np.testing.assert_array_equal(found["z"].numpy(), [2, 4])


def test_small_weights_are_trained_through_what_shapes_go_through_too():
    nodes = [
        helper.make_node("Split", ["w"], ["first", "second"], axis=0, num_outputs=2),
        helper.make_node("Expand", ["first", "sizes"], ["rows"]),
        helper.make_node("Add", ["x", "rows"], ["sum"]),
        helper.make_node("Mul", ["sum", "second"], ["y"]),
    ]
    constants = [
        numpy_helper.from_array(np.float32([1, 2]), "w"),
        numpy_helper.from_array(np.array([3]), "sizes"),
    ]
    data = model(nodes, [value("x", shape=[3])], [value("y")], constants)
    runner = OnnxRunner(data.SerializeToString())
    weight = runner.named_parameters()["w"]
    x = np.float32([1, 2, 3])
    runner({"x": x})["y"].sum().backward()
    assert weight.grad is not None
    np.testing.assert_array_equal(weight.grad.numpy(), [6, 9])
    weight.assign(weight.detach() * 2)
    np.testing.assert_array_equal(runner({"x": x})["y"].numpy(), (x + 2) * 4)


def test_weights_beside_an_open_file(tmp_path):
    path = tmp_path / "m.onnx"
    weight = numpy_helper.from_array(np.arange(300, dtype=np.float32), "w")
    data = model([helper.make_node("Add", ["x", "w"], ["y"])], [value("x")], [value("y")], [weight])
    onnx.save_model(data, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    with path.open("rb") as file:
        runner = OnnxRunner(file)
    found = runner({"x": np.ones(1, np.float32)})["y"].numpy()
    np.testing.assert_array_equal(found, np.arange(300) + 1)


def test_where_models_come_from(tmp_path):
    data = model([helper.make_node("Relu", ["x"], ["y"])], [value("x")], [value("y")])
    data.metadata_props.add(key="title", value="ünïcode")
    content = data.SerializeToString()
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    sources = [path, str(path), content, bytearray(content), memoryview(content), data]
    sources.append(Tensor(np.frombuffer(content, np.uint8).copy()))
    x = np.float32([-1, 2])
    for source in sources:
        np.testing.assert_array_equal(OnnxRunner(source)({"x": x})["y"].numpy(), [0, 2])
    with path.open("rb") as file:
        assert list(OnnxRunner(file).graph_outputs) == ["y"]
    for wrong in (7, None, [content], io.StringIO("text")):
        with pytest.raises(ModelFormatError):
            OnnxRunner(wrong)
