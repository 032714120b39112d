"""The interface of every renderer: linear form in, source text out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar

from tg_uop import ProgramInfo, UOp
from tg_uop.target import Target

from tg_codegen.target.caps import Capabilities

Compile = Callable[[str], bytes]


class Renderer(ABC):
    """Writes programs for one target.

    `compiler` turns its source into a binary; without one, compilation ends at the source.
    """

    name: ClassVar[str]

    def __init__(self, target: Target, caps: Capabilities, compiler: Compile | None = None) -> None:
        self.target = target
        self.caps = caps
        self.compiler = compiler

    @property
    def device(self) -> str:
        """The device that the programs are for, as in `Device[...]`."""
        return self.target.device

    @abstractmethod
    def render(self, linear_uops: Sequence[UOp], info: ProgramInfo) -> str:
        """The source of a program whose body is `linear_uops` (linear form)."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.target})"
