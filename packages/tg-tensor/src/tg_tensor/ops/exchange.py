"""Exchange with Python and other libraries: arrays, DLPack, addresses, copies, pickles."""

from __future__ import annotations

import copy as copies
import math
from collections.abc import Callable, Sequence
from html import escape
from importlib import import_module
from types import ModuleType
from typing import Self, cast

import numpy as np
import numpy.typing as npt
from tg_runtime import Buffer
from tg_uop import DType, GroupOp, Ops, UOp, dtypes
from tg_uop.errors import SignatureError

from tg_tensor.defaults import DeviceName, device_or_default, to_dtype
from tg_tensor.engine.buffers import attach, buffer_of, is_realized, memory_of_value
from tg_tensor.errors import AssignError, ExchangeError, ExportError
from tg_tensor.interop.dlpack import (
    HOST_DEVICE,
    Exporter,
    LentMemory,
    capsule_of,
    lent_by,
    shared_node,
    words_of,
)
from tg_tensor.interop.numpy import dtype_of_name, node_of_bytes, numpy_dtype
from tg_tensor.interop.ufuncs import call_function, call_ufunc
from tg_tensor.multi.shard import shard_uop
from tg_tensor.ops.standard import StandardOps
from tg_tensor.ops.views import Step, below_effects, names_place

Array = npt.NDArray[np.generic]
ARRAY_API = "2024.12"


class ExchangeOps(StandardOps):
    """What other libraries, `copy` and `pickle` ask a Tensor for."""

    __slots__ = ()

    # NumPy gives way to the Tensor on the right of its operators
    __array_priority__ = 1000

    # *** NumPy ***

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        """For `numpy.asarray`: a copy, unless `copy=False` asks for the memory itself.

        bfloat16 and fp8 become float32, or their own type where `dtype` is that of ml_dtypes.
        Raises `ExchangeError`, a `ValueError`, where `copy=False` cannot be had.
        """
        wanted = None if dtype is None else np.dtype(dtype)
        is_own = wanted is not None and dtype_of_name(wanted.name) is self.dtype
        if copy is False:
            shared, reason = self._host_array()
            natural = numpy_dtype(self.dtype)
            # a dtype of NumPy compares equal to None where it is float64
            is_natural = natural is not None and (wanted is None or wanted == natural)
            if not is_own and not is_natural:
                reason = f"{self.dtype} as {wanted} takes a conversion"
            if reason:
                raise ExchangeError(protocol="an array without a copy", reason=reason)
            return shared if wanted is None else shared.view(wanted)
        if is_own and wanted is not None:
            return np.array(self._host_array()[0]).view(wanted)
        array = self.numpy()
        return array if wanted is None else array.astype(wanted, copy=False)

    def __array_ufunc__(  # type: ignore[override]
        self, ufunc: np.ufunc, method: str, *inputs: object, **kwargs: object
    ) -> object:
        """A function of NumPy by the method of Tensor that computes the same."""
        return call_ufunc(type(self), ufunc, method, inputs, kwargs)

    def __array_function__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: tuple[object, ...],
        kwargs: dict[str, object],
    ) -> object:
        """Any other function of NumPy, on arrays of the values; its result is NumPy's."""
        return call_function(type(self), func, args, kwargs)

    def _host_array(self) -> tuple[Array, str]:
        """The memory as an array in words of the dtype, and why it is only a copy if so."""
        words = words_of(self.dtype)
        shape = self._sizes()
        if math.prod(shape) == 0:
            return np.empty(shape, words), "there are no elements"
        if isinstance(self.device, str):
            self.realize()
            if is_realized(self.uop):
                seen = _strided(self.uop, words)
                if seen is not None:
                    return seen, ""
        copied = np.frombuffer(bytes(self._raw_bytes(share=True)), words).reshape(shape).copy()
        return copied, f"the values on {self.device} are not in memory that the host can share"

    # *** DLPack and addresses ***

    # There is no `__buffer__` and no `__array_interface__`: NumPy asks these before `__array__`,
    # and would then share the memory without being asked to. `data()` is the memoryview.

    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        """The memory as a capsule of DLPack, shared: an in-place write shows on both sides.

        A capsule with a version for those who know versions. Values in the memory of another
        device, constants, and views that go backwards or repeat elements are copied to the host.
        Raises `ExchangeError`, a `BufferError`, where `copy=False` cannot be had, and for other
        devices.
        """
        if dl_device is not None and tuple(map(int, dl_device)) != HOST_DEVICE:
            raise ExchangeError(
                protocol="DLPack",
                reason=f"device {tuple(dl_device)} was asked for; memory of the host is given",
            )
        if stream is not None:
            raise ExchangeError(
                protocol="DLPack", reason=f"memory of the host has no stream {stream!r}"
            )
        array, reason = self._host_array()
        if not reason and min(array.strides, default=0) < 0:
            array, reason = array.copy(), "the elements are in reverse order"
        if copy is False and reason:
            raise ExchangeError(protocol="DLPack without a copy", reason=reason)
        if (copy or (max_version is None and not array.flags.writeable)) and not reason:
            # a capsule without a version cannot say that nobody may write
            array, reason = array.copy(), "a copy was asked for"
        return capsule_of(array, self.dtype, max_version, is_copy=bool(reason))

    def __dlpack_device__(self) -> tuple[int, int]:
        """Memory of the host."""
        return HOST_DEVICE

    @classmethod
    def from_dlpack(
        cls, exporter: Exporter, device: str | None = None, copy: bool | None = None
    ) -> Self:
        """The memory that an array of another library offers: shared on a CPU, else copied.

        Memory that is lent for reading only can be read, not written. Raises `ExchangeError`, a
        `BufferError`, for memory that is not the host's and where `copy=False` cannot be had.
        """
        return cls._of(shared_node(lent_by(exporter, copy), _one_device(device), copy))

    @classmethod
    def from_blob(cls, ptr: int, shape: int | Sequence[int], **kwargs: object) -> Self:
        """The memory at an address, shared, as `dtype` on `device`.

        It must outlive the Tensor and all views of it; `owner` names an object that is kept alive
        as long. Raises `ExchangeError` for a null pointer, an address that is no multiple of the
        size of an element, and a shape that is none.
        """
        dtype = to_dtype(kwargs.pop("dtype", dtypes.default_float))  # type: ignore[arg-type]
        device = _one_device(kwargs.pop("device", None))
        owner = kwargs.pop("owner", None)
        if kwargs:
            raise SignatureError(
                call="from_blob",
                reason=f"got {sorted(kwargs)}",
                hint="it takes dtype, device and owner by name",
            )
        sizes = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
        _check_blob(ptr, sizes, dtype)
        size = math.prod(sizes)
        node = UOp.new_buffer(device, size, dtype)
        if size == 0:
            return cls._of(node.reshape(sizes))
        buffer = Buffer(device, size, dtype)
        buffer.allocate(external_ptr=int(ptr))
        buffer.memory.owner = owner
        attach(node, buffer)
        return cls._of(node.reshape(sizes))

    def _write(self, value: UOp, *steps: Step, where: UOp | None = None) -> None:
        self._check_writable()
        super()._write(value, *steps, where=where)

    def _check_writable(self) -> None:
        base = self.uop
        while base.op in GroupOp.Movement or base.op is Ops.AFTER:
            base = below_effects(base) if base.op is Ops.AFTER else base.src[0]
        if base.op is Ops.BUFFER and names_place(self.uop) and buffer_of(base).is_allocated():
            memory = buffer_of(base).memory
            if isinstance(memory, LentMemory) and not memory.writable:
                raise AssignError(
                    target=f"shape {self.shape}",
                    value="a value",
                    reason="the memory was lent by another library for reading only",
                    hint="use clone() first",
                )

    # *** the array API standard ***

    def __array_namespace__(self, api_version: str | None = None) -> ModuleType:
        """The functions of the Python array API standard for Tensors.

        Raises `ExchangeError`, a `ValueError`, for a version of the standard that is not there.
        """
        if api_version not in (None, ARRAY_API, "2023.12", "2022.12", "2021.12"):
            raise ExchangeError(
                protocol="array API",
                reason=f"there is no version {api_version!r}, the latest is {ARRAY_API}",
            )
        # it stands on Tensor, which it can only import once that is there
        return import_module("tg_tensor.interop.array_api")

    def to_device(self, device: DeviceName, /, *, stream: object = None) -> Self:
        """`to`, under the name of the array API standard. Raises `ExchangeError` for a stream."""
        if stream is not None:
            raise ExchangeError(protocol="array API", reason=f"there is no stream {stream!r}")
        return self.to(device)

    # *** operators that only other libraries and the standard ask for ***

    def __abs__(self) -> Self:
        return self.abs()

    def __pos__(self) -> Self:
        return self._same_value()

    def __imatmul__(self, x: object) -> Self:
        return self.assign(self @ x)  # type: ignore[operator, no-any-return]

    def __divmod__(self, x: object) -> tuple[Self, Self]:
        return self // x, self % x  # type: ignore[operator]

    def __rdivmod__(self, x: object) -> tuple[Self, Self]:
        return x // self, x % self  # type: ignore[operator]

    # *** copies ***

    def __copy__(self) -> Self:
        """A Tensor with memory of its own; it has no part in the gradients of this one."""
        made = self.detach().clone()
        made.requires_grad = self.requires_grad
        return made

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        """The same, and a copy of the gradient."""
        made = self.__copy__()
        made.grad = None if self.grad is None else copies.copy(self.grad)
        memo[id(self)] = made
        return made

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        """The values, dtype, place and whether a gradient is wanted; not the gradient.

        Raises `ExportError` for a shape that depends on a variable.
        """
        if not all(isinstance(size, int) for size in self.shape):
            raise ExportError(
                target="a pickle",
                dtype=self.dtype,
                device=self.device,
                reason=f"the shape {self.shape} depends on a variable; pickle a part of known size",
            )
        raw = bytes(self._raw_bytes(share=True))
        place = (self.device, self.uop.axis)
        return _unpickle, (type(self), raw, self.dtype, self.shape, place, self.requires_grad)

    # *** showing ***

    def _repr_html_(self) -> str:
        """For notebooks: what `repr` says; runs nothing."""
        return f"<code>{escape(repr(self))}</code>"


def _one_device(device: object) -> str:
    place = device_or_default(device)  # type: ignore[arg-type]
    if not isinstance(place, str):
        raise ExchangeError(
            protocol="sharing memory",
            reason=f"it has one device, not {place}",
            hint="shard it later",
        )
    return place


def _check_blob(ptr: int, shape: Sequence[int], dtype: DType) -> None:
    if any(not isinstance(size, int | np.integer) or size < 0 for size in shape):
        reason = f"the sizes of an array are integers from 0 on, not {tuple(shape)}"
    elif not isinstance(ptr, int | np.integer):
        reason = f"an address is an integer, not {ptr!r}"
    elif ptr == 0 and 0 not in shape:
        reason = "the address is 0: there is no memory"
    elif ptr < 0 or ptr % dtype.itemsize:
        reason = f"the address {ptr:#x} is no multiple of the {dtype.itemsize} bytes of {dtype}"
    else:
        return
    raise ExchangeError(protocol="from_blob", reason=reason)


def _strided(node: UOp, words: np.dtype[np.generic]) -> Array | None:
    """A view of the host's memory as the movement ops of a realized value say, if there is one."""
    steps = []
    while node.op in GroupOp.Movement:
        steps.append(node)
        node = node.src[0]
    if node.op not in (Ops.BUFFER, Ops.BUFFER_VIEW) or not str(node.device).startswith("CPU"):
        return None
    buffer = memory_of_value(node)
    assert isinstance(buffer, Buffer), "a value on one device has one buffer"
    array: Array = np.frombuffer(buffer.as_memoryview(allow_zero_copy=True), words)
    for step in reversed(steps):
        moved = _moved(array, step)
        if moved is None:
            return None
        array = moved
    memory = buffer.share().base.memory
    if isinstance(memory, LentMemory) and not memory.writable:
        array = array.view()
        array.flags.writeable = False
    return array


def _moved(array: Array, step: UOp) -> Array | None:
    arg = step.movement_arg
    if step.op is Ops.RESHAPE:
        seen = array.reshape(arg)  # type: ignore[arg-type]
        return seen if np.may_share_memory(seen, array) else None
    if step.op is Ops.PERMUTE:
        return array.transpose(step.permute_order)
    if step.op is Ops.SHRINK:
        bounds = cast(tuple[tuple[int, int], ...], arg)
        return array[tuple(slice(start, stop) for start, stop in bounds)]
    if step.op is Ops.FLIP:
        return np.flip(array, arg)  # type: ignore[arg-type]
    # repeated elements have no place of their own, padding has no place at all
    return None


def _unpickle(
    cls: type[ExchangeOps],
    raw: bytes,
    dtype: DType,
    shape: tuple[int, ...],
    place: tuple[DeviceName, int | None],
    requires_grad: bool | None,
) -> ExchangeOps:
    device, axis = place
    first = device if isinstance(device, str) else device[0]
    node = node_of_bytes(memoryview(raw), dtype, shape, first)
    tensor = cls._of(node if isinstance(device, str) else shard_uop(node, device, axis))
    tensor.requires_grad = requires_grad
    return tensor
