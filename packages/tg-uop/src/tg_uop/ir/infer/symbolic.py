"""Check movement ops whose dimensions depend on variables, by the values that the variables have.

What bounds prove holds for every value. What they do not is checked for the values that are bound
now, and told to whoever watches (a captured step must ask again before it runs with others).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from math import prod
from typing import Any

from tg_uop.errors import ShapeError
from tg_uop.ir.ops import Ops

# An int, or a node that stands for one; see `tg_uop.ir.infer.shape`.
Dim = Any

What = tuple[str, tuple[object, ...], str, str]
"""Of a `ShapeError`: op, shapes, reason, hint."""

_SHRINK = "shrink to take elements away"


class Condition:
    """Something about dimensions that bounds do not decide: `low <= high`, or `low == high`."""

    __slots__ = ("exact", "high", "hint", "low", "op", "reason", "shapes")

    def __init__(self, low: Dim, high: Dim, what: What, *, exact: bool) -> None:
        self.low = low
        self.high = high
        self.exact = exact
        self.op, self.shapes, self.reason, self.hint = what

    def check(self, low: int, high: int) -> None:
        """Raise the `ShapeError` of this condition when these values do not keep it."""
        if (low != high) if self.exact else (low > high):
            raise self.error(low, high)

    def error(self, low: object, high: object) -> ShapeError:
        """What is wrong when the condition does not hold."""
        reason = self.reason.format(low=low, high=high)
        return ShapeError(op=self.op, shapes=self.shapes, reason=reason, hint=self.hint)


class _Watchers(threading.local):
    """Who wants to know the conditions that this thread relies on."""

    def __init__(self) -> None:
        self.active: list[Callable[[Condition], None]] = []


watchers = _Watchers()


def check_symbolic(op: Ops, old: tuple[Dim, ...] | None, arg: tuple[object, ...]) -> None:
    """Check a RESHAPE or SHRINK of a value of shape `old` whose arg has nodes in it.

    Raises `ShapeError` when it cannot be, for all values of the variables or for those bound now.
    """
    if old is None:
        return
    if op is Ops.RESHAPE:
        _check_size(op, old, arg)
    elif op is Ops.SHRINK and len(arg) == len(old):
        for size, bounds in zip(old, arg, strict=True):
            if isinstance(bounds, tuple):
                _check_window(op, old, size, *bounds)
    elif op is Ops.PAD:
        for pair in arg:
            for count in pair if isinstance(pair, tuple) else ():
                _require(0, count, (op.name, (old,), "padding of {high} is negative", _SHRINK))


def _check_size(op: Ops, old: tuple[Dim, ...], new: tuple[object, ...]) -> None:
    reason = "{low} elements cannot become {high}"
    hint = "the product of the dimensions must stay the same"
    _require(prod(old), prod(new), (op.name, (old, new), reason, hint), exact=True)  # type: ignore[arg-type]


def _check_window(op: Ops, old: tuple[Dim, ...], size: Dim, start: Dim, end: Dim) -> None:
    reason = f"bounds ({_shown(start)}, {_shown(end)}) leave the axis of size {_shown(size)}"
    what = (op.name, (old,), reason, "bounds must satisfy 0 <= start <= end <= size")
    _require(0, start, what)
    _require(start, end, what)
    _require(end, size, what)


def _require(low: Dim, high: Dim, what: What, *, exact: bool = False) -> None:
    if low is high:
        return
    rest = high - low
    condition = Condition(low, high, what, exact=exact)
    if isinstance(rest, int):
        condition.check(low, high)
        return
    rest = rest.simplify()
    if (rest.vmin == rest.vmax == 0) if exact else rest.vmin >= 0:
        return
    if rest.vmax < 0 or (exact and rest.vmin > 0):
        raise condition.error(_shown(low), _shown(high))
    if _has_open_variable(rest):
        return
    condition.check(_value(low), _value(high))
    for watcher in watchers.active:
        watcher(condition)


def _has_open_variable(node: Dim) -> bool:
    """Whether a variable under a node has no value."""
    below = node.toposort(lambda n: n.op is not Ops.BIND)
    return any(n.op is Ops.DEFINE_VAR for n in below)


def _value(dim: Dim) -> int:
    return dim if isinstance(dim, int) else int(dim.evaluate())


def _shown(dim: Dim) -> object:
    return dim if isinstance(dim, int) else dim.render()
