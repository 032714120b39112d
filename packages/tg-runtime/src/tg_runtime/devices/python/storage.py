"""The memory that interpreted kernels read and write, checked at each access."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from tg_uop import DType, dtypes
from tg_uop.dtype.value import Value, from_bits, to_bits

from tg_runtime.errors import KernelFaultError

Element = Value | tuple[Value, ...]

# formats of memoryview that hold exactly the values of a dtype; others go through their bits
_DIRECT = frozenset("bBhHiIqQfd")
_BITS = {1: "B", 2: "H", 4: "I", 8: "Q"}


class Storage(Protocol):
    """Numbered elements. Both raise `KernelFaultError` outside."""

    def read(self, at: int) -> Element:
        """The element."""

    def write(self, at: int, value: Element) -> None:
        """Replace the element."""


class Fault:
    """Makes the error of an access outside of a named piece of memory."""

    __slots__ = ("device", "kernel", "name", "size")

    def __init__(self, kernel: str, device: str, name: str, size: int) -> None:
        self.kernel = kernel
        self.device = device
        self.name = name
        self.size = size

    def at(self, index: int, action: str) -> KernelFaultError:
        """The error for one index."""
        return KernelFaultError(
            kernel=self.kernel,
            device=self.device,
            reason=f"it {action} element {index} of {self.name}, which has {self.size}",
        )


class BytesStorage:
    """Elements of a scalar dtype in bytes of memory."""

    __slots__ = ("_decode", "_encode", "_fault", "_view", "size")

    def __init__(self, memory: memoryview, dtype: DType, size: int, fault: Fault) -> None:
        self.size = size
        self._fault = fault
        data = memory[: size * dtype.itemsize]
        self._decode: Callable[[int], Value] | None = None
        self._encode: Callable[[Value], int] | None = None
        self._view: memoryview[int]
        if dtype.fmt is not None and dtype.fmt in _DIRECT:
            self._view = data.cast(dtype.fmt)  # type: ignore[call-overload]
            return
        self._view = data.cast(_BITS[dtype.itemsize])  # type: ignore[call-overload]
        if dtype is dtypes.bool:
            # any byte but 0 is true, as compiled kernels take it
            self._decode, self._encode = bool, int
        else:
            self._decode = lambda bits: from_bits(bits, dtype)
            self._encode = lambda value: to_bits(value, dtype)

    def read(self, at: int) -> Element:
        """The element. Raises `KernelFaultError` outside."""
        if not 0 <= at < self.size:
            raise self._fault.at(at, "reads")
        found = self._view[at]
        return found if self._decode is None else self._decode(found)

    def write(self, at: int, value: Element) -> None:
        """Replace the element. Raises `KernelFaultError` outside."""
        if not 0 <= at < self.size:
            raise self._fault.at(at, "writes")
        assert not isinstance(value, tuple), "elements of buffers are scalars"
        self._view[at] = value if self._encode is None else self._encode(value)  # type: ignore[assignment]


class ListStorage:
    """Elements, scalar or vector, of a work-group's or a thread's own memory; they start as 0."""

    __slots__ = ("_fault", "_values")

    def __init__(self, dtype: DType, size: int, fault: Fault) -> None:
        zero: Value = 0.0 if dtype.is_float else False if dtype.is_bool else 0
        element: Element = zero if dtype.count == 1 else (zero,) * dtype.count
        self._values: list[Element] = [element] * size
        self._fault = fault

    def read(self, at: int) -> Element:
        """The element. Raises `KernelFaultError` outside."""
        if not 0 <= at < len(self._values):
            raise self._fault.at(at, "reads")
        return self._values[at]

    def write(self, at: int, value: Element) -> None:
        """Replace the element. Raises `KernelFaultError` outside."""
        if not 0 <= at < len(self._values):
            raise self._fault.at(at, "writes")
        self._values[at] = value
