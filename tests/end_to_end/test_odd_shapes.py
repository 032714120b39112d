"""Products of sizes that no vector divides are those of NumPy, the same on one thread and two."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from tg_tensor import Tensor
from tg_uop.context import CPU_COUNT, Context

Array = npt.NDArray[np.float32]

PRODUCTS = [
    ((33, 33), (33, 33)),
    ((127, 127), (127, 127)),
    ((131, 255), (255, 77)),
    ((7, 300), (300, 1000)),
    ((257, 5), (5, 19)),
    ((5, 17, 23), (5, 23, 19)),
    ((1, 129), (129, 33)),
    ((700, 90), (90, 1001)),
    ((333, 333), (333, 333)),
    ((3, 511), (511, 777)),
    ((1, 1001), (1001, 999)),
    ((1023, 1023), (1023, 1)),
]


def numbers(shape: tuple[int, ...], seed: int) -> Array:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def on_threads(count: int, left: Array, right: Array) -> Array:
    with Context(CPU_COUNT=min(count, int(CPU_COUNT))):
        result: Array = (Tensor(left) @ Tensor(right)).numpy()
    return result


@pytest.mark.parametrize(("left", "right"), PRODUCTS, ids=str)
def test_products_of_odd_sizes(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    a, b = numbers(left, 1), numbers(right, 2)
    alone, shared = on_threads(1, a, b), on_threads(2, a, b)
    np.testing.assert_allclose(alone, a.astype(np.float64) @ b, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(alone, shared)


@pytest.mark.parametrize("axis", [0, 1])
def test_sums_of_odd_sizes(axis: int) -> None:
    x = numbers((777, 1001), 7)
    found = []
    for count in (1, 2):
        with Context(CPU_COUNT=min(count, int(CPU_COUNT))):
            found.append((Tensor(x) * 3).sum(axis).numpy())
    np.testing.assert_allclose(found[0], 3 * x.sum(axis, dtype=np.float64), rtol=1e-3, atol=1e-3)
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize("transposed", ["left", "right", "both"])
def test_products_of_transposed_operands(transposed: str) -> None:
    a, b = numbers((530, 530), 3), numbers((530, 530), 4)
    left = Tensor(a).T if transposed != "right" else Tensor(a)
    right = Tensor(b).T if transposed != "left" else Tensor(b)
    x = a.T if transposed != "right" else a
    y = b.T if transposed != "left" else b
    found = (left @ right).numpy()
    np.testing.assert_allclose(found, x.astype(np.float64) @ y, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(("channels", "stride"), [((3, 13), 1), ((13, 7), 2), ((61, 67), 1)])
def test_convolutions_of_odd_sizes(channels: tuple[int, int], stride: int) -> None:
    before, after = channels
    x, w = numbers((2, before, 19, 21), 5), numbers((after, before, 3, 3), 6)
    found = Tensor(x).conv2d(Tensor(w), stride=stride, padding=1).numpy()
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))).astype(np.float64)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    expected = np.einsum("bchwij,ocij->bohw", windows[:, :, ::stride, ::stride], w)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
