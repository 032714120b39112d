"""Constants that take the place of a node, and questions about constants."""

from __future__ import annotations

from tg_uop.dtype.dtype import Invalid, InvalidType, dtypes
from tg_uop.ir.ops import Ops
from tg_uop.ir.uop import UOp

# weakint counts as an integer of unlimited width
INTEGERS = (dtypes.weakint, *dtypes.ints)
WHOLE = (dtypes.bool, *INTEGERS)


def constant_like(node: UOp, value: object) -> UOp:
    """The constant with the dtype, shape and device of `node`."""
    return UOp.const(node.dtype, value, device=node._device, shape=node._shape or None)


def integer_constant(node: UOp) -> int | None:
    """The value of an integer CONST, None for anything else."""
    value = node.arg
    return value if node.op is Ops.CONST and type(value) is int else None


def is_constant(node: UOp, value: bool | int) -> bool:
    """Whether the node is the CONST `value`, told apart by type: True is not 1."""
    return node.op is Ops.CONST and type(node.arg) is type(value) and node.arg == value


def is_invalid(node: UOp) -> bool:
    """Whether the node is the constant Invalid."""
    return node.op is Ops.CONST and isinstance(node.arg, InvalidType)


def invalid_like(node: UOp) -> UOp:
    """Invalid in the dtype of `node`."""
    return UOp.const(node.dtype, Invalid)


def may_be_invalid(node: UOp) -> bool:
    """Whether Invalid is among the values that WHERE chooses here; looks through WHERE only."""
    stack = [node]
    seen: set[UOp] = set()
    while stack:
        current = stack.pop()
        if is_invalid(current):
            return True
        if current.op is Ops.WHERE and current not in seen:
            seen.add(current)
            stack.extend(current.src[1:])
    return False
