"""Matrices as layers: Linear and Embedding."""

from __future__ import annotations

import math

from tg_tensor import Tensor, dtypes
from tg_uop.arguments import methods_name_bad_arguments

from tg_nn.errors import LayerError
from tg_nn.layers.checks import check_counts


@methods_name_bad_arguments()
class Linear:
    """y = x @ weight.T + bias; weight is (out_features, in_features), uniform at first
    in ±1/sqrt(in_features), as in PyTorch.

    >>> Linear(4, 2)(Tensor.ones(3, 4)).shape
    (3, 2)
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        layer = f"Linear({in_features!r}, {out_features!r})"
        check_counts(layer, in_features=in_features, out_features=out_features)
        bound = 1 / math.sqrt(in_features)
        self.weight = Tensor.uniform(out_features, in_features, low=-bound, high=bound)
        self.bias = Tensor.uniform(out_features, low=-bound, high=bound) if bias else None

    def __call__(self, x: Tensor) -> Tensor:
        """x (..., in_features) gives (..., out_features)."""
        return x.linear(self.weight.transpose(), self.bias)


@methods_name_bad_arguments()
class Embedding:
    """Rows of a table by number; weight is (vocab_size, embed_size), Glorot uniform at first.

    >>> Embedding(10, 3)(Tensor([[1, 2]])).shape
    (1, 2, 3)
    """

    def __init__(self, vocab_size: int, embed_size: int) -> None:
        layer = f"Embedding({vocab_size!r}, {embed_size!r})"
        check_counts(layer, vocab_size=vocab_size, embed_size=embed_size)
        self.vocab_size = vocab_size
        self.embed_size = embed_size
        self.weight = Tensor.glorot_uniform(vocab_size, embed_size)

    def __call__(self, index: Tensor) -> Tensor:
        """index (...) of an integer dtype gives (..., embed_size)."""
        if not dtypes.is_int(index.dtype):
            raise LayerError(
                layer="Embedding",
                reason=f"the index has dtype {index.dtype}",
                hint="cast it to an integer dtype",
            )
        return self.weight[index]
