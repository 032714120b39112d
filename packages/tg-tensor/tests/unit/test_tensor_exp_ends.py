"""Powers of two where results underflow: the numbers that lanes of any width must agree on."""

from __future__ import annotations

import numpy as np
import pytest
from tg_tensor import Tensor

LOWEST = {np.float32: -149, np.float64: -1074}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("lanes", [1, 4, 8, 16, 48])
def test_subnormal_results_and_zeros_round_once(dtype: type, lanes: int) -> None:
    lowest = LOWEST[dtype]
    steps = np.arange(lowest - 60, lowest + 36, 0.25)
    ends = [-np.inf, np.inf, np.nan, -1e30, 1e30, -0.0, 0.0, lowest - 0.999, lowest - 1.0]
    given = np.resize(np.array([*ends, *steps], dtype), 480).reshape(-1, lanes)
    smallest = np.finfo(dtype).smallest_subnormal
    for row in (given[:1], given):
        with np.errstate(all="ignore"):
            expected = np.exp2(row.astype(np.longdouble)).astype(dtype)
        found = Tensor(row).exp2().numpy()
        tolerance = 2e-7 if dtype is np.float32 else 4e-16
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=smallest)
        np.testing.assert_array_equal(found[row < lowest - 1], 0)


def test_rows_with_masked_elements() -> None:
    scores = np.arange(256, dtype=np.float32).reshape(8, 32) % 7
    scores[np.triu_indices(8, 1, 32)] = -np.inf
    exact = np.exp(scores.astype(np.float64) - scores.max(1, keepdims=True))
    expected = exact / exact.sum(1, keepdims=True)
    np.testing.assert_allclose(Tensor(scores).softmax(1).numpy(), expected, rtol=1e-6)
