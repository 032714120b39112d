"""All steps of an LSTM with weights of 8 bits in one kernel: it rounds its state to 8 bits itself.

A step takes the range of the state, rounds the state, multiplies bytes to whole numbers, and makes
floats of them as late as it can, in the order in which onnxruntime does: then its codes are the
same ones. A matrix unit multiplies where the processor has one for bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tg_tensor.algorithms.loops import Loops, as_index
from tg_uop import Ops, UOp, dtypes
from tg_uop.ir.args import TileProduct

from tg_onnx.ops.cells import Cell
from tg_onnx.ops.quantize import HALVES
from tg_onnx.ops.recurrent_kernel import LANES, divisor

UNIT = "amx_int8"
UNIT_DIMS = (16, 16, 64)
TILE_ROWS = 16
TILE_COLUMNS = 32
PACKED = 4
"""Bytes of neighbouring depths that lie side by side in a weight for the unit."""
GATES = 4
CODES = 255
MIDDLE = 128


@dataclass(frozen=True, slots=True)
class QuantizedForm:
    """A layer: which cells it has, and the sizes of what it works on.

    `has_unit` says that a matrix unit multiplies, which wants weights in another order. With
    several `parts` each step is a kernel of its own, in which as many threads share the units of a
    direction: the next step needs what all of them have written.
    """

    cells: tuple[Cell, ...]
    is_reverse: bool
    couples: bool
    steps: int
    batch: int
    hidden: int
    threads: int
    has_unit: bool
    parts: int = 1

    @property
    def blocks(self) -> int:
        """How many blocks the units of a direction are."""
        return self.width // self.block

    @property
    def block(self) -> int:
        """The units that are computed together."""
        return TILE_COLUMNS if self.has_unit else LANES

    @property
    def width(self) -> int:
        """The units, padded to whole blocks."""
        return -(-self.hidden // self.block) * self.block

    @property
    def depth(self) -> int:
        """The terms of a sum, padded to what the unit takes at once."""
        return -(-self.hidden // UNIT_DIMS[2]) * UNIT_DIMS[2] if self.has_unit else self.width

    @property
    def rows(self) -> int:
        """The rows of the batch, padded to whole tiles."""
        return -(-self.batch // TILE_ROWS) * TILE_ROWS if self.has_unit else self.batch

    def runs_backward(self, number: int) -> bool:
        """Whether a direction starts at the end."""
        return self.is_reverse or number == 1


@dataclass(frozen=True, slots=True)
class QuantizedKernel:
    """Writes a kernel of a layer; `names` are those of its memory, in order."""

    form: QuantizedForm
    names: tuple[str, ...]
    write: Callable[[Writer], UOp]

    def __call__(self, *memory: UOp) -> UOp:
        """The kernel for memory like this."""
        writer = Writer(self.form, dict(zip(self.names, memory, strict=True)))
        return self.write(writer)


class Writer:
    """What the kernels of a layer are made of. The state is in two places in turn: a step reads
    one, and writes the other one for the next step.
    """

    def __init__(self, form: QuantizedForm, memory: Mapping[str, UOp]) -> None:
        self.form = form
        self.memory = memory
        self.loops = Loops()

    def all_steps(self) -> UOp:
        """One kernel for the layer: directions apart, then step after step."""
        for first, count in self._alike():
            threads = divisor(count, self.form.threads)
            split = self.loops.threads if threads > 1 else self.loops.loop
            with split(threads) as thread, self.loops.loop(count // threads) as rest:
                direction = thread * (count // threads) + rest + first
                self._start(direction)
                with self.loops.loop(self.form.steps) as step:
                    self._step(self.form.cells[first], direction, _ZERO, step)
        return self.loops.kernel("quantized_lstm")

    def start(self) -> UOp:
        """A kernel for what the first step needs."""
        with self.loops.loop(len(self.form.cells)) as direction:
            self._start(direction)
            with self.loops.loop(self.form.parts) as part:
                first = UOp.const(dtypes.int32, 0)
                self.loops.write(self.memory["clock"], direction, part, 0, value=first)
        return self.loops.kernel("quantized_lstm_start")

    def one_step(self) -> UOp:
        """A kernel for the next step; memory says which one that is, to each thread its own."""
        clock, parts = self.memory["clock"], self.form.parts
        for first, count in self._alike():
            with self.loops.threads(count * parts) as thread:
                direction, part = thread // parts + first, thread % parts
                step = as_index(self.loops.read(clock, direction, part, 0))
                self._step(self.form.cells[first], direction, part, step)
                now = self.loops.read(clock, direction, part, 0)
                self.loops.write(clock, direction, part, 0, value=now + 1)
        return self.loops.kernel("quantized_lstm_step")

    def _alike(self) -> list[tuple[int, int]]:
        """The first of some directions with the same functions, and how many they are."""
        cells = self.form.cells
        if all(cell == cells[0] for cell in cells):
            return [(0, len(cells))]
        return [(number, 1) for number in range(len(cells))]

    def _start(self, direction: UOp) -> None:
        for name, place in (("h", (0,)), ("c", ())):
            self._fill(name, place, direction)

    def _step(self, cell: Cell, direction: UOp, part: UOp, step: UOp) -> None:
        """The next state of the units of a part."""
        form = self.form
        backward = form.steps - 1 - step
        time = backward if form.is_reverse else direction.eq(1).where(backward, step)
        self._round(direction, part, step % 2)
        with self.loops.loop(form.blocks // form.parts) as number:
            block = part * (form.blocks // form.parts) + number
            if form.has_unit:
                self._multiply(direction, part, block)
            self._units(cell, direction, part, block, time, step % 2)

    def _fill(self, name: str, place: tuple[int, ...], direction: UOp) -> None:
        """A state as it is before the first step."""
        with (
            self.loops.nest(self.form.batch, self.form.width // LANES) as (row, part),
            self.loops.at_once((), LANES) as (lane,),
        ):
            unit = part * LANES + lane
            value = self.memory[f"{name}0"].index(direction, row, unit)
            self.loops.write(self.memory[name], *place, direction, row, unit, value=value)

    # *** rounding ***

    def _round(self, direction: UOp, part: UOp, turn: UOp) -> None:
        """The state as codes of a unit that its range decides, which includes 0."""
        form = self.form
        ranges, scale, codes = self.memory["ranges"], self.memory["scale"], self.memory["codes"]
        vectors = form.width // LANES
        own = (direction, part)
        with self.loops.at_once((), LANES) as (lane,):
            for place, sign in enumerate((1.0, -1.0)):
                value = self._largest((turn, direction), lane, vectors, sign)
                self.loops.write(ranges, *own, place, lane, value=value)
        with self.loops.loop(1) as only:
            high, low = (
                self.loops.reduce(
                    Ops.MAX,
                    LANES,
                    lambda lane, place=place: self.loops.read(ranges, *own, place, lane),  # type: ignore[misc]
                ).maximum(0)
                for place in (0, 1)
            )
            size = (high + low) / CODES
            size = size.eq(0).where(size.ufix(1), size)
            self.loops.write(scale, *own, only, value=size)
            zero = _rounded((low / size).clip(0, CODES)) - MIDDLE
            self.loops.write(scale, *own, only + 1, value=zero)
        unit_size = self.loops.read(scale, *own, 0)
        zero = self.loops.read(scale, *own, 1)
        with (
            self.loops.nest(form.batch, vectors) as (row, vector),
            self.loops.at_once((), LANES) as (lane,),
        ):
            unit = vector * LANES + lane
            ratio = self.loops.read(self.memory["h"], turn, direction, row, unit) / unit_size
            code = _rounded(ratio.clip(-MIDDLE - zero, MIDDLE - 1 - zero)) + zero
            code = code.cast(dtypes.int32).cast(dtypes.int8)
            self.loops.write(codes, *own, row, unit, value=code)
        if "total" not in self.memory:
            return
        with self.loops.loop(form.batch) as row:

            def code_of(k: UOp) -> UOp:
                return self.loops.read(codes, *own, row, k).cast(dtypes.int32)

            total = self.loops.sum(form.hidden, code_of)
            self.loops.write(self.memory["total"], *own, row, value=total)

    def _largest(self, place: tuple[UOp, UOp], lane: UOp, vectors: int, sign: float) -> UOp:
        """The largest element of a state in one lane, or the largest negative."""
        state = self.memory["h"]

        def of_row(row: UOp) -> UOp:
            return self.loops.reduce(
                Ops.MAX,
                vectors,
                lambda v: self.loops.read(state, *place, row, v * LANES + lane) * sign,
            )

        return self.loops.reduce(Ops.MAX, self.form.batch, of_row)

    # *** products ***

    def _multiply(self, direction: UOp, part: UOp, block: UOp) -> None:
        """The codes times the weights of a block's gates, by the unit."""
        form = self.form
        record = TileProduct(
            UNIT,
            UNIT_DIMS,
            steps=form.depth // UNIT_DIMS[2],
            rows=TILE_ROWS,
            columns=TILE_COLUMNS,
            stride_a=form.depth,
            stride_b=TILE_COLUMNS * PACKED,
        )
        with self.loops.nest(form.rows // TILE_ROWS, GATES) as (tile, gate):
            first = tile * TILE_ROWS
            self.loops.tile_product(
                record,
                (self.memory["products"], direction, part, gate, first, 0),
                (self.memory["codes"], direction, part, first, 0),
                (self.memory["r"], direction, block, gate, 0, 0),
            )

    def _product(self, gate: int, own: tuple[UOp, UOp], row: UOp, unit: UOp, place: UOp) -> UOp:
        """The state times the weights of a gate: codes, less what zero points make of them."""
        codes, scale = self.memory["codes"], self.memory["scale"]
        direction = own[0]
        if self.form.has_unit:
            whole = self.loops.read(self.memory["products"], *own, gate, row, place)
        else:

            def term(k: UOp) -> UOp:
                code = self.loops.read(codes, *own, row, k).cast(dtypes.int32)
                return code * self.memory["r"].index(direction, k, gate, unit).cast(dtypes.int32)

            whole = self.loops.sum(self.form.hidden, term)
        zero = self.loops.read(scale, *own, 1).cast(dtypes.int32)
        whole = whole - zero * self.memory["r_sum"].index(direction, gate, unit)
        if "total" in self.memory:
            rest = zero * self.form.hidden - self.loops.read(self.memory["total"], *own, row)
            whole = whole + rest * self.memory["r_zero"].index(direction, gate, unit)
        factor = self.loops.read(scale, *own, 0)
        factor = factor * self.memory["r_scale"].index(direction, gate, unit)
        return whole.cast(dtypes.float32) * factor

    # *** steps ***

    def _units(
        self, cell: Cell, direction: UOp, part: UOp, block: UOp, time: UOp, turn: UOp
    ) -> None:
        """The next state of a block."""
        with (
            self.loops.loop(self.form.batch) as row,
            self.loops.at_once((self.form.block // LANES,), LANES) as (copy, lane),
        ):
            place = copy * LANES + lane
            unit = block * self.form.block + place

            def total(gate: int) -> UOp:
                projected = self.memory["projected"].index(time, row, direction, gate, unit)
                value = projected + self._product(gate, (direction, part), row, unit, place)
                return value + self.memory["bias"].index(direction, gate, unit)

            gates = [total(gate) for gate in range(GATES)]
            peepholes = self.memory.get("peepholes")
            own = (
                []
                if peepholes is None
                else [peepholes.index(direction, which, unit) for which in range(3)]
            )
            memory = self.loops.read(self.memory["c"], direction, row, unit)
            alive = self._is_alive(time, row)
            after = cell.lstm(gates, memory, own, self.form.couples)
            if alive is not None:
                after = alive.where(after, memory)
            self.loops.write(self.memory["c"], direction, row, unit, value=after)
            fresh = self.loops.read(self.memory["c"], direction, row, unit)
            output = cell.lstm_output(gates[1], fresh, own)
            shown = output if alive is None else alive.where(output, output.ufix(0))
            self.loops.write(self.memory["out"], time, direction, row, unit, value=shown)
            state = self.loops.read(self.memory["out"], time, direction, row, unit)
            if alive is not None:
                before = self.loops.read(self.memory["h"], turn, direction, row, unit)
                state = alive.where(state, before)
            self.loops.write(self.memory["h"], 1 - turn, direction, row, unit, value=state)

    def _is_alive(self, time: UOp, row: UOp) -> UOp | None:
        """Whether a row's sequence has this step."""
        if "lengths" not in self.memory:
            return None
        return time.cast(dtypes.int32) < self.memory["lengths"].index(row)


_ZERO = UOp.const(dtypes.weakint, 0)


def _rounded(x: UOp) -> UOp:
    """The nearest whole number of one that is not large."""
    return (x + HALVES) - HALVES
