"""Cumulative reductions take one step an element, alone and with what stands around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tg_tensor import GlobalCounters, Tensor

Array = np.ndarray[Any, np.dtype[Any]]

SHAPES = [((3, 64), 1), ((64, 33), 0), ((5, 17), 1), ((4, 30, 64), 1), ((100,), 0), ((18, 700), 1)]
RUNNING: dict[str, tuple[Callable[[Tensor, int], Tensor], Callable[[Array, int], Array]]] = {
    "sum": (lambda x, axis: x.cumsum(axis), np.cumsum),
    "product": (lambda x, axis: x.cumprod(axis), np.cumprod),
    "maximum": (lambda x, axis: x.cummax(axis)[0], np.maximum.accumulate),
    "minimum": (lambda x, axis: x.cummin(axis)[0], np.minimum.accumulate),
    "around": (
        lambda x, axis: ((x * 2 + 1).cumsum(axis) * 0.5).relu(),
        lambda a, axis: np.maximum(np.cumsum(a * 2 + 1, axis) * np.float32(0.5), 0),
    ),
}


def numbers(shape: tuple[int, ...]) -> Array:
    return np.random.default_rng(len(shape)).uniform(-1.2, 1.2, shape).astype(np.float32)


@pytest.mark.parametrize("name", RUNNING)
@pytest.mark.parametrize(("shape", "axis"), SHAPES, ids=str)
def test_running_values(name: str, shape: tuple[int, ...], axis: int) -> None:
    ours, reference = RUNNING[name]
    data = numbers(shape)
    result = ours(Tensor(data), axis).numpy()
    np.testing.assert_allclose(result, reference(data, axis), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("shape", "axis"), [((64, 2048), 1), ((2048, 64), 0), ((1 << 17,), 0)], ids=str
)
def test_the_work_grows_with_the_number_of_elements(shape: tuple[int, ...], axis: int) -> None:
    x = Tensor(numbers(shape)).realize()
    total = x.cumsum(axis)
    GlobalCounters.reset()
    total.realize()
    # blocks add their offset, and the sums of the blocks are few
    assert GlobalCounters.global_ops <= 4 * x.numel()
    exact = np.cumsum(x.numpy(), axis, dtype=np.float64)
    np.testing.assert_allclose(total.numpy(), exact, rtol=1e-4, atol=1e-3)
