"""Recurrent layers: RNN, GRU and LSTM, and the LSTM of quantized weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tg_tensor import Tensor

from tg_onnx.ops.quantize import dynamic_quantize, zero_based
from tg_onnx.registry import operator

Activation = Callable[[Tensor, float, float], Tensor]
Product = Callable[[Tensor], Tensor]
# longer sequences are computed step by step, since their graphs would be long to compile
LAZY_STEPS = 8

ACTIVATIONS: dict[str, Activation] = {
    "relu": lambda x, a, b: x.relu(),
    "tanh": lambda x, a, b: x.tanh(),
    "sigmoid": lambda x, a, b: x.sigmoid(),
    "affine": lambda x, a, b: x * a + b,
    "leakyrelu": lambda x, a, b: x.leaky_relu(a),
    "thresholdedrelu": lambda x, a, b: (x > a).where(x, 0),
    "scaledtanh": lambda x, a, b: (x * b).tanh() * a,
    "hardsigmoid": lambda x, a, b: (x * a + b).clip(0, 1),
    "elu": lambda x, a, b: x.elu(a),
    "softsign": lambda x, a, b: x.softsign(),
    "softplus": lambda x, a, b: x.softplus(),
}
ALPHA = {"leakyrelu": 0.01, "thresholdedrelu": 1.0, "hardsigmoid": 0.2, "elu": 1.0, "affine": 1.0}
BETA = {"hardsigmoid": 0.5}


class Cell:
    """One direction of a layer: what a step needs besides the state."""

    def __init__(
        self,
        names: Sequence[str],
        alphas: Sequence[float],
        betas: Sequence[float],
        clip: float | None,
    ) -> None:
        self.clip = clip
        self.functions: list[Product] = []
        alpha, beta = list(alphas), list(betas)
        for name in names:
            key = name.lower()
            if key not in ACTIVATIONS:
                raise NotImplementedError(f"activation {name!r}")
            a = alpha.pop(0) if alpha and key in ALPHA else ALPHA.get(key, 1.0)
            b = beta.pop(0) if beta and key in (*BETA, "affine", "scaledtanh") else BETA.get(key, 0)
            self.functions.append(_bound(ACTIVATIONS[key], a, b))

    def activate(self, which: int, x: Tensor) -> Tensor:
        """One of the cell's functions on clipped values."""
        if self.clip is not None:
            x = x.clip(-self.clip, self.clip)
        return self.functions[which](x)


def _bound(function: Activation, a: float, b: float) -> Product:
    return lambda x: function(x, a, b)


State = tuple[Tensor, ...]
Step = Callable[[Cell, Tensor, State, int], State]


def run_layer(
    x: Tensor,
    lengths: Tensor | None,
    initial: Sequence[Tensor | None],
    hidden: int,
    cells: Sequence[Cell],
    projections: Sequence[Product],
    step: Step,
    direction: str,
    layout: int,
) -> tuple[Tensor, ...]:
    """All steps of all directions: every hidden state, then the last of each state."""
    if layout:
        x = x.transpose(0, 1)
        initial = [None if s is None else s.transpose(0, 1) for s in initial]
    steps, batch = int(x.shape[0]), int(x.shape[1])
    outputs, finals = [], []
    for number, cell in enumerate(cells):
        zero = Tensor.zeros(batch, hidden, dtype=x.dtype, device=x.device)
        state: State = tuple(zero if s is None else s[number] for s in initial)
        projected = projections[number](x)
        if steps > LAZY_STEPS:
            projected = projected.realize()
        backward = direction == "reverse" or number == 1
        seen: list[Tensor] = []
        for t in reversed(range(steps)) if backward else range(steps):
            after = step(cell, projected[t], state, number)
            output = after[0]
            if lengths is not None:
                alive = (lengths > t).reshape(batch, 1)
                after = tuple(alive.where(a, b) for a, b in zip(after, state, strict=True))
                output = alive.where(output, 0)
            if steps > LAZY_STEPS:
                Tensor.realize(output, *after)
            state = after
            seen.append(output)
        outputs.append(Tensor.stack(*(seen[::-1] if backward else seen), dim=0))
        finals.append(state)
    everything = Tensor.stack(*outputs, dim=1)
    last = [Tensor.stack(*column, dim=0) for column in zip(*finals, strict=True)]
    if layout:
        return (everything.permute(2, 0, 1, 3), *(s.transpose(0, 1) for s in last))
    return (everything, *last)


def _cells(
    direction: str,
    defaults: Sequence[str],
    activations: Sequence[str] | None,
    alphas: Sequence[float] | None,
    betas: Sequence[float] | None,
    clip: float | None,
) -> list[Cell]:
    count = 2 if direction == "bidirectional" else 1
    names = list(activations) if activations else list(defaults) * count
    each = len(names) // count
    a, b = list(alphas or ()), list(betas or ())
    return [
        Cell(
            names[i * each : (i + 1) * each],
            a[i * each : (i + 1) * each] if len(a) > each else a,
            b[i * each : (i + 1) * each] if len(b) > each else b,
            clip,
        )
        for i in range(count)
    ]


def _project(weight: Tensor, bias: Tensor | None) -> Product:
    def run(x: Tensor) -> Tensor:
        product = x @ weight.transpose()
        return product if bias is None else product + bias

    return run


@operator("RNN")
def rnn(
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None = None,
    lengths: Tensor | None = None,
    initial_h: Tensor | None = None,
    *,
    hidden_size: int | None = None,
    direction: str = "forward",
    activations: Sequence[str] | None = None,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    clip: float | None = None,
    layout: int = 0,
    output_sequence: int = 0,
) -> tuple[Tensor, ...]:
    """h = f(x W + h R + b)."""
    hidden = int(r.shape[-1])
    cells = _cells(direction, ("Tanh",), activations, activation_alpha, activation_beta, clip)
    bias = [None if b is None else b[i, :hidden] + b[i, hidden:] for i in range(len(cells))]
    projections = [_project(w[i], bias[i]) for i in range(len(cells))]

    def step(cell: Cell, projected: Tensor, state: State, number: int) -> State:
        return (cell.activate(0, projected + state[0] @ r[number].transpose()),)

    return run_layer(x, lengths, [initial_h], hidden, cells, projections, step, direction, layout)


@operator("GRU")
def gru(
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None = None,
    lengths: Tensor | None = None,
    initial_h: Tensor | None = None,
    *,
    hidden_size: int | None = None,
    direction: str = "forward",
    activations: Sequence[str] | None = None,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    clip: float | None = None,
    layout: int = 0,
    linear_before_reset: int = 0,
    output_sequence: int = 0,
) -> tuple[Tensor, ...]:
    """Gates z and r, candidate h; their weights lie in this order."""
    size = int(r.shape[-1])
    defaults = ("Sigmoid", "Tanh")
    cells = _cells(direction, defaults, activations, activation_alpha, activation_beta, clip)
    of_x = [None if b is None else b[i, : 3 * size] for i in range(len(cells))]
    projections = [_project(w[i], of_x[i]) for i in range(len(cells))]

    def step(cell: Cell, projected: Tensor, state: State, number: int) -> State:
        h, weight = state[0], r[number]
        rb = None if b is None else b[number, 3 * size :]
        gates = projected[:, : 2 * size] + _project(
            weight[: 2 * size], None if rb is None else rb[: 2 * size]
        )(h)
        update, reset = cell.activate(0, gates[:, :size]), cell.activate(0, gates[:, size:])
        bias = None if rb is None else rb[2 * size :]
        candidate = _project(weight[2 * size :], bias)
        inner = reset * candidate(h) if linear_before_reset else candidate(reset * h)
        fresh = cell.activate(1, projected[:, 2 * size :] + inner)
        return ((1 - update) * fresh + update * h,)

    return run_layer(x, lengths, [initial_h], size, cells, projections, step, direction, layout)


def _lstm_step(
    recurrent: Sequence[Product], peepholes: Tensor | None, size: int, input_forget: int
) -> Step:
    def step(cell: Cell, projected: Tensor, state: State, number: int) -> State:
        h, c = state
        gates = projected + recurrent[number](h)
        i, o, f, g = (gates[:, k * size : (k + 1) * size] for k in range(4))
        p = None if peepholes is None else peepholes[number]
        if p is not None:
            i, f = i + p[:size] * c, f + p[2 * size :] * c
        enter = cell.activate(0, i)
        keep = 1 - enter if input_forget else cell.activate(0, f)
        memory = keep * c + enter * cell.activate(1, g)
        if p is not None:
            o = o + p[size : 2 * size] * memory
        return cell.activate(0, o) * cell.functions[2](memory), memory

    return step


@operator("LSTM")
def lstm(
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None = None,
    lengths: Tensor | None = None,
    initial_h: Tensor | None = None,
    initial_c: Tensor | None = None,
    p: Tensor | None = None,
    *,
    hidden_size: int | None = None,
    direction: str = "forward",
    activations: Sequence[str] | None = None,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    clip: float | None = None,
    layout: int = 0,
    input_forget: int = 0,
    output_sequence: int = 0,
) -> tuple[Tensor, ...]:
    """Gates i, o, f and candidate c; their weights lie in this order."""
    size = int(r.shape[-1])
    defaults = ("Sigmoid", "Tanh", "Tanh")
    cells = _cells(direction, defaults, activations, activation_alpha, activation_beta, clip)
    count = range(len(cells))
    bias = [None if b is None else b[i, : 4 * size] + b[i, 4 * size :] for i in count]
    projections = [_project(w[i], bias[i]) for i in count]
    step = _lstm_step([_project(r[i], None) for i in count], p, size, input_forget)
    initial = [initial_h, initial_c]
    return run_layer(x, lengths, initial, size, cells, projections, step, direction, layout)


def _quantized(weight: Tensor, scale: Tensor, zero: Tensor) -> Product:
    """x, rounded to 8 bits by its own range, times the weight (inputs by outputs)."""
    # sums of whole numbers, which float32 holds exactly but for the very largest
    wide = zero_based(weight, zero).float().realize()

    def run(x: Tensor) -> Tensor:
        codes, x_scale, x_zero = dynamic_quantize(x)
        return (zero_based(codes, x_zero).float() @ wide) * (x_scale * scale.float())

    return run


@operator("DynamicQuantizeLSTM", domain="com.microsoft")
def dynamic_quantize_lstm(
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None,
    lengths: Tensor | None,
    initial_h: Tensor | None,
    initial_c: Tensor | None,
    p: Tensor | None,
    w_scale: Tensor,
    w_zero: Tensor,
    r_scale: Tensor,
    r_zero: Tensor,
    *,
    hidden_size: int | None = None,
    direction: str = "forward",
    activations: Sequence[str] | None = None,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    clip: float | None = None,
    input_forget: int = 0,
) -> tuple[Tensor, ...]:
    """An LSTM with weights of 8 bits, whose inputs are rounded to 8 bits as they come."""
    size = int(r.shape[1])
    defaults = ("Sigmoid", "Tanh", "Tanh")
    cells = _cells(direction, defaults, activations, activation_alpha, activation_beta, clip)

    def project(number: int) -> Product:
        product = _quantized(w[number], w_scale[number], w_zero[number])
        if b is None:
            return product
        bias = b[number, : 4 * size] + b[number, 4 * size :]
        return lambda values: product(values) + bias

    count = range(len(cells))
    recurrent = [_quantized(r[i], r_scale[i], r_zero[i]) for i in count]
    return run_layer(
        x,
        lengths,
        [initial_h, initial_c],
        size,
        cells,
        [project(i) for i in count],
        _lstm_step(recurrent, p, size, input_forget),
        direction,
        0,
    )
