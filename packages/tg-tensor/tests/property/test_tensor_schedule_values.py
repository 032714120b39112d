"""Random graphs: fused, unfused, interpreted and NumPy's values agree; writes keep their order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st
from tg_tensor import Context, Tensor
from tg_tensor.engine.buffers import memory_of_value
from tg_tensor.engine.run import run_linear
from tg_tensor.schedule.pipeline import ScheduleOptions, create_schedule

Array = npt.NDArray[np.generic]
Step = tuple[str, int, int]

STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            (
                "add",
                "scale",
                "relu",
                "permute",
                "reshape",
                "flip",
                "pad",
                "shrink",
                "sum",
                "max",
                "center",
                "expand",
                "product",
                "window",
                "contiguous",
            )
        ),
        st.integers(0, 7),
        st.integers(0, 7),
    ),
    min_size=1,
    max_size=7,
)


def grow(values: list[Tensor], step: Step) -> Tensor:
    """One more value from those that there are."""
    kind, pick, other = step
    x = values[pick % len(values)]
    y = values[other % len(values)]
    axis = other % x.ndim
    size = x.shape[axis]
    match kind:
        case "add":
            return x + y if x.shape == y.shape else x + 1
        case "scale":
            return x * 0.5 - 1
        case "relu":
            return x.relu()
        case "permute":
            return x.permute(tuple(reversed(range(x.ndim))))
        case "reshape":
            return x.reshape(-1, size) if axis else x.reshape(size, -1)
        case "flip":
            return x.flip(axis)
        case "pad":
            return x.pad(tuple((1, 2) if a == axis else (0, 0) for a in range(x.ndim)))
        case "shrink":
            return x.shrink(tuple((size // 3, size) if a == axis else None for a in range(x.ndim)))
        case "sum":
            return x.sum(axis, keepdim=True)
        case "max":
            return x.max(axis, keepdim=True)
        case "center":
            return x - x.mean(axis, keepdim=True)
        case "expand":
            return x if x.numel() > 300 else x.unsqueeze(0).expand(3, *x.shape).reshape(-1, size)
        case "product":
            small = x.numel() * size > 4000
            return x if small or x.ndim != 2 else x @ x.permute(1, 0)
        case "window":
            return x.unfold(axis, 2, 1).sum(-1) if size >= 2 else x
        case _:
            return x.contiguous()


def graph(steps: list[Step], start: Array) -> list[Tensor]:
    values = [Tensor(start).realize()]
    for step in steps:
        values.append(grow(values, step))
    return values[-2:]


def realized(tensor: Tensor, options: ScheduleOptions) -> Array:
    """The value by a schedule of its own, without changing the Tensor."""
    node = tensor.contiguous().uop
    schedule = create_schedule([node], options)
    run_linear(schedule.linear, schedule.var_vals)
    found = memory_of_value(schedule.results.get(node, node))
    raw = found.as_memoryview(allow_zero_copy=False)  # type: ignore[union-attr]
    return np.frombuffer(raw, np.float32).reshape(tensor.shape)


@given(STEPS, st.integers(0, 2**16))
@settings(max_examples=40)
def test_ways_to_compute_agree(
    witness: Callable[[Tensor], Array], steps: list[Step], seed: int
) -> None:
    start = np.random.default_rng(seed).integers(-4, 5, (4, 6)).astype(np.float32)
    for tensor in graph(steps, start):
        expected = witness(tensor)
        fused = realized(tensor, ScheduleOptions())
        np.testing.assert_allclose(fused, expected, rtol=1e-4, atol=1e-4)
        plain = realized(tensor, ScheduleOptions(fuse=False, plan_memory=False))
        np.testing.assert_allclose(plain, expected, rtol=1e-4, atol=1e-4)


@given(STEPS, st.integers(0, 2**16))
@settings(max_examples=12)
def test_the_interpreter_agrees(steps: list[Step], seed: int) -> None:
    start = np.random.default_rng(seed).integers(-4, 5, (3, 4)).astype(np.float32)
    native = [tensor.numpy() for tensor in graph(steps, start)]
    with Context(DEV="PYTHON"):
        interpreted = [tensor.numpy() for tensor in graph(steps, start)]
    for left, right in zip(native, interpreted, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-4)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(("assign", "slice", "shift", "read", "realize", "swap")),
            st.integers(0, 1),
            st.integers(0, 5),
        ),
        min_size=1,
        max_size=8,
    )
)
@settings(max_examples=40)
def test_interleaved_writes_behave_as_in_numpy(steps: list[Step]) -> None:
    """Each value is what NumPy gives when every step happens at once, with copies."""
    arrays = [np.arange(6, dtype=np.float32), np.arange(6, 12, dtype=np.float32)]
    tensors = [Tensor(array.copy()).realize() for array in arrays]
    reads: list[tuple[Tensor, Array]] = []
    for kind, which, place in steps:
        t, a = tensors[which], arrays[which]
        o, b = tensors[1 - which], arrays[1 - which]
        match kind:
            case "assign":
                t.assign(t * 2 + o)
                arrays[which] = a * 2 + b
            case "slice":
                t[place:] = o[place:] + 1
                fresh = a.copy()
                fresh[place:] = b[place:] + 1
                arrays[which] = fresh
            case "shift":
                t[1:] = t[:-1]
                fresh = a.copy()
                fresh[1:] = a[:-1]
                arrays[which] = fresh
            case "read":
                reads.append((t + place, a + place))
            case "realize":
                t.realize()
            case _:
                old_t, old_o = t + 0, o + 0
                t.assign(old_o)
                o.assign(old_t)
                arrays[which], arrays[1 - which] = b, a
    for tensor, array in [*reads, *zip(tensors, arrays, strict=True)]:
        np.testing.assert_array_equal(tensor.numpy(), array)
