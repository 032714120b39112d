"""The base of every tool chain: source to binary, through the disk cache."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from tg_runtime.compile.disk_cache import CompilerCache, content_key, default_compiler_cache


class Compiler(ABC):
    """Turns source into a binary, purely: equal `key` and source give an equal binary.

    `key` holds everything that shapes the binary beside the source: the tool's name and version,
    its flags, the processor and its features. `side_by_side` compilations are faster at once than
    one after the other.
    """

    side_by_side: ClassVar[int] = 1

    def __init__(self, key: str, cache: CompilerCache = default_compiler_cache) -> None:
        self.key = key
        self.cache = cache

    @abstractmethod
    def compile(self, source: str) -> bytes:
        """The binary of `source`, compiled anew. Raises `CompileError`."""

    def compile_cached(self, source: str) -> bytes:
        """The binary of `source`, from disk where it is there. Raises `CompileError`."""
        key = content_key(self.key, source)
        binary = self.cache.get(key)
        if binary is None:
            binary = self.compile(source)
            self.cache.put(key, binary)
        return binary

    def disassemble(self, binary: bytes) -> str:
        """The machine code as text; empty where no tool can tell."""
        return ""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.key})"
