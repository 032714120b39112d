"""Large reductions to few results are cut in two whatever their length, and keep their values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tg_tensor import GlobalCounters, Tensor

PRIME = 40009
SHAPES = [(PRIME,), (3, 13337), (211, 199), (37, 3, 401), (1 << 15,)]


def _numbers(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(5).integers(-9, 9, shape).astype(np.int32)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_element_counts_once(shape: tuple[int, ...]) -> None:
    array = _numbers(shape)
    given = Tensor(array).realize()
    assert given.sum().item() == array.sum()
    assert given.max().item() == array.max()
    assert given.min().item() == array.min()
    for place in (0, -1):
        marked = array.copy()
        marked.flat[place] = 1000
        assert Tensor(marked).max().item() == 1000
        assert Tensor(marked).sum().item() == marked.sum()


def test_products_and_floats() -> None:
    signs = np.where(_numbers((PRIME,)) > 0, 1, -1).astype(np.int32)
    assert Tensor(signs).prod().item() == signs.prod()
    floats = np.random.default_rng(6).standard_normal(PRIME).astype(np.float32)
    np.testing.assert_allclose(Tensor(floats).exp().sum().numpy(), np.exp(floats).sum(), rtol=1e-4)
    floats[PRIME - 1] = np.nan
    assert np.isnan(Tensor(floats).max().numpy())


def _exponentials(x: Tensor) -> Tensor:
    return (x.exp() * 2).sum()


def _largest(x: Tensor) -> Tensor:
    return (x - 1).abs().max()


@pytest.mark.parametrize("function", [_exponentials, _largest])
def test_the_rest_takes_no_kernel_of_its_own(function: Callable[[Tensor], Tensor]) -> None:
    given = Tensor(np.ones(PRIME, np.float32)).realize()
    GlobalCounters.reset()
    function(given).realize()
    assert GlobalCounters.kernel_count == 2
