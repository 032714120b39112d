"""Functions of floats, to units in the last place, over their range and at its edges."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tg_tensor import Tensor

Array = np.ndarray[Any, np.dtype[Any]]
RNG = np.random.default_rng(7)
EDGES = [0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 0.5, -0.5, 1e-300, -1e-40, 1e-20, 1e-10]


def spread(low: float, high: float) -> Array:
    """Sizes of all magnitudes, of both signs."""
    sizes = 10 ** RNG.uniform(low, high, 200)
    return np.concatenate([EDGES, sizes, -sizes])


def even(low: float, high: float) -> Array:
    return np.concatenate([EDGES, RNG.uniform(low, high, 400)])


def of_python(function: Callable[[float], float]) -> Callable[[Array], Array]:
    return lambda x: np.array([function(float(v)) for v in x])


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


Case = tuple[Callable[[Array], Array], Callable[[float], Array]]
CASES: dict[str, Case] = {
    "exp2": (np.exp2, lambda top: even(-1.5 * top, 1.4 * top)),
    "exp": (np.exp, lambda top: even(-top, top)),
    "log2": (np.log2, lambda top: abs(spread(-0.4 * top, 0.4 * top))),
    "log": (np.log, lambda top: np.append(abs(spread(-0.4 * top, 0.4 * top)), even(0.5, 2))),
    "log10": (np.log10, lambda top: abs(spread(-0.4 * top, 0.4 * top))),
    "sqrt": (np.sqrt, lambda top: abs(spread(-0.4 * top, 0.4 * top))),
    "sin": (np.sin, lambda top: even(-3, 3)),
    "asin": (np.arcsin, lambda top: np.append(even(-1.1, 1.1), spread(-20, 0))),
    "acos": (np.arccos, lambda top: np.append(even(-1.1, 1.1), 1 - 10 ** RNG.uniform(-6, -1, 99))),
    "atan": (np.arctan, lambda top: np.append(even(-6, 6), spread(-20, 0.4 * top))),
    "sinh": (np.sinh, lambda top: np.append(even(-top, top), spread(-20, 1))),
    "cosh": (np.cosh, lambda top: even(-top, top)),
    "tanh": (np.tanh, lambda top: np.append(even(-6, 6), spread(-20, 2))),
    "asinh": (np.arcsinh, lambda top: np.append(even(-6, 6), spread(-20, 0.4 * top))),
    "acosh": (np.arccosh, lambda top: np.append(1 + 10 ** RNG.uniform(-6, 30, 400), EDGES)),
    "atanh": (np.arctanh, lambda top: np.append(even(-1, 1), spread(-20, 0))),
    "expm1": (np.expm1, lambda top: np.append(even(-top, top), spread(-20, 0))),
    "log1p": (np.log1p, lambda top: np.append(even(-1, 9), spread(-20, 0))),
    "sigmoid": (sigmoid, lambda top: even(-top, top)),
    "erf": (of_python(math.erf), lambda top: np.append(even(-6, 6), spread(-20, 0))),
    "erfc": (of_python(math.erfc), lambda top: np.append(even(-6, 8.5), spread(-20, 0))),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("dtype", "top"), [(np.float32, 87.0), (np.float64, 700.0)])
def test_units_in_the_last_place(name: str, dtype: Any, top: float) -> None:
    reference, inputs = CASES[name]
    x = inputs(top).astype(dtype)
    found = getattr(Tensor(x), name)().numpy()
    with np.errstate(all="ignore"):
        exact = np.asarray(reference(x.astype(np.longdouble)))
        wanted = exact.astype(dtype)
        finite = np.isfinite(wanted)
        assert (np.isnan(found) == np.isnan(wanted)).all()
        assert (found[np.isinf(wanted)] == wanted[np.isinf(wanted)]).all()
        # units of the result, of which subnormal ones may be the smallest
        units = abs(found.astype(np.longdouble) - exact) / np.spacing(abs(wanted))
    assert units[finite].max() <= 5


@pytest.mark.parametrize("name", ["sinh", "cosh"])
@pytest.mark.parametrize(("dtype", "top"), [(np.float32, 89.4), (np.float64, 710.4)])
def test_halves_of_infinite_exponentials_are_finite(name: str, dtype: Any, top: float) -> None:
    x = np.array([top, -top, top - 0.7, 2 * top], dtype)
    with np.errstate(over="ignore"):
        wanted = getattr(np, name)(x.astype(np.longdouble)).astype(dtype)
    assert np.isfinite(wanted[:3]).all()
    np.testing.assert_allclose(getattr(Tensor(x), name)().numpy(), wanted, rtol=6e-7)


@pytest.mark.parametrize("name", ["sin", "asin", "atan", "sinh", "tanh", "asinh", "atanh"])
def test_odd_functions_keep_minus_zero(name: str) -> None:
    for dtype in ("float32", "float64"):
        found = getattr(Tensor([-0.0, 0.0], dtype=dtype), name)().numpy()
        assert found.tolist() == [0, 0]
        assert np.signbit(found).tolist() == [True, False]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sine_and_cosine_of_huge_angles(dtype: Any) -> None:
    x = (10 ** RNG.uniform(0, 30, 200)).astype(dtype)
    exact = x.astype(np.float64)
    size = np.finfo(dtype).eps
    assert abs(Tensor(x).sin().numpy() - np.sin(exact)).max() <= 2 * size
    assert abs(Tensor(x).cos().numpy() - np.cos(exact)).max() <= 2 * size
    for value in (math.inf, -math.inf, math.nan):
        assert math.isnan(Tensor([value], dtype=str(np.dtype(dtype))).sin().item())
        assert math.isnan(Tensor([value], dtype=str(np.dtype(dtype))).cos().item())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_derivatives(dtype: str) -> None:
    slopes: dict[str, Callable[[Array], Array]] = {
        "erf": lambda x: 2 / math.sqrt(math.pi) * np.exp(-x * x),
        "asinh": lambda x: 1 / np.sqrt(x * x + 1),
        "atanh": lambda x: 1 / (1 - x * x),
        "tanh": lambda x: 1 - np.tanh(x) ** 2,
        "elu": lambda x: np.where(x > 0, 1, np.exp(x)),
    }
    x = np.array([-0.9, -0.3, -1e-3, 1e-6, 0.2, 0.47, 0.99])
    tolerance = 3e-6 if dtype == "float32" else 1e-14
    for name, slope in slopes.items():
        t = Tensor(x).cast(dtype)
        found = getattr(t, name)().sum().gradient(t)[0].numpy()
        np.testing.assert_allclose(found, slope(t.numpy().astype(np.float64)), rtol=tolerance)


HALF_NAMES = [
    *("exp", "log", "log10", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"),
    *("asinh", "acosh", "atanh", "erf", "erfc", "expm1", "log1p", "rsqrt"),
    *("sigmoid", "logsigmoid", "softplus", "softsign", "silu", "mish", "gelu", "quick_gelu"),
    *("elu", "celu", "selu"),
]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_are_rounded_once(dtype: str) -> None:
    x = Tensor(np.linspace(-7, 7, 99).astype(np.float32)).cast(dtype)
    pairs = []
    for name in HALF_NAMES:
        found, wide = getattr(x, name)(), getattr(x.cast("float32"), name)()
        assert found.dtype is x.dtype
        pairs += [found, wide.cast(dtype)]
    pairs[0].realize(*pairs[1:])
    for found, wanted in zip(pairs[::2], pairs[1::2], strict=True):
        np.testing.assert_array_equal(found.numpy(), wanted.numpy())
