"""All elementwise methods of nodes, patterns and tensors as one mixin."""

from __future__ import annotations

from tg_uop.methods.activation import ActivationMixin
from tg_uop.methods.arithmetic import Operand

__all__ = ["ElementwiseMixin", "Operand"]


class ElementwiseMixin(ActivationMixin):
    """Arithmetic, mathematical functions and activations; see `ArithmeticMixin` for the hooks."""

    __slots__ = ()
