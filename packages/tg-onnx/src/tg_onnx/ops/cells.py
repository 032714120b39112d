"""What the cells of recurrent layers compute in a step, in terms of tensors or of kernel values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tg_uop import UOp, dtypes

from tg_onnx.ops import rational

# a Tensor, or an element of memory in a kernel: both have the same elementwise methods
Number = Any
Activation = Callable[[Number, float, float], Number]


def _sigmoid(x: Number, a: float, b: float) -> Number:
    return rational.sigmoid(x) if _is_single(x) else x.sigmoid()


def _tanh(x: Number, a: float, b: float) -> Number:
    return rational.tanh(x) if _is_single(x) else x.tanh()


def _is_single(x: Number) -> bool:
    """Whether it is an element in a kernel, of float32."""
    return isinstance(x, UOp) and x.dtype == dtypes.float32


ACTIVATIONS: dict[str, Activation] = {
    "relu": lambda x, a, b: x.relu(),
    "tanh": _tanh,
    "sigmoid": _sigmoid,
    "affine": lambda x, a, b: x * a + b,
    "leakyrelu": lambda x, a, b: x.leaky_relu(a),
    "thresholdedrelu": lambda x, a, b: (x > a).where(x, 0),
    "scaledtanh": lambda x, a, b: (x * b).tanh() * a,
    "hardsigmoid": lambda x, a, b: (x * a + b).clip(0, 1),
    "elu": lambda x, a, b: x.elu(a),
    "softsign": lambda x, a, b: x.softsign(),
    "softplus": lambda x, a, b: x.relu() + ((-x.abs()).exp() + 1).log(),
}
ALPHA = {"leakyrelu": 0.01, "thresholdedrelu": 1.0, "hardsigmoid": 0.2, "elu": 1.0, "affine": 1.0}
BETA = {"hardsigmoid": 0.5}


@dataclass(frozen=True, slots=True)
class Cell:
    """The functions of one direction of a layer: names in lower case with two numbers each."""

    functions: tuple[tuple[str, float, float], ...]
    clip: float | None

    def activate(self, which: int, x: Number) -> Number:
        """One of the cell's functions on clipped values."""
        if self.clip is not None:
            x = x.clip(-self.clip, self.clip)
        return self.apply(which, x)

    def apply(self, which: int, x: Number) -> Number:
        """One of the cell's functions."""
        name, a, b = self.functions[which]
        return ACTIVATIONS[name](x, a, b)

    def lstm(
        self, gates: Sequence[Number], memory: Number, peepholes: Sequence[Number], coupled: bool
    ) -> Number:
        """The next memory of an LSTM, from the gates i, o, f and g. Peepholes: of i, o and f."""
        i, _, f, g = gates
        if peepholes:
            i, f = i + peepholes[0] * memory, f + peepholes[2] * memory
        enter = self.activate(0, i)
        keep = 1 - enter if coupled else self.activate(0, f)
        return keep * memory + enter * self.activate(1, g)

    def lstm_output(self, gate: Number, memory: Number, peepholes: Sequence[Number]) -> Number:
        """The output of an LSTM with its next memory."""
        if peepholes:
            gate = gate + peepholes[1] * memory
        return self.activate(0, gate) * self.apply(2, memory)


def cells_of(
    direction: str,
    defaults: Sequence[str],
    activations: Sequence[str] | None,
    alphas: Sequence[float] | None,
    betas: Sequence[float] | None,
    clip: float | None,
) -> tuple[Cell, ...]:
    """A cell for each direction, from a layer's attributes.

    Raises `NotImplementedError` for a function that is not known.
    """
    count = 2 if direction == "bidirectional" else 1
    names = [name.lower() for name in activations or list(defaults) * count]
    each = len(names) // count
    alpha, beta = list(alphas or ()), list(betas or ())
    cells = []
    for number in range(count):
        # numbers for all directions, or the same ones for each
        a = alpha[number * each :] if len(alpha) > each else list(alpha)
        b = beta[number * each :] if len(beta) > each else list(beta)
        own = names[number * each : (number + 1) * each]
        cells.append(Cell(tuple(with_numbers(name, a, b) for name in own), clip))
    return tuple(cells)


def with_numbers(name: str, alphas: list[float], betas: list[float]) -> tuple[str, float, float]:
    """A function with its numbers; those given are taken off the lists.

    Raises `NotImplementedError` for a function that is not known.
    """
    if name not in ACTIVATIONS:
        raise NotImplementedError(f"activation {name!r}")
    takes_alpha = name in ALPHA or name == "scaledtanh"
    takes_beta = name in BETA or name in ("affine", "scaledtanh")
    a = alphas.pop(0) if alphas and takes_alpha else ALPHA.get(name, 1.0)
    b = betas.pop(0) if betas and takes_beta else BETA.get(name, 1.0 if name == "scaledtanh" else 0)
    return name, a, b
