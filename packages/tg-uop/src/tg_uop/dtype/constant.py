"""The values that a constant can hold."""

from __future__ import annotations

from math import copysign, isnan
from typing import Final, final


@final
class InvalidType:
    """The type of `Invalid`."""

    __slots__ = ()
    _instance: InvalidType | None = None

    def __new__(cls) -> InvalidType:
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __repr__(self) -> str:
        return "Invalid"

    def __reduce__(self) -> str:
        return "Invalid"


Invalid: Final = InvalidType()
"""The value of an index that must not be used: a load there gives 0, a store does nothing."""


@final
class ConstFloat(float):
    """A float compared by what it is, not by IEEE: -0.0 differs from 0.0 and nan equals nan.

    It is the `arg` of every float CONST, so that interning and caches keep such values apart.
    Ask `math.isnan` for a NaN, not `x != x`.
    Arithmetic on it gives plain floats.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (int, float)):
            return NotImplemented
        if isnan(self):
            return isinstance(other, float) and isnan(other)
        if not float.__eq__(self, other):
            return False
        return float.__bool__(self) or copysign(1.0, self) == copysign(1.0, other)

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self) -> int:
        # hash(nan) depends on the object's address; equal values must hash alike
        return float.__hash__(self) if float.__eq__(self, self) else 0x7FF8


ConstValue = bool | int | float | InvalidType
"""What a scalar CONST can hold."""
