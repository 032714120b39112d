"""Layers, optimizers, weight files and datasets on top of tg-tensor."""

from importlib import import_module
from typing import TYPE_CHECKING

from tg_nn import optim, state
from tg_nn.layers.conv import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from tg_nn.layers.linear import Embedding, Linear
from tg_nn.layers.norm import (
    BatchNorm,
    BatchNorm2d,
    BatchNorm3d,
    GroupNorm,
    InstanceNorm,
    LayerNorm,
    LayerNorm2d,
    RMSNorm,
)
from tg_nn.layers.recurrent import LSTMCell
from tg_nn.missing import missing_layer

if TYPE_CHECKING:
    from tg_nn import datasets

__all__ = [
    "BatchNorm",
    "BatchNorm2d",
    "BatchNorm3d",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "Embedding",
    "GroupNorm",
    "InstanceNorm",
    "LSTMCell",
    "LayerNorm",
    "LayerNorm2d",
    "Linear",
    "RMSNorm",
    "datasets",
    "optim",
    "state",
]


def __getattr__(name: str) -> object:
    """Load the datasets when they are first asked for: with them comes what downloads them."""
    if name != "datasets":
        raise AttributeError(missing_layer(name, __all__))
    return import_module("tg_nn.datasets")
