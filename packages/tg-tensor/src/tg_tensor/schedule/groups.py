"""Join kernels that run over the same elements into one kernel with several outputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

from tg_uop import Ops, UOp

from tg_tensor.schedule.cost import LONGEST_CHAIN
from tg_tensor.schedule.fusion import Demand, Plan, Root
from tg_tensor.schedule.hazards import (
    Dependencies,
    Reads,
    leaf_access,
    makers_of,
    memory_in,
    version_of,
)
from tg_tensor.schedule.indexing import Access
from tg_tensor.schedule.looping import is_looping
from tg_tensor.schedule.order import in_order
from tg_tensor.schedule.reach import Ranks

MOST_STATEMENTS = 32
"""Loop nests of one kernel: more save few launches, and keep what they read alive for longer."""

MAX_OUTPUTS = 8
"""Outputs of one kernel: more streams than this defeat a CPU's prefetchers."""


@final
@dataclass(eq=False, slots=True)
class Group:
    """The roots that one kernel writes."""

    roots: list[Root]
    shares_loops: bool = True
    """Whether all that reduces does so side by side: no root waits for another one."""

    statements: list[list[Root]] | None = None
    """The roots by the loops that they are in, where these are several loop nests."""

    @property
    def position(self) -> int:
        """Where the group stands in the order of the graph: with the last of its roots."""
        return max(root.position for root in self.roots)

    @property
    def is_kernel(self) -> bool:
        """Whether the scheduler builds the kernel."""
        return self.roots[0].is_kernel


@final
class Grouper:
    """Groups of roots, and who waits for whom among them."""

    def __init__(self, plan: Plan, reads: Reads, dependencies: Dependencies) -> None:
        self.plan = plan
        self.reads = reads
        self.group_of = {root: Group([root]) for root in plan.roots.values()}
        self.wants: dict[Root, list[tuple[UOp, Access]]] = {}
        for node, demands in plan.demands.items():
            for demand in demands:
                self.wants.setdefault(demand.root, []).append((node, demand.access))
        self.needs: dict[Group, dict[Group, None]] = {}
        self.needed_by: dict[Group, dict[Group, None]] = {}
        for group in self.group_of.values():
            self.needs[group] = {}
            self.needed_by[group] = {}
        for root, before in dependencies.needs.items():
            for other in before:
                self._link(self.group_of[other], self.group_of[root])
        self.ranks: Ranks[Group] = Ranks(self.needs, self.needed_by)

    def _link(self, before: Group, after: Group) -> None:
        if before is not after:
            self.needs[after][before] = None
            self.needed_by[before][after] = None

    def join_all(self) -> None:
        """Join what shares reads, or hands an element on to the same element."""
        if not self.ranks.rank:
            self._join_exchanging()
        for first, second in self._candidates():
            left, right = self.group_of[first], self.group_of[second]
            if left is not right and self._can_join(left, right):
                self._join(left, right)

    def _join_exchanging(self) -> None:
        """Join roots that wait for each other: each reads what the other one overwrites."""
        for group in list(self.needs):
            for other in list(self.needs.get(group, ())):
                if group in self.needs[other] and self._can_join(group, other):
                    self._join(group, other)
        self.ranks = Ranks(self.needs, self.needed_by)

    def _candidates(self) -> Iterable[tuple[Root, Root]]:
        for node, demands in self.plan.demands.items():
            yield from self._handed_on(node, demands)
            previous: dict[Access, Root] = {}
            for demand in demands:
                if not demand.access.loops and demand.root.access.loops:
                    continue  # a number that is the same for all elements is no reason to join
                access = self._by_position(demand)
                other = previous.get(access)
                if other is not None and other is not demand.root:
                    yield other, demand.root
                previous[access] = demand.root

    def _by_position(self, demand: Demand) -> Access:
        """The access with the reduce loops named by their places, to compare between kernels."""
        loops = demand.root.reduce_loops
        if not loops:
            return demand.access
        names = {loop: named_reduce_loop(loop, place) for place, loop in enumerate(loops)}
        indices, gates = demand.access
        return Access(
            tuple(part.substitute(names) for part in indices),
            tuple(part.substitute(names) for part in gates),
        )

    def _handed_on(self, node: UOp, demands: Iterable[Demand]) -> Iterable[tuple[Root, Root]]:
        maker = maker_of(self.plan, node)
        if maker is None:
            return
        for demand in demands:
            if demand.access == maker.access:
                yield maker, demand.root

    # *** conditions ***

    def _can_join(self, left: Group, right: Group) -> bool:
        first, second = left.roots[0], right.roots[0]
        if not (first.is_kernel and second.is_kernel):
            return False
        if first.loops != second.loops or device_of(first) != device_of(second):
            return False
        roots = left.roots + right.roots
        if len(roots) > MAX_OUTPUTS or not _reduce_alike(roots):
            return False
        reducing = {bool(root.reduces) for root in roots}
        if len(reducing) > 1 and right not in self.needed_by[left]:
            return False
        if sum(root.depth for root in roots) > LONGEST_CHAIN:
            return False
        if not self.ranks.can_join(left, right):
            return False
        return self._reads_only_its_own_element(roots)

    def _reads_only_its_own_element(self, roots: list[Root]) -> bool:
        """What one root writes, the others read at the element that is just being written.

        A kernel loads what its values need before the store of the first value that needs it. So
        old contents may be read by others only if the root that overwrites them reads them too,
        and no memory may be written twice.
        """
        members = set(roots)
        overwritten: set[UOp] = set()
        for root in roots:
            if root.node.op is not Ops.STORE:
                continue
            target, written = leaf_access(self.plan, root.node.stored_target, root.access)
            memory = memory_in(self.plan, target)
            if memory in overwritten:
                return False
            overwritten.add(memory)
            readers = set()
            for node, demand in self.reads.get(version_of(target, self.plan.roots), ()):
                if demand.root not in members:
                    continue
                if node is not target or demand.access != written:
                    return False
                readers.add(demand.root)
            if readers and root not in readers:
                return False
        return all(
            self._is_handed_over(node, access, members)
            for root in roots
            for node, access in self.wants.get(root, ())
        )

    def _is_handed_over(self, node: UOp, access: Access, members: set[Root]) -> bool:
        inside = [maker for maker in makers_of(self.plan, node) if maker in members]
        if not inside:
            return True
        maker = maker_of(self.plan, node)
        return inside == [maker] and maker is not None and maker.access == access

    def _join(self, left: Group, right: Group) -> None:
        self.ranks.join(left, right)
        is_linked = right in self.needs[left] or left in self.needs[right]
        left.shares_loops = left.shares_loops and right.shares_loops and not is_linked
        for root in right.roots:
            self.group_of[root] = left
        left.roots = sorted(left.roots + right.roots, key=lambda root: root.position)
        for other in self.needs.pop(right):
            del self.needed_by[other][right]
            self._link(other, left)
        for other in self.needed_by.pop(right):
            del self.needs[other][right]
            self._link(left, other)
        self.needs[left].pop(right, None)
        self.needed_by[left].pop(right, None)

    def join_statements(self, bucket: Sequence[Group]) -> None:
        """Make one kernel of groups that know nothing of each other, each in loops of its own."""
        statements = [group.roots for group in bucket]
        for group in bucket[1:]:
            self._join(bucket[0], group)
        if len(statements) > 1:
            bucket[0].statements = statements


def join_updates(grouper: Grouper) -> None:
    """Join updates of different memory into kernels of several loop nests: a step of an optimizer.

    Of the updates on one path through the kernels each has a level of its own, so those of one
    level neither wait for each other nor, once they are one, for what waits for them.
    """
    levels: dict[tuple[int, object], list[Group]] = {}
    reached: dict[Group, int] = {}
    ordered, _ = in_order(grouper.needs)
    for group in ordered:
        level = max((reached[before] for before in grouper.needs[group]), default=0)
        if is_update(group):
            level += 1
            levels.setdefault((level, device_of(group.roots[0])), []).append(group)
        reached[group] = level
    for updates in levels.values():
        for bucket in _buckets(grouper.plan, updates):
            grouper.join_statements(bucket)


def is_update(group: Group) -> bool:
    """Whether a kernel changes elements in place and reduces nothing, on a device that loops."""
    if not is_looping(device_of(group.roots[0])):
        return False
    is_store = any(root.node.op is Ops.STORE for root in group.roots)
    return is_store and not any(root.reduces for root in group.roots)


def _buckets(plan: Plan, updates: Iterable[Group]) -> Iterable[list[Group]]:
    """Updates that may be one kernel: not too many, none of the same memory."""
    bucket: list[Group] = []
    written: set[UOp] = set()
    for group in sorted(updates, key=lambda group: group.position):
        stores = [root.node for root in group.roots if root.node.op is Ops.STORE]
        targets = {memory_in(plan, store.stored_target) for store in stores}
        if len(bucket) == MOST_STATEMENTS or not written.isdisjoint(targets):
            yield bucket
            bucket, written = [], set()
        bucket.append(group)
        written |= targets
    yield bucket


def named_reduce_loop(loop: UOp, place: int) -> UOp:
    """The loop that stands for all reduce loops of this size at this place of their kernels."""
    return UOp.range(loop.range_size, COMMON_REDUCE_ID + place, loop.axis_type)


COMMON_REDUCE_ID = 1 << 20


def _reduce_alike(roots: Sequence[Root]) -> bool:
    """Whether no root reduces, or each reduces once, over loops of the same sizes; a product for a
    matrix unit reduces alone.

    Roots that reduce nothing may stand beside: they are here because of an element handed on.
    """
    reducing = [root for root in roots if root.reduces]
    if len(reducing) > 1 and any(root.is_product for root in reducing):
        return False
    sizes = {tuple(loop.range_size for loop in root.reduce_loops) for root in reducing}
    return len(sizes) <= 1 and all(root.reduces <= 1 for root in reducing)


def maker_of(plan: Plan, node: UOp) -> Root | None:
    """The root whose loops write `node` element by element, if there is one."""
    root = plan.roots.get(node)
    if root is not None:
        return root if root.is_kernel and node.op is not Ops.STORE else None
    if node.op is not Ops.AFTER or len(node.effects) != 1:
        return None
    effect = plan.roots.get(node.effects[0])
    if effect is None or effect.node.op is not Ops.STORE:
        return None
    return effect if effect.node.stored_target is node.src[0] else None


def device_of(root: Root) -> object:
    """Where a kernel runs."""
    node = root.node
    return node.stored_target.device if node.op is Ops.STORE else node._device
