"""What custom kernels and functions refuse."""

from __future__ import annotations

from tg_uop.errors import TgError


class CustomError(TgError, ValueError, RuntimeError, TypeError):
    """A kernel or function by a user that does not fit what it is used for."""

    def __init__(self, *, function: str, reason: str, hint: str = "") -> None:
        self.function = function
        self.reason = reason
        self.hint = hint
        super().__init__(function, reason, hint)

    def explain(self) -> str:
        text = f"{self.function}: {self.reason}"
        return f"{text}; {self.hint}" if self.hint else text
