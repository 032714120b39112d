"""Order statistics, histograms, moments, nan-aware reductions, differences: against NumPy."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tg_tensor import Tensor
from tg_tensor.errors import ArgumentError
from tg_uop.errors import DTypeError, ShapeError

Array = np.ndarray[Any, np.dtype[Any]]
RNG = np.random.default_rng(5)
X = RNG.standard_normal((3, 5, 4))
HOLES = X.copy()
HOLES[0, 1, 2] = HOLES[1, :, 0] = np.nan


def close(found: object, wanted: object, tolerance: float = 1e-12) -> None:
    assert isinstance(found, Tensor)
    array = found.numpy()
    assert array.shape == np.shape(wanted)
    np.testing.assert_allclose(array, wanted, rtol=tolerance, atol=tolerance)


def quiet(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **kwargs)


@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "nearest", "midpoint"])
@pytest.mark.parametrize("dim", [None, 0, 1, -1])
def test_quantiles(interpolation: str, dim: int | None) -> None:
    for q in (0.3, [0.0, 0.25, 0.5, 1.0]):
        for keepdim in (False, True):
            options: dict[str, Any] = {"axis": dim, "keepdims": keepdim, "method": interpolation}
            given: dict[str, Any] = {"keepdim": keepdim, "interpolation": interpolation}
            wanted = np.quantile(X, q, **options)
            close(Tensor(X).quantile(q, dim, **given), wanted)
            wanted = quiet(np.nanquantile, HOLES, q, **options)
            close(Tensor(HOLES).nanquantile(q, dim, **given), wanted)


def test_quantiles_at_the_edges() -> None:
    values = Tensor([[1.0, math.inf, -math.inf, 2.0], [math.inf, math.inf, 1, 3]])
    assert values.quantile(0.0, 1).tolist() == [-math.inf, 1]
    assert values.quantile(1.0, 1).tolist() == [math.inf, math.inf]
    assert math.isnan(Tensor(HOLES).quantile(0.5).item())
    assert math.isnan(Tensor([]).quantile(0.5).item())
    assert Tensor([]).quantile([0.5, 0.1]).shape == (2,)
    parts = Tensor(np.array([0.5, 0.1]))
    close(Tensor(X).quantile(parts, 1), np.quantile(X, [0.5, 0.1], 1))
    x = Tensor([4.0, 1.0, 3.0], requires_grad=True)
    assert x.quantile(0.25).gradient(x)[0].tolist() == [0, 0.5, 0.5]


def test_medians() -> None:
    odd = X[:, :, :3]
    close(Tensor(odd).median(), np.quantile(odd, 0.5, method="lower"))
    for dim in (0, 1, 2):
        for keepdim in (False, True):
            values, places = Tensor(X).median(dim, keepdim)
            wanted = np.quantile(X, 0.5, dim, method="lower", keepdims=keepdim)
            close(values, wanted)
            kept = places if keepdim else places.unsqueeze(dim)
            close(Tensor(X).gather(dim, kept), wanted if keepdim else np.expand_dims(wanted, dim))
            wanted = np.quantile(HOLES, 0.5, dim, method="lower")
            close(Tensor(HOLES).median(dim)[0], wanted)
            wanted = quiet(np.nanquantile, HOLES, 0.5, dim, method="lower")
            close(Tensor(HOLES).nanmedian(dim)[0], wanted)
    assert Tensor([1.0, math.nan, 0.0]).median(0)[1].item() == 1
    assert Tensor([3, 1, 2, 2]).median().item() == 2
    with pytest.raises(ShapeError):
        Tensor([]).median()


def test_mode() -> None:
    values, places = Tensor([[3, 1, 3, 1, 2], [5, 4, 4, 0, 1]]).mode(1)
    assert values.tolist() == [1, 4]
    assert places.tolist() == [3, 2]
    assert Tensor([[2, 0], [2, 1]]).mode(0, keepdim=True)[0].tolist() == [[2, 0]]


def test_counts() -> None:
    whole = RNG.integers(0, 4, (6, 9))
    close(Tensor(whole).count_nonzero(), np.count_nonzero(whole))
    close(Tensor(whole).count_nonzero(1, keepdim=True), np.count_nonzero(whole, 1, keepdims=True))
    close(Tensor(whole[0]).bincount(), np.bincount(whole[0]))
    close(Tensor(whole[0]).bincount(minlength=9), np.bincount(whole[0], minlength=9))
    weights = RNG.random(9)
    close(Tensor(whole[0]).bincount(Tensor(weights)), np.bincount(whole[0], weights))
    assert Tensor(np.zeros(0, np.int32)).bincount(minlength=2).tolist() == [0, 0]
    for bad in (Tensor([-1]), Tensor([1.5]), Tensor([[1]])):
        with pytest.raises((ArgumentError, DTypeError, ShapeError)):
            bad.bincount()


@pytest.mark.parametrize("bounds", [None, (-1.0, 1.5)])
@pytest.mark.parametrize("density", [False, True])
def test_histogram(bounds: tuple[float, float] | None, density: bool) -> None:
    counts, edges = Tensor(X).histogram(7, range=bounds, density=density)
    wanted, wanted_edges = np.histogram(X, 7, bounds, density=density)
    close(counts, wanted)
    close(edges, wanted_edges)


def test_histogram_edges_and_weights() -> None:
    edges = np.array([-2.0, -0.5, 0, 0.7, 1])
    values = np.append(X, [1.0, -2.0])
    close(Tensor(values).histogram(Tensor(edges))[0], np.histogram(values, edges)[0])
    close(Tensor(X).histogram(4, weight=Tensor(X * X))[0], np.histogram(X, 4, weights=X * X)[0])
    close(Tensor(np.ones(3)).histogram(4)[1], np.histogram(np.ones(3), 4)[1])
    close(Tensor(X).histc(5, -1, 1), np.histogram(X, 5, (-1, 1))[0])
    close(Tensor(X).histc(6), np.histogram(X, 6)[0])
    assert Tensor([1.0, 1.0]).histc(4).tolist() == [0, 0, 2, 0]
    for bad in (lambda: Tensor(X).histc(0), lambda: Tensor(X).histogram(0)):
        with pytest.raises(ArgumentError):
            bad()


def test_covariances() -> None:
    m, often, weights = X[0], np.arange(1, 5), RNG.random(4)
    close(Tensor(m).cov(), np.cov(m))
    close(Tensor(m).cov(correction=0), np.cov(m, ddof=0))
    close(Tensor(m[0]).cov(), np.cov(m[0]))
    both = Tensor(m).cov(fweights=Tensor(often), aweights=Tensor(weights))
    close(both, np.cov(m, fweights=often, aweights=weights))
    close(Tensor(m).cov(fweights=Tensor(often)), np.cov(m, fweights=often))
    close(Tensor(m).corrcoef(), np.corrcoef(m))
    assert Tensor(m[0]).corrcoef().item() == 1
    with pytest.raises(ShapeError):
        Tensor(X).cov()


def test_averages() -> None:
    weights = np.arange(5.0)
    close(Tensor(X).average(), np.average(X))
    close(Tensor(X).average(1, Tensor(weights)), np.average(X, 1, weights))
    close(Tensor(X).average((0, 1), Tensor(X * X)), np.average(X, (0, 1), X * X))
    _, total = Tensor(X).average(1, Tensor(weights), returned=True)
    close(total, np.broadcast_to(weights.sum(), (3, 4)))
    with pytest.raises(ShapeError):
        Tensor(X).average(0, Tensor(weights))


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 2)])
@pytest.mark.parametrize(
    "name", ["nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin"]
)
def test_reductions_without_nan(name: str, axis: Any) -> None:
    for keepdim in (False, True):
        wanted = quiet(getattr(np, name), HOLES, axis, keepdims=keepdim)
        close(getattr(Tensor(HOLES), name)(axis, keepdim), wanted)


def test_more_reductions_without_nan() -> None:
    some = HOLES.copy()
    some[1, :, 0] = [1, np.nan, 1, 0, 0]
    for axis in (None, 0, 1, 2):
        for name in ("nanargmax", "nanargmin"):
            close(getattr(Tensor(some), name)(axis), getattr(np, name)(some, axis))
    for name in ("nancumsum", "nancumprod"):
        close(getattr(Tensor(some), name)(1), getattr(np, name)(some, 1))
    close(Tensor(some).nanvar(0, correction=1), np.nanvar(some, 0, ddof=1))
    assert math.isnan(Tensor([1.0, math.nan]).nanvar(correction=1).item())
    assert Tensor([1, 2]).nansum().item() == 3
    assert Tensor([[1, 5]]).nanmax(1).tolist() == [5]
    x = Tensor([1.0, math.nan, 3.0], requires_grad=True)
    assert x.nanmean().gradient(x)[0].tolist() == [0.5, 0, 0.5]
    assert x.nanmax().gradient(x)[0].tolist() == [0, 0, 1]


def test_extremes() -> None:
    close(Tensor(X).amax((0, 2)), X.max((0, 2)))
    close(Tensor(X).amin(1, keepdim=True), X.min(1, keepdims=True))
    close(Tensor(X).ptp(1), np.ptp(X, 1))
    low, high = Tensor(X).aminmax(dim=0)
    close(low, X.min(0))
    close(high, X.max(0))


@pytest.mark.parametrize("n", [0, 1, 2, 6])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_differences(n: int, dim: int) -> None:
    close(Tensor(X).diff(n, dim), np.diff(X, n, dim))


def test_differences_with_ends_and_of_bools() -> None:
    edge = X[:, :1]
    found = Tensor(X).diff(1, 1, Tensor(edge), Tensor(edge))
    close(found, np.diff(X, 1, 1, edge, edge))
    assert Tensor(X > 0).diff().tolist() == np.diff(X > 0).tolist()
    assert Tensor([3, 1, 4]).diff().tolist() == [-2, 3]
    with pytest.raises(ArgumentError):
        Tensor(X).diff(-1)
    with pytest.raises(ShapeError):
        Tensor(1.0).diff()


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_trapezoids(dim: int) -> None:
    points = np.sort(RNG.random(X.shape[dim]))
    close(Tensor(X).trapezoid(dim=dim), np.trapezoid(X, axis=dim))
    close(Tensor(X).trapz(dx=0.3, dim=dim), np.trapezoid(X, dx=0.3, axis=dim))
    close(Tensor(X).trapezoid(Tensor(points), dim=dim), np.trapezoid(X, points, axis=dim))
    running = Tensor(X).cumulative_trapezoid(Tensor(points), dim=dim)
    close(
        running.shrink(
            [(running.shape[dim] - 1, running.shape[dim]) if i == dim else None for i in range(3)]
        ).squeeze(dim),
        np.trapezoid(X, points, axis=dim),
    )
    close(
        Tensor(X).cumulative_trapezoid(dim=dim).diff(1, dim),
        (X.take(range(1, X.shape[dim]), dim) + X.take(range(X.shape[dim] - 1), dim)).take(
            range(1, X.shape[dim] - 1), dim
        )
        / 2,
    )


def test_bad_quantiles() -> None:
    with pytest.raises(ArgumentError):
        Tensor(X).quantile(1.5)
    with pytest.raises(ArgumentError):
        Tensor(X).quantile(0.5, interpolation="cubic")
    with pytest.raises(DTypeError):
        Tensor([1, 2]).quantile(0.5)
    with pytest.raises(ShapeError):
        Tensor(X).quantile(Tensor([[0.5]]))
