"""Captured steps over several devices: fresh inputs, state that is written, variables, pickles."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tg_tensor import Tensor, TinyJit, Variable

D = ("CPU:0", "CPU:1", "CPU:2")
A = np.random.default_rng(5).standard_normal((6, 4)).astype(np.float32)
AXES = [None, 0, 1]


@pytest.mark.parametrize("axis", AXES)
def test_fresh_arguments_and_results(axis: int | None) -> None:
    @TinyJit
    def step(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return (x * y.sum(0)).realize(), x.max().realize()

    kept = []
    for i in range(5):
        x, y = (Tensor(A + i).shard(D, axis).realize(), Tensor(A * i).shard(D, 0).realize())
        kept.append(step(x, y))
    for i, (product, largest) in enumerate(kept):
        np.testing.assert_allclose(product.numpy(), (A + i) * (A * i).sum(0), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(largest.item(), (A + i).max(), rtol=1e-6)
    assert product.device == ("CPU", *D[1:])


@pytest.mark.parametrize("axis", AXES)
def test_state_is_written_in_place(axis: int | None) -> None:
    state = Tensor.zeros(6, 4).contiguous().shard(D, axis).realize()

    @TinyJit
    def step(x: Tensor) -> Tensor:
        state.assign(state * 0.5 + x)
        state[1:5, 1:3] = state[1:5, 1:3] + 1
        return state.sum().realize()

    wanted = np.zeros((6, 4), np.float32)
    for i in range(5):
        reader = state + 1
        before = wanted.copy()
        found = step(Tensor(A * i).shard(D, axis).realize())
        wanted = wanted * 0.5 + A * i
        wanted[1:5, 1:3] += 1
        np.testing.assert_allclose(found.item(), wanted.sum(), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(state.numpy(), wanted, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(reader.numpy(), before + 1, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("axis", [None, 0, 2])
def test_a_growing_cache(axis: int | None) -> None:
    cache = Tensor.zeros(3, 8, 4).contiguous().shard(D, axis).realize()
    position = Variable("position", 0, 7)

    @TinyJit
    def step(x: Tensor, at: Variable) -> Tensor:
        cache[:, at : at + 1].assign(x).realize()  # type: ignore[misc]
        return cache[:, : at + 1].sum(1).realize()  # type: ignore[operator]

    for i in range(6):
        x = Tensor(np.full((3, 1, 4), i + 1.0, np.float32)).shard(D, axis).realize()
        total = step(x, position.bind(i))  # type: ignore[arg-type]
        np.testing.assert_allclose(total.numpy(), np.full((3, 4), (i + 1) * (i + 2) / 2))


def test_other_ways_of_sharding_are_captured_anew() -> None:
    @TinyJit
    def step(x: Tensor) -> Tensor:
        return (x * 2 + x.sum(1, keepdim=True)).realize()

    for _ in range(3):
        for axis in AXES:
            for names in (D, D[:2]):
                found = step(Tensor(A).shard(names, axis).realize())
                wanted = A * 2 + A.sum(1, keepdims=True)
                np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-5)


def test_random_numbers_go_on() -> None:
    def draw(model: Tensor) -> Tensor:
        return (model.rand_like() + model * 0).realize()

    def drawn(jit: bool) -> list[float]:
        Tensor.manual_seed(11)
        step = TinyJit(draw) if jit else draw
        model = Tensor(A).shard(D, 0).realize()
        return [step(model).sum().item() for _ in range(4)]  # type: ignore[misc]

    assert drawn(True) == drawn(False)
    assert len(set(drawn(True))) == 4


def test_a_pickled_step() -> None:
    @TinyJit
    def step(x: Tensor) -> Tensor:
        return (x * 2 + x.sum(0)).realize()

    for i in range(3):
        step(Tensor(A + i).shard(D, 0).realize())
    restored = pickle.loads(pickle.dumps(step))
    found = restored(Tensor(A + 7).shard(D, 0).realize())
    np.testing.assert_allclose(found.numpy(), (A + 7) * 2 + (A + 7).sum(0), rtol=1e-4, atol=1e-4)
