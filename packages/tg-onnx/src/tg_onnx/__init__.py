"""Run ONNX models on tg, and write them."""

from tg_onnx.errors import (
    ExportError,
    ModelFormatError,
    ModelInputError,
    OnnxError,
    OperatorError,
    UnsupportedOperatorError,
)
from tg_onnx.export import export
from tg_onnx.runner import OnnxRunner

__all__ = [
    "ExportError",
    "ModelFormatError",
    "ModelInputError",
    "OnnxError",
    "OnnxRunner",
    "OperatorError",
    "UnsupportedOperatorError",
    "export",
]
