"""Values and gradients of Tensor methods are those of PyTorch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tg_tensor import Tensor

torch = pytest.importorskip("torch")
functional = torch.nn.functional

pytestmark = pytest.mark.oracle

Function = Callable[..., object]


class Case:
    """One expression in both libraries, on inputs of these shapes drawn from an interval."""

    def __init__(
        self,
        name: str,
        ours: Function,
        theirs: Function | None = None,
        *shapes: tuple[int, ...],
        low: float = -2.0,
        high: float = 2.0,
        tolerance: float = 1e-4,
    ) -> None:
        self.name = name
        self.ours = ours
        self.theirs = theirs or ours
        self.shapes = shapes or ((3, 5),)
        self.low = low
        self.high = high
        self.tolerance = tolerance


def same(name: str, *shapes: tuple[int, ...], **options: float) -> Case:
    """A method that both libraries call alike, without arguments."""
    return Case(name, lambda x: getattr(x, name)(), None, *shapes, **options)


def both(name: str, function: Function, *shapes: tuple[int, ...], **options: float) -> Case:
    """An expression that is spelled the same in both libraries."""
    return Case(name, function, None, *shapes, **options)


UNARY = [
    same("abs"),
    same("neg"),
    same("exp"),
    same("exp2"),
    same("log", low=0.1, high=4),
    same("log2", low=0.1, high=4),
    same("log10", low=0.1, high=4),
    same("sqrt", low=0.1, high=4),
    same("rsqrt", low=0.1, high=4),
    same("reciprocal", low=0.2, high=3),
    same("square"),
    same("sin"),
    same("cos"),
    same("tan", low=-1.2, high=1.2),
    same("asin", low=-0.9, high=0.9),
    same("acos", low=-0.9, high=0.9),
    same("atan"),
    same("sinh"),
    same("cosh"),
    same("tanh"),
    same("asinh"),
    same("acosh", low=1.2, high=4),
    same("atanh", low=-0.9, high=0.9),
    same("erf"),
    same("sigmoid"),
    same("relu"),
    same("sign"),
    same("floor"),
    same("ceil"),
    same("trunc"),
    same("round"),
    Case("relu6", lambda x: x.relu6(), lambda x: functional.relu6(x), low=-2, high=8),
    Case("elu", lambda x: x.elu(), lambda x: functional.elu(x)),
    Case("celu", lambda x: x.celu(0.7), lambda x: functional.celu(x, 0.7)),
    Case("selu", lambda x: x.selu(), lambda x: functional.selu(x)),
    Case("gelu", lambda x: x.gelu(), lambda x: functional.gelu(x)),
    Case("silu", lambda x: x.silu(), lambda x: functional.silu(x)),
    Case("swish", lambda x: x.swish(), lambda x: functional.silu(x)),
    Case("mish", lambda x: x.mish(), lambda x: functional.mish(x)),
    Case("softplus", lambda x: x.softplus(), lambda x: functional.softplus(x)),
    Case("softsign", lambda x: x.softsign(), lambda x: functional.softsign(x)),
    Case("logsigmoid", lambda x: x.logsigmoid(), lambda x: functional.logsigmoid(x)),
    Case("hardswish", lambda x: x.hardswish(), lambda x: functional.hardswish(x), low=-5, high=5),
    Case("hardtanh", lambda x: x.hardtanh(), lambda x: functional.hardtanh(x)),
    Case("hardsigmoid", lambda x: x.hardsigmoid(), lambda x: functional.hardsigmoid(x)),
    Case("leaky_relu", lambda x: x.leaky_relu(0.1), lambda x: functional.leaky_relu(x, 0.1)),
]

BINARY = [
    both("add", lambda x, y: x + y, (3, 5), (3, 5)),
    both("add broadcast", lambda x, y: x + y, (2, 3, 5), (3, 1)),
    both("sub", lambda x, y: x - y, (3, 5), (5,)),
    both("mul", lambda x, y: x * y, (3, 5), (3, 1)),
    both("div", lambda x, y: x / y, (3, 5), (3, 5), low=0.5, high=3),
    both("pow", lambda x, y: x**y, (3, 5), (3, 5), low=0.5, high=2),
    both("square by power", lambda x: x**2),
    both("cube by power", lambda x: x**3),
    both("two to the x", lambda x: 2**x),
    both("maximum", lambda x, y: x.maximum(y), (3, 5), (3, 5)),
    both("minimum", lambda x, y: x.minimum(y), (3, 5), (5,)),
    both("lerp", lambda x, y: x.lerp(y, 0.3), (3, 5), (3, 5)),
    both("copysign", lambda x, y: x.copysign(y), (3, 5), (3, 5)),
    both("logaddexp", lambda x, y: x.logaddexp(y), (3, 5), (3, 5)),
    both("clip", lambda x: x.clip(-0.5, 0.8)),
    Case(
        "where",
        lambda x, y: (x > 0).where(x, y),
        lambda x, y: torch.where(x > 0, x, y),
        (3, 5),
        (3, 5),
    ),
    both("masked_fill", lambda x: x.masked_fill(x > 0.5, 7.0)),
]

REDUCE = [
    both("sum", lambda x: x.sum()),
    both("sum axis", lambda x: x.sum(1), (3, 4, 5)),
    both("mean", lambda x: x.mean(0), (3, 4, 5)),
    both("max", lambda x: x.max()),
    Case("max axis", lambda x: x.max(1), lambda x: x.amax(1), (3, 4, 5)),
    Case("min axis", lambda x: x.min(1), lambda x: x.amin(1), (3, 4, 5)),
    both("prod", lambda x: x.prod(1), (3, 4)),
    both("var", lambda x: x.var(1), (3, 6)),
    both("std", lambda x: x.std(1), (3, 6)),
    Case("var uncorrected", lambda x: x.var(1, correction=0), None, (3, 6)),
    both("logsumexp", lambda x: x.logsumexp(1), (3, 6)),
    both("cumsum", lambda x: x.cumsum(1), (3, 6)),
    both("cumprod", lambda x: x.cumprod(1), (3, 6)),
    Case("cummax", lambda x: x.cummax(1)[0], lambda x: x.cummax(1)[0], (3, 6)),
    both("logcumsumexp", lambda x: x.logcumsumexp(1), (3, 6)),
    both("softmax", lambda x: x.softmax(1), (3, 6)),
    both("log_softmax", lambda x: x.log_softmax(1), (3, 6)),
    Case(
        "layernorm",
        lambda x: x.layernorm(),
        lambda x: functional.layer_norm(x, (6,)),
        (3, 6),
    ),
    Case("normalize", lambda x: x.normalize(), lambda x: functional.normalize(x), (3, 6)),
]

MOVE = [
    both("reshape", lambda x: x.reshape(5, 3) * 2),
    both("permute", lambda x: x.permute(2, 0, 1) * 2, (2, 3, 4)),
    both("transpose", lambda x: x.transpose(0, 1) * 2),
    both("flip", lambda x: x.flip(0) * 2),
    both("expand", lambda x: x.reshape(3, 1, 5).expand(3, 4, 5) * 2),
    Case("pad", lambda x: x.pad((1, 2)), lambda x: functional.pad(x, (1, 2))),
    Case(
        "pad reflect",
        lambda x: x.pad((1, 2), mode="reflect"),
        lambda x: functional.pad(x, (1, 2), mode="reflect"),
    ),
    both("slice", lambda x: x[1:, ::2] * 2),
    Case("negative step", lambda x: x[:, ::-2] * 2, lambda x: x.flip(1)[:, ::2] * 2),
    both("rows by number", lambda x: x[[2, 0, 2]] * 2),
    both("roll", lambda x: x.roll(2, 1) * 2),
    both("squeeze", lambda x: x.unsqueeze(1).squeeze(1) * 2),
    both("tril", lambda x: x.tril()),
    both("triu", lambda x: x.triu(1)),
    both("diagonal", lambda x: x.diagonal() * 2),
    Case("cat", lambda x, y: x.cat(y, dim=1), lambda x, y: torch.cat((x, y), 1), (3, 5), (3, 2)),
    Case("stack", lambda x, y: x.stack(y), lambda x, y: torch.stack((x, y)), (3, 5), (3, 5)),
    both("repeat", lambda x: x.repeat(2, 3)),
    both("repeat_interleave", lambda x: x.repeat_interleave(2, 1)),
    both("unfold", lambda x: x.unfold(1, 3, 2)),
]

PRODUCTS = [
    both("matmul", lambda x, y: x @ y, (4, 6), (6, 3)),
    both("matmul batched", lambda x, y: x @ y, (2, 4, 6), (2, 6, 3)),
    both("matmul broadcast", lambda x, y: x @ y, (2, 1, 4, 6), (3, 6, 5)),
    both("vector", lambda x, y: x @ y, (6,), (6, 3)),
    both("dot", lambda x, y: x @ y, (6,), (6,)),
    Case(
        "einsum",
        lambda x, y: Tensor.einsum("bij,bjk->ikb", x, y),
        lambda x, y: torch.einsum("bij,bjk->ikb", x, y),
        (2, 3, 4),
        (2, 4, 5),
    ),
    Case(
        "conv2d",
        lambda x, w, b: x.conv2d(w, b, stride=2, padding=1),
        lambda x, w, b: functional.conv2d(x, w, b, 2, 1),
        (2, 4, 7, 6),
        (6, 4, 3, 3),
        (6,),
    ),
    Case(
        "conv2d groups, dilation",
        lambda x, w: x.conv2d(w, groups=2, dilation=2),
        lambda x, w: functional.conv2d(x, w, groups=2, dilation=2),
        (2, 4, 7, 8),
        (6, 2, 3, 3),
    ),
    Case(
        "conv1d",
        lambda x, w: x.conv2d(w),
        lambda x, w: functional.conv1d(x, w),
        (2, 4, 9),
        (3, 4, 3),
    ),
    Case(
        "conv3d",
        lambda x, w: x.conv2d(w),
        lambda x, w: functional.conv3d(x, w),
        (1, 2, 4, 5, 6),
        (3, 2, 2, 3, 2),
    ),
    Case(
        "conv_transpose2d",
        lambda x, w: x.conv_transpose2d(w, stride=2, padding=1, output_padding=1),
        lambda x, w: functional.conv_transpose2d(x, w, None, 2, 1, 1),
        (1, 3, 4, 5),
        (3, 2, 3, 3),
    ),
    Case(
        "max_pool2d",
        lambda x: x.max_pool2d((2, 3), stride=2, padding=1),
        lambda x: functional.max_pool2d(x, (2, 3), 2, 1),
        (1, 2, 7, 8),
    ),
    Case(
        "avg_pool2d",
        lambda x: x.avg_pool2d(3, stride=2, padding=1, count_include_pad=False),
        lambda x: functional.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        (1, 2, 7, 8),
    ),
    Case(
        "attention",
        lambda q, k, v: q.scaled_dot_product_attention(k, v, is_causal=True),
        lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, is_causal=True),
        (1, 2, 4, 8),
        (1, 2, 4, 8),
        (1, 2, 4, 8),
    ),
    Case(
        "interpolate",
        lambda x: x.interpolate((7, 9), align_corners=False),
        lambda x: functional.interpolate(x, (7, 9), mode="bilinear", align_corners=False),
        (1, 2, 4, 5),
    ),
]

LABELS = np.array([1, 0, 5], np.int32)


def targets(x: object) -> object:
    return Tensor(LABELS) if isinstance(x, Tensor) else torch.from_numpy(LABELS).long()


LOSSES = [
    Case(
        "cross_entropy",
        lambda x: x.cross_entropy(targets(x), label_smoothing=0.1),
        lambda x: functional.cross_entropy(x, targets(x), label_smoothing=0.1),
        (3, 6),
    ),
    Case(
        "sparse_categorical_crossentropy",
        lambda x: x.sparse_categorical_crossentropy(targets(x)),
        lambda x: functional.cross_entropy(x, targets(x)),
        (3, 6),
    ),
    Case(
        "nll_loss",
        lambda x: x.log_softmax(1).nll_loss(targets(x)),
        lambda x: functional.nll_loss(x.log_softmax(1), targets(x)),
        (3, 6),
    ),
    Case(
        "binary_crossentropy",
        lambda x, y: x.binary_crossentropy(y),
        lambda x, y: functional.binary_cross_entropy(x, y),
        (3, 6),
        (3, 6),
        low=0.1,
        high=0.9,
    ),
    Case(
        "binary_crossentropy_logits",
        lambda x, y: x.binary_crossentropy_logits(y),
        lambda x, y: functional.binary_cross_entropy_with_logits(x, y),
        (3, 6),
        (3, 6),
        low=0.1,
        high=0.9,
    ),
]

INDEXED = [
    Case(
        "gather",
        lambda x: x.gather(1, Tensor([[0, 2], [4, 4], [1, 0]])),
        lambda x: x.gather(1, torch.tensor([[0, 2], [4, 4], [1, 0]])),
    ),
    Case(
        "scatter add",
        lambda x, s: x.scatter(1, Tensor([[0, 2], [4, 4], [1, 0]]), s, reduce="add"),
        lambda x, s: x.scatter_add(1, torch.tensor([[0, 2], [4, 4], [1, 0]]), s),
        (3, 5),
        (3, 2),
    ),
    Case("sort", lambda x: x.sort(1)[0], lambda x: x.sort(1)[0]),
    Case("topk", lambda x: x.topk(3, 1)[0], lambda x: x.topk(3, 1)[0]),
]

ALL = UNARY + BINARY + REDUCE + MOVE + PRODUCTS + LOSSES + INDEXED


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_value_and_gradient(case: Case) -> None:
    rng = np.random.default_rng(len(case.name))
    arrays = [rng.uniform(case.low, case.high, s).astype(np.float32) for s in case.shapes]
    mine = [Tensor(a, requires_grad=True) for a in arrays]
    other = [torch.tensor(a, requires_grad=True) for a in arrays]
    ours, theirs = case.ours(*mine), case.theirs(*other)
    assert tuple(ours.shape) == tuple(theirs.shape)
    expected = theirs.detach().numpy()
    weights = rng.standard_normal(expected.shape).astype(np.float32)
    (ours * Tensor(weights)).sum().backward()
    (theirs * torch.tensor(weights)).sum().backward()
    np.testing.assert_allclose(ours.numpy(), expected, rtol=case.tolerance, atol=case.tolerance)
    for position, (x, y) in enumerate(zip(mine, other, strict=True)):
        found = np.zeros(x.shape, np.float32) if x.grad is None else x.grad.numpy()
        want = np.zeros(x.shape, np.float32) if y.grad is None else y.grad.numpy()
        np.testing.assert_allclose(
            found, want, rtol=1e-3, atol=1e-4, err_msg=f"gradient of input {position}"
        )


def test_gradients_of_gradients() -> None:
    values = np.array([0.3, -0.7, 1.2], np.float32)
    x = Tensor(values, requires_grad=True)
    (first,) = (x.sin() * x.exp()).sum().gradient(x)
    (second,) = first.sum().gradient(x)
    y = torch.tensor(values, requires_grad=True)
    (one,) = torch.autograd.grad((y.sin() * y.exp()).sum(), y, create_graph=True)
    (two,) = torch.autograd.grad(one.sum(), y)
    np.testing.assert_allclose(first.numpy(), one.detach().numpy(), rtol=1e-4)
    np.testing.assert_allclose(second.numpy(), two.numpy(), rtol=1e-4, atol=1e-5)
