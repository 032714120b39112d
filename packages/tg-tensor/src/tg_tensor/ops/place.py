"""Where a value lies in memory: which nodes name a place, and writing into it."""

from __future__ import annotations

from typing import Self

from tg_uop import GroupOp, Ops, UOp

from tg_tensor.errors import AssignError
from tg_tensor.ops.random import RandomOps

_PLACES = frozenset((Ops.BUFFER, Ops.BUFFER_VIEW, Ops.PARAM, Ops.MULTI))
# an element of memory may appear once only in what is written to
_WRITABLE_VIEWS = frozenset((Ops.RESHAPE, Ops.PERMUTE, Ops.SHRINK, Ops.FLIP))


def names_place(node: UOp) -> bool:
    """Whether the node is memory, a view of it, or that after effects: it can be written."""
    while node.op in _WRITABLE_VIEWS or node.op is Ops.AFTER:
        node = node.src[0]
    if node.op is Ops.MULTI:
        return all(names_place(shard) for shard in node.src)
    return node.op in _PLACES


def is_realized(node: UOp) -> bool:
    """Whether the value exists: a view of memory without pending effects."""
    while node.op in GroupOp.Movement:
        node = node.src[0]
    if node.op is Ops.MULTI:
        return all(is_realized(shard) for shard in node.src)
    return node.op in (Ops.BUFFER, Ops.BUFFER_VIEW)


class PlaceOps(RandomOps):
    """In-place writes."""

    __slots__ = ()

    def assign(self, x: object) -> Self:
        """Write `x` into the memory of this Tensor, when it is next realized.

        A lazy value has no memory yet and just becomes `x`. A number takes this dtype. Raises
        `AssignError` when shape, dtype or device differ.
        """
        value = self._assigned_value(x)
        if value.uop is self.uop:
            return self
        if names_place(self.uop):
            self.uop = self.uop.after(self.uop.store(value.uop))
        else:
            self.uop = value.uop
        return self

    def _assigned_value(self, x: object) -> Self:
        if isinstance(x, int | float):
            return self._of(self.ufix(x).cast(self.dtype).uop)._expand_to(self.shape)
        value = x if isinstance(x, type(self)) else self._lift(x, self.device)
        reason = ""
        if value.dtype is not self.dtype:
            reason, hint = "the dtypes differ", "cast the value first"
        elif value.shape != self.shape and value.numel() != 1:
            reason, hint = "the shapes differ", "reshape or expand the value first"
        elif value.uop._device not in (None, self.uop._device):
            reason, hint = "the devices differ", "move the value with .to() first"
        if reason:
            raise AssignError(
                target=_described(self), value=_described(value), reason=reason, hint=hint
            )
        return (
            value.reshape((1,) * self.ndim)._expand_to(self.shape)
            if (value.shape != self.shape)
            else value
        )


def _described(tensor: RandomOps) -> str:
    return f"{tensor.shape} {tensor.dtype} on {tensor.device}"
