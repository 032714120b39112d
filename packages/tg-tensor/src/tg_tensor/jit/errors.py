"""What the JIT refuses."""

from __future__ import annotations

from collections.abc import Sequence

from tg_uop.errors import TgError


class JitError(TgError, RuntimeError):
    """A call that cannot be captured, or that no captured step fits."""

    def __init__(
        self, *, function: str, reason: str, changed: Sequence[str] = (), hint: str = ""
    ) -> None:
        self.function = function
        self.reason = reason
        self.changed = tuple(changed)
        self.hint = hint
        super().__init__(function, reason, self.changed, hint)

    def explain(self) -> str:
        lines = [f"jit of {self.function}: {self.reason}"]
        lines += [f"  {entry}" for entry in self.changed]
        if self.hint:
            lines.append(self.hint)
        return "\n".join(lines)


class ContainerError(TgError, TypeError):
    """Tensors in a container that cannot be taken apart."""

    def __init__(self, *, place: str, kind: str, reason: str, hint: str) -> None:
        self.place = place
        self.kind = kind
        self.reason = reason
        self.hint = hint
        super().__init__(place, kind, reason, hint)

    def explain(self) -> str:
        return f"{self.place} is a {self.kind}: {self.reason}; {self.hint}"
