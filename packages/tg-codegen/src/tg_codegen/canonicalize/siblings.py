"""Let reductions that read the same elements share their loop: kernel form in, kernel form out.

    sum_r x[r], sum_s x[s] * x[s]    becomes    sum_r x[r], sum_r x[r] * x[r]

Only where neither waits for the other, and both stand in the same loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tg_uop import Ops, UOp

from tg_codegen.canonicalize.sums import number_of


@dataclass(frozen=True, slots=True)
class Family:
    """The reductions over one set of loops."""

    loops: tuple[UOp, ...]
    members: tuple[UOp, ...]

    @property
    def sizes(self) -> tuple[UOp, ...]:
        """The numbers of steps, outermost loop first."""
        return tuple(loop.range_size for loop in self.loops)


def share_loops(kernel: UOp) -> UOp:
    """The kernel with the loops of sibling reductions made one."""
    while True:
        pair = _siblings(kernel)
        if pair is None:
            return kernel
        kept, merged = pair
        kernel = kernel.substitute(dict(zip(merged.loops, kept.loops, strict=True)))


def _siblings(kernel: UOp) -> tuple[Family, Family] | None:
    """Two families that can be one."""
    order = kernel.toposort()
    families = _families(order)
    for position, first in enumerate(families):
        for second in families[position + 1 :]:
            if _can_share(first, second) and _read_the_same(first, second):
                return first, second
    return None


def _families(order: dict[UOp, None]) -> list[Family]:
    """The reductions by their loops; those whose loops something else closes too are left out."""
    found: dict[frozenset[UOp], list[UOp]] = {}
    uses: dict[UOp, int] = {}
    for node in order:
        if node.op is Ops.REDUCE:
            found.setdefault(frozenset(node.reduce_ranges), []).append(node)
        elif node.op is Ops.END:
            for loop in node.ended_ranges:
                uses[loop] = 2
    for loops in found:
        for loop in loops:
            uses[loop] = uses.get(loop, 0) + 1
    families = []
    for loops, members in found.items():
        if all(uses[loop] == 1 for loop in loops):
            ordered = sorted(loops, key=lambda r: r.range_arg.axis_id)
            families.append(Family(tuple(ordered), tuple(members)))
    return families


def _can_share(first: Family, second: Family) -> bool:
    if first.sizes != second.sizes or any(number_of(s) is None for s in first.sizes):
        return False
    roles = [[loop.axis_type for loop in family.loops] for family in (first, second)]
    if roles[0] != roles[1]:
        return False
    around = {frozenset(m.ranges) for m in (*first.members, *second.members)}
    if len(around) > 1:
        return False
    return not _waits(first.members, second.members) and not _waits(second.members, first.members)


def _waits(later: Sequence[UOp], earlier: Sequence[UOp]) -> bool:
    """Whether one reduction needs the result of another."""
    wanted = set(earlier)
    return any(node.depends_on(lambda n: n in wanted) for node in later)


def _read_the_same(first: Family, second: Family) -> bool:
    """Whether the two would load an element in common."""
    renaming = dict(zip(second.loops, first.loops, strict=True))
    mine: set[UOp] = set()
    for member in first.members:
        mine.update(_loads(member.reduced_value, first.loops))
    for member in second.members:
        renamed = member.reduced_value.substitute(renaming)
        if not mine.isdisjoint(_loads(renamed, first.loops)):
            return True
    return False


def _loads(value: UOp, loops: Sequence[UOp]) -> list[UOp]:
    """The elements that change with the loops."""
    return [
        n for n in value.toposort() if n.op is Ops.INDEX and any(loop in n.ranges for loop in loops)
    ]
