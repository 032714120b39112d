"""What the namespace can do, as the array API standard asks for it."""

from __future__ import annotations

from typing import TypedDict

from tg_runtime.device import Device
from tg_tensor.interop.array_api.types import Kind, isdtype
from tg_uop import DType, dtypes

# the names of the standard; `isdtype` says which kind each one is
_DTYPES = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float32",
    "float64",
)

Capabilities = TypedDict(
    "Capabilities",
    {"boolean indexing": bool, "data-dependent shapes": bool, "max dimensions": int | None},
)
"""Whether shapes may depend on values (such operations need the values at once), and the most
axes that a Tensor can have: None for no limit."""

Defaults = TypedDict(
    "Defaults",
    {
        "real floating": DType,
        "complex floating": DType | None,
        "integral": DType,
        "indexing": DType,
    },
)
"""The dtypes of what is made without one. There is no complex one."""


class NamespaceInfo:
    """The answers to `__array_namespace_info__()`."""

    __slots__ = ()

    def capabilities(self) -> Capabilities:
        """What may depend on values, and the most axes."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}

    def default_device(self) -> str:
        """The device of what is made without one."""
        return Device.DEFAULT

    def default_dtypes(self, *, device: str | None = None) -> Defaults:
        """The dtypes of what is made without one; `dtypes.default_float` and `default_int`."""
        return {
            "real floating": dtypes.default_float,
            "complex floating": None,
            "integral": dtypes.default_int,
            "indexing": dtypes.int32,
        }

    def dtypes(self, *, device: str | None = None, kind: Kind | None = None) -> dict[str, DType]:
        """The dtypes by their names, all or those of a kind."""
        found = {name: dtypes.from_name(name) for name in _DTYPES}
        if kind is None:
            return found
        return {name: dtype for name, dtype in found.items() if isdtype(dtype, kind)}

    def devices(self) -> list[str]:
        """The devices that open here."""
        return list(Device.get_available_devices())
