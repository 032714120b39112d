"""Read tensors whose elements lie in files beside the model, without leaving its folder."""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from onnx import TensorProto

from tg_onnx.errors import ModelFormatError


@dataclass(slots=True)
class ExternalFiles:
    """The files that a model's tensors may name: those in the folders that its own file is in.

    There are two where the model is reached by a link. `folders` is empty for models that are no
    file. Files are mapped, not read, so that weights take no memory until they are used.
    """

    folders: tuple[Path, ...] = ()
    opened: dict[Path, memoryview] = field(default_factory=dict)

    @classmethod
    def beside(cls, model: Path) -> ExternalFiles:
        """The files beside a model."""
        return cls((model.parent.resolve(), model.resolve().parent))

    def data(self, tensor: TensorProto) -> memoryview:
        """The bytes of a tensor. Raises `ModelFormatError` when it names none of such a file."""
        entries = {entry.key: entry.value for entry in tensor.external_data}
        whole = self._file(tensor.name, entries.get("location", ""))
        offset = _number(tensor.name, entries, "offset", 0)
        length = _number(tensor.name, entries, "length", len(whole) - offset)
        if offset + length > len(whole) or length < 0:
            reason = f"bytes {offset} to {offset + length} of a file of {len(whole)}"
            raise _error(tensor.name, reason)
        return whole[offset : offset + length]

    def _file(self, name: str, location: str) -> memoryview:
        if not self.folders:
            raise _error(name, "the model is not read from a file, so nothing lies beside it")
        path = self._place(name, location)
        if path not in self.opened:
            self.opened[path] = _mapped(name, path)
        return self.opened[path]

    def _place(self, name: str, location: str) -> Path:
        given = Path(location)
        if not location or "\0" in location or given.is_absolute() or ".." in given.parts:
            raise _error(name, f"the place {location!r} is not inside of the model's folder")
        try:
            path = (self.folders[0] / given).resolve()
        except (OSError, RuntimeError) as error:
            # links that lead to themselves
            raise _error(name, str(error)) from error
        if not any(path.is_relative_to(folder) for folder in self.folders):
            raise _error(name, f"the place {location!r} leads out of the model's folder")
        if not path.is_file():
            raise _error(name, f"there is no file {location!r} beside the model")
        return path


def _mapped(name: str, path: Path) -> memoryview:
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                return memoryview(b"")
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        raise _error(name, str(error)) from error


def _number(name: str, entries: Mapping[str, str], key: str, default: int) -> int:
    text = entries.get(key)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise _error(name, f"{key} {text!r} is no number of bytes")
    return int(text)


def _error(name: str, reason: str) -> ModelFormatError:
    return ModelFormatError(source=f"tensor {name!r}", reason=f"external data: {reason}")
