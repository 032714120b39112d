"""Numbers out of range, and shapes that were meant otherwise: refused, not computed with."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tg_tensor import Context, Device, Tensor, dtypes
from tg_uop.errors import TgError

X = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
V = Tensor([1.0, 2.0, 3.0])
IMAGE = Tensor.ones(1, 3, 8, 8)
WEIGHT = Tensor.ones(4, 3, 3, 3)

Case = tuple[str, Callable[[], object], str]

NUMBERS: list[Case] = [
    ("dropout", lambda: X.dropout(1.5), "p must be"),
    ("eye", lambda: Tensor.eye(-1), "0 or more"),
    ("normal", lambda: Tensor.normal(3, std=-1), "std must be 0 or more"),
    ("uniform", lambda: Tensor.uniform(3, low=2, high=1), "low not above high"),
    ("randint", lambda: Tensor.randint(3, low=5, high=2), "randint"),
    ("arange", lambda: Tensor.arange(0, 5, 0), "step must be"),
    ("linspace", lambda: Tensor.linspace(0, 1, -1), "steps must be"),
    ("multinomial", lambda: V.multinomial(0), "multinomial"),
    ("topk", lambda: V.topk(9), "k must be 0 to 3"),
    ("one_hot", lambda: Tensor([0]).one_hot(-3), "num_classes must be"),
    ("interpolate", lambda: IMAGE.interpolate((0, 4)), "interpolate"),
    ("scale", lambda: IMAGE.interpolate(scale_factor=0), "scale_factor must be other than 0"),
    ("kernel", lambda: IMAGE.avg_pool2d(0), "kernel_size must be"),
    ("stride", lambda: IMAGE.max_pool2d(2, stride=0), "stride must be"),
    ("pool padding", lambda: IMAGE.max_pool2d(2, padding=5), "padding must be"),
    ("conv stride", lambda: IMAGE.conv2d(WEIGHT, stride=0), "stride must be"),
    ("conv groups", lambda: IMAGE.conv2d(WEIGHT, groups=0), "groups must be"),
    ("conv window", lambda: IMAGE.conv2d(WEIGHT[:, :, :0]), "make no window"),
    ("pad", lambda: X.pad((1,)), "padding must be"),
    ("roll", lambda: X.roll((1, 2), 0), "roll"),
    ("unfold", lambda: X.unfold(0, 5, 1), "does not fit"),
    ("celu", lambda: X.celu(alpha=0), "celu.*alpha must be other than 0"),
    ("softplus", lambda: X.softplus(beta=0), "softplus.*beta must be other than 0"),
    ("smoothing", lambda: X.cross_entropy(Tensor([0, 1]), label_smoothing=2), "0 to 1"),
    ("quantile", lambda: X.quantile(1.5), "from 0 to 1"),
    ("void", lambda: X.cast(dtypes.void), "nodes without a value"),
]

SHAPES: list[Case] = [
    ("a fraction", lambda: X.reshape(2.0, 3), "no dimension"),
    ("one class for two rows", lambda: X.sparse_categorical_crossentropy(Tensor([0])), "without"),
    ("classes of floats", lambda: X.sparse_categorical_crossentropy(V[:2]), "are integers"),
    ("two axes of classes", lambda: X.nll_loss(Tensor([[0, 1]])), "classes have the shape"),
    ("classes of floats", lambda: X.cross_entropy(Tensor([0.0, 1.0])), "cross_entropy"),
    ("a bias of 3", lambda: IMAGE.conv2d(WEIGHT, Tensor.ones(3)), "bias"),
    ("digits", lambda: Tensor.einsum("i1", X), "letters, commas"),
    ("a length too many", lambda: X.rearrange("a b -> b a", z=3), "names z"),
    ("grids of matrices", lambda: Tensor.meshgrid(X, X), "vectors or numbers"),
    ("an axis of a norm", lambda: X.layernorm(axis=5), "no axis 5"),
    ("a gradient of 7", lambda: setattr(V, "grad", Tensor.ones(7)), r"shape \(7,\) is not for"),
]


@pytest.mark.parametrize(
    ("call", "text"), [c[1:] for c in NUMBERS + SHAPES], ids=[c[0] for c in NUMBERS + SHAPES]
)
def test_what_cannot_be_is_refused(call: Callable[[], object], text: str) -> None:
    with pytest.raises(TgError, match=text) as caught:
        call()
    assert isinstance(caught.value, ValueError | RuntimeError | TypeError)
    assert caught.value.location is not None
    assert caught.value.location[0] == __file__


def test_what_is_no_gradient_is_no_gradient() -> None:
    x = Tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(TypeError, match=r"grad is 5 .*expected a Tensor or None"):
        x.grad = 5  # type: ignore[assignment]
    assert x.grad is None
    x.grad = Tensor([3.0, 4.0])
    assert x.grad.tolist() == [3.0, 4.0]
    x.sum().backward()
    assert x.grad.tolist() == [4.0, 5.0]
    x.grad = None
    assert x.grad is None
    for wrong in ("yes", [True], 1.5):
        with pytest.raises(TypeError, match="expected True, False or None"):
            x.requires_grad = wrong  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("call", "kinds", "text"),
    [
        (lambda: Tensor([1.0], dtype="flaot32"), (KeyError, TypeError), "did you mean 'float32'"),
        (lambda: X.cast("int23"), (KeyError, TypeError), "did you mean 'int32'"),
        (lambda: Context(DEBU=1).__enter__(), (ValueError, KeyError), "did you mean 'DEBUG'"),
        (lambda: X.to("NOPE"), (ValueError, RuntimeError), "known names"),
        (lambda: Device["NOPE"], (ValueError, RuntimeError), "known names"),
        (lambda: Device["CUDA"], (Exception,), "CUDA"),
    ],
)
def test_names_that_do_not_exist(
    call: Callable[[], object], kinds: tuple[type[Exception], ...], text: str
) -> None:
    for kind in kinds:
        with pytest.raises(kind, match=text) as caught:
            call()
        assert isinstance(caught.value, TgError)
