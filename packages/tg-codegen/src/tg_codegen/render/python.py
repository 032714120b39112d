"""Render for the interpreter: the linear list as text that rebuilds it."""

from __future__ import annotations

from collections.abc import Sequence

from tg_uop import Ops, ProgramInfo, UOp
from tg_uop.target import Target
from tg_uop.text.pycode import to_python

from tg_codegen.render.renderer import Compile, Renderer
from tg_codegen.target.registry import INTERPRETER


class PythonRenderer(Renderer):
    """The text form of `tg_uop.text.pycode`."""

    name = "PYTHON"

    def __init__(self, target: Target, compiler: Compile | None = None) -> None:
        super().__init__(target, INTERPRETER, compiler)

    def render(self, linear_uops: Sequence[UOp], info: ProgramInfo) -> str:
        """The source of the LINEAR node."""
        return to_python(UOp(Ops.LINEAR, src=tuple(linear_uops)))


def make(target: Target, compiler: Compile | None) -> Renderer:
    """The renderer of `target`."""
    return PythonRenderer(target, compiler)
