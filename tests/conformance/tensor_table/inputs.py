"""Numbers that tests compute with: the same on every machine, without a random generator."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

Shape = tuple[int, ...]
Array = npt.NDArray[Any]

_NARROW = {
    "bfloat16": ml_dtypes.bfloat16,
    "fp8e4m3": ml_dtypes.float8_e4m3fn,
    "fp8e5m2": ml_dtypes.float8_e5m2,
    "fp8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "fp8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
}


def array_dtype(name: str) -> np.dtype[Any]:
    """The NumPy dtype of a name, those of ml_dtypes among them."""
    return np.dtype(_NARROW.get(name, name))


@dataclass(frozen=True, slots=True)
class Input:
    """How one argument is made. `dtype` None takes that of the sweep, `shape` None too."""

    kind: str
    shape: Shape | None = None
    low: float = -4.0
    high: float = 4.0
    dtype: str | None = None
    values: tuple[Any, ...] = ()
    gradient: bool = True

    def make(self, dtype: str, shape: Shape | None, seed: int) -> Array:
        """The values for a dtype and a shape."""
        wanted = self.dtype or dtype
        size = self.shape if self.shape is not None else shape
        if self.kind == "values":
            return np.array(self.values).astype(array_dtype(wanted))
        assert size is not None, "an input without a shape needs one from the sweep"
        count = math.prod(size)
        return self._numbers(wanted, count, seed).reshape(size)

    def _numbers(self, dtype: str, count: int, seed: int) -> Array:
        order = shuffled(count, seed)
        if dtype == "bool":
            return scattered(count, seed) % 2 == 0
        if "int" in dtype:
            limits = np.iinfo(dtype)
            low, high = max(math.ceil(self.low), limits.min), min(math.floor(self.high), limits.max)
            steps = scattered(count, seed) % np.uint64(high - low + 1)
            if self.kind == "whole_range" and count > 1:
                steps = scattered(count, seed)
                full = steps.astype(dtype)
                full[0], full[-1] = limits.min, limits.max
                return full
            return (steps.astype(object) + low).astype(dtype)
        # all different, and none of them 0 or another round number where a function has a corner
        spread = (order + 0.37) / max(count, 1)
        values = self.low + (self.high - self.low) * spread
        return values.astype(np.float32).astype(array_dtype(dtype))


def scattered(count: int, seed: int) -> npt.NDArray[np.uint64]:
    """64 mixed bits for each position (splitmix64: Steele, Lea, Flood, 2014)."""
    with np.errstate(over="ignore"):
        place = np.arange(1, count + 1, dtype=np.uint64) + np.uint64(1000003 * seed)
        mixed = place * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return mixed ^ (mixed >> np.uint64(31))


def shuffled(count: int, seed: int) -> npt.NDArray[np.int64]:
    """The numbers 0 to count - 1 in a mixed order."""
    return np.argsort(scattered(count, seed), kind="stable")


def num(*shape: int, low: float = -4.0, high: float = 4.0, dtype: str | None = None) -> Input:
    """Numbers of the dtype of the sweep; without a shape, of its shape too."""
    return Input("numbers", shape or None, low, high, dtype)


def point(low: float = -4.0, high: float = 4.0) -> Input:
    """One number, without axes."""
    return Input("numbers", (), low, high)


def sized(shape: Shape, low: float = -4.0, high: float = 4.0, dtype: str | None = None) -> Input:
    """As `num`, for a shape that may be ()."""
    return Input("numbers", shape, low, high, dtype)


def constant(*shape: int) -> Input:
    """Numbers of which no gradient is taken."""
    return Input("numbers", shape, gradient=False)


def positive(*shape: int, high: float = 4.0) -> Input:
    """Numbers above 0."""
    return Input("numbers", shape or None, 0.1, high)


def integers(*shape: int, low: int = 0, high: int = 10, dtype: str = "int64") -> Input:
    """Whole numbers from `low` to `high`, both included, of a dtype of their own."""
    return Input("numbers", shape or None, low, high, dtype, gradient=False)


def every(*shape: int) -> Input:
    """Integers over the whole range of the dtype, with both limits; floats from -4 to 4."""
    return Input("whole_range", shape or None)


def bools(*shape: int) -> Input:
    """True and False."""
    return Input("numbers", shape or None, 0, 1, "bool", gradient=False)


def values(listed: Sequence[Any], dtype: str | None = None, gradient: bool = True) -> Input:
    """The numbers given."""
    return Input("values", None, dtype=dtype, values=tuple(listed), gradient=gradient)


def fixed(listed: Sequence[Any], dtype: str = "int64") -> Input:
    """The numbers given, of one dtype in every sweep, without a gradient."""
    return Input("values", None, dtype=dtype, values=tuple(listed), gradient=False)
