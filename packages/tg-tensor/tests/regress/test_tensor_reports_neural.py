"""Convolutions, windows, resizing, attention and losses, as people reported their corners."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from tg_tensor import Tensor

RANDOM = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    """Values of float32."""
    return RANDOM.normal(size=shape).astype(np.float32)


def convolved(x, w, stride, padding, dilation, groups) -> np.ndarray:
    """A convolution in two axes by its definition."""
    x = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2)).astype(np.float64)
    reach = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], dilation, strict=True)]
    sizes = [(s - r) // t + 1 for s, r, t in zip(x.shape[2:], reach, stride, strict=True)]
    out = np.zeros((x.shape[0], w.shape[0], *sizes))
    inputs, outputs = w.shape[1], w.shape[0] // groups
    for o, i, j in np.ndindex(w.shape[0], *sizes):
        first = o // outputs * inputs
        top, left = i * stride[0], j * stride[1]
        part = x[:, first : first + inputs, top : top + reach[0], left : left + reach[1]]
        part = part[:, :, :: dilation[0], :: dilation[1]]
        out[:, o, i, j] = (part * w[o]).sum((1, 2, 3))
    return out


@pytest.mark.parametrize(
    ("shape", "weights", "stride", "padding", "dilation", "groups"),
    [
        ((1, 1, 5, 5), (1, 1, 3, 3), (1, 1), (0, 0), (1, 1), 1),
        ((2, 4, 7, 6), (6, 2, 3, 2), (2, 1), (1, 0), (1, 2), 2),
        ((1, 6, 6, 6), (6, 1, 3, 3), (1, 1), (1, 1), (1, 1), 6),
        ((1, 4, 6, 6), (8, 1, 3, 3), (1, 2), (1, 2), (2, 1), 4),
        ((2, 3, 9, 4), (2, 3, 1, 1), (3, 2), (0, 0), (1, 1), 1),
        ((1, 2, 8, 8), (2, 2, 8, 8), (1, 1), (0, 0), (1, 1), 1),
        ((1, 2, 3, 3), (3, 2, 3, 3), (1, 1), (2, 2), (1, 1), 1),
        ((1, 1, 11, 11), (1, 1, 2, 2), (4, 4), (1, 1), (3, 3), 1),
        ((0, 2, 5, 5), (3, 2, 3, 3), (1, 1), (0, 0), (1, 1), 1),
    ],
)
def test_convolutions_by_their_definition(
    shape, weights, stride, padding, dilation, groups
) -> None:
    """Strides that skip the end, windows as large as the image, groups, dilation, no batch."""
    x, w, bias = normal(*shape), normal(*weights), normal(weights[0])
    got = Tensor(x).conv2d(
        Tensor(w), Tensor(bias), groups=groups, stride=stride, dilation=dilation, padding=padding
    )
    want = convolved(x, w, stride, padding, dilation, groups) + bias.reshape(1, -1, 1, 1)
    assert got.shape == want.shape
    assert np.allclose(got.numpy(), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("padding", [0, 1, 2])
@pytest.mark.parametrize("output_padding", [0, 1])
@pytest.mark.parametrize("dilation", [1, 2])
def test_transposed_convolutions_are_gradients(
    stride: int, padding: int, output_padding: int, dilation: int
) -> None:
    """The gradient of a convolution by its input, where such an input exists."""
    if output_padding >= max(stride, dilation):
        return
    x, w = normal(1, 2, 4, 4), normal(2, 3, 3, 3)
    got = Tensor(x).conv_transpose2d(
        Tensor(w), stride=stride, padding=padding, output_padding=output_padding, dilation=dilation
    )
    size = (4 - 1) * stride - 2 * padding + dilation * 2 + output_padding + 1
    assert got.shape == (1, 3, size, size)
    image = Tensor(normal(1, 3, size, size))
    forward = image.conv2d(Tensor(w), stride=stride, padding=padding, dilation=dilation)
    want = (forward[:, :, :4, :4] * Tensor(x)).sum().gradient(image)[0]
    assert np.allclose(got.numpy(), want.numpy(), rtol=1e-4, atol=1e-4)


def pooled(x, kernel, stride, padding, dilation, ceil, kind, count_pad=True) -> np.ndarray:
    """Pooling in two axes by its definition."""
    batch, channels, *sizes = x.shape
    outs = []
    for size, k, s, p, d in zip(sizes, kernel, stride, padding, dilation, strict=True):
        span = size + 2 * p - d * (k - 1) - 1
        count = (-(-span // s) if ceil else span // s) + 1
        if ceil and (count - 1) * s >= size + p:
            count -= 1
        outs.append(count)
    out = np.zeros((batch, channels, *outs))
    for i, j in np.ndindex(*outs):
        rows = [i * stride[0] - padding[0] + a * dilation[0] for a in range(kernel[0])]
        columns = [j * stride[1] - padding[1] + b * dilation[1] for b in range(kernel[1])]
        inside = [(r, c) for r in rows for c in columns if 0 <= r < sizes[0] and 0 <= c < sizes[1]]
        values = np.stack([x[:, :, r, c] for r, c in inside], -1)
        if kind == "max":
            out[:, :, i, j] = values.max(-1)
            continue
        padded = [
            (r, c)
            for r in rows
            for c in columns
            if r < sizes[0] + padding[0] and c < sizes[1] + padding[1]
        ]
        out[:, :, i, j] = values.sum(-1) / (len(padded) if count_pad else len(inside))
    return out


POOLS = [
    ((6, 7), (2, 2), (2, 2), (0, 0), (1, 1)),
    ((9, 9), (4, 4), (4, 4), (2, 2), (1, 1)),
    ((6, 7), (1, 1), (2, 2), (0, 0), (1, 1)),
    ((32, 9), (8, 3), (4, 3), (0, 1), (1, 1)),
    ((4, 4), (3, 3), (3, 3), (0, 0), (1, 1)),
    ((5, 5), (3, 2), (1, 2), (1, 1), (1, 1)),
    ((7, 8), (3, 2), (2, 3), (1, 0), (2, 3)),
    ((3, 3), (3, 3), (1, 1), (1, 1), (1, 1)),
]


@pytest.mark.parametrize("ceil", [False, True])
@pytest.mark.parametrize(("sizes", "kernel", "stride", "padding", "dilation"), POOLS)
def test_pools_by_their_definition(sizes, kernel, stride, padding, dilation, ceil: bool) -> None:
    """ceil_mode counts windows that start in the image or the padding before it, and no others."""
    x = normal(2, 2, *sizes) - 3
    value = Tensor(x)
    want = pooled(x, kernel, stride, padding, dilation, ceil, "max")
    got = value.max_pool2d(kernel, stride, dilation, padding, ceil)
    assert got.shape == want.shape
    assert np.allclose(got.numpy(), want, atol=1e-6)
    both, places = value.max_pool2d(kernel, stride, dilation, padding, ceil, return_indices=True)
    assert np.array_equal(both.numpy(), got.numpy())
    flat = x.reshape(2, 2, -1)
    found = places.numpy().reshape(2, 2, -1)
    assert np.array_equal(np.take_along_axis(flat, found, 2).reshape(want.shape), got.numpy())
    if dilation == (1, 1):
        for count_pad in (False, True):
            want = pooled(x, kernel, stride, padding, dilation, ceil, "avg", count_pad)
            got = value.avg_pool2d(kernel, stride, 1, padding, ceil, count_pad)
            assert np.allclose(got.numpy(), want, atol=1e-5)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "int8", "float16"])
def test_pools_of_other_dtypes(dtype: str) -> None:
    """The padding of max_pool is below every value, also of integers; the dtype stays."""
    data = (
        -np.arange(1, 17).reshape(1, 1, 4, 4)
        if dtype != "uint8"
        else np.arange(16).reshape(1, 1, 4, 4)
    )
    x = Tensor(data.astype(dtype))
    got = x.max_pool2d(2, 2, padding=1)
    assert got.dtype == x.dtype
    want = pooled(data, (2, 2), (2, 2), (1, 1), (1, 1), False, "max")
    assert np.array_equal(got.numpy(), want.astype(dtype))


def test_pools_of_minus_infinity_and_nan() -> None:
    """A window of nothing but -infinity has that; NaN wins."""
    x = np.full((1, 1, 4, 4), -np.inf, np.float32)
    assert np.all(np.isneginf(Tensor(x).max_pool2d(2).numpy()))
    x[0, 0, 1, 1] = np.nan
    got = Tensor(x).max_pool2d(2).numpy()[0, 0]
    assert np.isnan(got[0, 0])
    assert not np.isnan(got[1]).any()


@pytest.mark.parametrize(
    ("size", "target"), [(4, 4), (4, 8), (5, 3), (3, 7), (1, 5), (6, 1), (7, 2)]
)
@pytest.mark.parametrize("align", [False, True])
def test_linear_resizing_by_its_definition(size: int, target: int, align: bool) -> None:
    """The same size gives the same image; both ends are met when corners are aligned."""
    x = normal(1, 2, size)
    step = (size - 1) / max(target - 1, 1) if align else size / target
    want = np.zeros((1, 2, target))
    for i in range(target):
        at = i * step if align else max((i + 0.5) * step - 0.5, 0)
        low = min(int(at), size - 1)
        high = min(low + 1, size - 1)
        want[..., i] = x[..., low] * (1 - (at - low)) + x[..., high] * (at - low)
    got = Tensor(x).interpolate((target,), mode="linear", align_corners=align)
    assert np.allclose(got.numpy(), want, atol=1e-5)


@pytest.mark.parametrize(
    ("size", "target"), [(2, 5), (5, 2), (10, 7), (7, 10), (3, 64), (64, 3), (50, 13)]
)
def test_nearest_resizing_and_its_gradient(size: int, target: int) -> None:
    """Position floor(i size / target); the gradient goes back to where values came from."""
    x = Tensor(normal(1, 1, size), requires_grad=True)
    places = [i * size // target for i in range(target)]
    y = x.interpolate((target,), mode="nearest")
    assert np.array_equal(y.numpy()[0, 0], x.numpy()[0, 0][places])
    grad = y.sum().gradient(x)[0].numpy()[0, 0]
    assert grad.tolist() == np.bincount(places, minlength=size).tolist()
    assert np.all((y * 0.0).sum().gradient(x)[0].numpy() == 0)


def attended(q, k, v, mask) -> np.ndarray:
    """Attention by its definition; a query without keys gives 0."""
    scores = q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])
    scores = np.where(mask, scores, -np.inf)
    most = np.where(mask.any(-1, keepdims=True), scores.max(-1, keepdims=True), 0)
    weights = np.exp(scores - most)
    total = weights.sum(-1, keepdims=True)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total > 0) @ v


@pytest.mark.parametrize(("queries", "keys"), [(4, 4), (1, 5), (5, 3), (3, 7)])
def test_causal_attention_of_any_lengths(queries: int, keys: int) -> None:
    """Query i sees the keys up to i, counted from the first."""
    q, k, v = normal(2, 3, queries, 8), normal(2, 3, keys, 8), normal(2, 3, keys, 5)
    mask = np.tril(np.ones((queries, keys), bool))
    got = Tensor(q).scaled_dot_product_attention(Tensor(k), Tensor(v), is_causal=True)
    assert np.allclose(got.numpy(), attended(q, k, v, mask), atol=1e-5)


def test_masked_attention_with_rows_without_keys() -> None:
    """Such a query gives 0 and no NaN, nor do its gradients have any."""
    q, k, v = (Tensor(normal(1, 2, 4, 8), requires_grad=True) for _ in range(3))
    mask = np.ones((4, 4), bool)
    mask[1] = False
    mask[2, :2] = False
    got = q.scaled_dot_product_attention(k, v, attn_mask=Tensor(mask))
    assert np.allclose(got.numpy(), attended(q.numpy(), k.numpy(), v.numpy(), mask), atol=1e-5)
    for grad in got.square().sum().gradient(q, k, v):
        assert np.isfinite(grad.numpy()).all()


def test_masks_that_are_added_and_grouped_queries() -> None:
    """A mask of floats is added to the scores; fewer key heads are shared by groups of queries."""
    q, k, v = normal(1, 4, 3, 8), normal(1, 2, 5, 8), normal(1, 2, 5, 8)
    bias = normal(3, 5)
    wide_k, wide_v = (np.repeat(t, 2, 1) for t in (k, v))
    scores = q @ np.swapaxes(wide_k, -1, -2) / math.sqrt(8) + bias
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    want = weights / weights.sum(-1, keepdims=True) @ wide_v
    got = Tensor(q).scaled_dot_product_attention(
        Tensor(k), Tensor(v), attn_mask=Tensor(bias), enable_gqa=True
    )
    assert np.allclose(got.numpy(), want, atol=1e-5)


def test_extreme_scores_in_attention() -> None:
    """Large scores saturate; they do not overflow."""
    q, k, v = normal(1, 1, 3, 8) * 1e4, normal(1, 1, 3, 8) * 1e4, normal(1, 1, 3, 8)
    got = Tensor(q).scaled_dot_product_attention(Tensor(k), Tensor(v)).numpy()
    want = attended(q.astype(np.float64), k, v, np.ones((3, 3), bool))
    assert np.allclose(got, want, atol=1e-4)


def cross_entropies(logits, classes, weight, smoothing) -> np.ndarray:
    """The loss of each row before weights of ignored rows, as PyTorch defines smoothing."""
    shifted = logits - logits.max(1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    hit = -logs[np.arange(len(classes)), classes] * weight[classes]
    smooth = -(logs * weight).sum(1)
    return (1 - smoothing) * hit + smoothing / logits.shape[1] * smooth


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ignored", [-100, -1, 1])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy_of_ignored_weighted_and_smoothed_classes(
    smoothing: float, weighted: bool, ignored: int, reduction: str
) -> None:
    """Ignored rows count in neither sum, whatever their class number is."""
    logits = normal(5, 3)
    classes = np.array([0, ignored, 2, ignored, 2])
    weight = np.array([0.5, 2.0, 3.0]) if weighted else np.ones(3)
    counted = classes != ignored
    safe = np.where(counted, classes, 0)
    rows = np.where(counted, cross_entropies(logits.astype(np.float64), safe, weight, smoothing), 0)
    want = {"none": rows, "sum": rows.sum(), "mean": rows.sum() / weight[safe][counted].sum()}
    got = Tensor(logits).cross_entropy(
        Tensor(classes),
        reduction=reduction,
        label_smoothing=smoothing,
        ignore_index=ignored,
        **({"weight": Tensor(weight.astype(np.float32))} if weighted else {}),
    )
    assert np.allclose(got.numpy(), want[reduction], rtol=1e-4, atol=1e-5)


def test_losses_of_extreme_logits() -> None:
    """No infinity from a saturated sigmoid or softmax, nor NaN in the gradient."""
    logits = Tensor([200.0, -200.0, 0.0], requires_grad=True)
    target = Tensor([1.0, 0.0, 1.0])
    loss = logits.binary_crossentropy_logits(target, reduction="none")
    assert np.allclose(loss.numpy(), [0, 0, math.log(2)], atol=1e-6)
    wrong = logits.binary_crossentropy_logits(1 - target, reduction="none")
    assert np.allclose(wrong.numpy(), [200, 200, math.log(2)], rtol=1e-5)
    assert np.isfinite(wrong.sum().gradient(logits)[0].numpy()).all()
    far = Tensor([[1000.0, 0.0], [0.0, 1000.0]], requires_grad=True)
    assert np.allclose(far.cross_entropy(Tensor([1, 1]), reduction="none").numpy(), [1000, 0])
    grad = far.cross_entropy(Tensor([1, 1]), reduction="sum").gradient(far)[0]
    assert np.allclose(grad.numpy(), [[1, -1], [0, 0]], atol=1e-6)
    assert math.isnan(far.cross_entropy(Tensor([-100, -100])).item())


def test_cross_entropy_of_probabilities_and_of_more_axes() -> None:
    """Targets of the shape of the logits; classes on axis 1 of images."""
    logits, shares = normal(2, 3, 4), normal(2, 3, 4)
    shares = np.exp(shares) / np.exp(shares).sum(1, keepdims=True)
    shifted = logits - logits.max(1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    want = -(shares * logs).sum(1)
    got = Tensor(logits).cross_entropy(Tensor(shares), reduction="none").numpy()
    assert np.allclose(got, want, atol=1e-5)
    classes = RANDOM.integers(0, 3, (2, 4))
    want = -np.take_along_axis(logs, classes[:, None], 1)[:, 0]
    assert math.isclose(
        Tensor(logits).cross_entropy(Tensor(classes)).item(), want.mean(), rel_tol=1e-4
    )


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4, 1e18])
def test_layer_norm_at_all_scales(scale: float) -> None:
    """No overflow of squares below 1e19, no cancellation beside an offset."""
    x = normal(3, 16) * np.float32(scale)
    d = x.astype(np.float64)
    want = (d - d.mean(1, keepdims=True)) / np.sqrt(d.var(1, keepdims=True) + 1e-5)
    assert np.allclose(Tensor(x).layernorm().numpy(), want, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("m", "k", "n"), [(1, 1, 1), (1, 5, 1), (3, 0, 4), (0, 3, 2), (7, 1, 9), (33, 65, 17)]
)
@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "int32", "int8", "uint8", "bool", "float16"]
)
def test_matrix_products_of_every_dtype(m: int, k: int, n: int, dtype: str) -> None:
    """Sizes of 0 and 1, sums in a wider type, vectors and batches."""
    a = RANDOM.integers(0, 3, (m, k)).astype(dtype)
    b = RANDOM.integers(0, 3, (k, n)).astype(dtype)
    want = a.astype(np.float64) @ b.astype(np.float64)
    if dtype == "bool":
        want = want > 0
    got = (Tensor(a) @ Tensor(b)).numpy()
    assert got.shape == (m, n)
    assert np.array_equal(got.astype(np.float64), want)
    if n and m:
        assert np.array_equal((Tensor(a) @ Tensor(b[:, 0])).numpy(), got[:, 0])
        assert np.array_equal((Tensor(a[0]) @ Tensor(b)).numpy(), got[0])
        batch = Tensor(np.stack([a, a])) @ Tensor(b)
        assert np.array_equal(batch.numpy(), np.stack([got, got]))


def test_products_of_transposed_and_expanded_operands() -> None:
    """Operands in every order of axes, and one row for all."""
    a, b = normal(5, 6), normal(5, 6)
    x, y = Tensor(a).realize(), Tensor(b).realize()
    assert np.allclose((x.T @ y).numpy(), a.T @ b, atol=1e-4)
    assert np.allclose((x @ y.T).numpy(), a @ b.T, atol=1e-4)
    assert np.allclose((x @ y[0]).numpy(), a @ b[0], atol=1e-4)
    assert np.allclose((x[:1].expand(4, 6) @ y.T).numpy(), np.repeat(a[:1], 4, 0) @ b.T, atol=1e-4)
    assert np.allclose((x[::-1] @ y.T[:, ::-1]).numpy(), a[::-1] @ b.T[:, ::-1], atol=1e-4)


@pytest.mark.parametrize(
    ("formula", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,jk", [(2, 3), (3, 4)]),
        ("ii->i", [(3, 3)]),
        ("ii", [(3, 3)]),
        ("ij->", [(2, 3)]),
        ("ij->ji", [(2, 3)]),
        ("i,j->ij", [(2,), (3,)]),
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
        ("...ij,...jk->...ik", [(2, 3, 4), (2, 4, 5)]),
        ("ij,ij,ij->i", [(2, 3)] * 3),
        ("abc,cd,be->ade", [(2, 3, 4), (4, 5), (3, 2)]),
        ("ba,b->", [(3, 2), (3,)]),
        ("i...->...", [(3, 2, 4)]),
        ("iij->j", [(3, 3, 2)]),
        ("ij, kl -> ijkl", [(2, 1), (1, 2)]),
        ("Aa,aB->BA", [(2, 3), (3, 4)]),
    ],
)
def test_sums_by_formula(formula: str, shapes: list[tuple[int, ...]]) -> None:
    """Repeated letters, ellipses, implicit results, spaces and capitals."""
    arrays = [normal(*shape) for shape in shapes]
    want = np.einsum(formula, *arrays)
    got = Tensor.einsum(formula, *map(Tensor, arrays))
    assert got.shape == want.shape
    assert np.allclose(got.numpy(), want, atol=1e-4)


def test_adjacent_writes_of_pools_and_unpools() -> None:
    """max_unpool puts each value where it came from."""
    x = Tensor(RANDOM.permutation(64).reshape(1, 1, 8, 8).astype(np.float32))
    values, places = x.max_pool2d(2, return_indices=True)
    back = values.max_unpool2d(places, 2).numpy()
    kept = back != 0
    assert kept.sum() in (15, 16)
    assert np.array_equal(back[kept], x.numpy()[kept])


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular", "constant"])
@pytest.mark.parametrize("pads", [(1, 2), (0, 0), (3, 3), (2, 0)])
def test_padding_by_mode(mode: str, pads: tuple[int, int]) -> None:
    """Both sides, values and gradients counted by where they came from."""
    x = Tensor(normal(2, 4), requires_grad=True)
    names = {"reflect": "reflect", "replicate": "edge", "circular": "wrap", "constant": "constant"}
    want = np.pad(x.numpy(), ((0, 0), pads), mode=names[mode])
    y = x.pad(pads, mode=mode)
    assert np.array_equal(y.numpy(), want)
    place = np.pad(np.arange(4)[None] + 1, ((0, 0), pads), mode=names[mode])[0]
    counts = np.bincount(place, minlength=5)[1:]
    assert y.sum().gradient(x)[0].tolist() == [counts.tolist()] * 2


def test_slices_of_a_stack_of_functions() -> None:
    """Several functions of a slice, stacked: each is its own."""
    data = normal(4, 20)
    x = Tensor(data).realize()[:, 16]
    y = Tensor(data).realize()[:, :8].sum(1)
    got = (x.softplus() + 1e-4).stack((x * 0.3).erf(), y.exp().log1p(), dim=-1).numpy()
    d = data.astype(np.float64)
    s = d[:, :8].sum(1)
    erf = np.array([math.erf(v * 0.3) for v in d[:, 16]])
    want = np.stack([np.log1p(np.exp(d[:, 16])) + 1e-4, erf, np.log1p(np.exp(s))], -1)
    assert np.allclose(got, want, rtol=1e-4, atol=1e-5)


def test_rotated_halves() -> None:
    """cat(-second half, first half) inside a sum of products with looked-up angles."""
    q = normal(1, 2, 3, 8)
    angles = normal(10, 8)
    places = np.array([[4, 5, 6]])
    x = Tensor(q).realize()
    cos, sin = Tensor(np.cos(angles)).realize(), Tensor(np.sin(angles)).realize()
    index = Tensor(places).realize()
    half = (-x[..., 4:]).cat(x[..., :4], dim=-1)
    got = x * cos[index].unsqueeze(1) + half * sin[index].unsqueeze(1)
    rotated = np.concatenate([-q[..., 4:], q[..., :4]], -1)
    want = q * np.cos(angles)[places][:, None] + rotated * np.sin(angles)[places][:, None]
    assert np.allclose(got.numpy(), want, atol=1e-5)


def test_sums_of_parts_computed_in_a_loop() -> None:
    """Blockwise attention: parts joined without computing anything between."""
    q, k, v = normal(2, 4, 8), normal(2, 12, 8), normal(2, 12, 8)
    x = Tensor(q)
    parts = [(Tensor(k[:, i : i + 3]), Tensor(v[:, i : i + 3])) for i in range(0, 12, 3)]
    scores = [(x @ key.transpose(1, 2) / math.sqrt(8)).exp() for key, _ in parts]
    total = sum((s.sum(2, keepdim=True) for s in scores), start=Tensor.zeros(2, 4, 1))
    pairs = zip(scores, parts, strict=True)
    out = sum((s @ value for s, (_, value) in pairs), start=Tensor.zeros(2, 4, 8)) / total
    want = attended(q, k, v, np.ones((4, 12), bool))
    assert np.allclose(out.numpy(), want, atol=1e-5)


@pytest.mark.parametrize("batch", [1, 2, 7])
def test_networks_that_narrow_to_one_output(batch: int) -> None:
    """Every row of a batch is what the row alone gives."""
    weights = [(normal(9, 6), normal(6)), (normal(6, 5), normal(5)), (normal(5, 1), normal(1))]
    x = normal(batch, 9)

    def run(rows: np.ndarray) -> np.ndarray:
        value = Tensor(rows).realize()
        for w, b in weights:
            value = (value @ Tensor(w) + Tensor(b)).tanh()
        return value.numpy()

    alone = np.concatenate([run(x[i : i + 1]) for i in range(batch)])
    assert np.allclose(run(x), alone, atol=1e-6)


def test_windows_slide_over_every_axis() -> None:
    """unfold of each axis, with steps that leave a rest."""
    x = normal(5, 7)
    for axis, size, step in itertools.product((0, 1, -1), (1, 2, 5), (1, 2, 3)):
        view = np.lib.stride_tricks.sliding_window_view(x, size, axis)
        rows = [slice(None)] * 3
        rows[axis % 2] = slice(None, None, step)
        assert np.array_equal(Tensor(x).unfold(axis, size, step).numpy(), view[tuple(rows)])
