"""Writes by index and gradients of lookups that go through the indices in turn.

A lookup is written as a sum over all places of which one holds, and so is the gradient that follows
from it: every place meets every index. Where these pairs are many, each index adds what flows to it
to its place instead, as a sparse accumulation does.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from tg_uop import UOp
from tg_uop.dtype.promote import sum_acc_dtype

from tg_tensor.algorithms.calls import Gradient, run_kernel, with_gradient
from tg_tensor.algorithms.scattering import LAST, ROWS
from tg_tensor.autograd.rules import known_sizes

# with fewer pairs of a place and an index, looking at all of them is fused with what is around
MANY_PAIRS = 1 << 18
# as few indices are compared as fast as places are cleared
FEW_INDICES = 16


def pays_in_turn(device: object, pairs: int | UOp, indices: int | UOp) -> bool:
    """Whether a kernel that goes through the indices is faster than one that meets all pairs."""
    if not isinstance(pairs, int) or not isinstance(indices, int):
        return False
    on_processor = isinstance(device, str) and device.split(":")[0] == "CPU"
    return on_processor and pairs >= MANY_PAIRS and indices > FEW_INDICES


def row_lookup(kind: Any, found: UOp, source: UOp, index: UOp, axis: int) -> UOp:
    """A lookup along an axis, with a gradient that sums rows in turn.

    `found` has the shape of `source` with the shape of `index` in place of the axis; an index
    outside of the axis names nothing. `kind` is the class of Tensors.
    """
    return with_gradient("lookup", [found], _gradient_of_rows(kind, axis), [source, index])[0]


def row_sums(kind: Any, flowing: UOp, index: UOp, size: int, axis: int) -> UOp:
    """For each place of an axis the sum of what the indices bring that name it; 0 elsewhere."""
    sizes = known_sizes(flowing)
    before, after = sizes[:axis], sizes[axis + index.ndim :]
    outer, named, inner = math.prod(before), index.numel(), math.prod(after)
    given = flowing.cast(sum_acc_dtype(flowing.dtype)).reshape((outer, named, inner))
    indices = index.reshape((named,))
    sums = run_kernel(ROWS, [((outer, size, inner), given.dtype)], indices, given)[0]
    rule = _gradient_of_sums(kind)
    found = with_gradient("row_sums", [sums], rule, [indices, given])[0]
    return found.reshape((*before, size, *after)).cast(flowing.dtype)


def last_turns(index: UOp, turn: UOp, count: int) -> UOp:
    """For each of `count` places the `turn` of the last index that names it; 0 elsewhere."""
    line = (1, *index.shape, 1)
    rooms = [((1, count, 1), turn.dtype)]
    found = run_kernel(LAST, rooms, index.reshape(line), turn.reshape(line))[0]
    return found.reshape((count,))


# one object an axis, for equal graphs


@cache
def _gradient_of_rows(kind: Any, axis: int) -> Gradient:
    def gradient(flowing: UOp, node: UOp) -> list[UOp | None]:
        source, index = node.call_args
        return [row_sums(kind, flowing, index, known_sizes(source)[axis], axis), None]

    return gradient


@cache
def _gradient_of_sums(kind: Any) -> Gradient:
    def gradient(flowing: UOp, node: UOp) -> list[UOp | None]:
        index, _ = node.call_args
        return [None, kind._of(flowing)._looked_up([1], [kind._of(index)], 1).uop]

    return gradient
