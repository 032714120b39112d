"""Exchange of memory with other libraries by the DLPack protocol, without copies on a CPU."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt
from tg_runtime import Buffer, BufferSpec
from tg_runtime.device import Memory
from tg_tensor.engine.buffers import attach
from tg_tensor.interop.numpy import dtype_of_array, node_of_array
from tg_uop import UOp

Array = npt.NDArray[np.generic]
# the number of DLPack for memory of the host (dlpack.h, kDLCPU)
HOST_DEVICE = (1, 0)


class Exporter(Protocol):
    """An object that offers its memory."""

    def __dlpack__(self, *, stream: int | None = None) -> object:
        """A capsule."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """Kind and number of the device."""


def array_of_exporter(exporter: Exporter) -> Array:
    """An array that shares the memory of the host that an object offers.

    Raises `BufferError` for memory of another device.
    """
    return np.from_dlpack(exporter)  # type: ignore[arg-type]


def shared_node(array: Array, device: str) -> UOp:
    """A buffer on the memory of an array, kept alive; a copy where it cannot be shared."""
    if not device.startswith("CPU") or not array.flags.c_contiguous or not array.dtype.isnative:
        return node_of_array(array, device)
    dtype = dtype_of_array(array)
    node = UOp.new_buffer(device, array.size, dtype)
    memory = Memory(array.ctypes.data, array.nbytes, owner=array)
    options = BufferSpec(external_ptr=array.ctypes.data)
    attach(node, Buffer(device, array.size, dtype, opaque=memory, options=options))
    return node.reshape(array.shape)
