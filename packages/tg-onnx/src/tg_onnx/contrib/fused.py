"""Products, convolutions and activations that onnxruntime's optimizer makes of several nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tg_tensor import Tensor

from tg_onnx.ops.cells import ACTIVATIONS, with_numbers
from tg_onnx.ops.neural import conv, gemm
from tg_onnx.registry import operator

DOMAIN = "com.microsoft"

# besides these, the functions of recurrent cells, whose numbers they take in the same order
OWN_ACTIVATIONS: dict[str, Callable[[Tensor, Sequence[float]], Tensor]] = {
    "": lambda x, p: x,
    "Clip": lambda x, p: x.clip(p[0], p[1]),
    "ParametricSoftplus": lambda x, p: (
        (x * _parameter(p, 1, 1.0)).softplus() * _parameter(p, 0, 1.0)
    ),
}
OF_CELLS = (
    "Relu",
    "Sigmoid",
    "Tanh",
    "Softplus",
    "Softsign",
    "LeakyRelu",
    "Elu",
    "HardSigmoid",
    "ThresholdedRelu",
    "ScaledTanh",
)


def _parameter(given: Sequence[float], place: int, default: float) -> float:
    return given[place] if place < len(given) else default


def activate(x: Tensor, name: str, parameters: Sequence[float]) -> Tensor:
    """An activation by its name. Raises `NotImplementedError` for one that is not known."""
    if name in OWN_ACTIVATIONS:
        return OWN_ACTIVATIONS[name](x, parameters)
    if name not in OF_CELLS:
        known = ", ".join([*OWN_ACTIVATIONS, *OF_CELLS])
        raise NotImplementedError(f"activation {name!r}; there are {known}")
    function, a, b = with_numbers(name.lower(), list(parameters[:1]), list(parameters[1:2]))
    found: Tensor = ACTIVATIONS[function](x, a, b)
    return found


def _operand(x: Tensor, transposed: int, batch: int) -> Tensor:
    """With `batch` the rows come first, before the axes of the batch."""
    if batch and x.ndim > 2:
        x = x.permute(*range(1, x.ndim - 1), 0, x.ndim - 1)
    return x.transpose(-2, -1) if transposed and x.ndim > 1 else x


@operator("FusedMatMul", domain=DOMAIN)
@operator("TransposeMatMul", domain=DOMAIN)
def fused_matmul(
    a: Tensor,
    b: Tensor,
    *,
    alpha: float = 1.0,
    transA: int = 0,
    transB: int = 0,
    transBatchA: int = 0,
    transBatchB: int = 0,
) -> Tensor:
    """alpha * a @ b, with axes of both moved before."""
    product = _operand(a, transA, transBatchA).matmul(_operand(b, transB, transBatchB))
    return product if alpha == 1.0 else (product * alpha).cast(a.dtype)


@operator("FusedGemm", domain=DOMAIN)
def fused_gemm(
    a: Tensor,
    b: Tensor,
    c: Tensor | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
    activation: str = "",
    activation_alpha: float | None = None,
    activation_beta: float | None = None,
    activation_gamma: float | None = None,
) -> Tensor:
    """A Gemm and an activation."""
    product = gemm(a, b, c, alpha=alpha, beta=beta, transA=transA, transB=transB)
    given = [p for p in (activation_alpha, activation_beta, activation_gamma) if p is not None]
    return activate(product, activation, given)


@operator("FusedConv", domain=DOMAIN)
def fused_conv(
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    z: Tensor | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    activation: str = "",
    activation_params: Sequence[float] = (),
) -> Tensor:
    """A convolution, a sum, an activation."""
    y = conv(
        x, w, b, auto_pad=auto_pad, dilations=dilations, group=group, pads=pads, strides=strides
    )
    return activate(y if z is None else y + z, activation, activation_params)


def channels_first(x: Tensor) -> Tensor:
    """(N, C, ...) of (N, ..., C)."""
    return x.permute(0, x.ndim - 1, *range(1, x.ndim - 1))


def channels_last(x: Tensor) -> Tensor:
    """(N, ..., C) of (N, C, ...)."""
    return x.permute(0, *range(2, x.ndim), 1)


@operator("NhwcConv", domain=DOMAIN)
@operator("NhwcFusedConv", domain=DOMAIN)
def nhwc_conv(
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    z: Tensor | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    activation: str = "",
    activation_params: Sequence[float] = (),
) -> Tensor:
    """A convolution whose channels come last, in its input and its weights.

    Weights come as (outputs, ..., channels) from onnxruntime, while the text of its schema says
    (outputs, channels, ...): which of the two they are is told by the sizes, where these differ.
    """
    depth = int(x.shape[-1]) // group
    kernel = tuple(kernel_shape) if kernel_shape is not None else tuple(w.shape[1:-1])
    is_first = int(w.shape[1]) == depth and tuple(w.shape[2:]) == kernel
    is_last = int(w.shape[-1]) == depth and tuple(w.shape[1:-1]) == kernel
    weight = w if is_first and not is_last else channels_first(w)
    y = fused_conv(
        channels_first(x),
        weight,
        b,
        None if z is None else channels_first(z),
        auto_pad=auto_pad,
        dilations=dilations,
        group=group,
        pads=pads,
        strides=strides,
        activation=activation,
        activation_params=activation_params,
    )
    return channels_last(y)


@operator("Gelu", domain=DOMAIN)
def gelu(x: Tensor) -> Tensor:
    """By the error function."""
    return x.gelu("none")


@operator("FastGelu", domain=DOMAIN)
def fast_gelu(x: Tensor, bias: Tensor | None = None) -> Tensor:
    """By tanh, of the sum with a bias."""
    return (x if bias is None else x + bias).gelu("tanh")


@operator("BiasGelu", domain=DOMAIN)
def bias_gelu(a: Tensor, b: Tensor) -> Tensor:
    """By the error function, of the sum with a bias."""
    return (a + b).gelu("none")


@operator("QuickGelu", domain=DOMAIN)
def quick_gelu(x: Tensor, *, alpha: float = 1.702) -> Tensor:
    """x * sigmoid(alpha * x)."""
    return x * (x * alpha).sigmoid()
