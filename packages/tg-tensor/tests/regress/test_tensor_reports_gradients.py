"""Gradients, as people reported them: branches not taken, ties, repeats, writes in place."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from tg_tensor import Tensor
from tg_tensor.errors import GradientError

Function = Callable[[Tensor], Tensor]


def slope(function: Function, values: object) -> list:
    """The gradient of the sum of a function."""
    x = Tensor(values, dtype="float32")
    return function(x).sum().gradient(x)[0].tolist()


@pytest.mark.parametrize(
    ("function", "values", "want"),
    [
        (lambda x: (x > 0).where(x.sqrt(), x), [-1.0, -4.0], [1, 1]),
        (lambda x: (x > 2).where(x.log2(), x * 2), [0.0, 2.0, 4.0], [2, 2, 1 / (4 * math.log(2))]),
        (lambda x: (x <= 10).where(x.exp(), 1.0), [0.0, math.nan, 1e10], [1, 0, 0]),
        (lambda x: (x < 1).where(x.cos(), 0.0), [0.0, math.inf], [0, 0]),
        (lambda x: Tensor([False]).where(x / 0, 1.0), [1.0], [0]),
        (lambda x: (x.abs() > 0.5).where(1 / x, 0.0), [0.0, 1.0], [0, -1]),
        (lambda x: (x > 0).where(x.rsqrt(), 0.0), [0.0, 4.0], [0, -1 / 16]),
        (lambda x: (x > 0).where(x.pow(0.5), 0.0), [0.0, 4.0], [0, 0.25]),
        (lambda x: x.clip(1e-3, None).sqrt(), [-1.0, 0.0, 4.0], [0, 0, 0.25]),
        (lambda x: x.maximum(0.25).log(), [-1.0, 0.0, 2.0], [0, 0, 0.5]),
        (lambda x: (x < 5).where((x - 5).abs().log(), 0.0), [4.0, 5.0, 6.0], [-1, 0, 0]),
        (
            lambda x: (x.square() < 1).where((1 - x.square()).sqrt(), 0.0),
            [0.0, 1.0, 2.0],
            [0, 0, 0],
        ),
        (lambda x: (x.abs() < 1).where(x.atanh(), 0.0), [0.0, 1.0, 3.0], [1, 0, 0]),
        (lambda x: (x == 0).where(1.0, x.sin() / x), [0.0, math.pi / 2], [0, -4 / math.pi**2]),
        (lambda x: (x > 80).where(x, x.exp().log1p()), [0.0, 100.0], [0.5, 1]),
        (lambda x: (x > 0).where(x * x.log(), 0.0), [0.0, 1.0], [0, 1]),
        (lambda x: (x > 0).where(3 * x * x.log() * 2, 0.0), [0.0, 1.0], [0, 6]),
        (lambda x: (x < 80).where(x * x.exp(), x), [0.0, 100.0], [1, 1]),
        (lambda x: x.isnan().where(0.0, (x - 1).square()), [math.nan, 3.0], [0, 4]),
        (lambda x: x.isfinite().where(x * x * x, 0.0), [math.inf, 2.0], [0, 12]),
        (lambda x: x.isnan().logical_not().where(x * 2 + x * x, 0.0), [math.nan, 2.0], [0, 6]),
        (lambda x: x.isnan().where(0.0, x).square().sum(), [math.nan, 3.0], [0, 6]),
        (lambda x: x.isnan().where(0.0, x.reshape(2, 1).pow(2).flatten()), [math.nan, 3.0], [0, 6]),
        (lambda x: x.isnan().where(1.0, x.sigmoid() * x.tanh()), [math.nan, 0.0], [0, 0.5]),
        (lambda x: x.masked_fill(x.isnan(), 0.0).abs(), [math.nan, -3.0], [0, -1]),
    ],
)
def test_branches_not_taken_leave_no_nan(
    function: Function, values: list[float], want: list[float]
) -> None:
    """The gradient is that of the branch that was taken."""
    assert np.allclose(slope(function, values), want, atol=1e-5)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.norm(),
        lambda x: x.norm(dim=0),
        lambda x: x.normalize(dim=0),
        lambda x: x.std(),
        lambda x: x.std(correction=0),
        lambda x: x.norm(p=3),
        lambda x: x.abs(),
        lambda x: x.var(),
        lambda x: x.layernorm(0),
        lambda x: x.softmax(0),
        lambda x: x.prod(),
        lambda x: x.cumprod(0),
        lambda x: x.pow(2),
        lambda x: x.pow(1.5),
        lambda x: x * x.sigmoid(),
        lambda x: x.logsumexp(0),
        lambda x: x.logcumsumexp(0),
        lambda x: x.cosine_similarity(x * 2, dim=0),
    ],
)
def test_gradients_at_zero_are_numbers(function: Function) -> None:
    """Norms, deviations, products and powers of nothing but zeros."""
    assert np.isfinite(slope(function, [0.0, 0.0, 0.0])).all()


@pytest.mark.parametrize(
    ("function", "values", "want"),
    [
        (lambda x: x.max(), [2.0, 5.0, 5.0, 5.0], [0, 1 / 3, 1 / 3, 1 / 3]),
        (lambda x: x.min(), [2.0, 2.0, 5.0], [0.5, 0.5, 0]),
        (lambda x: x.maximum(x), [1.0, 2.0], [1, 1]),
        (lambda x: x.maximum(2.0), [1.0, 2.0, 3.0], [0, 0.5, 1]),
        (lambda x: x.minimum(Tensor([2.0])), [1.0, 2.0, 3.0], [1, 0.5, 0]),
        (lambda x: x.relu(), [-1.0, 0.0, 2.0], [0, 0, 1]),
        (lambda x: x.abs(), [-2.0, 0.0, 2.0], [-1, 0, 1]),
        (lambda x: x.max(0), [[1.0, 4.0], [1.0, 3.0]], [[0.5, 1], [0.5, 0]]),
        (lambda x: x.clip(0, 1), [-1.0, 0.5, 2.0], [0, 1, 0]),
        (lambda x: x.prod(), [0.0, 3.0, 4.0], [12, 0, 0]),
        (lambda x: x.prod(), [0.0, 0.0, 4.0], [0, 0, 0]),
        (lambda x: x.cumprod(0), [0.0, 3.0, 4.0], [16, 0, 0]),
        (lambda x: x.cumprod(0), [2.0, 0.0, 4.0], [1, 10, 0]),
        (lambda x: x.cummax(0)[0], [3.0, 1.0, 5.0, 2.0], [2, 0, 2, 0]),
        (lambda x: x.sort()[0] * Tensor([1.0, 2, 3]), [3.0, 1.0, 2.0], [3, 1, 2]),
        (lambda x: x.topk(2)[0] * Tensor([1.0, 10]), [3.0, 1.0, 5.0], [10, 0, 1]),
        (lambda x: x.pow(3), [0.0, -2.0], [0, 12]),
        (lambda x: x.pow(0), [0.0, 2.0], [0, 0]),
        (lambda x: x.pow(1), [0.0, 2.0], [1, 1]),
        (lambda x: Tensor([0.0, 2.0]).pow(x), [2.0, 3.0], [0, 8 * math.log(2)]),
        (lambda x: x.sign() + x.floor() + x.round(), [0.5, -1.5], [0, 0]),
        (lambda x: x % 2.0, [3.0, -1.0], [1, 1]),
        (lambda x: Tensor([7.0]) % x, [2.0], [-3]),
        (lambda x: x.sigmoid(), [-200.0, 0.0, 200.0], [0, 0.25, 0]),
        (lambda x: x.logsigmoid(), [-200.0, 0.0, 200.0], [1, 0.5, 0]),
        (lambda x: x.softplus(), [-200.0, 0.0, 200.0], [0, 0.5, 1]),
        (lambda x: x.tanh(), [-50.0, 0.0, 50.0], [0, 1, 0]),
        (lambda x: x.logaddexp(Tensor([0.0])), [0.0, 500.0, -500.0], [0.5, 1, 0]),
    ],
)
def test_ties_zeros_and_ends_of_ranges(function: Function, values: list, want: list) -> None:
    """Equal inputs share; zeros in products, kinks and saturated ends have the known slopes."""
    assert np.allclose(slope(function, values), want, atol=1e-5)


@pytest.mark.parametrize(
    ("function", "want"),
    [
        (lambda x: x[Tensor([1, 1, 2, 1])], [0, 3, 1, 0]),
        (lambda x: x[[0, 0, 3]], [2, 0, 0, 1]),
        (lambda x: x.gather(0, Tensor([3, 3, 3, 0])), [1, 0, 0, 3]),
        (lambda x: x[Tensor([True, False, True, False])], [1, 0, 1, 0]),
        (lambda x: x[1:3].cat(x[2:]), [0, 1, 2, 1]),
        (lambda x: x[::-1][:2] * Tensor([2.0, 3]), [0, 0, 3, 2]),
        (lambda x: x.expand(5, 4), [5, 5, 5, 5]),
        (lambda x: x.repeat(3), [3, 3, 3, 3]),
        (lambda x: x.pad((1, 2)), [1, 1, 1, 1]),
        (lambda x: x.pad((1, 2), mode="reflect"), [1, 3, 2, 1]),
        (lambda x: x.pad((2, 1), mode="replicate"), [3, 1, 1, 2]),
        (lambda x: x.shrink(((1, 3),)), [0, 1, 1, 0]),
        (lambda x: x.roll(1) * Tensor([1.0, 2, 3, 4]), [2, 3, 4, 1]),
        (lambda x: x.unfold(0, 2, 1), [1, 2, 2, 1]),
        (lambda x: x.cumsum(0), [4, 3, 2, 1]),
        (lambda x: x.diff(), [-1, 0, 0, 1]),
        (lambda x: Tensor.zeros(4).scatter(0, Tensor([2, 2, 1, 0]), x), [0, 1, 1, 1]),
        (lambda x: Tensor.zeros(4).scatter_reduce(0, Tensor([2, 2, 1, 0]), x, "sum"), [1, 1, 1, 1]),
        (lambda x: x.stack(x, x).sum(0), [3, 3, 3, 3]),
        (lambda x: (x > 1).where(x, 0), [0, 0, 1, 1]),
        (lambda x: x.masked_fill(x > 1, 0.0), [1, 1, 0, 0]),
        (lambda x: x + x.detach(), [1, 1, 1, 1]),
        (lambda x: x * x.detach(), [0, 1, 2, 3]),
        (lambda x: x.cast("float16").cast("float32") * 2, [2, 2, 2, 2]),
        (lambda x: x.reshape(2, 2).T.flatten() * Tensor([1.0, 2, 3, 4]), [1, 3, 2, 4]),
    ],
)
def test_elements_read_more_than_once_add_up(function: Function, want: list[float]) -> None:
    """Repeats in indices, windows and copies; elements that are not read get 0."""
    assert np.allclose(slope(function, [0.0, 1.0, 2.0, 3.0]), want)


def test_a_result_that_is_overwritten_in_part() -> None:
    """y = sigmoid(x); y[1] = 2: the written element no longer depends on x."""
    x = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x.sigmoid()
    y[1] = 2
    y.sum().backward()
    s = 1 / (1 + np.exp(-np.array([1.0, 2.0, 3.0])))
    want = s * (1 - s)
    want[1] = 0
    assert np.allclose(x.grad.numpy(), want, atol=1e-6)


def test_a_value_written_into_part_of_memory_is_differentiated() -> None:
    """The gradient reaches what was written, not what was there."""
    base = Tensor.zeros(3).contiguous().realize()
    x = Tensor([2.0, 5.0], requires_grad=True)
    base[1:] = x * x
    (base * Tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [40.0, 1000.0]


def test_gradients_add_up_over_calls_until_they_are_dropped() -> None:
    """backward() twice doubles; None starts anew."""
    x = Tensor([1.0, 2.0], requires_grad=True)
    for _ in range(2):
        (x * 3).sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]
    x.grad = None
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_one_value_by_two_ways() -> None:
    """A diamond: both ways count, also where one is a constant of the other's value."""
    x = Tensor([3.0])
    y = x * x
    assert (y * y + y).sum().gradient(x)[0].tolist() == [4 * 27.0 + 6]
    assert (x * 3.0 + Tensor([3.0]) * 3.0).sum().gradient(x)[0].tolist() == [3.0]
    same, other = Tensor([3.0]), Tensor([3.0])
    got = (same * 2 + other * 5).sum().gradient(same, other)
    assert [g.tolist() for g in got] == [[2.0], [5.0]]


def test_equal_constants_are_different_targets() -> None:
    """Two zeros, two fulls and two empties made alike are not one."""
    a, b = Tensor.zeros(2), Tensor.zeros(2)
    got = (a * 2 + b * 3).sum().gradient(a, b)
    assert [g.tolist() for g in got] == [[2, 2], [3, 3]]
    a, b = Tensor.full((2,), 5.0), Tensor.full((2,), 5.0)
    got = (a * b).sum().gradient(a)
    assert got[0].tolist() == [5, 5]


@pytest.mark.parametrize("name", ["sort", "cummax", "topk", "max", "relu", "abs", "cumprod"])
def test_second_derivatives_of_picks(name: str) -> None:
    """The gradient of a square of picked values, differentiated again, is 2 where it was picked."""
    x = Tensor([3.0, 1.0, 2.0, 5.0])
    match name:
        case "sort" | "cummax":
            y = getattr(x, name)(0)[0]
        case "topk":
            y = x.topk(2)[0]
        case "max":
            y = x.max()
        case "cumprod":
            y = x.cumprod(0)[:1]
        case _:
            y = getattr(x, name)()
    first = y.square().sum().gradient(x)[0]
    second = first.sum().gradient(x)[0].numpy()
    want = {"sort": [2] * 4, "cummax": [6, 0, 0, 2], "topk": [2, 0, 0, 2], "max": [0, 0, 0, 2]}
    assert np.allclose(second, want.get(name, [2, 0, 0, 0] if name == "cumprod" else [2] * 4))


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_derivatives_of_any_order(order: int) -> None:
    """Repeated differentiation of sin and of exp of a square."""
    x = Tensor([0.3])
    y, z = x.sin(), (x * x).exp()
    for _ in range(order):
        y, z = y.sum().gradient(x)[0], z.sum().gradient(x)[0]
    want = [math.sin, math.cos, lambda v: -math.sin(v), lambda v: -math.cos(v)][order % 4](0.3)
    e = math.exp(0.09)
    powers = [0, 0.6, 2 + 4 * 0.09, 12 * 0.3 + 8 * 0.027, 12 + 48 * 0.09 + 16 * 0.0081]
    assert np.allclose(y.item(), want, atol=1e-5)
    assert np.allclose(z.item(), powers[order] * e, rtol=1e-4)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x.detach().sum(),
        lambda x: (x > 0).sum(),
        lambda x: x.argmax(),
        lambda x: x.cast("int32").sum(),
        lambda x: Tensor([1.0]).sum(),
    ],
)
def test_values_that_do_not_depend_are_refused(make: Function) -> None:
    """A gradient through what cuts it: an error that says what to do."""
    x = Tensor([1.0, 2.0])
    value = make(x)
    with pytest.raises((GradientError, ValueError), match=r"depend|float"):
        value.gradient(x)


def test_gradients_have_the_dtype_and_shape_of_their_tensors() -> None:
    """Half stays half, broadcasting is undone, a 0-d stays 0-d."""
    half = Tensor([1.0, 2.0], dtype="float16", requires_grad=True)
    row = Tensor([[1.0, 2.0]], requires_grad=True)
    number = Tensor(2.0, requires_grad=True)
    (half * row.expand(3, 2) * number).sum().backward()
    assert half.grad.dtype == half.dtype
    assert (half.grad.shape, row.grad.shape, number.grad.shape) == ((2,), (1, 2), ())
    assert half.grad.tolist() == [6.0, 12.0]
    assert row.grad.tolist() == [[6.0, 12.0]]
    assert number.grad.item() == 15.0


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("name", ["sum", "mean", "max", "prod", "logsumexp", "var", "std"])
def test_slopes_of_reductions_match_differences(name: str, keepdim: bool, axis: int | None) -> None:
    """Against central differences in float64."""
    data = np.random.default_rng(3).normal(size=(3, 4))
    weights = np.random.default_rng(4).normal(size=(3, 4))

    def loss(values: np.ndarray) -> Tensor:
        x = Tensor(values)
        kept = getattr(x, name)(axis, keepdim=keepdim)
        if not keepdim and axis is not None:
            kept = kept.unsqueeze(axis)
        return (kept * Tensor(weights)).sum(), x

    total, x = loss(data)
    got = total.gradient(x)[0].numpy()
    step = 1e-6
    for i, j in ((0, 0), (1, 2), (2, 3)):
        high, low = data.copy(), data.copy()
        high[i, j] += step
        low[i, j] -= step
        want = (loss(high)[0].item() - loss(low)[0].item()) / (2 * step)
        assert math.isclose(got[i, j], want, rel_tol=1e-5, abs_tol=1e-7)


def test_no_elements_have_gradients_of_no_elements() -> None:
    """Sums, means and products of nothing."""
    x = Tensor.zeros(0, 3)
    assert x.sum().gradient(x)[0].shape == (0, 3)
    assert x.cat(Tensor.ones(2, 3)).square().sum().gradient(x)[0].shape == (0, 3)


def test_long_chains_are_differentiated() -> None:
    """Thousands of steps at the default recursion limit."""
    x = Tensor([1.0])
    y = x
    for _ in range(3000):
        y = y + 0.001
    assert y.sum().gradient(x)[0].tolist() == [1.0]


def test_a_factor_that_was_read_still_leads_to_its_matrix() -> None:
    matrix = Tensor([[4.0, 0.5], [0.5, 3.0]], dtype="float64", requires_grad=True)
    read, unread = matrix.cholesky(), matrix.cholesky()
    read.numpy()
    (wanted,) = unread.sum().gradient(matrix)
    (found,) = read.sum().gradient(matrix)
    np.testing.assert_allclose(found.numpy(), wanted.numpy())
