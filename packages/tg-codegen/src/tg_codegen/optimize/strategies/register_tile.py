"""Choose the block of outputs that one thread keeps in registers through a reduction.

A tile has lanes along one loop and rows along others. Its cost is a count of cycles on a wide
superscalar core: two loads, two vector operations a cycle, four cycles until a sum can be used
again (Fog, Instruction tables: Ice Lake and later, Zen 4).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import inf, prod

from tg_uop import Ops, UOp

from tg_codegen.optimize.loop_nest import LoopNest
from tg_codegen.optimize.strategies.facts import LoadFacts, ReduceFacts
from tg_codegen.optimize.strategies.phases import NO_PHASES, phases_of
from tg_codegen.optimize.strategies.stage_plan import BlockChoice, StagePlan, StagePlanner
from tg_codegen.optimize.strategies.tile import LaneChoice, RegisterTile
from tg_codegen.target.caps import Capabilities

# the sum of one step is ready for the next after so many cycles
_ADD_LATENCY = 4.0
# cycles for the bookkeeping of one step of a loop
_LOOP_OVERHEAD = 1.5
_MAX_ROWS = 14
# without a divisor of this size, rows overlap; what is computed twice is at most this share more
_ENOUGH_ROWS = 6
_MOST_OVERLAP = 1.25
# beside good divisors, rows that fill the registers, where hardly anything is computed twice
_FULL_ROWS = (6, 12, 14)
_LITTLE_OVERLAP = 1.04
# a block of a reduction has at least so many steps, so that fetching its sums costs little
_BLOCK_STEPS = 32
_MOST_BLOCK_STEPS = 4096
# an operand that is used at most so often is read in place, a block of rows at a time
_SELDOM = 32
# a tile that leaves nothing to split over threads costs this much more, where it matters
_UNSHARED = 1.7
_WORTH_SHARING = 200_000
# bytes of a cache line; cycles to have one where the lines of a tile fit the nearest cache, or not
_LINE, _NEAR_LINE, _FAR_LINE = 64, 0.3, 2.0
# lines at multiples of this many bytes share few places of the nearest cache
_COLLIDING, _COLLIDING_STORE, _FAR_STORE = 512, 10.0, 4.0
# copying one element into scratch memory: along the source, where some are left out, or across it
_COPY_ALONG, _COPY_GATED, _COPY_ACROSS = 0.2, 1.0, 1.5


class TileModel:
    """Counts cycles of tiles for one reduction on one target."""

    def __init__(self, nest: LoopNest, facts: ReduceFacts) -> None:
        self.nest = nest
        self.facts = facts
        self.caps: Capabilities = nest.caps
        self.register_lanes = self.caps.lanes(facts.node.dtype)
        self.stores = [store.stored_target for store in nest.stores]
        self.store_strides = [
            dict(zip(nest.rngs, nest.strides(s), strict=True)) for s in self.stores
        ]
        self.planner = StagePlanner(nest, facts)
        self.shared = nest.shared_output_loops
        self.lowest = inf
        self.can_lap = not nest.reads_what_it_writes
        self.can_block = len(nest.reduces) == 1 and nest.only_end is not None
        self.phases = phases_of(facts)

    def best(self) -> RegisterTile:
        """The cheapest tile."""
        best = self._cheapest()
        if best is None:
            # the registers do not hold outputs of all phases
            self.phases = NO_PHASES
            best = self._cheapest()
        assert best is not None, "one result at a time always fits"
        return best

    def _cheapest(self) -> RegisterTile | None:
        best: RegisterTile | None = None
        for tile in self._candidates():
            if best is None or tile.cost < best.cost:
                best = tile
                self.lowest = tile.cost
        return best

    # *** candidates ***

    def _candidates(self) -> Iterator[RegisterTile]:
        loops = [*self.facts.outputs, *self.facts.reduced]
        if self.phases.steps:
            taken = (*self.phases.steps, *self.phases.places)
            loops = [loop for loop in loops if loop not in taken]
        lanes = [lane for loop in loops for lane in self._lane_choices(loop)]
        for lane in lanes:
            yield from self._with_rows(lane)
        if not lanes:
            yield from self._with_rows(None)

    def _lane_choices(self, loop: UOp) -> Iterator[LaneChoice]:
        size, width = loop.size, self.register_lanes
        if not isinstance(size, int) or size < 2 or width < 2:
            return
        exact = [n for n in (4 * width, 2 * width, width, width // 2, width // 4) if n > 1]
        found = False
        for lanes in exact:
            if size % lanes == 0:
                found = found or lanes >= width
                yield LaneChoice(loop, lanes, 1, size)
        if size % (3 * width) == 0:
            yield LaneChoice(loop, width, 3, size)
        if self.can_lap and not loop.axis_type.is_reduce and size % (2 * width):
            for lanes in (4 * width, 2 * width, width):
                if size > lanes and size % lanes:
                    found = True
                    yield LaneChoice(loop, lanes, 1, -(-size // lanes) * lanes, laps=True)
        if found or not self.caps.masked_memory:
            return
        for lanes in (2 * width, width, width // 2):
            if lanes > 1 and size % lanes and size * 4 >= lanes:
                yield LaneChoice(loop, lanes, 1, -(-size // lanes) * lanes)

    def _with_rows(self, lane: LaneChoice | None) -> Iterator[RegisterTile]:
        for rows in self._row_choices(lane):
            yield from self._with_staging(lane, rows)

    def _row_choices(self, lane: LaneChoice | None) -> Iterator[tuple[tuple[UOp, int], ...]]:
        if self.phases.steps:
            yield from self._rows_of_phases(lane)
            return
        taken = lane.loop if lane else None
        loops = [r for r in self.facts.outputs if r is not taken and self._is_reused(r)]
        yield ()
        options = {loop: self._row_amounts(loop) for loop in loops}
        for loop in loops:
            for amount in reversed(options[loop]):
                yield ((loop, amount),)
        for first, second in combinations(loops[-4:], 2):
            for a in options[first]:
                for b in options[second]:
                    if 4 <= a * b <= _MAX_ROWS + 2:
                        yield ((first, a), (second, b))

    def _rows_of_phases(self, lane: LaneChoice | None) -> Iterator[tuple[tuple[UOp, int], ...]]:
        """Whole phases along each loop that has some, and more rows along one other loop or one of
        these."""
        steps = self.phases.steps
        yield tuple(steps.items())
        for loop in self.facts.outputs:
            if (lane is not None and loop is lane.loop) or not self._is_reused(loop):
                continue
            phases = steps.get(loop, 1)
            for amount in range(2 * phases, self.caps.vector_registers, phases):
                if self.phases.whole(loop) % amount == 0:
                    yield tuple((steps | {loop: amount}).items())

    def _row_amounts(self, loop: UOp) -> list[int]:
        """Steps of a loop in one tile: divisors, or tiles that overlap where none is large."""
        size = loop.size
        assert isinstance(size, int), "only loops of known size become rows"
        exact = [n for n in range(2, _MAX_ROWS + 1) if size % n == 0]
        if not self.can_lap:
            return exact
        if any(n >= _ENOUGH_ROWS for n in exact):
            return exact + [
                n
                for n in _FULL_ROWS
                if n not in exact and -(-size // n) * n <= size * _LITTLE_OVERLAP
            ]
        overlapping = [
            n
            for n in range(_ENOUGH_ROWS, min(_MAX_ROWS + 1, size))
            if -(-size // n) * n <= size * _MOST_OVERLAP
        ]
        return exact + overlapping[-4:]

    def _is_reused(self, loop: UOp) -> bool:
        """Whether some load gives the same element at every step of an output loop."""
        if not isinstance(loop.size, int):
            return False
        return any(not load.moves_with(loop) for load in self.facts.loads)

    def _with_staging(
        self, lane: LaneChoice | None, rows: tuple[tuple[UOp, int], ...]
    ) -> Iterator[RegisterTile]:
        amounts = dict(rows)
        if not self._fits(lane, amounts, self._vectors(lane), prod(amounts.values())):
            return
        if self._least_cost(lane, amounts) >= self.lowest:
            return
        sizes = dict(rows)
        padded: dict[UOp, int] = {}
        for loop, amount in rows:
            if int(loop.size) % amount:
                padded[loop] = -(-int(loop.size) // amount) * amount
        laps = (bool(padded) and not self.phases.steps) or (lane is not None and lane.laps)
        if lane is not None:
            sizes[lane.loop] = lane.width
            padded[lane.loop] = lane.padded
        wanting = [load for load in self.facts.loads if self._gains(load, lane)]
        in_place = [self.planner.plan(load, sizes, padded) for load in wanting]
        blocks = self._block_choices(lane) if None in in_place and not laps else []
        for block in (None, *blocks):
            found = in_place
            if block is not None:
                found = [self.planner.plan(load, sizes, padded, block) for load in wanting]
            plans = [plan for plan in found if plan is not None]
            for staged in _subsets(plans[:2]):
                if block is not None and not any(plan.in_block for plan in staged):
                    continue
                held = sum(plan.size for plan in staged)
                if block is not None:
                    outside = {loop for plan in staged if plan.in_block for loop in plan.fixed}
                    held += self.planner.sums(outside, sizes)
                if held <= self.planner.limit:
                    cost = self._cost(lane, rows, staged, block)
                    yield RegisterTile(lane, rows, staged, block, cost)
        if not laps:
            yield from self._with_blocks_in_place(lane, rows, sizes)

    def _with_blocks_in_place(
        self, lane: LaneChoice | None, rows: tuple[tuple[UOp, int], ...], sizes: dict[UOp, int]
    ) -> Iterator[RegisterTile]:
        """Tiles of a few rows of an operand at a time, for all of its columns.

        Where an operand is used seldom, a copy of it does not pay. Column by column its rows would
        be fetched from page to page, which no processor foresees; a few rows at a time are so many
        streams.
        """
        if lane is None or not any(self._is_used_seldom(load, lane) for load in self.facts.loads):
            return
        held = self.planner.sums((), sizes)
        if held > self.planner.limit:
            return
        for block in self._block_choices(lane):
            yield RegisterTile(lane, rows, (), block, self._cost(lane, rows, (), block))

    def _is_used_seldom(self, load: LoadFacts, lane: LaneChoice) -> bool:
        if not load.is_contiguous(lane.loop) or not self._strides_far(load) or load.gate_loops:
            return False
        moving = [r for r in (*self.facts.outputs, *self.facts.reduced) if load.moves_with(r)]
        elements = prod(int(r.vmax) + 1 for r in moving)
        uses = self.facts.work // elements
        large = elements * load.itemsize > self.caps.l2_bytes // 2
        return large and uses <= _SELDOM

    def _block_choices(self, lane: LaneChoice | None) -> list[BlockChoice]:
        """The outermost reduce loop in parts, where its sums can be kept."""
        in_output = lane is not None and lane.loop in self.facts.outputs
        left = [loop for loop in self.facts.reduced if loop not in self.phases.places]
        if not self.can_block or not in_output or not left:
            return []
        loop = left[0]
        if not isinstance(loop.size, int) or loop.size < 2:
            return []
        inner = self.facts.steps // loop.size
        parts = [n for n in range(1, min(loop.size, _MOST_BLOCK_STEPS)) if loop.size % n == 0]
        wide_enough = [n for n in parts if n * inner >= _BLOCK_STEPS]
        return [BlockChoice(loop, loop.size // n) for n in wide_enough[:2]]

    def _gains(self, load: LoadFacts, lane: LaneChoice | None) -> bool:
        if self._has_phases(load):
            # a copy would hold the elements that are left out
            return False
        if load.gate_loops:
            return True
        if lane is None or not load.moves_with(lane.loop):
            return False
        return not load.is_contiguous(lane.loop) or self._strides_far(load)

    def _strides_far(self, load: LoadFacts) -> bool:
        """Whether the steps of the reduction jump from page to page."""
        jumps = [load.strides.get(loop) for loop in self.facts.reduced]
        return any(j is None or abs(j) * load.itemsize >= 256 for j in jumps if j != 0)

    # *** cost ***

    def _cost(
        self,
        lane: LaneChoice | None,
        rows: tuple[tuple[UOp, int], ...],
        staged: tuple[StagePlan, ...],
        block: BlockChoice | None,
    ) -> float:
        amounts = dict(rows)
        tile_rows = prod(amounts.values())
        plans = {plan.load: plan for plan in staged}
        loads = sum(
            self._load_cycles(load, lane, amounts, plans.get(load), block)
            for load in self.facts.loads
        )
        if block is None:
            # a block is small enough for its lines to stay near
            loads += sum(self._line_cycles(load, lane, amounts) for load in self.facts.loads)
        step = self._step_cycles(loads, self._arithmetic_cycles(lane, amounts))
        in_reduce = lane is not None and lane.loop in self.facts.reduced
        width = lane.width if lane else 1
        useful = self._useful(lane, amounts)
        cost = step / (tile_rows * width * useful)
        cost *= self._unevenness(lane, amounts)
        cost += self._finish_cycles(lane, in_reduce) / self.facts.steps
        if block is not None:
            steps = self.facts.steps // block.blocks
            cost += 3.0 / min(width, self.register_lanes) / steps
        for plan in staged:
            cost += self._copy_cycles(plan, staged, lane) / self.facts.work
        return cost

    def _least_cost(self, lane: LaneChoice | None, amounts: dict[UOp, int]) -> float:
        """What a tile costs at least: with every operand in vectors in the nearest cache."""
        vectors, loads = self._vectors(lane), 0.0
        for load in self.facts.loads:
            wide = lane is not None and load.moves_with(lane.loop)
            replicas = self._replicas(load, amounts) * self._share(load)
            loads += replicas * (vectors if wide else 1) * 0.5
        width = lane.width if lane else 1
        elements = prod(amounts.values()) * width * self._useful(lane, amounts)
        return self._step_cycles(loads, self._arithmetic_cycles(lane, amounts)) / elements

    def _step_cycles(self, loads: float, arithmetic: float) -> float:
        """One step of the innermost loop: loads and arithmetic overlap, but not wholly."""
        chain = _ADD_LATENCY if self.facts.steps > 1 else 0.0
        return max(loads, arithmetic, chain, (loads + arithmetic) * 0.6) + _LOOP_OVERHEAD

    def _unevenness(self, lane: LaneChoice | None, amounts: dict[UOp, int]) -> float:
        """How much longer than half of the work the larger share of two threads takes.

        Whatever threads there are here: tiles do not depend on their number.
        """
        if self.facts.work < _WORTH_SHARING:
            return 1.0
        least = _UNSHARED
        for loop in self.shared:
            taken = amounts.get(loop, 1)
            steps = int(loop.vmax) + 1
            if lane is not None and loop is lane.loop:
                taken, steps = lane.width, lane.padded
            tiles = -(-steps // taken)
            if tiles % 2 == 0:
                return 1.0
            if self.can_lap and tiles > 1:
                least = min(least, (tiles + 1) / tiles)
        return least

    def _vectors(self, lane: LaneChoice | None) -> int:
        return 1 if lane is None else lane.vectors * -(-lane.lanes // self.register_lanes)

    def _useful(self, lane: LaneChoice | None, amounts: dict[UOp, int]) -> float:
        """The share of what is computed that is not padding, nor computed twice."""
        share = 1.0 if lane is None else int(lane.loop.size) / lane.padded
        for loop, amount in amounts.items():
            tiles = -(-int(loop.size) // amount)
            share *= int(loop.size) / (tiles * amount)
        return share

    def _fits(
        self, lane: LaneChoice | None, amounts: dict[UOp, int], vectors: int, tile_rows: int
    ) -> bool:
        held = max(
            (
                self._replicas(load, amounts) * vectors
                for load in self.facts.loads
                if lane is not None and load.moves_with(lane.loop)
            ),
            default=1,
        )
        return tile_rows * vectors + min(held, vectors * 4) + 1 <= self.caps.vector_registers

    def _replicas(self, load: LoadFacts, amounts: dict[UOp, int]) -> int:
        return prod(n for loop, n in amounts.items() if load.moves_with(loop))

    def _share(self, load: LoadFacts) -> float:
        """The share of the rows of a tile that read an element of an operand in one step."""
        return self.phases.share if self._has_phases(load) else 1.0

    def _has_phases(self, load: LoadFacts) -> bool:
        """Whether an operand has elements for some phases of the outputs only."""
        return any(load.moves_with(loop) for loop in self.phases.steps)

    def _load_cycles(
        self,
        load: LoadFacts,
        lane: LaneChoice | None,
        amounts: dict[UOp, int],
        staged: StagePlan | None,
        block: BlockChoice | None,
    ) -> float:
        replicas = self._replicas(load, amounts) * self._share(load)
        gated = bool(load.gate_loops) and staged is None
        if lane is None or not load.moves_with(lane.loop):
            return replicas * (2.5 if gated else 0.5)
        vectors = self._vectors(lane)
        if staged is not None:
            return replicas * vectors * (0.5 if staged.size <= self.caps.l1_bytes // 2 else 0.9)
        if not load.is_contiguous(lane.loop) or (gated and not self.caps.masked_memory):
            return replicas * lane.width * (2.5 if gated else 1.2)
        far = self._strides_far(load) and self._span(load, lane) > self.caps.l1_bytes // 2
        if block is not None:
            # all columns come in turn, so that rows come from the second cache
            return replicas * vectors * 1.1
        return replicas * vectors * ((2.5 if far else 0.7) + (1.0 if gated else 0.0))

    def _line_cycles(
        self, load: LoadFacts, lane: LaneChoice | None, amounts: dict[UOp, int]
    ) -> float:
        """Cycles a step for bringing the cache lines near that the rows of one tile read."""
        if lane is not None and load.moves_with(lane.loop):
            return 0.0
        counts = {loop: int(loop.vmax) + 1 for loop in self.facts.reduced} | amounts
        within, lines = float(load.itemsize), 1.0
        for loop, count in counts.items():
            stride = load.strides.get(loop, 0)
            distance = _LINE if stride is None else abs(stride) * load.itemsize
            if distance >= _LINE:
                lines *= count
            else:
                within += distance * (count - 1)
        lines *= 1 + within / _LINE
        fits = lines * _LINE <= self.caps.l1_bytes // 2
        return lines * (_NEAR_LINE if fits else _FAR_LINE) / self.facts.steps

    def _span(self, load: LoadFacts, lane: LaneChoice) -> int:
        """Bytes of cache that a whole reduction of one tile goes through."""
        steps = prod(int(r.vmax) + 1 for r in self.facts.reduced if load.moves_with(r))
        return steps * max(64, lane.width * load.itemsize)

    def _arithmetic_cycles(self, lane: LaneChoice | None, amounts: dict[UOp, int]) -> float:
        vectors = self._vectors(lane)
        total = prod(amounts.values()) * vectors * 0.5 * self.phases.share
        if self.phases.steps:
            return total
        value = self.facts.node.reduced_value
        for node in self.facts.arithmetic:
            if node is value and node.op is Ops.MUL and self.caps.has_fma:
                continue
            copies = prod(n for loop, n in amounts.items() if loop in node.ranges)
            wide = lane is not None and lane.loop in node.ranges
            total += copies * (vectors if wide else 1) * 0.5
        return total

    def _finish_cycles(self, lane: LaneChoice | None, in_reduce: bool) -> float:
        """Cycles for each result after the last step: horizontal sum and store."""
        if lane is None:
            return 1.0
        if in_reduce:
            return 12.0 + 2.0 * self._vectors(lane)
        return max(self._store_cycles(store, lane) for store in range(len(self.stores)))

    def _store_cycles(self, number: int, lane: LaneChoice) -> float:
        """Cycles to store one result: in vectors, or each into a line of its own."""
        stride = self.store_strides[number].get(lane.loop)
        if stride in (0, 1):
            return 2.0 / self.register_lanes
        distance = (stride or 0) * self.stores[number].dtype.itemsize
        collide = distance >= _COLLIDING and distance % _COLLIDING == 0
        cycles = _COLLIDING_STORE if collide else _FAR_STORE
        return 2 * cycles if self.nest.reads_what_it_writes else cycles

    def _copy_cycles(
        self, plan: StagePlan, staged: tuple[StagePlan, ...], lane: LaneChoice | None
    ) -> float:
        load = plan.load
        along = lane is None or not load.moves_with(lane.loop) or load.is_contiguous(lane.loop)
        copied = plan.size // load.itemsize * plan.copies
        first = staged[0]
        if plan is not first and plan.fixed and not set(first.fixed) <= set(plan.fixed):
            copied *= first.copies
        if not along:
            return copied * _COPY_ACROSS
        return copied * (_COPY_GATED if load.gate_loops else _COPY_ALONG)


def _subsets(plans: list[StagePlan]) -> Iterator[tuple[StagePlan, ...]]:
    for count in range(len(plans) + 1):
        yield from combinations(plans, count)
