"""Recognize the nodes by which a Tensor counts: 0, 1, 2 ..."""

from __future__ import annotations

from functools import cache
from itertools import zip_longest

from tg_tensor import Tensor
from tg_uop import UOp
from tg_uop.ir.ops import Ops


def is_counting(node: UOp) -> bool:
    """Whether a node of one axis is built as `Tensor.arange` builds it, device and dtype aside."""
    shape = node.shape
    if len(shape) != 1 or not isinstance(shape[0], int) or shape[0] < 2:
        return False
    if node.src[0].op is not Ops.REDUCE:
        return False
    return all(
        one is not None and one == other
        for one, other in zip_longest(_steps(node), _like(shape[0]))
    )


@cache
def _like(count: int) -> tuple[tuple[object, ...], ...]:
    return _steps(Tensor.arange(count).uop)


def _steps(node: UOp) -> tuple[tuple[object, ...], ...]:
    """The chain of single operands below a node; others end it."""
    found = []
    while True:
        found.append((node.op, node.arg, node._shape))
        values = [operand for operand in node.src if operand.op is not Ops.DEVICE]
        if len(values) != 1:
            return tuple(found)
        node = values[0]
