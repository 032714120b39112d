"""Kernels of softmax, norms, attention and views on shapes that nobody thought of."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tg_tensor import GlobalCounters, Tensor, TinyJit
from tg_uop import DType, dtypes

rng = np.random.default_rng(0)


def data(*shape: int, dtype: DType = dtypes.float) -> Tensor:
    return Tensor(rng.standard_normal(shape).astype(np.float32)).cast(dtype).realize()


def kernels(*values: Tensor) -> int:
    GlobalCounters.reset()
    Tensor.realize(*values)
    return int(GlobalCounters.kernel_count)


SHAPES = [(1, 1), (7, 13), (1, 1000), (2, 3, 4, 5, 6), (17,), (64, 33), (300, 197)]


@pytest.mark.parametrize("dtype", [dtypes.float, dtypes.bfloat16])
@pytest.mark.parametrize("shape", SHAPES)
def test_softmax_and_norms(shape: tuple[int, ...], dtype: DType) -> None:
    """One or two kernels whatever the shape; one where rows are long enough to share a loop."""
    x = data(*shape, dtype=dtype)
    most = 1 if shape[-1] >= 32 or len(shape) == 1 else 2
    assert kernels(x.softmax(-1)) <= most
    assert kernels(x.log_softmax(-1)) <= most
    assert kernels(x.layernorm()) <= most
    assert kernels(x * (x.square().mean(-1, keepdim=True) + 1e-5).rsqrt()) <= most
    assert kernels(x.softmax(0)) <= 2


@pytest.mark.parametrize("shape", [(64, 48), (300, 197), (2, 3, 40, 40)])
def test_gradients_of_softmax_and_norms(shape: tuple[int, ...]) -> None:
    """Values and gradient in one pass over the rows each."""
    x, g = data(*shape), data(*shape)
    assert kernels(x.softmax(-1).gradient(x, gradient=g)[0]) <= 2
    assert kernels(x.layernorm().gradient(x, gradient=g)[0]) == 1


QUERIES = [
    ((1, 1, 1, 8), (1, 1, 1, 8)),
    ((1, 4, 1, 8), (1, 4, 33, 8)),
    ((2, 3, 7, 5), (2, 3, 7, 5)),
]


@pytest.mark.parametrize("dtype", [dtypes.float, dtypes.bfloat16])
@pytest.mark.parametrize(("q", "kv"), QUERIES)
def test_attention(q: tuple[int, ...], kv: tuple[int, ...], dtype: DType) -> None:
    a, b, c = data(*q, dtype=dtype), data(*kv, dtype=dtype), data(*kv, dtype=dtype)
    assert kernels(a.scaled_dot_product_attention(b, c)) <= 4
    assert kernels(a.scaled_dot_product_attention(b, c, is_causal=True)) <= 4
    mask = data(q[2], kv[2], dtype=dtype)
    assert kernels(a.scaled_dot_product_attention(b, c, attn_mask=mask)) <= 4
    assert kernels(a.scaled_dot_product_attention(b, c, attn_mask=mask > 0)) <= 4


def test_attention_of_groups() -> None:
    """Heads that share keys and values read them where they are."""
    a, b, c = data(2, 8, 48, 16), data(2, 2, 48, 16), data(2, 2, 48, 16)
    assert kernels(a.scaled_dot_product_attention(b, c, enable_gqa=True, is_causal=True)) <= 4


VIEWS: list[Callable[[Tensor], Tensor]] = [
    lambda x: x.reshape(4, 6).permute(1, 0) + 1,
    lambda x: x.permute(2, 0, 1).reshape(4, 6)[1:3, ::2] * 2,
    lambda x: x[0].T.flip(0).exp(),
    lambda x: x.reshape(24)[5:20:3].sum(),
    lambda x: x.transpose(0, 2).contiguous(),
    lambda x: x.pad(((1, 1), None, None)).relu(),
    lambda x: x.cat(x + 1, dim=1) * 2,
    lambda x: x.unfold(2, 2, 1).sum(-1),
    lambda x: x.expand(2, 3, 4).reshape(6, 4).permute(1, 0).reshape(-1) + 1,
    lambda x: x.roll(1, 0) + 1,
    lambda x: x.repeat(1, 2, 1) + 1,
]


@pytest.mark.parametrize("view", VIEWS)
def test_chains_of_views_copy_nothing(view: Callable[[Tensor], Tensor]) -> None:
    assert kernels(view(data(2, 3, 4))) == 1


def test_a_captured_function_runs_as_many() -> None:
    step = TinyJit(lambda x: (x.softmax(-1).layernorm() * 2).realize())
    for _ in range(3):
        step(data(64, 48))
    x = data(64, 48)
    GlobalCounters.reset()
    step(x)
    assert GlobalCounters.kernel_count <= 2
