"""Every gradient against finite differences, in float64, through the witness."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from tg_tensor import Tensor

Array = npt.NDArray[np.float64]
Witness = Callable[[Tensor], npt.NDArray[np.generic]]
Build = Callable[..., Tensor]

STEP = 1e-5
CHECKED = 8


def numbers(*shape: int) -> Array:
    return np.random.default_rng(sum(shape) + len(shape)).standard_normal(shape)


def positive(*shape: int) -> Array:
    return np.abs(numbers(*shape)) + 0.1


def assert_gradients(build: Build, inputs: list[Array], witness: Witness) -> None:
    """The gradient of a weighted sum of the result, at some elements of each input."""
    tensors = [Tensor(x) for x in inputs]
    result = build(*tensors)
    weights = np.random.default_rng(0).standard_normal(result.shape)
    found = (result * Tensor(weights)).sum().gradient(*tensors)

    def value(arrays: list[Array]) -> float:
        return float((witness(build(*map(Tensor, arrays))) * weights).sum())

    order = np.random.default_rng(1)
    for k, x in enumerate(inputs):
        assert found[k].shape == x.shape
        gradient = witness(found[k]).reshape(-1)
        for i in order.permutation(x.size)[:CHECKED]:
            shifted = [y.copy() for y in inputs]
            shifted[k].reshape(-1)[i] += STEP
            above = value(shifted)
            shifted[k].reshape(-1)[i] -= 2 * STEP
            slope = (above - value(shifted)) / (2 * STEP)
            np.testing.assert_allclose(gradient[i], slope, rtol=1e-4, atol=1e-4)


UNARY = [
    "exp",
    "log",
    "sqrt",
    "sin",
    "cos",
    "tan",
    "tanh",
    "sigmoid",
    "relu",
    "erf",
    "gelu",
    "silu",
    "mish",
    "softplus",
    "elu",
    "abs",
    "rsqrt",
    "reciprocal",
    "square",
    "atan",
    "asinh",
    "sinh",
    "cosh",
    "log2",
    "log10",
    "exp2",
    "logsigmoid",
    "leaky_relu",
    "hardswish",
    "softsign",
    "quick_gelu",
    "selu",
    "celu",
    "hardsigmoid",
    "relu6",
]


@pytest.mark.parametrize("name", UNARY)
def test_function(name: str, witness: Witness) -> None:
    assert_gradients(lambda x: getattr(x, name)(), [positive(3, 4)], witness)


@pytest.mark.parametrize(
    "name", ["tanh", "sigmoid", "erf", "gelu", "elu", "abs", "mish", "asinh", "atan", "softplus"]
)
def test_function_below_zero(name: str, witness: Witness) -> None:
    assert_gradients(lambda x: getattr(x, name)(), [-positive(3, 4)], witness)


@pytest.mark.parametrize("name", ["asin", "acos", "atanh"])
def test_function_on_the_unit_interval(name: str, witness: Witness) -> None:
    assert_gradients(lambda x: getattr(x, name)(), [numbers(9).clip(-1, 1) * 0.9], witness)


INDEX = [[0, 1, 1], [2, 0, 2]]

CASES: dict[str, tuple[Build, list[Array]]] = {
    "arithmetic": (lambda a, b: a * b + a / b - b, [numbers(3, 4), positive(4)]),
    "power": (lambda a, b: a**b, [positive(3, 4), numbers(3, 4)]),
    "constant power": (lambda a: a**0.3 + a**3, [positive(5)]),
    "power of a constant": (lambda a: 2**a, [numbers(5)]),
    "maximum": (lambda a, b: a.maximum(b), [numbers(9), numbers(8, 1)[:, 0].repeat(2)[:9]]),
    "minimum": (lambda a, b: a.minimum(b), [numbers(9), numbers(9)[::-1].copy()]),
    "where": (lambda a, b: (a > 0).where(a * b, b), [numbers(9), positive(9)]),
    "acosh": (lambda a: a.acosh(), [positive(5) + 1]),
    "lerp": (lambda a, b, c: a.lerp(b, c), [numbers(3), numbers(4)[:3], positive(3)]),
    "logaddexp": (lambda a, b: a.logaddexp(b), [numbers(3), positive(3)]),
    "sum": (lambda a: a.sum(1), [numbers(3, 4)]),
    "mean": (lambda a: a.mean((0, 2)), [numbers(2, 3, 2)]),
    "var": (lambda a: a.var(1), [numbers(3, 4)]),
    "std": (lambda a: a.std(), [numbers(3, 4)]),
    "max": (lambda a: a.max(1), [numbers(3, 4)]),
    "min": (lambda a: a.min(), [numbers(3, 4)]),
    "prod": (lambda a: a.prod(1), [numbers(3, 4)]),
    "prod of two axes": (lambda a: a.prod((0, 2)), [numbers(3, 2, 4)]),
    "prod of blocks": (lambda a: a.prod(1), [1 + 0.1 * numbers(2, 40)]),
    "prod of blocks of blocks": (lambda a: a.prod(), [1 + 0.02 * numbers(300)]),
    "softmax": (lambda a: a.softmax(), [numbers(3, 4)]),
    "log_softmax": (lambda a: a.log_softmax(0), [numbers(3, 4)]),
    "logsumexp": (lambda a: a.logsumexp(1), [numbers(3, 4)]),
    "cumsum": (lambda a: a.cumsum(1), [numbers(3, 4)]),
    "long cumsum": (lambda a: a.cumsum(0), [numbers(300)]),
    "cumprod": (lambda a: a.cumprod(1), [numbers(3, 4)]),
    "cummax": (lambda a: a.cummax(1)[0], [numbers(3, 6)]),
    "logcumsumexp": (lambda a: a.logcumsumexp(1), [numbers(3, 6)]),
    "index": (lambda a: a[[0, 1, 0], :, 1:], [numbers(3, 4, 5)]),
    "slice": (lambda a: a[::-2, 1], [numbers(5, 4)]),
    "cat": (lambda a, b: a.cat(b, dim=1), [numbers(3, 4), numbers(3, 2)]),
    "reflect": (lambda a: a.pad((1, 2), mode="reflect"), [numbers(3, 4)]),
    "repeat": (lambda a: a.repeat_interleave(2, 0).repeat(2, 2), [numbers(3, 2)]),
    "roll": (lambda a: a.roll(2), [numbers(5)]),
    "diagonal": (lambda a: a.diagonal(1), [numbers(4, 4)]),
    "tril": (lambda a: a.tril(), [numbers(3, 3)]),
    "unfold": (lambda a: a.unfold(0, 3, 1), [numbers(6)]),
    "gather": (lambda a: a.gather(1, Tensor(INDEX)), [numbers(2, 4)]),
    "scatter": (lambda a, b: a.scatter(1, Tensor(INDEX), b), [numbers(2, 4), numbers(2, 3)]),
    "scatter-add": (
        lambda a, b: a.scatter(1, Tensor(INDEX), b, reduce="add"),
        [numbers(2, 4), numbers(2, 3)],
    ),
    "sort": (lambda a: a.sort()[0], [numbers(9)]),
    "topk": (lambda a: a.topk(3)[0], [numbers(2, 9)]),
    "matmul": (lambda a, b: a @ b, [numbers(3, 4), numbers(4, 5)]),
    "einsum": (lambda a, b: Tensor.einsum("bij,jk->bk", a, b), [numbers(2, 3, 4), numbers(4, 5)]),
    "convolution": (
        lambda a, b, c: a.conv2d(b, c),
        [numbers(2, 4, 9), numbers(3, 4, 3), numbers(3)],
    ),
    "strided convolution": (
        lambda a, b: a.conv2d(b, stride=2, padding=1, dilation=2, groups=2),
        [numbers(1, 4, 8, 9), numbers(6, 2, 3, 3)],
    ),
    "wide stride": (lambda a, b: a.conv2d(b, stride=3), [numbers(1, 2, 7, 7), numbers(2, 2, 2, 2)]),
    "transposed convolution": (
        lambda a, b: a.conv_transpose2d(b, stride=2, padding=1, output_padding=1),
        [numbers(1, 4, 4, 4), numbers(4, 3, 3, 3)],
    ),
    "max_pool": (lambda a: a.max_pool2d(), [numbers(2, 3, 6, 7)]),
    "overlapping max_pool": (lambda a: a.max_pool2d((3, 3), 2, padding=1), [numbers(1, 3, 6, 7)]),
    "avg_pool": (
        lambda a: a.avg_pool2d((3, 3), 2, padding=1, ceil_mode=True, count_include_pad=False),
        [numbers(1, 3, 6, 7)],
    ),
    "layernorm": (lambda a: a.layernorm(), [numbers(3, 4)]),
    "normalize": (lambda a: a.normalize(), [numbers(3, 4)]),
    "interpolate": (lambda a: a.interpolate((7, 3)), [numbers(2, 3, 4)]),
    "attention": (
        lambda q, k, v: q.scaled_dot_product_attention(k, v, is_causal=True),
        [numbers(2, 3, 4), numbers(2, 3, 4)[::-1].copy(), positive(2, 3, 4)],
    ),
    "cross_entropy": (
        lambda a: a.cross_entropy(Tensor([0, 2, 1]), label_smoothing=0.1),
        [numbers(3, 4)],
    ),
    "sparse cross entropy": (
        lambda a: a.sparse_categorical_crossentropy(Tensor([0, -1, 1])),
        [numbers(3, 4)],
    ),
    "binary cross entropy": (
        lambda a, b: a.sigmoid().binary_crossentropy(b.sigmoid()),
        [numbers(3, 4), positive(3, 4)],
    ),
    "binary cross entropy of logits": (
        lambda a, b: a.binary_crossentropy_logits(b.sigmoid()),
        [numbers(3, 4), positive(3, 4)],
    ),
    "second of a cube": (lambda a: (a**3).sum().gradient(a)[0] * 1.0, [numbers(3)]),
    "second of functions": (lambda a: a.tanh().exp().sum().gradient(a)[0], [numbers(3)]),
    "second of matmul": (
        lambda a, b: (a @ b).sigmoid().sum().gradient(b)[0],
        [numbers(3, 3), positive(3, 3)],
    ),
    "second of convolution": (
        lambda a, b: (a.conv2d(b) ** 2).sum().gradient(a)[0],
        [numbers(1, 2, 4, 4), numbers(2, 2, 3, 3)],
    ),
    "second of a product": (lambda a: a.prod().gradient(a)[0], [numbers(4)]),
}


@pytest.mark.parametrize("name", CASES)
def test_gradient(name: str, witness: Witness) -> None:
    build, inputs = CASES[name]
    assert_gradients(build, inputs, witness)


def test_written_parts(witness: Witness) -> None:
    def write_view(a: Tensor, b: Tensor) -> Tensor:
        c = a + 0
        c[1:3, ::2] = b
        return c * c

    def write_lookup(a: Tensor, b: Tensor) -> Tensor:
        c = a + 0
        c[[0, 2]] = b
        return c * c

    assert_gradients(write_view, [numbers(4, 4), numbers(2, 2)], witness)
    assert_gradients(write_lookup, [numbers(4, 4), numbers(2, 4)], witness)
