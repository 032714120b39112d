"""Weights of 2, 4 or 8 bits with a scale for each block of them."""

from __future__ import annotations

import numpy as np
from tg_tensor import Tensor, dtypes

from tg_onnx.contrib.fused import DOMAIN
from tg_onnx.ops.quantize import repeated
from tg_onnx.ops.shape import axis_of
from tg_onnx.proto import Array
from tg_onnx.registry import operator


def unpacked(packed: Tensor, bits: int) -> Tensor:
    """The codes of bytes along the last axis, those in the low bits first."""
    if bits == 8:
        return packed
    shifts = [packed.rshift(start) & ((1 << bits) - 1) for start in range(0, 8, bits)]
    each = Tensor.stack(*shifts, dim=-1)
    return each.reshape(*packed.shape[:-1], int(packed.shape[-1]) * len(shifts))


def _zeros_of(zero: Tensor | None, like: Tensor, blocks: int, bits: int) -> Tensor | float:
    """A zero point for each row and block; codes are packed row by row."""
    if zero is None:
        return float(1 << (bits - 1))
    rows = int(like.shape[0])
    if dtypes.is_float(zero.dtype):
        return zero.reshape(rows, blocks, 1).float()
    return unpacked(zero.reshape(rows, -1), bits)[:, :blocks].reshape(rows, blocks, 1).float()


@operator("MatMulNBits", domain=DOMAIN)
def matmul_few_bits(
    a: Tensor,
    b: Tensor,
    scales: Tensor,
    zeros: Tensor | None = None,
    group_of: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    K: int,
    N: int,
    block_size: int,
    bits: int = 4,
    accuracy_level: int = 0,
    weight_prepacked: int = 0,
) -> Tensor:
    """a times the transpose of weights whose codes lie in blocks along the inputs."""
    if group_of is not None or weight_prepacked:
        raise NotImplementedError("g_idx and weight_prepacked")
    blocks = -(-K // block_size)
    codes = unpacked(b.reshape(N, blocks, -1), bits)[:, :, :block_size].float()
    steps = scales.reshape(N, blocks, 1).float()
    weight = (codes - _zeros_of(zeros, b, blocks, bits)) * steps
    weight = weight.reshape(N, blocks * block_size)[:, :K].cast(a.dtype)
    product = a @ weight.transpose()
    return product if bias is None else product + bias


def _codes(values: Tensor | Array, bits: int) -> tuple[Tensor, bool]:
    """Codes as a tensor; whether 4-bit codes come in bytes, two each."""
    if isinstance(values, Tensor):
        return values, values.dtype == dtypes.uint8
    return Tensor(values.astype(np.int8)), False


@operator("GatherBlockQuantized", domain=DOMAIN)
def gather_block_quantized(
    data: Tensor | Array,
    indices: Tensor,
    scales: Tensor,
    zeros: Tensor | Array | None = None,
    *,
    bits: int = 4,
    block_size: int = 128,
    gather_axis: int = 0,
    quantize_axis: int = 1,
) -> Tensor:
    """Slices of a table of codes, as the numbers that they stand for."""
    codes, in_bytes = _codes(data, bits)
    if in_bytes:
        codes = unpacked(codes, bits)
    along = axis_of(quantize_axis, codes.ndim)
    front = (slice(None),) * axis_of(gather_axis, codes.ndim)
    places = (*front, indices)
    if zeros is None:
        offset: Tensor | float = float(1 << (bits - 1)) if in_bytes else 0.0
    else:
        table, packed = _codes(zeros, bits)
        table = unpacked(table, bits) if packed and in_bytes else table
        table = table.shrink(tuple((0, int(n)) for n in scales.shape))
        offset = repeated(table.float(), along, block_size, int(codes.shape[along]))[places]
    steps = repeated(scales.float(), along, block_size, int(codes.shape[along]))
    return ((codes[places].float() - offset) * steps[places]).cast(scales.dtype)
