"""Datasets as tensors."""

from tg_nn.datasets.mnist import mnist

__all__ = ["mnist"]
