"""Attention with masks as onnxruntime writes them: lengths, positions or matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tg_tensor import Tensor
from tg_uop import DType

from tg_onnx.contrib.fused import DOMAIN
from tg_onnx.contrib.rotary import rotate
from tg_onnx.ops.attention import with_heads, without_heads
from tg_onnx.registry import operator

MASKED = -10000.0
"""What is added to scores that a mask takes out, unless a node says otherwise."""


def causal(scores: Tensor, past: int) -> Tensor:
    """Scores where no query sees a key after it; `past` keys come before the first query."""
    queries, keys = int(scores.shape[-2]), int(scores.shape[-1])
    rows = Tensor.arange(queries, device=scores.device).reshape(queries, 1) + past
    columns = Tensor.arange(keys, device=scores.device)
    return (columns <= rows).where(scores, scores.dtype.min)


def scaled_scores(q: Tensor, k: Tensor, scale: float) -> Tensor:
    """Products of queries and keys in float32; a scale of 0 is the usual one."""
    factor = scale or 1 / math.sqrt(int(q.shape[-1]))
    return (q.float() @ k.float().transpose(-2, -1)) * factor


def padding_bias(mask: Tensor, scores: Tensor, filter_value: float) -> Tensor:
    """What a mask of lengths, of keys, or of queries by keys adds to the scores.

    One number for a batch is the count of its keys; a second for each is where they begin.
    """
    batch, _, queries, keys = (int(size) for size in scores.shape)
    if mask.ndim == 1:
        places = Tensor.arange(keys, device=mask.device)
        seen = places < mask[:batch].reshape(batch, 1)
        if int(mask.shape[0]) == 2 * batch:
            seen = seen & (places >= mask[batch:].reshape(batch, 1))
        seen = seen.reshape(batch, 1, 1, keys)
    elif mask.ndim == 2:
        seen = (mask != 0).reshape(batch, 1, 1, keys)
    elif mask.ndim == 3:
        seen = (mask != 0).unsqueeze(1)
    else:
        seen = (mask != 0)[:, :, keys - queries : keys, :keys]
    return seen.where(0.0, filter_value)


def _masked_scores(
    q: Tensor,
    k: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    past_keys: int | None,
    scale: float,
    filter_value: float,
) -> Tensor:
    """The scores of all keys. `past_keys` is None where queries see keys after them too."""
    scores = scaled_scores(q, k, scale)
    if mask is not None:
        scores = scores + padding_bias(mask, scores, filter_value)
    if past_keys is not None:
        scores = causal(scores, past_keys)
    return scores if bias is None else scores + bias.float()


def attend(scores: Tensor, v: Tensor, dtype: DType) -> Tensor:
    """The values that the scores choose."""
    return (scores.softmax(-1) @ v.float()).cast(dtype)


@operator("Attention", domain=DOMAIN)
def attention(
    x: Tensor,
    weights: Tensor,
    bias: Tensor | None = None,
    mask: Tensor | None = None,
    past: Tensor | None = None,
    attention_bias: Tensor | None = None,
    past_length: Tensor | None = None,
    *,
    num_heads: int,
    n_outputs: int,
    unidirectional: int = 0,
    qkv_hidden_sizes: Sequence[int] | None = None,
    scale: float = 0.0,
    mask_filter_value: float = MASKED,
    do_rotary: int = 0,
    rotary_embedding_dim: int = 0,
    past_present_share_buffer: int = 0,
) -> Tensor | tuple[Tensor, Tensor]:
    """Projections of one input to queries, keys and values, and attention among them."""
    if past_present_share_buffer or past_length is not None or do_rotary:
        raise NotImplementedError("past_present_share_buffer and do_rotary")
    projected = x @ weights
    if bias is not None:
        projected = projected + bias
    third = int(weights.shape[1]) // 3
    sizes = list(qkv_hidden_sizes) if qkv_hidden_sizes else [third] * 3
    q, k, v = (with_heads(part, num_heads) for part in projected.split(sizes, -1))
    before = 0
    if past is not None:
        before = int(past.shape[3])
        k, v = past[0].cat(k, dim=2), past[1].cat(v, dim=2)
    past_keys = before if unidirectional else None
    scores = _masked_scores(q, k, mask, attention_bias, past_keys, scale, mask_filter_value)
    y = without_heads(attend(scores, v, x.dtype))
    return y if n_outputs == 1 else (y, Tensor.stack(k, v, dim=0))


def _heads_of(
    query: Tensor, key: Tensor | None, value: Tensor | None, bias: Tensor | None, heads: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values by heads, whichever of them come packed in one tensor."""
    if query.ndim == 5:
        q, k, v = (query[:, :, :, i].transpose(1, 2) for i in range(3))
    elif key is None:
        raise ValueError("there are no keys")
    elif key.ndim == 5:
        q = with_heads(query, heads)
        k, v = (key[:, :, :, i].transpose(1, 2) for i in range(2))
    else:
        if value is None:
            raise ValueError("there are no values")
        q = with_heads(query, heads)
        k = key if key.ndim == 4 else with_heads(key, heads)
        v = value if value.ndim == 4 else with_heads(value, heads)
    if bias is None:
        return q, k, v
    widths = [heads * int(part.shape[-1]) for part in (q, k, v)]
    given = bias.split(widths, 0)
    biases = [b.reshape(1, heads, 1, -1) for b in given]
    if key is not None and key.ndim == 4:
        # keys that come by heads are those of a cache, which has them with their bias
        return q + biases[0], k, v
    return q + biases[0], k + biases[1], v + biases[2]


@operator("MultiHeadAttention", domain=DOMAIN)
def multi_head_attention(
    query: Tensor,
    key: Tensor | None = None,
    value: Tensor | None = None,
    bias: Tensor | None = None,
    key_mask: Tensor | None = None,
    attention_bias: Tensor | None = None,
    past_key: Tensor | None = None,
    past_value: Tensor | None = None,
    past_length: Tensor | None = None,
    cache_indirection: Tensor | None = None,
    *,
    num_heads: int,
    mask_filter_value: float = MASKED,
    scale: float = 0.0,
    unidirectional: int = 0,
) -> tuple[Tensor, ...]:
    """Attention of queries to keys that were projected before."""
    if past_length is not None or cache_indirection is not None:
        raise NotImplementedError("past_sequence_length and cache_indirection")
    q, k, v = _heads_of(query, key, value, bias, num_heads)
    before = 0
    if past_key is not None and past_value is not None:
        before = int(past_key.shape[2])
        k, v = past_key.cat(k, dim=2), past_value.cat(v, dim=2)
    past_keys = before if unidirectional else None
    scores = _masked_scores(q, k, key_mask, attention_bias, past_keys, scale, mask_filter_value)
    y = without_heads(attend(scores, v, query.dtype))
    return y, k, v, scores.cast(query.dtype)


@operator("RotaryEmbedding", domain=DOMAIN)
def rotary_embedding(
    x: Tensor,
    positions: Tensor,
    cos: Tensor,
    sin: Tensor,
    *,
    interleaved: int = 0,
    is_packed_batching: int = 0,
    num_heads: int = 0,
    rotary_embedding_dim: int = 0,
    scale: float = 1.0,
) -> Tensor:
    """Turn pairs of values by angles that their positions give."""
    if x.ndim == 4:
        return rotate(x, positions, cos, sin, interleaved)
    size = 2 * int(cos.shape[1])
    heads = num_heads or int(x.shape[-1]) // (rotary_embedding_dim or size)
    return without_heads(rotate(with_heads(x, heads), positions, cos, sin, interleaved))
