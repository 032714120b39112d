"""What changes the meaning of a function without being an argument: modes of the whole program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tg_uop import DType, dtypes

from tg_tensor.training import is_training


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


def current_modes() -> Modes:
    """The modes of this moment."""
    return Modes(is_training(), dtypes.default_float, dtypes.default_int)


def any_modes(parts: Sequence[object]) -> tuple[object, ...]:
    """A signature without its modes."""
    return tuple(part for part in parts if not isinstance(part, Modes))
