"""What can go wrong between a schedule and its result."""

from __future__ import annotations

from tg_uop.errors import TgError


class NotRealizedError(TgError, RuntimeError):
    """Memory of a value that has none."""

    def __init__(self, *, node: str, reason: str, hint: str = "") -> None:
        self.node = node
        self.reason = reason
        self.hint = hint
        super().__init__(node, reason, hint)

    def explain(self) -> str:
        text = f"no memory for {self.node}: {self.reason}"
        return f"{text}; {self.hint}" if self.hint else text


class CallError(TgError, ValueError):
    """A call in a schedule that cannot run."""

    def __init__(self, *, call: str, reason: str, hint: str = "") -> None:
        self.call = call
        self.reason = reason
        self.hint = hint
        super().__init__(call, reason, hint)

    def explain(self) -> str:
        text = f"cannot run {self.call}: {self.reason}"
        return f"{text}; {self.hint}" if self.hint else text


class ValidationError(TgError, RuntimeError):
    """A kernel whose result differs from that of the same kernel on another device."""

    def __init__(
        self, *, kernel: str, output: int, element: int, got: object, want: object
    ) -> None:
        self.kernel = kernel
        self.output = output
        self.element = element
        self.got = got
        self.want = want
        super().__init__(kernel, output, element, got, want)

    def explain(self) -> str:
        return (
            f"kernel {self.kernel}, output {self.output}: element {self.element} is {self.got}, "
            f"on CPU it is {self.want}"
        )
