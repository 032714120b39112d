"""Elementwise operators: arithmetic, comparison, logic, activation functions."""

from __future__ import annotations

import math as pymath
from collections.abc import Callable
from functools import reduce

import numpy as np
from tg_tensor import Tensor

from tg_onnx.ops.shape import axis_of
from tg_onnx.proto import DTYPE_OF_ELEMENT, Array
from tg_onnx.registry import operator

UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    "Abs": Tensor.abs,
    "Neg": Tensor.neg,
    "Ceil": Tensor.ceil,
    "Floor": Tensor.floor,
    "Round": Tensor.round,
    "Exp": Tensor.exp,
    "Log": Tensor.log,
    "Sqrt": Tensor.sqrt,
    "Reciprocal": Tensor.reciprocal,
    "Sin": Tensor.sin,
    "Cos": Tensor.cos,
    "Tan": Tensor.tan,
    "Asin": Tensor.asin,
    "Acos": Tensor.acos,
    "Atan": Tensor.atan,
    "Sinh": Tensor.sinh,
    "Cosh": Tensor.cosh,
    "Tanh": Tensor.tanh,
    "Asinh": Tensor.asinh,
    "Acosh": Tensor.acosh,
    "Atanh": Tensor.atanh,
    "Erf": Tensor.erf,
    "Sigmoid": Tensor.sigmoid,
    "Relu": Tensor.relu,
    "Softsign": Tensor.softsign,
    "Softplus": Tensor.softplus,
    "Mish": Tensor.mish,
    "HardSwish": Tensor.hardswish,
    "Sign": Tensor.sign,
    "Not": Tensor.logical_not,
    "BitwiseNot": Tensor.bitwise_not,
    "IsNaN": Tensor.isnan,
}

BINARY: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "Add": Tensor.add,
    "Sub": Tensor.sub,
    "Mul": Tensor.mul,
    "And": Tensor.bitwise_and,
    "Or": Tensor.bitwise_or,
    "Xor": Tensor.bitwise_xor,
    "BitwiseAnd": Tensor.bitwise_and,
    "BitwiseOr": Tensor.bitwise_or,
    "BitwiseXor": Tensor.bitwise_xor,
    "Equal": Tensor.eq,
    "Less": Tensor.__lt__,
    "Greater": Tensor.__gt__,
}


def _register_unary(name: str, function: Callable[[Tensor], Tensor]) -> None:
    def run(x: Tensor) -> Tensor:
        return function(x)

    operator(name)(run)


def _register_binary(name: str, function: Callable[[Tensor, Tensor], Tensor]) -> None:
    def run(a: Tensor, b: Tensor) -> Tensor:
        return function(a, b)

    def run_aligned(a: Tensor, b: Tensor, *, axis: int | None = None, broadcast: int = 0) -> Tensor:
        return function(a, aligned_from(a, b, axis))

    operator(name)(run_aligned)
    operator(name, since=7)(run)


def aligned_from(a: Tensor, b: Tensor, axis: int | None) -> Tensor:
    """Before opset 7: the axes of b stand below those of a from `axis` on."""
    if axis is None:
        return b
    start = axis + a.ndim if axis < 0 else axis
    return b.reshape(*b.shape, *(1,) * (a.ndim - start - b.ndim))


def power(a: Tensor, b: Tensor) -> Tensor:
    """The result has the dtype of the base."""
    return a.pow(b.cast(a.dtype)) if a.is_floating_point() else a.pow(b).cast(a.dtype)


def div(a: Tensor, b: Tensor) -> Tensor:
    """Integers divide toward zero."""
    return a.div(b) if a.is_floating_point() else a.div(b, rounding_mode="trunc")


BINARY.update(Pow=power, Div=div)
for _name, _function in UNARY.items():
    _register_unary(_name, _function)
for _name, _combine in BINARY.items():
    _register_binary(_name, _combine)


@operator("Identity")
def identity(x: Tensor) -> Tensor:
    """The input as it is."""
    return x


@operator("Mod")
def mod(a: Tensor, b: Tensor, *, fmod: int = 0) -> Tensor:
    """The sign of the divisor, or with fmod that of the dividend."""
    if not a.is_floating_point():
        return a - b * a.div(b, rounding_mode="trunc") if fmod else a.mod(b)
    rest = a - b * a.div(b, rounding_mode="trunc")
    # what an infinite number divides stays as it is
    rest = (b.isinf() & ~a.isinf() & ~a.isnan()).where(a, rest)
    if fmod:
        return rest
    return ((rest != 0) & ((rest < 0) != (b < 0))).where(rest + b, rest)


@operator("LessOrEqual")
def less_or_equal(a: Tensor, b: Tensor) -> Tensor:
    """a <= b."""
    return a <= b


@operator("GreaterOrEqual")
def greater_or_equal(a: Tensor, b: Tensor) -> Tensor:
    """a >= b."""
    return a >= b


@operator("Where")
def where(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """x where the condition holds, else y."""
    return condition.where(x, y)


@operator("BitShift")
def bit_shift(a: Tensor, b: Tensor, *, direction: str) -> Tensor:
    """Shift left or right."""
    return a.lshift(b) if direction == "LEFT" else a.rshift(b)


@operator("Max")
def maximum(*tensors: Tensor) -> Tensor:
    """The greatest of all inputs."""
    return reduce(Tensor.maximum, tensors)


@operator("Min")
def minimum(*tensors: Tensor) -> Tensor:
    """The least of all inputs."""
    return reduce(Tensor.minimum, tensors)


@operator("Sum")
def total(*tensors: Tensor) -> Tensor:
    """The sum of all inputs."""
    return reduce(Tensor.add, tensors)


@operator("Mean")
def mean(*tensors: Tensor) -> Tensor:
    """The mean of all inputs."""
    return reduce(Tensor.add, tensors) / len(tensors)


@operator("IsInf")
def is_inf(x: Tensor, *, detect_positive: int = 1, detect_negative: int = 1) -> Tensor:
    """Where x is infinite, of the signs asked for."""
    return x.isinf(bool(detect_positive), bool(detect_negative))


@operator("Cast")
def cast(x: Tensor, *, to: int, saturate: int = 1, round_mode: str = "up") -> Tensor:
    """Convert to another element type."""
    dtype = DTYPE_OF_ELEMENT.get(to)
    if dtype is None:
        raise TypeError(f"element type {to} has no dtype here")
    return x.cast(dtype)


@operator("BitCast", since=26)
def bit_cast(x: Tensor, *, to: int) -> Tensor:
    """The same bits as elements of another type."""
    return x.bitcast(DTYPE_OF_ELEMENT[to])


@operator("CastLike")
def cast_like(x: Tensor, like: Tensor, *, saturate: int = 1, round_mode: str = "up") -> Tensor:
    """Convert to the element type of another tensor."""
    return x.cast(like.dtype)


@operator("Clip")
def clip_attributes(x: Tensor, *, min: float = -pymath.inf, max: float = pymath.inf) -> Tensor:
    """Before opset 11 the bounds are attributes."""
    return x.clip(min, max)


@operator("Clip", since=11)
def clip(x: Tensor, low: Tensor | None = None, high: Tensor | None = None) -> Tensor:
    """Values outside of the bounds become the bounds."""
    if low is not None:
        x = x.maximum(low)
    return x if high is None else x.minimum(high)


@operator("LeakyRelu")
def leaky_relu(x: Tensor, *, alpha: float = 0.01) -> Tensor:
    """x, times alpha where negative."""
    return x.leaky_relu(alpha)


@operator("PRelu")
def prelu(x: Tensor, slope: Tensor) -> Tensor:
    """x, times slope where negative; a slope for each channel may come without its other axes."""
    if slope.ndim == 1 and x.ndim > 2 and slope.shape[0] == x.shape[1] != x.shape[-1]:
        slope = slope.reshape(-1, *(1,) * (x.ndim - 2))
    return (x < 0).where(x * slope, x)


@operator("Elu")
def elu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    """x, or alpha * (exp(x) - 1) where negative."""
    return x.elu(alpha)


@operator("Celu")
def celu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""
    return x.celu(alpha)


@operator("Selu")
def selu(x: Tensor, *, alpha: float = 1.67326319, gamma: float = 1.05070102) -> Tensor:
    """Scaled exponential linear unit."""
    return x.selu(alpha, gamma)


@operator("HardSigmoid")
def hard_sigmoid(x: Tensor, *, alpha: float = 0.2, beta: float = 0.5) -> Tensor:
    """max(0, min(1, alpha * x + beta))."""
    return (x * alpha + beta).clip(0, 1)


@operator("ThresholdedRelu")
def thresholded_relu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    """x where it is above alpha, else 0."""
    return (x > alpha).where(x, 0)


@operator("Shrink")
def shrink(x: Tensor, *, bias: float = 0.0, lambd: float = 0.5) -> Tensor:
    """x moved toward zero by bias outside of [-lambd, lambd], 0 inside."""
    below = (x < -lambd).where(x + bias, 0)
    return (x > lambd).where(x - bias, below).cast(x.dtype)


@operator("Swish", since=24)
def swish(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    """x * sigmoid(alpha * x)."""
    return x * (x * alpha).sigmoid()


@operator("Gelu", since=20)
def gelu(x: Tensor, *, approximate: str = "none") -> Tensor:
    """Exact, or by tanh."""
    return x.gelu(approximate)


@operator("CumSum", host=(1,))
def cumulative_sum(x: Tensor, axis: Array, *, exclusive: int = 0, reverse: int = 0) -> Tensor:
    """Running sums along an axis."""
    dim = axis_of(int(np.ravel(axis)[0]), x.ndim)
    if reverse:
        x = x.flip(dim)
    summed = x.cumsum(dim).cast(x.dtype)
    if exclusive:
        summed = summed - x
    return summed.flip(dim) if reverse else summed
