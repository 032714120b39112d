"""Write functions on Tensors as ONNX models."""

from tg_onnx.export.trace import export

__all__ = ["export"]
