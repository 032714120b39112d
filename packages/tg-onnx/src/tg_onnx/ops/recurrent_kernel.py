"""All steps of a recurrent layer in one kernel: a loop over time that keeps its state in memory.

One kernel for all steps, since the work of a step is smaller than what starting kernels for it
costs. Directions and parts of the batch, which do not depend on each other, are split over threads.
Memory has the axes (time, direction, batch, unit); units are padded to whole vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from tg_tensor.algorithms.loops import Loops
from tg_uop import UOp, dtypes

from tg_onnx.ops.cells import Cell

LANES = 16
"""Units of one vector: 512 bits of float32."""
MOST_COPIES = 4
"""Vectors of units, and rows of the batch, that are summed at once: more would leave registers."""


@dataclass(frozen=True, slots=True)
class Form:
    """A layer: which cells it has, and the sizes of what it works on.

    `kind` is RNN, GRU or LSTM. `resets_product` says that the reset gate of a GRU is applied after
    the product with the weights; `couples` that the gates of an LSTM add up to 1.
    """

    kind: str
    cells: tuple[Cell, ...]
    is_reverse: bool
    steps: int
    batch: int
    hidden: int
    threads: int = 1
    resets_product: bool = False
    couples: bool = False

    @property
    def width(self) -> int:
        """The units, padded to whole vectors."""
        return -(-self.hidden // LANES) * LANES

    @property
    def gates(self) -> int:
        """How many products a unit needs in a step."""
        return {"RNN": 1, "GRU": 3, "LSTM": 4}[self.kind]

    def runs_backward(self, number: int) -> bool:
        """Whether a direction starts at the end."""
        return self.is_reverse or number == 1


@dataclass(frozen=True, slots=True)
class RecurrentKernel:
    """Writes the kernel of a layer; `names` are those of its memory, in order."""

    form: Form
    names: tuple[str, ...]

    def __call__(self, *memory: UOp) -> UOp:
        """The kernel for memory like this."""
        writer = _Writer(self.form, dict(zip(self.names, memory, strict=True)))
        writer.write()
        return writer.loops.kernel(self.form.kind.lower())


def divisor(size: int, most: int) -> int:
    """The largest divisor of `size` that is at most `most`."""
    return max(d for d in range(1, max(min(size, most), 1) + 1) if size % d == 0)


class _Writer:
    def __init__(self, form: Form, memory: Mapping[str, UOp]) -> None:
        self.form = form
        self.memory = memory
        self.loops = Loops()
        self.copies = divisor(form.width // LANES, MOST_COPIES)
        self.rows = divisor(form.batch, MOST_COPIES)
        self.tiles = form.batch // self.rows

    def write(self) -> None:
        """The loops: directions and parts of the batch apart, then step after step."""
        cells = self.form.cells
        if all(cell == cells[0] for cell in cells):
            self._directions(0, len(cells), self.form.threads)
            return
        for number in range(len(cells)):
            self._directions(number, 1, 1)

    def _directions(self, first: int, count: int, threads: int) -> None:
        """Directions with the same functions, from the `first` on."""
        tasks = count * self.tiles
        threads = divisor(tasks, threads)
        split = self.loops.threads if threads > 1 else self.loops.loop
        with split(threads) as thread, self.loops.loop(tasks // threads) as rest:
            task = thread * (tasks // threads) + rest
            direction, tile = task // self.tiles + first, task % self.tiles
            self._start(direction, tile)
            with self.loops.loop(self.form.steps) as step:
                backward = self.form.steps - 1 - step
                is_second = direction.eq(1)
                time = backward if self.form.is_reverse else is_second.where(backward, step)
                self._step(self.form.cells[first], direction, tile, time)
                self._finish(direction, tile, time)

    # *** places ***

    @contextmanager
    def _units(self, tile: UOp) -> Iterator[tuple[UOp, UOp]]:
        """All rows of a tile and all units, some of both at once."""
        blocks = self.form.width // LANES // self.copies
        with (
            self.loops.loop(blocks) as block,
            self.loops.at_once((self.rows, self.copies), LANES) as (row, copy, lane),
        ):
            batch = tile * self.rows + row
            yield batch, (block * self.copies + copy) * LANES + lane

    def _start(self, direction: UOp, tile: UOp) -> None:
        for name in ("h", "c"):
            if name not in self.memory:
                continue
            with self._units(tile) as (batch, unit):
                start = self.memory[f"{name}0"].index(direction, batch, unit)
                self.loops.write(self.memory[name], direction, batch, unit, value=start)

    def _product(self, source: str, gate: int, direction: UOp, batch: UOp, unit: UOp) -> UOp:
        """The state times the weights of a gate."""

        def term(k: UOp) -> UOp:
            state = self.loops.read(self.memory[source], direction, batch, k)
            return state * self.memory["r"].index(direction, k, gate, unit).cast(state.dtype)

        return self.loops.sum(self.form.hidden, term)

    def _gate(self, gate: int, direction: UOp, batch: UOp, unit: UOp, time: UOp) -> UOp:
        projected = self.memory["projected"].index(time, batch, direction, gate, unit)
        return projected + self._product("h", gate, direction, batch, unit)

    def _is_alive(self, time: UOp, batch: UOp) -> UOp | None:
        """Whether a row's sequence has this step."""
        if "lengths" not in self.memory:
            return None
        return time.cast(dtypes.int32) < self.memory["lengths"].index(batch)

    # *** steps ***

    def _step(self, cell: Cell, direction: UOp, tile: UOp, time: UOp) -> None:
        steps: dict[str, Callable[[Cell, UOp, UOp, UOp], None]] = {
            "RNN": self._rnn,
            "GRU": self._gru,
            "LSTM": self._lstm,
        }
        steps[self.form.kind](cell, direction, tile, time)

    def _finish(self, direction: UOp, tile: UOp, time: UOp) -> None:
        """The outputs become the state, where a sequence still goes on."""
        with self._units(tile) as (batch, unit):
            value = self.loops.read(self.memory["out"], time, direction, batch, unit)
            alive = self._is_alive(time, batch)
            if alive is not None:
                before = self.loops.read(self.memory["h"], direction, batch, unit)
                value = alive.where(value, before)
            self.loops.write(self.memory["h"], direction, batch, unit, value=value)

    def _put(self, direction: UOp, batch: UOp, unit: UOp, time: UOp, value: UOp) -> None:
        alive = self._is_alive(time, batch)
        if alive is not None:
            value = alive.where(value, value.ufix(0))
        self.loops.write(self.memory["out"], time, direction, batch, unit, value=value)

    def _rnn(self, cell: Cell, direction: UOp, tile: UOp, time: UOp) -> None:
        with self._units(tile) as (batch, unit):
            total = self._gate(0, direction, batch, unit, time)
            self._put(direction, batch, unit, time, cell.activate(0, total))

    def _lstm(self, cell: Cell, direction: UOp, tile: UOp, time: UOp) -> None:
        with self._units(tile) as (batch, unit):
            peepholes = self.memory.get("peepholes")
            own = (
                []
                if peepholes is None
                else [peepholes.index(direction, gate, unit) for gate in range(3)]
            )
            gates = [self._gate(gate, direction, batch, unit, time) for gate in range(4)]
            memory = self.loops.read(self.memory["c"], direction, batch, unit)
            after = cell.lstm(gates, memory, own, self.form.couples)
            alive = self._is_alive(time, batch)
            if alive is not None:
                after = alive.where(after, memory)
            self.loops.write(self.memory["c"], direction, batch, unit, value=after)
            fresh = self.loops.read(self.memory["c"], direction, batch, unit)
            output = cell.lstm_output(gates[1], fresh, own)
            self._put(direction, batch, unit, time, output)

    def _gru(self, cell: Cell, direction: UOp, tile: UOp, time: UOp) -> None:
        if not self.form.resets_product:
            self._reset(cell, direction, tile, time)
        with self._units(tile) as (batch, unit):
            update = cell.activate(0, self._gate(0, direction, batch, unit, time))
            projected = self.memory["projected"].index(time, batch, direction, 2, unit)
            if self.form.resets_product:
                reset = cell.activate(0, self._gate(1, direction, batch, unit, time))
                inner = self._product("h", 2, direction, batch, unit)
                if "candidate_bias" in self.memory:
                    inner = inner + self.memory["candidate_bias"].index(direction, unit)
                inner = reset * inner
            else:
                inner = self._product("reset", 2, direction, batch, unit)
            fresh = cell.activate(1, projected + inner)
            before = self.loops.read(self.memory["h"], direction, batch, unit)
            self._put(direction, batch, unit, time, (1 - update) * fresh + update * before)

    def _reset(self, cell: Cell, direction: UOp, tile: UOp, time: UOp) -> None:
        """What the candidate sees of the state."""
        with self._units(tile) as (batch, unit):
            gate = cell.activate(0, self._gate(1, direction, batch, unit, time))
            before = self.loops.read(self.memory["h"], direction, batch, unit)
            self.loops.write(self.memory["reset"], direction, batch, unit, value=gate * before)
