"""Numbers move to the devices of what they stand beside; other values do not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tg_tensor import GlobalCounters, Tensor, TinyJit
from tg_uop.errors import DeviceMismatchError

DEVICES = ("CPU:0", "CPU:1")
X = np.random.default_rng(5).standard_normal((4, 6)).astype(np.float32)

NUMBERS: list[Callable[[], Tensor]] = [
    lambda: Tensor(2.0),
    lambda: Tensor([2.0]),
    lambda: Tensor(1.0) * 2,
    lambda: Tensor.full((6,), 2.0),
    lambda: Tensor(2.0).contiguous().realize(),
]
OPERATIONS: list[Callable[[Tensor, Tensor], Tensor]] = [
    lambda x, c: x * c,
    lambda x, c: c - x,
    lambda x, c: x / c,
    lambda x, c: x.maximum(c),
    lambda x, c: (x > c).where(x, c),
    lambda x, c: Tensor.where(x > 0, c, c * 2),
    lambda x, c: x.lerp(x * 2, c),
    lambda x, c: x.clip(-c, c),
]


@pytest.mark.parametrize("make", NUMBERS)
@pytest.mark.parametrize("axis", [None, 1])
def test_numbers_beside_shards(axis: int | None, make: Callable[[], Tensor]) -> None:
    x = Tensor(X).shard(DEVICES, axis)
    found = [operation(x, make()) for operation in OPERATIONS]
    assert all(value.uop.axis == axis for value in found)
    wanted = [operation(Tensor(X), Tensor(2.0)) for operation in OPERATIONS]
    stacked = Tensor.stack(*found).numpy()
    np.testing.assert_allclose(stacked, Tensor.stack(*wanted).numpy(), rtol=1e-6)


def test_a_constant_costs_no_kernel() -> None:
    x = Tensor(X).shard(DEVICES, 0).realize()
    product = x * Tensor(2.0)
    GlobalCounters.reset()
    product.realize()
    assert GlobalCounters.kernel_count == 2


def test_a_number_on_the_default_device_stands_beside_all() -> None:
    x = Tensor(X, device="CPU:1")
    assert (x * Tensor(2.0)).device == "CPU:1"
    assert (Tensor(2.0) + Tensor(1.0, device="CPU:1")).device == "CPU:1"
    np.testing.assert_array_equal((x > 0).where(Tensor(1.0), Tensor(2.0)).numpy(), 2 - (X > 0))


def test_constants_that_are_computed_stand_beside_shards() -> None:
    x = Tensor(X).shard(DEVICES, 0)
    found = x * Tensor.arange(6) + Tensor.ones(4, 6).tril() - Tensor.eye(4, 6)
    wanted = X * np.arange(6) + np.tril(np.ones((4, 6))) - np.eye(4, 6)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-6)


def test_gradients_of_numbers_beside_shards() -> None:
    x, scale = Tensor(X, requires_grad=True), Tensor(2.0, requires_grad=True)
    (x.shard(DEVICES, 0) * scale).sum().backward()
    np.testing.assert_allclose(scale.grad.item(), X.sum(), rtol=1e-5)
    np.testing.assert_array_equal(x.grad.numpy(), np.full_like(X, 2))


def test_numbers_are_assigned_to_shards() -> None:
    x = Tensor(X).shard(DEVICES, 0).realize()
    x.assign(Tensor(3.0))
    x[1] = Tensor(4.0)
    x *= Tensor([2.0])
    assert x.numpy()[:, 0].tolist() == [6, 8, 6, 6]


def test_numbers_are_assigned_to_shards_while_gradients_are_wanted_elsewhere() -> None:
    """The history of writes is kept then, of these too."""
    other = Tensor(X, requires_grad=True)
    loss = (other * 2).sum()
    x = Tensor(X).shard(DEVICES, 0).realize()
    x.assign(Tensor(3.0))
    x[1] = Tensor(4.0)
    x *= Tensor([2.0])
    assert x.numpy()[:, 0].tolist() == [6, 8, 6, 6]
    assert loss.gradient(other)[0].numpy().tolist() == np.full_like(X, 2).tolist()


def test_numbers_beside_shards_in_captured_steps() -> None:
    scale = Tensor(2.0).contiguous().realize()

    @TinyJit
    def step(x: Tensor, c: Tensor) -> Tensor:
        return (x * c + scale).realize()

    for number in range(4):
        c = Tensor(float(number)).contiguous().realize()
        found = step(Tensor(X).shard(DEVICES, 0).realize(), c)
        np.testing.assert_allclose(found.numpy(), X * number + 2, rtol=1e-6)


@pytest.mark.parametrize(
    "pair",
    [
        lambda: (Tensor(X).shard(DEVICES, 0), Tensor(X)),
        lambda: (Tensor(X).shard(DEVICES, 0), Tensor(X[0])),
        lambda: (Tensor(X).shard(DEVICES, 0), Tensor([1.0], device="CPU:3")),
        lambda: (Tensor(X, device="CPU:1"), Tensor(X)),
    ],
)
def test_other_values_stay_where_they_are(pair: Callable[[], tuple[Tensor, Tensor]]) -> None:
    x, y = pair()
    with pytest.raises(DeviceMismatchError):
        x + y
