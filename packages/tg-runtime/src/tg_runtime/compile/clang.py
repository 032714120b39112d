"""C to a relocatable object, through the clang or gcc that is on PATH."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from functools import cache
from typing import Final

from tg_runtime.compile.compiler import Compiler
from tg_runtime.compile.disk_cache import CompilerCache, default_compiler_cache
from tg_runtime.errors import CompileError, ToolMissingError
from tg_runtime.host.processor import host_arch, machine

_NAMES: Final = ("clang", "gcc", "cc")
_GCC_NAMES: Final = ("gcc",)
_FLAGS: Final = (
    "-O2",
    "-fPIC",
    "-c",
    "-x",
    "c",
    "-ffreestanding",
    "-fno-math-errno",
    "-ffp-contract=off",
    # The kernel has chosen its vectors. Joining scalar code to more of them, gcc 12 loses the
    # rounding of float32 -> float16 -> float32, and convolutions took twice the time.
    "-fno-tree-slp-vectorize",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-fno-ident",
    "-w",
)
_TIMEOUT_S: Final = 120.0


@cache
def find_c_compiler(names: tuple[str, ...] = _NAMES) -> str:
    """The path of the C compiler: the first of the names on PATH. Raises `ToolMissingError`."""
    for name in names:
        path = shutil.which(name)
        if path is not None:
            return path
    raise ToolMissingError(
        tool="a C compiler",
        looked_for=[f"{name} on PATH" for name in names],
        hint="install one, or use CPU:LLVM, which needs none",
    )


@cache
def _version_of(path: str) -> str:
    try:
        answer = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=_TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolMissingError(tool=path, looked_for=[f"its version ({error})"]) from error
    return answer.stdout.splitlines()[0] if answer.stdout else "unknown"


class ClangCompiler(Compiler):
    """C source to an object file for this machine.

    `-ffp-contract=off`: a multiply and an add are fused only where the kernel says so, as in LLVM.
    """

    side_by_side = max(1, os.cpu_count() or 1)

    def __init__(
        self,
        arch: str = "",
        features: tuple[str, ...] = (),
        *,
        names: tuple[str, ...] = _NAMES,
        cache: CompilerCache = default_compiler_cache,
    ) -> None:
        self.path = find_c_compiler(names)
        self.flags = (*_FLAGS, *_arch_flags(arch or machine(), features, _is_clang(self.path)))
        # `native` means another processor on another machine that shares the cache
        key = f"{_version_of(self.path)}:{' '.join(self.flags)}:{host_arch()}"
        super().__init__(key, cache)

    def compile(self, source: str) -> bytes:
        """The object of C text. Raises `CompileError` with the compiler's message."""
        with tempfile.TemporaryDirectory(prefix="tg-") as folder:
            return self._compile_in(folder, source)

    def _compile_in(self, folder: str, source: str) -> bytes:
        # a real file: the GNU assembler seeks in what it writes
        output = os.path.join(folder, "kernel.o")
        command = [self.path, *self.flags, "-", "-o", output]
        try:
            answer = subprocess.run(
                command, input=source.encode(), capture_output=True, timeout=_TIMEOUT_S, check=False
            )
            if answer.returncode == 0:
                with open(output, "rb") as file:
                    return file.read()
        except (OSError, subprocess.SubprocessError) as error:
            raise CompileError(compiler=self.path, message=str(error), source=source) from error
        message = answer.stderr.decode(errors="replace")
        raise CompileError(compiler=self.path, message=message, source=source)


def _is_clang(path: str) -> bool:
    return "clang" in _version_of(path)


def _arch_flags(arch: str, features: tuple[str, ...], clang: bool) -> tuple[str, ...]:
    """Flags for the processor; the host's own features are left to `native`."""
    if arch != machine():
        raise ToolMissingError(
            tool=f"C compiler for {arch}",
            looked_for=[f"only {machine()} is supported"],
            hint="use CPU:LLVM, which compiles for any architecture",
        )
    removed = tuple(f"-mno-{f[1:]}" for f in features if f.startswith("-"))
    if arch == "x86_64":
        # AVX-512 registers are halved by default, although the kernel chose them on purpose
        width = ("-mprefer-vector-width=512",)
        return ("-march=native", *width, *removed)
    return ("-mcpu=native",) if clang or arch == "aarch64" else ()


def compiler_for(arch: str, model: str, features: tuple[str, ...]) -> ClangCompiler:
    """The compiler for this machine's processor. Raises `ToolMissingError`."""
    return ClangCompiler(arch, features)


def gcc_for(arch: str, model: str, features: tuple[str, ...]) -> ClangCompiler:
    """The same with gcc alone. Raises `ToolMissingError`."""
    return ClangCompiler(arch, features, names=_GCC_NAMES)
