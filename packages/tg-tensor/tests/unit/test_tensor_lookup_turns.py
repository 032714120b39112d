"""Gradients of large lookups and large writes by index, which go through the indices in turn."""

from __future__ import annotations

import numpy as np
import pytest
from tg_tensor import Tensor, TinyJit
from tg_tensor.algorithms.lookups import MANY_PAIRS
from tg_uop import dtypes

PLACES, NAMED, WIDTH = 701, 90, 6


def drawn(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A table, an index with duplicates and negative numbers, and what flows to the rows."""
    rng = np.random.default_rng(seed)
    assert PLACES * NAMED * WIDTH > MANY_PAIRS
    table = rng.integers(-9, 9, (PLACES, WIDTH)).astype(np.float32)
    index = rng.integers(-PLACES // 2, PLACES // 8, NAMED).astype(np.int32)
    flowing = rng.integers(-9, 9, (NAMED, WIDTH)).astype(np.float32)
    return table, index, flowing


def summed(index: np.ndarray, flowing: np.ndarray) -> np.ndarray:
    total = np.zeros((PLACES, *flowing.shape[index.ndim :]), np.float32)
    np.add.at(total, index, flowing)
    return total


def test_rows_that_are_named_more_than_once_get_the_sum() -> None:
    table, index, flowing = drawn()
    weight = Tensor(table)
    found = weight[Tensor(index)]
    (slope,) = (found * Tensor(flowing)).sum().gradient(weight)
    np.testing.assert_array_equal(found.numpy(), table[index])
    np.testing.assert_array_equal(slope.numpy(), summed(index, flowing))
    assert not np.signbit(slope.numpy()[summed(index, np.ones_like(flowing)) == 0]).any()


def test_an_index_outside_reads_zero_and_gets_nothing() -> None:
    table, _, flowing = drawn()
    index = np.arange(NAMED, dtype=np.int32) + PLACES - NAMED // 2
    weight = Tensor(table)
    found = weight[Tensor(index).realize()]
    (slope,) = (found * Tensor(flowing)).sum().gradient(weight)
    inside = index < PLACES
    np.testing.assert_array_equal(found.numpy()[inside], table[index[inside]])
    assert not found.numpy()[~inside].any()
    np.testing.assert_array_equal(slope.numpy(), summed(index[inside], flowing[inside]))


@pytest.mark.parametrize("named", [1, 3])
def test_rows_behind_and_in_front_of_other_axes(named: int) -> None:
    rng = np.random.default_rng(named)
    shape = (3, 40, 5, 30)
    table = rng.integers(-9, 9, shape).astype(np.float32)
    first, second = rng.integers(0, 40, (2, 100)), rng.integers(0, 5, (1, 100))
    flowing = rng.integers(-9, 9, (3, 2, 100, 30)).astype(np.float32)
    weight = Tensor(table)
    found = weight[:, Tensor(first), Tensor(second)]
    (slope,) = (found * Tensor(flowing)).sum().gradient(weight)
    total = np.zeros(shape, np.float32)
    np.add.at(total, (slice(None), first, second), flowing)
    np.testing.assert_array_equal(slope.numpy(), total)


def test_gradients_of_the_gradient() -> None:
    table, index, _ = drawn()
    weight = Tensor(table)
    found = weight[Tensor(index)]
    (slope,) = (found * found).sum().gradient(weight)
    (curve,) = (slope * slope).sum().gradient(weight)
    counts = summed(index, np.ones((NAMED, WIDTH), np.float32))
    np.testing.assert_array_equal(curve.numpy(), 8 * counts * counts * table)


def test_narrow_dtypes_are_summed_wide() -> None:
    weight = Tensor.zeros(4, 256, dtype=dtypes.bfloat16)
    found = weight[Tensor.zeros(512, dtype=dtypes.int32)]
    (slope,) = found.cast(dtypes.float32).sum().gradient(weight)
    assert slope.dtype is dtypes.bfloat16
    np.testing.assert_array_equal(slope.cast(dtypes.float32).numpy()[:, 0], [512, 0, 0, 0])


def test_gather_of_many() -> None:
    table, _, _ = drawn()
    index = np.random.default_rng(1).integers(0, PLACES, (NAMED, WIDTH)).astype(np.int32)
    flowing = drawn()[2]
    weight = Tensor(table)
    found = weight.gather(0, Tensor(index))
    (slope,) = (found * found * Tensor(flowing)).sum().gradient(weight)
    (curve,) = slope.sum().gradient(weight)
    np.testing.assert_array_equal(found.numpy(), np.take_along_axis(table, index, 0))
    total = np.zeros_like(table)
    np.add.at(total, (index, np.arange(WIDTH)), flowing)
    np.testing.assert_array_equal(slope.numpy(), 2 * total * table)
    np.testing.assert_array_equal(curve.numpy(), 2 * total)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.bool_])
def test_the_last_of_many_writes_stays(dtype: type) -> None:
    table, index, flowing = (a.astype(dtype) if a.ndim == 2 else a for a in drawn())
    expected = table.copy()
    expected[index] = flowing
    target = Tensor(table)
    before = target + 0
    target[Tensor(index)] = Tensor(flowing)
    np.testing.assert_array_equal(target.numpy(), expected)
    np.testing.assert_array_equal(before.numpy(), table)


def test_gradients_of_many_writes() -> None:
    table, index, flowing = drawn()
    old, new = Tensor(table), Tensor(flowing)
    target = old * 1
    target[Tensor(index)] = new
    weights = np.arange(PLACES * WIDTH, dtype=np.float32).reshape(PLACES, WIDTH)
    to_old, to_new = (target * Tensor(weights)).sum().gradient(old, new)
    kept = np.ones(PLACES, bool)
    kept[index] = False
    np.testing.assert_array_equal(to_old.numpy(), weights * kept[:, None])
    last = {place % PLACES: turn for turn, place in enumerate(index)}
    wins = np.array([last[place % PLACES] == turn for turn, place in enumerate(index)])
    np.testing.assert_array_equal(to_new.numpy(), weights[index] * wins[:, None])


def test_a_captured_step_follows_its_index() -> None:
    weight = Tensor(drawn()[0]).realize()

    @TinyJit
    def step(index: Tensor, flowing: Tensor) -> Tensor:
        return (weight[index] * flowing).sum().gradient(weight)[0].realize()

    for seed in range(4):
        _, index, flowing = drawn(seed)
        found = step(Tensor(index), Tensor(flowing))
        np.testing.assert_array_equal(found.numpy(), summed(index, flowing))


@pytest.mark.parametrize("rows", [301, 701])
def test_a_value_of_before_a_write_by_index_is_that_of_before(rows: int) -> None:
    """Both are made by one kernel, which must read an element before it writes it."""
    rng = np.random.default_rng(rows)
    old = rng.integers(0, 2, (rows, WIDTH)).astype(bool)
    index = rng.integers(0, rows, NAMED).astype(np.int32)
    target = Tensor(old)
    before = target.cast(dtypes.int32)
    target[Tensor(index)] = Tensor(~old[index])
    target.realize()
    np.testing.assert_array_equal(before.numpy(), old)
