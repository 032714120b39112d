"""GGUF files: settings, plain and quantized tensors, damage."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from tg_nn.errors import FileFormatError
from tg_nn.state import gguf_load
from tg_tensor import Tensor, dtypes

gguf = pytest.importorskip("gguf")


def written(path: Path) -> Path:
    """A file with a setting of each kind, and a tensor of some types."""
    writer = gguf.GGUFWriter(path, "test")
    writer.add_uint32("a.count", 7)
    writer.add_float32("a.rate", 0.5)
    writer.add_bool("a.flag", True)
    writer.add_string("a.text", "größer")
    writer.add_array("a.numbers", [1, -2, 3])
    writer.add_array("a.words", ["x", "", "yz"])
    writer.add_tensor("single", np.arange(6, dtype=np.float32).reshape(2, 3))
    writer.add_tensor("half", np.array([1.5, -2], np.float16))
    writer.add_tensor("whole", np.array([[1], [-2]], np.int32))
    for kind in (gguf.GGMLQuantizationType.Q8_0, gguf.GGMLQuantizationType.Q4_0):
        packed = gguf.quantize(values(), kind)
        writer.add_tensor(kind.name, packed, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def values() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((3, 64)).astype(np.float32)


@pytest.mark.parametrize("given", ["path", "bytes", "Tensor"])
def test_settings_and_tensors(given: str, tmp_path: Path) -> None:
    path = written(tmp_path / "model.gguf")
    content = path.read_bytes()
    settings, tensors = gguf_load(
        {"path": path, "bytes": content, "Tensor": Tensor(content)}[given]
    )
    assert settings["a.count"] == 7
    assert settings["a.rate"] == 0.5
    assert settings["a.flag"] is True
    assert settings["a.text"] == "größer"
    assert settings["a.numbers"] == [1, -2, 3]
    assert settings["a.words"] == ["x", "", "yz"]
    assert tensors["single"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert tensors["half"].dtype is dtypes.float16
    assert tensors["half"].tolist() == [1.5, -2]
    assert tensors["whole"].tolist() == [[1], [-2]]
    np.testing.assert_allclose(tensors["Q8_0"].numpy(), values(), atol=0.02)
    np.testing.assert_allclose(tensors["Q4_0"].numpy(), values(), atol=0.3)
    assert tensors["Q4_0"].dtype is dtypes.float32


def test_every_beginning_of_a_file_is_refused(tmp_path: Path) -> None:
    content = written(tmp_path / "model.gguf").read_bytes()
    # the last tensor is followed by less than 32 bytes that nobody reads
    for length in [*range(0, 900, 13), len(content) - 32]:
        with pytest.raises(FileFormatError):
            gguf_load(content[:length])


def header(tensors: int, settings: int, rest: bytes = b"", version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, settings) + rest


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def tensor(shape: tuple[int, ...], kind: int = 0, offset: int = 0, name: bytes = b"w") -> bytes:
    sizes = struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
    return text(name) + sizes + struct.pack("<IQ", kind, offset)


HUGE = 1 << 62


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"GGML" + bytes(40), "does not begin"),
        (header(0, 0, version=1), "version 1"),
        (header(HUGE, 0), "cannot be"),
        (header(0, HUGE), "cannot be"),
        (header(0, 1, struct.pack("<Q", HUGE) + bytes(40)), "should follow"),
        (header(0, 1, text(b"\xff") + bytes(40)), "UTF-8"),
        (header(0, 1, text(b"k") + struct.pack("<I", 77) + bytes(8)), "value type 77"),
        (header(0, 1, text(b"k") + struct.pack("<IIQ", 9, 4, HUGE) + bytes(8)), "should follow"),
        (header(0, 1, text(b"k") + struct.pack("<IIQ", 9, 8, HUGE) + bytes(8)), "cannot be"),
        (header(0, 1, text(b"k") + struct.pack("<IIQ", 9, 9, 1) + bytes(8)), "array of arrays"),
        (
            header(0, 1, text(b"general.alignment") + struct.pack("<II", 4, 3)),
            "no power of two",
        ),
        (header(1, 0, tensor((4,)) + bytes(15)), "the file at"),
        (header(1, 0, tensor((1 << 40,))), "the file at"),
        (header(1, 0, tensor((4,), offset=HUGE) + bytes(64)), "the file at"),
        (header(1, 0, tensor((1,) * 9) + bytes(64)), "9 axes"),
        (header(1, 0, tensor((4,), kind=99) + bytes(64)), "which nobody knows"),
        (header(1, 0, tensor((33,), kind=8) + bytes(99)), "no whole blocks"),
        (header(2, 0, tensor((1,)) * 2 + bytes(99)), "two tensors"),
    ],
)
def test_damaged_and_hostile_files_are_refused(content: bytes, reason: str) -> None:
    with pytest.raises(FileFormatError, match=reason):
        gguf_load(content)


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "none.gguf").touch()
    with pytest.raises(FileFormatError, match="empty"):
        gguf_load(tmp_path / "none.gguf")
