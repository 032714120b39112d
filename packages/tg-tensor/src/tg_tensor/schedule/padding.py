"""When an operand is better read from a copy that holds its zero padding, without conditions.

The gradient of a convolution reads each element kh * kw * channels times, near the border under
conditions. A copy of the operand with the border written out costs little and makes all reads
plain. That works where the conditions say no more than that every index lies inside its axis.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, cast

from tg_uop import Ops, UOp

from tg_tensor.schedule.affine import Affine, integer
from tg_tensor.schedule.indexing import Access, Shape

Bound = tuple[frozenset[tuple[UOp, int]], bool, int]
"""sum of terms, whether it is at least (else below) the number, the number."""


class Border(NamedTuple):
    """How many zeros stand before and after the elements of an axis."""

    before: int
    after: int


def border_of(affine: Affine, access: Access, shape: Shape) -> tuple[Border, ...] | None:
    """The padding that makes an access plain, None where conditions say anything else."""
    if not access.gates or not all(isinstance(dim, int) for dim in shape):
        return None
    wanted: set[Bound] = set()
    borders = []
    for part, dim in zip(access.indices, cast(tuple[int, ...], shape), strict=True):
        low, high = affine.node_bounds(part)
        terms, offset = affine.parts(part)
        key = frozenset(terms.items())
        if low < 0:
            wanted.add((key, True, -offset))
        if high >= dim:
            wanted.add((key, False, dim - offset))
        borders.append(Border(max(0, -low), max(0, high - dim + 1)))
    given = {_bound(affine, gate) for gate in access.gates}
    return tuple(borders) if given == wanted else None


def runs_along(affine: Affine, access: Access) -> bool:
    """Whether an access is that of a window which ends at each element of a loop.

    It has the elements i + r - (n - 1) with i, an output loop, and r, a reduce loop, of n steps
    each: a cumulative reduction, in which each element is read once in the end.
    """
    for gate in access.gates:
        bound = _bound(affine, gate)
        if bound is None or not bound[1] or len(bound[0]) != 2:
            continue
        terms = list(bound[0])
        loops = [loop for loop, factor in terms if factor == 1 and loop.op is Ops.RANGE]
        sizes = {loop.size for loop in loops}
        kinds = {loop.axis_type.is_reduce for loop in loops}
        if len(loops) == 2 and sizes == {bound[2] + 1} and kinds == {True, False}:
            return True
    return False


def slides_along(affine: Affine, access: Access, shape: Shape) -> bool:
    """Whether an access is that of such a window to values that have the padding written out.

    It has the elements i + r of an axis of 2 n - 1 elements. An access to the values in another
    shape, as one reads them that were moved since, is none.
    """
    if len(access.indices) != len(shape):
        return False
    for part, dim in zip(access.indices, shape, strict=True):
        terms, offset = affine.parts(part)
        loops = [loop for loop, factor in terms.items() if factor == 1 and loop.op is Ops.RANGE]
        if offset or len(terms) != 2 or len(loops) != 2:
            continue
        kinds = {loop.axis_type.is_reduce for loop in loops}
        if {loop.size for loop in loops} == {loops[0].size} and kinds == {True, False}:
            size = loops[0].size
            if isinstance(size, int) and dim == 2 * size - 1:
                return True
    return False


def _bound(affine: Affine, gate: UOp) -> Bound | None:
    """A condition as a bound on a sum, None for conditions of other kinds."""
    is_lower = gate.op is Ops.CMPNE
    comparison = gate.src[0] if is_lower else gate
    if comparison.op is not Ops.CMPLT:
        return None
    left, right = comparison.src
    limit, constant = affine.parts(right)
    if limit:
        return None
    terms, offset = affine.parts(left)
    return (frozenset(terms.items()), is_lower, constant - offset)


def shifted(affine: Affine, access: Access, borders: Iterable[Border]) -> Access:
    """The access to the padded copy."""
    indices = [
        affine.weighted([(part, 1), (integer(border.before), 1)]) if border.before else part
        for part, border in zip(access.indices, borders, strict=True)
    ]
    return Access(tuple(indices))
