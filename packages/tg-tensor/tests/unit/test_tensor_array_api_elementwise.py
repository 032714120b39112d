"""The elementwise functions of the array API standard against NumPy, on the values that matter."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from tg_tensor import Tensor, dtypes
from tg_tensor.interop import array_api as xp

# the names of the standard are NumPy's own from 2.1 on
pytest.importorskip("numpy", minversion="2.1")

Array = npt.NDArray[np.generic]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64"]
NUMBERS = INTEGERS + FLOATS
ALL = ["bool", *NUMBERS]
BITS = ["bool", *INTEGERS]
BOOLS = ["bool"]
# zeros, whole and half numbers, tiny and huge ones, infinities, NaN
FLOAT_VALUES = [0.0, 1.0, 0.5, 1.5, 2.5, 3.0, 1e-8, 1e30, np.inf, 0.1, 7.3, 100.0, 2.0**24 + 1]
SPECIAL = [*FLOAT_VALUES, *(-value for value in FLOAT_VALUES), np.nan]
TOLERANCE = {"float32": 2e-6, "float64": 1e-12}

UNARY = {
    **dict.fromkeys(["abs", "negative", "positive", "sign", "square"], NUMBERS),
    **dict.fromkeys(["ceil", "floor", "round", "trunc"], NUMBERS),
    **dict.fromkeys(["isfinite", "isinf", "isnan"], NUMBERS),
    **dict.fromkeys(["conj", "imag", "real", "reciprocal", "signbit", "sqrt"], FLOATS),
    **dict.fromkeys(["exp", "expm1", "log", "log1p", "log2", "log10"], FLOATS),
    **dict.fromkeys(["acos", "asin", "atan", "cos", "sin", "tan"], FLOATS),
    **dict.fromkeys(["acosh", "asinh", "atanh", "cosh", "sinh", "tanh"], FLOATS),
    "bitwise_invert": ["bool", *INTEGERS],
    "logical_not": ["bool"],
}
BINARY = {
    **dict.fromkeys(["add", "multiply", "subtract", "floor_divide", "remainder"], NUMBERS),
    **dict.fromkeys(["maximum", "minimum"], NUMBERS),
    **dict.fromkeys(["greater", "greater_equal", "less", "less_equal"], NUMBERS),
    **dict.fromkeys(["equal", "not_equal"], ALL),
    **dict.fromkeys(["atan2", "copysign", "divide", "hypot", "logaddexp"], FLOATS),
    **dict.fromkeys(["nextafter", "pow"], FLOATS),
    **dict.fromkeys(["bitwise_and", "bitwise_or", "bitwise_xor"], BITS),
    **dict.fromkeys(["bitwise_left_shift", "bitwise_right_shift"], INTEGERS),
    **dict.fromkeys(["logical_and", "logical_or", "logical_xor"], BOOLS),
}
# of the two zeros the standard lets these give either
EITHER_ZERO = ("maximum", "minimum")


def special(name: str) -> Array:
    """Values of a dtype where functions have exceptions."""
    if name == "bool":
        return np.array([True, False])
    if name in FLOATS:
        return np.array(SPECIAL, name)
    limits = np.iinfo(name)
    found = [0, 1, 2, 3, 5, 7, limits.max, limits.max - 1, limits.min]
    return np.array(found + ([-1, -2, -3, -7] if limits.min else []), name)


def same(got: Tensor, expected: Array, *, either_zero: bool = False) -> None:
    found = got.numpy()
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    if expected.dtype.kind != "f":
        assert np.array_equal(found, expected)
        return
    tolerance = TOLERANCE[expected.dtype.name]
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * 1e-3)
    if not either_zero:
        numbers = ~np.isnan(expected)
        assert np.array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


@pytest.mark.parametrize(("name", "dtype"), [(n, d) for n in UNARY for d in UNARY[n]])
def test_functions_of_one_value(name: str, dtype: str) -> None:
    values = special(dtype)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(values)
    same(getattr(xp, name)(Tensor(values)), expected)


@pytest.mark.parametrize(("name", "dtype"), [(n, d) for n in BINARY for d in BINARY[n]])
def test_functions_of_two_values(name: str, dtype: str) -> None:
    values = special(dtype)
    left, right = (side.reshape(-1) for side in np.meshgrid(values, values))
    left, right = _defined(name, dtype, left, right)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(left, right)
    made = getattr(xp, name)(Tensor(left), Tensor(right))
    same(made, expected, either_zero=name in EITHER_ZERO)


def _defined(name: str, dtype: str, left: Array, right: Array) -> tuple[Array, Array]:
    """Pairs for which the standard says what comes out, and NumPy does so."""
    if name.endswith("shift"):
        bits = np.dtype(dtype).itemsize * 8
        return left, (right.astype(np.int64) % bits).astype(dtype)
    if name not in ("floor_divide", "remainder"):
        return left, right
    if dtype in INTEGERS:
        lowest = np.iinfo(dtype).min
        keep = (right != 0) & ~((left == lowest) & (lowest < 0) & (right.astype(float) == -1))
        return left[keep], right[keep]
    with np.errstate(all="ignore"):
        quotient = np.abs(left / right)
    # where the quotient is no exact number, what is left of it is noise
    keep = ~(np.isfinite(quotient) & (quotient > 2**20))
    return left[keep], right[keep]


@pytest.mark.parametrize("name", ["add", "less", "maximum", "divide", "atan2", "pow"])
def test_python_numbers_are_weak_on_either_side(name: str) -> None:
    x = Tensor(np.array([1.0, 2.0], np.float32))
    for made in (getattr(xp, name)(x, 2.0), getattr(xp, name)(2.0, x)):
        assert made.dtype in (dtypes.float32, dtypes.bool)
    assert xp.add(Tensor(np.array([1], np.int8)), 1).dtype is dtypes.int8
    with pytest.raises(ValueError, match="a Tensor"):
        xp.add(1, 2)


def test_powers_of_integers() -> None:
    base = np.array([0, 1, 2, 3, -2], np.int64)
    power = np.array([0, 1, 5, 10, 3], np.int64)
    same(xp.pow(Tensor(base), Tensor(power)), base**power)
    same(xp.pow(Tensor(base), 2), base**2)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_clip(dtype: str) -> None:
    values = np.array([0, 1, 2, 3, 4], dtype)
    x = Tensor(values)
    same(xp.clip(x, 1, 3), np.clip(values, 1, 3).astype(dtype))
    same(xp.clip(x, min=2), np.maximum(values, 2).astype(dtype))
    same(xp.clip(x, max=Tensor(values[::-1].copy())), np.minimum(values, values[::-1]))
    same(xp.clip(x), values)
