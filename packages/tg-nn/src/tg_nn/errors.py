"""Every exception of the package, one tree on that of tg-uop."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from pathlib import Path

from tg_uop.errors import TgError


class LayerError(TgError, ValueError, RuntimeError):
    """Arguments that a layer cannot be built or called with.

    PyTorch has a `ValueError` where a layer is built, mostly a `RuntimeError` where it is called.
    """

    def __init__(self, *, layer: str, reason: str, hint: str = "") -> None:
        self.layer = layer
        self.reason = reason
        self.hint = hint
        super().__init__(layer, reason, hint)

    def explain(self) -> str:
        return f"{self.layer}: {self.reason}" + (f"; {self.hint}" if self.hint else "")


class OptimizerError(TgError, ValueError, RuntimeError):
    """Parameters or settings that an optimizer cannot work with, or a step at the wrong time."""

    def __init__(self, *, optimizer: str, reason: str, hint: str = "") -> None:
        self.optimizer = optimizer
        self.reason = reason
        self.hint = hint
        super().__init__(optimizer, reason, hint)

    def explain(self) -> str:
        return f"{self.optimizer}: {self.reason}" + (f"; {self.hint}" if self.hint else "")


class StateDictError(TgError, KeyError, ValueError, RuntimeError):
    """A state dict whose names or shapes are not those of the model.

    PyTorch has a `RuntimeError` here.
    """

    def __init__(
        self,
        *,
        missing: Sequence[str] = (),
        unexpected: Sequence[str] = (),
        mismatched: Sequence[str] = (),
    ) -> None:
        self.missing = tuple(missing)
        self.unexpected = tuple(unexpected)
        self.mismatched = tuple(mismatched)
        super().__init__(self.missing, self.unexpected, self.mismatched)

    def explain(self) -> str:
        parts = []
        if self.missing:
            parts.append(f"missing: {', '.join(self.missing)}")
        if self.unexpected:
            parts.append(f"unexpected: {', '.join(self.unexpected)}")
        if self.mismatched:
            parts.append(f"of another shape: {', '.join(self.mismatched)}")
        return (
            f"the state dict does not fit the model ({'; '.join(parts)}); nothing was loaded; "
            "strict=False loads what fits"
        )


class MissingFileError(TgError, FileNotFoundError):
    """A file that is not there."""

    def __init__(self, *, path: Path | str, expected: str) -> None:
        self.path = str(path)
        self.expected = expected
        super().__init__(self.path, expected)
        self.errno = errno.ENOENT
        self.filename = self.path

    def explain(self) -> str:
        folder = Path(self.path).parent
        name = "the working directory" if folder == Path() else str(folder)
        where = f"{name} has no such file" if folder.is_dir() else f"there is no folder {name}"
        return f"no {self.expected} file {self.path}: {where}"


class UnreadableFileError(TgError, OSError):
    """A file that is there and cannot be read or written: a folder, or one that is protected."""

    def __init__(self, *, path: Path | str, expected: str, reason: str) -> None:
        self.path = str(path)
        self.expected = expected
        self.reason = reason
        super().__init__(self.path, expected, reason)
        self.filename = self.path

    def explain(self) -> str:
        return f"cannot use {self.path} as a {self.expected} file: {self.reason}"


class MissingPackageError(TgError, ImportError):
    """A package that is not installed, and is needed for what was asked for."""

    def __init__(self, *, package: str, reason: str, hint: str) -> None:
        self.package = package
        self.reason = reason
        self.hint = hint
        super().__init__(package, reason, hint)

    def explain(self) -> str:
        return f"the package {self.package} is needed {self.reason}: {self.hint}"


class FileFormatError(TgError, ValueError):
    """A file that is not what its name says, cut off, or damaged."""

    def __init__(self, *, path: Path | str, expected: str, reason: str, offset: int = 0) -> None:
        self.path = str(path)
        self.expected = expected
        self.reason = reason
        self.offset = offset
        super().__init__(self.path, expected, reason, offset)

    def explain(self) -> str:
        return f"{self.path} is no valid {self.expected} file (offset {self.offset}): {self.reason}"
