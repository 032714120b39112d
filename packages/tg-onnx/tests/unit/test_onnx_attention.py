"""Attention with every input, linear attention, convolution with a state: by the reference."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_one_node import check_node, one_node
from tg_onnx import OnnxRunner
from tg_tensor import Tensor


@pytest.mark.parametrize("seed", range(14))
def test_attention(seed):
    rng = np.random.default_rng(seed)
    dtype = [np.float32, np.float32, np.float16][seed % 3]
    opset, group, past = 23 + seed % 3, 1 + seed % 2, 3 * (seed // 2 % 2)
    batch, heads, queries, keys, size = 2, 2 * group, 3, 4, 4
    q, k, v = (
        rng.standard_normal(shape).astype(dtype)
        for shape in ((batch, heads, queries, size), (batch, 2, keys, size), (batch, 2, keys, 6))
    )
    cache = [rng.standard_normal((batch, 2, past, n)).astype(dtype) for n in (size, 6)]
    how = {"is_causal": seed // 3 % 2, "softcap": [0.0, 2.0][seed // 4 % 2]}
    if seed % 4 == 0:
        q, k, v = (a.transpose(0, 2, 1, 3).reshape(batch, a.shape[2], -1) for a in (q, k, v))
        how |= {"q_num_heads": heads, "kv_num_heads": 2, "scale": 0.4}
    whole = keys + past
    masks = [
        None,
        rng.integers(0, 2, (queries, whole)).astype(bool),
        rng.standard_normal((batch, heads, queries, whole)).astype(dtype),
        rng.standard_normal((1, 1, queries, whole)).astype(dtype),
    ]
    lengths = rng.integers(1, keys + 1, batch) if opset > 23 and not past else None
    if opset == 25:
        how |= {"left_window_size": seed % 4, "right_window_size": 1}
    inputs = [q, k, v, masks[seed % 4], *(cache if past else (None, None)), lengths]
    check_node("Attention", inputs, opset, 1, by_reference=True, **how)


@pytest.mark.parametrize("mode", [1, 2, 3])
def test_attention_gives_its_cache_and_its_scores(mode):
    rng = np.random.default_rng(mode)
    q, k, v, past_k, past_v = (
        rng.standard_normal((1, 2, n, 4)).astype(np.float32) for n in (3, 3, 3, 2, 2)
    )
    mask = rng.standard_normal((3, 5)).astype(np.float32)
    inputs = [q, k, v, mask, past_k, past_v]
    how = {"qk_matmul_output_mode": mode, "softcap": 3.0, "softmax_precision": 11}
    check_node("Attention", inputs, 24, 4, by_reference=True, **how)


def test_a_query_that_may_look_at_nothing_gives_zeros():
    x = np.ones((1, 1, 2, 4), np.float32)
    mask = np.array([[False, False], [True, False]])
    check_node("Attention", [x, x, x, mask], 23, by_reference=True)
    mask = np.array([[-np.inf, -np.inf], [0, -np.inf]], np.float32)
    check_node("Attention", [x, x, x, mask], 23, by_reference=True)


@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
@pytest.mark.parametrize("seed", range(3))
def test_linear_attention(rule, seed):
    rng = np.random.default_rng(seed)
    dtype = [np.float32, np.float32, np.float16][seed]
    heads, group, size, length = 2, 1 + seed % 2, 4, [1, 9, 5][seed]

    def normal(*shape):
        return (rng.standard_normal(shape) * 0.5).astype(dtype)

    q, k = normal(2, length, heads * group * size), normal(2, length, heads * size)
    v = normal(2, length, heads * 6)
    state = normal(2, heads, size, 6) if seed else None
    widths = (heads, heads * size)
    decay = -np.abs(normal(2, length, widths[seed % 2])) if "gated" in rule else None
    beta = np.abs(normal(2, length, [1, heads][seed % 2])) if "delta" in rule else None
    how = {"q_num_heads": heads * group, "kv_num_heads": heads, "update_rule": rule}
    check_node("LinearAttention", [q, k, v, state, decay, beta], 27, 2, by_reference=True, **how)


@pytest.mark.parametrize("activation", ["none", "silu", "swish"])
def test_causal_convolution_with_a_state(activation):
    rng = np.random.default_rng(0)
    x, weight = rng.standard_normal((2, 3, 5)), rng.standard_normal((3, 1, 4))
    bias, state = rng.standard_normal(3), rng.standard_normal((2, 3, 3))
    for dtype in (np.float32, np.float16):
        inputs = [a.astype(dtype) for a in (x, weight, bias, state)]
        how = {"by_reference": True, "activation": activation, "loose": 2.0}
        check_node("CausalConvWithState", inputs, 27, 2, **how)
        check_node("CausalConvWithState", inputs[:2], 27, 2, **how)


def test_attention_is_differentiable_and_replayed():
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((1, 2, 3, 4)).astype(np.float32) for _ in range(3))
    runner = OnnxRunner(one_node("Attention", [q, k, v], 23, is_causal=1).SerializeToString())
    allowed = np.tril(np.ones((3, 3), bool))
    for factor in (1, 2, 3, 4):
        scores = np.where(allowed, (factor * q) @ k.transpose(0, 1, 3, 2) / 2, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        expected = weights / weights.sum(-1, keepdims=True) @ v
        found = runner({"x0": factor * q, "x1": k, "x2": v})["y0"].numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    value = Tensor(v, requires_grad=True)
    runner({"x0": q, "x1": k, "x2": value})["y0"].sum().backward()
    assert value.grad is not None
    # each query spreads weights that add up to 1 over the values
    np.testing.assert_allclose(value.grad.numpy().sum((2, 3)), 12, rtol=1e-4)
