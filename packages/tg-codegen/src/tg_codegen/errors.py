"""Every exception of the package, one tree under TgError."""

from __future__ import annotations

from collections.abc import Sequence

from tg_uop.errors import TgError


class CodegenError(TgError):
    """Base of every error that turning a kernel into a program raises on purpose."""


class KernelOptError(CodegenError, ValueError):
    """An optimization that cannot be applied to this kernel on this target."""

    def __init__(self, *, opt: object, kernel: str, reason: str, hint: str = "") -> None:
        self.opt = opt
        self.kernel = kernel
        self.reason = reason
        self.hint = hint
        super().__init__(opt, kernel, reason, hint)

    def explain(self) -> str:
        text = f"{self.opt} on kernel {self.kernel}: {self.reason}"
        return f"{text}; {self.hint}" if self.hint else text


class KernelFormError(CodegenError, ValueError):
    """A graph given as a kernel or program that is none."""

    def __init__(self, *, node: str, reason: str, hint: str = "") -> None:
        self.node = node
        self.reason = reason
        self.hint = hint
        super().__init__(node, reason, hint)

    def explain(self) -> str:
        text = f"{self.node}: {self.reason}"
        return f"{text}; {self.hint}" if self.hint else text


class OutOfBoundsError(CodegenError, IndexError):
    """An access of a kernel that leaves its memory; CHECK_OOB looks for them."""

    def __init__(self, *, kernel: str, index: str, size: int, example: str) -> None:
        self.kernel = kernel
        self.index = index
        self.size = size
        self.example = example
        super().__init__(kernel, index, size, example)

    def explain(self) -> str:
        return (
            f"kernel {self.kernel}: index {self.index} leaves memory of {self.size} elements: it "
            f"is {self.example}; guard it with valid(condition)"
        )


class UnsupportedError(CodegenError, NotImplementedError):
    """Something that the target has no way to do."""

    def __init__(self, *, what: str, target: str, reason: str, hint: str = "") -> None:
        self.what = what
        self.target = target
        self.reason = reason
        self.hint = hint
        super().__init__(what, target, reason, hint)

    def explain(self) -> str:
        text = f"{self.what} on {self.target}: {self.reason}"
        return f"{text}; {self.hint}" if self.hint else text


class SearchError(CodegenError, RuntimeError):
    """A beam search in which no candidate could be measured."""

    def __init__(self, *, kernel: str, tried: int, failures: Sequence[str]) -> None:
        self.kernel = kernel
        self.tried = tried
        self.failures = tuple(failures)
        super().__init__(kernel, tried, self.failures)

    def explain(self) -> str:
        shown = "; ".join(self.failures[:3])
        return f"search on kernel {self.kernel}: none of {self.tried} candidates ran ({shown})"
