"""Random programs over every dtype against NumPy: fused, step by step, unoptimized, interpreted
and captured.

`hatch run fuzz` looks longer; the end of a run tells its seed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tg_tensor import Tensor, TinyJit
from tg_uop import Context
from wide_draws import drawn_step
from wide_steps import DTYPES, STEPS, Array, Step

PROGRAMS = int(os.environ["FUZZ_EXAMPLES"])
FEW = 200
"""As many as CI asks of each file: of these programs, which share few kernels, it runs some."""
LARGEST = 300
MOST_STEPS = 16
"""Drawn: about half of them do not fit their operands."""
EXACT = {"float16": 1000.0, "float32": 2.0**22, "float64": 2.0**50}
"""Whole floats up to here stay exact in sums, in any order."""
SIZES = [1, 2, 3, 4, 5, 7, 8, 16, 17]


@dataclass(frozen=True)
class Program:
    """Steps on inputs of given dtypes and shapes."""

    inputs: tuple[tuple[str, tuple[int, ...]], ...]
    seed: int
    steps: tuple[Step, ...] = ()

    def data(self, call: int = 0) -> list[Array]:
        """The inputs of one call: small whole numbers."""
        random = np.random.default_rng(self.seed + 1000 * call)
        return [_numbers(random, dtype, shape) for dtype, shape in self.inputs]


def _numbers(random: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Array:
    low = 0 if dtype == "bool" or dtype.startswith("uint") else -4
    numbers = random.integers(low, 2 if dtype == "bool" else 5, shape)
    return np.asarray(numbers).astype(dtype)


def run_arrays(program: Program, inputs: Sequence[Array]) -> list[Array] | None:
    """All values, by NumPy; None where one grows too large to be exact."""
    values = list(inputs)
    for step in program.steps:
        made = _tried(step, values)
        if made is None:
            return None
        values.append(made)
    return values


def run_tensors(
    program: Program, inputs: Sequence[Tensor], after: Callable[[Tensor], object] | None = None
) -> list[Tensor]:
    """All values, as Tensors; `after` sees each when it is made."""
    values = list(inputs)
    for step in program.steps:
        made = STEPS[step.name][1](*[values[i] for i in step.on], *step.params)
        if after is not None:
            after(made)
        values.append(made)
    return values


def _tried(step: Step, values: Sequence[Array]) -> Array | None:
    """What a step makes; None where it cannot be, or is too large."""
    try:
        with np.errstate(all="ignore"):
            made = np.array(STEPS[step.name][0](*[values[i] for i in step.on], *step.params))
    except (ValueError, IndexError):
        return None
    if made.size > LARGEST or made.ndim > 5 or str(made.dtype) not in DTYPES:
        return None
    bound = EXACT.get(str(made.dtype))
    is_exact = bound is None or bool(np.all(np.abs(made) <= bound))
    return made if is_exact else None


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Programs whose every value is exact, with inputs of one to three dtypes."""
    names = st.sampled_from(sorted(DTYPES))
    shapes = st.lists(st.sampled_from(SIZES), max_size=3).map(tuple)
    shapes = shapes.filter(lambda shape: int(np.prod(shape)) <= LARGEST)
    dtype, shape = draw(names), draw(shapes)
    others = st.tuples(st.just(dtype) | names, st.just(shape) | shapes)
    inputs = ((dtype, shape), *draw(st.lists(others, max_size=2)))
    plan = Program(inputs, draw(st.integers(0, 10_000)))
    values: list[Array] = list(plan.data())
    steps: list[Step] = []
    for _ in range(draw(st.integers(4, MOST_STEPS))):
        step = drawn_step(draw, values)
        made = None if step is None else _tried(step, values)
        if step is not None and made is not None:
            steps.append(step)
            values.append(made)
    return Program(inputs, plan.seed, tuple(steps))


def _same(got: Sequence[Tensor], want: Sequence[Array], seed: int) -> None:
    """Compare all values, realized in an order of the program's choice."""
    for i in np.random.default_rng(seed).permutation(len(want)):
        found = got[i].numpy()
        np.testing.assert_array_equal(found, want[i], err_msg=f"value {i}", strict=True)


def _inputs(data: Sequence[Array], device: str | None = None) -> list[Tensor]:
    return [Tensor(array, device=device).realize() for array in data]


def _fused(program: Program) -> None:
    data = program.data()
    want = run_arrays(program, data)
    assert want is not None
    _same(run_tensors(program, _inputs(data)), want, program.seed)


def _step_by_step(program: Program) -> None:
    data = program.data()
    want = run_arrays(program, data)
    assert want is not None
    _same(run_tensors(program, _inputs(data), Tensor.realize), want, program.seed)


def _unoptimized(program: Program) -> None:
    with Context(NOOPT=1):
        _fused(program)


def _interpreted(program: Program) -> None:
    """Index tensors are made where the program says nothing of a device: there."""
    data = program.data()
    want = run_arrays(program, data)
    assert want is not None
    with Context(DEV="PYTHON"):
        _same(run_tensors(program, _inputs(data, "PYTHON")), want, program.seed)


def _captured(program: Program) -> None:
    """Each call is right, and the results of each stay as they were."""
    if any(step.name == "masked" for step in program.steps) or not program.steps:
        return  # how many a mask takes is known only when it is read
    width = len(program.inputs)
    step = TinyJit(lambda *inputs: run_tensors(program, inputs)[width:])
    done: list[tuple[list[Tensor], list[Array]]] = []
    for call in range(4):
        data = program.data(call)
        want = run_arrays(program, data)
        if want is not None:
            done.append((step(*_inputs(data)), want[width:]))
    for got, expected in done:
        _same(got, expected, program.seed)


WAYS: dict[str, Callable[[Program], None]] = {
    "fused": _fused,
    "step by step": _step_by_step,
    "unoptimized": _unoptimized,
    "interpreted": _interpreted,
    "captured": _captured,
}


@given(program=programs(), way=st.sampled_from(sorted(WAYS)))
@settings(
    max_examples=PROGRAMS if PROGRAMS > FEW else max(PROGRAMS // 5, 1),
    suppress_health_check=list(HealthCheck),
    deadline=None,
)
def test_a_program_over_every_dtype_gives_what_numpy_gives(program: Program, way: str) -> None:
    WAYS[way](program)
