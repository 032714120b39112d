"""Memory of a kernel written by hand: its elements, its views, and what was written to it.

Memory is a node with a pointer dtype and a shape. One index an axis names an element; fewer, or
slices, name a view, which is memory of a smaller shape. Views are movement ops over the memory,
which the code generator folds into the address of each element.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from tg_uop.dtype.dtype import PtrDType, dtypes
from tg_uop.errors import IndexItemError, IndexRangeError
from tg_uop.ir.node import Node
from tg_uop.ir.ops import GroupOp, Ops
from tg_uop.methods.indexing import AxisCut, axis_cut, expand_ellipsis, view_of_cuts
from tg_uop.methods.movement import MovementMixin

N = TypeVar("N", bound=Node)
V = TypeVar("V", bound=MovementMixin)

MEMORY = frozenset((Ops.PARAM, Ops.DEFINE_LOCAL, Ops.DEFINE_REG))


def is_memory(node: Node) -> bool:
    """Whether a node names memory rather than a value."""
    return isinstance(node.dtype, PtrDType)


def indices_of(index: object, shape: Sequence[object]) -> tuple[object, ...] | None:
    """One index an axis, numbers counted from the front; None where the index names a view.

    Raises `IndexRangeError` for a number outside of its axis, or too many indices, and
    `IndexItemError` for an index of another kind.
    """
    items = expand_ellipsis(index, shape)
    for axis, item in enumerate(items):
        _check_item(item, axis, shape)
    if any(item is None or isinstance(item, slice) for item in items):
        return None
    return tuple(
        _from_front(item, axis, shape) if isinstance(item, int) else _as_index(item)
        for axis, item in enumerate(items)
    )


def view_of(memory: V, index: object) -> V:
    """The part of memory that slices, fewer indices than axes and None name."""
    shape = memory.shape
    items = expand_ellipsis(index, shape)
    cuts: list[AxisCut] = []
    for item in items:
        if item is not None:
            cuts.append(_cut(item, len(cuts), shape))
    return view_of_cuts(memory, items, cuts)


def _cut(item: object, axis: int, shape: Sequence[object]) -> AxisCut:
    if isinstance(item, slice):
        ends = (item.start, item.stop)
        if not any(isinstance(end, Node) for end in ends):
            return axis_cut(item, shape[axis], axis, shape)
        if item.step not in (None, 1):
            raise IndexItemError(
                item=repr(item),
                reason="a slice between nodes takes each element",
                hint="leave the step out, or index with a range times the step",
            )
        start = 0 if item.start is None else _as_index(item.start)
        return AxisCut(start, shape[axis] if item.stop is None else _as_index(item.stop))
    first = _from_front(item, axis, shape) if isinstance(item, int) else _as_index(item)
    return AxisCut(first, first + 1, dropped=True)  # type: ignore[operator]


def _check_item(item: object, axis: int, shape: Sequence[object]) -> None:
    if item is None or (isinstance(item, slice | int) and not isinstance(item, bool)):
        return
    if isinstance(item, Node) and item.dtype.is_int:
        return
    kind = str(item.dtype) if isinstance(item, Node) else type(item).__name__
    raise IndexItemError(
        item=repr(item),
        reason=f"{kind} on axis {axis} of memory of shape {tuple(shape)}",
        hint="index memory by ranges and other integers; cast a computed index to an integer",
    )


def _from_front(item: int, axis: int, shape: Sequence[object]) -> int:
    size = shape[axis]
    if not isinstance(size, int):
        return item
    if not -size <= item < size:
        reason = f"axis {axis} has {size} elements"
        raise IndexRangeError(index=item, shape=tuple(shape), reason=reason)
    return item + size if item < 0 else item


def _as_index(item: object) -> object:
    """An integer node in the dtype of index arithmetic."""
    if isinstance(item, Node) and item.dtype.count == 1 and item.dtype is not dtypes.weakint:
        return item.cast(dtypes.weakint)  # type: ignore[attr-defined]
    return item


def whole_memory(node: N) -> N:
    """The memory that an element or a view is taken from, as it was declared."""
    if node.op is Ops.INDEX:
        return node.src[0]
    while node.op in GroupOp.Movement:
        below = node.src[0]
        if node.op is Ops.RESHAPE and below.op in MEMORY:
            break
        node = below
    return node


def effects_on(node: N) -> tuple[N, ...]:
    """What has happened to memory: the effects that it waits for, the first ones first.

    A node that is no memory is an effect itself.
    """
    if not is_memory(node):
        return (node,)
    found: list[N] = []
    while node.op in GroupOp.Movement or node.op is Ops.AFTER:
        if node.op is Ops.AFTER:
            effects = [e for e in node.src[1:] if e.op is not Ops.RANGE]
            found.extend(e for e in reversed(effects) if not _is_below(e, found))
        node = node.src[0]
    return tuple(reversed(found))


def _is_below(effect: Node, others: Sequence[Node]) -> bool:
    """Whether an effect happens before others already, because they wait for it."""
    return any(effect in other.backward_slice for other in others)  # type: ignore[attr-defined]
