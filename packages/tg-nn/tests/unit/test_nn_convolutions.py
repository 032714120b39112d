"""Convolution layers: padding modes are paddings of the input, three dimensions, mistakes."""

from __future__ import annotations

import numpy as np
import pytest
from tg_nn import Conv1d, Conv2d, Conv3d, ConvTranspose3d
from tg_nn.errors import LayerError
from tg_tensor import Tensor


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_padding_modes_pad_the_input(mode: str) -> None:
    layer = Conv2d(2, 3, 3, padding=(1, 2), padding_mode=mode)
    x = Tensor.rand(1, 2, 5, 6).realize()
    padded = x.pad((2, 2, 1, 1), mode=mode)
    wanted = padded.conv2d(layer.weight, layer.bias)
    np.testing.assert_allclose(layer(x).numpy(), wanted.numpy(), rtol=1e-5, atol=1e-6)
    assert Conv1d(2, 3, 4, padding="same", padding_mode=mode)(x[:, :, 0]).shape == (1, 3, 6)


def test_three_dimensions() -> None:
    x = Tensor.ones(1, 2, 4, 5, 6)
    assert Conv3d(2, 3, 3, padding=1, stride=2)(x).shape == (1, 3, 2, 3, 3)
    assert ConvTranspose3d(2, 3, 2, stride=2)(x).shape == (1, 3, 8, 10, 12)


def test_unknown_padding_mode() -> None:
    with pytest.raises(LayerError, match="mirror"):
        Conv2d(1, 1, 3, padding_mode="mirror")
