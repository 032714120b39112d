"""What a captured step relies on beside bounds: relations of dimensions that depend on values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from tg_uop import UOp
from tg_uop.ir.infer.symbolic import Condition

from tg_tensor.jit.guards import without_values


@final
class Conditions:
    """The conditions that a function has met while it was captured."""

    def __init__(self) -> None:
        self.met: list[Condition] = []

    def note(self, condition: Condition) -> None:
        """Keep a condition."""
        self.met.append(condition)

    def without_values(self) -> list[Condition]:
        """The conditions in terms of variables, each once."""
        found = {}
        for condition in self.met:
            low, high = _plain(condition.low), _plain(condition.high)
            what = (condition.op, condition.shapes, condition.reason, condition.hint)
            found[low, high] = Condition(low, high, what, exact=condition.exact)
        return list(found.values())


def check_all(conditions: list[Condition], values: Mapping[str, int]) -> None:
    """Raise the `ShapeError` of a condition that these values do not keep."""
    for condition in conditions:
        condition.check(_number(condition.low, values), _number(condition.high, values))


def _plain(dim: int | UOp) -> int | UOp:
    return dim if isinstance(dim, int) else without_values(dim)


def _number(dim: int | UOp, values: Mapping[str, int]) -> int:
    return dim if isinstance(dim, int) else dim.evaluate(values)
