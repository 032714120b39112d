"""Activation functions of neural networks, composed of mathematical functions."""

from __future__ import annotations

import math
from typing import Self

from tg_uop.errors import ArgumentError
from tg_uop.ir.ops import Ops
from tg_uop.methods.arithmetic import Operand
from tg_uop.methods.math import rounded_once
from tg_uop.methods.trigonometry import TrigonometryMixin


class ActivationMixin(TrigonometryMixin):
    """Activations by the names and defaults that PyTorch gives them."""

    __slots__ = ()

    # *** piecewise linear ***

    def relu(self) -> Self:
        """The value above 0, else 0; the gradient at 0 is 0, NaN stays NaN.

        The 0 stands first: a number that does shares no gradient with an equal value.
        """
        if self._number_type().is_bool:
            return self._itself()
        return self.ufix(0).alu(Ops.MAX, self)

    def relu6(self) -> Self:
        """Between 0 and 6; the gradient at both ends is 0."""
        return self.hardtanh(0, 6)

    def leaky_relu(self, neg_slope: float = 0.01) -> Self:
        """The value above 0, `neg_slope` times it below."""
        return (self > 0).where(self, self * neg_slope)

    def hardtanh(self, min_val: float = -1, max_val: float = 1) -> Self:
        """Between `min_val` and `max_val`; the gradient at both ends is 0, NaN stays NaN."""
        inside = (self > min_val) & (self < max_val)
        return inside.where(self, self.detach().clip(min_val, max_val))

    def hardsigmoid(self, alpha: float = 1 / 6, beta: float = 0.5) -> Self:
        """alpha * x + beta between 0 and 1."""
        return (self * alpha + beta).hardtanh(0, 1)

    def hardswish(self) -> Self:
        """The value times its hard sigmoid."""
        return self * (self + 3).relu6() * (1 / 6)

    def clip(self, min_: Operand | None = None, max_: Operand | None = None) -> Self:
        """Not below `min_` and not above `max_`; the gradient at the bounds is 1, NaN stays NaN."""
        if min_ is None and max_ is None:
            raise ArgumentError(
                op="clip",
                argument="min, max",
                given=(min_, max_),
                expected="a lower bound, an upper bound, or both",
            )
        raised = self if min_ is None else (self < min_).where(min_, self)
        return raised if max_ is None else (raised > max_).where(max_, raised)

    def clamp(self, min_: Operand | None = None, max_: Operand | None = None) -> Self:
        """See `clip`."""
        return self.clip(min_, max_)

    # *** exponential ***

    @rounded_once
    def sigmoid(self) -> Self:
        """1 / (1 + exp(-x))."""
        return ((self._as_float() * (-1 / math.log(2))).exp2() + 1).reciprocal()

    @rounded_once
    def logsigmoid(self) -> Self:
        """The logarithm of the sigmoid."""
        return -(-self).softplus()

    @rounded_once
    def softplus(self, beta: float = 1.0) -> Self:
        """log(1 + exp(beta * x)) / beta, without overflow."""
        x = self._as_float()
        if beta == 1:
            return x.maximum(0) + (-x.abs()).exp()._log1p()
        # x itself above 0, because beta * x may overflow
        line = x.maximum(0) if beta > 0 else x.minimum(0)
        return line + (-(x * beta).abs()).exp()._log1p() * (1 / beta)

    @rounded_once
    def softsign(self) -> Self:
        """x / (1 + |x|)."""
        return self / (self.abs() + 1)

    @rounded_once
    def silu(self) -> Self:
        """The value times its sigmoid."""
        return self * self.sigmoid()

    def swish(self) -> Self:
        """See `silu`."""
        return self.silu()

    @rounded_once
    def mish(self) -> Self:
        """x * tanh(softplus(x))."""
        return self * self.softplus().tanh()

    @rounded_once
    def elu(self, alpha: float = 1.0) -> Self:
        """The value above 0, alpha * (exp(x) - 1) below."""
        x = self._as_float()
        below = (x > 0).where(0, x)
        return (x > 0).where(x, below._expm1() * alpha)

    @rounded_once
    def celu(self, alpha: float = 1.0) -> Self:
        """The value above 0, alpha * (exp(x / alpha) - 1) below."""
        x = self._as_float()
        below = (x > 0).where(0, x)
        return (x > 0).where(x, (below * (1 / alpha))._expm1() * alpha)

    @rounded_once
    def selu(self, alpha: float = 1.67326, gamma: float = 1.0507) -> Self:
        """gamma times elu(x, alpha)."""
        return self.elu(alpha) * gamma

    # *** Gaussian ***

    @rounded_once
    def gelu(self, approximate: str = "none") -> Self:
        """x times the normal distribution function of x; "tanh" asks for the usual approximation.

        Raises `ArgumentError` for another name.
        """
        x = self._as_float()
        if approximate == "none":
            return x * 0.5 * ((x * math.sqrt(0.5)).erf() + 1)
        if approximate != "tanh":
            raise ArgumentError(
                op="gelu",
                argument="approximate",
                given=approximate,
                expected="'none' (exact) or 'tanh'",
            )
        inner = (x + x * x * x * 0.044715) * math.sqrt(2 / math.pi)
        return x * 0.5 * (inner.tanh() + 1)

    @rounded_once
    def quick_gelu(self) -> Self:
        """x * sigmoid(1.702 x)."""
        return self * (self * 1.702).sigmoid()
