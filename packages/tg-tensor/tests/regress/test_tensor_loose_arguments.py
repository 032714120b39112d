"""Dtypes and sizes in the forms in which people have them; others are named errors."""

from __future__ import annotations

import numpy as np
import pytest
from tg_tensor import Tensor, dtypes
from tg_uop.errors import DTypeError, ShapeError, UnknownDTypeError


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (int, dtypes.int32),
        (float, dtypes.float32),
        (bool, dtypes.bool),
        ("half", dtypes.half),
        (np.float64, dtypes.float64),
        (np.dtype("uint8"), dtypes.uint8),
    ],
)
def test_a_dtype_may_be_a_type_or_a_name(given, meant):
    assert Tensor([1, 0], dtype=given).dtype == meant
    assert Tensor([1, 0]).cast(given).dtype == meant
    assert Tensor.zeros(2, dtype=given).dtype == meant


def test_what_names_no_dtype_is_an_error():
    with pytest.raises(UnknownDTypeError, match="float33"):
        Tensor([1.0], dtype="float33")
    with pytest.raises(DTypeError, match="names no number type"):
        Tensor([1.0], dtype=object())


def test_a_size_may_be_a_numpy_integer():
    x = Tensor.arange(6)
    assert x.reshape(np.int64(2), np.int32(3)).shape == (2, 3)
    assert x.reshape((np.int64(3), 2)).pad(((np.int64(1), 0), (0, 0))).shape == (4, 2)


def test_a_size_that_is_no_number_is_an_error():
    with pytest.raises(ShapeError, match="is no dimension"):
        Tensor.arange(6).reshape("a")


def test_none_is_no_operand():
    with pytest.raises(TypeError, match="operand is None"):
        Tensor([1.0]) + None
