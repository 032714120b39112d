"""Run a recurrent layer: all its steps in one kernel, or one after the other as a graph."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tg_tensor import Tensor, dtypes
from tg_tensor.algorithms.calls import Room, run_kernels, with_gradient
from tg_tensor.defaults import DeviceName
from tg_tensor.schedule.looping import is_looping
from tg_uop import DType, UOp
from tg_uop.context import CPU_COUNT

from tg_onnx.ops.cells import Cell
from tg_onnx.ops.quantize import dynamic_quantize
from tg_onnx.ops.recurrent_kernel import Form, RecurrentWriter
from tg_onnx.ops.step_kernel import LINE, StepForm, kernels_of, parts_of

FEW_STEPS = 2
"""So many steps are a graph, which joins the kernels around it."""
LAZY_STEPS = 8
"""Longer graphs of steps are computed step by step where there is no kernel for them."""

State = tuple[Tensor, ...]
Results = tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class Layer:
    """What a layer is beside its weights. `is_batch_first` is the layout 1 of ONNX."""

    kind: str
    cells: tuple[Cell, ...]
    direction: str
    is_batch_first: bool = False
    resets_product: bool = False
    couples: bool = False
    is_quantized: bool = False

    @property
    def gates(self) -> int:
        """How many products a unit needs in a step."""
        return {"RNN": 1, "GRU": 3, "LSTM": 4}[self.kind]

    def runs_backward(self, number: int) -> bool:
        """Whether a direction starts at the end."""
        return self.direction == "reverse" or number == 1


class Weights(NamedTuple):
    """Weights of the input and of the state as (directions, gates * units, inputs), the two
    biases, peepholes. Those that are quantized are codes, with a scale and a zero point for each
    output.
    """

    w: Tensor
    r: Tensor
    b: Tensor | None = None
    p: Tensor | None = None
    w_scale: Tensor | None = None
    r_scale: Tensor | None = None
    w_zero: Tensor | None = None
    r_zero: Tensor | None = None


def run_layer(
    layer: Layer,
    x: Tensor,
    weights: Weights,
    lengths: Tensor | None,
    initial: Sequence[Tensor | None],
) -> Results:
    """Every hidden state, then the last of each state."""
    if layer.is_batch_first:
        x = x.transpose(0, 1)
        initial = [None if s is None else s.transpose(0, 1) for s in initial]
    if has_kernel(x, weights) and not layer.is_quantized:
        results = _with_kernel(layer, x, weights, lengths, tuple(initial))
    else:
        results = run_steps(layer, x, weights, lengths, initial, settles=True)
    if not layer.is_batch_first:
        return results
    return (results[0].permute(2, 0, 1, 3), *(s.transpose(0, 1) for s in results[1:]))


def has_kernel(x: Tensor, weights: Weights) -> bool:
    """Whether one kernel does all steps: where one thread does a step well."""
    sizes = (*x.shape, *weights.r.shape)
    if not all(isinstance(size, int) and size > 0 for size in sizes):
        return False
    few = weights.w_scale is None and x.shape[0] <= FEW_STEPS
    return not few and is_looping(x.device)


# *** the kernel ***

Operand = Tensor | None


def _with_kernel(
    layer: Layer,
    x: Tensor,
    weights: Weights,
    lengths: Tensor | None,
    initial: tuple[Tensor | None, ...],
) -> Results:
    results = run_in_kernel(layer, x, weights, lengths, initial)
    operands: list[Operand] = [x, *weights[:4], lengths, *initial]
    places = tuple(place for place, operand in enumerate(operands) if operand is not None)
    rule = _gradient_rule(layer, places, len(operands))
    given = [operand.uop for operand in operands if operand is not None]
    nodes = with_gradient(layer.kind, [result.uop for result in results], rule, given)
    return tuple(Tensor.from_uop(node) for node in nodes)


@functools.cache
def _gradient_rule(
    layer: Layer, places: tuple[int, ...], count: int
) -> Callable[..., list[UOp | None]]:
    """The gradient of the steps as a graph. One object a layer, so that equal graphs stay equal."""

    def gradient(*arguments: UOp | None) -> list[UOp | None]:
        *flowing, node = arguments
        assert node is not None, "the node comes last"
        given = [Tensor.from_uop(argument) for argument in node.call_args]
        operands: list[Operand] = [None] * count
        for place, tensor in zip(places, given, strict=True):
            operands[place] = tensor
        x = operands[0]
        w, r = operands[1], operands[2]
        assert x is not None and w is not None and r is not None, "a layer has these"  # noqa: PT018
        weights = Weights(w, r, operands[3], operands[4])
        results = run_steps(layer, x, weights, operands[5], operands[6:])
        total = Tensor.zeros(1, dtype=x.dtype, device=x.device).sum()
        for result, grad in zip(results, flowing, strict=True):
            if grad is not None:
                # which depends on the arguments too, but is a number here
                total = total + (result * Tensor.from_uop(grad).detach()).sum()
        # what is given twice gets all of its gradient once
        targets = {t.uop: t for t in given if t.dtype in dtypes.floats}
        found = dict(zip(targets, total.gradient(*targets.values()), strict=True))
        return [
            found.pop(argument).uop if argument in found else None for argument in node.call_args
        ]

    return gradient


def run_in_kernel(
    layer: Layer,
    x: Tensor,
    weights: Weights,
    lengths: Tensor | None,
    initial: Sequence[Tensor | None],
) -> Results:
    """All steps in one kernel; no gradient goes through it."""
    steps, batch, _ = (int(size) for size in x.shape)
    hidden = int(weights.r.shape[-1])
    kind = dtypes.float64 if x.dtype == dtypes.float64 else dtypes.float32
    form = Form(
        cells=layer.cells,
        is_reverse=layer.direction == "reverse",
        steps=steps,
        batch=batch,
        hidden=hidden,
        threads=CPU_COUNT.value,
        kind=layer.kind,
        resets_product=layer.resets_product,
        couples=layer.couples,
    )
    phases = 2 if form.has_reset else 1
    weight_bytes = form.gates * hidden * hidden * kind.itemsize
    form = replace(form, parts=parts_of(form, weight_bytes, phases))
    prepared = _Prepared(layer, form, weights)
    inputs: dict[str, Tensor] = {"projected": prepared.projection(x.cast(kind)).cast(kind)}
    inputs["r"] = prepared.state_weights().cast(kind).contiguous()
    for name, state in zip(("h0", "c0"), initial, strict=False):
        inputs[name] = first_state(state, form, kind, x.device).contiguous()
    inputs.update({name: value.cast(kind).contiguous() for name, value in prepared.extra().items()})
    if lengths is not None:
        inputs["lengths"] = lengths.cast(dtypes.int32).contiguous()
    shape = (len(layer.cells), batch, form.width)
    rooms: dict[str, Room] = {"out": ((steps, *shape), kind), "h": ((2, *shape), kind)}
    if layer.kind == "LSTM":
        rooms["c"] = (shape, kind)
    if form.has_reset:
        rooms["reset"] = (shape, kind)
    if form.parts > 1:
        rooms["clock"] = ((form.parts, LINE), dtypes.int32)
    kernels = kernels_of(form, RecurrentWriter, (*rooms, *inputs), phases)
    given = (value.uop for value in inputs.values())
    found = run_kernels(kernels, list(rooms.values()), *given)
    out, *states = (Tensor.from_uop(node) for node in found[: 1 + len(initial)])
    return results_of(out, states, form, x.dtype)


def padded(x: Tensor, axis: int, size: int) -> Tensor:
    """Zeros behind an axis up to a size."""
    place = axis % x.ndim
    behind = size - int(x.shape[place])
    if not behind:
        return x
    return x.pad(tuple((0, behind) if i == place else None for i in range(x.ndim)))


def first_state(state: Tensor | None, form: StepForm, dtype: DType, device: DeviceName) -> Tensor:
    """A state (directions, batch, units) as kernels read it, of padded units; zeros for none."""
    if state is None:
        shape = (len(form.cells), form.batch, form.width)
        return Tensor.zeros(*shape, dtype=dtype, device=device)
    return padded(state.cast(dtype), -1, form.width)


def results_of(out: Tensor, states: Sequence[Tensor], form: StepForm, dtype: DType) -> Results:
    """Results from what kernels leave: all outputs, both places of the last one, the memory."""
    found = [out, states[0][form.steps % 2], *states[1:]]
    if form.width != form.hidden:
        found = [r.shrink((*(None,) * (r.ndim - 1), (0, form.hidden))) for r in found]
    # states are few numbers: in one piece they are read without a kernel of their own
    found[1:] = [state.contiguous() for state in found[1:]]
    return tuple(result.cast(dtype) for result in found)


class _Prepared:
    """The weights as the kernel reads them: units last, padded. All of it is constant."""

    def __init__(self, layer: Layer, form: Form, weights: Weights) -> None:
        self.layer = layer
        self.weights = weights
        self.width = form.width
        self.block = form.block
        self.directions = len(layer.cells)
        self.hidden = form.hidden

    def _by_gate(self, x: Tensor) -> Tensor:
        """(directions, gates * units, ...) with an axis for gates, and units padded."""
        parts = x.reshape(self.directions, self.layer.gates, self.hidden, *x.shape[2:])
        behind = self.width - self.hidden
        if not behind:
            return parts
        return parts.pad((None, None, (0, behind), *(None,) * (parts.ndim - 3)))

    def projection(self, x: Tensor) -> Tensor:
        """What the input adds to each gate, as (steps, batch, directions, gates, units)."""
        steps, batch, inputs = x.shape
        weight = self._by_gate(self.weights.w)
        count = self.directions * self.layer.gates * self.width
        flat = weight.reshape(count, inputs)
        shape = (steps, batch, self.directions, self.layer.gates, self.width)
        product = x.reshape(-1, inputs) @ flat.cast(x.dtype).transpose()
        bias = self._bias()
        if bias is not None:
            product = product + self._by_gate(bias).reshape(count).cast(x.dtype)
        return product.reshape(shape)

    def _bias(self) -> Tensor | None:
        """Both biases, but for the one that the reset gate applies to."""
        if self.weights.b is None:
            return None
        both = self.weights.b.reshape(self.directions, 2, self.layer.gates, self.hidden)
        of_state = both[:, 1]
        if self.layer.resets_product:
            of_state = of_state[:, :2].pad((None, (0, 1), None))
        return (both[:, 0] + of_state).reshape(self.directions, -1)

    def state_weights(self) -> Tensor:
        """As (directions, blocks, gates, units before, units of a block), as they are read."""
        blocks = (self.width // self.block, self.block)
        by_gate = self._by_gate(self.weights.r)
        apart = by_gate.reshape(self.directions, self.layer.gates, *blocks, self.hidden)
        return apart.permute(0, 2, 1, 4, 3)

    def extra(self) -> dict[str, Tensor]:
        """What only some layers have."""
        found: dict[str, Tensor] = {}
        b, p = self.weights.b, self.weights.p
        if self.layer.resets_product and b is not None:
            found["candidate_bias"] = padded(b[:, 5 * self.hidden :], -1, self.width)
        if p is not None:
            found["peepholes"] = padded(p.reshape(self.directions, 3, self.hidden), -1, self.width)
        return found


# *** step after step ***


def run_steps(
    layer: Layer,
    x: Tensor,
    weights: Weights,
    lengths: Tensor | None,
    initial: Sequence[Tensor | None],
    *,
    settles: bool = False,
) -> Results:
    """All steps of all directions as a graph; with `settles` long ones step by step."""
    steps, batch, hidden = int(x.shape[0]), int(x.shape[1]), int(weights.r.shape[-1])
    outputs, finals = [], []
    for number in range(len(layer.cells)):
        direction = _Direction(layer, weights, number)
        zero = Tensor.zeros(batch, hidden, dtype=x.dtype, device=x.device)
        state: State = tuple(zero if s is None else s[number] for s in initial)
        projected = direction.projection(x)
        if settles and steps > LAZY_STEPS:
            projected = projected.realize()
        backward = layer.runs_backward(number)
        seen: list[Tensor] = []
        for t in reversed(range(steps)) if backward else range(steps):
            after = direction.step(projected[t], state)
            output = after[0]
            if lengths is not None:
                alive = (lengths > t).reshape(batch, 1)
                after = tuple(alive.where(a, b) for a, b in zip(after, state, strict=True))
                output = alive.where(output, 0)
            if settles and steps > LAZY_STEPS:
                Tensor.realize(output, *after)
            state = after
            seen.append(output)
        outputs.append(Tensor.stack(*(seen[::-1] if backward else seen), dim=0))
        finals.append(state)
    everything = Tensor.stack(*outputs, dim=1)
    last = [Tensor.stack(*column, dim=0) for column in zip(*finals, strict=True)]
    return (everything, *last)


class _Direction:
    """One direction of a layer as tensor functions."""

    def __init__(self, layer: Layer, weights: Weights, number: int) -> None:
        self.layer = layer
        self.cell = layer.cells[number]
        self.w, self.r = weights.w[number], weights.r[number]
        self.size = int(weights.r.shape[-1])
        gates = layer.gates * self.size
        self.bias = None if weights.b is None else weights.b[number, :gates]
        self.state_bias = None if weights.b is None else weights.b[number, gates:]
        self.p = [] if weights.p is None else list(weights.p[number].split(self.size))
        if layer.is_quantized:
            self.w = _centered(self.w, weights.w_zero, number)
            self.r = _centered(self.r, weights.r_zero, number)
        scales = (weights.w_scale, weights.r_scale)
        self.w_scale, self.r_scale = (None if s is None else s[number] for s in scales)

    def projection(self, x: Tensor) -> Tensor:
        """What the input adds to the gates of each step."""
        product = _product(x, self.w, self.w_scale)
        return product if self.bias is None else product + self.bias

    def _of_state(self, state: Tensor, first: int, last: int) -> Tensor:
        """The state times the weights of some gates, with its bias."""
        rows = slice(first * self.size, last * self.size)
        scale = None if self.r_scale is None else self.r_scale[rows]
        product = _product(state, self.r[rows], scale)
        result: Tensor = product if self.state_bias is None else product + self.state_bias[rows]
        return result

    def step(self, projected: Tensor, state: State) -> State:
        """The state after a step."""
        if self.layer.kind == "RNN":
            return (self.cell.activate(0, projected + self._of_state(state[0], 0, 1)),)
        if self.layer.kind == "GRU":
            return (self._gru(projected, state[0]),)
        return self._lstm(projected, state)

    def _lstm(self, projected: Tensor, state: State) -> State:
        gates = list((projected + self._of_state(state[0], 0, 4)).split(self.size, dim=-1))
        memory = self.cell.lstm(gates, state[1], self.p, self.layer.couples)
        return self.cell.lstm_output(gates[1], memory, self.p), memory

    def _gru(self, projected: Tensor, h: Tensor) -> Tensor:
        of_update, of_reset, of_candidate = projected.split(self.size, dim=-1)
        update_part, reset_part = self._of_state(h, 0, 2).split(self.size, dim=-1)
        update = self.cell.activate(0, of_update + update_part)
        reset = self.cell.activate(0, of_reset + reset_part)
        if self.layer.resets_product:
            inner = reset * self._of_state(h, 2, 3)
        else:
            inner = self._of_state(reset * h, 2, 3)
        fresh = self.cell.activate(1, of_candidate + inner)
        after: Tensor = (1 - update) * fresh + update * h
        return after


def _centered(codes: Tensor, zero: Tensor | None, number: int) -> Tensor:
    """Codes less their zero points, in floats, which hold them exactly."""
    return codes.float() if zero is None else codes.float() - zero[number].reshape(-1, 1)


def _product(x: Tensor, weight: Tensor, scale: Tensor | None) -> Tensor:
    """x times a weight (outputs by inputs); of whole numbers, x is rounded to 8 bits before."""
    if scale is None:
        return x @ weight.transpose()
    codes, unit, zero = dynamic_quantize(x)
    return ((codes.float() - zero.float()) @ weight.transpose()) * (unit * scale)
