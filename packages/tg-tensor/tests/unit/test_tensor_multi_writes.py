"""Writes to sharded Tensors: to parts, views, through masks; what others see of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from tg_tensor import Tensor
from tg_tensor.errors import AssignError

Array = npt.NDArray[np.float32]
D = ("CPU:0", "CPU:1", "CPU:2")
A = np.arange(48, dtype=np.float32).reshape(8, 6) % 7
WRITES: dict[str, Callable[[Tensor], object]] = {
    "row": lambda x: x.__setitem__(3, 5),
    "element": lambda x: x.__setitem__((4, 5), 7),
    "slice": lambda x: x.__setitem__(slice(2, 7), 1.5),
    "columns": lambda x: x.__setitem__((slice(None), slice(1, 3)), 1.5),
    "steps": lambda x: x.__setitem__((slice(None, None, 2), slice(1, 3)), 1.5),
    "reversed": lambda x: x.__setitem__(slice(6, 1, -1), x[1:6] * 2),
    "own values": lambda x: x.__setitem__(slice(1, 4), x[2:5] + 10),
    "mask": lambda x: x.__setitem__(x > 3, 0),
    "lookup": lambda x: x.__setitem__([0, 5, 2], 7),
    "twice": lambda x: (x.__setitem__(0, 7), x.__setitem__(1, x[0] + 1)),
    "assign": lambda x: x.assign(x + x.sum(0)),
    "assign flipped": lambda x: x.assign(x.flip(0)),
    "view": lambda x: x[2:5].assign(x[0:3] * 2),
    "row of a view": lambda x: x[2:5].__setitem__(1, 5),
    "row of the transpose": lambda x: x.T.__setitem__(1, 5),
    "row of another shape": lambda x: x.reshape(4, 2, 6).__setitem__(1, 5),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("realized", [True, False])
def test_writes(name: str, axis: int | None, realized: bool) -> None:
    one, x = Tensor(A), Tensor(A).shard(D, axis)
    if realized:
        one.realize(x)
    reader = x + 1
    WRITES[name](one)
    WRITES[name](x)
    np.testing.assert_array_equal((x * 2).numpy(), (one * 2).numpy())
    np.testing.assert_array_equal(reader.numpy(), A + 1)
    np.testing.assert_array_equal(x.numpy(), one.numpy())


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_shards_are_no_views_of_what_was_sharded(axis: int | None) -> None:
    one = Tensor(A).realize()
    x = one.shard(D, axis).realize()
    again = x.shard(D, axis).realize()
    alike = x.shard_like(x).realize()
    there = x.to("CPU").realize()
    x.assign(x * 0).realize()
    for other in (one, there):
        np.testing.assert_array_equal(other.numpy(), A)
    np.testing.assert_array_equal(x.numpy(), A * 0)
    there.assign(there + 1).realize()
    again.assign(again + 2).realize()
    np.testing.assert_array_equal(x.numpy(), A * 0)
    np.testing.assert_array_equal(alike.numpy(), A)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_views_and_single_shards_keep_their_values(axis: int | None) -> None:
    x = Tensor(A).shard(D, axis).realize()
    views = [x[:, :2], x[:, :2].realize(), x.reshape(4, 2, 6), Tensor.from_uop(x.uop.src[1])]
    before = [view.numpy() for view in views]
    lazy = x + 1
    x.assign(x * 100).realize()
    for view, value in zip(views, before, strict=True):
        np.testing.assert_array_equal(view.numpy(), value)
    np.testing.assert_array_equal(lazy.numpy(), A + 1)


def test_a_cache_grows_in_place() -> None:
    cache = Tensor.zeros(2, 8, 6).contiguous().shard(D, 2).realize()
    wanted = np.zeros((2, 8, 6), np.float32)
    for i in range(4):
        cache[:, i : i + 1].assign(Tensor(A[:2, None]).shard(D, 2) + i).realize()
        wanted[:, i : i + 1] = A[:2, None] + i
        np.testing.assert_array_equal(cache[:, : i + 1].sum(1).numpy(), wanted.sum(1))


def test_values_of_other_devices_are_refused() -> None:
    x = Tensor(A).shard(D, 0).realize()
    with pytest.raises(AssignError, match="devices differ"):
        x.assign(Tensor(A))


def test_parts_that_are_cut_otherwise_are_moved() -> None:
    x = Tensor(A).shard(D, 0).realize()
    x.assign(Tensor(A * 3).shard(D, 1)).realize()
    assert x.uop.axis == 0
    np.testing.assert_array_equal(x.numpy(), A * 3)
