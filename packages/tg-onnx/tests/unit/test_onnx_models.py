"""Three real models give what onnxruntime gives."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw
from tg_onnx import OnnxRunner
from tg_tensor import Tensor

onnxruntime = pytest.importorskip("onnxruntime")

MODELS = {
    "magika": ("magika", "models/standard_v3_3/model.onnx"),
    "detector": ("rapidocr_onnxruntime", "models/ch_PP-OCRv4_det_infer.onnx"),
    "classifier": ("rapidocr_onnxruntime", "models/ch_ppocr_mobile_v2.0_cls_infer.onnx"),
}


def path_of(name: str) -> Path:
    package, file = MODELS[name]
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        pytest.skip(f"the package {package} is not installed")
    return Path(spec.origin).parent / file


def compare(name: str, inputs: dict[str, np.ndarray]) -> None:
    path = path_of(name)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    expected = session.run(None, inputs)
    found = OnnxRunner(path)({key: Tensor(value) for key, value in inputs.items()})
    for output, reference in zip(session.get_outputs(), expected, strict=True):
        ours = found[output.name].numpy()
        assert ours.shape == reference.shape
        scale = np.abs(reference).max()
        np.testing.assert_allclose(ours, reference, rtol=1e-3, atol=1e-3 * scale)


@pytest.mark.parametrize("batch", [1, 3])
def test_magika(batch):
    rng = np.random.default_rng(batch)
    compare("magika", {"bytes": rng.integers(0, 257, (batch, 2048)).astype(np.int32)})


def page(height: int, width: int) -> np.ndarray:
    """A white page with a line of text, as the detector takes it."""
    image = Image.new("RGB", (width, height), "white")
    ImageDraw.Draw(image).text((8, height // 3), "Hello 123", fill="black")
    pixels = np.asarray(image, np.float32) / 255
    return ((pixels - 0.5) / 0.5).transpose(2, 0, 1)[None]


@pytest.mark.parametrize("size", [(64, 96), (96, 64)])
def test_text_detector(size):
    compare("detector", {"x": page(*size)})


@pytest.mark.parametrize("batch", [1, 2])
def test_text_direction_classifier(batch):
    x = np.random.default_rng(batch).standard_normal((batch, 3, 48, 192)).astype(np.float32)
    compare("classifier", {"x": x})
