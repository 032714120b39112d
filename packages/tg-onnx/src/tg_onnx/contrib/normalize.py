"""Normalization over the last axis, with the sums that stand before it in transformers."""

from __future__ import annotations

from tg_tensor import Tensor, dtypes

from tg_onnx.contrib.fused import DOMAIN
from tg_onnx.ops.shape import axis_of
from tg_onnx.registry import operator


def _wide(x: Tensor) -> Tensor:
    return x.float() if x.dtype.itemsize < 4 else x


def layer_norm(
    x: Tensor, gamma: Tensor, beta: Tensor | None, epsilon: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The normalized values, the means, and the reciprocal deviations."""
    wide = _wide(x)
    mean = wide.mean(-1, keepdim=True)
    centered = wide - mean
    inverse = (centered.square().mean(-1, keepdim=True) + epsilon).rsqrt()
    y = centered * inverse * _wide(gamma)
    return (y if beta is None else y + _wide(beta)).cast(x.dtype), mean, inverse


def root_mean_square_norm(
    x: Tensor, gamma: Tensor, epsilon: float, axis: int = -1
) -> tuple[Tensor, Tensor]:
    """The normalized values, and the reciprocal roots of mean squares."""
    wide = _wide(x)
    axes = tuple(range(axis_of(axis, x.ndim), x.ndim))
    inverse = (wide.square().mean(axes, keepdim=True) + epsilon).rsqrt()
    return (wide * inverse * _wide(gamma)).cast(gamma.dtype), inverse


@operator("SimplifiedLayerNormalization")
@operator("SimplifiedLayerNormalization", domain=DOMAIN)
def simplified_layer_normalization(
    x: Tensor,
    scale: Tensor,
    *,
    n_outputs: int,
    axis: int = -1,
    epsilon: float = 1e-5,
    stash_type: int = 1,
) -> Tensor | tuple[Tensor, Tensor]:
    """Divide by the root of the mean square."""
    y, inverse = root_mean_square_norm(x, scale, epsilon, axis)
    return y if n_outputs == 1 else (y, inverse)


def _sum(x: Tensor, skip: Tensor, bias: Tensor | None) -> Tensor:
    total = x + skip
    return total if bias is None else total + bias


@operator("SkipLayerNormalization", domain=DOMAIN)
def skip_layer_normalization(
    x: Tensor,
    skip: Tensor,
    gamma: Tensor,
    beta: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    epsilon: float = 1e-12,
) -> tuple[Tensor, ...]:
    """Normalize a sum, which is the fourth result."""
    total = _sum(x, skip, bias)
    y, mean, inverse = layer_norm(total, gamma, beta, epsilon)
    return y, mean, inverse, total


@operator("SkipSimplifiedLayerNormalization", domain=DOMAIN)
def skip_simplified_layer_normalization(
    x: Tensor,
    skip: Tensor,
    gamma: Tensor,
    bias: Tensor | None = None,
    *,
    epsilon: float = 1e-12,
) -> tuple[Tensor, ...]:
    """Divide a sum by the root of its mean square."""
    total = _sum(x, skip, bias)
    y, inverse = root_mean_square_norm(total, gamma, epsilon)
    # there is no mean
    return y, inverse.zeros_like(), inverse, total


@operator("EmbedLayerNormalization", domain=DOMAIN)
def embed_layer_normalization(
    ids: Tensor,
    segments: Tensor | None,
    words: Tensor,
    places: Tensor,
    segment_table: Tensor | None,
    gamma: Tensor,
    beta: Tensor,
    mask: Tensor | None = None,
    positions: Tensor | None = None,
    *,
    epsilon: float = 1e-12,
    mask_index_type: int | None = None,
) -> tuple[Tensor, ...]:
    """Rows of tables for words, their places and segments, added and normalized.

    The second result counts the words that the mask leaves, or is 0 without one.
    """
    batch, length = (int(size) for size in ids.shape)
    where = places[:length].unsqueeze(0) if positions is None else places[positions]
    total = words[ids] + where
    if segments is not None and segment_table is not None:
        total = total + segment_table[segments]
    y, _, _ = layer_norm(total, gamma, beta, epsilon)
    if mask is None or mask_index_type == 0:
        count = Tensor.zeros(batch, dtype=dtypes.int32, device=ids.device)
    else:
        count = (mask == 1).sum(-1).cast(dtypes.int32)
    return y, count, total
