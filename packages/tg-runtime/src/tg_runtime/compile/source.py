"""The tool chain of devices that take the source itself as their binary."""

from __future__ import annotations

from tg_runtime.compile.compiler import Compiler


class SourceIsBinary(Compiler):
    """Gives the source back as bytes; there is nothing worth keeping on disk."""

    def __init__(self) -> None:
        super().__init__("source")

    def compile(self, source: str) -> bytes:
        """The source as bytes."""
        return source.encode()

    def compile_cached(self, source: str) -> bytes:
        """The source as bytes."""
        return source.encode()
