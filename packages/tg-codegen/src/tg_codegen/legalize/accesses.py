"""Build the LOADs and STOREs of one vector access: wide, from a span, gathered, or lane by lane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tg_uop import DType, Ops, PtrDType, UOp, dtypes

from tg_codegen.legalize.lanes import LaneAnalysis, LanePosition
from tg_codegen.target.caps import Capabilities

# a strided run is read as a whole when it is at most so many times as long as what it is read for
MAX_SPAN_FACTOR = 4
# lanes in pieces of at least this many neighbours are read piece by piece
MIN_PIECE = 4
# fewer lanes are not worth an instruction that gathers
MIN_GATHERED = 4


def address(memory: UOp, index: UOp, gate: UOp | None) -> UOp:
    """An INDEX in lowered form."""
    src = (memory, index) if gate is None else (memory, index, gate)
    return UOp(Ops.INDEX, memory.dtype, src)


def read(memory: UOp, index: UOp, gate: UOp | None, dtype: DType) -> UOp:
    """A LOAD of neighbouring elements from `index` on; 0 where the gate is closed."""
    if gate is not None and not gate.vmax:
        return UOp.const(dtype, 0)
    if gate is not None and gate.vmin:
        gate = None
    place = address(memory, index, gate)
    if gate is None:
        return UOp(Ops.LOAD, dtype, (place,))
    return UOp(Ops.LOAD, dtype, (place, UOp.const(dtype, 0)))


@dataclass(frozen=True, slots=True)
class VectorAccess:
    """One element of memory for each lane of `index`.

    `gate` says of each lane whether it counts, None for always; `uniform_gate` is the scalar if
    it is the same for all. `positions` is the index lane by lane.
    """

    memory: UOp
    index: UOp
    gate: UOp | None
    uniform_gate: UOp | None
    positions: Sequence[LanePosition]
    lanes: LaneAnalysis
    caps: Capabilities

    @property
    def count(self) -> int:
        """The number of lanes."""
        return self.index.dtype.count

    @property
    def dtype(self) -> DType:
        """The dtype of one element."""
        assert isinstance(self.memory.dtype, PtrDType), "an INDEX looks into memory"
        return self.memory.dtype.base.scalar()

    @property
    def has_one_gate(self) -> bool:
        """Whether all lanes count, or none."""
        return self.gate is None or self.uniform_gate is not None

    def at(self, position: LanePosition) -> UOp:
        """The scalar index of a position."""
        if position.offset == 0:
            return position.base
        if position.base.op is Ops.CONST and position.base.arg == 0:
            return UOp.const(self.index.dtype.scalar(), position.offset)
        return position.base + position.offset

    def step(self) -> int | None:
        """The distance between lanes, None where it varies."""
        first = self.positions[0]
        step = self.positions[1].offset - first.offset
        for i, position in enumerate(self.positions):
            if position.base is not first.base or position.offset != first.offset + i * step:
                return None
        return step

    def has_one_base(self) -> bool:
        """Whether lanes differ by constants only."""
        first = self.positions[0]
        return all(position.base is first.base for position in self.positions)

    def span(self) -> tuple[int, int] | None:
        """The lowest offset and the length of what the lanes cover, if they lie close together."""
        if not self.has_one_base():
            return None
        low = min(p.offset for p in self.positions)
        length = max(p.offset for p in self.positions) - low + 1
        return (low, length) if length <= MAX_SPAN_FACTOR * self.count else None

    # *** loads ***

    def load(self) -> UOp:
        """The vector; a lane that does not count is 0."""
        found = self._load_under_one_gate() if self.has_one_gate else self._load_under_mask()
        if found is not None:
            return found
        if self._can_gather():
            return read(self.memory, self._vector_index(), self.gate, self.dtype.vec(self.count))
        return UOp.stack(*(self._load_lane(i) for i in range(self.count)))

    def _load_lane(self, lane: int) -> UOp:
        gate = None if self.gate is None else self.lanes.lane(self.gate, lane)
        return read(self.memory, self.at(self.positions[lane]), gate, self.dtype)

    def _load_under_one_gate(self) -> UOp | None:
        gate = self.uniform_gate
        first = self.positions[0]
        step = self.step()
        if step == 0:
            return read(self.memory, self.at(first), gate, self.dtype).broadcast(self.count)
        if step == 1:
            return read(self.memory, self.at(first), gate, self.dtype.vec(self.count))
        span = self.span()
        if span is None:
            return self._load_pieces()
        low, length = span
        start = self.at(LanePosition(first.base, low))
        whole = read(self.memory, start, gate, self.dtype.vec(length))
        return whole.gep(tuple(p.offset - low for p in self.positions))

    def _load_pieces(self) -> UOp | None:
        """A load for each run of neighbours, if there are few."""
        pieces = _pieces(self.positions)
        if len(pieces) * MIN_PIECE > self.count:
            return None
        lanes: list[UOp] = []
        for piece in pieces:
            start = self.at(piece[0])
            part = read(self.memory, start, self.uniform_gate, self.dtype.vec(len(piece)))
            lanes += [part] if len(piece) == 1 else [part.gep(i) for i in range(len(piece))]
        return UOp.stack(*lanes)

    def _load_under_mask(self) -> UOp | None:
        if not self.caps.masked_memory:
            return self._load_known_lanes()
        if self.step() == 1:
            start = self.at(self.positions[0])
            return read(self.memory, start, self.gate, self.dtype.vec(self.count))
        return self._load_masked_span()

    def _load_known_lanes(self) -> UOp | None:
        """A load for each run of neighbours that count, if it is known which lanes do."""
        runs = self._known_runs()
        if runs is None:
            return None
        zero = UOp.const(self.dtype, 0)
        lanes = [zero] * self.count
        for first, positions in runs:
            length = len(positions)
            part = read(self.memory, self.at(positions[0]), None, self.dtype.vec(length))
            parts = [part] if length == 1 else [part.gep(i) for i in range(length)]
            lanes[first : first + length] = parts
        return UOp.stack(*lanes)

    def _known_runs(self) -> list[tuple[int, list[LanePosition]]] | None:
        """The first lane and the positions of each run of neighbours that count, if few."""
        if self.gate is None or self.gate.op is not Ops.VCONST:
            return None
        assert isinstance(self.gate.arg, tuple), "a VCONST carries its lanes"
        counted = [i for i, counts in enumerate(self.gate.arg) if counts]
        runs: list[tuple[int, list[LanePosition]]] = []
        for lane in counted:
            position = self.positions[lane]
            if runs and _follows(runs[-1], lane, position):
                runs[-1][1].append(position)
            else:
                runs.append((lane, [position]))
        return runs if len(runs) * MIN_PIECE <= self.count else None

    def _load_masked_span(self) -> UOp | None:
        """Lanes of one neighbourhood as a wide masked load and a choice of lanes.

        What lies between the lanes stays masked: it may be outside of the memory.
        """
        span = self.span()
        if span is None or len({p.offset for p in self.positions}) < self.count:
            return None
        assert self.gate is not None, "without a gate there is nothing to mask"
        low, length = span
        lane_at = {position.offset - low: i for i, position in enumerate(self.positions)}
        reads = UOp.const(dtypes.bool.vec(length), tuple(i in lane_at for i in range(length)))
        mask = self.gate.gep(tuple(lane_at.get(i, 0) for i in range(length))) & reads
        start = self.at(LanePosition(self.positions[0].base, low))
        whole = read(self.memory, start, mask, self.dtype.vec(length))
        return whole.gep(tuple(p.offset - low for p in self.positions))

    def _can_gather(self) -> bool:
        return self.count >= MIN_GATHERED and self.dtype.itemsize in self.caps.gather_bytes

    def _vector_index(self) -> UOp:
        """The index with what all lanes share as one scalar, if lanes differ by constants only."""
        if not self.has_one_base():
            return self.index
        offsets = UOp.const(self.index.dtype, tuple(p.offset for p in self.positions))
        base = self.positions[0].base
        if base.op is Ops.CONST:
            return offsets
        return base.broadcast(self.count) + offsets

    # *** stores ***

    def store(self, value: UOp) -> UOp:
        """The STOREs that write a vector."""
        if self.step() == 1:
            start = self.at(self.positions[0])
            if self.has_one_gate:
                return address(self.memory, start, self.uniform_gate).store(value)
            if self.caps.masked_memory:
                return address(self.memory, start, self.gate).store(value)
        runs = None if self._can_gather() or self._may_repeat() else self._known_runs()
        if runs:
            return self._store_runs(value, runs)
        if self._can_gather():
            gate = self.uniform_gate if self.has_one_gate else self.gate
            return address(self.memory, self._vector_index(), gate).store(value)
        return self._store_lanes(value)

    def _store_runs(self, value: UOp, runs: list[tuple[int, list[LanePosition]]]) -> UOp:
        """One STORE for each run of neighbours that count."""
        stores = []
        for first, positions in runs:
            part = value.gep(tuple(range(first, first + len(positions))))
            stores.append(address(self.memory, self.at(positions[0]), None).store(part))
        return stores[0].group(*stores[1:])

    def _store_lanes(self, value: UOp) -> UOp:
        """One STORE for each lane, in order of lanes, so that the last of equal indices stays."""
        stores: list[UOp] = []
        for i, position in enumerate(self.positions):
            gate = None if self.gate is None else self.lanes.lane(self.gate, i)
            if gate is not None and not gate.vmax:
                continue
            if gate is not None and gate.vmin:
                gate = None
            where = self.memory.after(stores[-1]) if stores and self._may_repeat() else self.memory
            place = address(where, self.at(position), gate)
            stores.append(place.store(self.lanes.lane(value, i)))
        if not stores:
            return UOp(Ops.NOOP)
        return stores[0].group(*stores[1:])

    def _may_repeat(self) -> bool:
        """Whether two lanes may be at one element."""
        return not self.has_one_base() or len(set(self.positions)) < self.count


def _follows(run: tuple[int, list[LanePosition]], lane: int, position: LanePosition) -> bool:
    """Whether a lane and its position come right after those of a run."""
    first, positions = run
    last = positions[-1]
    is_next = position.base is last.base and position.offset == last.offset + 1
    return is_next and lane == first + len(positions)


def _pieces(positions: Sequence[LanePosition]) -> list[list[LanePosition]]:
    """Runs of lanes that are neighbours in memory."""
    pieces = [[positions[0]]]
    for position in positions[1:]:
        last = pieces[-1][-1]
        if position.base is last.base and position.offset == last.offset + 1:
            pieces[-1].append(position)
        else:
            pieces.append([position])
    return pieces
