"""The first values of long axes: of few of them, only parts are sorted."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tg_tensor import Tensor

rng = np.random.default_rng(0)


def order_of(x: npt.NDArray[Any], largest: bool) -> npt.NDArray[np.intp]:
    """Positions along the last axis: by value, NaN as the largest, equal ones by position."""
    values = x.astype(np.float64)
    nan = np.isnan(values)
    keys = np.where(nan, 0, -values if largest else values)
    last = np.where(nan, -1 if largest else 1, 0)
    flat = (-1, x.shape[-1])
    rows = [np.lexsort(pair) for pair in zip(keys.reshape(flat), last.reshape(flat), strict=True)]
    return np.stack(rows).reshape(x.shape)


@pytest.mark.parametrize("largest", [True, False], ids=["largest", "smallest"])
@pytest.mark.parametrize("ties", [False, True], ids=["distinct", "ties"])
@pytest.mark.parametrize(
    ("shape", "k", "axis", "dtype"),
    [
        ((3, 1000), 5, 1, np.float32),
        ((1, 9001), 50, -1, np.float32),
        ((5000,), 1, 0, np.float32),
        ((700, 3), 7, 0, np.int32),
        ((4, 999), 3, 1, np.int8),
        ((2, 3000), 10, 1, np.float16),
        ((2, 3000), 4, 1, np.uint8),
        ((600,), 37, 0, np.float32),
        ((2, 600), 3, 1, np.float64),
    ],
)
def test_topk_of_a_long_axis(
    shape: tuple[int, ...], k: int, axis: int, dtype: type[np.generic], ties: bool, largest: bool
) -> None:
    drawn = rng.standard_normal(shape) * 100
    drawn = np.abs(drawn) if dtype is np.uint8 else drawn
    x = (np.round(drawn / 60) if ties else drawn).clip(-127, 127).astype(dtype)
    if ties and np.issubdtype(dtype, np.floating):
        for special in (np.nan, np.inf, -np.inf):
            x.reshape(-1)[rng.integers(0, x.size, 9)] = special
    values, places = Tensor(x).topk(k, axis, largest)
    expected = order_of(np.moveaxis(x, axis, -1), largest)[..., :k]
    np.testing.assert_array_equal(np.moveaxis(places.numpy(), axis, -1), expected)
    np.testing.assert_array_equal(values.numpy(), np.take_along_axis(x, places.numpy(), axis))


def test_the_gradient_goes_to_what_was_taken() -> None:
    x = Tensor(rng.standard_normal((2, 2000)).astype(np.float32))
    values, places = x.topk(3)
    expected = np.zeros(x.shape)
    np.put_along_axis(expected, places.numpy(), 1, 1)
    np.testing.assert_array_equal(values.sum().gradient(x)[0].numpy(), expected)
