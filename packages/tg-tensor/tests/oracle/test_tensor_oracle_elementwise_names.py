"""Elementwise functions by the names of PyTorch, against PyTorch: values, dtypes, gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tg_tensor import Tensor

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

F = torch.nn.functional
Special = torch.special
Ours = Callable[..., Any]
EDGES = [-3.5, -1.2, -1, -0.6, -0.3, -1e-4, -0.0, 0, 1e-5, 0.2, 0.5, 0.9999, 1, 1.5, 2, 3.7, 8.3]
EXTREME = [*EDGES, 20, np.inf, -np.inf, np.nan]


def assert_alike(found: Tensor, wanted: Any, rtol: float = 1e-5, atol: float = 2e-6) -> None:
    reference = wanted.detach().numpy()
    values = found.numpy()
    assert values.shape == reference.shape
    assert values.dtype.kind == reference.dtype.kind
    np.testing.assert_allclose(values, reference, rtol=rtol, atol=atol)


def assert_gradients(ours: Ours, theirs: Ours, *arrays: Any) -> None:
    mine = [Tensor(x, requires_grad=True) for x in arrays]
    other = [torch.tensor(x, requires_grad=True) for x in arrays]
    found = ours(*mine).sum().gradient(*mine)
    theirs(*other).sum().backward()
    for gradient, tensor in zip(found, other, strict=True):
        np.testing.assert_allclose(gradient.numpy(), tensor.grad.numpy(), rtol=2e-4, atol=1e-5)


ONE: dict[str, Ours] = {
    "expm1": torch.expm1,
    "log1p": torch.log1p,
    "sinc": torch.sinc,
    "erfc": torch.erfc,
    "erfinv": torch.erfinv,
    "lgamma": torch.lgamma,
    "digamma": torch.digamma,
    "i0": torch.i0,
    "i0e": Special.i0e,
    "i1": Special.i1,
    "i1e": Special.i1e,
    "ndtr": Special.ndtr,
    "log_ndtr": Special.log_ndtr,
    "ndtri": Special.ndtri,
    "erfcx": Special.erfcx,
    "entr": Special.entr,
    "logit": torch.logit,
    "frac": torch.frac,
    "signbit": torch.signbit,
    "nan_to_num": torch.nan_to_num,
    "deg2rad": torch.deg2rad,
    "rad2deg": torch.rad2deg,
    "isposinf": torch.isposinf,
    "isneginf": torch.isneginf,
    "isreal": torch.isreal,
    "hardshrink": F.hardshrink,
    "softshrink": F.softshrink,
    "tanhshrink": F.tanhshrink,
    "softsign": F.softsign,
    "negative": torch.negative,
    "absolute": torch.absolute,
    "positive": torch.positive,
    "fix": torch.fix,
    "arctan": torch.arctan,
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_functions_of_one_value(dtype: type) -> None:
    x = np.array(EXTREME, dtype)
    results = {name: getattr(Tensor(x), name)() for name in ONE}
    Tensor.realize(*results.values())
    for name, found in results.items():
        with np.errstate(all="ignore"):
            assert_alike(found, ONE[name](torch.tensor(x)))


def test_half_precision_is_rounded_once() -> None:
    x = np.array(EDGES, np.float16)
    y = np.array(EDGES[::-1], np.float16)
    for name in ("erfc", "erfinv", "lgamma", "digamma", "i0", "sinc"):
        found = getattr(Tensor(x), name)()
        assert_alike(found, ONE[name](torch.tensor(x)), rtol=2e-3, atol=1e-4)
    for name in ("hypot", "atan2", "logaddexp2"):
        found = getattr(Tensor(x), name)(Tensor(y))
        assert_alike(found, TWO[name](torch.tensor(x), torch.tensor(y)), rtol=2e-3, atol=1e-4)


SMOOTH = [
    *("expm1", "log1p", "sinc", "erfc", "erfinv", "lgamma", "digamma", "logit", "frac"),
    *("i0", "i0e", "i1", "i1e", "ndtr", "log_ndtr", "ndtri", "erfcx", "entr"),
]


@pytest.mark.parametrize("name", [*SMOOTH, "hardshrink", "softshrink", "tanhshrink", "nan_to_num"])
def test_gradients_of_one_value(name: str) -> None:
    x = np.array([0.1, 0.25, 0.4, 0.45, 0.7, 0.93], np.float32)
    assert_gradients(lambda t: getattr(t, name)(), ONE[name], x)


TWO: dict[str, Ours] = {
    "atan2": torch.atan2,
    "arctan2": torch.arctan2,
    "hypot": torch.hypot,
    "fmod": torch.fmod,
    "remainder": torch.remainder,
    "floor_divide": torch.floor_divide,
    "xlogy": Special.xlogy,
    "xlog1py": Special.xlog1py,
    "logaddexp2": torch.logaddexp2,
    "logaddexp": torch.logaddexp,
    "heaviside": torch.heaviside,
    "fmax": torch.fmax,
    "fmin": torch.fmin,
    "nextafter": torch.nextafter,
    "subtract": torch.subtract,
    "multiply": torch.multiply,
    "divide": torch.divide,
    "true_divide": torch.true_divide,
    "lt": torch.lt,
    "le": torch.le,
    "gt": torch.gt,
    "ge": torch.ge,
    "less": torch.less,
    "less_equal": torch.less_equal,
    "greater": torch.greater,
    "greater_equal": torch.greater_equal,
    "not_equal": torch.not_equal,
    "logical_and": torch.logical_and,
    "logical_or": torch.logical_or,
    "logical_xor": torch.logical_xor,
    "copysign": torch.copysign,
}


def test_functions_of_two_values() -> None:
    """Every pair of ordinary, zero, infinite and NaN values."""
    values = np.array(EXTREME, np.float32)
    a, b = np.repeat(values, len(values)), np.tile(values, len(values))
    results = {name: getattr(Tensor(a), name)(Tensor(b)) for name in TWO}
    Tensor.realize(*results.values())
    for name, found in results.items():
        assert_alike(found, TWO[name](torch.tensor(a), torch.tensor(b)), rtol=2e-6, atol=1e-7)


PAIRS = ["atan2", "hypot", "fmod", "remainder", "xlogy", "xlog1py", "logaddexp2"]
PAIRS += ["fmax", "fmin"]


@pytest.mark.parametrize("name", PAIRS)
def test_gradients_of_two_values(name: str) -> None:
    a = np.array([0.3, 1.7, 5.2, 0.9], np.float32)
    b = np.array([0.7, 1.1, 1.3, 2.9], np.float32)
    assert_gradients(lambda x, y: getattr(x, name)(y), TWO[name], a, b)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_derivatives_of_digamma_and_tails_of_the_normal_distribution(dtype: type) -> None:
    x = np.array([-7.3, -0.4, 0.0, 1e-3, 0.7, 1.0, 5.5, 40.0, 1e4, np.nan], dtype)
    for order in (0, 1, 2, 3, 6):
        found = Tensor(x).polygamma(order)
        assert_alike(found, torch.polygamma(order, torch.tensor(x)), rtol=2e-5, atol=0)
    far = np.array([-1e4, -80.0, -30.0, -5.0, -1.0, 0.0, 4.0], dtype)
    assert_alike(Tensor(far).log_ndtr(), Special.log_ndtr(torch.tensor(far)), atol=1e-30)
    assert_alike(Tensor(far).i1e(), Special.i1e(torch.tensor(far)), atol=1e-30)
    low = np.array([1e-30, 1e-10, 1e-4, 0.3, 1 - 1e-5], dtype)
    assert_alike(Tensor(low).ndtri(), Special.ndtri(torch.tensor(low)), rtol=2e-6, atol=1e-30)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_remainders_are_exact(dtype: type) -> None:
    rng = np.random.default_rng(0)
    a = (rng.standard_normal(3000) * 10 ** rng.uniform(-3, 3, 3000)).astype(dtype)
    b = ((rng.standard_normal(3000) + 0.01) * 10 ** rng.uniform(-1, 1, 3000)).astype(dtype)
    for name in ("fmod", "remainder"):
        found = getattr(Tensor(a), name)(Tensor(b)).numpy()
        wanted = getattr(torch, name)(torch.tensor(a), torch.tensor(b)).numpy()
        np.testing.assert_array_equal(found, wanted)


def test_whole_numbers() -> None:
    values = np.array([0, 1, -1, 12, 18, -24, 2**31 - 1, 1836311903, 1134903170], np.int32)
    a, b = np.repeat(values, len(values)), np.tile(values, len(values))
    for name in ("gcd", "lcm"):
        for dtype in (np.int32, np.int64):
            x, y = a.astype(dtype), b.astype(dtype)
            found = getattr(Tensor(x), name)(Tensor(y)).numpy()
            wanted = getattr(torch, name)(torch.tensor(x), torch.tensor(y)).numpy()
            np.testing.assert_array_equal(found, wanted)
    nonzero = b != 0
    x, y = a[nonzero], b[nonzero]
    for name in ("fmod", "remainder", "floor_divide"):
        found = getattr(Tensor(x), name)(Tensor(y)).numpy()
        wanted = getattr(torch, name)(torch.tensor(x), torch.tensor(y)).numpy()
        np.testing.assert_array_equal(found, wanted)
    shifts = np.arange(8, dtype=np.int32)
    words = np.array([1, -1, 5, -128, 127, 0, 3, 77], np.int32)
    for name in ("bitwise_left_shift", "bitwise_right_shift"):
        found = getattr(Tensor(words), name)(Tensor(shifts)).numpy()
        wanted = getattr(torch, name)(torch.tensor(words), torch.tensor(shifts)).numpy()
        np.testing.assert_array_equal(found, wanted)


def test_mantissa_and_exponent() -> None:
    x = np.array([*EDGES, 1e-40, 1e-45, -3e-42, 3e38], np.float32)
    mantissa, exponent = Tensor(x).frexp()
    wanted = torch.frexp(torch.tensor(x))
    np.testing.assert_array_equal(mantissa.numpy(), wanted.mantissa.numpy())
    np.testing.assert_array_equal(exponent.numpy(), wanted.exponent.numpy())
    back = mantissa.ldexp(exponent)
    np.testing.assert_allclose(back.numpy()[:-4], x[:-4], rtol=1e-6)


def test_mixes() -> None:
    rng = np.random.default_rng(1)
    a, b, c = (rng.standard_normal((3, 4)).astype(np.float32) for _ in range(3))
    ta, tb, tc = (torch.tensor(x) for x in (a, b, c))
    A, B, C = (Tensor(x) for x in (a, b, c))
    assert_alike(A.addcmul(B, C, value=0.5), torch.addcmul(ta, tb, tc, value=0.5))
    assert_alike(A.addcdiv(B, C, value=2), torch.addcdiv(ta, tb, tc, value=2))
    assert_alike(A.lerp(B, 0.3), torch.lerp(ta, tb, 0.3))
    assert_alike(A.lerp(B, C), torch.lerp(ta, tb, tc))
    assert_alike(A.clamp(min=B, max=C), torch.clamp(ta, min=tb, max=tc))
    assert_alike(A.clamp(max=0.2), torch.clamp(ta, max=0.2))
    assert_alike(A.float_power(2), torch.float_power(ta, 2))
    assert_alike(A.threshold(0.1, 20), F.threshold(ta, 0.1, 20))
    assert_alike(A.glu(), F.glu(ta))
    assert_alike(A.glu(1), F.glu(ta, 1))
    assert_alike(A.softmin(0), F.softmin(ta, 0))
    assert_alike(A.rrelu(), F.rrelu(ta))
    for p in (0, 1, 2, 3, float("inf")):
        assert_alike(A.dist(B, p), torch.dist(ta, tb, p))
    weights = rng.standard_normal(4).astype(np.float32)
    assert_gradients(lambda x, w: x.prelu(w), F.prelu, a, weights)
    assert_gradients(lambda x, y, w: x.lerp(y, w), torch.lerp, a, b, c)
    assert_gradients(lambda x: x.glu(), F.glu, a)
