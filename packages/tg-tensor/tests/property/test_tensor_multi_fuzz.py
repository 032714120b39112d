"""Random programs on sharded Tensors give what the same programs give on one device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st
from tg_tensor import Context, Tensor

Array = npt.NDArray[np.int32]
Step = Callable[[list[Tensor]], None]


@dataclass
class Program:
    """Inputs, how each is sharded, and steps that are done to both sides alike."""

    shapes: list[tuple[int, ...]]
    axes: list[int | None]
    devices: tuple[str, ...]
    steps: list[str] = field(default_factory=list)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """A program as lines of Python over a list `v` of Tensors of one shape or another."""
    count = draw(st.integers(2, 4))
    devices = tuple(f"CPU:{i}" for i in range(count))
    shape = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=3)))
    shapes, axes = [], []
    for _ in range(draw(st.integers(1, 3))):
        shapes.append(shape)
        able = [axis for axis, size in enumerate(shape) if size >= count]
        axes.append(draw(st.sampled_from([None, *able])))
    program = Program(shapes, axes, devices)
    known = list(shapes)
    for _ in range(draw(st.integers(1, 6))):
        line, result = draw(steps(known))
        program.steps.append(line)
        if result is not None:
            known.append(result)
    return program


@st.composite
def steps(draw: st.DrawFn, known: list[tuple[int, ...]]) -> tuple[str, tuple[int, ...] | None]:
    """One line, and the shape of what it appends to `v` (None when it changes a value)."""
    number = draw(st.integers(0, len(known) - 1))
    shape = known[number]
    x = f"v[{number}]"
    rank = len(shape)
    alike = [i for i, other in enumerate(known) if other == shape]
    other = f"v[{draw(st.sampled_from(alike))}]"
    axis = draw(st.integers(0, rank - 1)) if rank else 0
    kind = draw(st.sampled_from(KINDS if rank else ["add", "realize"]))
    match kind:
        case "add":
            op = draw(st.sampled_from(["+", "-", "*"]))
            return f"v.append({x} {op} {other})", shape
        case "reduce":
            name = draw(st.sampled_from(["sum", "max", "min", "argmax"]))
            keep = draw(st.booleans())
            left = (*shape[:axis], *((1,) if keep else ()), *shape[axis + 1 :])
            return f"v.append({x}.{name}({axis}, keepdim={keep}))", left
        case "spread":
            return f"v.append({x} - {x}.sum({axis}, keepdim=True))", shape
        case "permute":
            order = draw(st.permutations(range(rank)))
            return f"v.append({x}.permute({order}))", tuple(shape[a] for a in order)
        case "reshape":
            new = draw(reshapes(shape))
            return f"v.append({x}.reshape({new}))", new
        case "slice":
            start = draw(st.integers(0, shape[axis] - 1))
            stop = draw(st.integers(start + 1, shape[axis]))
            cut = [":"] * rank
            cut[axis] = f"{start}:{stop}"
            new = (*shape[:axis], stop - start, *shape[axis + 1 :])
            return f"v.append({x}[{', '.join(cut)}])", new
        case "step":
            by = draw(st.sampled_from([2, -1, -2]))
            cut = [":"] * rank
            cut[axis] = f"::{by}"
            new = (*shape[:axis], len(range(shape[axis])[::by]), *shape[axis + 1 :])
            return f"v.append({x}[{', '.join(cut)}])", new
        case "pad":
            before, after = draw(st.integers(0, 2)), draw(st.integers(0, 2))
            pads = [(0, 0)] * rank
            pads[axis] = (before, after)
            new = (*shape[:axis], before + shape[axis] + after, *shape[axis + 1 :])
            return f"v.append({x}.pad({tuple(pads)}))", new
        case "flip":
            return f"v.append({x}.flip({axis}))", shape
        case "cat":
            new = (*shape[:axis], 2 * shape[axis], *shape[axis + 1 :])
            return f"v.append({x}.cat({other}, dim={axis}))", new
        case "cumsum":
            return f"v.append({x}.cumsum({axis}))", shape
        case "look":
            picked = draw(st.lists(st.integers(0, shape[0] - 1), min_size=1, max_size=3))
            return f"v.append({x}[{picked}])", (len(picked), *shape[1:])
        case "assign":
            return f"{x}.assign({other} + 1)", None
        case "set":
            start = draw(st.integers(0, shape[axis] - 1))
            stop = draw(st.integers(start + 1, shape[axis]))
            by = draw(st.sampled_from([1, 2]))
            cut = [":"] * rank
            cut[axis] = f"{start}:{stop}:{by}"
            where = ", ".join(cut)
            value = draw(st.sampled_from(["7", f"{other}[{where}] * 3"]))
            return f"{x}[{where}] = {value}", None
        case "mask":
            return f"{x}[{x} > 2] = -1", None
        case "contiguous":
            return f"v.append({x}.contiguous())", shape
        case _:
            return f"{x}.realize()", None


KINDS = [
    *("add", "add", "reduce", "spread", "permute", "reshape", "slice", "step", "pad", "flip"),
    *("cat", "cumsum", "look", "assign", "set", "set", "mask", "contiguous", "realize"),
]


@st.composite
def reshapes(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Another shape of as many elements."""
    left = int(np.prod(shape))
    new = []
    while left > 1 and len(new) < 3:
        able = [d for d in range(2, left + 1) if left % d == 0]
        size = draw(st.sampled_from(able))
        new.append(size)
        left //= size
    return (*new, left) if left > 1 or not new else tuple(new)


def run(program: Program, *, sharded: bool) -> list[Array]:
    """The values after the steps."""
    values = []
    for number, (shape, axis) in enumerate(zip(program.shapes, program.axes, strict=True)):
        data = (np.arange(int(np.prod(shape))) * (number + 3) % 11 - 4).astype(np.int32)
        tensor = Tensor(data.reshape(shape))
        values.append(tensor.shard(program.devices, axis) if sharded else tensor)
    for line in program.steps:
        exec(line, {"v": values})  # the lines are made above
    return [value.numpy() for value in values]


@given(programs(), st.sampled_from([(0, 0), (2, 0), (0, 2)]))
@settings(max_examples=60)
def test_shards_give_what_one_device_gives(program: Program, ways: tuple[int, int]) -> None:
    expected = run(program, sharded=False)
    with Context(RING=ways[0], ALL2ALL=ways[1]):
        found = run(program, sharded=True)
    for number, (one, other) in enumerate(zip(expected, found, strict=True)):
        np.testing.assert_array_equal(other, one, err_msg=f"v[{number}] of {program}")
