"""Operators of neural networks: products, convolution, pooling, normalization."""

from __future__ import annotations

from collections.abc import Sequence

from tg_tensor import Tensor

from tg_onnx.ops.pool import spatial
from tg_onnx.ops.shape import axis_of
from tg_onnx.registry import operator


@operator("MatMul")
def matmul(a: Tensor, b: Tensor) -> Tensor:
    """NumPy's matmul."""
    return a.matmul(b)


@operator("Gemm")
def gemm(
    a: Tensor,
    b: Tensor,
    c: Tensor | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
    broadcast: int = 0,
) -> Tensor:
    """alpha * a @ b + beta * c."""
    product = (a.transpose() if transA else a) @ (b.transpose() if transB else b)
    if alpha != 1.0:
        product = (product * alpha).cast(a.dtype)
    if c is None or beta == 0.0:
        return product
    return product + (c if beta == 1.0 else (c * beta).cast(c.dtype))


@operator("Einsum")
def einsum(*tensors: Tensor, equation: str) -> Tensor:
    """Sums of products by index letters."""
    return Tensor.einsum(equation, *tensors)


def window_padding(
    size: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int] | None,
    auto_pad: str,
) -> list[tuple[int, int]]:
    """Padding before and after each spatial axis."""
    rank = len(kernel)
    if auto_pad in ("NOTSET", ""):
        given = list(pads) if pads is not None else [0] * (2 * rank)
        return [(given[i], given[i + rank]) for i in range(rank)]
    if auto_pad == "VALID":
        return [(0, 0)] * rank
    pairs = []
    for n, k, stride, dilation in zip(size, kernel, strides, dilations, strict=True):
        steps = -(-n // stride)
        total = max((steps - 1) * stride + dilation * (k - 1) + 1 - n, 0)
        small, large = total // 2, total - total // 2
        pairs.append((small, large) if auto_pad == "SAME_UPPER" else (large, small))
    return pairs


def as_torch_padding(pairs: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """(before, after) of the last axis first, as the Tensor methods take it."""
    return tuple(amount for pair in reversed(pairs) for amount in pair)


def conv_window(
    x: Tensor,
    w: Tensor,
    strides: Sequence[int] | None,
    dilations: Sequence[int] | None,
    pads: Sequence[int] | None,
    auto_pad: str,
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Strides, dilations and padding of a convolution, as the Tensor methods take them."""
    kernel = spatial(w)
    stride = tuple(strides or (1,) * len(kernel))
    dilation = tuple(dilations or (1,) * len(kernel))
    pairs = window_padding(spatial(x), kernel, stride, dilation, pads, auto_pad)
    return stride, dilation, as_torch_padding(pairs)


@operator("Conv")
def conv(
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:
    """Convolution in any number of dimensions."""
    return x.conv2d(w, b, group, *conv_window(x, w, strides, dilations, pads, auto_pad))


@operator("ConvTranspose")
def conv_transpose(
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    output_padding: Sequence[int] | None = None,
    output_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:
    """Transposed convolution: the whole result, cut (or extended) at its borders."""
    kernel = spatial(w)
    rank = len(kernel)
    stride = tuple(strides or (1,) * rank)
    dilation = tuple(dilations or (1,) * rank)
    extra = tuple(output_padding or (0,) * rank)
    full = [
        (n - 1) * s + d * (k - 1) + 1 + e
        for n, s, d, k, e in zip(spatial(x), stride, dilation, kernel, extra, strict=True)
    ]
    cuts = _transposed_cuts(full, spatial(x), stride, pads, output_shape, auto_pad)
    y = x.conv_transpose2d(w, b, group, stride, dilation, 0, extra)
    return y.pad(((0, 0), (0, 0), *((-before, -after) for before, after in cuts)))


def _transposed_cuts(
    full: Sequence[int],
    size: Sequence[int],
    stride: Sequence[int],
    pads: Sequence[int] | None,
    output_shape: Sequence[int] | None,
    auto_pad: str,
) -> list[tuple[int, int]]:
    rank = len(full)
    wanted = list(output_shape)[-rank:] if output_shape else None
    if wanted is None and auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        wanted = [n * s for n, s in zip(size, stride, strict=True)]
    if wanted is None:
        given = list(pads) if pads is not None else [0] * (2 * rank)
        return [(given[i], given[i + rank]) for i in range(rank)]
    cuts = []
    for have, want in zip(full, wanted, strict=True):
        total = have - want
        small, large = total // 2, total - total // 2
        cuts.append((small, large) if auto_pad == "SAME_UPPER" else (large, small))
    return cuts


@operator("GlobalAveragePool")
def global_average_pool(x: Tensor) -> Tensor:
    """The mean of each channel."""
    return x.mean(tuple(range(2, x.ndim)), keepdim=True)


@operator("GlobalMaxPool")
def global_max_pool(x: Tensor) -> Tensor:
    """The greatest of each channel."""
    return x.max(tuple(range(2, x.ndim)), keepdim=True)


@operator("InstanceNormalization")
def instance_normalization(
    x: Tensor, scale: Tensor, bias: Tensor, *, epsilon: float = 1e-5
) -> Tensor:
    """Normalize each channel of each sample."""
    shape = (1, -1) + (1,) * (x.ndim - 2)
    normed = x.layernorm(axis=tuple(range(2, x.ndim)), eps=epsilon)
    return normed * scale.reshape(shape) + bias.reshape(shape)


# of opset 17, but onnxruntime writes it into models of any opset that it has optimized
@operator("LayerNormalization")
def layer_normalization(
    x: Tensor,
    scale: Tensor,
    bias: Tensor | None = None,
    *,
    n_outputs: int,
    axis: int = -1,
    epsilon: float = 1e-5,
    stash_type: int = 1,
) -> Tensor | tuple[Tensor, Tensor, Tensor]:
    """Normalize over the axes from `axis` on."""
    axes = tuple(range(axis_of(axis, x.ndim), x.ndim))
    wide = x.float() if x.dtype.itemsize < 4 else x
    mean = wide.mean(axes, keepdim=True)
    centered = wide - mean
    inverse = (centered.square().mean(axes, keepdim=True) + epsilon).rsqrt()
    normed = (centered * inverse).cast(x.dtype) * scale
    result = normed if bias is None else normed + bias
    return result if n_outputs == 1 else (result, mean, inverse)


@operator("LpNormalization")
def lp_normalization(x: Tensor, *, axis: int = -1, p: int = 2) -> Tensor:
    """Divide by the norm along an axis; zero where the norm is zero."""
    if p == 1:
        norm = x.abs().sum(axis, keepdim=True)
    else:
        norm = x.square().sum(axis, keepdim=True).sqrt()
    return (norm == 0).where(0, x / (norm == 0).where(1, norm))


@operator("LRN")
def local_response_normalization(
    x: Tensor, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0
) -> Tensor:
    """Divide by a power of the squares of neighbouring channels."""
    before = (size - 1) // 2
    channels = int(x.shape[1])
    pads = ((0, 0), (before, size - 1 - before)) + ((0, 0),) * (x.ndim - 2)
    squares = x.square().pad(pads)
    total = squares[:, 0:channels]
    for start in range(1, size):
        total = total + squares[:, start : start + channels]
    return x / (bias + alpha / size * total).pow(beta)


def _flattened_rows(x: Tensor, axis: int) -> tuple[int, int]:
    front = axis_of(axis, x.ndim) if x.ndim else 0
    rows = 1
    for size in x.shape[:front]:
        rows *= int(size)
    return rows, int(x.numel()) // max(rows, 1)


@operator("Softmax")
def softmax_flattened(x: Tensor, *, axis: int = 1) -> Tensor:
    """Before opset 13 all axes from `axis` on are one."""
    return x.reshape(_flattened_rows(x, axis)).softmax(-1).reshape(x.shape)


@operator("Softmax", since=13)
def softmax(x: Tensor, *, axis: int = -1) -> Tensor:
    """exp(x) / sum(exp(x))."""
    return x.softmax(axis)


@operator("LogSoftmax")
def log_softmax_flattened(x: Tensor, *, axis: int = 1) -> Tensor:
    """Before opset 13 all axes from `axis` on are one."""
    return x.reshape(_flattened_rows(x, axis)).log_softmax(-1).reshape(x.shape)


@operator("LogSoftmax", since=13)
def log_softmax(x: Tensor, *, axis: int = -1) -> Tensor:
    """The logarithm of softmax."""
    return x.log_softmax(axis)


@operator("Hardmax")
def hardmax_flattened(x: Tensor, *, axis: int = 1) -> Tensor:
    """Before opset 13 all axes from `axis` on are one."""
    return hardmax(x.reshape(_flattened_rows(x, axis))).reshape(x.shape)


@operator("Hardmax", since=13)
def hardmax(x: Tensor, *, axis: int = -1) -> Tensor:
    """1 at the first greatest element along an axis, 0 elsewhere."""
    dim = axis_of(axis, x.ndim)
    size = int(x.shape[dim])
    best = x.argmax(dim, keepdim=True)
    steps = Tensor.arange(size, device=x.device).reshape(
        tuple(size if i == dim else 1 for i in range(x.ndim))
    )
    return (best == steps).cast(x.dtype)
