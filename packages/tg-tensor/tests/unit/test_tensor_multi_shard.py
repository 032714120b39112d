"""Sharded values on four CPU devices: operations, reductions, writes, gradients, JIT."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from tg_tensor import Context, Tensor, TinyJit
from tg_uop.errors import ShapeError

Array = npt.NDArray[np.float32]
DEVICES = ("CPU:0", "CPU:1", "CPU:2", "CPU:3")
rng = np.random.default_rng(2)
A = rng.standard_normal((8, 6)).astype(np.float32)
B = rng.standard_normal((6, 5)).astype(np.float32)


@pytest.mark.parametrize("axis", [None, 0])
@pytest.mark.parametrize(
    "operation",
    [
        lambda x: x + 1,
        lambda x: x * x.sum(0),
        lambda x: x - x.max(1, keepdim=True),
        lambda x: x.sum(),
        lambda x: x.permute(1, 0).contiguous(),
        lambda x: x.reshape(4, 2, 6).permute(2, 0, 1) + 0,
        lambda x: x.reshape(2, 24) + 0,
        lambda x: x.pad(((0, 0), (1, 2))),
        lambda x: x.pad(((2, 0), (0, 0))),
        lambda x: x[1:6, 2:] + 1,
        lambda x: x.flip(0) * 2,
        lambda x: x.softmax(0),
        lambda x: (x > 0).where(x, 0.5),
    ],
)
def test_operations(operation: Callable[[Tensor], Tensor], axis: int | None) -> None:
    expected = operation(Tensor(A)).numpy()
    found = operation(Tensor(A).shard(DEVICES, axis))
    assert found.device == tuple(d.replace("CPU:0", "CPU") for d in DEVICES)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-6)


def test_products_of_shards_and_copies() -> None:
    x, w = Tensor(A).shard(DEVICES, 0), Tensor(B).shard(DEVICES)
    np.testing.assert_allclose((x @ w).numpy(), A @ B, rtol=1e-4, atol=1e-5)


def test_uneven_parts() -> None:
    a = rng.standard_normal((7, 3)).astype(np.float32)
    x = Tensor(a).shard(DEVICES[:3], 0)
    np.testing.assert_allclose((x * 2 - x.mean(0)).numpy(), a * 2 - a.mean(0), rtol=1e-4, atol=1e-5)


def test_too_few_elements_for_the_devices() -> None:
    with pytest.raises(ShapeError, match="not enough"):
        Tensor(A[:2]).shard(DEVICES, 0)


@pytest.mark.parametrize("ring", [0, 2])
def test_allreduce(ring: int) -> None:
    with Context(RING=ring):
        x = Tensor(A).shard(DEVICES, 0)
        np.testing.assert_allclose(x.sum(0).numpy(), A.sum(0), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(x.max(0).numpy(), A.max(0), rtol=1e-6)


def test_gathering_keeps_every_bit() -> None:
    a = np.array([-0.0, 0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.0], np.float32)
    found = Tensor(a).shard(DEVICES, 0).to("CPU").numpy()
    np.testing.assert_array_equal(found.view(np.uint32), a.view(np.uint32))


def test_writes() -> None:
    x = Tensor(A).shard(DEVICES, 0).realize()
    x.assign(x * 2 + 1).realize()
    np.testing.assert_allclose(x.numpy(), A * 2 + 1, rtol=1e-6)


def test_gradients() -> None:
    w = Tensor(B).shard(DEVICES).realize()
    w.requires_grad_()
    x = Tensor(A).shard(DEVICES, 0)
    (x @ w).square().sum().backward()
    assert w.grad is not None
    np.testing.assert_allclose(w.grad.numpy(), A.T @ (2 * (A @ B)), rtol=1e-3, atol=1e-4)


def test_jit() -> None:
    @TinyJit
    def f(x: Tensor) -> Tensor:
        return x * 2 + x.sum(0)

    for i in range(4):
        found = f(Tensor(A + i).shard(DEVICES, 0).realize())
        expected = (A + i) * 2 + (A + i).sum(0)
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4, atol=1e-4)
