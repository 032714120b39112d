"""Convolution layers with every padding mode, in one to three dimensions, against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tg_nn
from tg_tensor import Tensor

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

SPATIAL = {1: (9,), 2: (7, 8), 3: (4, 5, 6)}


def assert_same(name: str, dims: int, **options: Any) -> None:
    theirs = getattr(torch.nn, f"{name}{dims}d")(4, 6, 3, **options)
    ours = getattr(tg_nn, f"{name}{dims}d")(4, 6, 3, **options)
    assert ours.weight.shape == tuple(theirs.weight.shape)
    ours.weight = Tensor(theirs.weight.detach().numpy())
    ours.bias = Tensor(theirs.bias.detach().numpy())
    x = np.random.default_rng(0).standard_normal((2, 4, *SPATIAL[dims])).astype(np.float32)
    wanted = theirs(torch.tensor(x)).detach().numpy()
    np.testing.assert_allclose(ours(Tensor(x)).numpy(), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["zeros", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_padding_modes(dims: int, mode: str) -> None:
    assert_same("Conv", dims, padding=2, padding_mode=mode)
    assert_same("Conv", dims, padding=(1, 2, 1)[:dims], stride=2, padding_mode=mode)
    assert_same("Conv", dims, padding="same", dilation=2, padding_mode=mode)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_transposed(dims: int) -> None:
    assert_same("ConvTranspose", dims, stride=2, padding=1, output_padding=1)
    assert_same("ConvTranspose", dims, groups=2, dilation=2)
