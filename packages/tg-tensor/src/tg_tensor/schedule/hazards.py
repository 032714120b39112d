"""The order of effects: who must run before whom because of what is read and written.

Memory has versions. A buffer (or a materialized value) is a version; every AFTER over it is the
next one, whose contents are known once its effects have happened. A kernel that reads a version
runs after the effects that make it, and before every effect that overwrites it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from tg_codegen.program_info import written_place
from tg_uop import GroupOp, Ops, ProgramInfo, UOp
from tg_uop.ir.args import ParamArg

from tg_tensor.schedule.fusion import Demand, Plan, Root
from tg_tensor.schedule.indexing import Access
from tg_tensor.schedule.waits import EFFECTS, only_waits

VIEWS = GroupOp.Movement | {Ops.BUFFER_VIEW}


def version_of(view: UOp, materialized: Container[UOp] = ()) -> UOp:
    """The version of memory that a view looks at: an AFTER, a buffer, or a materialized value."""
    node = view
    while (node.op in VIEWS and node not in materialized) or only_waits(node):
        node = node.src[0]
    return node


def memory_of(view: UOp, materialized: Container[UOp] = ()) -> UOp:
    """The buffer or materialized value under a view."""
    node = view
    while (node.op in VIEWS and node not in materialized) or node.op is Ops.AFTER:
        node = node.src[0]
    return node


def memory_in(plan: Plan, view: UOp) -> UOp:
    """The buffer or materialized value of a plan under a view; quick for a pile of AFTERs."""
    node = view
    while node not in plan.roots or node.op is Ops.AFTER:
        if node.op is Ops.AFTER:
            node = plan.indexer.first_version(node)
        elif node.op in VIEWS:
            node = node.src[0]
        else:
            break
    return node


def flat_effects(effects: Iterable[UOp]) -> Iterator[UOp]:
    """Effects with GROUPs taken apart."""
    stack = list(effects)[::-1]
    while stack:
        effect = stack.pop()
        if effect.op in (Ops.GROUP, Ops.SINK):
            stack.extend(reversed(effect.src))
        else:
            yield effect


def written_views(effect: UOp) -> tuple[UOp, ...]:
    """What an effect writes to, as views of the versions that it overwrites."""
    if effect.op is Ops.STORE:
        return (effect.stored_target,)
    if effect.op is Ops.CALL:
        slots = written_slots(effect.called)
        return tuple(a for slot, a in enumerate(effect.call_args) if slot in slots)
    return ()


def written_slots(kernel: UOp) -> frozenset[int]:
    """The PARAM slots that a kernel stores to; of a compiled one what it says.

    Of source of one's own that does not say so these are all of its slots.
    """
    if isinstance(kernel.arg, ProgramInfo):
        return frozenset(kernel.arg.outs)
    found = _SLOTS.get(kernel)
    if found is None:
        found = _SLOTS[kernel] = frozenset(_stored_slots(kernel))
    return found


# a kernel that is called a hundred times is asked for a thousand times
_SLOTS: WeakKeyDictionary[UOp, frozenset[int]] = WeakKeyDictionary()


def _stored_slots(kernel: UOp) -> set[int]:
    slots = set()
    for node in kernel.toposort():
        target = written_place(node)
        if target is None:
            continue
        while target.src and target.op is not Ops.PARAM:
            target = target.src[0]
        if target.op is Ops.PARAM:
            slots.add(target.arg.slot)  # type: ignore[attr-defined]
    if kernel.op is Ops.PROGRAM and not slots:
        params = (n.arg for n in kernel.toposort() if n.op is Ops.PARAM)
        slots.update(arg.slot for arg in params if isinstance(arg, ParamArg))
    return slots


Reads = dict[UOp, list[tuple[UOp, Demand]]]
"""For each version, the nodes (itself or views of it) that kernels read it through."""


def reads_of(plan: Plan) -> Reads:
    """Who reads which version."""
    reads: Reads = {}
    for node, demands in plan.demands.items():
        known = reads.setdefault(version_of(node, plan.roots), [])
        known.extend((node, demand) for demand in demands)
    return reads


@dataclass(slots=True)
class Dependencies:
    """For each root, the roots that must have run before."""

    needs: dict[Root, dict[Root, None]]
    overwrites: dict[tuple[Root, Root], list[UOp]] = field(default_factory=dict)
    """(reader, writer): the nodes that the reader reads before the writer overwrites them."""


def dependencies_of(plan: Plan, reads: Reads) -> Dependencies:
    """Who waits for whom."""
    found = Dependencies({root: {} for root in plan.roots.values()})
    for node, demands in plan.demands.items():
        makers = list(makers_of(plan, node))
        for demand in demands:
            found.needs[demand.root].update((m, None) for m in makers if m is not demand.root)
    for root in plan.roots.values():
        for view in written_views(root.node):
            found.needs[root].update((m, None) for m in makers_of(plan, view) if m is not root)
            _write_after_read(reads.get(version_of(view, plan.roots), ()), root, found)
    return found


def makers_of(plan: Plan, view: UOp) -> Iterator[Root]:
    """The roots that make what a view looks at.

    An effect that overwrites a version waits for those who made that version: older effects need
    not be named again, and a thousand writes in a row need a thousand dependencies, not a million.
    """
    node = view
    while True:
        memory = plan.roots.get(node)
        if memory is not None:
            yield memory
            return
        if node.op is Ops.AFTER:
            makers = [_maker(plan, effect) for effect in flat_effects(node.effects)]
            yield from (maker for maker in makers if maker is not None)
            version = version_of(node.src[0], plan.roots)
            if any(maker and _overwrites(plan, maker.node, version) for maker in makers):
                return
        elif node.op not in VIEWS:
            return
        node = node.src[0]


def _maker(plan: Plan, effect: UOp) -> Root | None:
    """The root of an effect, or of a value that is waited for."""
    if effect.op in EFFECTS:
        return plan.roots.get(effect)
    return plan.roots.get(memory_in(plan, effect))


def _overwrites(plan: Plan, effect: UOp, version: UOp) -> bool:
    return any(version_of(view, plan.roots) is version for view in written_views(effect))


def _write_after_read(
    reads: Iterable[tuple[UOp, Demand]], writer: Root, found: Dependencies
) -> None:
    for node, demand in reads:
        reader = demand.root
        if reader is not writer:
            found.needs[writer][reader] = None
            found.overwrites.setdefault((reader, writer), []).append(node)


def unsafe_stores(plan: Plan, reads: Reads) -> list[UOp]:
    """STOREs that read what they overwrite elsewhere than where they write.

    Their value must be complete before the first element is written.
    """
    unsafe = []
    for root in plan.roots.values():
        if root.node.op is not Ops.STORE:
            continue
        target, written = leaf_access(plan, root.node.stored_target, root.access)
        for node, demand in reads.get(version_of(target, plan.roots), ()):
            if demand.root is root and (node is not target or demand.access != written):
                unsafe.append(root.node)
                break
    return unsafe


def leaf_access(plan: Plan, view: UOp, access: Access) -> tuple[UOp, Access]:
    """What is below the movement ops of a view, and the access to it."""
    node = view
    while node.op in GroupOp.Movement and node not in plan.roots:
        access = plan.indexer.operand(node, access)
        node = node.src[0]
    return node, access
