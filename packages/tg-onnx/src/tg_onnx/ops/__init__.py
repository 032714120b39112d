"""The operators, by family; importing a module registers what it implements."""

from tg_onnx.ops import image, math, neural, quantize, recurrent, reduce, shape

OPERATOR_MODULES = (math, shape, reduce, neural, quantize, recurrent, image)
