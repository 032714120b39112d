"""Products of 8-bit codes less their zero points, by units that multiply signed bytes.

(a - za)(b - zb) = ab - za b - zb a + za zb, summed: the first term is a product of codes, the
others are sums over one of the operands, which are constant where that operand is. Unsigned codes
become signed by taking 128 off them and off their zero point.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from tg_tensor import Device, Tensor, dtypes
from tg_uop import GroupOp, Ops
from tg_uop.context import TC

from tg_onnx.proto import Array

Zero = Tensor | Array | None
BYTES = (dtypes.int8, dtypes.uint8)
FEWEST_TERMS = 32
"""Shorter sums are not worth the sums beside them."""
FEWEST_OUTPUTS = 4
"""Fewer outputs of a group are not worth laying out windows as a matrix."""
ROW_TO_KEEP = 14
"""Rows of so many results fill most of a block as they are."""
UNIT = "amx_int8"
MOST_BYTES_IN_FLOAT = 1024
"""So many products of signed bytes add up to at most 2 ** 24."""
MOST_TERMS_IN_FLOAT = 256
"""So many products of differences of codes add up to less than 2 ** 24."""


def has_sums_of_bytes(a: Tensor, b: Tensor, terms: int) -> bool:
    """Whether operands are codes of 8 bits, with sums long enough."""
    return a.dtype in BYTES and b.dtype in BYTES and terms >= FEWEST_TERMS


def signed(codes: Tensor, zero: Zero) -> tuple[Tensor, Tensor | int]:
    """Codes as int8 and their zero point as int32: 0 where it is known to be nothing else."""
    shift = 128 if codes.dtype == dtypes.uint8 else 0
    if shift:
        codes = codes.bitwise_xor(shift).bitcast(dtypes.int8)
    if zero is None:
        return codes, -shift
    if isinstance(zero, Tensor):
        return codes, zero.cast(dtypes.int32) - shift
    moved = zero.astype(np.int32) - shift
    if not moved.any():
        return codes, 0
    return codes, Tensor(moved, device=codes.device)


def is_nothing(zero: Tensor | int) -> bool:
    """Whether a zero point is known to be 0."""
    return isinstance(zero, int) and zero == 0


def matmul_of_codes(a: Tensor, b: Tensor, a_zero: Zero, b_zero: Zero) -> Tensor:
    """int32 product of matrices; a zero point stands beside its rows or columns."""
    left, of_left = signed(a, a_zero)
    right, of_right = signed(b, b_zero)
    if _is_stored(b):
        # a weight: in rows, which a unit reads much faster than columns, and so once for all calls
        right = right.contiguous()
    terms = int(left.shape[-1])

    def product(rows: Tensor | None, columns: Tensor | None) -> Tensor:
        if rows is not None and columns is not None:
            return product_of_bytes(rows, columns)
        if columns is not None:
            return columns.sum(-2, keepdim=True)
        if rows is not None:
            return rows.sum(-1, keepdim=True)
        return Tensor(np.int32(terms), device=left.device)

    return _centered(product, left, right, of_left, of_right)


def conv_of_codes(
    x: Tensor,
    w: Tensor,
    x_zero: Zero,
    w_zero: Zero,
    padding: Sequence[int],
    convolve: Callable[[Tensor, Tensor], Tensor],
) -> Tensor:
    """int32 convolution, where padding counts as the zero point.

    `padding` starts with the last axis, before and after each. `convolve` is that of int8 with sums
    of int32, without padding; a zero point of w stands beside its outputs.
    """
    codes, of_x = signed(x, x_zero)
    kernel, of_w = signed(w, w_zero)
    codes = padded(codes, of_x, padding)
    groups = int(codes.shape[1]) // int(w.shape[1])

    def product(values: Tensor | None, weights: Tensor | None) -> Tensor:
        dims = (1, -1, *(1,) * (w.ndim - 2))
        if values is None:
            # the codes are padded: all windows have all terms
            if weights is None:
                return Tensor(np.int32(math.prod(kernel.shape[1:])), device=codes.device)
            return weights.sum(tuple(range(1, w.ndim)), dtype=dtypes.int32).reshape(dims)
        if weights is None:
            # of each group one sum, for all of its outputs
            shape = (groups, *kernel.shape[1:])
            weights = Tensor.ones(*shape, dtype=dtypes.int8, device=codes.device)
            sums = convolve(values, weights)
            return sums.repeat_interleave(int(w.shape[0]) // groups, 1) if groups > 1 else sums
        return convolve(values, weights)

    if isinstance(of_w, Tensor) and of_w.numel() > 1:
        of_w = of_w.reshape(1, -1, *(1,) * (w.ndim - 2))
    elif isinstance(of_w, Tensor):
        of_w = of_w.reshape(())
    return _centered(product, codes, kernel, of_x, of_w)


def has_unit(device: str) -> bool:
    """Whether a device has a matrix unit for bytes, and may use it."""
    units = Device[device].renderer.caps.tensor_cores if TC.value == 1 else ()
    return any(unit.name == UNIT for unit in units)


def product_of_bytes(a: Tensor, b: Tensor) -> Tensor:
    """int32 product of matrices of int8.

    Without a unit for bytes floats are faster than whole numbers: sums of so many terms at a time
    that they hold them exactly.
    """
    terms = int(a.shape[-1])
    if has_unit(str(a.device)):
        return a.matmul(b, dtype=dtypes.int32)
    if terms <= MOST_BYTES_IN_FLOAT:
        return (_floats(a) @ _floats(b)).cast(dtypes.int32)
    parts = -(-terms // MOST_BYTES_IN_FLOAT)
    behind = parts * MOST_BYTES_IN_FLOAT - terms
    left = a.pad((*(None,) * (a.ndim - 1), (0, behind)))
    right = b.pad((*(None,) * (b.ndim - 2), (0, behind), None))
    left = left.reshape(*a.shape[:-1], parts, MOST_BYTES_IN_FLOAT).transpose(-3, -2)
    right = right.reshape(*b.shape[:-2], parts, MOST_BYTES_IN_FLOAT, b.shape[-1])
    return (_floats(left) @ _floats(right)).cast(dtypes.int32).sum(-3)


def _floats(codes: Tensor) -> Tensor:
    """In memory: a product would convert each of them again and again."""
    return codes.float().contiguous()


def _is_stored(x: Tensor) -> bool:
    """Whether a value is in memory as it is, or moved: a constant, and no result."""
    node = x.uop
    while node.op in GroupOp.Movement:
        node = node.src[0]
    return node.op in (Ops.BUFFER, Ops.BUFFER_VIEW)


def convolution_of_bytes(
    x: Tensor, w: Tensor, groups: int, strides: Sequence[int], dilations: Sequence[int]
) -> Tensor:
    """int32 convolution of int8 without padding.

    The windows are laid out as columns of a matrix where rows of results are short or lie apart: a
    matrix unit multiplies whole blocks.
    """
    kernel = [int(size) for size in w.shape[2:]]
    terms = int(w.shape[1]) * math.prod(kernel)
    if not has_unit(str(x.device)) and terms <= MOST_BYTES_IN_FLOAT:
        weight = _floats(w)
        return _floats(x).conv2d(weight, None, groups, strides, dilations, 0).cast(dtypes.int32)
    spans = [(size - 1) * step + 1 for size, step in zip(kernel, dilations, strict=True)]
    width = (int(x.shape[-1]) - spans[-1]) // strides[-1] + 1
    if groups == 1 and set(strides) == {1} and width >= ROW_TO_KEEP:
        return x.conv2d(w, None, 1, 1, dilations, 0, dtype=dtypes.int32)
    windows = x
    for axis, (span, stride, step) in enumerate(zip(spans, strides, dilations, strict=True), 2):
        windows = windows.unfold(axis, span, stride)
        if step > 1:
            windows = windows[..., ::step]
    rank = len(kernel)
    batch, channels = int(x.shape[0]), int(x.shape[1])
    sizes = windows.shape[2 : 2 + rank]
    order = (0, 1, *range(2 + rank, 2 + 2 * rank), *range(2, 2 + rank))
    each = channels // groups * math.prod(kernel)
    columns = windows.permute(order).reshape(batch, groups, each, math.prod(sizes)).contiguous()
    rows = w.reshape(1, groups, int(w.shape[0]) // groups, each)
    return product_of_bytes(rows, columns).reshape(batch, int(w.shape[0]), *sizes)


def padded(codes: Tensor, zero: Tensor | int, padding: Sequence[int]) -> Tensor:
    """Codes with the zero point around."""
    if not any(padding):
        return codes
    pairs = [(padding[place], padding[place + 1]) for place in range(0, len(padding), 2)][::-1]
    around = (None,) * (codes.ndim - len(pairs)) + tuple(pairs)
    wide = codes.pad(around)
    if is_nothing(zero):
        return wide
    shape = (*(1,) * (codes.ndim - len(pairs)), *codes.shape[-len(pairs) :])
    inside = Tensor.ones(*shape, dtype=dtypes.bool, device=codes.device).pad(around)
    value = Tensor(np.int32(zero), device=codes.device) if isinstance(zero, int) else zero
    return inside.where(wide, value.cast(codes.dtype)).contiguous()


def _centered(
    product: Callable[[Tensor | None, Tensor | None], Tensor],
    left: Tensor,
    right: Tensor,
    of_left: Tensor | int,
    of_right: Tensor | int,
) -> Tensor:
    """The product less its parts with zero points; None stands for ones in a product.

    The sums over one operand have kernels of their own: beside a product they would be computed for
    each of its elements. Those of constants run once.
    """
    result = product(left, right)
    if not is_nothing(of_left):
        result = result - product(None, right).contiguous() * of_left
    if not is_nothing(of_right):
        rest = product(left, None).contiguous()
        if not is_nothing(of_left):
            rest = rest - product(None, None).contiguous() * of_left
        result = result - rest * of_right
    return result
