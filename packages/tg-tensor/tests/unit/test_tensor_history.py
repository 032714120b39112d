"""Gradients of values that were realized before, of every shape."""

from __future__ import annotations

import gc
from collections.abc import Callable

import numpy as np
import pytest
from tg_tensor import Tensor
from tg_tensor.autograd import history
from tg_tensor.errors import GradientError

CHAINS: list[Callable[[Tensor], list[Tensor]]] = [
    lambda w: [w * w],
    lambda w: [y := (w * 2).relu(), y.softmax(1)],
    lambda w: [y := w.matmul(w.T), y.exp(), y.sum(0)],
    lambda w: [(w * w).reshape(2, 6).T],
    lambda w: [y := w * w, y[1:, ::2]],
    lambda w: [w.contiguous(), w.sum(1, keepdim=True) + w],
    lambda w: [_with_parts(w)],
]


def _with_parts(w: Tensor) -> Tensor:
    x = w * 1
    x[1] = x[0] * x[2]
    x[2, 1:3] = x[1, 0:2] * 3
    return x


def _loss(values: list[Tensor]) -> Tensor:
    return sum(((v * v).sum() for v in values[1:]), (values[0] * 3).sum())  # type: ignore[return-value]


@pytest.mark.parametrize("make", [Tensor, lambda x: Tensor(x).realize()])
@pytest.mark.parametrize("number", range(len(CHAINS)))
def test_realizing_changes_no_gradient(number: int, make: Callable[..., Tensor]) -> None:
    """One after the other, all together, and with what lies between thrown away."""
    data = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")
    want: np.ndarray | None = None  # type: ignore[type-arg]
    for way in ("lazy", "each", "together", "loss"):
        w = make(data).requires_grad_()
        values = CHAINS[number](w)
        if way == "each":
            for value in values:
                value.realize()
        elif way == "together":
            values[-1].realize(*values[:-1])
        loss = _loss(values)
        if way == "loss":
            loss.realize()
        del values
        loss.backward()
        assert w.grad is not None
        got = w.grad.numpy()
        want = got if want is None else want
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_many_values_keep_their_history() -> None:
    """As many as a program holds."""
    w = Tensor([1.0, 2.0]).requires_grad_()
    values = [(w * float(i)).realize() for i in range(200)]
    Tensor.stack(*values).sum().backward()
    assert w.grad is not None
    assert w.grad.tolist() == [19900.0, 19900.0]


def test_history_goes_with_the_values() -> None:
    """A loop holds no more after many rounds than after few."""
    w = Tensor([1.0, 2.0]).realize().requires_grad_()
    total = Tensor([0.0, 0.0]).realize()
    sizes = {}
    for round_ in range(60):
        y = (w * float(round_)).realize()
        z = (y * y).realize()
        total = (total + z.detach()).realize()
        w.assign(w * 0.5).realize()
        if round_ in (10, 59):
            gc.collect()
            sizes[round_] = len(history._graphs)
    assert sizes[59] <= sizes[10]


def test_a_chain_of_totals_lets_go_of_old_steps() -> None:
    """Once the weights are overwritten, nothing asks for the gradient of an old loss."""
    w = Tensor([1.0]).realize().requires_grad_()
    total = Tensor([0.0]).realize()
    gc.collect()
    before = len(history._graphs)
    for _ in range(30):
        loss = (w * w).realize()
        total = (total + loss).realize()
        w.assign(w * 0.5).realize()
    gc.collect()
    assert len(history._graphs) - before <= 2


def test_history_of_overwritten_memory_is_no_history() -> None:
    """What the value was computed from is gone, so there is no gradient, and not a wrong one."""
    w = Tensor([1.0, 2.0]).requires_grad_()
    other = Tensor([3.0, 4.0]).realize()
    y = (w * other).realize()
    other.assign(other + 1).realize()
    with pytest.raises(GradientError, match="overwritten"):
        (y * y).sum().backward()


def test_parts_written_into_memory_pass_their_gradient() -> None:
    """Also once all is in memory; what was there before needs no value."""
    w = Tensor([1.0, 2.0, 3.0]).requires_grad_()
    x = Tensor([7.0, 8.0, 9.0]).realize()
    x[0] = w[1] * 5
    x[1:] = w[:2]
    x.realize()
    (x * x).sum().backward()
    assert w.grad is not None
    assert w.grad.tolist() == [2.0, 104.0, 0.0]


def test_steps_that_were_computed_before_have_gradients_of_zero() -> None:
    x = Tensor([1.2, 2.7]).realize().requires_grad_()
    rounded = x.round().realize()
    assert (rounded * 2).sum().gradient(x)[0].tolist() == [0, 0]
