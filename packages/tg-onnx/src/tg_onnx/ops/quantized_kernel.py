"""The steps of an LSTM with weights of 8 bits in kernels, which round the state to 8 bits.

A step takes the range of the state, rounds the state, multiplies bytes to whole numbers, and makes
floats of them as late as it can, in the order in which onnxruntime does: then its codes are the
same ones. A matrix unit multiplies where the processor has one for bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tg_uop import Ops, UOp, dtypes
from tg_uop.ir.args import TileProduct

from tg_onnx.ops.codes import UNIT
from tg_onnx.ops.quantize import rounded
from tg_onnx.ops.step_kernel import LANES, Phase, Place, StepForm, Writer

UNIT_DIMS = (16, 16, 64)
TILE_ROWS = 16
TILE_COLUMNS = 32
PACKED = 4
"""Bytes of neighbouring depths that lie side by side in a weight for the unit."""
GATES = 4
CODES = 255
MIDDLE = 128


@dataclass(frozen=True, slots=True)
class QuantizedForm(StepForm):
    """A layer; `has_unit` says that a matrix unit multiplies, which wants weights in another order.

    All rows of the batch are rounded together: the range of all of them decides.
    """

    couples: bool = False
    has_unit: bool = False

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
    def code_rows(self) -> int:
        """The rows of the batch, padded to whole tiles of the unit."""
        return -(-self.batch // TILE_ROWS) * TILE_ROWS if self.has_unit else self.batch


class QuantizedWriter(Writer):
    """The kernels of a layer with codes of its own for each part of a direction."""

    form: QuantizedForm
    name = "quantized_lstm"

    def __init__(self, form: QuantizedForm, memory: Mapping[str, UOp]) -> None:
        super().__init__(form, memory)
        self.form = form

    def phases(self) -> Sequence[Phase]:
        """One: each part rounds the whole state for itself."""
        return [self._step]

    def _step(self, place: Place) -> None:
        self._round(place)
        with self.own_blocks(place) as block:
            if self.form.has_unit:
                self._multiply(place, block)
            with (
                self.loops.loop(self.form.batch) as row,
                self.loops.at_once((self.form.block // LANES,), LANES) as (copy, lane),
            ):
                column = copy * LANES + lane
                unit = block * self.form.block + column
                gates = [self._gate(gate, place, row, unit, column) for gate in range(GATES)]
                self.lstm(place, row, unit, gates, self.form.couples)

    def _gate(self, gate: int, place: Place, row: UOp, unit: UOp, column: UOp) -> UOp:
        direction = place.direction
        projected = self.memory["projected"].index(place.time, row, direction, gate, unit)
        total = projected + self._product(gate, place, row, unit, column)
        return total + self.memory["bias"].index(direction, gate, unit)

    # *** rounding ***

    def _round(self, place: Place) -> None:
        """The state as codes of a unit that its range decides, which includes 0."""
        form = self.form
        ranges, scale, codes = self.memory["ranges"], self.memory["scale"], self.memory["codes"]
        vectors = form.width // LANES
        own = (place.direction, place.part)
        with self.loops.at_once((), LANES) as (lane,):
            for which, sign in enumerate((1.0, -1.0)):
                value = self._largest(place, lane, vectors, sign)
                self.loops.write(ranges, *own, which, lane, value=value)
        with self.loops.loop(1) as only:
            high, low = (
                self.loops.reduce(
                    Ops.MAX,
                    LANES,
                    lambda lane, which=which: self.loops.read(ranges, *own, which, lane),  # type: ignore[misc]
                ).maximum(0)
                for which in (0, 1)
            )
            size = (high + low) / CODES
            size = size.eq(0).where(size.ufix(1), size)
            self.loops.write(scale, *own, only, value=size)
            zero = rounded((low / size).clip(0, CODES)) - MIDDLE
            self.loops.write(scale, *own, only + 1, value=zero)
        unit_size = self.loops.read(scale, *own, 0)
        zero = self.loops.read(scale, *own, 1)
        with (
            self.loops.nest(form.batch, vectors) as (row, vector),
            self.loops.at_once((), LANES) as (lane,),
        ):
            unit = vector * LANES + lane
            state = self.loops.read(self.memory["h"], place.before, place.direction, row, unit)
            ratio = state / unit_size
            code = rounded(ratio.clip(-MIDDLE - zero, MIDDLE - 1 - zero)) + zero
            code = code.cast(dtypes.int32).cast(dtypes.int8)
            self.loops.write(codes, *own, row, unit, value=code)
        if "total" not in self.memory:
            return
        with self.loops.loop(form.batch) as row:

            def code_of(k: UOp) -> UOp:
                return self.loops.read(codes, *own, row, k).cast(dtypes.int32)

            total = self.loops.sum(form.hidden, code_of)
            self.loops.write(self.memory["total"], *own, row, value=total)

    def _largest(self, place: Place, lane: UOp, vectors: int, sign: float) -> UOp:
        """The largest element of a state in one lane, or the largest negative."""
        state = self.memory["h"]

        def of_row(row: UOp) -> UOp:
            return self.loops.reduce(
                Ops.MAX,
                vectors,
                lambda v: (
                    self.loops.read(state, place.before, place.direction, row, v * LANES + lane)
                    * sign
                ),
            )

        return self.loops.reduce(Ops.MAX, self.form.batch, of_row)

    # *** products ***

    def _multiply(self, place: Place, block: UOp) -> None:
        """The codes times the weights of a block's gates, by the unit."""
        form = self.form
        own = (place.direction, place.part)
        record = TileProduct(
            UNIT,
            UNIT_DIMS,
            steps=form.depth // UNIT_DIMS[2],
            rows=TILE_ROWS,
            columns=TILE_COLUMNS,
            stride_a=form.depth,
            stride_b=TILE_COLUMNS * PACKED,
        )
        with self.loops.nest(form.code_rows // TILE_ROWS, GATES) as (tile, gate):
            first = tile * TILE_ROWS
            self.loops.tile_product(
                record,
                (self.memory["products"], *own, gate, first, 0),
                (self.memory["codes"], *own, first, 0),
                (self.memory["r"], place.direction, block, gate, 0, 0),
            )

    def _product(self, gate: int, place: Place, row: UOp, unit: UOp, column: UOp) -> UOp:
        """The state times the weights of a gate: codes, less what zero points make of them."""
        codes, scale = self.memory["codes"], self.memory["scale"]
        direction = place.direction
        own = (direction, place.part)
        if self.form.has_unit:
            whole = self.loops.read(self.memory["products"], *own, gate, row, column)
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
