"""Elementwise methods against NumPy, through the witness."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from tg_tensor import Tensor, dtypes
from tg_uop.errors import DTypeError

Array = npt.NDArray[np.generic]
Witness = Callable[[Tensor], Array]

POINTS = np.array(
    [-3, -2.5, -1.2, -0.5, -1e-4, 0, 1e-4, 0.3, 0.5, 0.9, 1.5, 2.5, 7, 20], np.float32
)
UNIT = np.array([-1, -0.9, -0.5, -0.2, -1e-4, 0, 1e-4, 0.4, 0.6, 0.99, 1], np.float32)
POSITIVE = np.array([1e-3, 0.1, 0.5, 1, 2, 10, 1e10], np.float32)


def close(found: Array, wanted: object, tolerance: float = 2e-6) -> None:
    np.testing.assert_allclose(found, np.asarray(wanted), rtol=tolerance, atol=tolerance)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


REFERENCES: dict[str, tuple[Array, Callable[[Array], Array]]] = {
    "exp": (POINTS, np.exp),
    "exp2": (POINTS, np.exp2),
    "sin": (POINTS, np.sin),
    "cos": (POINTS, np.cos),
    "tan": (POINTS, np.tan),
    "sinh": (POINTS, np.sinh),
    "cosh": (POINTS, np.cosh),
    "tanh": (POINTS, np.tanh),
    "asinh": (POINTS, np.arcsinh),
    "atan": (POINTS, np.arctan),
    "floor": (POINTS, np.floor),
    "ceil": (POINTS, np.ceil),
    "round": (POINTS, np.round),
    "trunc": (POINTS, np.trunc),
    "abs": (POINTS, np.abs),
    "sign": (POINTS, np.sign),
    "square": (POINTS, np.square),
    "erf": (POINTS, np.vectorize(math.erf)),
    "asin": (UNIT, np.arcsin),
    "acos": (UNIT, np.arccos),
    "atanh": (UNIT, np.arctanh),
    "log": (POSITIVE, np.log),
    "log2": (POSITIVE, np.log2),
    "log10": (POSITIVE, np.log10),
    "sqrt": (POSITIVE, np.sqrt),
    "rsqrt": (POSITIVE, lambda x: 1 / np.sqrt(x)),
    "reciprocal": (POSITIVE, lambda x: 1 / x),
    "acosh": (POSITIVE, np.arccosh),
    "sigmoid": (POINTS, sigmoid),
    "silu": (POINTS, lambda x: x * sigmoid(x)),
    "swish": (POINTS, lambda x: x * sigmoid(x)),
    "softplus": (POINTS, lambda x: np.log1p(np.exp(x))),
    "logsigmoid": (POINTS, lambda x: -np.log1p(np.exp(-x))),
    "relu": (POINTS, lambda x: np.maximum(x, 0)),
    "relu6": (POINTS, lambda x: np.clip(x, 0, 6)),
    "hardtanh": (POINTS, lambda x: np.clip(x, -1, 1)),
    "hardsigmoid": (POINTS, lambda x: np.clip(x / 6 + 0.5, 0, 1)),
    "hardswish": (POINTS, lambda x: x * np.clip(x + 3, 0, 6) / 6),
    "gelu": (POINTS, lambda x: 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))),
    "quick_gelu": (POINTS, lambda x: x * sigmoid(1.702 * x)),
    "elu": (POINTS, lambda x: np.where(x > 0, x, np.expm1(x))),
    "celu": (POINTS, lambda x: np.where(x > 0, x, np.expm1(x))),
    "selu": (POINTS, lambda x: 1.0507 * np.where(x > 0, x, 1.67326 * np.expm1(x))),
    "mish": (POINTS, lambda x: x * np.tanh(np.log1p(np.exp(x)))),
    "leaky_relu": (POINTS, lambda x: np.where(x > 0, x, 0.01 * x)),
    "softsign": (POINTS, lambda x: x / (1 + np.abs(x))),
}


@pytest.mark.parametrize("name", REFERENCES)
def test_function_agrees_with_numpy(name: str, witness: Witness) -> None:
    points, reference = REFERENCES[name]
    with np.errstate(all="ignore"):
        close(witness(getattr(Tensor(points), name)()), reference(points), 5e-6)


def test_nan_goes_through_max_min_clip_and_relu(witness: Witness) -> None:
    x = Tensor([math.nan, 1.0])
    for value in (x.maximum(0), x.minimum(2), x.clip(0, 2), x.relu(), x.relu6(), x.max(), x.min()):
        assert np.isnan(witness(value).reshape(-1)[0])


def test_comparisons_with_nan_are_false_but_for_ne(witness: Witness) -> None:
    x, y = Tensor([math.nan, 1.0, 2.0]), Tensor([1.0, 1.0, 1.0])
    assert witness(x >= y).tolist() == [False, True, True]
    assert witness(x <= y).tolist() == [False, True, False]
    assert witness(x != y).tolist() == [True, False, True]
    assert witness(x == y).tolist() == [False, True, False]


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8])
def test_division_and_remainder_floor_and_zero_gives_zero(
    dtype: npt.DTypeLike, witness: Witness
) -> None:
    left = np.array([7, 7, 100, 5, 0, 3], dtype)
    right = np.array([3, 2, 7, 0, 4, 5], dtype)
    if np.dtype(dtype).kind == "i":
        left[:2] *= -1
        right[1] *= -1
    safe = np.where(right == 0, 1, right)
    found = Tensor(left) // Tensor(right)
    np.testing.assert_array_equal(witness(found), np.where(right == 0, 0, left // safe))
    found = Tensor(left) % Tensor(right)
    np.testing.assert_array_equal(witness(found), np.where(right == 0, 0, left % safe))


def test_idiv_truncates(witness: Witness) -> None:
    found = Tensor([-7, 7, -7]).idiv(Tensor([3, -3, -3]))
    assert witness(found).tolist() == [-2, -2, 2]
    assert witness(Tensor([-7.0]).div(2, rounding_mode="trunc")).tolist() == [-3.0]
    assert witness(Tensor([-7.0]) // 2).tolist() == [-4.0]


def test_the_lowest_integer_survives_minimum(witness: Witness) -> None:
    x = Tensor(np.array([-128, 5], np.int8))
    assert witness(x.min()) == -128
    assert witness(x.minimum(3)).tolist() == [-128, 3]
    assert witness(Tensor(np.array([3, 5], np.uint8)).min()) == 3


def test_powers(witness: Witness) -> None:
    x = np.array([-2.0, 0.5, 3.0], np.float32)
    close(witness(Tensor(x) ** 2), x**2)
    close(witness(Tensor(x) ** 3), x**3)
    close(witness(Tensor(x) ** -2), x**-2.0)
    close(witness(2 ** Tensor(x)), 2**x)
    close(witness(Tensor(np.abs(x)) ** 0.3), np.abs(x) ** 0.3)
    found = Tensor([2, 3, -2]) ** Tensor([3, 4, 5])
    assert found.dtype is dtypes.int32
    assert witness(found).tolist() == [8, 81, -32]
    assert witness(Tensor([5, -5]) ** 0).tolist() == [1, 1]


def test_bits(witness: Witness) -> None:
    a, b = np.array([12, -7], np.int32), np.array([10, 3], np.int32)
    x, y = Tensor(a), Tensor(b)
    for found, wanted in (
        (x & y, a & b),
        (x | y, a | b),
        (x ^ y, a ^ b),
        (~x, ~a),
        (x << 2, a << 2),
    ):
        np.testing.assert_array_equal(witness(found), wanted)
    np.testing.assert_array_equal(witness(x >> 1), a >> 1)
    with pytest.raises(DTypeError, match="floats have no bits"):
        Tensor([1.0]) & 1


def test_where_broadcasts_all_three(witness: Witness) -> None:
    condition = Tensor([[True], [False]])
    found = condition.where(Tensor([1.0, 2.0, 3.0]), 0)
    assert witness(found).tolist() == [[1, 2, 3], [0, 0, 0]]
    assert (Tensor([True]).where(1, 2)).dtype is dtypes.int32
    assert (Tensor([True]).where(1, 2.0)).dtype is dtypes.float32
    wide = Tensor([[True, False]]).where(0, Tensor.ones(2, 2))
    assert witness(wide).tolist() == [[0, 1], [0, 1]]


def test_scalars_are_weak() -> None:
    assert (Tensor([1]) + 1.5).dtype is dtypes.float32
    assert (Tensor([1.0]).half() + 1.5).dtype is dtypes.half
    assert (Tensor(np.array([1], np.uint8)) + 1).dtype is dtypes.uint8
    assert (Tensor([True]) + 1).dtype is dtypes.int32
    assert (Tensor([1]) / 2).dtype is dtypes.float32
    assert (Tensor([1]) < 1.5).dtype is dtypes.bool
    assert (Tensor(np.array([1], np.int64)) + Tensor([1.0]).half()).dtype is dtypes.half


def test_a_float_next_to_an_integer_compares_as_float(witness: Witness) -> None:
    assert witness(Tensor([1, 2]) < 1.5).tolist() == [True, False]


def test_equal_shapes_and_scalars_add_no_nodes() -> None:
    x = Tensor([1.0, 2.0])
    assert len((x + x).uop.toposort()) == len(x.uop.toposort()) + 1
    assert len((x * 2.5).uop.toposort()) == len(x.uop.toposort()) + 2


def test_bools_have_no_difference() -> None:
    with pytest.raises(DTypeError, match="not defined"):
        Tensor([True]) - Tensor([False])


def test_tolerance(witness: Witness) -> None:
    x = Tensor([1.0, math.inf, math.nan, 1.0])
    y = Tensor([1.0 + 1e-7, math.inf, math.nan, 1.1])
    assert witness(x.isclose(y)).tolist() == [True, True, False, False]
    assert witness(x.isclose(y, equal_nan=True)).tolist() == [True, True, True, False]
    assert not witness(x.allclose(y))


def test_special_values(witness: Witness) -> None:
    x = Tensor([math.inf, -math.inf, math.nan, 0.0])
    assert witness(x.isinf()).tolist() == [True, True, False, False]
    assert witness(x.isinf(detect_negative=False)).tolist() == [True, False, False, False]
    assert witness(x.isnan()).tolist() == [False, False, True, False]
    assert witness(x.isfinite()).tolist() == [False, False, False, True]
    assert witness(Tensor([1, 2]).isinf()).tolist() == [False, False]
    found = witness(Tensor([1.0, 2.0, -3.0]).copysign(Tensor([-0.0, 1.0, 1.0])))
    assert found.tolist() == [-1.0, 2.0, 3.0]


def test_mixes(witness: Witness) -> None:
    x, y = np.array([0.0, 100.0, -np.inf]), np.array([1.0, -100.0, -np.inf])
    close(witness(Tensor(x).logaddexp(Tensor(y))), np.logaddexp(x, y))
    close(witness(Tensor([1.0]).lerp(Tensor([3.0]), 0.25)), [1.5])
    close(witness(Tensor([1.0, 2.0]).masked_fill(Tensor([True, False]), 9)), [9, 2])
