"""Run an LSTM with weights of 8 bits: the weights as its kernel reads them, and the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tg_tensor import Tensor, dtypes
from tg_tensor.algorithms.calls import Room, run_kernels
from tg_uop.context import CPU_COUNT

from tg_onnx.ops.codes import has_unit, is_nothing, matmul_of_codes, signed
from tg_onnx.ops.quantize import dynamic_quantize
from tg_onnx.ops.quantized_kernel import (
    GATES,
    PACKED,
    QuantizedForm,
    QuantizedWriter,
)
from tg_onnx.ops.recurrent_layer import (
    Layer,
    Results,
    Weights,
    first_state,
    padded,
    results_of,
)
from tg_onnx.ops.step_kernel import LANES, LINE, kernels_of, parts_of


def run_quantized(
    layer: Layer,
    x: Tensor,
    weights: Weights,
    lengths: Tensor | None,
    initial: Sequence[Tensor | None],
) -> Results:
    """Every hidden state, then the last of each state; no gradient goes through it."""
    steps, batch, _ = (int(size) for size in x.shape)
    hidden = int(weights.r.shape[-1])
    form = QuantizedForm(
        cells=layer.cells,
        is_reverse=layer.direction == "reverse",
        steps=steps,
        batch=batch,
        hidden=hidden,
        threads=CPU_COUNT.value,
        couples=layer.couples,
        has_unit=has_unit(str(x.device)),
    )
    form = replace(form, parts=parts_of(form, GATES * hidden * hidden))
    kind = dtypes.float32
    directions = len(layer.cells)
    prepared = _Prepared(form, weights)
    values = x.cast(kind)
    if lengths is not None:
        # what comes after the longest sequence has no part in the range that decides the codes
        steps_of_rows = Tensor.arange(steps, device=x.device).reshape(-1, 1, 1)
        values = (steps_of_rows < lengths.max()).where(values, 0)
    inputs = {"projected": prepared.projection(values), **prepared.state_weights()}
    for name, state in zip(("h0", "c0"), initial, strict=True):
        inputs[name] = first_state(state, form, kind, x.device)
    if lengths is not None:
        inputs["lengths"] = lengths.cast(dtypes.int32)
    shape = (directions, batch, form.width)
    own = (directions, form.parts)
    rooms: dict[str, Room] = {
        "out": ((steps, *shape), kind),
        "c": (shape, kind),
        "h": ((2, *shape), kind),
        "codes": ((*own, form.code_rows, form.depth), dtypes.int8),
        "ranges": ((*own, 2, LANES), kind),
        "scale": ((*own, 2), kind),
    }
    if form.has_unit:
        rooms["products"] = ((*own, GATES, form.code_rows, form.block), dtypes.int32)
    if "r_zero" in inputs:
        rooms["total"] = ((*own, batch), dtypes.int32)
    if form.parts > 1:
        rooms["clock"] = ((form.parts, LINE), dtypes.int32)
    kernels = kernels_of(form, QuantizedWriter, (*rooms, *inputs))
    given = [value.contiguous().uop for value in inputs.values()]
    places = run_kernels(kernels, list(rooms.values()), *given)
    out, c, h = (Tensor.from_uop(node) for node in places[:3])
    return results_of(out, (h, c), form, x.dtype)


class _Prepared:
    """The weights as the kernel reads them. All of it is constant."""

    def __init__(self, form: QuantizedForm, weights: Weights) -> None:
        self.form = form
        self.weights = weights
        self.directions = len(form.cells)

    def _by_gate(self, x: Tensor) -> Tensor:
        """(directions, gates * units, ...) with an axis for gates, and units padded."""
        parts = x.reshape(self.directions, GATES, self.form.hidden, *x.shape[2:])
        return padded(parts, 2, self.form.width)

    def projection(self, x: Tensor) -> Tensor:
        """What the input adds to each gate, as (steps, batch, directions, gates, units)."""
        weights, form = self.weights, self.form
        assert weights.w_scale is not None, "weights of 8 bits have a scale"
        count = self.directions * GATES * form.width
        right = self._by_gate(weights.w).reshape(count, -1).transpose().contiguous()
        offset = weights.w_zero
        columns = None if offset is None else self._by_gate(offset).reshape(count)
        codes, scale, zero = dynamic_quantize(x.reshape(-1, x.shape[-1]).contiguous())
        whole = matmul_of_codes(codes.contiguous(), right, zero, columns).float()
        product = whole * (scale * self._by_gate(weights.w_scale).reshape(count))
        return product.reshape(form.steps, form.batch, self.directions, GATES, form.width)

    def state_weights(self) -> dict[str, Tensor]:
        """The weights of the state with what belongs to them, biases and peepholes."""
        weights, form = self.weights, self.form
        assert weights.r_scale is not None, "weights of 8 bits have a scale"
        zero = None if weights.r_zero is None else weights.r_zero.cast(dtypes.int32)
        codes, offset = signed(weights.r, zero)
        by_gate = self._by_gate(codes)
        found = {
            "r": self._in_order(by_gate),
            "r_sum": by_gate.sum(-1, dtype=dtypes.int32),
            "r_scale": self._by_gate(weights.r_scale),
            "bias": self._bias(),
        }
        if not is_nothing(offset):
            if isinstance(offset, int):
                offset = Tensor.full(weights.r_scale.shape, offset, device=codes.device)
            found["r_zero"] = self._by_gate(offset.cast(dtypes.int32))
        if weights.p is not None:
            peepholes = weights.p.reshape(self.directions, 3, form.hidden)
            found["peepholes"] = padded(peepholes, -1, form.width)
        return found

    def _in_order(self, codes: Tensor) -> Tensor:
        """Weights (directions, gates, units, depths) in the order in which they are read."""
        form = self.form
        if not form.has_unit:
            return codes.permute(0, 3, 1, 2)
        deep = padded(codes, -1, form.depth)
        blocks = (form.width // form.block, form.block, form.depth // PACKED, PACKED)
        ordered = deep.reshape(self.directions, GATES, *blocks).permute(0, 2, 1, 4, 3, 5)
        return ordered.reshape(*ordered.shape[:4], form.block * PACKED)

    def _bias(self) -> Tensor:
        """Both biases."""
        form, b = self.form, self.weights.b
        if b is None:
            shape = (self.directions, GATES, form.width)
            return Tensor.zeros(*shape, dtype=dtypes.float32, device=self.weights.r.device)
        both = b.reshape(self.directions, 2, GATES * form.hidden)
        return self._by_gate(both[:, 0] + both[:, 1])
