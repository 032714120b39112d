"""Captured steps notice the settings of layers."""

from __future__ import annotations

import numpy as np
import tg_nn as nn
from tg_tensor import Tensor, TinyJit


def test_settings_of_library_layers_are_noticed() -> None:
    layer = nn.LayerNorm(4, elementwise_affine=False)
    step = TinyJit(lambda x: layer(x).realize())
    x = Tensor([[1.0, 2.0, 3.0, 4.0]]).realize()
    for eps in (1e-5, 10.0):
        layer.eps = eps
        for _ in range(3):
            np.testing.assert_allclose(step(x).numpy(), layer(x).numpy(), rtol=1e-6)
