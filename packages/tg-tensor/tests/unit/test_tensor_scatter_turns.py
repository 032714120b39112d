"""Scattering of many sources to many elements, which goes through the sources in turn."""

from __future__ import annotations

import numpy as np
import pytest
from tg_tensor import Tensor, TinyJit
from tg_tensor.algorithms.lookups import MANY_PAIRS
from tg_uop import dtypes

ROWS, SIZE, COUNT, INNER = 3, 700, 900, 5


def drawn(axis: int, low: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Old values, an index with many duplicates, and sources, three axes with `axis` scattered."""
    rng = np.random.default_rng(axis)
    order = {0: (1, 0, 2), 1: (0, 1, 2), 2: (0, 2, 1)}[axis]
    assert ROWS * COUNT * INNER * SIZE > MANY_PAIRS
    old = rng.integers(-9, 9, (ROWS, SIZE, INNER)).astype(np.float32)
    index = rng.integers(low, SIZE // 2, (ROWS, COUNT, INNER)).astype(np.int32)
    source = rng.integers(-9, 9, (ROWS, COUNT, INNER)).astype(np.float32)
    return tuple(np.ascontiguousarray(a.transpose(order)) for a in (old, index, source))  # type: ignore[return-value]


def places(index: np.ndarray, axis: int) -> tuple[np.ndarray, ...]:
    grid = list(np.indices(index.shape))
    grid[axis] = index
    return tuple(grid)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_sums_of_duplicates(axis: int) -> None:
    old, index, source = drawn(axis)
    expected = old.copy()
    np.add.at(expected, places(index, axis), source)
    found = Tensor(old).scatter_reduce(axis, Tensor(index), Tensor(source), "sum").numpy()
    np.testing.assert_array_equal(found, expected)
    alone = np.zeros_like(old)
    np.add.at(alone, places(index, axis), source)
    touched = np.zeros(old.shape, bool)
    touched[places(index, axis)] = True
    without = Tensor(old).scatter_reduce(
        axis, Tensor(index), Tensor(source), "sum", include_self=False
    )
    np.testing.assert_array_equal(without.numpy(), np.where(touched, alone, old))


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_means(include_self: bool, dtype: type) -> None:
    old, index, source = drawn(1)
    total, count = np.zeros(old.shape), np.zeros(old.shape)
    np.add.at(total, places(index, 1), source)
    np.add.at(count, places(index, 1), 1)
    touched = count > 0
    if include_self:
        total, count = total + old, count + 1
    mean = total / np.maximum(count, 1)
    expected = np.where(touched, mean if dtype is np.float32 else np.floor(mean), old)
    found = Tensor(old.astype(dtype)).scatter_reduce(
        1, Tensor(index), Tensor(source.astype(dtype)), "mean", include_self=include_self
    )
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_the_last_source_stays(axis: int) -> None:
    old, index, source = drawn(axis)
    expected = old.copy()
    at = np.moveaxis(index, axis, 0)
    for turn in range(at.shape[0]):
        one = np.moveaxis(at[turn : turn + 1], 0, axis)
        part = np.moveaxis(np.moveaxis(source, axis, 0)[turn : turn + 1], 0, axis)
        np.put_along_axis(expected, one, part, axis)
    found = Tensor(old).scatter(axis, Tensor(index), Tensor(source)).numpy()
    np.testing.assert_array_equal(found, expected)


def test_gradients_reach_the_old_values_and_each_source() -> None:
    old, index, source = (Tensor(a) for a in drawn(1))
    weight = Tensor(np.arange(ROWS * SIZE * INNER, dtype=np.float32).reshape(ROWS, SIZE, INNER))
    loss = (old.scatter_reduce(1, index, source, "sum") * weight).sum()
    to_old, to_source = loss.gradient(old, source)
    np.testing.assert_array_equal(to_old.numpy(), weight.numpy())
    expected = np.take_along_axis(weight.numpy(), index.numpy(), 1)
    np.testing.assert_array_equal(to_source.numpy(), expected)


def test_gradients_of_the_gradient() -> None:
    index = Tensor(drawn(1)[1])
    source = Tensor(drawn(1)[2])
    zero = Tensor.zeros(ROWS, SIZE, INNER)
    sums = zero.scatter_reduce(1, index, source, "sum")
    (slope,) = (sums * sums).sum().gradient(source)
    (curve,) = slope.sum().gradient(source)
    counts = np.zeros((ROWS, SIZE, INNER), np.float32)
    np.add.at(counts, places(index.numpy(), 1), 1)
    np.testing.assert_array_equal(curve.numpy(), 2 * np.take_along_axis(counts, index.numpy(), 1))


def test_narrow_dtypes_are_summed_wide() -> None:
    index = Tensor.zeros(1 << 19, dtype=dtypes.int32)
    ones = Tensor.ones(1 << 19, dtype=dtypes.float16)
    found = Tensor.zeros(4, dtype=dtypes.float16).scatter_reduce(0, index, ones * 0.0625, "sum")
    np.testing.assert_array_equal(found.numpy(), np.array([32768, 0, 0, 0], np.float16))


def test_a_captured_scatter_follows_its_index() -> None:
    @TinyJit
    def summed(index: Tensor, source: Tensor) -> Tensor:
        return Tensor.zeros(SIZE).scatter_reduce(0, index, source, "sum").realize()

    rng = np.random.default_rng(0)
    for _ in range(4):
        index = rng.integers(0, SIZE, COUNT).astype(np.int32)
        source = rng.integers(-9, 9, COUNT).astype(np.float32)
        expected = np.zeros(SIZE, np.float32)
        np.add.at(expected, index, source)
        np.testing.assert_array_equal(summed(Tensor(index), Tensor(source)).numpy(), expected)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.uint8])
@pytest.mark.parametrize("reduce", ["amax", "amin"])
def test_the_largest_and_the_smallest(reduce: str, dtype: type, include_self: bool) -> None:
    old, index, source = drawn(1)
    old, source = (old + 9).astype(dtype), (source + 9).astype(dtype)
    combine = np.maximum if reduce == "amax" else np.minimum
    touched = np.zeros(old.shape, bool)
    touched[places(index, 1)] = True
    worst = {"amax": 0, "amin": 99}[reduce]
    expected = old.copy() if include_self else np.where(touched, worst, old).astype(dtype)
    combine.at(expected, places(index, 1), source)
    found = Tensor(old).scatter_reduce(1, Tensor(index), Tensor(source), reduce, include_self)
    np.testing.assert_array_equal(found.numpy(), expected)


def test_nan_is_the_largest() -> None:
    old, index, source = drawn(1)
    source[1, 7, 2] = np.nan
    expected = old.copy()
    np.maximum.at(expected, places(index, 1), source)
    found = Tensor(old).scatter_reduce(1, Tensor(index), Tensor(source), "amax")
    np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("reduce", ["amax", "amin"])
def test_the_largest_sources_share_the_gradient(reduce: str) -> None:
    old, index, source = drawn(1)
    sources = Tensor(source)
    found = Tensor(old).scatter_reduce(1, Tensor(index), sources, reduce, include_self=False)
    weights = np.arange(old.size, dtype=np.float32).reshape(old.shape)
    (slope,) = (found * Tensor(weights)).sum().gradient(sources)
    whole = np.full(old.shape, -99 if reduce == "amax" else 99, np.float32)
    (np.maximum if reduce == "amax" else np.minimum).at(whole, places(index, 1), source)
    wins = source == np.take_along_axis(whole, index, 1)
    counts = np.zeros_like(whole)
    np.add.at(counts, places(index, 1), wins)
    share = np.take_along_axis(weights / np.maximum(counts, 1), index, 1)
    np.testing.assert_allclose(slope.numpy(), np.where(wins, share, 0), rtol=1e-6)
