"""The kernel that sorts rows: runs of growing width are merged (von Neumann, 1945).

A row is sorted by one pass of all of it for each doubling of the width, n log n steps. All keys of
a row differ, so there is no order of equal ones to keep.
"""

from __future__ import annotations

from tg_uop import UOp, dtypes

from tg_tensor.algorithms.loops import Loops, as_index


def passes_of(count: int) -> int:
    """How often all of a row is merged: after so many doublings one run holds it."""
    return max(count - 1, 0).bit_length()


def merge_sort_kernel(rows: UOp, taken: UOp, keys: UOp) -> UOp:
    """The keys (batch, count) of each row in rising order.

    They are in `rows[passes_of(count) % 2]`, of the shape (2, batch, count): a pass reads one half
    and writes the other. `taken` (batch, 1) counts what was taken of the left run.
    """
    batch, count = keys.shape
    assert isinstance(batch, int), "sizes of kernels are integers"
    assert isinstance(count, int), "sizes of kernels are integers"
    loops = Loops()
    with loops.nest(batch, count) as (row, index):
        loops.write(rows, 0, row, index, value=loops.read(keys, row, index))
    with loops.nest(batch, passes_of(count), count) as (row, done, index):
        width = UOp.const(dtypes.int64, 1) << done.cast(dtypes.int64)
        _merge_step(loops, rows, taken, row, done % 2, index, width)
    return loops.kernel("merge_sort")


def _merge_step(
    loops: Loops, rows: UOp, taken: UOp, row: UOp, half: UOp, index: UOp, width: UOp
) -> None:
    """Write the next smallest key of two runs of `width`: the head of one of them."""
    count = rows.shape[2]
    assert isinstance(count, int), "sizes of kernels are integers"
    place = index.cast(dtypes.int64)
    inside = place & (2 * width - 1)
    used = inside.eq(0).where(0, loops.read(taken, row, 0).cast(dtypes.int64))
    left = place - inside + used
    right = place + width - used
    has_left = (used < width) & (left < count)
    has_right = (inside - used < width) & (right < count)
    first = loops.read(rows, half, row, as_index(left.minimum(count - 1)))
    second = loops.read(rows, half, row, as_index(right.minimum(count - 1)))
    is_left = has_left & (has_right.logical_not() | (first < second))
    loops.write(rows, 1 - half, row, index, value=is_left.where(first, second))
    loops.write(taken, row, 0, value=(used + is_left.cast(dtypes.int64)).cast(dtypes.int32))
