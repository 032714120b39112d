"""Decide which nodes get memory of their own and which are computed where they are used.

The walk goes over the whole graph, users before sources. When it comes to a node, every kernel
that wants an element of it has said so (`Demand`), with the access by its own loops. The node is
then either computed inside those kernels, and passes their demands on to its operands, or it is
materialized: it becomes the root of a kernel with loops of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast, final

from tg_uop import DType, GroupOp, Ops, UOp, sint

from tg_tensor.schedule.affine import count, max_dim
from tg_tensor.schedule.cost import DEAR, LEAVES, SCALARS, Cost, costs_of
from tg_tensor.schedule.indexing import MOVEMENTS, Access, Indexer
from tg_tensor.schedule.looping import is_looping
from tg_tensor.schedule.padding import border_of, runs_along, shifted, slides_along
from tg_tensor.schedule.products import is_contraction, widened_factors
from tg_tensor.schedule.transposed import steps_across
from tg_tensor.schedule.waits import only_waits

MAX_ACCESSES = 6
"""So many different accesses to an expression of one kernel or several; more are materialized."""

MEMORY_WEIGHT = 2
"""A trip through memory counts this much more than the same number of operations in registers."""

KERNEL_WORK = 4000
"""Elementary operations that take as long as it takes to launch one more kernel."""

MOST_REDUCES = 8
"""So many small reductions one after the other in one kernel: more take long to compile."""

REREAD_PADDING = 26
"""A padded operand that is read so many times over is worth a copy without conditions (measured for
windows of 3, 5 and 7 of single channels on CPU: the copy pays for the last)."""

UNPADDED_WORK = 1 << 22
"""Elements read under conditions from which on a copy without conditions saves time (measured for
convolutions on CPU: below, both take as long, above up to twice)."""

SHORT_ROW, LONG_ROW = 32, 1 << 16
"""A row that is reduced and then read again (softmax, layer norm) is one kernel when it fills some
vectors (measured on CPU: 64 takes 0.4 to 0.9 of the time of two kernels, 10 up to six times it),
and fits a cache."""

FEW_ROWS = 8
"""With fewer rows, separate kernels keep more threads busy."""

MOST_PADDING = 4
"""A padded copy may be so many times larger than what it copies."""

ONE_TO_ONE = frozenset((Ops.RESHAPE, Ops.PERMUTE, Ops.FLIP))


@final
@dataclass(eq=False, slots=True)
class Root:
    """What one kernel writes: a materialized value, or an effect (STORE, CALL, COPY)."""

    node: UOp
    access: Access
    position: int
    reduces: int = 0
    reduce_loops: tuple[UOp, ...] = ()
    depth: int = 0
    is_product: bool = False
    """Whether it sums many products, which takes tiles of registers, or a matrix unit, of its own:
    one such sum a kernel."""

    @property
    def loops(self) -> tuple[UOp, ...]:
        """The loops over the elements that are written, outermost first."""
        return tuple(part for part in self.access.indices if part.op is Ops.RANGE)

    @property
    def is_kernel(self) -> bool:
        """Whether the scheduler builds the kernel: COPY and CALL bring what they run."""
        return self.node.op is not Ops.COPY and self.node.op is not Ops.CALL


class Demand(NamedTuple):
    """A kernel that wants a node at an access."""

    root: Root
    access: Access


class Context(NamedTuple):
    """The loops around a demand, outer first, and whether only movement leads to a REDUCE."""

    loops: tuple[UOp, ...]
    reduce_depth: int = 0
    below_reduce: Ops | None = None


Demands = dict[Demand, Context]


@dataclass(slots=True)
class Plan:
    """The outcome: what is materialized, and what every kernel wants of what is in memory."""

    indexer: Indexer
    order: Sequence[UOp]
    roots: dict[UOp, Root] = field(default_factory=dict)
    demands: dict[UOp, Demands] = field(default_factory=dict)

    copied: dict[tuple[Root, UOp, Access], tuple[UOp, Access]] = field(default_factory=dict)
    """Where a kernel reads a node from a copy, padded or transposed: it, and the access to it."""

    def wanted_from(self, node: UOp) -> Demands:
        """Who reads a node in memory, and how."""
        return self.demands.get(node, {})


@final
class Planner:
    """One walk over the graph from users to sources."""

    def __init__(
        self,
        order: Sequence[UOp],
        outputs: Iterable[UOp],
        indexer: Indexer,
        *,
        fuse: bool = True,
        fuse_rows: bool = True,
        products: frozenset[tuple[DType, DType]] = frozenset(),
    ) -> None:
        self.indexer = indexer
        self.fuse = fuse
        self.fuse_rows = fuse_rows
        self.forced = forced_nodes(order, outputs)
        self.users = users_of(order)
        self.below = below_views(order, self.users)
        self.costs = costs_of(order, self.forced, self.users)
        self.widened = widened_factors(order, products) if products else frozenset()
        self.plan = Plan(indexer, order)

    def run(self) -> Plan:
        """Visit every node once."""
        plan = self.plan
        for position in range(len(plan.order) - 1, -1, -1):
            node = plan.order[position]
            if node.op in SCALARS:
                continue
            demands = plan.demands.get(node)
            if demands and self.fuse and self._can_be_padded(node):
                self._copy_padded(node, demands, position)
                self._copy_across(node, demands, position)
            if node in self.forced:
                self._start_kernel(node, position)
                continue
            if not demands:
                continue
            if node.op in LEAVES:
                continue
            if self.is_materialized(node, demands):
                self._start_kernel(node, position)
            else:
                self._pass_on(node, demands)
                del plan.demands[node]
        return plan

    # *** the decision ***

    def is_materialized(self, node: UOp, demands: Demands) -> bool:
        """Whether a node is better computed once, into memory."""
        if node.op is Ops.PAD:
            return self._is_worth_unpadding(node, demands)
        if node.op in MOVEMENTS:
            return self._is_better_moved(node, demands)
        cost = self.costs[node]
        if cost.constant and node.op is not Ops.REDUCE:
            return cost.ops * len(demands) > DEAR and not cost.reduces
        if cost.constant:
            return False
        if self._is_selection(node) or self._is_running(node, demands):
            return False
        if not self.fuse:
            return True
        if node.op is Ops.REDUCE:
            return self._is_reduce_materialized(node, demands)
        if cost.reduces and (len(demands) > 1 or self._repeats(node, demands) > 1):
            return True
        if len(demands) > MAX_ACCESSES and cost.ops > 0:
            return True
        return self._is_recomputing_dear(node, cost, demands)

    def _is_selection(self, node: UOp) -> bool:
        """Whether a node asks if an index is a given one: a gather, before its sum collapses."""
        if node.op is not Ops.CMPEQ:
            return False
        return any(s.op not in SCALARS and self.costs[s].constant for s in node.src)

    def _is_running(self, node: UOp, demands: Demands) -> bool:
        """Whether a node is only read by cumulative reductions, which take each element once.

        The padding of a maximum or a product is no zero, so it is chosen by a WHERE.
        """
        if not self.fuse or self.costs[node].reduces or not demands:
            return False
        affine, shape = self.indexer.affine, self.indexer.shape(node)
        chooses = node.op is Ops.WHERE and node.src[2].op in SCALARS
        return all(
            runs_along(affine, demand.access)
            or (chooses and slides_along(affine, demand.access, shape))
            for demand in demands
        )

    def _is_better_moved(self, node: UOp, demands: Demands) -> bool:
        """Whether a value below goes to memory, and lies better in the order that users read it."""
        below, is_permuted = self.below.get(node, (node, False))
        if below.op not in GroupOp.Elementwise or not is_permuted or below in self.forced:
            return False
        return self.users.get(below) == 1 and self.is_materialized(below, demands)

    def _is_reduce_materialized(self, node: UOp, demands: Demands) -> bool:
        if len(demands) > 1 or self._repeats(node, demands) > 1:
            return True
        ((demand, context),) = demands.items()
        if any(loop.axis_type.is_reduce for loop in demand.access.loops):
            return context.below_reduce is not node.reduce_op
        if demand.root.reduces == 0 and self._uses_all_loops(demand, context):
            return False
        rows = max(1, self._numel(node))
        steps = count(self.indexer.shape(node.src[0])) // rows
        if rows * steps <= KERNEL_WORK and demand.root.reduces < MOST_REDUCES and self.fuse_rows:
            return False
        if is_contraction(node, self.indexer):
            return True
        return not self.fuse_rows or rows < FEW_ROWS or not SHORT_ROW <= steps <= LONG_ROW

    def _uses_all_loops(self, demand: Demand, context: Context) -> bool:
        used = demand.access.loops
        return all(loop in used for loop in context.loops)

    def _is_recomputing_dear(self, node: UOp, cost: Cost, demands: Demands) -> bool:
        """Compare the operations spent again and again with a trip through memory."""
        saved_per_use = cost.ops + cost.loads - 1
        if saved_per_use <= 0 or node in self.widened:
            return False
        points = sum(self._points(demand, context) for demand, context in demands.items())
        numel = self._numel(node)
        if points <= numel:
            return False
        once = numel * (cost.ops + cost.loads + MEMORY_WEIGHT)
        return points * saved_per_use > MEMORY_WEIGHT * once + KERNEL_WORK

    def _is_worth_unpadding(self, node: UOp, demands: Demands) -> bool:
        if self.costs[node].constant or not self.fuse:
            return False
        if not all(context.reduce_depth for context in demands.values()):
            return False
        if self._sets_apart(node):
            return False
        below = (self.indexer.operand(node, demand.access) for demand in demands)
        if any(runs_along(self.indexer.affine, access) for access in below):
            return False
        points = sum(self._points(demand, context) for demand, context in demands.items())
        return points >= max(UNPADDED_WORK, REREAD_PADDING * self._numel(node))

    def _sets_apart(self, node: UOp) -> bool:
        """Whether zeros come between the elements, as in a transposed convolution with steps.

        A kernel leaves those out that it would read from a copy, which are most.
        """
        while node.op in MOVEMENTS:
            if node.op is Ops.PAD:
                shape = self.indexer.shape(node.src[0])
                pads = cast(tuple[tuple[sint, sint], ...], node.movement_arg)
                if any(s == 1 and p[1] != 0 for s, p in zip(shape, pads, strict=True)):
                    return True
            node = node.src[0]
        return False

    def _repeats(self, node: UOp, demands: Demands) -> int:
        """How often an element is computed when every kernel computes it by itself."""
        points = sum(self._points(demand, context) for demand, context in demands.items())
        numel = self._numel(node)
        return -(-points // numel) if numel else 0

    def _points(self, demand: Demand, context: Context) -> int:
        """How often a kernel computes what it wants: in all loops down to the innermost needed."""
        used = demand.access.loops
        points = 1
        needed = 1
        for loop in context.loops:
            points *= max_dim(loop.size)
            if loop in used:
                needed = points
        return needed

    def _numel(self, node: UOp) -> int:
        return count(self.indexer.shape(node))

    # *** copies ***

    def _can_be_padded(self, node: UOp) -> bool:
        if node.op is Ops.RESHAPE:
            return node.src[0].op in LEAVES
        return node.op not in MOVEMENTS and node.op not in (Ops.STORE, Ops.CALL, Ops.BUFFER)

    def _copy_padded(self, node: UOp, demands: Demands, position: int) -> None:
        """Let those who read a node over and over, under conditions, read a padded copy."""
        affine, shape = self.indexer.affine, self.indexer.shape(node)
        numel = self._numel(node)
        for demand, context in list(demands.items()):
            if not demand.access.gates or not context.reduce_depth:
                continue
            if self._points(demand, context) < max(UNPADDED_WORK, REREAD_PADDING * numel):
                continue
            borders = border_of(affine, demand.access, shape)
            if borders is None or runs_along(affine, demand.access):
                continue
            copy = UOp(Ops.PAD, node.dtype, (node,), tuple(tuple(b) for b in borders))
            if self._numel(copy) > MOST_PADDING * numel:
                continue
            access = shifted(affine, demand.access, borders)
            self._read_copy(node, demand, (copy, access), position)

    def _copy_across(self, node: UOp, demands: Demands, position: int) -> None:
        """Let long sums that step from line to line of a factor read a transposed copy of it."""
        shape, itemsize = self.indexer.shape(node), node.dtype.itemsize
        for demand, context in list(demands.items()):
            axes = steps_across(demand.access, shape, itemsize, demand.root.loops)
            if axes is None or not context.reduce_depth or not is_looping(node.device):
                continue
            copy = UOp(Ops.PERMUTE, node.dtype, (node,), axes)
            access = Access(tuple(demand.access.indices[axis] for axis in axes))
            self._read_copy(node, demand, (copy, access), position)

    def _read_copy(
        self, node: UOp, demand: Demand, instead: tuple[UOp, Access], position: int
    ) -> None:
        """Let a kernel read a copy where it asked for a node."""
        copy, access = instead
        context = self.plan.demands[node].pop(demand)
        if copy not in self.plan.roots:
            self._start_kernel(copy, position)
        self.plan.copied[(demand.root, node, demand.access)] = instead
        self._demand(copy, Demand(demand.root, access), context)

    # *** passing on ***

    def _start_kernel(self, node: UOp, position: int) -> None:
        written = node.stored_target if node.op is Ops.STORE else node
        access = self.indexer.whole(() if node.op is Ops.CALL else self.indexer.shape(written))
        root = Root(node, access, position)
        self.plan.roots[node] = root
        value = node.stored_value if node.op is Ops.STORE else node
        root.depth = self.costs[value].depth if value in self.costs else 0
        if not root.is_kernel:
            self._demand_whole(node, root)
            return
        demand, context = Demand(root, access), Context(root.loops)
        if node.op is Ops.STORE:
            value = node.stored_value
            inner = self.indexer.elementwise(value, access)
            self._demand(value, Demand(root, inner), context)
        elif node.op is Ops.CONTIGUOUS:
            self._demand(node.src[0], demand, context)
        else:
            self._pass_on(node, {demand: context})

    def _demand_whole(self, node: UOp, root: Root) -> None:
        """COPY and CALL run on whole values in memory."""
        operands = node.call_args if node.op is Ops.CALL else node.src[:1]
        for operand in operands:
            whole = self.indexer.whole(self.indexer.shape(operand))
            self._demand(operand, Demand(root, whole), Context(()))

    def _pass_on(self, node: UOp, demands: Demands) -> None:
        is_factor = node in self.widened
        for demand, context in demands.items():
            demand.root.is_product |= is_factor
            if node.op is Ops.REDUCE:
                self._pass_to_reduced(node, demand, context)
            elif node.op in MOVEMENTS:
                access = self.indexer.operand(node, demand.access)
                inner = context
                if node.op is Ops.PAD and context.below_reduce is not None:
                    inner = context._replace(below_reduce=None)
                self._demand(node.src[0], Demand(demand.root, access), inner)
            else:
                self._pass_to_operands(node, demand, context)

    def _pass_to_operands(self, node: UOp, demand: Demand, context: Context) -> None:
        inner = context if context.below_reduce is None else context._replace(below_reduce=None)
        for operand in node.src:
            access = self.indexer.elementwise(operand, demand.access)
            self._demand(operand, Demand(demand.root, access), inner)

    def _pass_to_reduced(self, node: UOp, demand: Demand, context: Context) -> None:
        access, loops = self.indexer.reduced(node, demand.access)
        used = demand.access.loops
        around = context.loops
        while around and around[-1] not in used:
            around = around[:-1]
        inner = Context(around + loops, context.reduce_depth + 1, node.reduce_op)
        # a sum over constants becomes index arithmetic
        if loops and not self.costs[node].constant:
            demand.root.reduces += 1
            demand.root.reduce_loops += loops
            demand.root.is_product |= self._is_long_contraction(node)
        self._demand(node.src[0], Demand(demand.root, access), inner)

    def _is_long_contraction(self, node: UOp) -> bool:
        is_long = count(self.indexer.shape(node.src[0])) > KERNEL_WORK
        return is_long and is_contraction(node, self.indexer)

    def _demand(self, node: UOp, demand: Demand, context: Context) -> None:
        if node.op in SCALARS:
            return
        known = self.plan.demands.setdefault(node, {})
        other = known.get(demand)
        if other is None or len(other.loops) < len(context.loops):
            known[demand] = context


def forced_nodes(order: Iterable[UOp], outputs: Iterable[UOp]) -> set[UOp]:
    """What gets memory whatever it costs: outputs, effects, and what is marked so."""
    forced = set(outputs)
    for node in order:
        if node.op in (Ops.CONTIGUOUS, Ops.COPY, Ops.STORE, Ops.CALL):
            forced.add(node)
        elif only_waits(node):
            below = (_below_views(value) for value in node.src)
            forced.update(value for value in below if value.op not in LEAVES)
    return forced


def _below_views(value: UOp) -> UOp:
    node = value
    while node.op in MOVEMENTS or only_waits(node):
        node = node.src[0]
    return node


def users_of(order: Iterable[UOp]) -> dict[UOp, int]:
    """How many nodes use each node; a movement op counts as its users."""
    users: dict[UOp, int] = {}
    for node in order:
        for operand in dict.fromkeys(node.src):
            users[operand] = users.get(operand, 0) + 1
    return users


def below_views(order: Iterable[UOp], users: dict[UOp, int]) -> dict[UOp, tuple[UOp, bool]]:
    """For each view of all elements: the value below it and below all views that only it uses,
    and whether they change the order of elements."""
    found: dict[UOp, tuple[UOp, bool]] = {}
    for node in order:
        if node.op not in ONE_TO_ONE:
            continue
        source = node.src[0]
        below, is_permuted = source, False
        if users[source] == 1:
            below, is_permuted = found.get(source, (source, False))
        found[node] = below, is_permuted or node.op is not Ops.RESHAPE
    return found
