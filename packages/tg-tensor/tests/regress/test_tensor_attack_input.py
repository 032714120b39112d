"""Awkward input that met internal errors: it works, or the error names the argument."""

from __future__ import annotations

import numpy as np
import pytest
from tg_tensor import Tensor, dtypes
from tg_tensor.errors import ArgumentError


def test_relu_of_a_bool_is_itself() -> None:
    """The 0 beside it is no bool."""
    assert Tensor([True, False]).relu().tolist() == [True, False]


def test_a_bool_is_written_at_places() -> None:
    """The value stays a bool."""
    x = Tensor([True, True, False]).realize()
    x[Tensor([0, 2])] = Tensor([False, True])
    assert x.dtype == dtypes.bool
    assert x.tolist() == [False, True, True]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("step", [2, 3, -2, -3, 7])
def test_steps_longer_than_the_axis_are_written(size: int, step: int) -> None:
    """A slice that names one element only, by a long step, is a place too."""
    want = np.zeros((size, 3), np.float32)
    x = Tensor(want.copy()).realize()
    x[::step, ::step] = 1.0
    want[::step, ::step] = 1.0
    assert np.array_equal(x.numpy(), want)


@pytest.mark.parametrize(
    ("kernel", "stride", "dilation"), [(0, None, 1), (2, 0, 1), (2, -1, 1), (2, 1, 0), (-1, 1, 1)]
)
def test_windows_have_positive_sizes(kernel: int, stride: int | None, dilation: int) -> None:
    """Pools name the argument that is 0 or less."""
    x = Tensor.ones(1, 1, 4, 4)
    with pytest.raises(ArgumentError, match="1 or more"):
        x.max_pool2d((kernel, kernel), stride=stride, dilation=dilation)
    with pytest.raises(ArgumentError, match="1 or more"):
        x.avg_pool2d((kernel, kernel), stride=stride, dilation=dilation)


def test_picking_from_bools_gives_bools() -> None:
    """Indexing, sorting and what is built on them keep the dtype."""
    data = np.array([[True, False, True], [False, True, True], [False, False, True]])
    x = Tensor(data)
    rows, columns = Tensor([2, 0]), np.array([[1], [2], [0]])
    pairs = [
        (x[rows], data[[2, 0]]),
        (x[rows, rows], data[[2, 0], [2, 0]]),
        (x.gather(1, Tensor(columns)), np.take_along_axis(data, columns, 1)),
        (x[Tensor([True, False, True])], data[[0, 2]]),
        (x.masked_select(x), data[data]),
        (x.sort(1)[0], np.sort(data, 1)),
        (x.triu(), np.triu(data)),
        (x.tril(), np.tril(data)),
    ]
    for got, want in pairs:
        assert got.dtype == dtypes.bool
        assert np.array_equal(got.numpy(), want)
