"""A captured method: one instance with the steps that were captured for it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Protocol, final


class Jitted(Protocol):
    """A captured function."""

    def __call__(self, *args: object, **kwargs: object) -> object:
        """The function's result."""


@final
class OfInstance:
    """A method of an instance that it does not keep alive."""

    def __init__(self, function: Callable[..., object], instance: weakref.ref[object]) -> None:
        self.function = function
        self.instance = instance
        self.__qualname__ = getattr(function, "__qualname__", "a method")
        self.__name__ = getattr(function, "__name__", "a method")
        self.__doc__ = getattr(function, "__doc__", None)

    def __call__(self, *args: object, **kwargs: object) -> object:
        """The method's result."""
        return self.function(self.instance(), *args, **kwargs)


@final
class BoundJit:
    """What `instance.method` gives: a call, and the attributes of the captured function."""

    __slots__ = ("_instance", "_jitted")

    def __init__(self, jitted: Jitted, instance: object) -> None:
        self._jitted = jitted
        self._instance = instance

    def __call__(self, *args: object, **kwargs: object) -> object:
        """The method's result, by replaying where a captured step fits."""
        return self._jitted(*args, **kwargs)

    def __getattr__(self, name: str) -> object:
        return getattr(self._jitted, name)
