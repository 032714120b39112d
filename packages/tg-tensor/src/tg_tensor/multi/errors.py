"""What sharded values refuse."""

from __future__ import annotations

from tg_uop.errors import TgError


class ShardError(TgError, ValueError, RuntimeError):
    """Operands that are sharded in ways that do not go together."""

    def __init__(self, *, op: str, reason: str, hint: str = "") -> None:
        self.op = op
        self.reason = reason
        self.hint = hint
        super().__init__(op, reason, hint)

    def explain(self) -> str:
        text = f"{self.op} of sharded values: {self.reason}"
        return f"{text}; {self.hint}" if self.hint else text
