"""The value of a polynomial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from tg_uop.methods.arithmetic import ArithmeticMixin

V = TypeVar("V", bound=ArithmeticMixin)


def polynomial(x: V, coefficients: Sequence[float]) -> V:
    """The polynomial with these coefficients, highest power first (Horner)."""
    value = x * coefficients[0] + coefficients[1]
    for coefficient in coefficients[2:]:
        value = value * x + coefficient
    return value
