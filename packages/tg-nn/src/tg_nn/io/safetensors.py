"""Read and write safetensors files, through the safetensors package."""

from __future__ import annotations

import io
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np
import safetensors
from numpy.typing import NDArray
from tg_tensor import Tensor, dtypes
from tg_uop import DType
from tg_uop.arguments import names_bad_arguments, shown
from tg_uop.errors import ArgumentTypeError, DTypeError, OperandError

from tg_nn.errors import FileFormatError, UnreadableFileError
from tg_nn.io.archives import opened

# names of the format's specification
DTYPE_OF_NAME: dict[str, DType] = {
    "BOOL": dtypes.bool,
    "U8": dtypes.uint8,
    "I8": dtypes.int8,
    "U16": dtypes.uint16,
    "I16": dtypes.int16,
    "U32": dtypes.uint32,
    "I32": dtypes.int32,
    "U64": dtypes.uint64,
    "I64": dtypes.int64,
    "F16": dtypes.float16,
    "BF16": dtypes.bfloat16,
    "F32": dtypes.float32,
    "F64": dtypes.float64,
    "F8_E4M3": dtypes.fp8e4m3,
    "F8_E5M2": dtypes.fp8e5m2,
}
SERIALIZED_NAME: dict[DType, str] = {
    dtypes.bool: "bool",
    dtypes.uint8: "uint8",
    dtypes.int8: "int8",
    dtypes.uint16: "uint16",
    dtypes.int16: "int16",
    dtypes.uint32: "uint32",
    dtypes.int32: "int32",
    dtypes.uint64: "uint64",
    dtypes.int64: "int64",
    dtypes.float16: "float16",
    dtypes.bfloat16: "bfloat16",
    dtypes.float32: "float32",
    dtypes.float64: "float64",
    dtypes.fp8e4m3: "float8_e4m3fn",
    dtypes.fp8e5m2: "float8_e5m2",
}

BITS: dict[DType, DType] = {
    dtypes.bfloat16: dtypes.uint16,
    dtypes.fp8e4m3: dtypes.uint8,
    dtypes.fp8e5m2: dtypes.uint8,
}

LENGTH_BYTES = 8
MAX_HEADER_BYTES = 100_000_000  # the limit of the format's own reader


@names_bad_arguments
def safe_save(
    tensors: Mapping[str, Tensor], path: str | Path, metadata: Mapping[str, str] | None = None
) -> None:
    """Write tensors by name to a safetensors file; an existing file is replaced as a whole.

    Raises `DTypeError`, a `TypeError`, for a dtype that the format does not have, and
    `OperandError` for what is no dict of Tensors.

    >>> safe_save({"weight": Tensor([1.0, 2.0])}, "weights.safetensors")
    """
    target = Path(path)
    check_state("safe_save", "tensors", tensors)
    for name, tensor in tensors.items():
        if tensor.dtype not in SERIALIZED_NAME:
            raise DTypeError(
                what=f"safe_save of tensor {name!r}",
                dtypes=[tensor.dtype],
                reason="safetensors has no dtype for it",
                hint="cast it to another first",
            )
    # the arrays own the memory whose addresses the writer gets, so they must live until it is done
    arrays = {name: _bytes_of(tensor) for name, tensor in tensors.items()}
    specs = {name: _spec(tensors[name], array) for name, array in arrays.items()}
    _check_target(target, metadata)
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    os.close(descriptor)
    try:
        safetensors.serialize_file(specs, temporary, dict(metadata) if metadata else None)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _check_target(target: Path, metadata: Mapping[str, str] | None) -> None:
    if target.is_dir():
        raise UnreadableFileError(
            path=target, expected="safetensors", reason="it is a folder; name a file in it"
        )
    for key, value in (metadata or {}).items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise ArgumentTypeError(
                call="safe_save",
                argument=f"metadata[{key!r}]",
                given=shown(value),
                expected="a text",
            )


def check_state(call: str, argument: str, tensors: object) -> None:
    """Raise `OperandError` for what is no dict of Tensors by name."""
    expected = "a dict of Tensors by name"
    if not isinstance(tensors, Mapping):
        raise OperandError(
            call=call,
            argument=argument,
            given=shown(tensors),
            expected=expected,
            hint="get_state_dict(model) gives that of a model",
        )
    for name, tensor in tensors.items():
        if not isinstance(name, str) or not isinstance(tensor, Tensor):
            where = f"{argument}[{name!r}]"
            raise OperandError(call=call, argument=where, given=shown(tensor), expected=expected)


@names_bad_arguments
def safe_load(source: str | Path | bytes | Tensor, device: str | None = None) -> dict[str, Tensor]:
    """The tensors of a safetensors file, or of its bytes (also in a Tensor), by name.

    Raises `FileFormatError` for a file that is cut off or damaged, `MissingFileError` and
    `UnreadableFileError`, which are an `OSError`, for one that is not there or cannot be read.

    >>> safe_load("weights.safetensors")["weight"].shape
    (2,)
    """
    if isinstance(source, Tensor):
        source = bytes(source.data())
    name = "<bytes>" if isinstance(source, bytes) else str(source)
    with opened(source, "safetensors") as file:
        data = file.read()
    try:
        entries = safetensors.deserialize(data)  # type: ignore[no-untyped-call]
    except safetensors.SafetensorError as error:
        raise FileFormatError(path=name, expected="safetensors", reason=str(error)) from error
    loaded = {}
    for key, entry in entries:
        dtype = DTYPE_OF_NAME.get(entry["dtype"])
        if dtype is None:
            reason = f"tensor {key!r} has dtype {entry['dtype']}, which is not supported"
            raise FileFormatError(path=name, expected="safetensors", reason=reason)
        flat = Tensor(bytes(entry["data"]), dtype=dtype, device=device)
        loaded[key] = flat.reshape(tuple(entry["shape"]))
    return loaded


@names_bad_arguments
def safe_load_metadata(
    source: str | Path | bytes | Tensor,
) -> tuple[Tensor, int, dict[str, object]]:
    """The bytes of a safetensors file, where its data starts in them, and its header.

    The header has dtype, shape and place of each tensor, and `__metadata__`. `source` is a path, or
    the bytes of a file (also in a Tensor). Of a file only the header is read. Raises
    `FileFormatError` when the header is not there or damaged.
    """
    content = source if isinstance(source, Tensor) else None
    if isinstance(source, Tensor):
        source = bytes(source.data())
    if isinstance(source, bytes):
        header, start = _header("<bytes>", io.BytesIO(source), len(source))
        return Tensor(source) if content is None else content, start, header
    with opened(source, "safetensors") as file:
        header, start = _header(str(source), file, Path(source).stat().st_size)
    return Tensor(Path(source)), start, header


def _header(path: str, file: BinaryIO, file_size: int) -> tuple[dict[str, object], int]:
    """The header, and where the data behind it starts."""
    length_field = file.read(LENGTH_BYTES)
    length = int.from_bytes(length_field, "little")
    limit = min(file_size - LENGTH_BYTES, MAX_HEADER_BYTES)
    if len(length_field) < LENGTH_BYTES or length > limit:
        reason = f"the header claims {length} bytes, the file has {file_size}"
        raise FileFormatError(path=path, expected="safetensors", reason=reason)
    text = file.read(length)
    try:
        header = json.loads(text)
    except ValueError as error:
        raise FileFormatError(
            path=path, expected="safetensors", reason=f"header: {error}", offset=LENGTH_BYTES
        ) from error
    if not isinstance(header, dict):
        raise FileFormatError(
            path=path,
            expected="safetensors",
            reason="the header is no JSON object",
            offset=LENGTH_BYTES,
        )
    return header, LENGTH_BYTES + length


def _bytes_of(tensor: Tensor) -> NDArray[np.uint8]:
    if tensor.numel() == 0:
        return np.empty(0, np.uint8)
    # NumPy has no bfloat16 and no 8-bit floats of its own
    plain = tensor.bitcast(BITS[tensor.dtype]) if tensor.dtype in BITS else tensor
    return np.ascontiguousarray(plain.numpy()).reshape(-1).view(np.uint8)


def _spec(tensor: Tensor, array: NDArray[np.uint8]) -> safetensors.TensorSpec:
    return safetensors.TensorSpec(
        dtype=SERIALIZED_NAME[tensor.dtype],
        shape=list(tensor.shape),
        data_ptr=array.ctypes.data,
        data_len=array.nbytes,
    )
