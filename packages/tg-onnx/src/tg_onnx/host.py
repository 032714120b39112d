"""Nodes that run on the host, by the reference implementation of the onnx package.

Strings, sequences, element types that no tensor has, and operators whose results have
data-dependent shapes.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
from onnx import TensorProto
from onnx.reference import ReferenceEvaluator
from tg_tensor import Tensor, dtypes

from tg_onnx.model import Node
from tg_onnx.proto import DTYPE_OF_ELEMENT, Array
from tg_onnx.registry import Value

NARROW_DTYPES = {
    dtypes.bfloat16: np.dtype(ml_dtypes.bfloat16),
    dtypes.fp8e4m3: np.dtype(ml_dtypes.float8_e4m3fn),
    dtypes.fp8e5m2: np.dtype(ml_dtypes.float8_e5m2),
}
FLOAT8_DTYPES = (dtypes.fp8e4m3, dtypes.fp8e5m2)
TENSOR_DTYPES = frozenset(
    [
        *NARROW_DTYPES.values(),
        *(np.dtype(name) for name in ("bool", "float16", "float32", "float64")),
        *(np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)),
    ]
)
# attributes that name the element type of a result
TYPE_ATTRIBUTES = ("to", "dtype", "output_dtype")

FLOAT8 = frozenset(
    [
        TensorProto.FLOAT8E4M3FN,
        TensorProto.FLOAT8E5M2,
    ]
)

HOST_ONLY: frozenset[tuple[str, str]] = frozenset([("", "ImageDecoder")])


REFERENCE_DOMAINS = ("", "ai.onnx.preview", "ai.onnx.preview.training")


def is_tensor_dtype(array: Array) -> bool:
    """Whether a tensor can hold the elements."""
    return array.dtype in TENSOR_DTYPES


def needs_host(node: Node, inputs: list[Value]) -> bool:
    """Whether an input, or the result asked for, is nothing that a tensor holds."""
    if node.domain not in REFERENCE_DOMAINS:
        # no reference knows them: they take arrays of other elements as they are
        return False
    for name in TYPE_ATTRIBUTES:
        element = node.attributes.get(name, 0)
        if isinstance(element, int) and element and element not in DTYPE_OF_ELEMENT:
            return True
        # rounding and saturation to 8 bits have modes
        if element in FLOAT8:
            return True
    if node.operator in ("CastLike", "QuantizeLinear") and len(inputs) > 1:
        like = inputs[1 if node.operator == "CastLike" else -1]
        if isinstance(like, Tensor) and like.dtype in FLOAT8_DTYPES:
            return True
    return any(
        isinstance(value, list) or (isinstance(value, np.ndarray) and not is_tensor_dtype(value))
        for value in inputs
    )


def as_array(value: Value) -> Array | None:
    """The value with its elements on the host."""
    if isinstance(value, list | dict):
        raise TypeError("a sequence or a map stands where a tensor is needed")
    if not isinstance(value, Tensor):
        return value
    array = value.numpy()
    narrow = NARROW_DTYPES.get(value.dtype)
    return array if narrow is None else array.astype(narrow)


def run_on_host(node: Node, inputs: list[Value]) -> tuple[Value, ...]:
    """The results of one node, as arrays."""
    axes = node.attributes.get("axes")
    if node.operator == "Unsqueeze" and isinstance(axes, list):
        # before opset 13, of which the reference takes no scalars: sizes are scalars
        return (np.expand_dims(np.asarray(on_host(inputs[0])), tuple(axes)),)
    feeds = {
        name: on_host(value)
        for name, value in zip(node.inputs, inputs, strict=True)
        if name and value is not None
    }
    evaluator = ReferenceEvaluator(node.proto, opsets={node.domain: node.opset})
    return tuple(_result(result) for result in evaluator.run(None, feeds))


def on_host(value: Value) -> Value:
    """The value with all elements on the host; maps are there."""
    if isinstance(value, list):
        return [on_host(element) for element in value]
    return value if isinstance(value, dict) else as_array(value)


def _result(value: object) -> Value:
    if isinstance(value, list):
        return [_result(element) for element in value]
    return None if value is None else np.asarray(value)
