"""What a Tensor is made with when the caller does not say: device, dtype, training mode."""

from __future__ import annotations

import numpy as np
from tg_runtime.device import Device
from tg_uop import DType, dtypes
from tg_uop.errors import DTypeError, TargetError

DeviceName = str | tuple[str, ...]
DTypeLike = DType | str | type


def device_or_default(device: str | tuple[str, ...] | list[str] | None) -> DeviceName:
    """The canonical name of a device, of several, or of the default one.

    Raises the device table's error for a name that does not exist.
    """
    if device is None:
        return Device.DEFAULT
    if not isinstance(device, tuple | list):
        return Device.canonicalize(device)
    if not device:
        raise TargetError(text=repr(device), reason="there is no device in it")
    names = tuple(Device.canonicalize(name) for name in device)
    return names[0] if len(names) == 1 else names


def to_dtype(dtype: DTypeLike) -> DType:
    """The dtype: itself, by name, as a NumPy dtype, or as bool, int or float for the defaults.

    Raises `UnknownDTypeError`, listing the names, and `DTypeError` for what names no dtype.
    """
    if isinstance(dtype, DType):
        if dtype is dtypes.void:
            raise DTypeError(
                what="dtype", dtypes=(dtype,), reason="it is that of nodes without a value"
            )
        return dtype
    if isinstance(dtype, str):
        return dtypes.from_name(dtype)
    if dtype is bool:
        return dtypes.bool
    if dtype is int:
        return dtypes.default_int
    if dtype is float:
        return dtypes.default_float
    try:
        name = np.dtype(dtype).name  # type: ignore[call-overload]
    except TypeError:
        raise DTypeError(
            what="dtype",
            dtypes=(repr(dtype),),
            reason="it names no number type",
            hint="use dtypes.float32 and the like, a name, or a NumPy dtype",
        ) from None
    return dtypes.from_name(name)
