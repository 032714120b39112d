"""Allreduce in its three ways, when each is chosen, and how many kernels shards take."""

from __future__ import annotations

import numpy as np
import pytest
from tg_tensor import Context, GlobalCounters, Tensor
from tg_tensor.multi.allreduce import (
    LARGE,
    all_to_all_allreduce,
    chosen,
    naive_allreduce,
    ring_allreduce,
)
from tg_uop import UOp, dtypes
from tg_uop.context import WITHOUT_EFFECT

D = ("CPU:0", "CPU:1", "CPU:2", "CPU:3")
A = np.random.default_rng(1).standard_normal((8, 13)).astype(np.float32)
WAYS = {"naive": (0, 0), "ring": (2, 0), "all to all": (0, 2)}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("count", [2, 3, 4])
def test_every_way_gives_the_same(way: str, count: int) -> None:
    ring, all_to_all = WAYS[way]
    with Context(RING=ring, ALL2ALL=all_to_all):
        x = Tensor(A).shard(D[:count], 0)
        total = x.sum(0)
        np.testing.assert_allclose(total.numpy(), A.sum(0), rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(x.max(0).numpy(), A.max(0))
        np.testing.assert_allclose(x.prod(0).numpy(), A.prod(0), rtol=1e-4)
        np.testing.assert_allclose(x.sum().item(), A.sum(), rtol=1e-4)
        copies = [Tensor.from_uop(part).numpy() for part in total.realize().uop.src]
    for other in copies[1:]:
        np.testing.assert_array_equal(other, copies[0])


def _parts(count: int, size: int) -> list[UOp]:
    return [UOp.new_buffer(f"CPU:{i}", size, dtypes.float32) for i in range(count)]


def test_the_way_is_chosen_by_size_and_settings() -> None:
    assert chosen(_parts(4, LARGE - 1)) is naive_allreduce
    assert chosen(_parts(4, LARGE)) is ring_allreduce
    assert chosen(_parts(2, LARGE)) is naive_allreduce
    with Context(RING=0):
        assert chosen(_parts(4, LARGE)) is naive_allreduce
    with Context(RING=2):
        assert chosen(_parts(2, 8)) is ring_allreduce
        assert chosen(_parts(4, 3)) is naive_allreduce
    with Context(ALL2ALL=1):
        assert chosen(_parts(4, LARGE)) is all_to_all_allreduce
        assert chosen(_parts(4, 8)) is naive_allreduce
    with Context(ALL2ALL=2, RING=2):
        assert chosen(_parts(4, 8)) is all_to_all_allreduce


def test_the_settings_are_read() -> None:
    assert not {"RING", "ALL2ALL"} & WITHOUT_EFFECT


def count_of(value: Tensor) -> int:
    """The kernels and copies that computing a value takes."""
    GlobalCounters.reset()
    value.realize()
    return GlobalCounters.kernel_count


def test_kernel_counts() -> None:
    x = Tensor(A).shard(D, 0).realize()
    w = Tensor(A.T.copy()).shard(D).realize()
    assert count_of(((x + 1) * 2).relu()) == 4
    assert count_of(x.softmax(1)) <= 8
    assert count_of(x @ w) == 4
    assert count_of(x.reshape(4, 2, 13).permute(0, 2, 1)[:, 1:3]) == 0
    # on each device a partial sum, what it fetches of the three others, and the total
    assert count_of(x.sum(0)) <= 4 + 4 * 3 + 4
    assert count_of(x.to("CPU:1")) <= 4
    # one part is sent to each other device
    assert count_of(x[2:4].contiguous()) <= 3 + 4


def test_shards_of_one_schedule_are_the_same_kernel() -> None:
    x = Tensor(A).shard(D, 0).realize()
    linear = (x * 3 + 1).schedule_linear()
    assert len(linear.src) == 4
    assert len({call.called.key for call in linear.src}) == 1
