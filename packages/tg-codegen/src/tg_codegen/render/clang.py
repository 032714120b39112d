"""Render C for processors, for gcc and clang alike.

As in the LLVM renderer, the kernel is a function with restrict pointers that is always inlined into
the entry `void NAME(const uint64_t *args, int64_t core_id)`.
"""

from __future__ import annotations

from tg_uop import ProgramInfo
from tg_uop.target import Target

from tg_codegen.errors import UnsupportedError
from tg_codegen.render.c import CRenderer
from tg_codegen.render.c_body import HALF_PRELUDE, PRELUDE, Body
from tg_codegen.render.renderer import Compile, Renderer
from tg_codegen.target.cpu import CpuDescription, describe_cpu
from tg_codegen.target.registry import c_capabilities


class ClangRenderer(CRenderer):
    """C with GNU extensions for the processor families of `tg_codegen.target.cpu`."""

    name = "CLANG"

    def __init__(
        self, target: Target, cpu: CpuDescription, compiler: Compile | None = None
    ) -> None:
        super().__init__(target, c_capabilities(cpu), compiler)
        self.cpu = cpu

    def kernel_text(self, body: Body, info: ProgramInfo) -> str:
        """The definitions, the kernel and its entry."""
        name = info.function_name
        buffers = [f"data{slot}" for slot in info.globals]
        variables = [f"var{position}" for position in range(len(info.vars))]
        # a buffer that the kernel does not touch is bytes
        kinds = [body.pointers.get(buffer, "u8") for buffer in buffers]
        parameters = [
            f"{kind} *restrict {buffer}" for kind, buffer in zip(kinds, buffers, strict=True)
        ]
        parameters += [f"i64 {variable}" for variable in variables]
        parameters.append("i64 core_id")
        passed = [f"({kind} *)args[{i}]" for i, kind in enumerate(kinds)]
        passed += [f"(i64)args[{len(buffers) + i}]" for i in range(len(variables))]
        passed.append("core_id")
        uses_half = any("f16" in text for text in (*body.definitions, *body.lines))
        lines = [
            *PRELUDE,
            *([HALF_PRELUDE] if uses_half else []),
            *body.definitions,
            "static inline __attribute__((always_inline))",
            f"void {name}_body({', '.join(parameters)}) {{",
            *body.lines,
            "}",
            f"void {name}(const u64 *args, i64 core_id) {{",
            f"  {name}_body({', '.join(passed)});",
            "}",
        ]
        return "\n".join(lines) + "\n"

    def special(self, name: str) -> str:
        """The core is the only launch index."""
        if name != "core_id":
            raise UnsupportedError(
                what=f"launch index {name}",
                target=str(self.target),
                reason="a processor has no other launch index than core_id",
                hint="use loops or threads",
            )
        return name

    def barrier(self) -> str:
        """One thread has nobody to wait for."""
        return ""


def make(target: Target, compiler: Compile | None) -> Renderer:
    """The renderer of `target`."""
    return ClangRenderer(target, describe_cpu(target), compiler)
