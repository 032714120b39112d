"""Kernels that go over the steps of a recurrent layer: one for all steps, or one for each.

One kernel for all steps, since the work of a step is smaller than what starting kernels for it
costs; directions and parts of the batch, which do not depend on each other, are split over threads.
Where the weights are large, several threads share the units of a direction instead, so that each
reads its part of the weights from its own cache. Then each step is a kernel of its own: the next
step needs what all of them have written.

Memory has the axes (time, direction, batch, unit); units are padded to whole blocks. The state is
in two places in turn: a step reads one, and writes the other one for the next step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tg_tensor.algorithms.loops import Loops, as_index
from tg_uop import UOp, dtypes

from tg_onnx.ops.cells import Cell

LANES = 16
"""Units of one vector: 512 bits of float32."""
LINE = 16
"""Numbers of 32 bits that a thread has to itself."""
SHARED_BYTES = 1024 * 1024
"""From so many bytes of weights on a step is worth starting several threads for."""
CACHED_BYTES = 3 * 512 * 1024
"""So many bytes of weights stay in the cache of one thread from step to step."""
MOST_CALLS = 512
"""Longer sequences stay in one kernel: each kernel is one more call to keep."""


@dataclass(frozen=True, slots=True)
class StepForm:
    """A layer: which cells it has, and the sizes of what it works on.

    `parts` is how many threads share the units of a direction, 1 for one kernel for all steps.
    """

    cells: tuple[Cell, ...]
    is_reverse: bool
    steps: int
    batch: int
    hidden: int
    threads: int = 1
    parts: int = 1

    @property
    def block(self) -> int:
        """The units that are computed together."""
        return LANES

    @property
    def width(self) -> int:
        """The units, padded to whole blocks."""
        return -(-self.hidden // LANES) * LANES

    @property
    def blocks(self) -> int:
        """How many blocks the units of a direction are."""
        return self.width // self.block

    @property
    def rows(self) -> int:
        """The rows of the batch that are computed at once."""
        return self.batch

    @property
    def tiles(self) -> int:
        """The parts of the batch that do not depend on each other."""
        return self.batch // self.rows


def divisor(size: int, most: int) -> int:
    """The largest divisor of `size` that is at most `most`."""
    return max(d for d in range(1, max(min(size, most), 1) + 1) if size % d == 0)


def parts_of(form: StepForm, weight_bytes: int, phases: int = 1) -> int:
    """How many threads share a direction whose weights have so many bytes."""
    directions = len(form.cells)
    alike = all(cell == form.cells[0] for cell in form.cells)
    if not alike or directions * form.steps * phases > MOST_CALLS:
        return 1
    has_idle = directions * form.tiles < form.threads
    if weight_bytes < (SHARED_BYTES if has_idle else CACHED_BYTES):
        return 1
    return divisor(form.blocks, form.threads)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a step is: the cell's functions, the direction and which part of its units, the part
    of the batch, the number of the step and the time that it is for.
    """

    cell: Cell
    direction: UOp
    part: UOp
    tile: UOp
    step: UOp
    time: UOp

    @property
    def before(self) -> UOp:
        """Where the state is that the step reads: 0 or 1."""
        return self.step % 2

    @property
    def after(self) -> UOp:
        """Where the state is that it writes."""
        return 1 - self.step % 2


Phase = Callable[[Place], None]


class Writer(ABC):
    """What the kernels of a layer are made of."""

    def __init__(self, form: StepForm, memory: Mapping[str, UOp]) -> None:
        self.form = form
        self.memory = memory
        self.loops = Loops()

    @property
    @abstractmethod
    def name(self) -> str:
        """What the kernels are called."""

    @abstractmethod
    def phases(self) -> Sequence[Phase]:
        """What a step does, one after the other; each needs all of what the one before wrote."""

    def all_steps(self) -> UOp:
        """One kernel for the layer: directions and tiles apart, then step after step."""
        cells, tiles = self.form.cells, self.form.tiles
        if all(cell == cells[0] for cell in cells):
            groups = [(0, len(cells), self.form.threads)]
        else:
            groups = [(number, 1, 1) for number in range(len(cells))]
        for first, count, most in groups:
            tasks = count * tiles
            threads = divisor(tasks, most)
            split = self.loops.threads if threads > 1 else self.loops.loop
            with split(threads) as thread, self.loops.loop(tasks // threads) as rest:
                task = thread * (tasks // threads) + rest
                direction, tile = task // tiles + first, task % tiles
                self._fill(direction, tile)
                with self.loops.loop(self.form.steps) as step:
                    place = self._place(cells[first], direction, _ZERO, tile, step)
                    for phase in self.phases():
                        phase(place)
        return self.loops.kernel(self.name)

    def start(self) -> UOp:
        """A kernel for what the first step needs."""
        with self.loops.nest(len(self.form.cells), self.form.tiles) as (direction, tile):
            self._fill(direction, tile)
        with self.loops.loop(self.form.parts) as part:
            first = UOp.const(dtypes.int32, 0)
            self.loops.write(self.memory["clock"], part, 0, value=first)
        return self.loops.kernel(f"{self.name}_start")

    def one_step(self, number: int) -> UOp:
        """A kernel for a phase of the next step; memory says which one that is, to each thread its
        own: the steps of one direction after those of the other.
        """
        clock, form = self.memory["clock"], self.form
        with self.loops.threads(form.parts) as part:
            count = as_index(self.loops.read(clock, part, 0))
            direction, step = count // form.steps, count % form.steps
            with self.loops.loop(form.tiles) as tile:
                self.phases()[number](self._place(form.cells[0], direction, part, tile, step))
            if number == len(self.phases()) - 1:
                now = self.loops.read(clock, part, 0)
                self.loops.write(clock, part, 0, value=now + 1)
        return self.loops.kernel(f"{self.name}_step")

    def _place(self, cell: Cell, direction: UOp, part: UOp, tile: UOp, step: UOp) -> Place:
        backward = self.form.steps - 1 - step
        time = backward if self.form.is_reverse else direction.eq(1).where(backward, step)
        return Place(cell, direction, part, tile, step, time)

    def _fill(self, direction: UOp, tile: UOp) -> None:
        """The states as they are before the first step."""
        rows, vectors = self.form.rows, self.form.width // LANES
        for name, first in (("h", (0,)), ("c", ())):
            if name not in self.memory:
                continue
            with (
                self.loops.nest(rows, vectors) as (row, vector),
                self.loops.at_once((), LANES) as (lane,),
            ):
                where = (direction, tile * rows + row, vector * LANES + lane)
                value = self.memory[f"{name}0"].index(*where)
                self.loops.write(self.memory[name], *first, *where, value=value)

    @contextmanager
    def own_blocks(self, place: Place) -> Iterator[UOp]:
        """The blocks of the units that a part has."""
        each = self.form.blocks // self.form.parts
        with self.loops.loop(each) as number:
            yield place.part * each + number

    def is_alive(self, place: Place, row: UOp) -> UOp | None:
        """Whether a row's sequence has this step; None where all have all."""
        if "lengths" not in self.memory:
            return None
        return place.time.cast(dtypes.int32) < self.memory["lengths"].index(row)

    def put(self, place: Place, row: UOp, unit: UOp, value: UOp) -> None:
        """An output, and the next state, which stays where a sequence is over."""
        where = (place.direction, row, unit)
        alive = self.is_alive(place, row)
        shown = value if alive is None else alive.where(value, value.ufix(0))
        self.loops.write(self.memory["out"], place.time, *where, value=shown)
        state = self.loops.read(self.memory["out"], place.time, *where)
        if alive is not None:
            before = self.loops.read(self.memory["h"], place.before, *where)
            state = alive.where(state, before)
        self.loops.write(self.memory["h"], place.after, *where, value=state)

    def lstm(self, place: Place, row: UOp, unit: UOp, gates: Sequence[UOp], couples: bool) -> None:
        """The next memory and output of an LSTM, from the sums of its gates."""
        where = (place.direction, row, unit)
        peepholes = self.memory.get("peepholes")
        own = (
            []
            if peepholes is None
            else [peepholes.index(place.direction, which, unit) for which in range(3)]
        )
        memory = self.loops.read(self.memory["c"], *where)
        following = place.cell.lstm(gates, memory, own, couples)
        alive = self.is_alive(place, row)
        if alive is not None:
            following = alive.where(following, memory)
        self.loops.write(self.memory["c"], *where, value=following)
        fresh = self.loops.read(self.memory["c"], *where)
        self.put(place, row, unit, place.cell.lstm_output(gates[1], fresh, own))


MakeWriter = Callable[[Any, Mapping[str, UOp]], Writer]


@dataclass(frozen=True, slots=True)
class StepKernel:
    """Writes a kernel; `names` are those of its memory, in order. `phase` None is all steps, -1
    the start, and else a phase of one step.
    """

    form: StepForm
    make: MakeWriter
    names: tuple[str, ...]
    phase: int | None = None

    def __call__(self, *memory: UOp) -> UOp:
        """The kernel for memory like this."""
        writer = self.make(self.form, dict(zip(self.names, memory, strict=True)))
        if self.phase is None:
            return writer.all_steps()
        return writer.start() if self.phase < 0 else writer.one_step(self.phase)


def kernels_of(
    form: StepForm,
    make: MakeWriter,
    names: Sequence[str],
    phases: int = 1,
) -> list[StepKernel]:
    """The kernels of a layer, in order; with several parts there is memory called "clock"."""
    if form.parts == 1:
        return [StepKernel(form, make, tuple(names))]
    each = [StepKernel(form, make, tuple(names), phase) for phase in range(phases)]
    return [StepKernel(form, make, tuple(names), -1), *each * (len(form.cells) * form.steps)]


_ZERO = UOp.const(dtypes.weakint, 0)
