"""Every exception that building, differentiating or reading a Tensor raises by itself.

Shapes, dtypes, devices and indices that do not fit raise the classes of `tg_uop.errors`.
"""

from __future__ import annotations

from collections.abc import Sequence

from tg_uop.errors import ArgumentError, TgError, UnknownModeError

__all__ = [
    "ArgumentError",
    "AssignError",
    "DataError",
    "DataKindError",
    "ElementCountError",
    "ExchangeError",
    "ExportError",
    "FetchError",
    "GradientError",
    "PartialWriteError",
    "UnknownModeError",
]


class DataError(TgError, ValueError, RuntimeError):
    """Data from outside that no Tensor can be made of; PyTorch: one or the other."""

    def __init__(self, *, given: str, reason: str, hint: str = "") -> None:
        self.given = given
        self.reason = reason
        self.hint = hint
        super().__init__(given, reason, hint)

    def explain(self) -> str:
        text = f"cannot make a Tensor of {self.given}: {self.reason}"
        return f"{text}; {self.hint}" if self.hint else text


class DataKindError(DataError, TypeError):
    """Data of a kind that no Tensor can be made of; PyTorch has a `TypeError` here."""


class ElementCountError(TgError, RuntimeError, ValueError):
    """A Tensor that must have one element and has more or fewer; PyTorch: `RuntimeError`."""

    def __init__(self, *, what: str, shape: Sequence[object]) -> None:
        self.what = what
        self.shape = tuple(shape)
        super().__init__(what, self.shape)

    def explain(self) -> str:
        return (
            f"{self.what} needs a Tensor with one element, this one has shape {self.shape}; "
            "index it, or reduce it first"
        )


class ExportError(TgError, TypeError):
    """A Tensor that cannot be handed to another library as it is."""

    def __init__(self, *, target: str, dtype: object, device: object, reason: str) -> None:
        self.target = target
        self.dtype = dtype
        self.device = device
        self.reason = reason
        super().__init__(target, dtype, device, reason)

    def explain(self) -> str:
        return f"a Tensor of {self.dtype} on {self.device} as {self.target}: {self.reason}"


class ExchangeError(TgError, BufferError, ValueError):
    """Memory that cannot be shared with another library, or not in the way that was asked for."""

    def __init__(self, *, protocol: str, reason: str, hint: str = "") -> None:
        self.protocol = protocol
        self.reason = reason
        self.hint = hint
        super().__init__(protocol, reason, hint)

    def explain(self) -> str:
        text = f"{self.protocol}: {self.reason}"
        return f"{text}; {self.hint}" if self.hint else text


class GradientError(TgError, RuntimeError):
    """A gradient that does not exist."""

    def __init__(self, *, op: str, reason: str, hint: str = "") -> None:
        self.op = op
        self.reason = reason
        self.hint = hint
        super().__init__(op, reason, hint)

    def explain(self) -> str:
        text = f"no gradient of {self.op}: {self.reason}"
        return f"{text}; {self.hint}" if self.hint else text


class PartialWriteError(GradientError, NotImplementedError):
    """A write to a part of a Tensor that requires a gradient; others do not implement it."""


class AssignError(TgError, RuntimeError, ValueError, TypeError):
    """A value that cannot be written into a Tensor in place; others raise a `RuntimeError` here,
    or a `TypeError` for what is no value.
    """

    def __init__(self, *, target: str, value: str, reason: str, hint: str = "") -> None:
        self.target = target
        self.value = value
        self.reason = reason
        self.hint = hint
        super().__init__(target, value, reason, hint)

    def explain(self) -> str:
        text = f"cannot assign {self.value} to {self.target}: {self.reason}"
        return f"{text}; {self.hint}" if self.hint else text


class FetchError(TgError, OSError):
    """A download that failed, or that brought something else than expected."""

    def __init__(self, *, url: str, reason: str) -> None:
        self.url = url
        self.reason = reason
        super().__init__(url, reason)

    def explain(self) -> str:
        return f"cannot fetch {self.url}: {self.reason}"
