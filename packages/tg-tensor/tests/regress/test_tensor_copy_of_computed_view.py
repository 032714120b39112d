"""A view that is computed and copied to another device in one schedule: the copy is the view."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from tg_tensor import Tensor

A: npt.NDArray[np.float32] = np.arange(72, dtype=np.float32).reshape(12, 6)


def test_a_row_and_its_copy() -> None:
    row = Tensor(A).to("CPU:1")[3]
    copy = row.to("CPU:2")
    row.realize(copy)
    np.testing.assert_array_equal(row.numpy(), A[3])
    np.testing.assert_array_equal(copy.numpy(), A[3])


def test_a_view_of_a_view_and_its_copy() -> None:
    block = Tensor(A).to("CPU:1")[2:8]
    copy = block[1:3].to("CPU:2")
    block.realize(copy)
    np.testing.assert_array_equal(block.numpy(), A[2:8])
    np.testing.assert_array_equal(copy.numpy(), A[3:5])
