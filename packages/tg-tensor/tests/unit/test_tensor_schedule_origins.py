"""Kernels that differ by where their memory begins are one kernel."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tg_tensor import Tensor, TinyJit, run_linear
from tg_uop import UOp

rng = np.random.default_rng(0)


def computed(value: Tensor, kernels: set[UOp]) -> Tensor:
    """The value, and its kernels added to the others."""
    linear = value.schedule_linear()
    kernels.update(call.called for call in linear.src)
    run_linear(linear)
    return value


@pytest.mark.parametrize(
    "take",
    [
        lambda x, i: x[i] * 2 + 1,
        lambda x, i: x[:, i].sum(0),
        lambda x, i: x[i].flip(0).contiguous(),
        lambda x, i: x[i, i, 1:4].exp(),
        lambda x, i: x[i : i + 2, ::2].max(0),
    ],
)
def test_parts_of_one_tensor_take_one_kernel(take: Callable[[Tensor, int], Tensor]) -> None:
    """From 1 on: what begins at the start has all of the memory."""
    array = rng.standard_normal((8, 7, 5)).astype(np.float32)
    x = Tensor(array).realize()
    kernels: set[UOp] = set()
    for i in range(1, 6):
        alone = take(Tensor(array), i)
        np.testing.assert_array_equal(computed(take(x, i), kernels).numpy(), alone.numpy())
    assert len(kernels) == 1


def test_writes_to_parts_take_one_kernel() -> None:
    x = Tensor(rng.standard_normal((8, 5)).astype(np.float32)).realize()
    expected = x.numpy().copy()
    kernels: set[UOp] = set()
    for i in range(1, 7):
        x[i] = x[i] * 2 + 1
        expected[i] = expected[i] * 2 + 1
        np.testing.assert_array_equal(computed(x, kernels).numpy(), expected)
    assert len(kernels) == 1


def test_reads_and_writes_of_one_buffer_keep_their_distance() -> None:
    """One argument stands for both, so that it begins at the lower one."""
    array = rng.standard_normal((8, 5)).astype(np.float32)
    for i, j in ((3, 5), (5, 3), (2, 2), (0, 4)):
        x, expected = Tensor(array.copy()).realize(), array.copy()
        x[i] = x[j].flip(0) + x[i]
        expected[i] = expected[j][::-1] + expected[i]
        np.testing.assert_array_equal(x.numpy(), expected)


def test_a_captured_step_takes_parts_of_its_inputs() -> None:
    @TinyJit
    def step(x: Tensor) -> Tensor:
        return (x[3] @ x[4].T + x[1:3].sum()).realize()

    for _ in range(4):
        array = rng.standard_normal((5, 4, 6)).astype(np.float32)
        result = step(Tensor(array).realize()).numpy()
        np.testing.assert_allclose(
            result, array[3] @ array[4].T + array[1:3].sum(), rtol=1e-4, atol=1e-4
        )
