"""Numbers at their edges: overflow, division, shifts, limits, comparisons, zeros, tiny ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tensor_table.evaluate import dtype_name
from tg_tensor import Tensor, dtypes

Array = npt.NDArray[Any]

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTS = SIGNED + UNSIGNED
INF, NAN = math.inf, math.nan


def check(pending: Sequence[tuple[Tensor, object]]) -> None:
    """Everything computed in one go, then compared; NaN equals NaN."""
    tensors = [t for t, _ in pending]
    tensors[0].realize(*tensors[1:])
    for tensor, wanted in pending:
        np.testing.assert_array_equal(tensor.numpy(), np.asarray(wanted))


def constants(array: Array) -> list[Tensor]:
    """Each element as a number that is folded."""
    return [Tensor(v.item(), dtype=array.dtype.name) for v in array]


def edges(dtype: str) -> Array:
    """Numbers around the limits of an integer dtype and around 0."""
    limits = np.iinfo(dtype)
    listed = (0, 1, -1, 2, -2, 3, 7, -7, limits.min, limits.min + 1, limits.max, limits.max - 1)
    return np.array([v for v in listed if limits.min <= v <= limits.max], dtype)


def every_pair(dtype: str) -> tuple[Array, Array]:
    """All pairs of edges."""
    left, right = np.meshgrid(edges(dtype), edges(dtype))
    return left.reshape(-1), right.reshape(-1)


OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "&": lambda x, y: x & y,
    "|": lambda x, y: x | y,
    "^": lambda x, y: x ^ y,
    "<": lambda x, y: x < y,
    "==": lambda x, y: x == y,
    ">=": lambda x, y: x >= y,
}


@pytest.mark.parametrize("dtype", INTS)
def test_integers_wrap_and_compare(dtype: str) -> None:
    x, y = every_pair(dtype)
    left, right = Tensor(x), Tensor(y)
    folded = list(zip(constants(x[::7]), constants(y[::7]), strict=True))
    pending: list[tuple[Tensor, object]] = []
    with np.errstate(all="ignore"):
        for operation in OPERATIONS.values():
            wanted = operation(x, y)
            pending.append((operation(left, right), wanted))
            pending += [(operation(a, b), w) for (a, b), w in zip(folded, wanted[::7], strict=True)]
        pending += [
            (left.maximum(right), np.maximum(x, y)),
            (left.minimum(right), np.minimum(x, y)),
            (abs(left), np.abs(x)),
            (-left, (~x) + np.array(1, dtype)),
            (~left, ~x),
        ]
    check(pending)


@pytest.mark.parametrize("dtype", INTS)
def test_division_of_integers(dtype: str) -> None:
    x, y = every_pair(dtype)
    safe = np.where(y == 0, 1, y).astype(dtype)
    with np.errstate(all="ignore"):
        floor, rest = np.where(y == 0, 0, x // safe), np.where(y == 0, 0, x % safe)
    left, right = Tensor(x), Tensor(y)
    folded = list(zip(constants(x[::5]), constants(y[::5]), strict=True))
    pending = [(left // right, floor), (left % right, rest)]
    pending += [(a // b, w) for (a, b), w in zip(folded, floor[::5], strict=True)]
    pending += [(a % b, w) for (a, b), w in zip(folded, rest[::5], strict=True)]
    for divisor in (v for v in (1, 2, 3, 7, 64, -1, -2, -3) if v >= np.iinfo(dtype).min):
        with np.errstate(all="ignore"):
            number = np.array(divisor, dtype)
            pending += [(left // divisor, x // number), (left % divisor, x % number)]
    check(pending)


@pytest.mark.parametrize("dtype", INTS)
def test_shifts_up_to_beyond_the_width(dtype: str) -> None:
    x = edges(dtype)
    bits = np.iinfo(dtype).bits
    pending: list[tuple[Tensor, object]] = []
    for places in (0, 1, bits - 1, bits, bits + 3):
        up = [(int(v) << places) & (2**bits - 1) for v in x]
        wanted_up = np.array(up, np.uint64).astype(dtype)
        wanted_down = np.array([int(v) >> places for v in x], dtype)
        amounts = Tensor(np.full(len(x), places, dtype))
        pending += [
            (Tensor(x) << amounts, wanted_up),
            (Tensor(x) >> amounts, wanted_down),
            (Tensor(x) << places, wanted_up),
            (Tensor(x) >> places, wanted_down),
        ]
    check(pending)


# *** reductions ***


@pytest.mark.parametrize("dtype", ["bool", *INTS])
def test_reductions_of_integers(dtype: str) -> None:
    array = np.array([True, False, True, True]) if dtype == "bool" else edges(dtype)
    wide = {"bool": "int32", "int8": "int32", "int16": "int32", "uint8": "uint32"}
    wide["uint16"] = "uint32"
    result = wide.get(dtype, dtype)
    tensor = Tensor(array)
    with np.errstate(all="ignore"):
        check(
            [
                (tensor.sum(), array.astype(result).sum(dtype=result)),
                (tensor.prod(), array.astype(result).prod(dtype=result)),
                (tensor.cumsum(0), array.astype(result).cumsum(dtype=result)),
                (tensor.max(), array.max()),
                (tensor.min(), array.min()),
                (tensor.argmax(), array.argmax()),
                (tensor.argmin(), array.argmin()),
                (tensor.any(), array.any()),
                (tensor.all(), array.all()),
            ]
        )
    assert dtype_name(tensor.sum()) == dtype_name(tensor.prod()) == result
    assert dtype_name(tensor.cumsum(0)) == result
    assert dtype_name(tensor.max()) == dtype
    assert tensor.mean().dtype is dtypes.float32
    # sums of larger numbers cancel, and the mean is one of float32
    if dtype == "bool" or np.iinfo(dtype).bits < 32:
        assert tensor.mean().item() == pytest.approx(array.astype(np.float64).mean(), rel=1e-6)


@pytest.mark.parametrize("dtype", INTS)
def test_limits_of_dtypes(dtype: str) -> None:
    found, limits = dtypes.from_name(dtype), np.iinfo(dtype)
    assert (found.min, found.max) == (limits.min, limits.max)
    both = Tensor([limits.min, limits.max], dtype=dtype)
    assert both.tolist() == [limits.min, limits.max]
    check([(both.max(), limits.max), (both.min(), limits.min), (both.sort()[0], both.numpy())])


def test_limits_of_floats() -> None:
    for name in ("float16", "float32", "float64"):
        assert dtypes.finfo(dtypes.from_name(name)) is not None
    large = Tensor(np.array([65504, 65520], np.float32)).cast("float16")
    assert large.tolist() == [65504.0, INF]


# *** comparisons across types ***


def test_comparisons_of_unsigned_with_negative() -> None:
    unsigned = Tensor(np.array([0, 1, 2**63, 2**64 - 1], np.uint64))
    signed = Tensor(np.array([-1, 1, -(2**63), -1], np.int64))
    # the two meet in float32, where each value is close enough to tell these apart
    check(
        [
            (unsigned > signed, [True, False, True, True]),
            (unsigned == signed, [False, True, False, False]),
            (unsigned < signed, [False, False, False, False]),
        ]
    )
    small = Tensor(np.array([0, 200, 255], np.uint8))
    check([(small > Tensor(np.array([-1, -56, -1], np.int8)), [True, True, True])])
    check([(Tensor(np.array([0, 2**32 - 1], np.uint32)) > Tensor([-1, -1]), [True, True])])


def test_comparisons_of_integers_with_floats() -> None:
    # 2**24 + 1 is no float32: promoted, it equals 2**24
    whole = Tensor([2**24 + 1, 2**24, 7])
    check([(whole == Tensor([2.0**24, 2.0**24, 7.0]), [True, True, True])])
    check([(whole.cast("float64") == 2.0**24, [False, True, False])])
    check([(Tensor([1, 2, 3]) < 2.5, [True, True, False])])
    check([(Tensor([True, False]) < 0.5, [False, True])])
    check([(Tensor([1, 2]) == math.nan, [False, False]), (Tensor([1, 2]) < INF, [True, True])])


# *** zeros and tiny numbers ***


def test_minus_zero() -> None:
    zeros = Tensor([0.0, -0.0])
    found = {
        "itself": (zeros, [False, True]),
        "negative": (-zeros, [True, False]),
        "times one": (zeros * 1, [False, True]),
        "plus minus zero": (zeros + -0.0, [False, True]),
        "plus zero": (zeros + 0.0, [False, False]),
        "root": (zeros.sqrt(), [False, True]),
        "truncated": (zeros.trunc(), [False, True]),
        "half": (zeros.half(), [False, True]),
        "negative truncated": (Tensor([0.5, -0.5]).trunc(), [False, True]),
    }
    for name, (tensor, signs) in found.items():
        np.testing.assert_array_equal(np.signbit(tensor.numpy()), signs, err_msg=name)
    check([(zeros == 0, [True, True]), (zeros.ne(0), [False, False]), (1 / zeros, [INF, -INF])])
    assert zeros.bool().tolist() == [False, False]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_denormals(dtype: str) -> None:
    least = np.nextafter(np.array(0, dtype), np.array(1, dtype))
    array = np.array([least, -least, least * 3, np.finfo(dtype).tiny], dtype)
    tensor = Tensor(array)
    check(
        [
            (tensor + 0, array),
            (tensor * 2, array * 2),
            (tensor / 2, array / 2),
            (tensor == 0, [False] * 4),
            (tensor > 0, array > 0),
            (abs(tensor), abs(array)),
            (tensor.maximum(0), np.maximum(array, 0)),
            (tensor.cast("float64"), array.astype(np.float64)),
            (tensor.sum(), array.sum(dtype=dtype)),
        ]
    )


def test_float_overflow_and_special_products() -> None:
    with np.errstate(all="ignore"):
        array = np.array([3e38, -3e38, INF, -INF, NAN, 0.0], np.float32)
        tensor = Tensor(array)
        check(
            [
                (tensor * 10, array * 10),
                (tensor + tensor, array + array),
                (tensor - tensor, array - array),
                (tensor * 0, array * 0),
                (tensor / tensor, array / array),
                (0 / tensor, 0 / array),
                (tensor.sum(), NAN),
                (tensor.isnan(), np.isnan(array)),
                (tensor.isinf(), np.isinf(array)),
            ]
        )


def test_argmax_of_ties_and_nan() -> None:
    for dtype in ("float16", "float32", "float64"):
        ties = np.array([1, 5, 5, -3, -3], dtype)
        holed = np.array([1, NAN, 5, NAN], dtype)
        check(
            [
                (Tensor(ties).argmax(), 1),
                (Tensor(ties).argmin(), 3),
                (Tensor(holed).argmax(), 1),
                (Tensor(holed).argmin(), 1),
                (Tensor(holed).max(), NAN),
                (Tensor(np.full(3, -INF, dtype)).argmax(), 0),
                (Tensor(np.full(3, INF, dtype)).argmin(), 0),
            ]
        )
