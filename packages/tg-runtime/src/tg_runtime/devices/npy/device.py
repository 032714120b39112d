"""NPY: the memory of other libraries as buffers, without copies."""

from __future__ import annotations

import ctypes

from tg_uop import DType, ProgramInfo
from tg_uop.target import Target

from tg_runtime.device import BufferSpec, Compiled, Memory, ToolChain
from tg_runtime.errors import BufferUseError, DeviceUnavailableError
from tg_runtime.memory.buffer import Buffer
from tg_runtime.memory.host import HostAllocator


class NpyDevice(Compiled):
    """A place for values that came from outside; kernels do not run here."""

    def __init__(self, device: str) -> None:
        super().__init__(device, HostAllocator(device))

    def make_tool_chain(self, target: Target) -> ToolChain:
        """There is none. Raises `DeviceUnavailableError`."""
        raise DeviceUnavailableError(
            device=self.device, reason="it holds values and runs no kernels; copy them elsewhere"
        )

    def runtime(self, info: ProgramInfo, binary: bytes) -> None:  # type: ignore[override]
        """There are no programs. Raises `DeviceUnavailableError`."""
        raise DeviceUnavailableError(
            device=self.device, reason="it holds values and runs no kernels; copy them elsewhere"
        )


class _ReadOnlyBuffer(ctypes.Structure):
    """The start of CPython's Py_buffer: what is needed of a read-only exporter."""

    _fields_ = (
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.py_object),
        ("len", ctypes.c_ssize_t),
        ("rest", ctypes.c_char * 128),
    )


def address_of(view: memoryview) -> int:
    """Where the bytes of a contiguous view lie, also of a read-only one."""
    found = _ReadOnlyBuffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(view), ctypes.byref(found), 0)
    address = int(found.buf or 0)
    ctypes.pythonapi.PyBuffer_Release(ctypes.byref(found))
    return address


def foreign_buffer(device: str, exporter: object, dtype: DType) -> Buffer:
    """A buffer over the memory of an object with the buffer protocol, which it keeps alive.

    `device` is one that works in host memory: NPY, CPU, PYTHON. Raises `BufferUseError` when the
    memory is not contiguous or no whole number of elements.
    """
    view = memoryview(exporter)  # type: ignore[arg-type]
    if not view.c_contiguous or view.nbytes % dtype.itemsize:
        raise BufferUseError(
            attempted="use",
            buffer=f"{view.nbytes} bytes of {type(exporter).__name__}",
            reason=f"it is not a contiguous array of {dtype}",
            hint="copy it first",
        )
    memory = Memory(address_of(view), view.nbytes, view)
    spec = BufferSpec(external_ptr=memory.address)
    return Buffer(device, view.nbytes // dtype.itemsize, dtype, opaque=memory, options=spec)
