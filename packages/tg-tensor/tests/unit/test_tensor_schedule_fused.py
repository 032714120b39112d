"""How many kernels composed operations become: what a user would count."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tg_tensor import GlobalCounters, Tensor

rng = np.random.default_rng(0)


def data(*shape: int) -> Tensor:
    return Tensor(rng.standard_normal(shape).astype(np.float32)).realize()


def kernels_of(*outputs: Tensor) -> int:
    GlobalCounters.reset()
    Tensor.realize(*outputs)
    return GlobalCounters.kernel_count


ROWS = data(64, 512)
WIDE = data(64, 4096)
SMALL = data(8, 16)
LINE = data(1000)
INDICES = Tensor(rng.integers(0, 512, (64, 32)).astype(np.int32)).realize()
LABELS = Tensor(rng.integers(0, 512, 64).astype(np.int32)).realize()

COUNTS: dict[str, tuple[Callable[[], Tensor | list[Tensor]], int]] = {
    "softmax": (lambda: ROWS.softmax(-1), 1),
    "softmax small": (lambda: SMALL.softmax(-1), 1),
    "softmax line": (lambda: LINE.softmax(-1), 1),
    "softmax columns": (lambda: ROWS.softmax(0), 2),
    "softmax wide": (lambda: WIDE.softmax(-1), 1),
    "log_softmax": (lambda: ROWS.log_softmax(-1), 1),
    "logsumexp": (lambda: ROWS.logsumexp(-1), 1),
    "layernorm": (lambda: ROWS.layernorm(), 1),
    "layernorm with scale": (lambda: ROWS.layernorm() * LINE[:512] + LINE[488:], 1),
    "cross_entropy": (lambda: ROWS.cross_entropy(LABELS), 2),
    "sparse_categorical_crossentropy": (lambda: ROWS.sparse_categorical_crossentropy(LABELS), 2),
    "argmax": (lambda: ROWS.argmax(-1), 1),
    "argmin": (lambda: ROWS.argmin(0), 1),
    "argmax of all": (lambda: ROWS.argmax(), 3),
    "std": (lambda: ROWS.std(-1), 1),
    "var": (lambda: ROWS.var(0), 1),
    "std and mean": (lambda: list(ROWS.std_mean(-1)), 1),
    "mean and var": (lambda: [ROWS.mean(-1), ROWS.var(-1)], 1),
    "sum and max": (lambda: [ROWS.sum(-1), ROWS.max(-1)], 1),
    "sum plus max of all": (lambda: ROWS.sum() + ROWS.max(), 2),
    "cumsum": (lambda: ROWS.cumsum(-1), 1),
    "cumprod": (lambda: ROWS.cumprod(-1), 1),
    "values of cummax": (lambda: ROWS.cummax(-1)[0], 1),
    "values of cummin": (lambda: ROWS.cummin(0)[0], 1),
    "gather": (lambda: ROWS.gather(-1, INDICES), 1),
    "rows by index": (lambda: ROWS[LABELS.clip(0, 63)], 1),
    "one_hot": (lambda: LABELS.one_hot(512), 1),
    "cat": (lambda: ROWS.cat(ROWS, WIDE[:, :512], dim=0), 1),
    "stack": (lambda: ROWS.stack(ROWS, ROWS), 1),
    "triangle": (lambda: ROWS.tril(), 1),
    "masked_fill": (lambda: ROWS.masked_fill(ROWS > 0, 1.0), 1),
    "many uses": (lambda: [ROWS.exp().sin() + i for i in range(6)], 1),
    "rows to length one": (lambda: ROWS / ROWS.square().sum(-1, keepdim=True).sqrt(), 1),
    "linear, bias and gelu": (lambda: ROWS.linear(WIDE[:, :512].T, LINE[:64]).gelu(), 1),
    "normalized, then multiplied": (
        lambda: (ROWS * (ROWS.square().mean(-1, keepdim=True) + 1e-6).rsqrt()) @ WIDE[:, :512].T,
        2,
    ),
}


@pytest.mark.parametrize("name", COUNTS)
def test_kernels(name: str) -> None:
    build, kernels = COUNTS[name]
    built = build()
    assert kernels_of(*(built if isinstance(built, list) else [built])) == kernels


QUERY, KEY, VALUE = data(2, 8, 64, 32), data(2, 8, 64, 32), data(2, 8, 64, 32)
FEW_KEYS, FEW_VALUES = data(2, 2, 64, 32), data(2, 2, 64, 32)
MASK = data(64, 64)
BOOL_MASK = (MASK > 0).realize()

ATTENTION: dict[str, Callable[[], Tensor]] = {
    "plain": lambda: QUERY.scaled_dot_product_attention(KEY, VALUE),
    "causal": lambda: QUERY.scaled_dot_product_attention(KEY, VALUE, is_causal=True),
    "mask": lambda: QUERY.scaled_dot_product_attention(KEY, VALUE, attn_mask=MASK),
    "bool mask": lambda: QUERY.scaled_dot_product_attention(KEY, VALUE, attn_mask=BOOL_MASK),
    "grouped": lambda: QUERY.scaled_dot_product_attention(FEW_KEYS, FEW_VALUES, enable_gqa=True),
    "grouped, causal": lambda: QUERY.scaled_dot_product_attention(
        FEW_KEYS, FEW_VALUES, is_causal=True, enable_gqa=True
    ),
}


@pytest.mark.parametrize("name", ATTENTION)
def test_attention(name: str) -> None:
    assert kernels_of(ATTENTION[name]()) <= 4


@pytest.mark.parametrize("padding", [0, 1])
def test_convolution_with_norm_and_activation(padding: int) -> None:
    image, weight, bias = data(2, 8, 16, 16), data(16, 8, 3, 3), data(16)
    mean, scale, gain, shift = data(16), data(16), data(16), data(16)
    found = image.conv2d(weight, bias, padding=padding).batchnorm(gain, shift, mean, scale)
    assert kernels_of(found.relu()) == 1


def test_a_chain_of_views_is_no_kernel_of_its_own() -> None:
    x = data(64, 512)
    view = x.reshape(64, 8, 64).permute(1, 0, 2)[:, 3:10].flip(1).unsqueeze(0).expand(2, 8, 7, 64)
    padded = view.pad(((0, 0), (1, 1), (0, 0), (2, 0)))
    assert kernels_of(view) == 0
    assert kernels_of(padded * 2) == 1
    a = x.numpy().reshape(64, 8, 64).transpose(1, 0, 2)[:, 3:10][:, ::-1]
    np.testing.assert_array_equal(view.numpy(), np.broadcast_to(a, (2, 8, 7, 64)))


def test_turned_pairs() -> None:
    x, c, s = data(2, 64, 8, 32), data(1, 64, 1, 16), data(1, 64, 1, 16)
    a, b = x[..., :16], x[..., 16:]
    assert kernels_of((a * c - b * s).cat(a * s + b * c, dim=-1)) == 1


@pytest.mark.parametrize(("depth", "kernels"), [(1, 3), (2, 6), (4, 12), (8, 24)])
def test_gradients_of_layers_grow_by_three_kernels_a_layer(depth: int, kernels: int) -> None:
    weights = [data(64, 64).requires_grad_(True) for _ in range(depth)]
    h = data(32, 64)
    for weight in weights:
        h = (h @ weight).relu()
    loss = h.square().mean()
    loss.backward()
    assert kernels_of(loss, *[w.grad for w in weights if w.grad is not None]) == kernels


def test_many_small_sums_do_not_become_one_endless_kernel() -> None:
    x = data(16, 16)
    total = x.sum()
    for i in range(1, 40):
        total = total + (x * float(i)).sum()
    assert 5 <= kernels_of(total) <= 12
    np.testing.assert_allclose(total.numpy(), x.numpy().sum() * 781, rtol=1e-3)


@pytest.mark.parametrize("shape", [(5, 7), (3, 1), (1, 9), (40, 50), (70, 300), (1, 3000)])
def test_values_of_reductions_that_share_kernels(shape: tuple[int, int]) -> None:
    x = data(*shape)
    a = x.numpy().astype(np.float64)
    spread = a.std(1) if shape[1] > 1 else None
    mean, total, top = x.mean(-1), x.sum(), x.max()
    found = [x.softmax(-1), mean, x.var(-1, correction=0), total + top, x.argmax(-1), x.argmax()]
    Tensor.realize(*found)
    e = np.exp(a - a.max(1, keepdims=True))
    expected = [e / e.sum(1, keepdims=True), a.mean(1), a.var(1), a.sum() + a.max()]
    for tensor, want in zip(found, [*expected, a.argmax(1), a.argmax()], strict=True):
        np.testing.assert_allclose(tensor.numpy(), want, rtol=1e-3, atol=1e-4)
    if spread is not None:
        np.testing.assert_allclose(x.std(-1, correction=0).numpy(), spread, rtol=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(2, 2, 5, 6), (1, 2, 7, 5), (2, 3, 4, 4)])
def test_a_maximum_and_its_place_in_one_kernel(
    shape: tuple[int, ...], dtype: type[np.generic]
) -> None:
    """Conditions on the result of a loop are simplified without a second copy of the loop."""
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    values, places = Tensor(x).adaptive_max_pool2d(2, return_indices=True)
    Tensor.realize(values, places)
    flat = x.reshape(*shape[:2], -1)
    found = np.take_along_axis(flat, places.numpy().reshape(*shape[:2], -1), 2)
    np.testing.assert_array_equal(found, values.numpy().reshape(*shape[:2], -1))
