"""Mathematical functions with the derivatives of their definitions, as PyTorch gives them.

What these methods compute is inherited; here each gets the formula of its derivative, which holds
at the ends of its domain, at NaN and at infinity too, where that of the approximation does not.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from tg_uop import UOp

from tg_tensor.autograd.slopes import note_slopes
from tg_tensor.ops.elementwise import TensorElementwiseOps

S = TypeVar("S", bound=TensorElementwiseOps)
P = ParamSpec("P")
Method = Callable[Concatenate[S, P], S]
Slope = Callable[..., Any]
"""From the value of a function, its operand and further arguments to the derivative there."""


def with_slope(slope: Slope) -> Callable[[Method[S, P]], Method[S, P]]:
    """Give a function of one float a derivative. Half precision is computed in float32."""

    def decorate(function: Method[S, P]) -> Method[S, P]:
        @functools.wraps(function)
        def noted(self: S, /, *args: P.args, **kwargs: P.kwargs) -> S:
            given = self._as_float()
            x = given.float() if given.dtype.itemsize < 4 else given
            value = function(x, *args, **kwargs)
            bound = functools.partial(slope, **kwargs)
            note_slope_of(value, x, lambda y, of: bound(y, of, *args))
            return value if given.dtype is value.dtype else value.cast(given.dtype)

        return noted

    return decorate


def note_slope_of(value: S, x: S, slope: Callable[[S, S], S]) -> None:
    """Remember how `value` changes with `x`."""
    kind = type(value)

    def slopes(node: UOp, operands: Sequence[UOp]) -> tuple[UOp]:
        return (slope(kind._of(node), kind._of(operands[0])).uop,)

    note_slopes(value.uop, (x.uop,), slopes)


def note_slopes_of_pair(
    value: S, pair: tuple[S, S], of_first: Callable[[S, S], S], of_second: Callable[[S, S], S]
) -> S:
    """`value`, remembering how it changes with each of two values that it is a function of.

    Numbers beside a Tensor, which have no shape of their own, have no derivative.
    """
    kind = type(value)
    own = [part.shape == value.shape for part in pair]
    numbers = [part.uop for part in pair]

    def slopes(node: UOp, operands: Sequence[UOp]) -> tuple[UOp, ...]:
        given = iter(operands)
        first, second = (
            kind._of(next(given) if is_own else number)
            for is_own, number in zip(own, numbers, strict=True)
        )
        found = (of_first(first, second).uop, of_second(first, second).uop)
        return tuple(slope for slope, is_own in zip(found, own, strict=True) if is_own)

    operands = tuple(part.uop for part, is_own in zip(pair, own, strict=True) if is_own)
    note_slopes(value.uop, operands, slopes)
    return value


class SlopeOps(TensorElementwiseOps):
    """Functions of one value that know their derivatives."""

    __slots__ = ()

    # *** angles ***

    cos = with_slope(lambda y, x: -x.sin())(TensorElementwiseOps.cos)
    tan = with_slope(lambda y, x: y * y + 1)(TensorElementwiseOps.tan)
    asin = with_slope(lambda y, x: ((1 - x) * (1 + x)).rsqrt())(TensorElementwiseOps.asin)
    acos = with_slope(lambda y, x: -((1 - x) * (1 + x)).rsqrt())(TensorElementwiseOps.acos)
    atan = with_slope(lambda y, x: (x * x + 1).reciprocal())(TensorElementwiseOps.atan)

    # *** hyperbolic functions ***

    sinh = with_slope(lambda y, x: x.cosh())(TensorElementwiseOps.sinh)
    cosh = with_slope(lambda y, x: x.sinh())(TensorElementwiseOps.cosh)
    tanh = with_slope(lambda y, x: 1 - y * y)(TensorElementwiseOps.tanh)
    asinh = with_slope(lambda y, x: (x * x + 1).rsqrt())(TensorElementwiseOps.asinh)
    acosh = with_slope(lambda y, x: (x - 1).rsqrt() * (x + 1).rsqrt())(TensorElementwiseOps.acosh)
    atanh = with_slope(lambda y, x: 1 / ((1 - x) * (1 + x)))(TensorElementwiseOps.atanh)

    # *** probability ***

    erf = with_slope(lambda y, x: (-(x * x)).exp() * (2 / math.sqrt(math.pi)))(
        TensorElementwiseOps.erf
    )
    sigmoid = with_slope(lambda y, x: y * (1 - y))(TensorElementwiseOps.sigmoid)
    logsigmoid = with_slope(lambda y, x: (-x).sigmoid())(TensorElementwiseOps.logsigmoid)
    softplus = with_slope(lambda y, x, beta=1.0: (x * beta).sigmoid())(
        TensorElementwiseOps.softplus
    )

    # *** powers ***

    def _constant_power(self, exponent: int | float) -> Self:
        value = super()._constant_power(exponent)
        is_whole = math.isfinite(exponent) and exponent == int(exponent)
        if self.dtype.is_float and exponent < -1 and is_whole:
            # by way of the positive power the derivative at 0 would be infinity times 0
            note_slope_of(value, self, lambda y, x: x._constant_power(exponent - 1) * exponent)
        return value
