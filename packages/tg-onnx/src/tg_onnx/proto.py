"""Read ONNX messages with the onnx package: models, tensors, attributes, element types."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import IO

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from numpy.typing import NDArray
from onnx import AttributeProto, ModelProto, SparseTensorProto, TensorProto, numpy_helper
from tg_tensor import dtypes
from tg_uop import DType

from tg_onnx.errors import ModelFormatError

Array = NDArray[np.generic]
Source = str | Path | bytes | IO[bytes] | ModelProto

DTYPE_OF_ELEMENT: dict[int, DType] = {
    TensorProto.FLOAT: dtypes.float32,
    TensorProto.UINT8: dtypes.uint8,
    TensorProto.INT8: dtypes.int8,
    TensorProto.UINT16: dtypes.uint16,
    TensorProto.INT16: dtypes.int16,
    TensorProto.INT32: dtypes.int32,
    TensorProto.INT64: dtypes.int64,
    TensorProto.BOOL: dtypes.bool,
    TensorProto.FLOAT16: dtypes.float16,
    TensorProto.DOUBLE: dtypes.float64,
    TensorProto.UINT32: dtypes.uint32,
    TensorProto.UINT64: dtypes.uint64,
    TensorProto.BFLOAT16: dtypes.bfloat16,
    TensorProto.FLOAT8E4M3FN: dtypes.fp8e4m3,
    TensorProto.FLOAT8E5M2: dtypes.fp8e5m2,
}


def load_model(source: Source) -> tuple[ModelProto, str]:
    """The model, with weights that lie beside its file, and a name for messages.

    A ModelProto is copied, so that later changes to it change nothing here.

    Raises `ModelFormatError` for bytes that are no model, `OSError` for a file that cannot be read.
    """
    if isinstance(source, ModelProto):
        name, data = "<model>", source.SerializeToString()
    elif isinstance(source, str | Path):
        name = str(source)
        data = Path(source).read_bytes()
    else:
        name = "<bytes>"
        data = source if isinstance(source, bytes) else source.read()
    try:
        model = onnx.load_model(io.BytesIO(data), load_external_data=False)
    except (DecodeError, ValueError) as error:
        raise ModelFormatError(source=name, reason=str(error)) from error
    if not model.graph.node and not model.graph.output:
        raise ModelFormatError(source=name, reason="it has no graph")
    if isinstance(source, str | Path):
        _load_external_data(model, Path(source).parent, name)
    return model, name


def _load_external_data(model: ModelProto, folder: Path, name: str) -> None:
    """The onnx package refuses places outside of the model's folder."""
    try:
        onnx.load_external_data_for_model(model, str(folder))
    except (ValueError, onnx.checker.ValidationError) as error:
        raise ModelFormatError(source=name, reason=f"external data: {error}") from error


def tensor_array(tensor: TensorProto) -> Array:
    """The elements of a tensor message as an array.

    Raises `ModelFormatError` when its data does not fill its shape.
    """
    try:
        return numpy_helper.to_array(tensor)
    except (ValueError, TypeError, KeyError) as error:
        raise ModelFormatError(source=f"tensor {tensor.name!r}", reason=str(error)) from error


MAX_SPARSE_ELEMENTS = 1 << 28


def sparse_array(sparse: SparseTensorProto) -> Array:
    """The elements of a sparse tensor message, zeros included.

    Raises `ModelFormatError` when its indices do not fit its shape or it is very large.
    """
    name = f"sparse tensor {sparse.values.name!r}"
    count = math.prod(sparse.dims)
    if count > MAX_SPARSE_ELEMENTS or any(dim < 0 for dim in sparse.dims):
        raise ModelFormatError(source=name, reason=f"its shape is {list(sparse.dims)}")
    values, indices = tensor_array(sparse.values), tensor_array(sparse.indices)
    dense = np.zeros(count, values.dtype)
    if indices.ndim == 2:
        indices = np.ravel_multi_index(tuple(indices.T), tuple(sparse.dims))
    try:
        dense[indices] = values
    except (IndexError, ValueError) as error:
        raise ModelFormatError(source=name, reason=str(error)) from error
    return dense.reshape(tuple(sparse.dims))


Attribute = object


def attribute_value(attribute: AttributeProto) -> Attribute:
    """An attribute as a Python value: number, text, array, graph, or a list of such."""
    kind = attribute.type
    if kind == AttributeProto.TENSOR:
        return tensor_array(attribute.t)
    if kind == AttributeProto.STRING:
        return attribute.s.decode("utf-8", "replace")
    if kind == AttributeProto.STRINGS:
        return [text.decode("utf-8", "replace") for text in attribute.strings]
    if kind == AttributeProto.SPARSE_TENSOR:
        return sparse_array(attribute.sparse_tensor)
    if kind == AttributeProto.TENSORS:
        return [tensor_array(tensor) for tensor in attribute.tensors]
    value = onnx.helper.get_attribute_value(attribute)
    if kind in (AttributeProto.INTS, AttributeProto.FLOATS):
        return list(value)
    return value  # type: ignore[no-any-return]
