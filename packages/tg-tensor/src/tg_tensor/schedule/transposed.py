"""When a factor of a product is better read from a transposed copy.

A sum that steps from line to line of a matrix, as the left factor of `a.T @ b` is read, has each
element of it in another page. Reading a copy that lies along the sum is faster than that where the
other factor is wide enough to use each element often.
"""

from __future__ import annotations

from tg_uop import Ops, UOp

from tg_tensor.schedule.indexing import Access, Shape

LONG_SUM, WIDE_RESULT = 512, 256
"""Steps of a sum, and sizes of the result, from which a copy pays (measured on CPU)."""

NARROWEST = 4
"""Bytes of an element from which on no matrix unit takes it."""

FAR = 2048
"""Bytes from one element of the sum to the next that lie far apart."""


def steps_across(
    access: Access, shape: Shape, itemsize: int, results: tuple[UOp, ...]
) -> tuple[int, ...] | None:
    """The order of axes in which a factor lies along the sum, None where it is read well as it is.

    `itemsize` are the bytes of an element; narrow ones are packed for a matrix unit where there is
    one. `results` are the loops of the kernel over its results; another factor lies along the last
    one.
    """
    if (
        itemsize < NARROWEST
        or access.gates
        or len(shape) < 2
        or len(results) < 2
        or len(access.indices) != len(shape)
    ):
        return None
    along, across = results[-1], access.indices[-1]
    if across.op is not Ops.RANGE or across not in results or along in access.loops:
        return None
    if not (_is_long(across, WIDE_RESULT) and _is_long(along, WIDE_RESULT)):
        return None
    for axis, index in enumerate(access.indices[:-1]):
        is_sum = index.op is Ops.RANGE and index.axis_type.is_reduce
        if is_sum and _is_long(index, LONG_SUM) and _distance(shape, axis) * itemsize >= FAR:
            rest = [other for other in range(len(shape)) if other != axis]
            return (*rest, axis)
    return None


def _is_long(loop: UOp, steps: int) -> bool:
    return isinstance(loop.size, int) and loop.size >= steps


def _distance(shape: Shape, axis: int) -> int:
    """Elements from one index of an axis to the next, 0 where that is not known."""
    distance = 1
    for size in shape[axis + 1 :]:
        if not isinstance(size, int):
            return 0
        distance *= size
    return distance
