"""Operators on numbers of 8 bits: each computes with the values that the codes stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tg_tensor import Tensor

from tg_onnx.contrib.fused import DOMAIN, channels_first
from tg_onnx.contrib.fused import channels_last as with_channels_last
from tg_onnx.ops.pool import average_pool
from tg_onnx.ops.quantize import (
    dequantize_linear,
    dynamic_quantize,
    matmul_integer,
    qlinear_conv,
    quantize_linear,
    zero_based,
)
from tg_onnx.proto import Array
from tg_onnx.registry import operator


def values(codes: Tensor, scale: Tensor, zero: Tensor | None) -> Tensor:
    """The float32 numbers that codes stand for."""
    return zero_based(codes, zero).float() * scale.float()


def quantized(x: Tensor, scale: Tensor, zero: Tensor | None, like: Tensor) -> Tensor:
    """Codes of the dtype of `like`."""
    if zero is None:
        zero = Tensor.zeros(dtype=like.dtype, device=like.device)
    return quantize_linear(x, scale.reshape(()), zero.reshape(()))


@operator("QuantizeLinear", domain=DOMAIN)
def quantize_linear_contrib(
    x: Tensor, scale: Tensor, zero: Tensor | None = None, *, axis: int = 1
) -> Tensor:
    """As in ai.onnx, with 16 bits too."""
    return quantize_linear(x, scale, zero, axis=axis)


@operator("DequantizeLinear", domain=DOMAIN)
def dequantize_linear_contrib(
    x: Tensor | Array,
    scale: Tensor,
    zero: Tensor | Array | None = None,
    *,
    axis: int = 1,
    block_size: int = 0,
) -> Tensor:
    """As in ai.onnx, with 4 and 16 bits too."""
    return dequantize_linear(x, scale, zero, axis=axis, block_size=block_size)


def _register_binary(name: str, function: Callable[[Tensor, Tensor], Tensor]) -> None:
    def run(
        a: Tensor,
        a_scale: Tensor,
        a_zero: Tensor | None,
        b: Tensor,
        b_scale: Tensor,
        b_zero: Tensor | None,
        c_scale: Tensor,
        c_zero: Tensor | None = None,
    ) -> Tensor:
        result = function(values(a, a_scale, a_zero), values(b, b_scale, b_zero))
        return quantized(result, c_scale, c_zero, a)

    operator(name, domain=DOMAIN)(run)


_register_binary("QLinearAdd", Tensor.add)
_register_binary("QLinearMul", Tensor.mul)


@operator("QLinearSigmoid", domain=DOMAIN)
def qlinear_sigmoid(
    x: Tensor,
    x_scale: Tensor,
    x_zero: Tensor | None,
    y_scale: Tensor,
    y_zero: Tensor | None = None,
) -> Tensor:
    """Sigmoid of codes."""
    return quantized(values(x, x_scale, x_zero).sigmoid(), y_scale, y_zero, x)


@operator("QLinearLeakyRelu", domain=DOMAIN)
def qlinear_leaky_relu(
    x: Tensor,
    x_scale: Tensor,
    x_zero: Tensor | None,
    y_scale: Tensor,
    y_zero: Tensor | None = None,
    *,
    alpha: float = 0.01,
) -> Tensor:
    """LeakyRelu of codes."""
    return quantized(values(x, x_scale, x_zero).leaky_relu(alpha), y_scale, y_zero, x)


@operator("QLinearSoftmax", domain=DOMAIN)
def qlinear_softmax(
    x: Tensor,
    x_scale: Tensor,
    x_zero: Tensor | None,
    y_scale: Tensor,
    y_zero: Tensor,
    *,
    opset: int = 13,
    axis: int = -1,
) -> Tensor:
    """Softmax of codes. The schema's `opset` says whether the axes from `axis` on are one."""
    exact = values(x, x_scale, x_zero)
    dim = axis + x.ndim if axis < 0 else axis
    if opset < 13:
        rows = 1
        for size in x.shape[:dim]:
            rows *= int(size)
        soft = exact.reshape(rows, -1).softmax(-1).reshape(x.shape)
    else:
        soft = exact.softmax(dim)
    # a scale without end, from a mask of -inf, makes codes of NaN: 0, as in onnxruntime
    return soft.isnan().where(0, quantized(soft, y_scale, y_zero, x))


@operator("QLinearConcat", domain=DOMAIN)
def qlinear_concat(y_scale: Tensor, y_zero: Tensor, *inputs: Tensor | None, axis: int) -> Tensor:
    """Inputs, each with a scale and a zero point, one after the other."""
    parts = []
    for place in range(0, len(inputs), 3):
        codes, scale = inputs[place], inputs[place + 1]
        zero = inputs[place + 2] if place + 2 < len(inputs) else None
        if codes is None or scale is None:
            raise ValueError(f"input {place // 3} has no codes or no scale")
        parts.append(quantized(values(codes, scale, zero), y_scale, y_zero, y_zero))
    return parts[0].cat(*parts[1:], dim=axis)


@operator("QLinearWhere", domain=DOMAIN)
def qlinear_where(
    condition: Tensor,
    x: Tensor,
    x_scale: Tensor,
    x_zero: Tensor,
    y: Tensor,
    y_scale: Tensor,
    y_zero: Tensor,
    z_scale: Tensor,
    z_zero: Tensor,
) -> Tensor:
    """One of two quantized values for each element."""
    chosen = condition.where(values(x, x_scale, x_zero), values(y, y_scale, y_zero))
    return quantized(chosen, z_scale, z_zero, z_zero)


@operator("QLinearAveragePool", domain=DOMAIN)
def qlinear_average_pool(
    x: Tensor,
    x_scale: Tensor,
    x_zero: Tensor | None,
    y_scale: Tensor,
    y_zero: Tensor | None = None,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    count_include_pad: int = 0,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    channels_last: int = 0,
) -> Tensor:
    """The mean of each window."""
    exact = values(x, x_scale, x_zero)
    means = average_pool(
        channels_first(exact) if channels_last else exact,
        kernel_shape=kernel_shape,
        auto_pad=auto_pad,
        ceil_mode=ceil_mode,
        count_include_pad=count_include_pad,
        pads=pads,
        strides=strides,
    )
    return quantized(with_channels_last(means) if channels_last else means, y_scale, y_zero, x)


@operator("QLinearGlobalAveragePool", domain=DOMAIN)
def qlinear_global_average_pool(
    x: Tensor,
    x_scale: Tensor,
    x_zero: Tensor | None,
    y_scale: Tensor,
    y_zero: Tensor | None = None,
    *,
    channels_last: int = 0,
) -> Tensor:
    """The mean of each channel."""
    axes = tuple(range(1, x.ndim - 1)) if channels_last else tuple(range(2, x.ndim))
    means = values(x, x_scale, x_zero).mean(axes, keepdim=True)
    return quantized(means, y_scale, y_zero, x)


@operator("QLinearConv", domain=DOMAIN)
def qlinear_conv_contrib(
    x: Tensor,
    x_scale: Tensor,
    x_zero: Tensor,
    w: Tensor,
    w_scale: Tensor,
    w_zero: Tensor,
    y_scale: Tensor,
    y_zero: Tensor,
    bias: Tensor | None = None,
    *,
    auto_pad: str = "NOTSET",
    channels_last: int = 0,
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:
    """As in ai.onnx, where channels may come last in inputs and results."""
    y = qlinear_conv(
        channels_first(x) if channels_last else x,
        x_scale,
        x_zero,
        w,
        w_scale,
        w_zero,
        y_scale,
        y_zero,
        bias,
        auto_pad=auto_pad,
        dilations=dilations,
        group=group,
        pads=pads,
        strides=strides,
    )
    return with_channels_last(y) if channels_last else y


@operator("QGemm", domain=DOMAIN)
def qgemm(
    a: Tensor,
    a_scale: Tensor,
    a_zero: Tensor,
    b: Tensor,
    b_scale: Tensor,
    b_zero: Tensor,
    c: Tensor | None = None,
    y_scale: Tensor | None = None,
    y_zero: Tensor | None = None,
    *,
    alpha: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Tensor:
    """A product of codes; c counts in units of the products. Floats without a scale for them."""
    left = a.transpose() if transA else a
    right = b.transpose() if transB else b
    sums = matmul_integer(left, right, a_zero.reshape(()), b_zero)
    if c is not None:
        sums = sums + c
    exact = sums.float() * (a_scale.float().reshape(()) * b_scale.float() * alpha)
    if y_scale is None:
        return exact
    return quantized(exact, y_scale, y_zero, a)


@operator("MatMulIntegerToFloat", domain=DOMAIN)
def matmul_integer_to_float(
    a: Tensor,
    b: Tensor,
    a_scale: Tensor,
    b_scale: Tensor,
    a_zero: Tensor | None = None,
    b_zero: Tensor | None = None,
    bias: Tensor | None = None,
) -> Tensor:
    """A product of codes, in floats; scales and zero points may be one for each column of b."""
    offset = None if b_zero is None else _columns(b_zero, b)
    sums = matmul_integer(a, b, a_zero, offset).float()
    factor = a_scale.float() * _columns(b_scale, b).float()
    y = (sums * factor).cast(b_scale.dtype)
    return y if bias is None else y + bias


def _columns(parameter: Tensor, b: Tensor) -> Tensor:
    """A parameter of each column; one of each matrix and column gets an axis for the rows."""
    if parameter.numel() == 1:
        return parameter.reshape(())
    if parameter.ndim == b.ndim - 1 > 1:
        return parameter.unsqueeze(-2)
    return parameter


@operator("DynamicQuantizeMatMul", domain=DOMAIN)
def dynamic_quantize_matmul(
    a: Tensor,
    b: Tensor,
    b_scale: Tensor,
    b_zero: Tensor | None = None,
    bias: Tensor | None = None,
) -> Tensor:
    """a, rounded to 8 bits by its own range, times codes."""
    codes, scale, zero = dynamic_quantize(a)
    return matmul_integer_to_float(codes, b, scale, b_scale, zero, b_zero, bias)
