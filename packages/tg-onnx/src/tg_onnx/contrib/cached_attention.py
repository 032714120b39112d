"""Attention of groups of query heads to shared keys, with a cache of those before."""

from __future__ import annotations

import numpy as np
from tg_tensor import Tensor

from tg_onnx.contrib.attention import scaled_scores
from tg_onnx.contrib.fused import DOMAIN
from tg_onnx.contrib.rotary import rotate
from tg_onnx.ops.attention import shared, with_heads, without_heads
from tg_onnx.proto import Array
from tg_onnx.registry import operator


@operator("GroupQueryAttention", domain=DOMAIN, host=(5, 6))
def group_query_attention(
    query: Tensor,
    key: Tensor | None,
    value: Tensor | None,
    past_key: Tensor | None,
    past_value: Tensor | None,
    last: Array,
    total: Array,
    cos: Tensor | None = None,
    sin: Tensor | None = None,
    positions: Tensor | None = None,
    attention_bias: Tensor | None = None,
    head_sink: Tensor | None = None,
    *,
    num_heads: int,
    kv_num_heads: int,
    do_rotary: int = 0,
    rotary_interleaved: int = 0,
    scale: float = 0.0,
    local_window_size: int = -1,
    softcap: float = 0.0,
    smooth_softmax: int = 0,
    qk_output: int = 0,
    kv_cache_bit_width: int = 0,
    k_quant_type: str = "NONE",
    v_quant_type: str = "NONE",
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries see the keys up to their own place.

    `last` has for each sequence the place of its last key. A cache has room for keys that are not
    there yet: those of the present come after the valid ones of the past.
    """
    if (k_quant_type, v_quant_type) != ("NONE", "NONE"):
        raise NotImplementedError("caches of few bits")
    q, k, v = _projections(query, key, value, num_heads, kv_num_heads)
    length = int(q.shape[2])
    keys = [int(n) + 1 for n in np.ravel(last)]
    room = int(np.ravel(total)[0])
    is_first = length == room
    starts = [0 if is_first else count - length for count in keys]
    if do_rotary:
        if cos is None or sin is None:
            raise ValueError("do_rotary takes cos_cache and sin_cache")
        places = positions if positions is not None else _places(starts, length, q)
        q = rotate(q, places, cos, sin, rotary_interleaved)
        k = rotate(k, places, cos, sin, rotary_interleaved)
    if past_key is not None and past_value is not None:
        size = max(room, int(past_key.shape[2]))
        k, v = _appended(past_key, k, starts, size), _appended(past_value, v, starts, size)
    group = num_heads // kv_num_heads
    scores = scaled_scores(q, shared(k, group), scale)
    if softcap:
        scores = (scores / softcap).tanh() * softcap
    if attention_bias is not None:
        bias = attention_bias.float()
        scores = scores + bias.pad((None, None, None, (0, int(k.shape[2]) - int(bias.shape[-1]))))
    scores = _visible(scores, starts, local_window_size)
    shares = _shares(scores, head_sink, smooth_softmax)
    y = (shares @ shared(v, group).float()).cast(query.dtype)
    return without_heads(y), k, v


def _projections(
    query: Tensor, key: Tensor | None, value: Tensor | None, heads: int, groups: int
) -> tuple[Tensor, Tensor, Tensor]:
    """By heads; without keys, the queries have keys and values behind them."""
    if key is not None and value is not None:
        return with_heads(query, heads), with_heads(key, groups), with_heads(value, groups)
    size = int(query.shape[-1]) // (heads + 2 * groups)
    q, k, v = query.split([heads * size, groups * size, groups * size], -1)
    return with_heads(q, heads), with_heads(k, groups), with_heads(v, groups)


def _places(starts: list[int], length: int, like: Tensor) -> Tensor:
    rows = np.asarray(starts, np.int32)[:, None] + np.arange(length, dtype=np.int32)
    return Tensor(np.ascontiguousarray(rows), device=like.device)


def _appended(past: Tensor, present: Tensor, starts: list[int], size: int) -> Tensor:
    """For each sequence its valid past, then its present; zeros up to `size`."""
    length = int(present.shape[2])
    rows = []
    for number, start in enumerate(starts):
        before = past[number : number + 1, :, :start]
        joined = before.cat(present[number : number + 1], dim=2)
        rows.append(joined.pad((None, None, (0, size - start - length), None)))
    return rows[0].cat(*rows[1:], dim=0) if len(rows) > 1 else rows[0]


def _visible(scores: Tensor, starts: list[int], window: int) -> Tensor:
    """Each query sees the keys up to its place, in a window only the last of them."""
    queries, keys = int(scores.shape[2]), int(scores.shape[3])
    rows = np.asarray(starts)[:, None, None] + np.arange(queries)[:, None]
    columns = np.arange(keys)
    seen = columns <= rows
    if window > 0:
        seen &= columns > rows - window
    allowed = Tensor(np.ascontiguousarray(seen[:, None]), device=scores.device)
    return allowed.where(scores, -np.inf)


def _shares(scores: Tensor, sink: Tensor | None, smooth: int) -> Tensor:
    """Softmax; a sink takes a part of each row that no key gets (0 is its score where smooth)."""
    if sink is None and not smooth:
        return scores.softmax(-1)
    batch, heads, queries, _ = (int(n) for n in scores.shape)
    extra = Tensor.zeros(heads, device=scores.device) if sink is None else sink.float()
    column = extra.reshape(1, heads, 1, 1).expand(batch, heads, queries, 1)
    return scores.cat(column, dim=-1).softmax(-1)[..., :-1]
