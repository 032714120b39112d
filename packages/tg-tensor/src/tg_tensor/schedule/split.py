"""Cut large reductions to few results in two, so that there is work for every thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from tg_uop import Ops, UOp
from tg_uop.ir.args import ReduceArg
from tg_uop.ir.walk import toposort

from tg_tensor.schedule.affine import count
from tg_tensor.schedule.indexing import Indexer

FEW_RESULTS = 16
"""With so many results or more, a CPU has work for all its threads without a cut."""

LARGE_REDUCTION = 1 << 15
"""Smaller reductions take less time than the launch of a second kernel."""

PARTS = (256, 128, 64, 32, 16)
"""Partial results to aim at; fixed, so that sums do not depend on the machine."""


_WHOLE_VECTORS = 64
"""Elements that make up whole vectors of every dtype and target, several of them side by side."""


def split_reductions(wanted: Sequence[UOp], indexer: Indexer) -> dict[UOp, UOp]:
    """What replaces each node of the graph in which a reduction was cut; empty where none was."""
    replaced: dict[UOp, UOp] = {}
    for node in toposort(wanted, lambda n: n.op not in (Ops.SINK, Ops.PROGRAM, Ops.LINEAR)):
        operands = tuple(replaced.get(s, s) for s in node.src)
        fresh = node
        if operands != node.src:
            fresh = UOp(node.op, node.dtype, operands, node.arg, node.tag)
        if node.op is Ops.REDUCE:
            fresh = _cut(fresh, indexer)
        if fresh is not node:
            replaced[node] = fresh
    return replaced


def _cut(node: UOp, indexer: Indexer) -> UOp:
    source = node.src[0]
    shape = indexer.shape(source)
    if not all(isinstance(dim, int) for dim in shape):
        return node
    results = count(indexer.shape(node))
    if results >= FEW_RESULTS or count(shape) < LARGE_REDUCTION * results:
        return node
    sizes = cast(tuple[int, ...], shape)
    for parts in PARTS:
        for axis in node.reduce_axes:
            if sizes[axis] % parts == 0 and count(shape) // results // parts >= parts:
                return _in_two(node, sizes, axis, parts)
    return _cut_with_rest(node, sizes, results)


def _cut_with_rest(node: UOp, sizes: tuple[int, ...], results: int) -> UOp:
    """The longest axis in pieces of one length that vectors divide, and what is left over.

    An axis of prime length has no pieces of one length that make up all of it.
    """
    axis = max(node.reduce_axes, key=lambda a: sizes[a])
    for parts in PARTS:
        piece = sizes[axis] // parts
        piece -= piece % min(_WHOLE_VECTORS, 1 << max(piece.bit_length() - 1, 0))
        if piece == 0 or count(sizes) // results // parts < parts:
            continue
        head = _part(node, sizes, axis, 0, parts * piece)
        shorter = (*sizes[:axis], parts * piece, *sizes[axis + 1 :])
        rest = _part(node, sizes, axis, parts * piece, sizes[axis])
        return UOp(node.reduce_op, node.dtype, (_in_two(head, shorter, axis, parts), rest))
    return node


def _part(node: UOp, sizes: tuple[int, ...], axis: int, start: int, stop: int) -> UOp:
    """The reduction of some elements of an axis."""
    bounds = tuple((start, stop) if a == axis else (0, size) for a, size in enumerate(sizes))
    taken = UOp(Ops.SHRINK, node.dtype, (node.src[0],), bounds)
    return UOp(Ops.REDUCE, node.dtype, (taken,), node.arg)


def _in_two(node: UOp, sizes: tuple[int, ...], axis: int, parts: int) -> UOp:
    """Reduce each of `parts` pieces of an axis, then the pieces."""
    op = node.reduce_op
    wide = (*sizes[:axis], parts, sizes[axis] // parts, *sizes[axis + 1 :])
    pieces = UOp(Ops.RESHAPE, node.dtype, (node.src[0],), wide)
    inner = tuple(a if a < axis else a + 1 for a in node.reduce_axes)
    partial = UOp(Ops.REDUCE, node.dtype, (pieces,), ReduceArg(op, inner))
    stored = UOp(Ops.CONTIGUOUS, node.dtype, (partial,))
    total = UOp(Ops.REDUCE, node.dtype, (stored,), ReduceArg(op, (axis,)))
    return UOp(Ops.RESHAPE, node.dtype, (total,), node.shape)
