"""Layers of other libraries that have no class here: the message says what to use."""

from __future__ import annotations

import pytest
import tg_nn


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("ReLU", "Tensor.relu does this"),
        ("GELU", "Tensor.gelu does this"),
        ("LeakyReLU", "Tensor.leaky_relu does this"),
        ("MSELoss", "Tensor.mse_loss does this"),
        ("CrossEntropyLoss", "Tensor.cross_entropy does this"),
        ("MaxPool2d", "Tensor.max_pool2d does this"),
        ("Dropout", "Tensor.dropout does this"),
        ("Sequential", "Tensor.sequential does this"),
        ("BatchNorm1d", "did you mean BatchNorm"),
        ("linear", "did you mean Linear"),
    ],
)
def test_layers_that_are_methods_or_have_another_name(name: str, hint: str) -> None:
    with pytest.raises(AttributeError, match=hint):
        getattr(tg_nn, name)


def test_a_name_like_no_other_gets_no_hint() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'Zzz'$"):
        tg_nn.Zzz
