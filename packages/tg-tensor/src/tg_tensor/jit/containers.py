"""Containers of Tensors: which leaves they have, and the same containers with other leaves.

Lists, tuples (named ones too), dicts and dataclasses are containers. A set has no order and is
refused when there are Tensors in it; any other object is a constant.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self, TypeGuard, cast, final

import numpy as np
from tg_uop import Ops, UOp

from tg_tensor.jit.errors import ContainerError

Path = str


class TensorLike(Protocol):
    """What the JIT needs of a Tensor."""

    uop: UOp

    @classmethod
    def from_uop(cls, y: UOp, **kwargs: object) -> Self:
        """The Tensor of a node."""

    def realize(self, *lst: Self) -> Self:
        """Compute this and others."""

    def contiguous(self) -> Self:
        """The value in memory of its own."""


def is_tensor(value: object) -> TypeGuard[TensorLike]:
    """Whether a value carries a node and can be made of one."""
    return hasattr(type(value), "from_uop") and isinstance(getattr(value, "uop", None), UOp)


def is_bound(value: object) -> TypeGuard[UOp]:
    """Whether a value is a Variable with a value, or arithmetic on some."""
    return isinstance(value, UOp) and bool(bindings_in(value))


def bindings_in(node: UOp) -> list[UOp]:
    """The variables with values under a node."""
    if node.op is Ops.BIND:
        return [node]
    if node.dtype.is_int and node.op is not Ops.CONST:
        return [below for below in node.toposort() if below.op is Ops.BIND]
    return []


@dataclass(slots=True)
class Found:
    """The leaves of nested containers: tensors, bound variables, and all else as constants."""

    tensors: list[tuple[Path, TensorLike]] = field(default_factory=list)
    variables: list[tuple[Path, UOp]] = field(default_factory=list)
    constants: list[tuple[Path, object]] = field(default_factory=list)

    @property
    def names(self) -> tuple[tuple[Path, ...], ...]:
        """Where each leaf is: the same leaves in other places are another call."""
        kinds = (self.tensors, self.variables, self.constants)
        return tuple(tuple(name for name, _ in kind) for kind in kinds)


def leaves(args: Sequence[object], kwargs: Mapping[str, object]) -> Found:
    """All leaves of a call's arguments, with names for messages.

    Raises `ContainerError` for Tensors in a set.
    """
    found = Found()
    for number, value in enumerate(args):
        _collect(f"argument {number}", value, found)
    for name in sorted(kwargs):
        _collect(f"argument {name}", kwargs[name], found)
    return found


def leaves_of(value: object) -> Found:
    """All leaves of one value."""
    found = Found()
    _collect("result", value, found)
    return found


def constants_of(name: Path, value: object) -> list[tuple[Path, object]]:
    """The leaves of a value that are neither Tensors nor variables."""
    found = Found()
    _collect(name, value, found)
    return found.constants


def _collect(path: Path, value: object, found: Found) -> None:
    stack = [(path, value)]
    while stack:
        name, entry = stack.pop()
        if is_tensor(entry):
            found.tensors.append((name, entry))
        elif is_bound(entry):
            found.variables.append((name, entry))
        elif isinstance(entry, dict):
            found.constants.append((name, (type(entry).__name__, *entry)))
            stack.extend((f"{name}[{key!r}]", entry[key]) for key in reversed(entry))
        elif isinstance(entry, list | tuple):
            found.constants.append((name, (type(entry).__name__, len(entry))))
            stack.extend((f"{name}[{i}]", entry[i]) for i in range(len(entry) - 1, -1, -1))
        elif is_record(entry):
            names = record_fields(entry)
            found.constants.append((name, (type(entry), *names)))
            stack.extend((f"{name}.{key}", getattr(entry, key)) for key in reversed(names))
        else:
            _refuse_set(name, entry)
            found.constants.append((name, entry))


def _refuse_set(name: Path, entry: object) -> None:
    if isinstance(entry, set | frozenset) and any(is_tensor(member) for member in entry):
        raise ContainerError(
            place=name,
            kind=type(entry).__name__,
            reason="a set has no order, so its Tensors cannot be told apart",
            hint="pass them as a list, a tuple or a dict",
        )


def is_record(value: object) -> bool:
    """Whether a value is an instance of a dataclass."""
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def record_fields(value: object) -> list[str]:
    """The names of the fields that an instance of a dataclass has."""
    fields = dataclasses.fields(value)  # type: ignore[arg-type]
    return [entry.name for entry in fields if hasattr(value, entry.name)]


def rebuild(value: object, replaced: Callable[[TensorLike], TensorLike]) -> object:
    """The same containers, made anew, with each tensor replaced."""
    if is_tensor(value):
        return replaced(value)
    if isinstance(value, dict):
        return _same_kind(value, {key: rebuild(entry, replaced) for key, entry in value.items()})
    if isinstance(value, tuple):
        parts = [rebuild(entry, replaced) for entry in value]
        # a named tuple takes its fields one by one
        return (
            cast("Callable[..., object]", type(value))(*parts)
            if hasattr(value, "_fields")
            else tuple(parts)
        )
    if isinstance(value, list):
        return [rebuild(entry, replaced) for entry in value]
    if is_record(value):
        return _rebuilt_record(value, replaced)
    return value


def _same_kind(value: Mapping[object, object], entries: dict[object, object]) -> object:
    """A dict of the same class; of one that takes other arguments, a copy with these entries."""
    if type(value) is dict:
        return entries
    twin = copy.copy(value)
    cast("dict[object, object]", twin).update(entries)
    return twin


def _rebuilt_record(value: object, replaced: Callable[[TensorLike], TensorLike]) -> object:
    twin = copy.copy(value)
    for name in record_fields(value):
        # frozen ones too
        object.__setattr__(twin, name, rebuild(getattr(value, name), replaced))
    return twin


@final
class Identity:
    """Stands in a key for an object that has no hash: only the same object is equal.

    It holds the object, so that no other one gets its place in memory.
    """

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)

    def __repr__(self) -> str:
        return repr(self.value)


def frozen(value: object) -> Hashable:
    """A constant such that equal means same: 1, 1.0 and True are three, -0.0 is not 0.0."""
    kind = type(value)
    if isinstance(value, float):
        return kind, value.hex()
    if isinstance(value, np.ndarray):
        return kind, value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, bytearray):
        return kind, bytes(value)
    try:
        hash(value)
    except TypeError:
        return kind, Identity(value)
    return kind, value
