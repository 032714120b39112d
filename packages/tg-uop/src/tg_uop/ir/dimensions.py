"""Dimensions as users give them: numbers, nodes and what is neither."""

from __future__ import annotations

import operator
from typing import SupportsIndex, TypeVar

from tg_uop.arguments import shown
from tg_uop.dtype.dtype import DType
from tg_uop.errors import ArgumentTypeError, DimensionError, NodeKindError
from tg_uop.ir.infer.shape import settled
from tg_uop.ir.node import Node
from tg_uop.ir.ops import Ops

N = TypeVar("N", bound=Node)


def largest_size(dim: int | Node) -> int:
    """The largest size that a dimension can have."""
    return dim if isinstance(dim, int) else int(dim.vmax)


def variable_bound(name: str, bound: float | SupportsIndex, dtype: DType) -> int | float:
    """The bound of a variable. Raises `ArgumentTypeError` for what is no whole number."""
    if dtype.is_float and isinstance(bound, float):
        return bound
    if not hasattr(bound, "__index__"):
        raise ArgumentTypeError(
            call=f"Variable {name!r}",
            argument="a bound",
            given=shown(bound),
            expected="a whole number",
        )
    return operator.index(bound)


def steps_of(loop: Node) -> range:
    """The steps of a loop. Raises `NodeKindError` unless it is a RANGE of known size."""
    end = loop.src[0].arg if loop.op is Ops.RANGE else None
    if not isinstance(end, int):
        reason = "only a RANGE of known size has a lane a step"
        raise NodeKindError(node=loop.op.name, attempted="a lane a step", reason=reason)
    return range(end)


def settled_entry(entry: object) -> object:
    """An entry of the arg of a movement op whose nodes are numbers where that is known."""
    if isinstance(entry, tuple):
        return tuple(settled_entry(part) for part in entry)
    return settled(entry) if isinstance(entry, Node) else entry


def kept_entry(node: N, op: Ops, entry: object, dims: list[N]) -> object:
    """What stays in the arg of a movement op on `node`: None for a node, which `dims` is given."""
    if isinstance(entry, tuple):
        # no function inside `_sized`: one that names itself is a cycle, which would hold the node
        return tuple(kept_entry(node, op, part, dims) for part in entry)
    if isinstance(entry, int):
        return entry
    if isinstance(entry, type(node)):
        dims.append(entry)
        return None
    if isinstance(entry, SupportsIndex):
        return entry.__index__()
    raise DimensionError(
        op=op.name,
        shapes=(node._shape,),
        reason=f"{entry!r} is no dimension",
        hint="dimensions are whole numbers or variables",
    )


def is_known(shape: tuple[object, ...] | None) -> bool:
    """Whether a shape has numbers only."""
    if shape is not None:
        for dim in shape:
            if type(dim) is not int:
                return False
    return True


def is_int_pair(entry: object) -> bool:
    """Whether an entry is a pair of numbers, such as the ends of an axis."""
    return (
        isinstance(entry, tuple)
        and len(entry) == 2
        and isinstance(entry[0], int)
        and isinstance(entry[1], int)
    )
