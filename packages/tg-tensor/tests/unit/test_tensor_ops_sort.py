"""Sorting against NumPy, through the witness."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from tg_tensor import GlobalCounters, Tensor
from tg_tensor.errors import ArgumentError

Array = npt.NDArray[np.generic]
Witness = Callable[[Tensor], Array]


@pytest.mark.parametrize("count", [1, 7, 128, 200])
@pytest.mark.parametrize("dtype", ["f4", "i4", "i8", "u1", "u4", "f8", "f2"])
def test_order_is_that_of_numpy_and_stable(count: int, dtype: str, witness: Witness) -> None:
    values = (np.random.default_rng(count).standard_normal((3, count)) * 9).round()
    array = np.abs(values).astype(dtype) if dtype[0] == "u" else values.astype(dtype)
    # a processor sorts long axes by a kernel, which the witness does not run
    ordered, positions = Tensor(array, device="PYTHON").sort()
    np.testing.assert_array_equal(witness(ordered), np.sort(array))
    np.testing.assert_array_equal(witness(positions), np.argsort(array, kind="stable", axis=-1))


def test_falling_order_keeps_equal_values_in_place(witness: Witness) -> None:
    assert witness(Tensor([1, 3, 1, 3]).argsort(descending=True)).tolist() == [1, 3, 0, 2]


def test_nan_is_largest_and_zeros_are_equal(witness: Witness) -> None:
    x = Tensor([3.0, math.nan, 1.0, -0.0, 0.0, math.inf, -math.inf])
    assert witness(x.argsort()).tolist() == [6, 3, 4, 2, 0, 5, 1]
    assert witness(x.argsort(descending=True)).tolist() == [1, 5, 0, 2, 3, 4, 6]


def test_whole_range_of_64_bits(witness: Witness) -> None:
    array = np.array([2**63 - 1, -(2**63), 5, -1, 2**32, -(2**32), 0], np.int64)
    np.testing.assert_array_equal(witness(Tensor(array).sort()[0]), np.sort(array))
    unsigned = np.array([2**64 - 1, 0, 2**63, 5], np.uint64)
    np.testing.assert_array_equal(witness(Tensor(unsigned).sort()[0]), np.sort(unsigned))


def test_other_axes_and_booleans(witness: Witness) -> None:
    array = np.array([[3, 1], [2, 5]])
    np.testing.assert_array_equal(witness(Tensor(array).sort(0)[0]), np.sort(array, 0))
    assert witness(Tensor([True, False, True]).sort()[0]).tolist() == [False, True, True]


def test_topk(witness: Witness) -> None:
    values, positions = Tensor([[1, 5, 3], [9, 7, 8]]).topk(2)
    assert witness(values).tolist() == [[5, 3], [9, 8]]
    assert witness(positions).tolist() == [[1, 2], [0, 2]]
    assert witness(Tensor([4, 2, 9]).topk(1, largest=False)[0]).tolist() == [2]
    with pytest.raises(ArgumentError, match="0 to 3"):
        Tensor([1, 2, 3]).topk(4)


@pytest.mark.parametrize("dtype", ["f4", "i8", "u4", "f2"])
@pytest.mark.parametrize("shape", [(129,), (257,), (33, 200), (3, 1000), (2, 4096)])
def test_long_axes_are_sorted_in_few_kernels(shape: tuple[int, ...], dtype: str) -> None:
    values = (np.random.default_rng(3).standard_normal(shape) * 50).round()
    array = np.abs(values).astype(dtype) if dtype[0] == "u" else values.astype(dtype)
    given = Tensor(array).realize()
    GlobalCounters.reset()
    ordered, positions = given.sort()
    ordered.realize(positions)
    assert GlobalCounters.kernel_count <= 8
    np.testing.assert_array_equal(ordered.numpy(), np.sort(array))
    np.testing.assert_array_equal(positions.numpy(), np.argsort(array, kind="stable", axis=-1))
