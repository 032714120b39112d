"""Random programs of float64 Tensors: fused, step by step, unoptimized, interpreted, captured and
differentiated, each against NumPy.

`hatch run fuzz` looks longer; the end of a run tells its seed.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tg_tensor import Tensor, TinyJit
from tg_uop import Context

PROGRAMS = int(os.environ["FUZZ_EXAMPLES"])
SIZES = (0, 1, 1, 2, 3, 4, 5, 8, 9)
MOST_ELEMENTS = 600
LARGEST = 1e4
STEP = 1e-6
"""Of a finite difference."""

Array = npt.NDArray[np.float64]
Apply = Callable[..., Array]


@dataclass(frozen=True)
class Step:
    """An operation on earlier values, and how NumPy and tg do it."""

    name: str
    on: tuple[int, ...]
    params: tuple[object, ...] = ()


@dataclass(frozen=True)
class Program:
    """Steps on inputs of random numbers."""

    shapes: tuple[tuple[int, ...], ...]
    steps: tuple[Step, ...]
    seed: int

    def data(self, call: int = 0) -> list[Array]:
        """The inputs: numbers without order and without ties."""
        random = np.random.default_rng(self.seed + call)
        return [random.uniform(-2, 2, shape) for shape in self.shapes]


# one name, two ways ----------------------------------------------------------------------------


def _softmax(x: Array, axis: int) -> Array:
    if not x.size:
        return x
    powers = np.exp(x - x.max(axis, keepdims=True))
    return np.asarray(powers / powers.sum(axis, keepdims=True))


def _convolved(x: Array, w: Array) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, 1), w.shape)
    return np.asarray(np.einsum("abij,ij->ab", windows, w))


def _written(x: Array, y: Array, where: object) -> Array:
    changed = x.copy()
    changed[where] = y  # type: ignore[index]
    return changed


def _write(x: Tensor, y: Tensor, where: object) -> Tensor:
    changed = x.clone()
    changed[where] = y  # type: ignore[index]
    return changed


def _logsumexp(x: Array, axis: int) -> Array:
    return np.asarray(np.log(np.exp(x).sum(axis)))


ONE: dict[str, tuple[Apply, Callable[..., Tensor]]] = {
    "sin": (np.sin, lambda x: x.sin()),
    "cos": (np.cos, lambda x: x.cos()),
    "tanh": (np.tanh, lambda x: x.tanh()),
    "neg": (np.negative, lambda x: -x),
    "abs": (np.abs, lambda x: x.abs()),
    "square": (np.square, lambda x: x.square()),
    "relu": (lambda x: np.maximum(x, 0), lambda x: x.relu()),
    "root": (lambda x: np.sqrt(np.abs(x) + 1), lambda x: (x.abs() + 1).sqrt()),
    "log": (lambda x: np.log(np.abs(x) + 1), lambda x: (x.abs() + 1).log()),
    "exp": (lambda x: np.exp(np.clip(x, -3, 3)), lambda x: x.clip(-3, 3).exp()),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), lambda x: x.sigmoid()),
    "flatten": (lambda x: x.reshape(-1), lambda x: x.reshape(-1)),
    "turn": (np.transpose, lambda x: x.permute(tuple(reversed(range(x.ndim))))),
    "front": (lambda x: x[None], lambda x: x.unsqueeze(0)),
    "squeeze": (np.squeeze, lambda x: x.squeeze()),
    "contiguous": (lambda x: x, lambda x: x.contiguous()),
    "total": (np.sum, lambda x: x.sum()),
    "thrice": (lambda x: np.repeat(x[None], 3, 0), lambda x: x.expand((3, *x.shape))),
}
TWO: dict[str, tuple[Apply, Callable[..., Tensor]]] = {
    "add": (np.add, lambda x, y: x + y),
    "sub": (np.subtract, lambda x, y: x - y),
    "mul": (np.multiply, lambda x, y: x * y),
    "div": (lambda x, y: x / (y * y + 1), lambda x, y: x / (y * y + 1)),
    "maximum": (np.maximum, lambda x, y: x.maximum(y)),
    "minimum": (np.minimum, lambda x, y: x.minimum(y)),
    "where": (lambda x, y: np.where(x > y, x, y * 2), lambda x, y: (x > y).where(x, y * 2)),
    "matmul": (np.matmul, lambda x, y: x @ y),
    "stack": (lambda x, y: np.stack([x, y], -1), lambda x, y: x.stack(y, dim=-1)),
    "outer": (
        lambda x, y: np.einsum("i,j->ij", x, y),
        lambda x, y: Tensor.einsum("i,j->ij", x, y),
    ),
    "conv2d": (
        _convolved,
        lambda x, y: (
            x.reshape(1, 1, *x.shape)
            .conv2d(y.reshape(1, 1, *y.shape), padding=1)
            .reshape(x.shape[0] + 3 - y.shape[0], x.shape[1] + 3 - y.shape[1])
        ),
    ),
}
AXIS: dict[str, tuple[Apply, Callable[..., Tensor]]] = {
    "sum": (np.sum, lambda x, a: x.sum(a)),
    "mean": (np.mean, lambda x, a: x.mean(a)),
    "max": (np.max, lambda x, a: x.max(a)),
    "min": (np.min, lambda x, a: x.min(a, keepdim=False)),
    "kept sum": (lambda x, a: x.sum(a, keepdims=True), lambda x, a: x.sum(a, keepdim=True)),
    "var": (lambda x, a: x.var(a), lambda x, a: x.var(a, correction=0)),
    "prod": (np.prod, lambda x, a: x.prod(a)),
    "softmax": (_softmax, lambda x, a: x.softmax(a)),
    "logsumexp": (_logsumexp, lambda x, a: x.logsumexp(a)),
    "cumsum": (np.cumsum, lambda x, a: x.cumsum(a)),
    "sort": (np.sort, lambda x, a: x.sort(a)[0]),
    "flip": (np.flip, lambda x, a: x.flip(a)),
    "every second": (
        lambda x, a: np.moveaxis(np.moveaxis(x, a, 0)[::2], 0, a),
        lambda x, a: x.transpose(a, 0)[::2].transpose(a, 0),
    ),
    "roll": (lambda x, a: np.roll(x, 2, a), lambda x, a: x.roll(2, a)),
    "best": (
        lambda x, a: np.take_along_axis(x, np.expand_dims(x.argmax(a), a), a),
        lambda x, a: x.gather(a, x.argmax(a, keepdim=True)),
    ),
}
OTHER: dict[str, tuple[Apply, Callable[..., Tensor]]] = {
    "pad": (lambda x, p: np.pad(x, p), lambda x, p: x.pad(p)),
    "slice": (lambda x, where: x[where], lambda x, where: x[where]),
    "take": (lambda x, at: x[list(at)], lambda x, at: x[Tensor(list(at))]),
    "cat": (lambda x, y, a: np.concatenate([x, y], a), lambda x, y, a: x.cat(y, dim=a)),
    "write": (_written, _write),
}
EVERY = ONE | TWO | AXIS | OTHER
NEEDS_AN_ELEMENT = frozenset(("max", "min", "best", "mean", "var", "logsumexp"))


def run_arrays(program: Program, inputs: Sequence[Array]) -> list[Array]:
    """All values, by NumPy."""
    values = list(inputs)
    for step in program.steps:
        operands = [values[i] for i in step.on]
        values.append(np.asarray(EVERY[step.name][0](*operands, *step.params)))
    return values


def run_tensors(
    program: Program, inputs: Sequence[Tensor], after: Callable[[Tensor], object] | None = None
) -> list[Tensor]:
    """All values, as Tensors; `after` sees each when it is made."""
    values = list(inputs)
    for step in program.steps:
        operands = [values[i] for i in step.on]
        values.append(EVERY[step.name][1](*operands, *step.params))
        if after is not None:
            after(values[-1])
    return values


# programs --------------------------------------------------------------------------------------


def _drawn_step(draw: st.DrawFn, values: list[Array]) -> Step | None:
    """A step that fits its operands; None where what was drawn does not."""
    name = draw(st.sampled_from(sorted(EVERY)))
    at = draw(st.integers(0, len(values) - 1))
    x = values[at]
    if name in ONE:
        return Step(name, (at,))
    if name in TWO:
        return Step(name, (at, draw(st.integers(0, len(values) - 1))))
    if name == "pad" and not x.ndim:
        return None
    if name == "pad":
        return Step(name, (at,), (tuple(draw(st.sampled_from([(0, 1), (2, 0)])) for _ in x.shape),))
    if not x.ndim:
        return None
    axis = draw(st.integers(0, x.ndim - 1))
    if name in AXIS:
        return (
            None if name in NEEDS_AN_ELEMENT and not x.shape[axis] else Step(name, (at,), (axis,))
        )
    if name == "cat":
        return Step(name, (at, draw(st.integers(0, len(values) - 1))), (axis,))
    if name == "take":
        places = st.lists(st.integers(-x.shape[0], x.shape[0] - 1), min_size=1, max_size=4)
        return Step(name, (at,), (tuple(draw(places)),)) if x.shape[0] else None
    start = draw(st.integers(-3, 3))
    where = slice(start, None, draw(st.sampled_from([1, 2, -1])))
    if name == "slice":
        return Step(name, (at,), (where,))
    return Step(name, (at, draw(st.integers(0, len(values) - 1))), (where,))


@st.composite
def programs(draw: st.DrawFn, most: int = 9) -> Program:
    """Programs whose values stay small in number and size."""
    shape = st.lists(st.sampled_from(SIZES), max_size=3).map(tuple)
    shapes = tuple(draw(st.lists(shape, min_size=1, max_size=3)))
    plan = Program(shapes, (), draw(st.integers(0, 10_000)))
    values: list[Array] = list(plan.data())
    steps: list[Step] = []
    for _ in range(draw(st.integers(1, most))):
        step = _drawn_step(draw, values)
        made = None if step is None else _tried(step, values)
        if step is not None and made is not None:
            steps.append(step)
            values.append(made)
    return Program(shapes, tuple(steps), plan.seed)


def _tried(step: Step, values: list[Array]) -> Array | None:
    """What a step makes; None where it cannot be, or makes too much."""
    if step.name == "conv2d" and not _is_convolution(*(values[i] for i in step.on)):
        return None
    try:
        with np.errstate(all="ignore"):
            operands = [values[i] for i in step.on]
            made = np.asarray(EVERY[step.name][0](*operands, *step.params))
    except (ValueError, IndexError):
        return None
    is_fit = made.size <= MOST_ELEMENTS and made.ndim <= 5 and bool(np.all(np.abs(made) < LARGEST))
    return made if is_fit else None


def _is_convolution(x: Array, w: Array) -> bool:
    return x.ndim == w.ndim == 2 and min(*x.shape, *w.shape) > 0 and max(w.shape) <= 3


def _same(got: Sequence[Tensor], want: Sequence[Array]) -> None:
    for place, (tensor, array) in enumerate(zip(got, want, strict=True)):
        found = tensor.numpy()
        assert found.dtype == np.float64
        assert found.shape == array.shape, f"value {place}"
        scale = 1e-10 * max(float(np.max(np.abs(array), initial=0)), 1)
        np.testing.assert_allclose(found, array, rtol=1e-9, atol=scale, err_msg=f"value {place}")


def _fuzz(share: float) -> settings:
    return settings(
        max_examples=max(math.ceil(PROGRAMS * share), 1),
        suppress_health_check=list(HealthCheck),
        deadline=None,
    )


def _inputs(data: Sequence[Array], device: str | None = None) -> list[Tensor]:
    return [Tensor(array, device=device).realize() for array in data]


@given(programs())
@_fuzz(0.5)
def test_a_fused_program_and_one_run_step_by_step_give_what_numpy_gives(program: Program) -> None:
    data = program.data()
    want = run_arrays(program, data)
    fused = run_tensors(program, _inputs(data))
    Tensor.realize(fused[-1])
    _same(fused, want)
    _same(run_tensors(program, _inputs(data), Tensor.realize), want)


@given(programs())
@_fuzz(0.1)
def test_an_unoptimized_and_an_interpreted_program_give_what_numpy_gives(program: Program) -> None:
    data = program.data()
    want = run_arrays(program, data)
    with Context(NOOPT=1):
        _same(run_tensors(program, _inputs(data)), want)
    _same([Tensor(a, device="PYTHON") for a in data], want[: len(data)])
    if not any(step.name == "take" for step in program.steps):
        _same(run_tensors(program, _inputs(data, "PYTHON")), want)


@given(programs(most=6))
@_fuzz(0.1)
def test_a_captured_program_gives_what_numpy_gives(program: Program) -> None:
    width = len(program.shapes)
    step = TinyJit(lambda *inputs: run_tensors(program, inputs)[width:])
    for call in range(4 if program.steps else 0):
        data = program.data(call)
        try:
            want = run_arrays(program, data)
        except (ValueError, IndexError):
            continue
        if all(np.all(np.abs(array) < LARGEST) for array in want):
            _same(step(*_inputs(data)), want[width:])


@given(programs())
@_fuzz(0.3)
def test_gradients_are_those_of_finite_differences(program: Program) -> None:
    """Along one direction in the space of all inputs."""
    data = program.data()
    random = np.random.default_rng(program.seed + 1)
    directions = [random.uniform(-1, 1, array.shape) for array in data]
    weight = random.uniform(-1, 1, run_arrays(program, data)[-1].shape)

    def loss(distance: float) -> float:
        moved = [a + distance * d for a, d in zip(data, directions, strict=True)]
        return float(np.sum(run_arrays(program, moved)[-1] * weight))

    slopes = [(loss(h) - loss(-h)) / (2 * h) for h in (STEP, STEP / 4)]
    scale = 1e-4 * max(abs(slopes[0]), 1)
    if abs(slopes[0] - slopes[1]) > scale:
        return  # a bend within the step: the slope there depends on the side
    inputs = _inputs(data)
    for tensor in inputs:
        tensor.requires_grad_()
    result = run_tensors(program, inputs)[-1]
    (result * Tensor(weight)).sum().backward()
    parts = [(t.grad, d) for t, d in zip(inputs, directions, strict=True) if t.grad is not None]
    found = sum(float(np.sum(grad.numpy() * d)) for grad, d in parts)
    np.testing.assert_allclose(found, slopes[0], rtol=1e-4, atol=scale)
