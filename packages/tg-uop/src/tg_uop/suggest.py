"""The name that was meant by a misspelled one."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module


def alike(given: str, names: Iterable[str], most: int) -> list[str]:
    """Up to `most` names that look like the given one, the most alike first."""
    # difflib is only loaded by those who misspelled something
    return list(import_module("difflib").get_close_matches(given, list(names), most))


def closest(given: str, names: Iterable[str]) -> str:
    """The name that looks most like the given one, or an empty text when none does."""
    found = alike(given, names, 1)
    return found[0] if found else ""


def did_you_mean(given: str, names: Iterable[str]) -> str:
    """That name as a question which ends in a blank, or an empty text."""
    name = closest(given, names)
    return f"did you mean {name!r}? " if name else ""
