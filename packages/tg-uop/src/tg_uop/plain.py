"""Take NumPy's scalars, which shapes and sizes often come as, for Python's numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar, cast

T = TypeVar("T")


def plain(value: T) -> T:
    """A NumPy scalar as the Python number of its kind; anything else as it is.

    Needs no NumPy: the class says where it comes from.
    """
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        return cast("T", value.item())  # type: ignore[attr-defined]
    return value


def plain_sequence(given: object) -> tuple[int, ...]:
    """One number, or each of a sequence, plain; the caller refuses what is no number."""
    if isinstance(given, Iterable) and not isinstance(given, str):
        return tuple(cast("int", plain(entry)) for entry in given)
    return (cast("int", plain(given)),)
