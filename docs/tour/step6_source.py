"""6. The renderer writes source, and PROGRAM says how to launch it."""

from __future__ import annotations

from expression import RENDERER, kernel
from tg_codegen.pipeline import to_program
from tg_uop import Ops

program = to_program(kernel(), RENDERER)
info = program.program_info
print("function", info.function_name)
print("launch", info.launch_dims({}))
print("buffers", info.globals, "written", info.outs, "read", info.ins)
print()
print(next(part.arg for part in program.src if part.op is Ops.SOURCE))
