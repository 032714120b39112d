"""What changes the meaning of a function without being an argument: modes of the whole program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Protocol

from tg_uop import DType, dtypes


class Training(Protocol):
    """The class that says whether programs train (`Tensor`)."""

    training: ClassVar[bool]


class Modes(NamedTuple):
    """Whether dropout and batch norm train, and what numbers without a dtype become."""

    training: bool
    default_float: DType
    default_int: DType

    def changes(self, other: Modes) -> list[str]:
        """In words, what is otherwise in `other`."""
        names = ("Tensor.training", "dtypes.default_float", "dtypes.default_int")
        rows = zip(names, self, other, strict=True)
        return [f"{name} was {old}, now it is {new}" for name, old, new in rows if old != new]


_holders: list[type[Training]] = []


def ask_for_training(holder: type[Training]) -> None:
    """From now on this class says whether programs train."""
    _holders[:] = [holder]


def current_modes() -> Modes:
    """The modes of this moment."""
    is_training = bool(_holders) and _holders[0].training
    return Modes(is_training, dtypes.default_float, dtypes.default_int)


def any_modes(parts: Sequence[object]) -> tuple[object, ...]:
    """A signature without its modes."""
    return tuple(part for part in parts if not isinstance(part, Modes))
