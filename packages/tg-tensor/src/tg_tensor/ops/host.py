"""Values on the host: what of a Tensor is computed when Python asks for numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Self

import numpy as np
import numpy.typing as npt
from tg_runtime import Buffer, Device
from tg_uop import GroupOp, Ops, UOp, dtypes
from tg_uop.errors import ArgumentTypeError, NoAxesError

from tg_tensor.engine.buffers import memory_of_value
from tg_tensor.errors import AssignError, ElementCountError, ExportError
from tg_tensor.interop.numpy import array_of_bytes, numpy_dtype
from tg_tensor.multi.rules import split_value
from tg_tensor.multi.value import Sharded
from tg_tensor.ops.hashing import HashOps
from tg_tensor.ops.views import is_in_file

Nested = int | float | bool | list["Nested"]


class HostOps(HashOps):
    """Reading values; everything here runs what is pending."""

    __slots__ = ()

    def to(self, device: str | tuple[str, ...] | list[str] | None) -> Self:
        """This value on another device."""
        raise NotImplementedError

    def _sizes(self) -> tuple[int, ...]:
        """The shape in numbers, with the values that its variables have.

        Raises `UnboundVariableError` for a variable without one.
        """
        return tuple(int(size) for size in self.shape)

    # *** memory ***

    def _memory(self) -> Buffer:
        """The memory of the values, in order of the shape, on one device."""
        tensor = self if isinstance(self.device, str) else self.to(self.device[0])
        tensor = tensor.realize()
        if is_in_file(tensor.uop) and not _in_one_piece(tensor.uop):
            # a file runs no kernels
            tensor = tensor.to(Device.DEFAULT).realize()
        elif _constant_of(tensor.uop) is not None or not _in_one_piece(tensor.uop):
            tensor = self._of(
                UOp(Ops.CONTIGUOUS, self.dtype, (tensor.uop,), "own memory")
            ).realize()
        found = memory_of_value(tensor.uop)
        assert isinstance(found, Buffer), "a value on one device has one buffer"
        return found

    def _raw_bytes(self, *, share: bool) -> memoryview:
        """The bytes of the values; the memory itself if asked for and within reach of the host."""
        count = math.prod(self._sizes())
        if count == 0:
            return memoryview(b"")
        constant = _constant_of(self.uop)
        target = numpy_dtype(self.dtype)
        if constant is not None and target is not None:
            return memoryview(np.full(count, constant, target).tobytes())
        if not isinstance(self.device, str):
            return self._raw_bytes_of_shards(share=share)
        memory = self._memory()
        memory.ensure_allocated()
        raw = memory.as_memoryview(allow_zero_copy=share)
        # memory of a symbolic size has room for the largest
        return raw[: count * self.dtype.itemsize]

    def _raw_bytes_of_shards(self, *, share: bool) -> memoryview:
        """The bytes of a sharded value: its parts put together on the host."""
        found = split_value(self.realize().uop)
        assert isinstance(found, Sharded), "a value on several devices is in parts"
        if found.axis is None:
            return self._of(found.parts[0])._raw_bytes(share=share)
        kind = np.dtype((np.void, self.dtype.itemsize))
        parts = [
            np.frombuffer(self._of(part)._raw_bytes(share=True), kind).reshape(part.shape)  # type: ignore[arg-type]
            for part in found.parts
        ]
        return memoryview(np.concatenate(parts, found.axis).tobytes())

    def data(self) -> memoryview:
        """The values as a memoryview of this shape, without a copy where the host reaches them.

        It shares memory with the Tensor: a later in-place write shows. Raises `ExportError` for a
        dtype that memoryview has no letter for.
        """
        if self.dtype.fmt is None:
            raise ExportError(
                target="a memoryview",
                dtype=self.dtype,
                device=self.device,
                reason="Python has no such number type; cast to float32 first",
            )
        raw = self._raw_bytes(share=True)
        if raw and isinstance(self.device, str) and _constant_of(self.uop) is None:
            self._memory().share()
        if not raw or self.dtype is dtypes.float16:
            # what memoryview.cast cannot do: axes of size 0, and before Python 3.14 float16
            return array_of_bytes(raw, self.dtype, self._sizes()).data
        return raw.cast("B").cast(self.dtype.fmt, self._sizes())  # type: ignore[call-overload, no-any-return]

    # *** arrays, lists, numbers ***

    def numpy(self) -> npt.NDArray[np.generic]:
        """The values as an array of its own; types that NumPy lacks become float32."""
        if numpy_dtype(self.dtype) is None:
            return self.float().numpy()
        shared = array_of_bytes(self._raw_bytes(share=True), self.dtype, self._sizes())
        return shared.copy()

    def tolist(self) -> Nested:
        """The values as nested lists of Python numbers; a number for a Tensor without axes."""
        found: Nested = self.numpy().tolist()
        return found

    def item(self, *index: int) -> int | float | bool:
        """The one value as a Python number; with an index, that of one element.

        One number for several axes counts through the elements in order. Raises
        `ElementCountError` unless there is exactly one element.
        """
        if len(index) == 1 and len(self.shape) != 1:
            return self.reshape(-1).item(*index)
        if index:
            return self[index].item()
        self._one_element("item()")
        found: int | float | bool = self.numpy().item()
        return found

    def _one_element(self, what: str) -> None:
        if math.prod(self._sizes()) != 1:
            raise ElementCountError(what=what, shape=self.shape)

    def __bool__(self) -> bool:
        self._one_element("bool()")
        return bool(self.item())

    def __int__(self) -> int:
        self._one_element("int()")
        return int(self.item())

    def __float__(self) -> float:
        self._one_element("float()")
        return float(self.item())

    def __complex__(self) -> complex:
        self._one_element("complex()")
        return complex(self.item())

    def __index__(self) -> int:
        if not self.dtype.is_int or math.prod(self._sizes()) != 1:
            raise ArgumentTypeError(
                argument=f"a Tensor of shape {self.shape} and {self.dtype}",
                given="no index",
                expected="one integer",
            )
        return int(self.item())

    def __len__(self) -> int:
        if not self.shape:
            raise _no_axes("len()")
        return self._sizes()[0]

    def __iter__(self) -> Iterator[Self]:
        if not self.shape:
            raise _no_axes("iteration")
        return (self[i] for i in range(self._sizes()[0]))

    def __reversed__(self) -> Iterator[Self]:
        if not self.shape:
            raise _no_axes("reversed()")
        return (self[i] for i in reversed(range(self._sizes()[0])))

    def __delitem__(self, key: object) -> None:
        """Refused: a Tensor keeps its shape."""
        raise AssignError(
            target=f"elements of shape {self.shape}",
            value="nothing",
            reason="a Tensor keeps its shape, none of its elements can be deleted",
            hint="index what shall stay: x = x[1:]",
        )

    def __contains__(self, x: object) -> bool:
        return bool(self.eq(x).any())

    def __format__(self, spec: str) -> str:
        """As `str` without a format, else the one value in that format.

        Raises `ElementCountError` for a format and several elements.
        """
        if not spec:
            return str(self)
        self._one_element(f"the format {spec!r}")
        return format(self.item(), spec)


def _no_axes(what: str) -> NoAxesError:
    return NoAxesError(
        op=what,
        shapes=((),),
        reason="a Tensor without axes is no sequence",
        hint="item() is its one value",
    )


def _constant_of(node: UOp) -> int | float | None:
    """The number that fills a value, None where it is not one number everywhere."""
    while node.op in GroupOp.Movement and node.op is not Ops.PAD:
        node = node.src[0]
    value = node.arg if node.op is Ops.CONST else None
    return value if isinstance(value, int | float) else None


def _in_one_piece(node: UOp) -> bool:
    """Whether the elements lie side by side, in order."""
    while node.op is Ops.RESHAPE:
        node = node.src[0]
    return node.op in (Ops.BUFFER, Ops.BUFFER_VIEW)
