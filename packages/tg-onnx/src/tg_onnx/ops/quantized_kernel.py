"""All steps of an LSTM with weights of 8 bits in one kernel: it rounds its state to 8 bits itself.

A step takes the range of the state, rounds the state, multiplies bytes to whole numbers, and makes
floats of them as late as it can, in the order in which onnxruntime does: then its codes are the
same ones. A matrix unit multiplies where the processor has one for bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tg_tensor.algorithms.loops import Loops
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

    `has_unit` says that a matrix unit multiplies, which wants weights in another order.
    """

    cells: tuple[Cell, ...]
    is_reverse: bool
    couples: bool
    steps: int
    batch: int
    hidden: int
    threads: int
    has_unit: bool

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
    """Writes the kernel of a layer; `names` are those of its memory, in order."""

    form: QuantizedForm
    names: tuple[str, ...]

    def __call__(self, *memory: UOp) -> UOp:
        """The kernel for memory like this."""
        writer = _Writer(self.form, dict(zip(self.names, memory, strict=True)))
        writer.write()
        return writer.loops.kernel("quantized_lstm")


class _Writer:
    def __init__(self, form: QuantizedForm, memory: Mapping[str, UOp]) -> None:
        self.form = form
        self.memory = memory
        self.loops = Loops()

    def write(self) -> None:
        """The loops: directions apart, then step after step."""
        cells = self.form.cells
        if all(cell == cells[0] for cell in cells):
            self._directions(0, len(cells), self.form.threads)
            return
        for number in range(len(cells)):
            self._directions(number, 1, 1)

    def _directions(self, first: int, count: int, threads: int) -> None:
        """Directions with the same functions, from the `first` on."""
        threads = divisor(count, threads)
        split = self.loops.threads if threads > 1 else self.loops.loop
        with split(threads) as thread, self.loops.loop(count // threads) as rest:
            direction = thread * (count // threads) + rest + first
            for name in ("h", "c"):
                self._fill(name, direction)
            with self.loops.loop(self.form.steps) as step:
                backward = self.form.steps - 1 - step
                is_second = direction.eq(1)
                time = backward if self.form.is_reverse else is_second.where(backward, step)
                self._round(direction)
                with self.loops.loop(self.form.width // self.form.block) as block:
                    if self.form.has_unit:
                        self._multiply(direction, block)
                    self._units(self.form.cells[first], direction, block, time)

    def _fill(self, name: str, direction: UOp) -> None:
        """A state as it is before the first step."""
        with (
            self.loops.nest(self.form.batch, self.form.width // LANES) as (row, part),
            self.loops.at_once((), LANES) as (lane,),
        ):
            unit = part * LANES + lane
            value = self.memory[f"{name}0"].index(direction, row, unit)
            self.loops.write(self.memory[name], direction, row, unit, value=value)

    # *** rounding ***

    def _round(self, direction: UOp) -> None:
        """The state as codes of a unit that its range decides, which includes 0."""
        form, state = self.form, self.memory["h"]
        ranges, scale, codes = self.memory["ranges"], self.memory["scale"], self.memory["codes"]
        parts = form.width // LANES
        with self.loops.at_once((), LANES) as (lane,):
            for place, sign in enumerate((1.0, -1.0)):
                value = self._largest(state, direction, lane, parts, sign)
                self.loops.write(ranges, direction, place, lane, value=value)
        with self.loops.loop(1) as only:
            high, low = (
                self.loops.reduce(
                    Ops.MAX,
                    LANES,
                    lambda lane, place=place: self.loops.read(ranges, direction, place, lane),  # type: ignore[misc]
                ).maximum(0)
                for place in (0, 1)
            )
            size = (high + low) / CODES
            size = size.eq(0).where(size.ufix(1), size)
            self.loops.write(scale, direction, only, value=size)
            zero = _rounded((low / size).clip(0, CODES)) - MIDDLE
            self.loops.write(scale, direction, only + 1, value=zero)
        unit_size = self.loops.read(scale, direction, 0)
        zero = self.loops.read(scale, direction, 1)
        with (
            self.loops.nest(form.batch, parts) as (row, part),
            self.loops.at_once((), LANES) as (lane,),
        ):
            unit = part * LANES + lane
            ratio = self.loops.read(state, direction, row, unit) / unit_size
            code = _rounded(ratio.clip(-MIDDLE - zero, MIDDLE - 1 - zero)) + zero
            code = code.cast(dtypes.int32).cast(dtypes.int8)
            self.loops.write(codes, direction, row, unit, value=code)
        if "total" not in self.memory:
            return
        with self.loops.loop(form.batch) as row:

            def code_of(k: UOp) -> UOp:
                return self.loops.read(codes, direction, row, k).cast(dtypes.int32)

            total = self.loops.sum(form.hidden, code_of)
            self.loops.write(self.memory["total"], direction, row, value=total)

    def _largest(self, state: UOp, direction: UOp, lane: UOp, parts: int, sign: float) -> UOp:
        def of_row(row: UOp) -> UOp:
            return self.loops.reduce(
                Ops.MAX,
                parts,
                lambda part: self.loops.read(state, direction, row, part * LANES + lane) * sign,
            )

        return self.loops.reduce(Ops.MAX, self.form.batch, of_row)

    # *** products ***

    def _multiply(self, direction: UOp, block: UOp) -> None:
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
                (self.memory["products"], direction, gate, first, 0),
                (self.memory["codes"], direction, first, 0),
                (self.memory["r"], direction, block, gate, 0, 0),
            )

    def _product(self, gate: int, direction: UOp, row: UOp, unit: UOp, place: UOp) -> UOp:
        """The state times the weights of a gate: codes, less what zero points make of them."""
        codes, scale = self.memory["codes"], self.memory["scale"]
        if self.form.has_unit:
            whole = self.loops.read(self.memory["products"], direction, gate, row, place)
        else:

            def term(k: UOp) -> UOp:
                code = self.loops.read(codes, direction, row, k).cast(dtypes.int32)
                return code * self.memory["r"].index(direction, k, gate, unit).cast(dtypes.int32)

            whole = self.loops.sum(self.form.hidden, term)
        zero = self.loops.read(scale, direction, 1).cast(dtypes.int32)
        whole = whole - zero * self.memory["r_sum"].index(direction, gate, unit)
        if "total" in self.memory:
            rest = zero * self.form.hidden - self.loops.read(self.memory["total"], direction, row)
            whole = whole + rest * self.memory["r_zero"].index(direction, gate, unit)
        factor = self.loops.read(scale, direction, 0)
        factor = factor * self.memory["r_scale"].index(direction, gate, unit)
        return whole.cast(dtypes.float32) * factor

    # *** steps ***

    def _units(self, cell: Cell, direction: UOp, block: UOp, time: UOp) -> None:
        """The next state of some units."""
        with (
            self.loops.loop(self.form.batch) as row,
            self.loops.at_once((self.form.block // LANES,), LANES) as (copy, lane),
        ):
            place = copy * LANES + lane
            unit = block * self.form.block + place
            gates = [self._gate(gate, direction, row, unit, place, time) for gate in range(GATES)]
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
                before = self.loops.read(self.memory["h"], direction, row, unit)
                state = alive.where(state, before)
            self.loops.write(self.memory["h"], direction, row, unit, value=state)

    def _gate(self, gate: int, direction: UOp, row: UOp, unit: UOp, place: UOp, time: UOp) -> UOp:
        projected = self.memory["projected"].index(time, row, direction, gate, unit)
        total = projected + self._product(gate, direction, row, unit, place)
        return total + self.memory["bias"].index(direction, gate, unit)

    def _is_alive(self, time: UOp, row: UOp) -> UOp | None:
        """Whether a row's sequence has this step."""
        if "lengths" not in self.memory:
            return None
        return time.cast(dtypes.int32) < self.memory["lengths"].index(row)


def _rounded(x: UOp) -> UOp:
    """The nearest whole number of one that is not large."""
    return (x + HALVES) - HALVES
