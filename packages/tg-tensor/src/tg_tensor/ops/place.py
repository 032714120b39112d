"""Assignment: a value written into the memory of a Tensor."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Self

from tg_uop import UOp
from tg_uop.plain import plain

from tg_tensor.errors import AssignError
from tg_tensor.ops.company import is_number, moved
from tg_tensor.ops.core import Line, refuse_leaves
from tg_tensor.ops.numbers import check_room
from tg_tensor.ops.random import RandomOps
from tg_tensor.ops.views import is_in_file, names_place, repeats_memory, viewed
from tg_tensor.schedule.indexing import Indexer
from tg_tensor.schedule.roots import place_in_memory


class PlaceOps(RandomOps):
    """In-place writes."""

    __slots__ = ()

    def assign(self, x: object) -> Self:
        """Write `x`, broadcast to this shape, into the memory of this Tensor, when it is needed.

        Of a view, what it was taken from is written; other Tensors keep their values. A lazy value
        has no memory yet and just becomes `x`. Numbers, lists and arrays take this dtype; a
        file (DISK) takes values of every device, at once. Raises `AssignError` when shape, dtype
        or device do not fit, or when this repeats elements of memory.
        """
        value = self._assigned_value(x)
        is_view = not (self._origins() or getattr(self, "_borrows", False))
        if is_view and repeats_memory(self.uop):
            raise AssignError(
                target=_described(self),
                value=_described(value),
                reason="it is an expanded view, in which elements of memory appear more than once",
                hint="write to what was expanded, or call contiguous() first",
            )
        self._write(value.uop)
        return self

    def _place_in_view(self) -> UOp | None:
        """Where this lies in the memory that it is a view of, if that is in one piece."""
        above = self._origins()
        outermost = above[-1][0] if above else None
        if outermost is None or getattr(outermost, "_borrows", False):
            return None
        place = viewed(outermost.uop, [step for _, step in reversed(above)])
        is_place = names_place(place) and isinstance(place._device, str)
        return place if is_place and place_in_memory(Indexer(), place) is not None else None

    def _become_written(self, place: UOp, result: UOp) -> None:
        """Have the value that a kernel left in `place`, and what this is a view of too."""
        above = self._origins()
        self._check_writable()
        if place is self.uop and not above:
            self._writer = threading.get_ident()
            self.uop = result
        elif place is not self._place_in_view():
            self._write(result)
        else:
            self._show_in_origins(above, result.effects)

    def _show_in_origins(self, above: Line, effects: Sequence[UOp]) -> None:
        """Effects have happened to what this is a view of."""
        refuse_leaves([], above)
        seen: UOp | None = None
        steps = [step for _, step in above]
        for position, tensor in enumerate((*(t for t, _ in reversed(above)), self)):
            if seen is None:
                assert tensor is not None, "what a view was taken from at first is there"
                seen = tensor.uop.after(*effects)
            else:
                seen = viewed(seen, [steps[-position]])
            if tensor is not None:
                tensor._writer = threading.get_ident()
                tensor.uop = seen

    def _assigned_value(self, x: object) -> Self:
        x = plain(x)
        if isinstance(x, int | float):
            check_room(x, self.dtype)
            return self.const_like(x)
        if isinstance(x, type(self)):
            value = x
        else:
            device = None if is_in_file(self.uop) else self.device
            value = self._lift(x, device).cast(self.dtype)
        reason = ""
        if value.dtype is not self.dtype:
            reason, hint = "the dtypes differ", "cast the value first"
        elif not _fits(value.shape, self.shape):
            reason, hint = "the shapes differ", "reshape or expand the value first"
        elif value.uop._device not in (None, self.uop._device) and not is_in_file(self.uop):
            place = self.uop._device
            if place is not None and is_number(value.uop):
                return self._assigned_value(self._of(moved(value.uop, place)))
            reason, hint = "the devices differ", "move the value with .to() first"
        if reason:
            raise AssignError(
                target=_described(self), value=_described(value), reason=reason, hint=hint
            )
        if value.shape == self.shape:
            return value
        added = value.ndim - self.ndim
        fitted = value.reshape(value.shape[added:]) if added > 0 else value
        return fitted._expand_to(self.shape)


def _fits(value: tuple[object, ...], target: tuple[object, ...]) -> bool:
    """Whether a shape can be broadcast to another; axes of size 1 in front are too many or few."""
    if value == target:
        return True
    added = max(len(value) - len(target), 0)
    pairs = zip(reversed(value), reversed(target), strict=False)
    return all(size == 1 for size in value[:added]) and all(s in (1, t) for s, t in pairs)


def _described(tensor: RandomOps) -> str:
    return f"{tensor.shape} {tensor.dtype} on {tensor.device}"
