"""The command line says what is in a model, runs, compares and times it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from tg_onnx.cli import main


def written(tmp_path, *extra, opset=17):
    w = numpy_helper.from_array(np.ones((3, 2), np.float32), "w")
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], name="product"),
        helper.make_node("Relu", ["a"], ["y"], name="last"),
        *extra,
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 2])],
        [w],
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.example", 1)]
    path = tmp_path / "m.onnx"
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="us")
    path.write_bytes(model.SerializeToString())
    return str(path)


def test_info(tmp_path, capsys):
    assert main(["info", written(tmp_path)]) == 0
    shown = capsys.readouterr().out
    for text in ("us", "IR version 8", "ai.onnx 17", "6 numbers", "MatMul", "Relu", "tensors"):
        assert text in shown
    assert "('batch', 3)" in shown


def test_info_and_coverage_name_what_is_missing(tmp_path, capsys):
    odd = helper.make_node("Frobnicate", ["y"], ["z"], domain="com.example")
    path = written(tmp_path, odd)
    for command in ("info", "coverage"):
        assert main([command, path]) == 1
        shown = capsys.readouterr().out
        assert "Frobnicate" in shown
        assert "missing" in shown


def test_coverage_of_everything(capsys):
    assert main(["coverage"]) == 0
    assert "| MatMulNBits |" in capsys.readouterr().out


def test_run_makes_inputs_up_and_saves_outputs(tmp_path, capsys):
    path, saved = written(tmp_path), tmp_path / "out.npz"
    assert main(["run", path, "--size", "batch=4", "--save", str(saved)]) == 0
    assert "(4, 2)" in capsys.readouterr().out
    assert np.load(saved)["y"].shape == (4, 2)


def test_run_takes_inputs_from_a_file(tmp_path):
    given, saved = tmp_path / "in.npz", tmp_path / "out.npz"
    np.savez(given, x=np.ones((2, 3), np.float32))
    assert main(["run", written(tmp_path), "--inputs", str(given), "--save", str(saved)]) == 0
    assert np.load(saved)["y"].tolist() == [[3, 3], [3, 3]]


def test_compare(tmp_path, capsys):
    pytest.importorskip("onnxruntime")
    assert main(["compare", written(tmp_path), "--default-size", "2"]) == 0
    assert "no output differs" in capsys.readouterr().out


def test_compare_finds_the_first_node_that_differs(tmp_path, capsys, monkeypatch):
    pytest.importorskip("onnxruntime")
    import tg_onnx.side_by_side as side_by_side

    exact = side_by_side.reference_values

    def wrong(model, inputs):
        values = exact(model, inputs)
        return {name: value + 1 for name, value in values.items()}

    monkeypatch.setattr(side_by_side, "reference_values", wrong)
    assert main(["compare", written(tmp_path)]) == 1
    assert "node product (MatMul), result 'a'" in capsys.readouterr().out


def test_bench(tmp_path, capsys):
    assert main(["bench", written(tmp_path), "--count", "2", "--kernels"]) == 0
    shown = capsys.readouterr().out
    for text in ("first call", "later calls", "kernels", "***"):
        assert text in shown


@pytest.mark.parametrize(
    ("content", "words"), [(b"no model", "no valid ONNX model"), (None, "No such file")]
)
def test_errors_are_one_line(tmp_path, capsys, content, words):
    path = tmp_path / "m.onnx"
    if content is not None:
        path.write_bytes(content)
    assert main(["run", str(path)]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("error: ")
    assert words in shown


def test_as_a_program(tmp_path):
    line = [sys.executable, "-m", "tg_onnx", "info", written(tmp_path)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "MatMul" in done.stdout
