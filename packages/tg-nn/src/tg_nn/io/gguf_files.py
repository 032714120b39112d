"""Read GGUF files: settings of a model, and its weights with what was quantized put back.

The header is read here, within the bounds of the file; the arithmetic of the quantized formats is
that of the `gguf` package. Layout: the GGUF specification of ggml, versions 2 and 3.
"""

from __future__ import annotations

import math
import mmap
import os
import struct
from typing import NamedTuple

import numpy as np
from tg_tensor import Tensor, dtypes
from tg_uop import DType
from tg_uop.arguments import names_bad_arguments

from tg_nn.errors import FileFormatError, MissingPackageError
from tg_nn.io.archives import Source, name_of, opened

try:
    import gguf
except ImportError:
    gguf = None  # type: ignore[assignment]

MAGIC = b"GGUF"
VERSIONS = (2, 3)
DEFAULT_ALIGNMENT = 32
MOST_DIMENSIONS = 8

# the value types of settings, by number: how `struct` reads one
_SCALARS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}
_STRING, _ARRAY = 8, 9
# tensor types whose elements are stored one by one
_PLAIN: dict[int, DType] = {
    0: dtypes.float32,
    1: dtypes.float16,
    24: dtypes.int8,
    25: dtypes.int16,
    26: dtypes.int32,
    27: dtypes.int64,
    28: dtypes.float64,
    30: dtypes.bfloat16,
}

Setting = int | float | bool | str | list["Setting"]


class _Info(NamedTuple):
    """What the header says of one tensor; `shape` has the slowest axis first."""

    name: str
    shape: tuple[int, ...]
    kind: int
    offset: int
    described_at: int


class _Header:
    """Goes through the bytes of a file, never past their end."""

    def __init__(self, name: str, content: bytes | memoryview) -> None:
        self.name = name
        self.content = memoryview(content)
        self.at = 0

    def error(self, reason: str, at: int | None = None) -> FileFormatError:
        """The error for what stands here, or `at` a place."""
        offset = self.at if at is None else at
        return FileFormatError(path=self.name, expected="GGUF", reason=reason, offset=offset)

    def take(self, length: int) -> memoryview:
        """The next bytes. Raises `FileFormatError` when there are fewer."""
        left = len(self.content) - self.at
        if length > left:
            raise self.error(f"{length} bytes should follow, {left} are left")
        found = self.content[self.at : self.at + length]
        self.at += length
        return found

    def number(self, code: str) -> int:
        """The next whole number."""
        value = struct.unpack("<" + code, self.take(struct.calcsize("<" + code)))[0]
        assert isinstance(value, int), "only codes of whole numbers come here"
        return value

    def text(self) -> str:
        """The next string."""
        start = self.at
        try:
            return str(self.take(self.number("Q")), "utf-8")
        except UnicodeDecodeError as error:
            raise self.error(f"a text that is not UTF-8: {error.reason}", start) from None

    def setting(self, kind: int) -> Setting:
        """The next value of a kind; an array is a list."""
        if kind == _STRING:
            return self.text()
        if kind == _ARRAY:
            return self._array()
        return self._scalars(kind, 1)[0]

    def _scalars(self, kind: int, count: int) -> list[Setting]:
        code = _SCALARS.get(kind)
        if code is None:
            raise self.error(f"there is no value type {kind}")
        # counts are checked before anything is made of that size
        content = self.take(count * struct.calcsize("<" + code))
        return [value for (value,) in struct.iter_unpack("<" + code, content)]

    def _array(self) -> list[Setting]:
        kind, count = self.number("I"), self.number("Q")
        if kind == _ARRAY:
            raise self.error("an array of arrays")
        if kind != _STRING:
            return self._scalars(kind, count)
        return [self.text() for _ in range(self._possible(count, 8))]

    def _possible(self, count: int, least_bytes: int) -> int:
        """A count of entries that take at least so many bytes each, if that many could be left."""
        if count * least_bytes > len(self.content) - self.at:
            raise self.error(f"{count} entries cannot be in the {len(self.content)} bytes")
        return count

    def tensor(self) -> _Info:
        """The next tensor's description."""
        start = self.at
        name, dimensions = self.text(), self.number("I")
        if dimensions > MOST_DIMENSIONS:
            raise self.error(f"{name!r} has {dimensions} axes, more than {MOST_DIMENSIONS}", start)
        sizes = [self.number("Q") for _ in range(dimensions)]
        return _Info(name, tuple(sizes[::-1]), self.number("I"), self.number("Q"), start)

    def start(self) -> tuple[int, int]:
        """The numbers of tensors and of settings."""
        if bytes(self.take(len(MAGIC))) != MAGIC:
            raise self.error("it does not begin with GGUF", 0)
        version = self.number("I")
        if version not in VERSIONS:
            raise self.error(f"version {version} is none of {VERSIONS}", len(MAGIC))
        tensors, settings = self.number("Q"), self.number("Q")
        return self._possible(tensors, 24), self._possible(settings, 13)


@names_bad_arguments
def gguf_load(source: Source) -> tuple[dict[str, Setting], dict[str, Tensor]]:
    """The settings and the tensors of a GGUF file, by name.

    `source` is a path, or the bytes of a file (also in a Tensor). Quantized tensors become float32
    (needs the extra `gguf`), all others keep their dtype. Shapes have the slowest axis first, as
    Tensors have. Raises `FileFormatError` when the file is damaged or of a kind that nobody knows,
    and `ImportError` when it has quantized tensors and `gguf` is not installed.
    """
    name = name_of(source)
    if isinstance(source, Tensor):
        return _loaded(_Header(name, bytes(source.data())))
    if isinstance(source, bytes):
        return _loaded(_Header(name, source))
    with opened(source, "GGUF") as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise FileFormatError(path=name, expected="GGUF", reason="it is empty")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            header = _Header(name, mapped)  # type: ignore[arg-type]
            try:
                return _loaded(header)
            finally:
                header.content.release()


def _loaded(header: _Header) -> tuple[dict[str, Setting], dict[str, Tensor]]:
    tensors, count = header.start()
    settings: dict[str, Setting] = {}
    for _ in range(count):
        key = header.text()
        settings[key] = header.setting(header.number("I"))
    infos = [header.tensor() for _ in range(tensors)]
    alignment = settings.get("general.alignment", DEFAULT_ALIGNMENT)
    if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
        raise header.error(f"an alignment of {alignment!r} is no power of two")
    data = -(-header.at // alignment) * alignment
    found: dict[str, Tensor] = {}
    for info in infos:
        if info.name in found:
            raise header.error(f"there are two tensors named {info.name!r}", info.described_at)
        found[info.name] = _tensor(header, info, data + info.offset)
    return settings, found


def _tensor(header: _Header, info: _Info, start: int) -> Tensor:
    elements = math.prod(info.shape)
    plain = _PLAIN.get(info.kind)
    length = elements * plain.itemsize if plain is not None else _packed_bytes(header, info)
    if start + length > len(header.content):
        reason = f"{info.name!r} ends at {start + length}, the file at {len(header.content)}"
        raise header.error(reason, info.described_at)
    content = bytes(header.content[start : start + length])
    if plain is not None:
        return Tensor(content, dtype=plain).reshape(info.shape)
    packed = np.frombuffer(content, np.uint8)
    kind = gguf.GGMLQuantizationType(info.kind)
    try:
        values = gguf.dequantize(packed, kind)
    except NotImplementedError:
        raise header.error(
            f"{info.name!r} is of type {kind.name}, which gguf cannot put back", info.described_at
        ) from None
    return Tensor(values.reshape(info.shape).astype(np.float32, copy=False))


def _packed_bytes(header: _Header, info: _Info) -> int:
    """The bytes of a quantized tensor: whole blocks along its fastest axis."""
    if gguf is None:
        raise MissingPackageError(
            package="gguf", reason="to put quantized tensors back", hint="pip install 'tg-nn[gguf]'"
        )
    try:
        block, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType(info.kind)]
    except (ValueError, KeyError):
        reason = f"{info.name!r} is of type {info.kind}, which nobody knows"
        raise header.error(reason, info.described_at) from None
    if not info.shape or info.shape[-1] % block:
        reason = f"rows of {info.name!r}, shape {info.shape}, are no whole blocks of {block}"
        raise header.error(reason, info.described_at)
    return math.prod(info.shape) // block * size
