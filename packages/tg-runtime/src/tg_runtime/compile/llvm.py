"""LLVM IR to a relocatable object, through llvmlite.

Importing this module is cheap; llvmlite is loaded by the first compilation that misses the cache.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
from functools import cache
from types import ModuleType
from typing import Any, Final

from tg_runtime.compile.compiler import Compiler
from tg_runtime.compile.disk_cache import CompilerCache, default_compiler_cache
from tg_runtime.compile.llvm_passes import LIST_NUMBER, add_short_passes, is_plain_kernel
from tg_runtime.errors import CompileError, ToolMissingError
from tg_runtime.host.fork import Rank, fork_safe_lock

# one LLVM context is not for several threads at once
_lock = fork_safe_lock(Rank.COMPILER)

TRIPLES: Final = {
    "x86_64": "x86_64-unknown-linux-gnu",
    "aarch64": "aarch64-unknown-linux-gnu",
    "riscv64": "riscv64-unknown-linux-gnu",
    "wasm32": "wasm32-unknown-unknown",
}


@cache
def llvmlite_version() -> str:
    """The version of the installed llvmlite, found without importing it.

    Raises `ToolMissingError`.
    """
    spec = importlib.util.find_spec("llvmlite")
    if spec is None or spec.origin is None:
        raise ToolMissingError(
            tool="llvmlite", looked_for=["the Python package"], hint="pip install llvmlite"
        )
    try:
        with open(os.path.join(os.path.dirname(spec.origin), "_version.py")) as file:
            found = re.search(r"version_version = '([^']+)'", file.read())
    except OSError:
        found = None
    return found.group(1) if found else str(_llvm().__version__)


@cache
def _binding() -> ModuleType:
    """llvmlite's binding with every target initialized."""
    binding = importlib.import_module("llvmlite.binding")
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    return binding


def _llvm() -> ModuleType:
    return importlib.import_module("llvmlite")


class LLVMCompiler(Compiler):
    """LLVM IR text to an object file for one processor.

    `features` are LLVM's names, each with or without a sign. Position-independent code, so that it
    can be loaded anywhere.
    """

    def __init__(
        self,
        arch: str,
        model: str = "",
        features: tuple[str, ...] = (),
        *,
        level: int = 2,
        cache: CompilerCache = default_compiler_cache,
    ) -> None:
        if arch not in TRIPLES:
            raise ToolMissingError(
                tool=f"LLVM target for {arch}", looked_for=[f"one of {', '.join(TRIPLES)}"]
            )
        self.arch = arch
        self.model = model
        self.features = ",".join(signed_features(arch, features))
        self.level = level
        self._made_machine: Any = None
        self._data_layout = ""
        self._builder: Any = None
        tool = f"llvm-{llvmlite_version()}:O{level}.{LIST_NUMBER}"
        super().__init__(f"{tool}:{arch}:{model}:{self.features}", cache)

    def compile(self, source: str) -> bytes:
        """The object of LLVM IR text. Raises `CompileError` with LLVM's message."""
        with _lock:
            binding = _binding()
            module = self._parse(binding, source)
            self._optimize(binding, module, source)
            return bytes(self._machine(binding).emit_object(module))

    def assembly(self, source: str) -> str:
        """The optimized assembly text of LLVM IR. Raises `CompileError`."""
        with _lock:
            binding = _binding()
            module = self._parse(binding, source)
            self._optimize(binding, module, source)
            return str(self._machine(binding).emit_assembly(module))

    def disassemble(self, binary: bytes) -> str:
        """A listing of the object's symbols and sizes is not code; see `assembly`."""
        return ""

    def _parse(self, binding: ModuleType, source: str) -> Any:
        try:
            module = binding.parse_assembly(source)
            module.verify()
        except RuntimeError as error:
            raise CompileError(compiler="LLVM", message=str(error), source=source) from error
        module.triple = TRIPLES[self.arch]
        return module

    def _machine(self, binding: ModuleType) -> Any:
        """The target machine, made once: each call of LLVM waits for the interpreter lock."""
        if self._made_machine is None:
            target = binding.Target.from_triple(TRIPLES[self.arch])
            self._made_machine = target.create_target_machine(
                cpu=self.model,
                features=self.features,
                opt=self.level,
                reloc="pic",
                codemodel="small",
            )
            self._data_layout = str(self._made_machine.target_data)
        return self._made_machine

    def _optimize(self, binding: ModuleType, module: Any, source: str) -> None:
        machine = self._machine(binding)
        module.data_layout = self._data_layout
        if self._builder is None:
            options = binding.create_pipeline_tuning_options(speed_level=self.level)
            # for kernels that the renderer left to LLVM, and the runtime's own functions
            options.loop_vectorization = True
            options.slp_vectorization = False
            self._builder = binding.create_pass_builder(machine, options)
        # some passes hand on what they hold when they run: the list of passes is good for one run
        if self.level and is_plain_kernel(source):
            passes = binding.create_new_module_pass_manager()
            add_short_passes(passes)
        else:
            passes = self._builder.getModulePassManager()
        passes.run(module, self._builder)


def compiler_for(arch: str, model: str, features: tuple[str, ...]) -> LLVMCompiler:
    """The compiler for a processor. Raises `ToolMissingError`."""
    return LLVMCompiler(arch, model, features)


def signed_features(arch: str, features: tuple[str, ...]) -> tuple[str, ...]:
    """The features as LLVM wants them, each with a sign."""
    signed = tuple(f if f[:1] in ("+", "-") else f"+{f}" for f in features)
    if arch == "x86_64":
        # LLVM ends the process for a processor that it does not know, unless this is said
        signed += ("+64bit",)
    if arch == "x86_64" and "+avx512f" in signed:
        # tuning of the model would split 512-bit vectors that the kernel chose on purpose
        signed += ("-prefer-256-bit",)
    return signed
