"""5. Linear form: instructions in order, as a renderer or the interpreter takes them."""

from __future__ import annotations

from expression import RENDERER, kernel
from tg_codegen.pipeline import to_program
from tg_uop import Ops
from tg_uop.text.dump import dump_linear

program = to_program(kernel(), RENDERER)
linear = next(part for part in program.src if part.op is Ops.LINEAR)
print(dump_linear(linear))
