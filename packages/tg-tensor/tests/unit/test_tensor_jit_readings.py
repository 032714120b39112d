"""Captured steps notice what they read from outside by any way that code names."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
import pytest
from tg_tensor import Tensor, TinyJit

NUMBERS = [2.0]
CONFIG = {"scale": 2.0, "parts": {"shift": 0.0}}
TABLE = np.array([2.0], np.float32)
FACTOR = 2.0


class Defaults:
    """Settings that a class has."""

    factor = 2.0


class Layer:
    """A layer with settings, its own and of its class."""

    power: ClassVar[int] = 1

    def __init__(self) -> None:
        self.factor = 2.0
        self.runs = 0

    @property
    def scale(self) -> float:
        return self.factor

    def scaled(self, x: Tensor) -> Tensor:
        return x * self.scale

    def __call__(self, x: Tensor) -> Tensor:
        self.runs += 1
        return self.scaled(x) ** self.power


class Model:
    """Layers in a list."""

    def __init__(self) -> None:
        self.layers = [Layer(), Layer()]
        self.layers[1].factor = 1.0

    def __call__(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


MODEL = Model()
DEFAULTS = Defaults()


def helper(x: Tensor) -> Tensor:
    return x * FACTOR


def change_factor(value: float) -> None:
    globals()["FACTOR"] = value


def change_class(value: float) -> None:
    Defaults.factor = value


CASES: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[float], object]]] = {
    "list": (lambda x: x * NUMBERS[0], lambda v: NUMBERS.__setitem__(0, v)),
    "dict": (lambda x: x * CONFIG["scale"], lambda v: CONFIG.__setitem__("scale", v)),
    "array": (lambda x: x * Tensor(TABLE), lambda v: TABLE.__setitem__(0, v)),
    "helper": (lambda x: helper(x), change_factor),
    "class": (lambda x: x * Defaults.factor, change_class),
    "object of a class": (lambda x: x * DEFAULTS.factor, change_class),
    "layer": (lambda x: MODEL(x), lambda v: setattr(MODEL.layers[0], "factor", v)),
    "method": (
        lambda x: MODEL.layers[0].scaled(x),
        lambda v: setattr(MODEL.layers[0], "factor", v),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_constants_are_noticed(name: str) -> None:
    body, change = CASES[name]
    step = TinyJit(lambda x: body(x).realize())
    x = Tensor([3.0]).realize()
    for value in (2.0, 5.0, 2.0):
        change(value)
        for _ in range(3):
            assert step(x).item() == 3 * value, name


def test_what_the_function_itself_counts_is_no_constant() -> None:
    step = TinyJit(lambda x: MODEL(x).realize())
    x = Tensor([3.0]).realize()
    for _ in range(6):
        step(x)
    runs = MODEL.layers[0].runs
    step(x)
    assert MODEL.layers[0].runs == runs


WEIGHTS = {"w": Tensor([1.0, 1.0]).realize()}
WRITES: dict[str, Callable[[], object]] = {
    "assigned": lambda: WEIGHTS["w"].assign([5.0, 5.0]).realize(),
    "an item": lambda: WEIGHTS["w"].__setitem__(0, 4.0),
    "replaced": lambda: WEIGHTS.__setitem__("w", Tensor([3.0, 2.0]).realize()),
}


@pytest.mark.parametrize("name", WRITES)
def test_what_prune_has_computed_once_is_computed_anew_when_its_inputs_change(name: str) -> None:
    WEIGHTS["w"] = Tensor([1.0, 1.0]).realize()
    step = TinyJit(lambda x: (WEIGHTS["w"].exp().contiguous() * x).realize(), prune=True)
    x = Tensor([1.0, 2.0]).realize()
    for write in (lambda: None, WRITES[name]):
        write()
        for _ in range(3):
            wanted = np.exp(WEIGHTS["w"].numpy()) * np.array([1.0, 2.0])
            np.testing.assert_allclose(step(x).numpy(), wanted, rtol=1e-6)
