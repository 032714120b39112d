"""Functions whose gradient is a formula of its own, not that of the polynomials they are made of.

An approximation has the right values but not the right derivative everywhere: it ends at edges,
picks branches by comparisons that NaN fails, and loses digits. So the node of a result remembers
what it is a function of, and the partial derivatives. A node that was rebuilt by other means than
`carried` is not recognized; its gradient goes through the approximation.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import final

from tg_uop import UOp

Slopes = Callable[[UOp, Sequence[UOp]], Sequence[UOp]]
"""From the node of a result and its operands to the partial derivative by each operand."""

Pull = Callable[[UOp, Sequence[UOp], UOp], Sequence[UOp]]
"""From the node of a result, its operands and its gradient to the gradient of each operand."""


@final
@dataclass(frozen=True, slots=True)
class Sloped:
    """What a node is a function of, and how its gradient becomes theirs."""

    operands: tuple[UOp, ...]
    pull: Pull


_sloped: weakref.WeakKeyDictionary[UOp, Sloped] = weakref.WeakKeyDictionary()


def note_slopes(result: UOp, operands: tuple[UOp, ...], slopes: Slopes) -> None:
    """Remember the derivatives of a result. An operand that is the result itself has none."""
    note_pull(result, operands, partial(_times_slopes, slopes))


def note_pull(result: UOp, operands: tuple[UOp, ...], pull: Pull) -> None:
    """Remember how the gradient of a result becomes that of its operands."""
    if result not in operands:
        _sloped[result] = Sloped(operands, pull)


def _times_slopes(slopes: Slopes, node: UOp, operands: Sequence[UOp], grad: UOp) -> tuple[UOp, ...]:
    """The gradient times each derivative: 0 where nothing flows in, whatever that is there."""
    is_still = grad.eq(0)
    return tuple(is_still.where(0, grad * slope) for slope in slopes(node, operands))


def slopes_of(node: UOp) -> Sloped | None:
    """The derivatives that were noted, None for other nodes."""
    return _sloped.get(node)


def slope_gradients(sloped: Sloped, node: UOp, grad: UOp) -> tuple[UOp, ...]:
    """The gradient of each operand."""
    return tuple(sloped.pull(node, sloped.operands, grad))


def carry_slopes(node: UOp, fresh: UOp, found: Mapping[UOp, UOp]) -> None:
    """Remember of a rebuilt node what was remembered of the one it stands for."""
    sloped = _sloped.get(node)
    if sloped is not None and all(operand in found for operand in sloped.operands):
        _sloped[fresh] = Sloped(tuple(found[o] for o in sloped.operands), sloped.pull)
