"""What the scheduler refuses."""

from __future__ import annotations

from collections.abc import Sequence

from tg_uop.errors import TgError


class BindingError(TgError, ValueError, RuntimeError):
    """One variable with two values in what is realized together."""

    def __init__(self, *, name: str, values: Sequence[int]) -> None:
        self.name = name
        self.values = tuple(values)
        super().__init__(name, self.values)

    def explain(self) -> str:
        found = " and ".join(str(value) for value in self.values)
        return (
            f"variable {self.name!r} is bound to {found} in one schedule; "
            "realize the values separately, or use two variables"
        )


class ScheduleError(TgError, RuntimeError):
    """A graph that cannot be put into an order of kernels."""

    def __init__(self, *, reason: str, nodes: Sequence[str] = (), hint: str = "") -> None:
        self.reason = reason
        self.nodes = tuple(nodes)
        self.hint = hint
        super().__init__(reason, self.nodes, hint)

    def explain(self) -> str:
        lines = [f"cannot schedule: {self.reason}"]
        lines += [f"  {node}" for node in self.nodes]
        if self.hint:
            lines.append(self.hint)
        return "\n".join(lines)
