"""Writes of values of another dtype: items are converted, Tensors are assigned as they are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tg_tensor import Tensor, dtypes
from tg_tensor.errors import AssignError, DataError


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.__setitem__(slice(2), 1.7),
        lambda x: x.__setitem__(slice(2), [1.7, 1.2]),
        lambda x: x.__setitem__(slice(2), np.array([1.7, 1.2])),
        lambda x: x.__setitem__(slice(2), Tensor([1.7, 1.2])),
        lambda x: x.__setitem__(Tensor([0, 1]), 1.7),
        lambda x: x.__setitem__(Tensor([True, True, False]), 1.7),
        lambda x: x[:2].assign(1.7),
        lambda x: x[:2].assign([1.7, 1.2]),
        lambda x: x[:2].fill_(1.7),
        lambda x: x[:2].copy_(Tensor([1.7, 1.2])),
    ],
)
def test_fractions_are_cut_off_in_integers(write: Callable[[Tensor], object]) -> None:
    x = Tensor([5, 6, 7])
    write(x)
    assert x.tolist() == [1, 1, 7]
    assert x.dtype is dtypes.int


def test_a_tensor_of_another_dtype_is_not_assigned() -> None:
    x = Tensor([5, 6, 7])
    with pytest.raises(AssignError, match="cast the value first"):
        x.assign(x / 2)
    with pytest.raises(AssignError, match="the dtypes differ"):
        x += 0.5
    with pytest.raises(DataError, match="no room"):
        x[0] = 1 << 40
    assert x.tolist() == [5, 6, 7]


def test_what_is_detached_keeps_its_values_and_can_be_written_through() -> None:
    x = Tensor([1.0, 2.0]).realize()
    before = x.detach()
    x.assign([3.0, 4.0])
    x.realize()
    assert before.tolist() == [1, 2]
    x.detach().assign([7.0, 8.0])
    assert x.tolist() == [7, 8]
