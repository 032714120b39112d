"""Rows of what scheduling costs: graphs of several shapes, each in three sizes.

The time is for a graph that no cache has seen. It should grow with the number of operations and not
faster, so the three rows of a shape are to be read as seconds an operation.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING

from bench.case import Competitors, Row

if TYPE_CHECKING:
    from tg_tensor import Tensor

Build = Callable[[int, float], "list[Tensor]"]
"""Values that take so many operations; the number makes the graph a new one."""

SIZES = (200, 1000, 5000)


def chain(operations: int, fresh: float) -> list[Tensor]:
    """One elementwise operation after the other."""
    from tg_tensor import Tensor

    x = Tensor.empty(64) + fresh
    for number in range(operations):
        x = x + number % 7 if number % 2 else x * 1.5
    return [x]


def reductions(operations: int, fresh: float) -> list[Tensor]:
    """Sums of rows, each taken off its rows."""
    from tg_tensor import Tensor

    x = Tensor.empty(16, 16) + fresh
    for _ in range(operations // 4):
        x = (x - x.sum(axis=1, keepdim=True)) * 0.5
    return [x]


def products(operations: int, fresh: float) -> list[Tensor]:
    """Layers of a perceptron."""
    from tg_tensor import Tensor

    x, weight = Tensor.empty(16, 16) + fresh, Tensor.empty(16, 16)
    for _ in range(operations // 6):
        x = (x @ weight).relu()
    return [x]


def wide(operations: int, fresh: float) -> list[Tensor]:
    """Many results of one input."""
    from tg_tensor import Tensor

    x = Tensor.empty(64) + fresh
    return [(x * number).contiguous() for number in range(operations // 2)]


def tree(operations: int, fresh: float) -> list[Tensor]:
    """Many inputs of one result."""
    from tg_tensor import Tensor

    parts = [Tensor.empty(64) + fresh for _ in range(operations // 2)]
    while len(parts) > 1:
        odd = parts[-1:] if len(parts) % 2 else []
        parts = [a + b for a, b in zip(parts[::2], parts[1::2], strict=False)] + odd
    return parts


def views(operations: int, fresh: float) -> list[Tensor]:
    """Movement operations between others."""
    from tg_tensor import Tensor

    x = Tensor.empty(16, 16) + fresh
    for _ in range(operations // 3):
        x = x.permute(1, 0).pad(((0, 1), (0, 0))).shrink(((0, 16), (0, 16))) + 1
    return [x]


def schedule_row(name: str, build: Build, operations: int) -> Row:
    """Building a graph and scheduling it."""

    def competitors(libraries: frozenset[str]) -> Competitors:
        from tg_tensor import Tensor

        numbers = count(1)

        def run() -> object:
            return Tensor.schedule_linear(*build(operations, next(numbers) / 1024))

        return {"tg": run}

    return Row(f"schedule {name} of {operations}", competitors, budget=2.0, group="schedule")


SCHEDULES = tuple(
    schedule_row(build.__name__, build, operations)
    for build in (chain, reductions, products, wide, tree, views)
    for operations in SIZES
)
