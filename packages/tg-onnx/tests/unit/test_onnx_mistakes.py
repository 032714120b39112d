"""Mistakes with a runner: its model, its inputs and its device, named at the user's line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper
from tg_onnx import OnnxRunner
from tg_onnx.errors import MissingModelError, ModelFileError, ModelFormatError, ModelInputError
from tg_tensor import Tensor
from tg_uop.errors import ArgumentTypeError, SignatureError, TargetError, TgError

VALUES = [
    helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3]),
    helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3]),
]
RESULT = helper.make_tensor_value_info("z", TensorProto.FLOAT, None)
MODEL = helper.make_model(
    helper.make_graph([helper.make_node("Add", ["x", "y"], ["z"])], "graph", VALUES, [RESULT])
)
X = Tensor.ones(2, 3)
RUN = OnnxRunner(MODEL)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: RUN(X), ArgumentTypeError, "inputs is a Tensor of shape .*expected a dict"),
        (lambda: RUN([X, X]), ArgumentTypeError, "inputs is .* expected a dict"),
        (lambda: RUN(None), ArgumentTypeError, "inputs is None, expected a dict"),
        (lambda: RUN(), SignatureError, "missing .*'inputs'"),
        (lambda: RUN(x=X, y=X), SignatureError, "its parameters are inputs, outputs"),
        (lambda: RUN({}), ModelInputError, "'x': it is missing"),
        (lambda: RUN({"x": X, "y": X, "q": X}), ModelInputError, "'q': no such input"),
        (lambda: RUN({"x": X, "y": Tensor.ones(3)}), ModelInputError, "it has shape"),
        (lambda: RUN({"x": X, "y": X.double()}), ModelInputError, "it has dtype"),
        (lambda: RUN({"x": X, "y": np.zeros((2, 3))}), ModelInputError, "it has dtype"),
        (lambda: RUN({"x": X, "y": "a"}), ModelInputError, "'y': it is 'a' .*type str"),
        (lambda: RUN({"x": X, "y": None}), ModelInputError, "'y': it is None"),
        (lambda: RUN({"x": X, "y": [[1, 2], [3]]}), ModelInputError, "'y': .*inhomogeneous"),
        (lambda: RUN({"x": X, "y": X}, outputs=["q"]), ModelInputError, "no such output"),
        (lambda: RUN({"x": X, "y": X}, outputs=3), ArgumentTypeError, "outputs is 3"),
        (lambda: OnnxRunner("none.onnx"), MissingModelError, "No such file"),
        (lambda: OnnxRunner(b"abc"), ModelFormatError, "no valid ONNX model"),
        (lambda: OnnxRunner(3), ModelFormatError, "a model comes as a path"),
        (lambda: OnnxRunner(MODEL, device="NOPE"), TargetError, "no device NOPE"),
        (lambda: OnnxRunner(MODEL, devise="CPU"), SignatureError, "did you mean 'device'"),
    ],
)
def test_mistakes(call: Callable[[], object], kind: type[TgError], text: str) -> None:
    with pytest.raises(kind, match=text) as caught:
        call()
    assert caught.value.location is not None
    assert caught.value.location[0] == __file__


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        OnnxRunner(tmp_path / "none.onnx")
    assert missing.value.filename == str(tmp_path / "none.onnx")
    with pytest.raises(ModelFileError) as folder:
        OnnxRunner(tmp_path)
    assert isinstance(folder.value, OSError)
