"""Sigmoid and tanh as quotients of polynomials: a kernel's values to single precision, fast.

The coefficients are those that Eigen and MLAS use, and so is the order of operations: onnxruntime
computes the same bits. After some steps of a layer whose state is rounded to 8 bits, a difference
in the last bit has become one of a whole code.
"""

from __future__ import annotations

from collections.abc import Sequence

from tg_uop import Ops, UOp

_SIGMOID_BOUND = 18.0
_SIGMOID_ABOVE = (
    4.37031012579801e-11,
    1.15627324459942e-07,
    6.08574864600143e-05,
    8.51377133304701e-03,
    2.48287947061529e-01,
)
_SIGMOID_BELOW = (
    6.10247389755681e-13,
    5.76102136993427e-09,
    6.29106785017040e-06,
    1.70198817374094e-03,
    1.16817656904453e-01,
    9.93151921023180e-01,
)
_TANH_BOUND = 9.0
_TANH_ABOVE = (
    -2.76076847742355e-16,
    2.00018790482477e-13,
    -8.60467152213735e-11,
    5.12229709037114e-08,
    1.48572235717979e-05,
    6.37261928875436e-04,
    4.89352455891786e-03,
)
_TANH_BELOW = (
    1.19825839466702e-06,
    1.18534705686654e-04,
    2.26843463243900e-03,
    4.89352518554385e-03,
)


def sigmoid(x: UOp) -> UOp:
    """1 / (1 + exp(-x)) of a float32, within 2e-7."""
    x = x.clip(-_SIGMOID_BOUND, _SIGMOID_BOUND)
    square = x * x
    quotient = _polynomial(square, _SIGMOID_ABOVE) * x / _polynomial(square, _SIGMOID_BELOW)
    return (quotient + 0.5).clip(0.0, 1.0)


def tanh(x: UOp) -> UOp:
    """The hyperbolic tangent of a float32, within 4e-7."""
    x = x.clip(-_TANH_BOUND, _TANH_BOUND)
    square = x * x
    return _polynomial(square, _TANH_ABOVE) * x / _polynomial(square, _TANH_BELOW)


def _polynomial(x: UOp, coefficients: Sequence[float]) -> UOp:
    """By Horner's rule with one rounding a step; the coefficient of the highest power is first."""
    value = x.ufix(coefficients[0])
    for coefficient in coefficients[1:]:
        value = value.alu(Ops.MULACC, x, x.ufix(coefficient))
    return value
