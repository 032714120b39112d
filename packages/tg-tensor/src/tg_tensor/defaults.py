"""What a Tensor is made with when the caller does not say: device, dtype, training mode."""

from __future__ import annotations

from tg_runtime.device import Device
from tg_uop import DType, dtypes

DeviceName = str | tuple[str, ...]
DTypeLike = DType | str


def device_or_default(device: str | tuple[str, ...] | list[str] | None) -> DeviceName:
    """The canonical name of a device, of several, or of the default one.

    Raises the device table's error for a name that does not exist.
    """
    if device is None:
        return Device.DEFAULT
    if isinstance(device, str):
        return Device.canonicalize(device)
    names = tuple(Device.canonicalize(name) for name in device)
    return names[0] if len(names) == 1 else names


def to_dtype(dtype: DTypeLike) -> DType:
    """The dtype, also by name.

    Raises `UnknownDTypeError`, listing the names.
    """
    return dtypes.from_name(dtype) if isinstance(dtype, str) else dtype
