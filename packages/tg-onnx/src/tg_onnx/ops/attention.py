"""Attention with masks, caches and shared heads; linear attention; convolution with a state."""

from __future__ import annotations

from tg_tensor import Tensor, dtypes

from tg_onnx.proto import DTYPE_OF_ELEMENT
from tg_onnx.registry import operator

NEGATIVE_INFINITY = float("-inf")
# what `qk_matmul_output_mode` asks for
AFTER_SOFTCAP, AFTER_BIAS, AFTER_SOFTMAX = 1, 2, 3


@operator("Attention", since=23)
def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    attn_mask: Tensor | None = None,
    past_key: Tensor | None = None,
    past_value: Tensor | None = None,
    nonpad_kv_seqlen: Tensor | None = None,
    *,
    n_outputs: int,
    is_causal: int = 0,
    kv_num_heads: int | None = None,
    left_window_size: int = -1,
    q_num_heads: int | None = None,
    qk_matmul_output_mode: int = 0,
    right_window_size: int = -1,
    scale: float | None = None,
    softcap: float = 0.0,
    softmax_precision: int | None = None,
) -> tuple[Tensor, ...]:
    """softmax(softcap(q k^T * scale) + bias) v, the present keys and values, and the scores.

    Inputs are (batch, heads, length, size), or (batch, length, heads * size) with the numbers of
    heads as attributes. A query that may look at nothing gives zeros.
    """
    if (past_key is None) != (past_value is None):
        raise ValueError("past_key and past_value come together")
    is_flat = q.ndim == 3
    if is_flat:
        if q_num_heads is None or kv_num_heads is None:
            raise ValueError("inputs of three axes need q_num_heads and kv_num_heads")
        q = with_heads(q, q_num_heads)
        k, v = with_heads(k, kv_num_heads), with_heads(v, kv_num_heads)
    if past_key is not None and past_value is not None:
        k, v = past_key.cat(k, dim=2), past_value.cat(v, dim=2)
    past = 0 if past_key is None else int(past_key.shape[2])
    allowed, bias = _bias(
        q,
        k,
        attn_mask,
        bool(is_causal),
        (left_window_size, right_window_size),
        _first_position(q, nonpad_kv_seqlen, past),
        nonpad_kv_seqlen,
    )
    factor = scale if scale is not None else int(q.shape[-1]) ** -0.5
    group = int(q.shape[1]) // int(k.shape[1])
    # both sides take a part of the factor, as halves would overflow otherwise
    root = factor**0.5
    scores = (
        (q * root).cast(q.dtype).matmul((shared(k, group) * root).cast(k.dtype).transpose(-1, -2))
    )
    shown = scores
    if softcap > 0:
        scores = ((scores / softcap).tanh() * softcap).cast(scores.dtype)
        if qk_matmul_output_mode == AFTER_SOFTCAP:
            shown = scores
    if bias is not None:
        scores = scores + bias
    if allowed is not None:
        scores = allowed.where(scores, NEGATIVE_INFINITY)
    if qk_matmul_output_mode == AFTER_BIAS:
        shown = scores
    # a query always has the first key to look at where only later ones are ruled out
    is_guarded = attn_mask is not None or nonpad_kv_seqlen is not None or left_window_size >= 0
    weights = _softmax(scores, allowed, bias, softmax_precision, is_guarded)
    if qk_matmul_output_mode == AFTER_SOFTMAX:
        shown = weights
    weights = weights.cast(q.dtype)
    result = weights.matmul(shared(v, group))
    if is_flat:
        result = without_heads(result)
    return (result, k, v, shown.cast(q.dtype))[:n_outputs]


def with_heads(x: Tensor, heads: int) -> Tensor:
    """(batch, length, heads * size) as (batch, heads, length, size)."""
    batch, length, size = (int(n) for n in x.shape)
    return x.reshape(batch, length, heads, size // heads).transpose(1, 2)


def without_heads(x: Tensor) -> Tensor:
    """(batch, heads, length, size) as (batch, length, heads * size)."""
    batch, heads, length, size = (int(n) for n in x.shape)
    return x.transpose(1, 2).reshape(batch, length, heads * size)


def shared(x: Tensor, group: int) -> Tensor:
    """Each head as often as queries share it."""
    return x if group == 1 else x.repeat_interleave(group, 1)


def _first_position(q: Tensor, lengths: Tensor | None, past: int) -> Tensor | int:
    """Where the first query stands among the keys: a number, or (batch, 1, 1, 1)."""
    if lengths is None or past:
        return past
    return lengths.cast(dtypes.int32).reshape(-1, 1, 1, 1) - int(q.shape[2])


def _bias(
    q: Tensor,
    k: Tensor,
    mask: Tensor | None,
    is_causal: bool,
    window: tuple[int, int],
    first: Tensor | int,
    lengths: Tensor | None,
) -> tuple[Tensor | None, Tensor | None]:
    """Which keys each query may look at, and what is added to its scores; None for no limit."""
    queries, keys = int(q.shape[2]), int(k.shape[2])
    conditions: list[Tensor] = []
    bias: Tensor | None = None
    at = Tensor.arange(keys, device=q.device).reshape(1, keys)
    if mask is not None:
        short = keys - int(mask.shape[-1])
        if short > 0:
            # keys that the mask does not reach are not looked at
            mask = mask.pad((*((0, 0),) * (mask.ndim - 1), (0, short)))
            conditions.append(at < keys - short)
        if mask.dtype is dtypes.bool:
            conditions.append(mask)
        else:
            bias = mask.cast(q.dtype)
    place = Tensor.arange(queries, device=q.device).reshape(queries, 1) + first
    left, right = window
    if is_causal:
        conditions.append(at <= place)
    if left >= 0:
        conditions.append(place - at <= left)
    if right >= 0:
        conditions.append(at - place <= right)
    if lengths is not None:
        conditions.append(at < lengths.cast(dtypes.int32).reshape(-1, 1, 1, 1))
    allowed: Tensor | None = None
    for condition in conditions:
        allowed = condition if allowed is None else allowed & condition
    return allowed, bias


def _softmax(
    scores: Tensor,
    allowed: Tensor | None,
    bias: Tensor | None,
    precision: int | None,
    is_guarded: bool,
) -> Tensor:
    """The softmax over keys; zeros for queries that may look at none."""
    if precision is not None:
        scores = scores.cast(DTYPE_OF_ELEMENT[precision])
    if not is_guarded:
        return scores.softmax(-1)
    open_keys = allowed
    if bias is not None:
        finite = bias.ne(NEGATIVE_INFINITY)
        open_keys = finite if open_keys is None else open_keys & finite
    assert open_keys is not None, "there is a mask"
    some = open_keys.any(-1, keepdim=True)
    return some.where(some.where(scores, 0).softmax(-1), 0)


@operator("LinearAttention", since=27)
def linear_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    past_state: Tensor | None = None,
    decay: Tensor | None = None,
    beta: Tensor | None = None,
    *,
    q_num_heads: int,
    kv_num_heads: int,
    chunk_size: int = 64,
    scale: float = 0.0,
    update_rule: str = "gated_delta",
) -> tuple[Tensor, Tensor]:
    """Attention without softmax by a state that forgets (`decay`) and corrects itself (`beta`).

    All steps at once: with the decays summed up, a step's output is a sum over earlier steps, and
    the corrections are the solution of a triangular system (Yang et al., 2024).
    """
    _check_rule(update_rule, decay, beta)
    wide = dtypes.float64 if query.dtype is dtypes.float64 else dtypes.float32
    q = with_heads(query, q_num_heads).cast(wide)
    k, v = with_heads(key, kv_num_heads).cast(wide), with_heads(value, kv_num_heads).cast(wide)
    length, size = int(k.shape[2]), int(k.shape[3])
    group = q_num_heads // kv_num_heads
    factor = scale if scale else size**-0.5
    step = Tensor.arange(length, device=query.device)
    # total decay of the state from before the first step up to each step: (..., length, 1 or size)
    total: Tensor | None = None
    if decay is not None:
        total = with_heads(decay, kv_num_heads).cast(wide).cumsum(2)
    if beta is not None:
        rate = beta.cast(wide).transpose(1, 2).unsqueeze(-1)
        strength = _products(k, k, total, total) * rate
        wanted = v
        if past_state is not None:
            wanted = v - _decayed(k, total).matmul(past_state.cast(wide))
        v = strength.solve_triangular(wanted * rate, upper=False, unitriangular=True)
    state_total = None if total is None else shared(total, group)
    scores = _products(q, shared(k, group), state_total, state_total)
    until = step.reshape(length, 1) >= step.reshape(1, length)
    output = until.where(scores, 0).matmul(shared(v, group))
    rest = k if total is None else k * (total[:, :, -1:] - total).exp()
    state = rest.transpose(-1, -2).matmul(v)
    if past_state is not None:
        past = past_state.cast(wide)
        output = output + _decayed(q, state_total).matmul(shared(past, group))
        kept = past if total is None else past * total[:, :, -1].exp().unsqueeze(-1)
        state = state + kept
    state_dtype = query.dtype if past_state is None else past_state.dtype
    result = without_heads(output * factor)
    return result.cast(query.dtype), state.cast(state_dtype)


def _check_rule(rule: str, decay: Tensor | None, beta: Tensor | None) -> None:
    rules = {"linear": (0, 0), "gated": (1, 0), "delta": (0, 1), "gated_delta": (1, 1)}
    if rule not in rules:
        raise ValueError(f"update_rule {rule!r} is none of {sorted(rules)}")
    if rules[rule] != (decay is not None, beta is not None):
        raise ValueError(f"update_rule {rule!r} does not go with these inputs decay and beta")


def _decayed(x: Tensor, total: Tensor | None) -> Tensor:
    return x if total is None else x * total.exp()


def _products(a: Tensor, b: Tensor, a_total: Tensor | None, b_total: Tensor | None) -> Tensor:
    """a_t . b_s times the decay between steps s and t >= s: (..., t, s); anything for t < s."""
    if a_total is None or b_total is None:
        return a.matmul(b.transpose(-1, -2))
    # never above 0 where it counts: exponentials of each side alone would overflow
    between = (a_total.unsqueeze(3) - b_total.unsqueeze(2)).minimum(0).exp()
    if int(between.shape[-1]) == 1:
        return a.matmul(b.transpose(-1, -2)) * between.squeeze(-1)
    return (a.unsqueeze(3) * b.unsqueeze(2) * between).sum(-1)


@operator("CausalConvWithState", since=27)
def causal_conv_with_state(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    past_state: Tensor | None = None,
    *,
    activation: str = "none",
) -> tuple[Tensor, Tensor]:
    """A convolution of each channel with what came before, and the end of it as the state."""
    if activation not in ("none", "silu", "swish"):
        raise ValueError(f"activation {activation!r} is none of none, silu and swish")
    kernel, channels = int(weight.shape[2]), int(x.shape[1])
    if past_state is None:
        padded = x.pad(((0, 0), (0, 0), (kernel - 1, 0)))
    else:
        padded = past_state.cast(x.dtype).cat(x, dim=2)
    result = padded.conv2d(weight, bias, channels).cast(x.dtype)
    if activation != "none":
        result = result.float().silu().cast(x.dtype)
    return result, padded[:, :, int(padded.shape[2]) - (kernel - 1) :]
