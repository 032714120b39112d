"""Functions of the C library by address and as typed callables."""

from __future__ import annotations

import ctypes
import sys

from tg_runtime.errors import ToolMissingError

LINUX = sys.platform == "linux"
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform != "win32" else ctypes.CDLL("msvcrt")
_addresses: dict[str, int] = {}


def libc() -> ctypes.CDLL:
    """The C library of this process."""
    return _libc


def has_symbol(name: str) -> bool:
    """Whether the C library exports `name`."""
    try:
        symbol_address(name)
    except ToolMissingError:
        return False
    return True


def symbol_address(name: str) -> int:
    """The address of a function of the C library.

    Raises `ToolMissingError` when it exports none of that name.
    """
    address = _addresses.get(name)
    if address is None:
        try:
            function = getattr(_libc, name)
        except AttributeError:
            raise ToolMissingError(tool=f"function {name}", looked_for=["the C library"]) from None
        address = ctypes.cast(function, ctypes.c_void_p).value or 0
        _addresses[name] = address
    return address
