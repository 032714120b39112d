"""READ FIRST: from tensor-form values to an ordered list of kernel calls, step by step.

1. `roots`    the wanted values become one clean graph with numbered inputs
2. `cache`    a graph that was scheduled before is only given its buffers (`store`: by any process)
3. `split`    large reductions to few results are cut in two
4. `fusion`   each node is computed where used, or gets memory (`indexing`, `cost`, `padding`)
5. `hazards`  who reads what before it is overwritten
6. `groups`   kernels over the same elements become one kernel of several outputs
7. `order`    each kernel after what it needs; rings are broken by copies
8. `kernels`  each group is written down in kernel form
9. `memory`   intermediates share arenas

What comes out is a recipe; `instance` gives it the buffers of the call at hand.

Before all that, `protect` (called by `tg_tensor.realize`) finds values that writes would change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast, final

from tg_uop import DType, Ops, UOp
from tg_uop.context import NO_MEMORY_PLANNER, SCACHE, SPEC
from tg_uop.ir.args import BufferArg
from tg_uop.ir.walk import toposort
from tg_uop.spec.node import Form
from tg_uop.spec.verify import verify

from tg_tensor.schedule.affine import count
from tg_tensor.schedule.cache import ScheduleCache
from tg_tensor.schedule.collection import paused_collection
from tg_tensor.schedule.errors import ScheduleError
from tg_tensor.schedule.fusion import Demand, Plan, Planner, Root
from tg_tensor.schedule.groups import Group, Grouper, join_updates
from tg_tensor.schedule.hazards import (
    Dependencies,
    dependencies_of,
    flat_effects,
    leaf_access,
    memory_in,
    memory_of,
    reads_of,
    unsafe_stores,
)
from tg_tensor.schedule.indexing import Indexer
from tg_tensor.schedule.instance import Schedule, instantiate
from tg_tensor.schedule.kernels import KernelBuilder
from tg_tensor.schedule.memory import (
    ARENA_DTYPE,
    buffer_bytes,
    buffer_under,
    in_arena,
    plan_memory,
)
from tg_tensor.schedule.order import Uses, first_ring, in_order
from tg_tensor.schedule.recipe import PlannedCall, Recipe
from tg_tensor.schedule.roots import (
    OWN_MEMORY,
    ROOM,
    Roots,
    after_effects,
    collect,
    is_constant,
    is_in_memory,
    place_in_memory,
)
from tg_tensor.schedule.split import split_reductions
from tg_tensor.schedule.store import StoredSchedule
from tg_tensor.schedule.waits import only_waits


@dataclass(frozen=True, slots=True)
class ScheduleOptions:
    """What changes a schedule beside the graph.

    `products` names dtypes whose products the device sums in a wider one without a conversion.
    """

    default_device: str = "CPU"
    fuse: bool = True
    plan_memory: bool = True
    fuse_rows: bool = True
    products: frozenset[tuple[DType, DType]] = frozenset()


_cache: ScheduleCache[Recipe] = ScheduleCache()


def create_schedule(sinks: Sequence[UOp], options: ScheduleOptions | None = None) -> Schedule:
    """The calls that realize `sinks`, and for each sink and executed AFTER what replaces it.

    Raises `BindingError` when a variable has two values, `ScheduleError` for an impossible order.
    """
    if options is None:
        options = ScheduleOptions(plan_memory=not NO_MEMORY_PLANNER)
    if SPEC and sinks:
        verify(sinks[0].sink(*sinks[1:]), Form.TENSOR)
    roots = collect(sinks)
    key = (roots.wanted, options)
    recipe = _cache.get(key) if SCACHE else None
    if recipe is None:
        recipe = _stored_recipe(roots, options)
        if SCACHE:
            _cache.put(key, recipe)
    return instantiate(recipe, roots, sinks)


def clear_schedule_cache() -> None:
    """Forget all schedules."""
    _cache.clear()


# *** recipe ***


def _stored_recipe(roots: Roots, options: ScheduleOptions) -> Recipe:
    """The recipe that another process has made, or a new one."""
    if not SCACHE:
        return make_recipe(roots, options)
    stored = StoredSchedule(roots.wanted, options)
    with paused_collection():
        recipe = stored.load()
    if recipe is None:
        recipe = make_recipe(roots, options)
        stored.save(recipe)
    return recipe


def make_recipe(roots: Roots, options: ScheduleOptions) -> Recipe:
    """Schedule a clean graph."""
    with paused_collection():
        return _Builder(roots, options).build()


@final
class _Builder:
    """The steps between a clean graph and a recipe, and what they hand on."""

    def __init__(self, roots: Roots, options: ScheduleOptions) -> None:
        self.roots = roots
        self.options = options
        self.indexer = Indexer()
        self.fresh: list[UOp] = []
        self.kept: list[UOp] = []
        self.memory: dict[UOp, UOp] = {}
        self.places: dict[UOp, UOp] = {}
        self.replaced: dict[UOp, UOp] = {}
        self.settled: dict[UOp, UOp] = {}

    def build(self) -> Recipe:
        outputs = self._outputs()
        self.kept = list(outputs.values())
        plan = self._planned(list(outputs.values()))
        for root in plan.roots.values():
            self._give_memory(root)
        ordered, redirects = self._ordered(plan)
        self._place_views(plan)
        calls = [self._call(plan, group, redirects) for group in ordered if not _is_room(group)]
        results = self._results(outputs)
        kept = {buffer_under(b) for r in results.values() for b in _buffers_in(r)}
        return self._with_memory_plan(calls, results, kept)

    # *** what is materialized ***

    def _outputs(self) -> dict[UOp, UOp]:
        """For each wanted value that needs a kernel, the node to materialize for it."""
        outputs = {}
        for node in self.roots.wanted:
            if is_in_memory(node) or is_constant(node) or count(self.indexer.shape(node)) == 0:
                continue
            below = node
            while below.op is Ops.RESHAPE:
                below = below.src[0]
            outputs[node] = below
        return outputs

    def _planned(self, outputs: list[UOp]) -> Plan:
        """Fusion, repeated while a store reads what it overwrites too late."""
        self.replaced = split_reductions(self.roots.wanted, self.indexer)
        wanted = [self.replaced.get(node, node) for node in self.roots.wanted]
        forced = [self.replaced.get(node, node) for node in outputs]
        while True:
            order = list(toposort(wanted, _in_tensor_form))
            plan = Planner(
                order,
                forced,
                self.indexer,
                fuse=self.options.fuse,
                fuse_rows=self.options.fuse_rows,
                products=self.options.products,
            ).run()
            unsafe = [s.stored_value for s in unsafe_stores(plan, reads_of(plan))]
            if not unsafe:
                return plan
            if forced and set(unsafe) <= set(forced):
                raise ScheduleError(
                    reason="a store reads what it overwrites, though its value has memory",
                    nodes=tuple(repr(value) for value in unsafe),
                    hint="make the stored value contiguous() first",
                )
            forced = [*forced, *unsafe]

    def _give_memory(self, root: Root) -> None:
        node = root.node
        if node.op in (Ops.STORE, Ops.CALL):
            return
        device = node._device or self.options.default_device
        if not isinstance(device, str):
            raise ScheduleError(
                reason=f"a value on several devices {device} is left whole",
                nodes=(repr(node),),
                hint="shard it with Tensor.shard, which the scheduler takes apart",
            )
        self.memory[node] = self._new_buffer(device, count(self.indexer.shape(node)), node)

    def _new_buffer(self, device: str, size: int, like: UOp) -> UOp:
        place = UOp(Ops.DEVICE, arg=device)
        slot = FIRST_FRESH - len(self.fresh)
        buffer = UOp(Ops.BUFFER, like.dtype, (place,), BufferArg(slot, size))
        self.fresh.append(buffer)
        return buffer

    # *** order ***

    def _ordered(self, plan: Plan) -> tuple[list[Group], dict[Root, dict[UOp, UOp]]]:
        """Groups in order; and for roots that would read too late, which copies they read."""
        redirects: dict[Root, dict[UOp, UOp]] = {}
        while True:
            reads = reads_of(plan)
            dependencies = dependencies_of(plan, reads)
            grouper = Grouper(plan, reads, dependencies)
            if self.options.fuse:
                grouper.join_all()
            _, stuck = in_order(grouper.needs)
            if not stuck:
                break
            # one kernel may exchange elements in place, several need a copy
            reader, nodes = _ring_breaker(first_ring(stuck, grouper.needs), dependencies)
            for node in nodes:
                self._read_copy(plan, reader, node, redirects)
        if self.options.fuse:
            join_updates(grouper)
        ordered, stuck = in_order(grouper.needs, self._uses(plan, grouper))
        assert not stuck, "joining groups must not make rings"
        return ordered, redirects

    def _uses(self, plan: Plan, grouper: Grouper) -> Uses[Group]:
        """The memory that groups take up for intermediates, and who reads these."""
        kept = {self.replaced.get(node, node) for node in self.kept}
        found: Uses[Group] = Uses()
        for node, root in plan.roots.items():
            if node in self.memory and node not in kept:
                found.nbytes[node] = buffer_bytes(self.memory[node])
                group = grouper.group_of[root]
                found.made[group] = found.made.get(group, 0) + found.nbytes[node]
        for node, demands in plan.demands.items():
            memory = memory_in(plan, node)
            if memory not in found.nbytes:
                continue
            for demand in demands:
                found.read.setdefault(grouper.group_of[demand.root], {})[memory] = None
        return found

    def _read_copy(
        self, plan: Plan, reader: Root, node: UOp, redirects: dict[Root, dict[UOp, UOp]]
    ) -> None:
        """Let a root read a copy of `node` that is taken before it is overwritten."""
        value = node
        while only_waits(value):
            value = value.src[0]
        copy = UOp(Ops.CONTIGUOUS, node.dtype, (value,), OWN_MEMORY)
        moved = [d for d in plan.demands[node] if d.root is reader]
        if copy not in plan.roots:
            access = self.indexer.whole(self.indexer.shape(node))
            root = Root(copy, access, reader.position)
            plan.roots[copy] = root
            self._give_memory(root)
            read, read_access = leaf_access(plan, value, access)
            context = plan.demands[node][moved[0]]
            plan.demands.setdefault(read, {})[Demand(root, read_access)] = context
        for demand in moved:
            plan.demands.setdefault(copy, {})[demand] = plan.demands[node].pop(demand)
        redirects.setdefault(reader, {})[node] = copy

    # *** calls ***

    def _place_views(self, plan: Plan) -> None:
        """Values seen as another dtype (BUFFER_VIEW) lie where the value below lies."""
        self.places = dict(self.memory)
        for view in plan.demands:
            if view.op is not Ops.BUFFER_VIEW:
                continue
            # what was written is the memory below
            is_written = view.src[0].op is Ops.AFTER
            if is_written or memory_of(view, self.memory) in self.memory:
                self.places[view] = self._argument(view)

    def _call(
        self, plan: Plan, group: Group, redirects: Mapping[Root, Mapping[UOp, UOp]]
    ) -> PlannedCall:
        node = group.roots[0].node
        if node.op is Ops.COPY:
            source = self._argument(node.src[0])
            return PlannedCall(_copy_marker(node, source), (self.memory[node], source))
        if node.op is Ops.CALL:
            return PlannedCall(node.called, tuple(self._argument(a) for a in node.call_args))
        copies: dict[UOp, UOp] = {}
        for root in group.roots:
            copies.update(redirects.get(root, {}))
        # a group that takes the copy itself reads each element before it writes it
        copies = {n: c for n, c in copies.items() if plan.roots[c] not in group.roots}
        builder = KernelBuilder(plan, group, self.places, copies)
        return PlannedCall(*builder.build())

    def _argument(self, view: UOp) -> UOp:
        """A value that lies in memory in one piece, as an argument of a call."""
        node = view
        offset = place_in_memory(self.indexer, view, self.memory)
        assert offset is not None, f"{view.op} is not in memory in one piece"
        while node not in self.memory and node.op is not Ops.BUFFER:
            if node.op is Ops.BUFFER_VIEW:
                offset += cast(tuple[int, int], node.arg)[1]
            node = node.src[0]
        buffer = self.memory.get(node, node)
        size = count(self.indexer.shape(view))
        same = buffer.dtype is view.dtype
        if same and offset == 0 and cast(BufferArg, buffer.arg).size == size:
            return buffer
        return UOp(Ops.BUFFER_VIEW, view.dtype, (buffer,), (size, offset))

    # *** results ***

    def _results(self, outputs: Mapping[UOp, UOp]) -> dict[UOp, UOp]:
        """What stands for each wanted value and each executed AFTER."""
        results: dict[UOp, UOp] = {}
        # what lies below a value in memory of its own is none of the value's memory
        self.settled = {node: node for node in self.memory}
        for node in self.roots.wanted:
            if node in outputs:
                root = self.replaced.get(outputs[node], outputs[node])
                results[node] = _shaped(self.memory[root], node)
            elif is_in_memory(node):
                results[node] = self._settled(node)
            elif not is_constant(node):
                device = cast(str, node._device or self.options.default_device)
                results[node] = _shaped(self._new_buffer(device, 0, node), node)
        # of a function of several results the others are clean too, but may not have run
        run = toposort(self.roots.wanted, _in_tensor_form)
        for node in dict.fromkeys(self.roots.clean.values()):
            if node.op is not Ops.AFTER or node in results or only_waits(node):
                continue
            if node in run or all(effect in run for effect in flat_effects(node.effects)):
                results[node] = self._settled(node)
        return results

    def _settled(self, node: UOp) -> UOp:
        """A view of memory with its effects done and its materialized base as a buffer."""
        view = after_effects(self.replaced.get(node, node), self.settled)
        base = memory_of(view, self.memory)
        settled = {}
        if base in self.memory:
            settled[base] = _shaped(self.memory[base], base)
        for below in view.toposort():
            if below.op is Ops.BUFFER_VIEW and below.src[0].op is not Ops.BUFFER:
                memory = self.memory.get(base, base)
                settled[below] = UOp(Ops.BUFFER_VIEW, below.dtype, (memory,), below.arg)
        return view.substitute(settled) if settled else view

    def _with_memory_plan(
        self, calls: list[PlannedCall], results: dict[UOp, UOp], kept: set[UOp]
    ) -> Recipe:
        internal = [buffer for buffer in self.fresh if buffer not in kept]
        if not self.options.plan_memory or not internal:
            return Recipe(tuple(calls), tuple(self.fresh), results, None)
        memory = plan_memory([call.arguments for call in calls], internal)
        arenas: dict[str, UOp] = {}
        for device, nbytes in memory.arena_bytes.items():
            place = UOp(Ops.DEVICE, arg=device)
            slot = FIRST_FRESH - len(self.fresh) - len(arenas)
            arenas[device] = UOp(Ops.BUFFER, ARENA_DTYPE, (place,), BufferArg(slot, nbytes))
        moved = {
            buffer: in_arena(buffer, arenas[cast(str, buffer.device)], offset)
            for buffer, offset in memory.offsets.items()
        }
        planned = tuple(
            PlannedCall(call.called, tuple(_in_place(a, moved) for a in call.arguments))
            for call in calls
        )
        fresh = tuple(buffer for buffer in self.fresh if buffer in kept)
        return Recipe(planned, fresh + tuple(arenas.values()), results, memory)


FIRST_FRESH = -(1 << 32)
"""Slots of stand-ins for buffers that a schedule allocates count down from here."""


def _ring_breaker(ring: Sequence[Group], dependencies: Dependencies) -> tuple[Root, list[UOp]]:
    """A root that waits in a ring to read what is overwritten, and the nodes to copy for it.

    Raises `ScheduleError` where nobody in the ring waits for that.
    """
    for writing, reading in zip(ring, [*ring[1:], ring[0]], strict=True):
        for reader in reading.roots:
            for writer in writing.roots:
                nodes = dependencies.overwrites.get((reader, writer))
                if nodes:
                    return reader, nodes
    raise ScheduleError(
        reason="values need each other in a ring",
        nodes=[repr(root.node) for group in ring for root in group.roots],
    )


def _in_tensor_form(node: UOp) -> bool:
    return node.op not in (Ops.SINK, Ops.PROGRAM, Ops.LINEAR)


def _is_room(group: Group) -> bool:
    """Whether only memory is asked for, that a called kernel fills."""
    return all(root.node.op is Ops.CONTIGUOUS and root.node.arg == ROOM for root in group.roots)


def _copy_marker(node: UOp, source: UOp) -> UOp:
    value = UOp.param(1, node.dtype, (count(source.shape),), source.device)  # type: ignore[arg-type]
    return UOp(Ops.COPY, node.dtype, (value, node.src[1]))


def _in_place(argument: UOp, moved: Mapping[UOp, UOp]) -> UOp:
    buffer = buffer_under(argument)
    place = moved.get(buffer)
    if place is None:
        return argument
    if argument is buffer:
        return place
    size, start = cast(tuple[int, int], argument.arg)
    offset = cast(tuple[int, int], place.arg)[1] * buffer.dtype.itemsize
    itemsize = argument.dtype.itemsize
    return UOp(Ops.BUFFER_VIEW, argument.dtype, place.src, (size, start + offset // itemsize))


def _shaped(buffer: UOp, like: UOp) -> UOp:
    """A buffer in the shape of a value; of symbolic shape it holds as many as it can."""
    shape = like.shape
    if shape == buffer.shape:
        return buffer
    if all(isinstance(dim, int) for dim in shape):
        return UOp(Ops.RESHAPE, buffer.dtype, (buffer,), shape)
    used = like.size
    if used != count(buffer.shape):  # type: ignore[arg-type]
        buffer = buffer._sized(Ops.SHRINK, ((0, used),))
    return buffer._sized(Ops.RESHAPE, shape)


def _buffers_in(result: UOp) -> list[UOp]:
    return [node for node in result.toposort() if node.op is Ops.BUFFER]
