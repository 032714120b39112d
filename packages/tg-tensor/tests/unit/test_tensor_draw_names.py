"""Further distributions and initial weights: their moments and bounds, seeds, mistakes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from tg_tensor import Tensor, dtypes
from tg_tensor.errors import ArgumentError


def test_distributions() -> None:
    Tensor.manual_seed(3)
    drawn = Tensor.full((4000,), 0.3).bernoulli()
    assert set(np.unique(drawn.numpy())) == {0.0, 1.0}
    assert abs(drawn.mean().item() - 0.3) < 0.05
    whole = Tensor.ones(4000, dtype=dtypes.int32).bernoulli(0.25)
    assert whole.dtype is dtypes.int32
    assert abs(whole.numpy().mean() - 0.25) < 0.05
    waits = Tensor.exponential(4000, lambd=2.0).numpy()
    assert waits.min() >= 0
    assert abs(waits.mean() - 0.5) < 0.05
    cut = Tensor.trunc_normal(4000, mean=0.2, std=0.5, a=-0.5, b=1.0).numpy()
    assert cut.min() >= -0.5
    assert cut.max() <= 1.0
    assert abs(cut.mean() - 0.22) < 0.05
    assert Tensor.trunc_normal(3, dtype=dtypes.float16).dtype is dtypes.float16
    numbers = Tensor.zeros(1000, dtype=dtypes.int64).randint_like(3, 5)
    assert numbers.dtype is dtypes.int64
    assert set(np.unique(numbers.numpy())) == {3, 4}


def test_initial_weights() -> None:
    Tensor.manual_seed(5)
    shape = (64, 32, 3, 3)
    wanted = math.sqrt(2 / (9 * 96))
    for draw in (Tensor.xavier_normal, Tensor.xavier_uniform, Tensor.glorot_normal):
        assert abs(draw(*shape).numpy().std() / wanted - 1) < 0.05
    assert abs(Tensor.xavier_normal(*shape, gain=3.0).numpy().std() / wanted / 3 - 1) < 0.05
    for shape in ((4, 6), (6, 4), (5, 5), (4, 2, 3)):
        q = Tensor.orthogonal(*shape, gain=2.0).numpy().reshape(shape[0], -1)
        square = q @ q.T if q.shape[0] <= q.shape[1] else q.T @ q
        np.testing.assert_allclose(square, 4 * np.eye(len(square)), atol=1e-4)


def test_the_same_seed_gives_the_same_numbers() -> None:
    def drawn() -> list[object]:
        Tensor.manual_seed(11)
        values = (Tensor.exponential(3), Tensor.trunc_normal(3), Tensor.full((3,), 0.5).bernoulli())
        return [value.tolist() for value in values]

    assert drawn() == drawn()


def test_unit_interval_of_every_float() -> None:
    floats = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
    for dtype in floats:
        drawn = Tensor.rand(20000, dtype=dtype).cast(dtypes.float64).numpy()
        assert drawn.min() >= 0
        assert drawn.max() < 1


@pytest.mark.parametrize("rate", [0.0, 0.3, 9.9, 10.0, 250.0])
def test_poisson_numbers_follow_their_law(rate: float) -> None:
    """The largest distance of the sums of probabilities from what was drawn (Kolmogorov)."""
    Tensor.manual_seed(11)
    drawn = Tensor.full((4000,), rate).poisson().numpy()
    most = int(rate + 12 * math.sqrt(rate) + 3)
    law = [0.0 if rate else float(k == 0) for k in range(most)]
    if rate:
        law = [math.exp(k * math.log(rate) - rate - math.lgamma(k + 1)) for k in range(most)]
    found = np.bincount(drawn.astype(int), minlength=most)[:most] / drawn.size
    assert np.abs(np.cumsum(found) - np.cumsum(law)).max() < 1.7 / math.sqrt(drawn.size)


def test_poisson_of_rates_that_are_none() -> None:
    drawn = Tensor([-1.0, math.nan, 2.0], dtype=dtypes.float16).poisson()
    assert drawn.dtype is dtypes.float16
    assert np.isnan(drawn.numpy()).tolist() == [True, True, False]


def test_whole_numbers_in_place() -> None:
    """random_(to), random_(from, to), random_() of several dtypes."""
    a = Tensor.zeros(1000, dtype=dtypes.int16).contiguous()
    assert set(a.random_(3).tolist()) == {0, 1, 2}
    assert set(a.random_(-1, 2).tolist()) == {-1, 0, 1}
    assert a.random_().max().item() > 30000
    assert a.min().item() >= 0
    b = Tensor.zeros(1000).contiguous().random_()
    assert 2**23 < b.max().item() <= 2**24
    c = Tensor.zeros(1000, dtype=dtypes.int64).contiguous().random_()
    assert c.max().item() > 2**60


def test_writes_in_place() -> None:
    a = Tensor.arange(6).float().contiguous().realize()
    assert a.add_(1, alpha=2).sub_(2).mul_(2).clamp_(max=9).tolist() == [0, 2, 4, 6, 8, 9]
    assert a.div_(2).pow_(2).tolist() == [0, 1, 4, 9, 16, 20.25]
    assert a.sqrt_().neg_().abs_().relu_().tolist() == [0, 1, 2, 3, 4, 4.5]
    assert a.zero_().exp_().tolist() == [1.0] * 6
    assert a.fill_(3).copy_(Tensor([7])).tolist() == [7.0] * 6
    assert a.lerp_(Tensor(9.0), 0.5).tolist() == [8.0] * 6
    assert a.addcmul_(a, a, value=0.5).addcdiv_(a, a).tolist() == [41.0] * 6
    mask = Tensor([True, False] * 3)
    assert a.masked_fill_(mask, 0).tolist() == [0, 41, 0, 41, 0, 41]
    source = Tensor([1.0, 2, 3, 4, 5, 6])
    assert a.masked_scatter_(mask, source).tolist() == [1, 41, 2, 41, 3, 41]
    index = Tensor([0, 0])
    assert a.index_add_(0, index, Tensor([1.0, 1])).tolist()[0] == 3
    assert a.index_copy_(0, index, Tensor([5.0, 6])).tolist()[0] == 6
    assert a.index_fill_(0, index, 9).tolist()[0] == 9
    assert a.put_(index, Tensor([1.0, 2])).tolist()[0] == 2
    assert a.scatter_(0, index, 7).tolist()[0] == 7
    assert a.scatter_add_(0, index, Tensor([1.0, 2])).tolist()[0] == 10
    for draw in (Tensor.uniform_, Tensor.normal_, Tensor.bernoulli_, Tensor.exponential_):
        before = a.numpy()
        assert not np.array_equal(draw(a).numpy(), before)


MISTAKES: dict[str, tuple[type[Exception], Callable[[], object]]] = {
    "p above 1": (ArgumentError, lambda: Tensor([1.0]).bernoulli(1.5)),
    "whole probabilities": (ArgumentError, lambda: Tensor([1]).bernoulli()),
    "no events": (ArgumentError, lambda: Tensor.exponential(3, lambd=0)),
    "bounds in reverse": (ArgumentError, lambda: Tensor.trunc_normal(3, a=1, b=-1)),
    "whole rates": (ArgumentError, lambda: Tensor([1]).poisson()),
    "sure success": (ArgumentError, lambda: Tensor.zeros(3).geometric_(1.0)),
    "fans of a vector": (ArgumentError, lambda: Tensor.xavier_uniform(3)),
    "half an element": (ArgumentError, lambda: Tensor.rand((2.5,))),
    "fewer than none": (ArgumentError, lambda: Tensor.rand(-1)),
    "nothing between": (ArgumentError, lambda: Tensor.randint(3, low=5, high=5)),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    error, mistake = MISTAKES[name]
    with pytest.raises(error):
        mistake()
