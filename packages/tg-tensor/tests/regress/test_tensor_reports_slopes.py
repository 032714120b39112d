"""Derivatives at edges, as people reported them: NaN, infinities, ends of domains, far tails."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from tg_tensor import Tensor, dtypes, function

INF, NAN = math.inf, math.nan

FROM_NAN = [
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "digamma", "erf", "erfc",
    "erfinv", "exp", "expm1", "i0", "lgamma", "log", "log1p", "logit", "logsigmoid", "mish",
    "rsqrt", "sigmoid", "silu", "sin", "sinc", "sinh", "softplus", "softsign", "sqrt", "tan",
    "tanh", "gelu",
]  # fmt: skip

AT_EDGES: list[tuple[str, float, float]] = [
    ("asin", 1, INF), ("asin", -1, INF), ("acos", 1, -INF), ("atanh", 1, INF), ("atanh", -1, INF),
    ("acosh", 1, INF), ("atan", INF, 0), ("asinh", -INF, 0), ("cos", 0, 0), ("cosh", 0, 0),
    ("cosh", 1e-30, 1e-30), ("tanh", INF, 0), ("tanh", -INF, 0), ("erf", INF, 0),
    ("erfc", 0, -2 / math.sqrt(math.pi)),
    ("erfinv", 1, INF), ("erfinv", 1.5, NAN), ("erfinv", 0, math.sqrt(math.pi) / 2),
    ("logit", 0, INF), ("logit", 1, INF), ("logit", 2, NAN), ("logit", -0.5, NAN),
    ("logit", 0.5, 4),
    ("lgamma", 0, -INF), ("lgamma", -1, NAN), ("lgamma", INF, INF), ("lgamma", 1, -0.5772156649),
    ("digamma", 1, math.pi**2 / 6), ("digamma", 0.5, math.pi**2 / 2), ("i0", 0, 0),
    ("sigmoid", -60, math.exp(-60)), ("sigmoid", -80, math.exp(-80)),
    ("silu", -80, -79 * math.exp(-80)),
    ("logsigmoid", -INF, 1), ("softplus", -INF, 0), ("softplus", INF, 1), ("sinc", 0, 0),
    ("sinc", 1e-3, -math.pi**2 / 3 * 1e-3), ("relu", NAN, 1), ("relu", 0, 0), ("mish", 3e38, 1),
]  # fmt: skip


def slope(function: Callable[[Tensor], Tensor], at: float, dtype: object = dtypes.float32) -> float:
    """The derivative at one value."""
    x = Tensor([at], dtype=dtype).requires_grad_()  # type: ignore[arg-type]
    return float(function(x).sum().gradient(x)[0].item())


def same(got: float, want: float) -> bool:
    return bool(np.isclose(got, want, rtol=2e-5, atol=0, equal_nan=True))


@pytest.mark.parametrize("name", FROM_NAN)
def test_nan_is_passed_on_by_gradients(name: str) -> None:
    """The gradient at NaN is NaN, not 0 or 1 by the branch that a comparison with NaN leaves."""
    assert math.isnan(slope(lambda x: getattr(x, name)(), NAN))


@pytest.mark.parametrize(("name", "at", "want"), AT_EDGES)
def test_derivatives_at_the_ends_of_domains(name: str, at: float, want: float) -> None:
    """Infinite where the curve is upright, NaN outside, tails that do not vanish too soon."""
    assert same(slope(lambda x: getattr(x, name)(), at), want)


@pytest.mark.parametrize("exponent", [-1, -2, -3, -4])
def test_negative_powers_at_zero(exponent: int) -> None:
    """x ** -2 by way of 1 / (x * x) has the slope infinity, not infinity times 0."""
    assert slope(lambda x: x**exponent, 0.0) == -INF
    assert same(slope(lambda x: x**exponent, 2.0), exponent * 2.0 ** (exponent - 1))


def test_a_maximum_with_nan_passes_the_gradient_on() -> None:
    """Both operands get it, as neither is less; equal ones share it."""
    x, y = (Tensor([NAN, 1.0, 2.0]).requires_grad_(), Tensor([1.0, NAN, 2.0]).requires_grad_())
    found = [g.tolist() for g in x.maximum(y).sum().gradient(x, y)]
    assert found == [[1.0, 1.0, 0.5], [1.0, 1.0, 0.5]]


def test_logaddexp_of_equal_infinities_and_nan() -> None:
    """Shares of one half for equal values, NaN for NaN, and both shapes of operands."""
    x = Tensor([INF, -INF, 0.0, NAN]).requires_grad_()
    y = Tensor([[INF, -INF, 0.0, 0.0]]).requires_grad_()
    found = [g.flatten().tolist() for g in x.logaddexp(y).sum().gradient(x, y)]
    assert found[0][:3] == found[1][:3] == [0.5, 0.5, 0.5]
    assert all(math.isnan(of_one[3]) for of_one in found)


@pytest.mark.parametrize("name", ["asin", "tanh", "lgamma", "erfinv", "cosh", "softplus", "atanh"])
def test_second_derivatives_by_differences(name: str) -> None:
    """The formula of a derivative is differentiated again."""

    def first(x: Tensor) -> Tensor:
        return getattr(x, name)().sum().gradient(x)[0]

    at, step = np.array([0.3, 0.7]), 1e-5
    x = Tensor(at).requires_grad_()
    got = first(x).sum().gradient(x)[0].numpy()
    ends = [first(Tensor(at + s).requires_grad_()).numpy() for s in (step, -step)]
    assert np.allclose(got, (ends[0] - ends[1]) / (2 * step), rtol=1e-6)


def test_noted_derivatives_survive_what_rebuilds_graphs() -> None:
    """Computed early, in a traced function, and of half precision: inf at the end of asin."""
    x = Tensor([1.0, NAN]).requires_grad_()
    y = (x * 1.0).asin()
    y.realize()
    early = y.sum().gradient(x)[0].tolist()
    traced = function(lambda t: t.asin())
    late = traced(x).sum().gradient(x)[0].tolist()
    half = x.half().asin().sum().gradient(x)[0].tolist()
    for found in (early, late, half):
        assert found[0] == INF
        assert math.isnan(found[1])


def test_a_branch_not_taken_sends_nothing() -> None:
    """Infinite slopes behind a condition count as 0."""
    x = Tensor([1.0, 0.0]).requires_grad_()
    for name in ("asin", "atanh", "acos"):
        picked = (x < 1).where(getattr(x, name)(), 0)
        assert all(math.isfinite(v) for v in picked.sum().gradient(x)[0].tolist())


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_remainders_of_any_quotient(kind: type) -> None:
    """fmod(1e30, 7) is exact, with the sign of zero; also for subnormal numbers and infinities."""
    rng = np.random.default_rng(3)
    bits = {np.float32: np.uint32, np.float64: np.uint64}[kind]
    a, b = (rng.integers(0, np.iinfo(bits).max, 512, dtype=bits).view(kind) for _ in range(2))
    a[:8] = [1e30, -3.0, -0.0, INF, 5.0, 1e-40, -1e30, 2.0]
    b[:8] = [7.0, 3.0, 3.0, 2.0, INF, 3e-41, 7.0, 0.0]
    with np.errstate(all="ignore"):
        left, floored = np.fmod(a, b), np.mod(a, b)
    got = Tensor(a).fmod(Tensor(b)).numpy()
    assert np.array_equal(got, left, equal_nan=True)
    numbers = ~np.isnan(left)
    assert np.array_equal(np.signbit(got[numbers]), np.signbit(left[numbers]))
    assert np.array_equal((Tensor(a) % Tensor(b)).numpy(), floored, equal_nan=True)


def test_remainders_have_the_gradients_of_their_formula() -> None:
    """1 to the dividend, minus the whole quotient to the divisor."""
    x = Tensor([7.5, -7.5, 5.0, 3.0]).requires_grad_()
    y = Tensor([2.0, 2.0, -3.0, INF]).requires_grad_()
    found = [g.tolist() for g in x.fmod(y).sum().gradient(x, y)]
    assert found == [[1.0] * 4, [-3.0, 3.0, 1.0, 0.0]]


def test_the_gamma_function_beside_its_zeros_and_in_double_precision() -> None:
    """lgamma is 0 at 1 and 2, and keeps its digits beside them."""
    for kind, digits in ((np.float32, 1e-6), (np.float64, 1e-14)):
        at = np.array([1.0, 2.0, 1.001, 1.999, 0.5, 2.5, 3.0, 3.49, 8.5, 100.0, 1e-3], kind)
        want = np.array([math.lgamma(v) for v in at.tolist()])
        got = Tensor(at).lgamma().numpy()
        assert np.allclose(got, want, rtol=digits, atol=digits * 0.1)
        assert got[0] == got[1] == 0


def test_the_inverse_error_function_in_double_precision() -> None:
    """erf(erfinv(x)) is x to the last digits, also beside 1."""
    x = np.array([1e-10, 0.1, 0.5, -0.7, 0.999, 1 - 1e-12])
    y = Tensor(x).erfinv().numpy()
    assert np.allclose([math.erf(v) for v in y], x, rtol=1e-15, atol=0)
    assert np.allclose([math.erfc(v) for v in np.abs(y)], 1 - np.abs(x), rtol=1e-12, atol=0)


def test_a_threshold_passes_nan() -> None:
    """NaN is not below the threshold."""
    assert math.isnan(Tensor([NAN]).threshold(1, 0.5).item())


@pytest.mark.parametrize(
    ("exponent", "values", "slopes"),
    [
        (INF, [0, INF, 0, INF, 1, 1, 0], [NAN, INF, NAN, INF, INF, INF, NAN]),
        (-INF, [INF, 0, INF, 0, 1, 1, INF], [-INF, NAN, -INF, NAN, -INF, -INF, -INF]),
        (NAN, [NAN, NAN, NAN, NAN, 1, NAN, NAN], [NAN] * 7),
    ],
)
def test_exponents_that_are_no_numbers(
    exponent: float, values: list[float], slopes: list[float]
) -> None:
    """An infinite exponent is no whole number; the limits are those of C's pow."""
    x = Tensor([0.5, 2, -0.5, -2, 1, -1, 0]).requires_grad_()
    y = x**exponent
    np.testing.assert_array_equal(y.numpy(), np.float32(values))
    np.testing.assert_array_equal(y.sum().gradient(x)[0].numpy(), np.float32(slopes))


OF_TWO: list[tuple[str, float, float, float, float]] = [
    ("xlogy", 0, 2, math.log(2), 0), ("xlogy", 0, INF, INF, 0), ("xlogy", 0, -1, 0, 0),
    ("xlogy", 2, 0, -INF, INF), ("xlogy", NAN, 2, math.log(2), NAN),
    ("xlog1py", 0, 1, math.log(2), 0), ("xlog1py", 0, -1, 0, NAN), ("xlog1py", 0, -2, 0, 0),
    ("atan2", NAN, 1, NAN, NAN), ("atan2", 1, NAN, NAN, NAN), ("atan2", 0, 0, 0, 0),
    ("atan2", 1e-30, 1e-30, 5e29, -5e29), ("atan2", 1, -INF, NAN, 0),
    ("hypot", NAN, 1, NAN, NAN), ("hypot", 0, 0, 0, 0), ("hypot", INF, 1, NAN, 0),
    ("hypot", 3e30, -4e30, 0.6, -0.8), ("hypot", -3e-30, 4e-30, -0.6, 0.8),
]  # fmt: skip


@pytest.mark.parametrize(("name", "left", "right", "by_left", "by_right"), OF_TWO)
def test_derivatives_by_each_of_two_values(
    name: str, left: float, right: float, by_left: float, by_right: float
) -> None:
    """NaN passed on, limits at 0 kept, no overflow on the way."""
    a, b = (Tensor([float(v)]).requires_grad_() for v in (left, right))
    found = getattr(a, name)(b).sum().gradient(a, b)
    assert same(found[0].item(), by_left)
    assert same(found[1].item(), by_right)


def test_derivatives_of_two_values_that_broadcast_or_are_one() -> None:
    """One may be a number, a column beside a row, or the other one again."""
    x = Tensor([3.0, 4.0]).requires_grad_()
    assert np.allclose(x.hypot(4.0).sum().gradient(x)[0].numpy(), [0.6, math.sqrt(0.5)])
    assert np.allclose(x.hypot(x).sum().gradient(x)[0].numpy(), math.sqrt(2))
    column = Tensor([[2.0], [5.0]]).requires_grad_()
    by_row, by_column = x.xlogy(column).sum().gradient(x, column)
    assert np.allclose(by_row.numpy(), math.log(10))
    assert np.allclose(by_column.numpy(), [[3.5], [1.4]])


def test_the_gradient_of_running_extremes_goes_to_their_positions() -> None:
    """Of equal elements the last has it, as in PyTorch; a NaN has what follows it."""
    x = Tensor([1.0, 3, 3, 2, 5, 5]).requires_grad_()
    weights = Tensor([1.0, 2, 4, 8, 16, 32])
    found = (x.cummax(0)[0] * weights).sum().gradient(x)[0]
    assert found.tolist() == [1, 2, 12, 0, 16, 32]
    found = (x.cummin(0)[0] * weights).sum().gradient(x)[0]
    assert found.tolist() == [63, 0, 0, 0, 0, 0]
    y = Tensor([[2.0, NAN, 7], [1, 1, 0]]).requires_grad_()
    assert y.cummax(1)[0].sum().gradient(y)[0].tolist() == [[1, 2, 0], [1, 2, 0]]
    assert y.cummin(-1)[0].sum().gradient(y)[0].tolist() == [[1, 2, 0], [1, 1, 1]]
    (square,) = (x.cummax(0)[0] ** 2).sum().gradient(x)
    assert square.sum().gradient(x)[0].tolist() == [2, 2, 4, 0, 2, 2]
