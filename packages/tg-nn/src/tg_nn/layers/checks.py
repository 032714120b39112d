"""Refuse sizes, settings and inputs that a layer cannot have, at the place where they are given."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tg_tensor import Tensor
from tg_uop.arguments import shown
from tg_uop.errors import ArgumentTypeError

from tg_nn.errors import LayerError


def check_counts(layer: str, **counts: object) -> None:
    """Raise `ArgumentTypeError` for a count that is no whole number, `LayerError` below 1."""
    for name, count in counts.items():
        _check_whole(layer, name, count, at_least=1)


def check_sizes(layer: str, at_least: int, **sizes: Sequence[object]) -> None:
    """Raise `ArgumentTypeError` for a size that is no whole number, `LayerError` for one below."""
    for name, along in sizes.items():
        for size in along:
            _check_whole(layer, name, size, at_least)


def _check_whole(layer: str, name: str, value: object, at_least: int) -> None:
    # True and False are numbers in Python, but never meant as a size
    if not hasattr(value, "__index__") or isinstance(value, bool | Tensor):
        raise ArgumentTypeError(
            call=layer, argument=name, given=shown(value), expected="a whole number"
        )
    if value.__index__() < at_least:
        raise LayerError(layer=layer, reason=f"{name} is {value}, it must be at least {at_least}")


def check_number(layer: str, low: float, high: float, **settings: object) -> None:
    """Raise `ArgumentTypeError` for what is no number, `LayerError` outside of `low` to `high`."""
    for name, value in settings.items():
        if not isinstance(value, int | float) and not hasattr(value, "__float__"):
            raise ArgumentTypeError(
                call=layer, argument=name, given=shown(value), expected="a number"
            )
        if not low <= float(value) <= high:
            bounds = f"at least {low:g}" if high == math.inf else f"from {low:g} to {high:g}"
            raise LayerError(layer=layer, reason=f"{name} is {value}, it must be {bounds}")


def check_input(layer: str, x: Tensor, axis: int, size: int, least_axes: int) -> None:
    """Raise `LayerError` for an input with too few axes, or of another size along one of them."""
    if x.ndim < least_axes:
        raise LayerError(
            layer=layer,
            reason=f"the input has shape {x.shape} of {x.dtype}",
            hint=f"it must have at least {least_axes} axes",
        )
    if x.shape[axis] != size:
        raise LayerError(
            layer=layer,
            reason=f"the input has shape {x.shape} of {x.dtype}",
            hint=f"axis {axis} must have {size} elements, as many as the layer was made for",
        )
