"""Memory may be overwritten by another view of itself: the view is copied first."""

from __future__ import annotations

import numpy as np
import pytest
from tg_tensor import Tensor

START = np.arange(6, dtype=np.int8).reshape(3, 2)


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.__setitem__(slice(None, None, -1), x),
        lambda x: x.__setitem__(slice(None), x[::-1]),
        lambda x: x.__setitem__((slice(1, None),), x[:-1]),
        lambda x: x.__setitem__((slice(None, -1),), x[1:]),
        lambda x: x.__setitem__((slice(None), slice(None, None, -1)), x),
    ],
)
def test_overlapping_views_of_one_memory(write):
    want = START.copy()
    write(want)  # NumPy copies overlapping sources too
    ours = Tensor(START).realize()
    before = ours ^ 1
    write(ours)
    again = ours ^ ours[::-1]
    np.testing.assert_array_equal(again.numpy(), want ^ want[::-1])
    np.testing.assert_array_equal(ours.numpy(), want)
    np.testing.assert_array_equal(before.numpy(), START ^ 1)
