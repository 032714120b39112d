"""What a captured step assumes of its arguments, and whether a call keeps to it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self, TypeGuard, cast

from tg_uop import Ops, UOp
from tg_uop.ir.args import BufferArg

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
    """Whether a value is a Variable with a value."""
    return isinstance(value, UOp) and value.op is Ops.BIND


@dataclass(slots=True)
class Found:
    """The leaves of nested containers: tensors, bound variables, and all else as constants."""

    tensors: list[tuple[Path, TensorLike]] = field(default_factory=list)
    variables: list[tuple[Path, UOp]] = field(default_factory=list)
    constants: list[tuple[Path, object]] = field(default_factory=list)


def leaves(args: Sequence[object], kwargs: Mapping[str, object]) -> Found:
    """All leaves of a call's arguments, with names for messages."""
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


def _collect(path: Path, value: object, found: Found) -> None:
    stack = [(path, value)]
    while stack:
        name, entry = stack.pop()
        if is_tensor(entry):
            found.tensors.append((name, entry))
        elif is_bound(entry):
            found.variables.append((name, entry))
        elif isinstance(entry, dict):
            found.constants.append((name, tuple(entry)))
            stack.extend((f"{name}[{key!r}]", entry[key]) for key in reversed(entry))
        elif isinstance(entry, list | tuple):
            found.constants.append((name, (type(entry).__name__, len(entry))))
            stack.extend((f"{name}[{i}]", entry[i]) for i in range(len(entry) - 1, -1, -1))
        else:
            found.constants.append((name, entry))


def rebuild(value: object, replaced: Callable[[TensorLike], TensorLike]) -> object:
    """The same containers with each tensor replaced."""
    if is_tensor(value):
        return replaced(value)
    if isinstance(value, dict):
        return type(value)((key, rebuild(entry, replaced)) for key, entry in value.items())
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
    return value


@dataclass(frozen=True, slots=True)
class Layout:
    """How a tensor lies in its buffers: the view with numbered stand-ins."""

    view: UOp
    buffers: tuple[UOp, ...]
    variables: tuple[UOp, ...] = ()


def layout_of(node: UOp) -> Layout:
    """Take the buffers (and values of variables) out of a realized value."""
    buffers: dict[UOp, UOp] = {}
    variables: dict[UOp, UOp] = {}
    for below in node.toposort():
        if below.op is Ops.BUFFER:
            arg = cast(BufferArg, below.arg)
            slot = -1 - len(buffers)
            buffers[below] = UOp(Ops.BUFFER, below.dtype, below.src, BufferArg(slot, arg.size))
        elif below.op is Ops.BIND:
            variables[below] = below.src[0]
    view = node.substitute({**buffers, **variables})
    return Layout(view, tuple(buffers), tuple(variables))


Signature = tuple[Hashable, ...]


def signature_of(layouts: Sequence[Layout], found: Found) -> Signature:
    """What must stay the same for a captured step to be used again."""
    order: dict[UOp, int] = {}
    aliases = tuple(
        order.setdefault(buffer, len(order)) for layout in layouts for buffer in layout.buffers
    )
    views = tuple(layout.view for layout in layouts)
    variables = tuple(bound.src[0] for _, bound in found.variables)
    return (views, aliases, variables, tuple(_frozen(value) for _, value in found.constants))


def _frozen(value: object) -> Hashable:
    """A constant such that equal means same: 1, 1.0 and True are three."""
    try:
        hash(value)
    except TypeError:
        return (type(value), id(value))
    return (type(value), value) if isinstance(value, int | float) else value


def differences(
    found: Found, layouts: Sequence[Layout], known: Signature, fresh: Signature
) -> list[str]:
    """What differs between two signatures, in words."""
    lines: list[str] = []
    old_views, old_aliases, old_variables, old_constants = cast(
        tuple[tuple[UOp, ...], tuple[int, ...], tuple[UOp, ...], tuple[Hashable, ...]], known
    )
    if len(old_views) != len(layouts):
        lines.append(f"{len(layouts)} tensors were given, {len(old_views)} are captured")
    for (name, _), layout, old in zip(found.tensors, layouts, old_views, strict=False):
        if layout.view is not old:
            lines.append(f"{name} was {describe(old)}, now it is {describe(layout.view)}")
    if not lines and fresh[1] != old_aliases:
        lines.append("tensors that shared memory no longer do, or the other way round")
    if fresh[2] != old_variables:
        lines.append("other variables are bound")
    new_constants = cast(tuple[Hashable, ...], fresh[3])
    if len(new_constants) != len(old_constants):
        lines.append("there are more or fewer constants or container entries")
    for (name, value), new, old_value in zip(
        found.constants, new_constants, old_constants, strict=False
    ):
        if new != old_value:
            shown = old_value[1] if isinstance(old_value, tuple) else old_value
            lines.append(f"{name} was {shown!r}, now it is {value!r}")
    return lines


def describe(view: UOp) -> str:
    """A view in words: shape, dtype, device."""
    return f"shape {view._shape} of {view.dtype} on {view._device} (a {view.op.name.lower()})"


def is_plain(node: UOp) -> bool:
    """Whether a value is a view of buffers and nothing else."""
    if node.op is Ops.RESHAPE and node.src[0].op is Ops.BUFFER:
        return True
    leaves_only = (Ops.BUFFER, Ops.BUFFER_VIEW, Ops.MULTI)
    while node.src and node.op not in leaves_only:
        if node.op not in VIEW_OPS:
            return False
        node = node.src[0]
    if node.op is Ops.MULTI:
        return all(is_plain(shard) for shard in node.src)
    return node.op in leaves_only


VIEW_OPS = frozenset((Ops.RESHAPE, Ops.PERMUTE, Ops.SHRINK, Ops.FLIP, Ops.EXPAND))
