"""Run ONNX models on tg."""

from tg_onnx.errors import (
    ModelFormatError,
    ModelInputError,
    OnnxError,
    OperatorError,
    UnsupportedOperatorError,
)
from tg_onnx.runner import OnnxRunner

__all__ = [
    "ModelFormatError",
    "ModelInputError",
    "OnnxError",
    "OnnxRunner",
    "OperatorError",
    "UnsupportedOperatorError",
]
