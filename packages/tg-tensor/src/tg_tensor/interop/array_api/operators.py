"""Elementwise functions of two or three arguments of the array API standard.

One of the arguments may be a Python number, which takes its dtype from the other.
"""

from __future__ import annotations

from tg_tensor.errors import ArgumentError
from tg_tensor.tensor import Tensor

Operand = Tensor | int | float


def operands(x1: Operand, x2: Operand) -> tuple[Tensor, Tensor]:
    """Both as Tensors. Raises `ArgumentError` for two Python numbers."""
    if isinstance(x1, Tensor):
        return x1, x1.ufix(x2)
    if isinstance(x2, Tensor):
        return x2.ufix(x1), x2
    raise ArgumentError(
        op="an elementwise function", argument="x1", given=x1, expected="a Tensor, or x2 one"
    )


def _with_sign_of_zero(result: Tensor, left: Tensor, right: Tensor | None) -> Tensor:
    """`result`, whose zeros have the sign of `left` or, as a quotient has it, of both."""
    if not result.dtype.is_float:
        return result
    negative = left.cast(result.dtype).signbit()
    if right is not None:
        negative = negative ^ right.cast(result.dtype).signbit()
    zero = negative.where(-0.0, result.ufix(0.0))
    return result.eq(0).where(zero, result)


def add(x1: Operand, x2: Operand, /) -> Tensor:
    """The sum."""
    a, b = operands(x1, x2)
    return a + b


def atan2(x1: Operand, x2: Operand, /) -> Tensor:
    """The angle of the point (x2, x1)."""
    a, b = operands(x1, x2)
    return a.atan2(b)


def bitwise_and(x1: Operand, x2: Operand, /) -> Tensor:
    """Each bit of both; of bools, whether both."""
    a, b = operands(x1, x2)
    return a & b


def bitwise_left_shift(x1: Operand, x2: Operand, /) -> Tensor:
    """`x1` with its bits moved up by `x2`."""
    a, b = operands(x1, x2)
    return a << b


def bitwise_or(x1: Operand, x2: Operand, /) -> Tensor:
    """Each bit of either; of bools, whether one."""
    a, b = operands(x1, x2)
    return a | b


def bitwise_right_shift(x1: Operand, x2: Operand, /) -> Tensor:
    """`x1` with its bits moved down by `x2`; the sign stays."""
    a, b = operands(x1, x2)
    return a >> b


def bitwise_xor(x1: Operand, x2: Operand, /) -> Tensor:
    """Each bit of one of them; of bools, whether they differ."""
    a, b = operands(x1, x2)
    return a ^ b


def copysign(x1: Operand, x2: Operand, /) -> Tensor:
    """`x1` with the sign of `x2`."""
    a, b = operands(x1, x2)
    return a.copysign(b)


def divide(x1: Operand, x2: Operand, /) -> Tensor:
    """The quotient, a float."""
    a, b = operands(x1, x2)
    return a / b


def equal(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether equal."""
    a, b = operands(x1, x2)
    return a == b


def floor_divide(x1: Operand, x2: Operand, /) -> Tensor:
    """The quotient rounded down."""
    a, b = operands(x1, x2)
    return _with_sign_of_zero(a // b, a, b)


def greater(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether `x1` is greater."""
    a, b = operands(x1, x2)
    return a > b


def greater_equal(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether `x1` is not less."""
    a, b = operands(x1, x2)
    return a >= b


def hypot(x1: Operand, x2: Operand, /) -> Tensor:
    """The length of the hypotenuse, without overflow on the way."""
    a, b = operands(x1, x2)
    return a.hypot(b)


def less(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether `x1` is less."""
    a, b = operands(x1, x2)
    return a < b


def less_equal(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether `x1` is not greater."""
    a, b = operands(x1, x2)
    return a <= b


def logaddexp(x1: Operand, x2: Operand, /) -> Tensor:
    """The logarithm of the sum of the exponentials."""
    a, b = operands(x1, x2)
    return a.logaddexp(b)


def logical_and(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether neither is 0."""
    a, b = operands(x1, x2)
    return a.logical_and(b)


def logical_or(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether one is not 0."""
    a, b = operands(x1, x2)
    return a.logical_or(b)


def logical_xor(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether exactly one is not 0."""
    a, b = operands(x1, x2)
    return a.logical_xor(b)


def maximum(x1: Operand, x2: Operand, /) -> Tensor:
    """The greater one; NaN where one is NaN."""
    a, b = operands(x1, x2)
    return a.maximum(b)


def minimum(x1: Operand, x2: Operand, /) -> Tensor:
    """The smaller one; NaN where one is NaN."""
    a, b = operands(x1, x2)
    return a.minimum(b)


def multiply(x1: Operand, x2: Operand, /) -> Tensor:
    """The product."""
    a, b = operands(x1, x2)
    return a * b


def nextafter(x1: Operand, x2: Operand, /) -> Tensor:
    """The number next to `x1` in the direction of `x2`."""
    a, b = operands(x1, x2)
    return a.nextafter(b)


def not_equal(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether not equal."""
    a, b = operands(x1, x2)
    return a != b


def pow(x1: Operand, x2: Operand, /) -> Tensor:
    """`x1` to the power of `x2`."""
    a, b = operands(x1, x2)
    return a**b


def remainder(x1: Operand, x2: Operand, /) -> Tensor:
    """The rest of the division, with the sign of `x2`, that of a zero too."""
    a, b = operands(x1, x2)
    return _with_sign_of_zero(a % b, b, None)


def subtract(x1: Operand, x2: Operand, /) -> Tensor:
    """The difference."""
    a, b = operands(x1, x2)
    return a - b


def clip(x: Tensor, /, min: Operand | None = None, max: Operand | None = None) -> Tensor:
    """Nothing below `min` and nothing above `max`, in the dtype of `x`; None leaves a side open."""
    limited = x if min is None else x.maximum(x.ufix(min).cast(x.dtype))
    limited = limited if max is None else limited.minimum(x.ufix(max).cast(x.dtype))
    return +limited if limited is x else limited
