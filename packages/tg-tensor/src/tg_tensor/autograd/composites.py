"""Nodes that stand for a whole chain of views, so that their gradient has a better form.

Sliding windows are a dozen views. Taken one by one, their gradient is right but its index
arithmetic is not affine; taken as a whole it is a sum over shifted values, which for a convolution
is the convolution with mirrored weights, in one kernel.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar, final

from tg_uop import Ops, UOp
from tg_uop.ir.walk import toposort
from tg_uop.methods.movement import MovementMixin
from tg_uop.methods.windows import Window, slide, unslide

from tg_tensor.autograd.slopes import carry_slopes

V = TypeVar("V", bound=MovementMixin)


@final
@dataclass(frozen=True, slots=True)
class Slid:
    """What a node is the windows of."""

    source: UOp
    windows: tuple[Window, ...]


_slid: weakref.WeakKeyDictionary[UOp, Slid] = weakref.WeakKeyDictionary()


def slide_noted(source: UOp, windows: Sequence[Window]) -> UOp:
    """`slide`, remembered for the gradient."""
    result = slide(source, windows)
    slid = source.shape[source.ndim - len(windows) :]
    known = all(isinstance(size, int) for size in slid)
    if known and not all(window.is_disjoint for window in windows):
        _slid[result] = Slid(source, tuple(windows))
    return result


def slid_source(node: UOp) -> Slid | None:
    """What a node is the windows of, None for other nodes.

    A node that was rebuilt since is not recognized; its gradient goes view by view.
    """
    return _slid.get(node)


def slid_gradient(slid: Slid, grad: UOp) -> UOp:
    """What windows add up to at each position of their source.

    A sum that `grad` ends in (over the outputs of a convolution) is taken together with that over
    the window, so that nothing of the size of all windows is stored.
    """
    value, summed = _below_sum(grad)
    count = len(slid.windows)
    sizes = slid.source.shape[-count:]
    spread = unslide(value, slid.windows, [int(s) for s in sizes])  # type: ignore[call-overload]
    kernels = range(spread.ndim - 2 * count, spread.ndim - count)
    total = spread.sum((*range(summed), *kernels))
    return total.cast(grad.dtype)


def _below_sum(grad: UOp) -> tuple[UOp, int]:
    """The terms of a sum that `grad` is a view of: their axes come first; and how many they are."""
    views: list[UOp] = []
    node = grad.src[0] if grad.op is Ops.CAST else grad
    while node.op in (Ops.RESHAPE, Ops.PERMUTE):
        views.append(node)
        node = node.src[0]
    if node.op is not Ops.REDUCE or node.reduce_op is not Ops.ADD:
        return grad, 0
    axes = node.reduce_axes
    terms = node.reduced_value
    rest = [axis for axis in range(terms.ndim) if axis not in axes]
    lengths = tuple(terms.shape[axis] for axis in axes)
    value = terms.permute([*axes, *rest]).reshape((*lengths, *node.shape))
    for view in reversed(views):
        if view.op is Ops.RESHAPE:
            value = value.reshape((*lengths, *view.shape))
        else:
            order = [len(axes) + axis for axis in view.permute_order]
            value = value.permute([*range(len(axes)), *order])
    return value, len(axes)


def rebuilt(
    roots: Sequence[UOp], replaced: Mapping[UOp, UOp], tag_of: Callable[[UOp], object] | None = None
) -> list[UOp]:
    """The graphs with nodes replaced, like `substitute`; what nodes are remembered as goes along.

    `tag_of` gives the nodes that are made anew a tag, None for the one that they have.
    """
    found: dict[UOp, UOp] = dict(replaced)
    rebuild_into(found, roots, tag_of)
    return [found[root] for root in roots]


def rebuild_into(
    found: dict[UOp, UOp], roots: Sequence[UOp], tag_of: Callable[[UOp], object] | None = None
) -> None:
    """`rebuilt` with what stands for each node: `found` begins with nodes that are replaced."""
    for node in toposort(roots, lambda n: n not in found):
        if node in found:
            continue
        operands = tuple(found[operand] for operand in node.src)
        tag = None if tag_of is None else tag_of(node)
        if operands == node.src and tag is None:
            found[node] = node
            continue
        fresh = UOp(node.op, node.dtype, operands, node.arg, node.tag if tag is None else tag)
        fresh.source_line = fresh.source_line or node.source_line
        found[node] = fresh
        carry_notes(node, fresh, found)


def carry_notes(node: UOp, fresh: UOp, found: Mapping[UOp, UOp]) -> None:
    """Remember of a rebuilt node what the one it stands for is; `found` has its operands."""
    carry_slopes(node, fresh, found)
    slid = _slid.get(node)
    if slid is not None and slid.source in found:
        _slid[fresh] = Slid(found[slid.source], slid.windows)
