"""NULL: compiles for any renderer and architecture, allocates addresses, runs nothing."""

from __future__ import annotations

from tg_codegen.render.registry import renderer_for
from tg_uop import ProgramInfo
from tg_uop.target import Target

from tg_runtime.compile.compiler import Compiler
from tg_runtime.compile.source import SourceIsBinary
from tg_runtime.device import (
    DEFAULT_SPEC,
    Allocator,
    BufferSpec,
    Compiled,
    Memory,
    ToolChain,
)
from tg_runtime.devices.cpu.device import COMPILERS, compiler_for, complete_target
from tg_runtime.errors import BufferUseError, ToolMissingError

_FIRST_ADDRESS = 1 << 40
_ALIGNMENT = 1 << 12


class NullAllocator(Allocator):
    """Addresses that nothing stands behind."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self._next = _FIRST_ADDRESS

    def alloc(self, size: int, options: BufferSpec = DEFAULT_SPEC) -> Memory:
        """A range of addresses of its own."""
        start = self._next
        self._next += -(-max(size, 1) // _ALIGNMENT) * _ALIGNMENT
        return Memory(start, size)

    def free(self, memory: Memory, options: BufferSpec = DEFAULT_SPEC) -> None:
        """Nothing to do."""

    def copy_in(self, target: Memory, source: memoryview, fresh: bool = False) -> None:
        """Forgets the bytes."""

    def copy_out(self, target: memoryview, source: Memory) -> None:
        """There are no bytes. Raises `BufferUseError`."""
        raise BufferUseError(
            attempted="read",
            buffer=f"{source.size} bytes on {self.device}",
            reason="NULL keeps no values",
            hint="use it to compile and schedule only",
        )

    def transfer(self, target: Memory, source: Memory, size: int, source_device: Compiled) -> bool:
        """Nothing to move."""
        return True


class NullProgram:
    """A kernel that does nothing, at once."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(
        self,
        *buffers: Memory,
        global_size: tuple[int, ...] = (1, 1, 1),
        local_size: tuple[int, ...] | None = None,
        vals: tuple[int, ...] = (),
        wait: bool = False,
    ) -> float | None:
        """Zero seconds when `wait`."""
        return 0.0 if wait else None


class NullDevice(Compiled):
    """For compiling without the device: `DEV=NULL:LLVM:aarch64`."""

    def __init__(self, device: str) -> None:
        super().__init__(device, NullAllocator(device))

    def make_tool_chain(self, target: Target) -> ToolChain:
        """The renderer that the target names, with its compiler where there is one here.

        Elsewhere the source stands for the binary: it will not run anyway.
        """
        if not target.renderer or target.renderer in COMPILERS:
            target = complete_target(target)
        compiler = _compiler_or_source(target)
        return ToolChain(renderer_for(target, compiler.compile_cached), compiler)

    def runtime(self, info: ProgramInfo, binary: bytes) -> NullProgram:
        """A program that does nothing."""
        return NullProgram(info.name)

    def count(self) -> int:
        """As many as one likes."""
        return 64


def _compiler_or_source(target: Target) -> Compiler:
    if target.renderer not in COMPILERS:
        return SourceIsBinary()
    try:
        return compiler_for(target)
    except ToolMissingError:
        return SourceIsBinary()
