"""Read ONNX messages with the onnx package: models, tensors, attributes, element types."""

from __future__ import annotations

import io
import math
import os
from pathlib import Path
from typing import IO

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from numpy.typing import NDArray
from onnx import AttributeProto, ModelProto, SparseTensorProto, TensorProto, helper, numpy_helper
from tg_tensor import Tensor, dtypes
from tg_uop import DType

from tg_onnx.errors import MissingModelError, ModelFileError, ModelFormatError
from tg_onnx.external import ExternalFiles

Array = NDArray[np.generic]
Source = str | os.PathLike[str] | bytes | bytearray | memoryview | IO[bytes] | Tensor | ModelProto

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


# bits of an element where they are not those of the NumPy dtype
NARROW_BITS = {
    TensorProto.INT4: 4,
    TensorProto.UINT4: 4,
    TensorProto.FLOAT4E2M1: 4,
    TensorProto.INT2: 2,
    TensorProto.UINT2: 2,
    getattr(TensorProto, "FLOAT6E2M3", -1): 6,
    getattr(TensorProto, "FLOAT6E3M2", -1): 6,
}
NO_FILES = ExternalFiles()


def load_model(source: Source) -> tuple[ModelProto, str, ExternalFiles]:
    """The model, a name for messages, and the files beside it that its weights may lie in.

    A ModelProto is copied, so that later changes to it change nothing here.

    Raises `ModelFormatError` for bytes that are no model, `MissingModelError`, a
    `FileNotFoundError`, for a file that is not there, and `ModelFileError`, an `OSError`, for one
    that cannot be read.
    """
    if isinstance(source, ModelProto):
        # by its fields: it may be larger than what can be written in one piece
        model = ModelProto()
        model.CopyFrom(source)
        return _with_graph(model, "<model>"), "<model>", NO_FILES
    name, files = "<bytes>", NO_FILES
    if isinstance(source, str | os.PathLike):
        name = str(source)
        data = _read(Path(source))
        files = ExternalFiles.beside(Path(source))
    else:
        data = _bytes_of(source)
        opened = getattr(source, "name", None)
        if isinstance(opened, str):
            name, files = opened, ExternalFiles.beside(Path(opened))
    try:
        model = onnx.load_model(io.BytesIO(data), load_external_data=False)
    except (DecodeError, ValueError) as error:
        raise ModelFormatError(source=name, reason=str(error)) from error
    return _with_graph(model, name), name, files


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise MissingModelError(path=str(path), reason="No such file") from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise ModelFileError(path=str(path), reason=reason) from None


def _bytes_of(source: object) -> bytes:
    if isinstance(source, bytes | bytearray | memoryview):
        return bytes(source)
    if isinstance(source, Tensor):
        return source.numpy().tobytes()
    read = getattr(source, "read", None)
    found = read() if callable(read) else None
    if isinstance(found, bytes):
        return found
    reason = "a model comes as a path, as bytes, a file opened for reading bytes, or a ModelProto"
    raise ModelFormatError(source=f"<{type(source).__name__}>", reason=reason)


def _with_graph(model: ModelProto, name: str) -> ModelProto:
    if not model.graph.node and not model.graph.output:
        raise ModelFormatError(source=name, reason="it has no graph")
    return model


def tensor_array(tensor: TensorProto, files: ExternalFiles = NO_FILES) -> Array:
    """The elements of a tensor message as an array.

    Raises `ModelFormatError` when its data does not fill its shape, before memory is taken for it.
    """
    dims = tuple(tensor.dims)
    if any(dim < 0 for dim in dims):
        raise _tensor_error(tensor, f"its shape is {list(dims)}")
    try:
        if tensor.data_location == TensorProto.EXTERNAL:
            return _from_bytes(tensor, files.data(tensor))
        if tensor.HasField("raw_data") and tensor.data_type != TensorProto.STRING:
            return _from_bytes(tensor, memoryview(tensor.raw_data))
        return numpy_helper.to_array(tensor)
    except (ValueError, TypeError, KeyError, OverflowError, AttributeError) as error:
        if isinstance(error, ModelFormatError):
            raise
        raise _tensor_error(tensor, str(error)) from error


def _from_bytes(tensor: TensorProto, data: memoryview) -> Array:
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(tensor.data_type))
    if dtype.hasobject:
        raise _tensor_error(tensor, "strings do not come as raw bytes")
    bits = NARROW_BITS.get(tensor.data_type, 8 * dtype.itemsize)
    count = math.prod(tensor.dims)
    wanted = -(-count * bits // 8)
    if len(data) != wanted:
        shape = list(tensor.dims)
        reason = f"{len(data)} bytes, where {dtype} of shape {shape} takes {wanted}"
        raise _tensor_error(tensor, reason)
    if bits == 8 * dtype.itemsize:
        return np.frombuffer(data, dtype.newbyteorder("<")).reshape(tuple(tensor.dims))
    packed = TensorProto(dims=tensor.dims, data_type=tensor.data_type, raw_data=bytes(data))
    return numpy_helper.to_array(packed)


def _tensor_error(tensor: TensorProto, reason: str) -> ModelFormatError:
    return ModelFormatError(source=f"tensor {tensor.name!r}", reason=reason)


MAX_SPARSE_ELEMENTS = 1 << 28


def sparse_array(sparse: SparseTensorProto, files: ExternalFiles = NO_FILES) -> Array:
    """The elements of a sparse tensor message, zeros included.

    Raises `ModelFormatError` when its indices do not fit its shape or it is very large.
    """
    name = f"sparse tensor {sparse.values.name!r}"
    count = math.prod(sparse.dims)
    if count > MAX_SPARSE_ELEMENTS or any(dim < 0 for dim in sparse.dims):
        raise ModelFormatError(source=name, reason=f"its shape is {list(sparse.dims)}")
    values, indices = tensor_array(sparse.values, files), tensor_array(sparse.indices, files)
    dense = np.zeros(count, values.dtype)
    try:
        if indices.ndim == 2:
            indices = np.ravel_multi_index(tuple(indices.T), tuple(sparse.dims))
        dense[indices] = values
    except (IndexError, TypeError, ValueError) as error:
        raise ModelFormatError(source=name, reason=str(error)) from error
    return dense.reshape(tuple(sparse.dims))


Attribute = object


def attribute_value(attribute: AttributeProto, files: ExternalFiles = NO_FILES) -> Attribute:
    """An attribute as a Python value: number, text, array, graph, or a list of such.

    Raises `ModelFormatError` for one without a type.
    """
    kind = attribute.type
    if kind == AttributeProto.TENSOR:
        return tensor_array(attribute.t, files)
    if kind == AttributeProto.STRING:
        return attribute.s.decode("utf-8", "replace")
    if kind == AttributeProto.STRINGS:
        return [text.decode("utf-8", "replace") for text in attribute.strings]
    if kind == AttributeProto.SPARSE_TENSOR:
        return sparse_array(attribute.sparse_tensor, files)
    if kind == AttributeProto.TENSORS:
        return [tensor_array(tensor, files) for tensor in attribute.tensors]
    try:
        value = helper.get_attribute_value(attribute)
    except ValueError as error:
        source = f"attribute {attribute.name!r}"
        raise ModelFormatError(source=source, reason=str(error)) from error
    if kind in (AttributeProto.INTS, AttributeProto.FLOATS):
        return list(value)
    return value  # type: ignore[no-any-return]
