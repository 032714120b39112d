"""WINO=1: convolutions with windows of 3 in fewer products, to the same values."""

from __future__ import annotations

import numpy as np
import pytest
from tg_tensor import Context, Tensor, TinyJit, Variable, dtypes
from tg_uop import Ops

rng = np.random.default_rng(0)

CASES = [
    ((2, 8, 9, 11), (6, 8, 3, 3), 1, 1),
    ((1, 8, 9, 11), (8, 4, 3, 3), 2, (1, 0, 2, 1)),
    ((3, 3, 3), (4, 3, 3), 1, 0),
    ((1, 2, 5, 6, 7), (3, 2, 3, 3, 3), 1, 1),
]


def drawn(*shape: int) -> Tensor:
    return Tensor(rng.standard_normal(shape).astype(np.float32)).realize()


def products(result: Tensor) -> int:
    return sum(node.op is Ops.REDUCE for node in result.uop.toposort())


@pytest.mark.parametrize(("shape", "window", "groups", "padding"), CASES)
def test_values_and_gradients(
    shape: tuple[int, ...], window: tuple[int, ...], groups: int, padding: int | tuple[int, ...]
) -> None:
    x, weight, bias = drawn(*shape), drawn(*window), drawn(window[0])
    found = []
    for setting in (0, 1):
        with Context(WINO=setting):
            result = x.conv2d(weight, bias, groups, padding=padding)
            assert (products(result) > 1) == setting
            gradients = result.square().sum().gradient(x, weight, bias)
            found.append([result.numpy(), *(g.numpy() for g in gradients)])
    for direct, other in zip(*found, strict=True):
        np.testing.assert_allclose(other, direct, rtol=1e-3, atol=1e-3)


def test_half_precision_is_summed_in_single() -> None:
    x, weight = drawn(1, 16, 8, 8).half(), drawn(4, 16, 3, 3).half()
    direct = x.conv2d(weight)
    with Context(WINO=1):
        other = x.conv2d(weight)
    assert other.dtype == dtypes.half
    np.testing.assert_allclose(other.numpy(), direct.numpy(), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize(
    ("window", "options"),
    [((4, 8, 1, 1), {}), ((4, 8, 3, 5), {}), ((4, 8, 3, 3), {"stride": 2})],
    ids=["1 by 1", "3 by 5", "stride"],
)
def test_other_windows_are_convolved_directly(
    window: tuple[int, ...], options: dict[str, int]
) -> None:
    x, weight = drawn(1, 8, 9, 9), drawn(*window)
    with Context(WINO=1):
        assert products(x.conv2d(weight, **options)) == 1


def test_integers_and_symbolic_sizes_are_convolved_directly() -> None:
    size = Variable("size", 5, 9).bind(7)
    with Context(WINO=1):
        whole = Tensor.ones(1, 1, 6, 6, dtype=dtypes.int).conv2d(
            Tensor.ones(1, 1, 3, 3, dtype=dtypes.int)
        )
        part = drawn(1, 2, 9, 9)[:, :, :size].conv2d(drawn(1, 2, 3, 3))
        assert whole.dtype == dtypes.int
        np.testing.assert_array_equal(whole.numpy(), np.full((1, 1, 4, 4), 9))
        assert part[:, :, :5].numpy().shape == (1, 1, 5, 7)


def test_in_a_captured_step() -> None:
    weight = drawn(4, 4, 3, 3)

    @TinyJit
    def step(x: Tensor) -> Tensor:
        with Context(WINO=1):
            return x.conv2d(weight, padding=1).realize()

    for _ in range(4):
        x = drawn(1, 4, 6, 6)
        expected = x.conv2d(weight, padding=1).numpy()
        np.testing.assert_allclose(step(x).numpy(), expected, rtol=1e-3, atol=1e-4)
