"""Elementwise functions by name, against NumPy and the standard library."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tg_tensor import Tensor, dtypes
from tg_tensor.errors import ArgumentError, GradientError
from tg_uop.errors import DTypeError, ShapeError

X = np.array([-3.5, -1, -0.3, -1e-5, 0, 1e-6, 0.3, 0.9, 1, 2.5, 7], np.float32)
INSIDE = np.array([-0.9, -0.3, 0.0, 0.2, 0.7], np.float32)


def each(function: Callable[[float], float], values: Any) -> Any:
    return np.array([function(float(v)) for v in values])


ONE: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "expm1": (X, np.expm1),
    "log1p": (X[2:], np.log1p),
    "sinc": (X, np.sinc),
    "erfc": (X, lambda x: each(math.erfc, x)),
    "lgamma": (X[5:], lambda x: each(math.lgamma, x)),
    "i0": (X, np.i0),
    "deg2rad": (X, np.deg2rad),
    "rad2deg": (X, np.rad2deg),
    "frac": (X, lambda x: x - np.trunc(x)),
    "signbit": (X, np.signbit),
    "positive": (X, np.positive),
    "negative": (X, np.negative),
    "absolute": (X, np.absolute),
    "fix": (X, np.trunc),
    "arcsin": (INSIDE, np.arcsin),
    "arccos": (INSIDE, np.arccos),
    "arctan": (X, np.arctan),
    "arcsinh": (X, np.arcsinh),
    "arctanh": (INSIDE, np.arctanh),
    "arccosh": (X[8:], np.arccosh),
    "isposinf": (X, np.isposinf),
    "isneginf": (X, np.isneginf),
    "isreal": (X, np.isreal),
    "hardshrink": (X, lambda x: np.where(np.abs(x) <= 0.5, 0, x)),
    "softshrink": (X, lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0)),
    "tanhshrink": (X, lambda x: x - np.tanh(x)),
}


def test_functions_of_one_value() -> None:
    found = {name: getattr(Tensor(x), name)() for name, (x, _) in ONE.items()}
    Tensor.realize(*found.values())
    for name, (x, function) in ONE.items():
        np.testing.assert_allclose(
            found[name].numpy(), function(x), rtol=1e-5, atol=2e-6, err_msg=name
        )


def test_inverses() -> None:
    x = Tensor(INSIDE)
    np.testing.assert_allclose(x.erfinv().erf().numpy(), INSIDE, rtol=1e-5, atol=1e-6)
    share = Tensor([0.1, 0.5, 0.9])
    np.testing.assert_allclose(share.logit().sigmoid().numpy(), share.numpy(), rtol=1e-5)
    assert Tensor([0.0, 1.0]).logit(eps=0.5).tolist() == [0.0, 0.0]
    assert Tensor([-1.0, 1.0]).erfinv().tolist() == [-math.inf, math.inf]
    # digamma(n + 1) - digamma(n) = 1 / n
    n = np.array([0.3, 1, 2.5, 8], np.float32)
    step = (Tensor(n) + 1).digamma() - Tensor(n).digamma()
    np.testing.assert_allclose(step.numpy(), 1 / n, rtol=1e-4)


PAIRS: dict[str, Callable[..., Any]] = {
    "atan2": np.arctan2,
    "arctan2": np.arctan2,
    "hypot": np.hypot,
    "fmod": np.fmod,
    "remainder": np.remainder,
    "floor_divide": np.floor_divide,
    "true_divide": np.true_divide,
    "divide": np.divide,
    "multiply": np.multiply,
    "subtract": np.subtract,
    "logaddexp2": np.logaddexp2,
    "heaviside": np.heaviside,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "nextafter": np.nextafter,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "not_equal": np.not_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "float_power": np.float_power,
}


def test_functions_of_two_values() -> None:
    with np.errstate(all="ignore"):
        values = np.array([-2.5, -1, -0.0, 0, 0.7, 3, np.inf, -np.inf, np.nan], np.float32)
        a, b = np.repeat(values, len(values)), np.tile(values, len(values))
        names = [name for name in PAIRS if name not in ("heaviside", "float_power")]
        found = {name: getattr(Tensor(a), name)(Tensor(b)) for name in names}
        found["heaviside"] = Tensor(a[:63]).heaviside(Tensor(b[:63]))
        found["float_power"] = Tensor(np.abs(a[:54])).float_power(Tensor(b[:54]))
        Tensor.realize(*found.values())
        for name, result in found.items():
            if name == "heaviside":
                wanted = np.heaviside(a[:63], b[:63])
            elif name == "float_power":
                wanted = np.float_power(np.abs(a[:54]), b[:54])
            else:
                wanted = PAIRS[name](a, b)
            np.testing.assert_allclose(result.numpy(), wanted, rtol=1e-5, atol=1e-6, err_msg=name)
    assert found["float_power"].dtype is dtypes.float64


def test_quotients_are_those_of_the_true_ones() -> None:
    a = np.array([1.0, 5.0, 0.3, 1e4, -7.1], np.float32)
    b = np.array([0.2, 1.2, 0.1, 0.7, 3.3], np.float32)
    np.testing.assert_array_equal((Tensor(a) // Tensor(b)).numpy(), a // b)
    np.testing.assert_array_equal((Tensor(a) % Tensor(b)).numpy(), a % b)


def test_whole_numbers() -> None:
    values = np.array([0, 1, -1, 12, -18, 24, 2**31 - 1, 1836311903, 1134903170], np.int32)
    a, b = np.repeat(values, len(values)), np.tile(values, len(values))
    np.testing.assert_array_equal(Tensor(a).gcd(Tensor(b)).numpy(), np.gcd(a, b))
    small = (np.abs(a) < 100) & (np.abs(b) < 100)
    a, b = a[small], b[small]
    np.testing.assert_array_equal(Tensor(a).lcm(Tensor(b)).numpy(), np.lcm(a, b))
    assert Tensor([5, -5]).bitwise_left_shift(1).tolist() == [10, -10]
    assert Tensor([5, -5]).bitwise_right_shift(1).tolist() == [2, -3]
    with pytest.raises(DTypeError):
        Tensor([0.5]).gcd(Tensor([1.0]))


def test_parts_of_numbers() -> None:
    x = np.array([0.0, 1, -3.3, 1e-40, np.inf, 1e30], np.float32)
    mantissa, exponent = Tensor(x).frexp()
    wanted = np.frexp(x)
    np.testing.assert_array_equal(mantissa.numpy(), wanted[0])
    np.testing.assert_array_equal(exponent.numpy(), wanted[1])
    assert Tensor([1.5, 3.0]).ldexp(Tensor([2, -1])).tolist() == [6.0, 1.5]
    assert Tensor([0.0, -0.0]).signbit().tolist() == [False, True]
    odd = Tensor([math.nan, math.inf, -math.inf, 1.0])
    np.testing.assert_array_equal(odd.nan_to_num().numpy(), np.nan_to_num(odd.numpy()))
    assert odd.nan_to_num(1, 2, 3).tolist() == [1.0, 2.0, 3.0, 1.0]


def test_mixes() -> None:
    a, b = Tensor([1.0, 2.0]), Tensor([3.0, 5.0])
    assert a.addcmul(b, b, value=2).tolist() == [19.0, 52.0]
    assert a.addcdiv(b, a, value=2).tolist() == [7.0, 7.0]
    assert a.lerp(b, 1.0).tolist() == [3.0, 5.0]
    assert a.lerp(b, Tensor([0.0, 1.0])).tolist() == [1.0, 5.0]
    assert b.clamp(max=4).tolist() == [3.0, 4.0]
    assert b.clip(min=a * 4).tolist() == [4.0, 8.0]
    assert a.threshold(1.5, -1).tolist() == [-1.0, 2.0]
    assert a.dist(b).item() == pytest.approx(math.sqrt(13))
    np.testing.assert_allclose(a.glu().numpy(), [1 / (1 + math.exp(-2))], rtol=1e-6)
    np.testing.assert_allclose(a.softmin().numpy(), (-a).softmax().numpy())
    assert (-a).prelu(Tensor([0.5])).tolist() == [-0.5, -1.0]
    assert (-a).rrelu(0.5, 0.5).tolist() == [-0.5, -1.0]
    drawn = (-Tensor.ones(50)).rrelu(training=True).numpy()
    assert (drawn >= -1 / 3).all()
    assert (drawn <= -1 / 8).all()


MISTAKES: dict[str, tuple[type[Exception], Callable[[], object]]] = {
    "sign of a bool": (DTypeError, lambda: Tensor([True]).positive()),
    "next integer": (DTypeError, lambda: Tensor([1]).nextafter(Tensor([2]))),
    "two halves of 3": (ShapeError, lambda: Tensor([1.0, 2, 3]).glu()),
    "too many slopes": (ShapeError, lambda: Tensor.ones(2, 3).prelu(Tensor.ones(2))),
    "negative lambda": (ArgumentError, lambda: Tensor([1.0]).softshrink(-1)),
    "slopes in reverse": (ArgumentError, lambda: Tensor([1.0]).rrelu(1, 0)),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    error, mistake = MISTAKES[name]
    with pytest.raises(error):
        mistake()


def test_only_floats_require_gradients() -> None:
    for make in (
        lambda: Tensor([1, 2], requires_grad=True),
        lambda: Tensor([True]).requires_grad_(),
        lambda: Tensor.ones(2, dtype=dtypes.int32, requires_grad=True),
        lambda: Tensor.arange(3, requires_grad=True),
    ):
        with pytest.raises(GradientError):
            make()
    assert Tensor([1, 2], requires_grad=False).requires_grad is False
    assert Tensor([1.0]).requires_grad_().requires_grad is True
