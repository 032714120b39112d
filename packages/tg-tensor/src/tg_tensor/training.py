"""Whether programs train: a mode of the program, and of one thread inside `with Tensor.train()`.

`Tensor.training = True` is for all threads. A `with` is for the thread that runs it: threads that
train and threads that serve would otherwise change each other's dropout, and where two such blocks
overlap, the one that ends last would leave the mode of the other behind.
"""

from __future__ import annotations

import functools
import threading
import types
from collections.abc import Callable
from typing import ParamSpec, Self, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class _Modes(threading.local):
    """The modes of the `with` blocks that this thread is in, the innermost last."""

    def __init__(self) -> None:
        self.inner: list[bool] = []


_of_program = [False]
_of_thread = _Modes()


def is_training() -> bool:
    """Whether this thread trains now."""
    inner = _of_thread.inner
    return inner[-1] if inner else _of_program[-1]


class Trains(type):
    """A class whose attribute `training` says whether this thread trains."""

    @property
    def training(cls) -> bool:
        """The mode of the innermost `with Tensor.train()` of this thread, else the program's.

        What is assigned holds in the whole program, or until the end of such a block.
        """
        return is_training()

    @training.setter
    def training(cls, mode: bool) -> None:
        where = _of_thread.inner or _of_program
        where[-1] = bool(mode)

    @training.deleter
    def training(cls) -> None:
        # who replaced the attribute for a while and found none in the class takes it away again
        where = _of_thread.inner or _of_program
        where[-1] = False

    def __dir__(cls) -> list[str]:
        return [*super().__dir__(), "training"]


class train:  # noqa: N801 - it is used like a function
    """`with Tensor.train():` sets `Tensor.training`, which dropout and batch norm ask.

    It does so for this thread only. `@Tensor.train()` above a function does so while it runs.
    """

    __slots__ = ("mode",)

    def __init__(self, mode: bool = True) -> None:
        self.mode = bool(mode)

    def __enter__(self) -> Self:
        _of_thread.inner.append(self.mode)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:
        _of_thread.inner.pop()

    def __call__(self, fxn: Callable[P, R]) -> Callable[P, R]:
        """The function with `Tensor.training` set while it runs."""

        @functools.wraps(fxn)
        def in_mode(*args: P.args, **kwargs: P.kwargs) -> R:
            with self:
                return fxn(*args, **kwargs)

        return in_mode
