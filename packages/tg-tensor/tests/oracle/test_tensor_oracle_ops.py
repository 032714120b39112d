"""Values, shapes and gradients of Tensor methods against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tg_tensor import Tensor

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

F = torch.nn.functional
Ours = Callable[..., Any]


def numbers(*shape: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.random.default_rng(sum(shape) + len(shape)).standard_normal(shape).astype(np.float32)


def positive(*shape: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.abs(numbers(*shape)) + np.float32(0.1)


def assert_same(ours: Ours, theirs: Ours, *inputs: Any, gradients: bool = True) -> None:
    """Equal results, and equal gradients of a weighted sum of them."""
    mine = [Tensor(x, requires_grad=True) for x in inputs]
    other = [torch.tensor(x, requires_grad=x.dtype.kind == "f") for x in inputs]
    found, wanted = ours(*mine), theirs(*other)
    assert tuple(found.shape) == tuple(wanted.shape)
    reference = wanted.detach().numpy()
    np.testing.assert_allclose(found.numpy(), reference, rtol=3e-5, atol=3e-6)
    if not gradients:
        return
    weights = numbers(*wanted.shape) if wanted.ndim else np.float32(1.5)
    flowing = (found * Tensor(weights)).sum().gradient(*mine)
    (wanted * torch.tensor(weights)).sum().backward()
    for gradient, tensor in zip(flowing, other, strict=True):
        np.testing.assert_allclose(gradient.numpy(), tensor.grad.numpy(), rtol=1e-4, atol=2e-5)


UNARY: dict[str, Ours] = {
    "exp": torch.exp,
    "log": torch.log,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "sin": torch.sin,
    "cos": torch.cos,
    "tan": torch.tan,
    "tanh": torch.tanh,
    "sinh": torch.sinh,
    "cosh": torch.cosh,
    "atan": torch.atan,
    "asinh": torch.asinh,
    "erf": torch.erf,
    "sigmoid": torch.sigmoid,
    "logsigmoid": F.logsigmoid,
    "relu": torch.relu,
    "relu6": F.relu6,
    "leaky_relu": F.leaky_relu,
    "elu": F.elu,
    "celu": F.celu,
    "silu": F.silu,
    "mish": F.mish,
    "gelu": F.gelu,
    "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid,
    "hardtanh": F.hardtanh,
    "softplus": F.softplus,
    "softsign": F.softsign,
    "abs": torch.abs,
    "square": torch.square,
    "reciprocal": torch.reciprocal,
    "log2": torch.log2,
    "log10": torch.log10,
    "exp2": torch.exp2,
    "round": torch.round,
    "floor": torch.floor,
    "ceil": torch.ceil,
    "sign": torch.sign,
}
FLAT = {"round", "floor", "ceil", "sign"}
ABOVE_ZERO = {"log", "sqrt", "rsqrt", "reciprocal", "log2", "log10"}


@pytest.mark.parametrize("name", UNARY)
def test_function(name: str) -> None:
    x = positive(40) if name in ABOVE_ZERO else numbers(40) * 3
    assert_same(lambda t: getattr(t, name)(), UNARY[name], x, gradients=name not in FLAT)


@pytest.mark.parametrize(
    "name", ["relu", "relu6", "abs", "hardtanh", "leaky_relu", "elu", "softplus"]
)
def test_gradient_at_the_corner(name: str) -> None:
    x = np.array([0.0, 6.0, 1.0, -1.0, -0.0], np.float32)
    assert_same(lambda t: getattr(t, name)(), UNARY[name], x)


def test_gelu_by_tanh() -> None:
    assert_same(
        lambda t: t.gelu(approximate="tanh"), lambda t: F.gelu(t, approximate="tanh"), numbers(30)
    )


def test_special_values() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 88.0, -104.0, 1e30], np.float32)
    for name in ("exp", "tanh", "sigmoid", "relu", "sign", "round", "erf", "sqrt", "log"):
        ours = getattr(Tensor(x), name)().numpy()
        theirs = getattr(torch, name)(torch.tensor(x)).numpy()
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-37, err_msg=name)


BINARY: dict[str, tuple[Ours, Ours]] = {
    "maximum": (lambda a, b: a.maximum(b), lambda a, b: torch.maximum(a, b)),
    "minimum": (lambda a, b: a.minimum(b), lambda a, b: torch.minimum(a, b)),
    "pow": (lambda a, b: a.abs() ** b, lambda a, b: a.abs() ** b),
    "div": (lambda a, b: a / b, lambda a, b: a / b),
    "floordiv": (lambda a, b: a // b, lambda a, b: a // b),
    "mod": (lambda a, b: a % b, lambda a, b: a % b),
    "logaddexp": (lambda a, b: a.logaddexp(b), torch.logaddexp),
    "copysign": (lambda a, b: a.copysign(b), torch.copysign),
}


@pytest.mark.parametrize("name", BINARY)
def test_function_of_two(name: str) -> None:
    ours, theirs = BINARY[name]
    smooth = name not in ("floordiv", "mod", "copysign")
    assert_same(ours, theirs, numbers(4, 5), numbers(5) + 2.5, gradients=smooth)


@pytest.mark.parametrize("axis", [0, 1, -1, (0, 2)])
@pytest.mark.parametrize("name", ["sum", "mean", "var", "std", "amax", "amin", "logsumexp"])
def test_reduction(name: str, axis: int | tuple[int, ...]) -> None:
    own = {"amax": "max", "amin": "min"}.get(name, name)
    assert_same(
        lambda t: getattr(t, own)(axis), lambda t: getattr(torch, name)(t, axis), numbers(2, 3, 4)
    )


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "logcumsumexp"])
def test_running(name: str) -> None:
    assert_same(lambda t: getattr(t, name)(1), lambda t: getattr(torch, name)(t, 1), numbers(3, 7))


def test_running_extremes() -> None:
    x = np.array([[3, 1, 3, np.nan, 5], [1, 2, 2, 0, 2]], np.float32)
    for name in ("cummax", "cummin"):
        values, places = getattr(Tensor(x), name)(1)
        wanted = getattr(torch, name)(torch.tensor(x), 1)
        np.testing.assert_array_equal(values.numpy(), wanted.values.numpy())
        np.testing.assert_array_equal(places.numpy(), wanted.indices.numpy())


CONVOLUTIONS = [
    {},
    {"stride": 2},
    {"padding": 1},
    {"dilation": 2, "padding": 2},
    {"groups": 2},
    {"stride": 3, "padding": (2, 1), "dilation": (1, 2)},
]


@pytest.mark.parametrize("options", CONVOLUTIONS, ids=str)
def test_convolution(options: dict[str, Any]) -> None:
    inputs = 4 // options.get("groups", 1)
    assert_same(
        lambda x, w, b: x.conv2d(w, b, **options),
        lambda x, w, b: F.conv2d(x, w, b, **options),
        numbers(2, 4, 9, 10),
        numbers(6, inputs, 3, 3),
        numbers(6),
    )


@pytest.mark.parametrize(
    "options",
    [{}, {"stride": 2, "output_padding": 1}, {"padding": 1, "groups": 2}, {"dilation": 2}],
    ids=str,
)
def test_transposed_convolution(options: dict[str, Any]) -> None:
    assert_same(
        lambda x, w: x.conv_transpose2d(w, **options),
        lambda x, w: F.conv_transpose2d(x, w, **options),
        numbers(2, 4, 5, 6),
        numbers(4, 3, 3, 3),
    )


POOLS = [
    {"kernel_size": 2},
    {"kernel_size": 3, "stride": 2, "padding": 1},
    {"kernel_size": (3, 2), "stride": (2, 1)},
    {"kernel_size": 3, "stride": 2, "ceil_mode": True},
]


@pytest.mark.parametrize("options", POOLS, ids=str)
def test_pooling(options: dict[str, Any]) -> None:
    assert_same(
        lambda x: x.max_pool2d(**options), lambda x: F.max_pool2d(x, **options), numbers(2, 3, 8, 9)
    )
    assert_same(
        lambda x: x.avg_pool2d(**options), lambda x: F.avg_pool2d(x, **options), numbers(2, 3, 8, 9)
    )
    x = numbers(2, 3, 8, 9)
    places = Tensor(x).max_pool2d(**options, return_indices=True)[1]
    wanted = F.max_pool2d(torch.tensor(x), **options, return_indices=True)[1]
    np.testing.assert_array_equal(places.numpy(), wanted.numpy())


def test_average_without_padding() -> None:
    assert_same(
        lambda x: x.avg_pool2d(3, 2, padding=1, ceil_mode=True, count_include_pad=False),
        lambda x: F.avg_pool2d(x, 3, 2, padding=1, ceil_mode=True, count_include_pad=False),
        numbers(2, 3, 7, 8),
    )


def test_losses() -> None:
    classes = np.array([0, 2, 1, 3])
    ours, theirs = Tensor(classes.astype(np.int32)), torch.tensor(classes)
    for reduction in ("mean", "sum", "none"):
        for smoothing in (0.0, 0.1):
            options: dict[str, Any] = {"reduction": reduction, "label_smoothing": smoothing}
            assert_same(
                lambda x, o=options: x.cross_entropy(ours, **o),
                lambda x, o=options: F.cross_entropy(x, theirs, **o),
                numbers(4, 5),
            )
    assert_same(
        lambda x, y: x.cross_entropy(y.softmax(1)),
        lambda x, y: F.cross_entropy(x, y.softmax(1)),
        numbers(4, 5),
        numbers(4, 5)[::-1].copy(),
    )
    weight = np.array([1, 2, 3, 4, 5], np.float32)
    assert_same(
        lambda x: x.log_softmax(1).nll_loss(ours, weight=Tensor(weight), ignore_index=2),
        lambda x: F.nll_loss(x.log_softmax(1), theirs, torch.tensor(weight), ignore_index=2),
        numbers(4, 5),
    )
    assert_same(
        lambda x, y: x.sigmoid().binary_crossentropy(y.sigmoid()),
        lambda x, y: F.binary_cross_entropy(x.sigmoid(), y.sigmoid()),
        numbers(4, 5),
        positive(4, 5),
    )
    pixels = np.array([[0, 2, 1], [1, 1, 0]])
    assert_same(
        lambda x: x.cross_entropy(Tensor(pixels.astype(np.int32))),
        lambda x: F.cross_entropy(x, torch.tensor(pixels)),
        numbers(2, 3, 3),
    )


def test_attention() -> None:
    shapes = [(2, 4, 5, 8), (2, 4, 5, 8), (2, 4, 5, 8)]
    q, k, v = (numbers(*shape) * scale for shape, scale in zip(shapes, (1, 0.5, 2), strict=True))
    q, k, v = (x.astype(np.float32) for x in (q, k, v))
    mask = np.tril(np.ones((5, 5), bool), 1)
    for ours, theirs in (
        ({}, {}),
        ({"is_causal": True}, {"is_causal": True}),
        ({"attn_mask": Tensor(mask)}, {"attn_mask": torch.tensor(mask)}),
    ):
        assert_same(
            lambda a, b, c, o=ours: a.scaled_dot_product_attention(b, c, **o),
            lambda a, b, c, o=theirs: F.scaled_dot_product_attention(a, b, c, **o),
            q,
            k,
            v,
        )
    assert_same(
        lambda a, b, c: a.scaled_dot_product_attention(b, c, enable_gqa=True),
        lambda a, b, c: F.scaled_dot_product_attention(a, b, c, enable_gqa=True),
        q,
        k[:, :2].copy(),
        v[:, :2].copy(),
    )


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("size", [(7, 3), (2, 9), (5, 6)])
def test_interpolation(size: tuple[int, int], align_corners: bool) -> None:
    assert_same(
        lambda x: x.interpolate(size, align_corners=align_corners),
        lambda x: F.interpolate(x, size, mode="bilinear", align_corners=align_corners),
        numbers(2, 3, 5, 6),
    )
    for mode in ("nearest", "nearest-exact"):
        assert_same(
            lambda x, m=mode: x.interpolate(size, mode=m),
            lambda x, m=mode: F.interpolate(x, size, mode=m),
            numbers(2, 3, 5, 6),
        )


def test_sorting() -> None:
    x = np.array([[3, np.nan, 1, 3, -np.inf, 1], [0, 5, 5, 2, 1, 0]], np.float32)
    for falling in (False, True):
        values, places = Tensor(x).sort(descending=falling)
        wanted = torch.tensor(x).sort(descending=falling, stable=True)
        np.testing.assert_array_equal(values.numpy(), wanted.values.numpy())
        np.testing.assert_array_equal(places.numpy(), wanted.indices.numpy())
    assert_same(lambda t: t.topk(3)[0], lambda t: t.topk(3)[0], numbers(2, 7))


@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("include_self", [True, False])
def test_scatter_reduce(reduce: str, include_self: bool) -> None:
    index = np.array([[0, 1, 1, 3], [2, 2, 2, 2]])
    assert_same(
        lambda a, b: a.scatter_reduce(1, Tensor(index), b, reduce, include_self),
        lambda a, b: a.scatter_reduce(1, torch.tensor(index), b, reduce, include_self=include_self),
        numbers(2, 5),
        numbers(2, 4),
        gradients=False,
    )


def test_norms() -> None:
    assert_same(lambda x: x.layernorm(), lambda x: F.layer_norm(x, (6,)), numbers(4, 6))
    assert_same(
        lambda x: x.layernorm((-2, -1)), lambda x: F.layer_norm(x, (4, 6)), numbers(2, 4, 6)
    )
    for p in (1.0, 2.0, 3.0, float("inf")):
        assert_same(
            lambda x, p=p: x.normalize(p, 1), lambda x, p=p: F.normalize(x, p, 1), numbers(4, 6)
        )
