"""Read the bytes of a Tensor as a file, and the files of archives as Tensors."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from pathlib import Path

from tg_tensor import Tensor, dtypes
from tg_uop.arguments import names_bad_arguments, shown
from tg_uop.errors import ArgumentError, ArgumentTypeError, OperandError

from tg_nn.errors import FileFormatError, MissingFileError, UnreadableFileError

Source = str | Path | bytes | Tensor


class TensorIO(io.RawIOBase):
    """A file for reading whose content are the bytes of a Tensor of one axis.

    Only what is read is brought to the host. Raises `FileFormatError` for a Tensor that is not
    of uint8 or has more axes.

    >>> TensorIO(Tensor(b"abc")).read(2)
    b'ab'
    """

    def __init__(self, t: Tensor) -> None:
        if not isinstance(t, Tensor):
            raise OperandError(
                call="TensorIO", argument="t", given=shown(t), expected="a Tensor of bytes"
            )
        if t.ndim != 1 or t.dtype is not dtypes.uint8:
            raise FileFormatError(
                path="<Tensor>",
                expected="byte",
                reason=f"the bytes of a file have one axis and are of {dtypes.uint8}, "
                f"not shape {t.shape} of {t.dtype}; reshape or bitcast first",
            )
        super().__init__()
        self._tensor = t
        self._position = 0

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        """Fill `buffer` from here on; the number of bytes that there were."""
        view = memoryview(buffer).cast("B")
        start = min(self._position, len(self._tensor))
        end = min(start + len(view), len(self._tensor))
        if end > start:
            view[: end - start] = bytes(self._tensor[start:end].data())
        self._position = max(self._position, end)
        return end - start

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Go to a place counted from the start (0), from here (1) or from the end (2)."""
        origins = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: len(self._tensor)}
        if whence not in origins:
            raise ArgumentError(op="seek", argument="whence", given=whence, expected="0, 1 or 2")
        self._position = max(0, origins[whence] + offset)
        return self._position

    def tell(self) -> int:
        """The place of the next byte."""
        return self._position


def opened(source: Source, expected: str) -> io.BufferedReader | io.BytesIO:
    """A file, its bytes, or a Tensor of those, open for reading.

    Raises `MissingFileError` for a file that is not there, `UnreadableFileError` for a folder and
    what the system protects, `ArgumentTypeError` for what is none of these.
    """
    if isinstance(source, Tensor):
        return io.BufferedReader(TensorIO(source))
    if isinstance(source, bytes | bytearray | memoryview):
        return io.BytesIO(source)
    if not isinstance(source, str | os.PathLike):
        raise ArgumentTypeError(
            argument="source", given=shown(source), expected="a path, bytes or a Tensor of bytes"
        )
    try:
        return open(source, "rb")
    except FileNotFoundError:
        raise MissingFileError(path=str(source), expected=expected) from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise UnreadableFileError(path=str(source), expected=expected, reason=reason) from None


def name_of(source: Source) -> str:
    """What errors call the source."""
    return str(source) if isinstance(source, str | Path) else "<bytes>"


@names_bad_arguments
def tar_extract(source: Source) -> dict[str, Tensor]:
    """The files of a tar archive (compressed or not) as Tensors of uint8, by name.

    `source` is a path, or the bytes of a file (also in a Tensor). Raises `FileFormatError` when it
    is no such archive.
    """
    found = {}
    try:
        with opened(source, "tar") as file, tarfile.open(fileobj=file) as archive:
            for member in archive.getmembers():
                content = archive.extractfile(member) if member.isfile() else None
                if content is not None:
                    found[member.name] = Tensor(content.read())
    except (tarfile.TarError, EOFError) as error:
        raise FileFormatError(path=name_of(source), expected="tar", reason=str(error)) from error
    return found


@names_bad_arguments
def zip_extract(source: Source) -> dict[str, Tensor]:
    """The files of a zip archive as Tensors of uint8, by name.

    `source` is a path, or the bytes of a file (also in a Tensor). Raises `FileFormatError` when it
    is no such archive.
    """
    try:
        with opened(source, "zip") as file, zipfile.ZipFile(file) as archive:
            return {
                entry.filename: Tensor(archive.read(entry))
                for entry in archive.infolist()
                if not entry.is_dir()
            }
    except zipfile.BadZipFile as error:
        raise FileFormatError(path=name_of(source), expected="zip", reason=str(error)) from error
