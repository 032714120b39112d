"""Tensors made on several devices, and like sharded ones: values, shards, what is sent."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from tg_tensor import GlobalCounters, Tensor, dtypes

D = ("CPU:0", "CPU:1", "CPU:2", "CPU:3")
Place = str | tuple[str, ...]


@pytest.mark.parametrize(
    "make",
    [
        lambda d: Tensor.rand(8, 4, device=d),
        lambda d: Tensor.randn(8, 4, device=d),
        lambda d: Tensor.randint(8, 4, high=50, device=d),
        lambda d: Tensor.randperm(10, device=d),
        lambda d: Tensor.kaiming_uniform(4, 4, device=d),
        lambda d: Tensor.arange(9, device=d),
        lambda d: Tensor.full((3, 2), 4, device=d),
        lambda d: Tensor.eye(4, device=d),
        lambda d: Tensor.linspace(0, 1, 5, device=d),
        lambda d: Tensor([1, 2, 3], device=d),
        lambda d: Tensor(3.0, device=d),
        lambda d: Tensor(np.arange(4), device=d),
    ],
)
def test_several_devices_get_what_one_gets(make: Callable[[Place], Tensor]) -> None:
    Tensor.manual_seed(7)
    expected = make("CPU").numpy()
    Tensor.manual_seed(7)
    found = make(D)
    assert found.device == ("CPU", *D[1:])
    np.testing.assert_array_equal(found.numpy(), expected)
    np.testing.assert_array_equal(found.to("CPU:2").numpy(), expected)


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("name", ["rand_like", "randn_like", "zeros_like", "ones_like"])
def test_what_is_made_like_a_sharded_tensor(name: str, axis: int | None) -> None:
    one = Tensor.ones(8, 4, dtype=dtypes.float16).contiguous()
    model = one.shard(D, axis)
    Tensor.manual_seed(3)
    expected = getattr(one, name)().numpy()
    Tensor.manual_seed(3)
    found: Tensor = getattr(model, name)()
    facts = (found.shape, found.dtype, found.device, found.uop.axis)
    assert facts == (model.shape, model.dtype, model.device, axis)
    np.testing.assert_array_equal(found.numpy(), expected)
    assert found.realize().uop.axis == axis


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_memory_like_a_sharded_tensor(axis: int | None) -> None:
    found = Tensor.ones(8, 4).shard(D, axis).empty_like(dtype=dtypes.int32)
    assert (found.uop.axis, found.dtype, found.shape) == (axis, dtypes.int32, (8, 4))
    found.assign(found * 0 + 1).realize()
    assert found.sum().item() == 32


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_dropout(axis: int | None) -> None:
    with Tensor.train():
        Tensor.manual_seed(3)
        expected = Tensor.ones(8, 4).dropout().numpy()
        Tensor.manual_seed(3)
        found = Tensor.ones(8, 4).shard(D, axis).dropout()
    assert found.uop.axis == axis
    np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_copies_stay_sharded(axis: int | None) -> None:
    x = Tensor.arange(32).reshape(8, 4).shard(D, axis)
    for other in (x.clone(), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert (other.device, other.uop.axis) == (x.device, axis)
        np.testing.assert_array_equal(other.numpy(), np.arange(32).reshape(8, 4))


def test_words_about_a_sharded_tensor() -> None:
    x = Tensor.ones(8, 4).contiguous().shard(D[:2], 1)
    assert repr(x).endswith("on ('CPU', 'CPU:1') axis 1, lazy MULTI>")
    assert repr(x.realize()).endswith("on ('CPU', 'CPU:1') axis 1, in memory>")


def test_uneven_parts_differ_by_one() -> None:
    x = Tensor.arange(10).shard(D, 0)
    assert [part.shape for part in x.uop.src] == [(3,), (3,), (2,), (2,)]
    np.testing.assert_array_equal(x.numpy(), np.arange(10))


def test_one_device_is_no_shard() -> None:
    x = Tensor.arange(4).shard(("CPU:1",), 0)
    assert x.device == "CPU:1"
    assert Tensor.arange(4).to(("CPU:1",)).device == "CPU:1"


def test_moving_between_ways_of_sharding() -> None:
    a = np.arange(24).reshape(4, 6)
    x = Tensor(a).shard(D[:2], 0)
    for axis in (None, 0, 1):
        for names in (D[:2], D[:3], D):
            moved = x.shard(names, axis)
            np.testing.assert_array_equal((moved + 0).numpy(), a)
    assert x.to(D[:2]).uop.axis == 0
    assert x.to(D[1:3]).uop.axis is None
    np.testing.assert_array_equal(x.to(D[1:3]).numpy(), a)
    assert Tensor(a).shard_like(x).uop.axis == 0
    assert x.shard_like(Tensor(a)).device == "CPU"


def test_numbers_on_the_host_run_no_kernels() -> None:
    x = Tensor.arange(32).reshape(8, 4).shard(D, 1).realize()
    GlobalCounters.reset()
    assert x.numpy().shape == (8, 4)
    assert GlobalCounters.kernel_count == 0


def test_random_numbers_of_shards_are_drawn_where_they_are() -> None:
    model = Tensor.ones(1024, 1024).shard(D, 0)
    model.rand_like().realize()
    GlobalCounters.reset()
    model.rand_like().realize()
    # on each device one kernel; key and counter are sent to three; one moves the counter
    assert GlobalCounters.kernel_count == 4 + 2 * 3 + 1
    assert GlobalCounters.global_mem < 2 * 4 * 1024 * 1024
