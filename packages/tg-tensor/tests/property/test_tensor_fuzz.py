"""Random programs of Tensors against NumPy: lazily, with writes, and captured.

`hatch run fuzz` looks longer; the end of a run tells its seed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tg_tensor import Tensor, TinyJit
from tg_uop import Context
from write_steps import DTYPES, MAKES, REFERENCE, WRITES, Array, Known, Step, apply_reference

EXAMPLES = int(os.environ["FUZZ_EXAMPLES"])
LARGEST = 400
"""Elements in a value: programs test meaning, other tests sizes."""

FEW = 200
"""As many as CI asks of each file."""

EXACT = {"float32": 2.0**20, "float16": 1000.0}
"""Whole floats up to here stay exact in sums, in any order."""


@dataclass(frozen=True)
class Program:
    """Steps on inputs of given dtypes and shapes."""

    inputs: tuple[tuple[str, tuple[int, ...]], ...]
    steps: tuple[Step, ...]
    seed: int
    order: int

    def data(self, call: int) -> list[Array]:
        """Inputs of one call: small whole numbers."""
        random = np.random.default_rng(self.seed + 1000 * call)
        found: list[Array] = []
        for dtype, shape in self.inputs:
            low = 0 if dtype in ("bool", "uint8") else -4
            numbers = random.integers(low, 2 if dtype == "bool" else 5, shape)
            found.append(np.asarray(numbers).astype(dtype))
        return found


def run_reference(program: Program, data: Sequence[Array]) -> list[Array]:
    """The values after all steps, by NumPy."""
    values = [Known(array) for array in data]
    with np.errstate(all="ignore"):
        for step in program.steps:
            apply_reference(values, step)
    return [value.array for value in values]


def run_tensors(
    program: Program, *inputs: Tensor, after: Callable[[Tensor], object] | None = None
) -> list[Tensor]:
    """The values after all steps, as Tensors; `after` sees each that was made or written."""
    values = list(inputs)
    for step in program.steps:
        operands = [values[i] for i in step.on]
        if step.is_write:
            WRITES[step.name](*operands, *step.params)
        else:
            values.append(MAKES[step.name](*operands, *step.params))
        if after is not None:
            after(operands[0] if step.is_write else values[-1])
    return values


# programs --------------------------------------------------------------------------------------

NAMES = sorted(REFERENCE)


def _slices(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[slice, ...]:
    found = []
    for size in shape:
        start = draw(st.integers(-size - 1, size))
        stop = draw(st.none() | st.integers(-size - 1, size + 1))
        found.append(slice(start, stop, draw(st.sampled_from([1, 1, 1, 2, -1, -2, 3]))))
    return tuple(found)


def _step(draw: st.DrawFn, name: str, values: list[Array]) -> Step | None:
    """A step of this name on drawn operands, None where it does not fit them."""
    pick = st.integers(0, len(values) - 1)
    at = draw(pick)
    x = values[at]
    dtype = str(x.dtype)
    alike = [i for i, v in enumerate(values) if v.dtype == x.dtype]
    match name:
        case "neg" | "number minus" | "sub" | "add number" | "mul number":
            # a number beside a bool counts as an integer
            if dtype == "bool":
                return None
        case "invert" | "and" | "or" | "xor":
            if x.dtype.kind == "f":
                return None
        case "floordiv" | "mod" | "shl" | "shr":
            if x.dtype.kind not in "iu":
                return None
    if name in ("neg", "abs", "relu", "invert", "contiguous", "realize", "assign flipped"):
        return Step(name, (at,))
    if name in ("add number", "number minus", "mul number"):
        return Step(name, (at,), (draw(st.integers(0, 3)),))
    if name in ("shl", "shr"):
        return Step(name, (at,), (draw(st.integers(0, 6)),))
    if name == "cast":
        return Step(name, (at,), (draw(st.sampled_from(sorted(DTYPES))),))
    if name == "where":
        masks = [i for i, v in enumerate(values) if v.dtype == bool]
        if not masks:
            return None
        return Step(name, (draw(st.sampled_from(masks)), at, draw(st.sampled_from(alike))))
    if name in MAKES and name in _BINARY:
        return Step(name, (at, draw(st.sampled_from(alike))))
    if name in ("assign", "iadd", "stack", "matmul"):
        return Step(name, (at, draw(st.sampled_from(alike))))
    if name == "expand":
        return Step(name, (at,), (draw(st.integers(0, 3)),))
    if x.ndim == 0:
        return None
    axis = draw(st.integers(0, x.ndim - 1))
    match name:
        case "sum" | "max" | "min" | "any" | "argmax" | "cumsum":
            if dtype == "bool" and name in ("max", "min", "argmax"):
                return None
            return Step(name, (at,), (axis,))
        case "reshape":
            return Step(name, (at,), (draw(st.sampled_from(_factorings(x.size))),))
        case "permute":
            return Step(name, (at,), (tuple(draw(st.permutations(range(x.ndim)))),))
        case "flip":
            return Step(name, (at,), (axis,))
        case "pad":
            amounts = st.tuples(st.integers(0, 2), st.integers(0, 2))
            return Step(name, (at,), (tuple(draw(amounts) for _ in x.shape),))
        case "slice":
            return Step(name, (at,), (_slices(draw, x.shape),))
        case "roll":
            return Step(name, (at,), (draw(st.integers(-5, 5)), axis))
        case "cat":
            return Step(name, (at, draw(st.sampled_from(alike))), (axis,))
        case "gather" | "set places":
            if x.shape[0] == 0:
                return None
            places = st.lists(st.integers(-x.shape[0], x.shape[0] - 1), min_size=1, max_size=5)
            number = () if name == "gather" else (draw(st.integers(0, 1)),)
            return Step(name, (at,), (tuple(draw(places)), *number))
        case "add to part":
            if dtype == "bool":
                return None
            return Step(name, (at,), (_slices(draw, x.shape), draw(st.integers(0, 1))))
        case "set number":
            return Step(name, (at,), (_slices(draw, x.shape), draw(st.integers(0, 1))))
        case "set value":
            return Step(name, (at, draw(st.sampled_from(alike))), (_slices(draw, x.shape),))
        case "set from itself":
            return Step(name, (at,), (_slices(draw, x.shape), _slices(draw, x.shape)))
        case "set masked":
            masks = [i for i, v in enumerate(values) if v.dtype == bool and v.shape == x.shape]
            if not masks:
                return None
            return Step(name, (at, draw(st.sampled_from(masks))), (draw(st.integers(0, 1)),))
    return None


_BINARY = frozenset(
    ("add", "sub", "mul", "maximum", "minimum", "lt", "eq", "ne", "and", "or", "xor")
) | {"floordiv", "mod"}


def _factorings(size: int) -> list[tuple[int, ...]]:
    pairs = [(d, size // d) for d in range(1, size + 1) if size % d == 0]
    return [(size,), (1, size, 1), *pairs, *([] if size != 1 else [()])]


def _is_usable(made: Array) -> bool:
    """Whether a value keeps the program small and exact."""
    if made.size > LARGEST or made.ndim > 5:
        return False
    if str(made.dtype) not in DTYPES and str(made.dtype) != "uint32":
        return False
    bound = EXACT.get(str(made.dtype))
    return bound is None or not made.size or bool(np.max(np.abs(made)) <= bound)


@st.composite
def programs(draw: st.DrawFn, most: int = 10) -> Program:
    """Programs whose every value is exact."""
    shapes = st.lists(st.sampled_from([1, 2, 3, 4, 5, 7]), max_size=3).map(tuple)
    first = draw(st.tuples(st.sampled_from(sorted(DTYPES)), shapes))
    others = st.tuples(st.sampled_from([first[0], "bool", "int32"]), st.just(first[1]) | shapes)
    inputs = (first, *draw(st.lists(others, max_size=2)))
    plan = Program(inputs, (), draw(st.integers(0, 500)), draw(st.integers(0, 500)))
    calls = [[Known(array) for array in plan.data(call)] for call in range(4)]
    steps: list[Step] = []
    for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=most)):
        step = _step(draw, name, [value.array for value in calls[0]])
        if step is not None and _extend(calls, step):
            steps.append(step)
    return Program(inputs, tuple(steps), plan.seed, plan.order)


def _extend(calls: list[list[Known]], step: Step) -> bool:
    """Run a step on the data of all calls; False, and nothing, where one cannot."""
    with np.errstate(all="ignore"):
        for values in calls:
            arrays = [values[i].array for i in step.on]
            try:
                made = np.array(REFERENCE[step.name](*arrays, *step.params))
            except (ValueError, IndexError):
                return False
            if not _is_usable(made):
                return False
            if step.is_write and not _can_store(step, arrays[0], made):
                return False
            if step.is_write and step.name != "realize" and values[step.on[0]].repeats:
                return False
        for values in calls:
            apply_reference(values, step)
    return True


def _can_store(step: Step, x: Array, made: Array) -> bool:
    whole = step.name in ("assign", "assign flipped", "iadd")
    return made.dtype == x.dtype and (not whole or made.shape == x.shape)


def _same(got: Sequence[Tensor], want: Sequence[Array], order: int) -> None:
    """Compare all values, realized in an order of the program's choice."""
    for i in np.random.default_rng(order).permutation(len(want)):
        found = got[i].numpy()
        assert str(found.dtype) == str(want[i].dtype), f"value {i}"
        np.testing.assert_array_equal(found, want[i], err_msg=f"value {i}", strict=True)


fuzz = partial(
    settings, max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), deadline=None
)


@given(programs())
@fuzz()
def test_a_program_gives_what_numpy_gives(program: Program) -> None:
    """Lazy values are what they were when built, whichever is realized first."""
    data = program.data(0)
    want = run_reference(program, data)
    got = run_tensors(program, *[Tensor(x).realize() for x in data])
    _same(got, want, program.order)


WAYS = {
    "step by step": {},
    "unoptimized": {"NOOPT": 1},
    "interpreted": {"DEV": "PYTHON"},
    "unplanned": {"NO_MEMORY_PLANNER": 1, "SCACHE": 0},
}
"""The same programs in other ways; the first realizes each value when it is made or written."""


@given(programs(), st.sampled_from(sorted(WAYS)))
@fuzz(max_examples=EXAMPLES if EXAMPLES > FEW else max(EXAMPLES // 4, 1))
def test_a_program_gives_the_same_in_other_ways(program: Program, way: str) -> None:
    data = program.data(0)
    with Context(**WAYS[way]):
        inputs = [Tensor(x).realize() for x in data]
        after = Tensor.realize if way == "step by step" else None
        got = run_tensors(program, *inputs, after=after)
        _same(got, run_reference(program, data), program.order)


@given(programs(most=6))
@fuzz(max_examples=max(EXAMPLES // 4, 1))
def test_a_captured_program_gives_what_numpy_gives(program: Program) -> None:
    """Each call is right, and the results of each stay as they were."""
    # a captured function must not be asked to realize more than it gives back
    plan = Program(
        program.inputs,
        tuple(s for s in program.steps if s.name != "realize"),
        program.seed,
        program.order,
    )
    width = len(plan.inputs)
    step = TinyJit(lambda *inputs: run_tensors(plan, *inputs)[width:])
    done: list[tuple[list[Tensor], list[Array]]] = []
    for call in range(4):
        data = plan.data(call)
        inputs = [Tensor(x).realize() for x in data]
        results = step(*inputs)
        done.append(([*inputs, *results], run_reference(plan, data)))
    for got, want in done:
        _same(got, want, plan.order)
