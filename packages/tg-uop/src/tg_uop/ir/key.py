"""A content hash of a graph that is the same in every process."""

from __future__ import annotations

import hashlib
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Protocol, runtime_checkable

from tg_uop.dtype.dtype import DType, InvalidType
from tg_uop.ir.ops import Ops

KEY_BYTES = 16


@runtime_checkable
class Keyed(Protocol):
    """A node: it has a key of its own."""

    @property
    def key(self) -> bytes:
        """The content hash."""


def node_key(op: Ops, dtype: DType, arg: object, tag: object, operands: list[bytes]) -> bytes:
    """The hash of a node from its own fields and the hashes of its operands."""
    digest = hashlib.blake2b(digest_size=KEY_BYTES)
    digest.update(f"{op.name}|{dtype!r}|{len(operands)}|".encode())
    digest.update(encode(arg))
    if tag is not None:
        digest.update(b"|tag:")
        digest.update(encode(tag))
    for key in operands:
        digest.update(key)
    return digest.digest()


def encode(value: object) -> bytes:
    """Bytes that are equal just for equal args: self-delimiting, by type and content."""
    if isinstance(value, bytes):
        return b"b%d:" % len(value) + value
    if isinstance(value, tuple | list):
        return b"(" + b",".join(encode(part) for part in value) + b")"
    if isinstance(value, frozenset | set):
        # the order of a set differs between processes
        return b"{" + b",".join(sorted(encode(part) for part in value)) + b"}"
    if isinstance(value, Enum):
        return f"e:{type(value).__name__}.{value.name}".encode()
    if isinstance(value, DType | InvalidType):
        return repr(value).encode()
    if value is None or isinstance(value, bool | int | float | str):
        text = repr(value)
        return f"{type(value).__name__}{len(text)}:{text}".encode()
    if isinstance(value, Keyed):
        return b"u:" + value.key
    if is_dataclass(value):
        parts = (encode(getattr(value, f.name)) for f in fields(value))
        return type(value).__name__.encode() + b"{" + b",".join(parts) + b"}"
    if callable(value):
        module = getattr(value, "__module__", "")
        name = getattr(value, "__qualname__", repr(value))
        return f"f:{module}.{name}".encode()
    text = repr(value)
    return f"{type(value).__name__}{len(text)}:{text}".encode()
