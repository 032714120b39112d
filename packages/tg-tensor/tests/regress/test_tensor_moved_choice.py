"""A choice by a WHERE that is read through a reshape and a permutation is scheduled."""

from __future__ import annotations

import numpy as np
from tg_tensor import Tensor


def test_a_gather_along_an_axis_of_an_update_that_starts_somewhere_else_in_each_batch():
    update = Tensor(np.arange(10, dtype=np.float32).reshape(2, 1, 1, 5))
    start = Tensor(np.array([1, 2], np.int32)).reshape(2, 1, 1, 1)
    step = Tensor.arange(4).reshape(1, 1, 4, 1) - start
    taken = update.gather(2, step.clip(0, 0).expand(2, 1, 4, 5))
    found = ((step >= 0) & (step < 1)).where(taken, 0).numpy()
    expected = np.zeros((2, 1, 4, 5), np.float32)
    expected[0, 0, 1], expected[1, 0, 2] = np.arange(5), np.arange(5, 10)
    assert np.array_equal(found, expected)
