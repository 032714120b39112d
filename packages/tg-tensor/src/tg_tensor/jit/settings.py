"""What a function may read from outside that is no Tensor, in its place, and what it was.

Numbers and words, small containers and arrays of them, and functions. `readings` finds them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import NamedTuple, final

import numpy as np

from tg_tensor.jit.containers import frozen
from tg_tensor.jit.watch import Cell

MOST_MEMBERS = 64
"""Of a container whose numbers are compared at each replay."""

MOST_BYTES = 4096
"""Of an array that is."""

_KINDS = (int, float, bool, str, bytes, type(None), complex, np.generic)
_DEPTH = 3


@final
class ClassPart:
    """What an object has from its class, as a container."""

    __slots__ = ("owner",)

    def __init__(self, owner: object) -> None:
        self.owner = owner

    def __getitem__(self, key: object) -> object:
        own = getattr(self.owner, "__dict__", {})
        if key in own:
            return own[key]
        kind = self.owner if isinstance(self.owner, type) else type(self.owner)
        return next(vars(c)[key] for c in kind.__mro__ if key in vars(c))  # type: ignore[index]


Place = Cell | ClassPart | Mapping[str, object]


def unchanging(value: object) -> object:
    """The value if its content cannot change, else None."""
    if isinstance(value, tuple):
        return None if any(unchanging(member) is None for member in value) else value
    return value if isinstance(value, int | float | str | bytes | np.generic) else None


def content_of(value: object, depth: int = _DEPTH) -> Hashable:
    """What a constant is, such that equal means same; None for what is none, or too large."""
    if isinstance(value, _KINDS):
        return frozen(value)
    if isinstance(value, np.ndarray):
        is_small = value.nbytes <= MOST_BYTES and value.dtype.kind in "biufc"
        return frozen(value) if is_small else None
    if not isinstance(value, list | tuple | dict) or not depth or len(value) > MOST_MEMBERS:
        return None
    members = list(value.values()) if isinstance(value, dict) else value
    contents = tuple(content_of(member, depth - 1) for member in members)
    if any(content is None for content in contents):
        return None
    return type(value), (*value, contents) if isinstance(value, dict) else contents


class Setting(NamedTuple):
    """A constant in its place: `holder[key]`, and the value that it had."""

    path: str
    holder: Place
    key: str | None
    value: Hashable
    same: object = None
    """An object that has this value as long as it is there; None where its content may change."""

    def now(self) -> Hashable:
        """What is in its place now, None when nothing is."""
        try:
            return content_of(self.holder[self.key])  # type: ignore[index]
        except (LookupError, ValueError, StopIteration):
            return None

    def is_there(self) -> bool:
        """Whether it has its value still."""
        if self.same is not None:
            try:
                if self.holder[self.key] is self.same:  # type: ignore[index]
                    return True
            except (LookupError, ValueError, StopIteration):
                return False
        return self.now() == self.value

    def __str__(self) -> str:
        return f"{self.path} was {_shown(self.value)}, now it is {_shown(self.now())}"


class CalledFunction(NamedTuple):
    """A function in its place: `holder[key]`, with the code and the defaults that it had."""

    path: str
    holder: Place
    key: str | None
    function: object
    content: tuple[object, ...]
    same: object = None
    """Not told by a glance: its code may be exchanged."""

    def is_there(self) -> bool:
        """Whether it is the same function still."""
        try:
            now = self.holder[self.key]  # type: ignore[index]
        except (LookupError, ValueError, StopIteration):
            return False
        same = zip(code_of(now), self.content, strict=True)
        return now is self.function and all(new is old for new, old in same)

    def __str__(self) -> str:
        return f"{self.path} was another function, or had other defaults"


def code_of(function: object) -> tuple[object, ...]:
    """What a function does, as far as that can be exchanged in it."""
    return tuple(getattr(function, name, None) for name in ("__code__", "__defaults__"))


def _shown(value: Hashable) -> str:
    if not isinstance(value, tuple):
        return "gone"
    if len(value) > 2:
        return "an array"
    kind, content = value
    if kind is float and isinstance(content, str):
        return repr(float.fromhex(content))
    return f"another {kind.__name__}" if kind in (list, tuple, dict) else repr(content)
