"""The steps of RNN, GRU and LSTM in kernels: sums over the state, gate by gate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tg_uop import Ops, UOp

from tg_onnx.ops.step_kernel import LANES, Phase, Place, StepForm, Writer, divisor

MOST_COPIES = 4
"""Vectors of units, and rows of the batch, that are summed at once: more would leave registers."""


@dataclass(frozen=True, slots=True)
class Form(StepForm):
    """A layer with what its kind needs.

    `kind` is RNN, GRU or LSTM. `resets_product` says that the reset gate of a GRU is applied after
    the product with the weights; `couples` that the gates of an LSTM add up to 1.
    """

    kind: str = "RNN"
    resets_product: bool = False
    couples: bool = False

    @property
    def block(self) -> int:
        """The units that are computed at once; their weights lie together, gate by gate."""
        return divisor(self.width // LANES, MOST_COPIES) * LANES

    @property
    def rows(self) -> int:
        """The rows of the batch that are computed at once."""
        return divisor(self.batch, MOST_COPIES)

    @property
    def gates(self) -> int:
        """How many products a unit needs in a step."""
        return {"RNN": 1, "GRU": 3, "LSTM": 4}[self.kind]

    @property
    def has_reset(self) -> bool:
        """Whether the candidate sees a state that all units have gated before."""
        return self.kind == "GRU" and not self.resets_product


class RecurrentWriter(Writer):
    """The kernels of a layer in floats."""

    form: Form

    def __init__(self, form: Form, memory: Mapping[str, UOp]) -> None:
        super().__init__(form, memory)
        self.form = form

    @property
    def name(self) -> str:
        """The kind of layer."""
        return self.form.kind.lower()

    def phases(self) -> Sequence[Phase]:
        """Most layers have one; a GRU may gate its state before."""
        steps: dict[str, Phase] = {"RNN": self._rnn, "GRU": self._gru, "LSTM": self._lstm}
        last = steps[self.form.kind]
        return [self._reset, last] if self.form.has_reset else [last]

    @contextmanager
    def _units(self, place: Place) -> Iterator[tuple[UOp, UOp]]:
        """The rows of a tile and the units of a part, some of both at once."""
        form = self.form
        with (
            self.own_blocks(place) as block,
            self.loops.at_once((form.rows, form.block // LANES), LANES) as (row, copy, lane),
        ):
            yield place.tile * form.rows + row, block * form.block + copy * LANES + lane

    def _state(self, place: Place, row: UOp, unit: UOp) -> UOp:
        return self.loops.read(self.memory["h"], place.before, place.direction, row, unit)

    def _product(self, gate: int, place: Place, row: UOp, unit: UOp, *, gated: bool = False) -> UOp:
        """The state times the weights of a gate."""
        size = unit.const_like(self.form.block)
        block, own = unit.alu(Ops.IDIV, size), unit.alu(Ops.MOD, size)

        def term(k: UOp) -> UOp:
            if gated:
                state = self.loops.read(self.memory["reset"], place.direction, row, k)
            else:
                state = self._state(place, row, k)
            return state * self.memory["r"].index(place.direction, block, gate, k, own)

        return self.loops.sum(self.form.hidden, term)

    def _projected(self, gate: int, place: Place, row: UOp, unit: UOp) -> UOp:
        return self.memory["projected"].index(place.time, row, place.direction, gate, unit)

    def _gate(self, gate: int, place: Place, row: UOp, unit: UOp) -> UOp:
        product = self._product(gate, place, row, unit)
        return self._projected(gate, place, row, unit) + product

    def _rnn(self, place: Place) -> None:
        with self._units(place) as (row, unit):
            total = self._gate(0, place, row, unit)
            self.put(place, row, unit, place.cell.activate(0, total))

    def _lstm(self, place: Place) -> None:
        with self._units(place) as (row, unit):
            gates = [self._gate(gate, place, row, unit) for gate in range(4)]
            self.lstm(place, row, unit, gates, self.form.couples)

    def _gru(self, place: Place) -> None:
        cell = place.cell
        with self._units(place) as (row, unit):
            update = cell.activate(0, self._gate(0, place, row, unit))
            inner = self._product(2, place, row, unit, gated=self.form.has_reset)
            if not self.form.has_reset:
                if "candidate_bias" in self.memory:
                    inner = inner + self.memory["candidate_bias"].index(place.direction, unit)
                inner = cell.activate(0, self._gate(1, place, row, unit)) * inner
            fresh = cell.activate(1, self._projected(2, place, row, unit) + inner)
            before = self._state(place, row, unit)
            self.put(place, row, unit, (1 - update) * fresh + update * before)

    def _reset(self, place: Place) -> None:
        """What the candidate sees of the state."""
        with self._units(place) as (row, unit):
            gate = place.cell.activate(0, self._gate(1, place, row, unit))
            value = gate * self._state(place, row, unit)
            self.loops.write(self.memory["reset"], place.direction, row, unit, value=value)
