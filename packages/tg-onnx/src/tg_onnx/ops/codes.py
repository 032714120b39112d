"""Products of 8-bit codes less their zero points, by units that multiply signed bytes.

(a - za)(b - zb) = ab - za b - zb a + za zb, summed: the first term is a product of codes, the
others are sums over one of the operands, which are constant where that operand is. Unsigned codes
become signed by taking 128 off them and off their zero point.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tg_tensor import Tensor, dtypes

from tg_onnx.proto import Array

Zero = Tensor | Array | None
BYTES = (dtypes.int8, dtypes.uint8)
FEWEST_TERMS = 32
"""Shorter sums are not worth the sums beside them."""
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
    terms = int(left.shape[-1])

    def product(rows: Tensor | None, columns: Tensor | None) -> Tensor:
        if rows is not None and columns is not None:
            return rows.matmul(columns, dtype=dtypes.int32)
        if columns is not None:
            return columns.sum(-2, keepdim=True)
        if rows is not None:
            return rows.sum(-1, keepdim=True)
        return Tensor(np.int32(terms), device=left.device)

    return _centered(product, left, right, of_left, of_right)


def conv_of_codes(
    x: Tensor, w: Tensor, x_zero: Zero, w_zero: Zero, convolve: Callable[[Tensor, Tensor], Tensor]
) -> Tensor:
    """int32 convolution, where padding counts as the zero point.

    `convolve` is that of int8 with sums of int32; a zero point of w stands beside its outputs.
    """
    codes, of_x = signed(x, x_zero)
    kernel, of_w = signed(w, w_zero)

    def product(values: Tensor | None, weights: Tensor | None) -> Tensor:
        if values is None:
            values = Tensor.ones(1, *codes.shape[1:], dtype=dtypes.int8, device=codes.device)
        if weights is None:
            weights = Tensor.ones(1, *kernel.shape[1:], dtype=dtypes.int8, device=codes.device)
        return convolve(values, weights)

    if isinstance(of_w, Tensor) and of_w.numel() > 1:
        of_w = of_w.reshape(1, -1, *(1,) * (w.ndim - 2))
    elif isinstance(of_w, Tensor):
        of_w = of_w.reshape(())
    return _centered(product, codes, kernel, of_x, of_w)


def _centered(
    product: Callable[[Tensor | None, Tensor | None], Tensor],
    left: Tensor,
    right: Tensor,
    of_left: Tensor | int,
    of_right: Tensor | int,
) -> Tensor:
    """The product less its parts with zero points; None stands for ones in a product."""
    result = product(left, right)
    if not is_nothing(of_left):
        result = result - product(None, right) * of_left
    if not is_nothing(of_right):
        rest = product(left, None)
        if not is_nothing(of_left):
            rest = rest - product(None, None) * of_left
        result = result - rest * of_right
    return result
