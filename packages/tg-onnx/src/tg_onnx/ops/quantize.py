"""Numbers of few bits: quantize, dequantize, and products of quantized tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from tg_tensor import Tensor, dtypes
from tg_uop import DType, UOp

from tg_onnx.ops.codes import (
    BYTES,
    FEWEST_OUTPUTS,
    MOST_TERMS_IN_FLOAT,
    Zero,
    conv_of_codes,
    convolution_of_bytes,
    has_sums_of_bytes,
    matmul_of_codes,
    padded,
)
from tg_onnx.ops.neural import conv_window
from tg_onnx.ops.shape import axis_of
from tg_onnx.proto import DTYPE_OF_ELEMENT, Array
from tg_onnx.registry import operator

N = TypeVar("N", Tensor, UOp)

HALVES = float(3 << 22)
"""Added to a small number and taken off again, it rounds halves to even."""
BOUNDS = {
    dtypes.uint8: (0, 255),
    dtypes.int8: (-128, 127),
    dtypes.uint16: (0, 65535),
    dtypes.int16: (-32768, 32767),
}


def dynamic_quantize(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """uint8 codes, scale and zero point by the range of x, which includes 0."""
    low, high = x.min().minimum(0), x.max().maximum(0)
    scale = (high - low) / 255
    scale = (scale == 0).where(1, scale)
    zero = rounded((-low / scale).clip(0, 255))
    codes = rounded((x / scale).clip(-zero, 255 - zero)) + zero
    return codes.cast(dtypes.uint8), scale, zero.cast(dtypes.uint8)


def rounded(x: N) -> N:
    """The nearest whole number of one below 2 ** 21, halves to the even one."""
    return (x + HALVES) - HALVES  # type: ignore[return-value]


def codes_of(ratio: Tensor, zero: Tensor | int, target: DType) -> Tensor:
    """Whole numbers of units, moved by the zero point into a dtype's bounds; NaN is the lowest."""
    low, high = BOUNDS[target]
    at_least = (ratio > low - zero).where(ratio, low - zero)
    whole = rounded(at_least.minimum(high - zero)) + zero
    codes: Tensor = whole.cast(dtypes.int32).cast(target)
    return codes


def zero_based(x: Tensor, zero: Tensor | None) -> Tensor:
    """int32 codes less their zero point."""
    wide = x.cast(dtypes.int32)
    return wide if zero is None else wide - zero.cast(dtypes.int32)


def aligned(parameter: Tensor, x: Tensor, axis: int, block: int) -> Tensor:
    """A scale or zero point, repeated so that it broadcasts with x."""
    if parameter.ndim == 0 or (parameter.numel() == 1 and not block):
        return parameter.reshape((1,) * x.ndim)
    dim = axis_of(axis, x.ndim)
    if not block:
        return parameter.reshape(tuple(-1 if i == dim else 1 for i in range(x.ndim)))
    return repeated(parameter, dim, block, int(x.shape[dim]))


def repeated(x: Tensor, axis: int, block: int, size: int) -> Tensor:
    """A value of each block for each of its elements, of which there are `size`."""
    each = x.repeat_interleave(block, axis)
    return each.shrink(tuple((0, size) if i == axis else None for i in range(x.ndim)))


@operator("DynamicQuantizeLinear", since=11)
def dynamic_quantize_linear(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Codes, scale and zero point."""
    return dynamic_quantize(x)


@operator("QuantizeLinear", since=10)
def quantize_linear(
    x: Tensor,
    scale: Tensor,
    zero: Tensor | None = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
    precision: int = 0,
    saturate: int = 1,
) -> Tensor:
    """round(x / scale) + zero, saturated."""
    target = dtypes.uint8 if zero is None else zero.dtype
    if zero is None and output_dtype:
        target = DTYPE_OF_ELEMENT[output_dtype]
    if x.ndim == 0:
        axis = 0
    ratio = x.float() / aligned(scale, x, axis, block_size).float()
    if target not in BOUNDS:
        if not saturate:
            raise NotImplementedError("quantization to floats without saturation")
        return ratio.cast(target)
    offset = 0 if zero is None else aligned(zero, x, axis, block_size).float()
    return codes_of(ratio, offset, target).reshape(x.shape)


def in_bytes(codes: Tensor | Array, like: Tensor) -> Tensor:
    """Codes of fewer bits, which come as an array, as bytes."""
    if isinstance(codes, Tensor):
        return codes
    kind = np.uint8 if np.dtype(codes.dtype).name.startswith("u") else np.int8
    return Tensor(codes.astype(kind), device=like.device)


@operator("DequantizeLinear", since=10)
def dequantize_linear(
    x: Tensor | Array,
    scale: Tensor,
    zero: Tensor | Array | None = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
) -> Tensor:
    """(x - zero) * scale."""
    x = in_bytes(x, scale)
    zero = None if zero is None else in_bytes(zero, scale)
    target = DTYPE_OF_ELEMENT[output_dtype] if output_dtype else scale.dtype
    factor = aligned(scale, x, axis, block_size)
    if not dtypes.is_float(x.dtype):
        offset = None if zero is None else aligned(zero, x, axis, block_size)
        centered = zero_based(x, offset).float()
    else:
        centered = x.float()
    return (centered * factor.float()).cast(target).reshape(x.shape)


@operator("MatMulInteger", since=10, host=(3,))
def matmul_integer(a: Tensor, b: Tensor, a_zero: Zero = None, b_zero: Zero = None) -> Tensor:
    """The product of codes less their zero points, in int32."""
    rows = _rows(_as_tensor(a_zero, a), a)
    if min(a.ndim, b.ndim) > 1 and has_sums_of_bytes(a, b, int(a.shape[-1])):
        return matmul_of_codes(a, b, rows, b_zero)
    right = zero_based(b, _as_tensor(b_zero, b))
    return zero_based(a, rows).matmul(right, dtype=dtypes.int32)


def _as_tensor(zero: Zero, like: Tensor) -> Tensor | None:
    return Tensor(zero, device=like.device) if isinstance(zero, np.ndarray) else zero


def _rows(zero: Tensor | None, a: Tensor) -> Tensor | None:
    """A zero point for each row stands beside the columns."""
    if zero is None or zero.numel() == 1 or zero.ndim != 1:
        return zero
    return zero.reshape(-1, 1) if a.ndim > 1 else zero


@operator("QLinearMatMul", since=10, host=(5,))
def qlinear_matmul(
    a: Tensor,
    a_scale: Tensor,
    a_zero: Tensor,
    b: Tensor,
    b_scale: Tensor,
    b_zero: Zero,
    y_scale: Tensor,
    y_zero: Tensor,
) -> Tensor:
    """The product of two quantized matrices, quantized."""
    product = matmul_integer(a, b, a_zero, b_zero).float()
    rows = _rows(a_scale, a)
    assert rows is not None, "a scale is given"
    return requantize(product, rows.float() * b_scale.float(), y_scale, y_zero)


def requantize(sums: Tensor, factor: Tensor, y_scale: Tensor, y_zero: Tensor) -> Tensor:
    """Codes of sums of products, whose unit is `factor`; in memory, so that what uses two products
    has no kernel with both.
    """
    codes = codes_of(sums * (factor / y_scale.float()), y_zero.float(), y_zero.dtype)
    return codes.contiguous()


@operator("ConvInteger", since=10, host=(3,))
def conv_integer(
    x: Tensor,
    w: Tensor,
    x_zero: Tensor | None = None,
    w_zero: Zero = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:
    """Convolution of codes less their zero points, in int32; padding is the zero point."""
    stride, dilation, padding = conv_window(x, w, strides, dilations, pads, auto_pad)
    terms = math.prod(int(size) for size in w.shape[1:])
    zero = None if x_zero is None else x_zero.reshape(())
    if has_sums_of_bytes(x, w, terms) and int(w.shape[0]) // group >= FEWEST_OUTPUTS:

        def convolve(values: Tensor, weights: Tensor) -> Tensor:
            return convolution_of_bytes(values, weights, group, stride, dilation)

        return conv_of_codes(x, w, zero, w_zero, padding, convolve)
    offset = _as_tensor(w_zero, w)
    weight = zero_based(w, None if offset is None else aligned(offset, w, 0, 0))
    if x.dtype in BYTES and w.dtype in BYTES and terms <= MOST_TERMS_IN_FLOAT:
        # exact, and faster than products of integers that no unit multiplies
        of_x: Tensor | int = 0 if zero is None else zero.cast(dtypes.int32)
        codes = padded(x, of_x, padding)
        values = zero_based(codes, zero).float()
        sums = values.conv2d(weight.float(), None, group, stride, dilation, 0)
        return sums.cast(dtypes.int32)
    return zero_based(x, zero).conv2d(weight, None, group, stride, dilation, padding)


@operator("QLinearConv", since=10, host=(5,))
def qlinear_conv(
    x: Tensor,
    x_scale: Tensor,
    x_zero: Tensor,
    w: Tensor,
    w_scale: Tensor,
    w_zero: Zero,
    y_scale: Tensor,
    y_zero: Tensor,
    bias: Tensor | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:
    """Convolution of quantized tensors, quantized; the bias counts in units of the products."""
    sums = conv_integer(
        x,
        w,
        x_zero,
        w_zero,
        auto_pad=auto_pad,
        dilations=dilations,
        group=group,
        pads=pads,
        strides=strides,
    )
    if bias is not None:
        sums = sums + aligned(bias, sums, 1, 0)
    factor = aligned(w_scale.float() * x_scale.float(), sums, 1, 0)
    return requantize(sums.float(), factor, y_scale, y_zero)
