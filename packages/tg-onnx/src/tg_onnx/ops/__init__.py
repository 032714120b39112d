"""The operators, by family; importing a module registers what it implements."""

from tg_onnx.ops import image, math, neural, reduce, shape

OPERATOR_MODULES = (math, shape, reduce, neural, image)
