"""The core of Tensor: a node, its gradient, and the views through which it is written."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Sequence
from typing import Self, TypeAlias

import numpy as np
from tg_uop import DType, Ops, UOp, dtypes
from tg_uop.arguments import shown
from tg_uop.dtype.value import const_value
from tg_uop.errors import ArgumentTypeError, DTypeError, OperandError, SignatureError
from tg_uop.ir.ops import GroupOp
from tg_uop.methods.reduce import ReduceMixin
from tg_uop.origin import user_line

from tg_tensor.defaults import DeviceName, DTypeLike, device_or_default, to_dtype
from tg_tensor.errors import GradientError, PartialWriteError
from tg_tensor.ops.bindings import bindings_of_steps, clash
from tg_tensor.ops.views import (
    WRITABLE_VIEWS,
    Step,
    in_memory,
    is_in_file,
    names_place,
    viewed,
    written,
)

Line: TypeAlias = "list[tuple[TensorCore | None, Step]]"
"""What a view was taken from, nearest first, each with the step from there; None where gone."""

_COMPARISONS = GroupOp.Comparison

_identities = itertools.count()


def fresh_identity() -> int:
    """A tag that no other constant has.

    Constants that a user makes carry one: two Tensors of ones are different values to a gradient.
    """
    return next(_identities)


# every Tensor that is alive; a weak reference hashes like its Tensor, by identity
_LIVE: dict[weakref.ref[TensorCore], None] = {}


def _forget(reference: weakref.ref[TensorCore]) -> None:
    _LIVE.pop(reference, None)


def live_tensors() -> list[TensorCore]:
    """Every Tensor that is alive, in order of creation."""
    while True:
        try:
            references = list(_LIVE)
        except RuntimeError:
            # a Tensor died while the table was read
            continue
        return [found for r in references if (found := r()) is not None]


_AGAIN: Step = (Ops.NOOP, ())

Origin = tuple["weakref.ref[TensorCore]", Ops, tuple[object, ...], "Origin | None"]
"""What a view was taken from, the step that took it, and what that was taken from."""


class TensorCore(ReduceMixin):
    """A lazy value: `uop` says how it comes about, `grad` is what `backward` has left.

    Every Tensor is a value: writing another does not change it. The one exception are the Tensors
    that a view was taken from (`_origin`), for which a write through the view is meant.
    """

    __slots__ = (
        "__weakref__",
        "_borrows",
        "_grad",
        "_origin",
        "_requires_grad",
        "_writer",
        "uop",
    )

    uop: UOp
    _origin: Origin | None
    _grad: Self | None
    _requires_grad: bool | None
    _writer: int
    """The thread that wrote last; not there before the first write."""
    _borrows: bool
    """Whether the memory is that of the Tensor whose value this has; only there where it may be."""

    # an array on the left of an operator leaves it to this class
    __array_ufunc__ = None

    # *** construction ***

    @classmethod
    def _of(cls, uop: UOp) -> Self:
        """The Tensor of a node."""
        # every operation ends here, so that it is written out
        tensor = object.__new__(cls)
        tensor.uop = uop
        tensor._grad = None
        tensor._requires_grad = None
        tensor._origin = None
        _LIVE[weakref.ref(tensor, _forget)] = None
        if uop.source_line is None:
            uop.source_line = user_line()
        return tensor

    def _adopt(self, uop: UOp, requires_grad: bool | None) -> None:
        self.uop = uop
        self._grad = None
        self._requires_grad = requires_grad
        if requires_grad:
            self.requires_grad = requires_grad
        self._origin = None
        _LIVE[weakref.ref(self, _forget)] = None
        if uop.source_line is None:
            uop.source_line = user_line(3)

    @classmethod
    def _lift(cls, value: object, device: DeviceName | None = None) -> Self:
        """A Tensor of data; see `Tensor`."""
        raise NotImplementedError

    @classmethod
    def from_uop(cls, y: UOp, **kwargs: object) -> Self:
        """The Tensor of a node in tensor form (a bound Variable too)."""
        device = kwargs.pop("device", None)
        if kwargs:
            raise SignatureError(
                call="from_uop", reason=f"got {sorted(kwargs)}", hint="it takes a node and a device"
            )
        if not isinstance(y, UOp):
            # before there is a Tensor of it, which others that are computed would meet
            raise ArgumentTypeError(
                call="from_uop", argument="y", given=shown(y), expected="a node (UOp)"
            )
        tensor = cls._of(y)
        if device is None:
            return tensor
        return tensor._of(y.copy_to_device(device_or_default(device)))  # type: ignore[arg-type]

    def _take(self, other: Self) -> Self:
        """Become what `other` is, and no view of anything."""
        self.uop = other.uop
        self._origin = None
        return self

    def _seen_as(self, node: UOp, op: Ops, arg: tuple[object, ...] = ()) -> Self:
        """A view of this Tensor, through which it can be written."""
        view = self._of(node)
        view._origin = (weakref.ref(self), op, arg, self._origin)
        return view

    def _same_value(self) -> Self:
        """Another Tensor of this value, which a write to this one does not change."""
        same = self._of(self.uop)
        same.requires_grad = self.requires_grad
        same._borrows = True
        return same

    def _itself(self) -> Self:
        return self._same_value()

    # *** writing ***

    def _origins(self) -> Line:
        """What this is a view of, nearest first, each with the step from there; None where gone."""
        found: Line = []
        origin = self._origin
        while origin is not None:
            reference, op, arg, origin = origin
            found.append((reference(), (op, arg)))
        while found and found[-1][0] is None:
            found.pop()
        return found

    def _write(self, value: UOp, *steps: Step, where: UOp | None = None) -> None:
        """Write `value`, or some of its elements, to the view of this Tensor that steps lead to.

        The same place of what this is a view of is written too. Raises `GradientError` where only
        a part of a Tensor that requires a gradient would change.
        """
        if is_in_file(self.uop):
            self._write_file(viewed(self.uop, steps), value, where)
            return
        above = self._origins()
        refuse_leaves([self] if steps else [], above)
        if clash(bindings_of_steps(steps), self.uop):
            # what was written with another value of a variable must have happened
            self.realize()
        # the outermost first: what is seen through it is a view of what it becomes
        line: Line = [(self, _AGAIN), *above]
        _give_memory([tensor for tensor, _ in line if tensor is not None])
        down = [*(step for _, step in reversed(above)), *steps]
        seen: UOp | None = None
        becomes = value
        for tensor, _ in reversed(line):
            if tensor is not None:
                tensor._writer = threading.get_ident()
                if seen is tensor.uop:
                    tensor.uop = becomes
                else:
                    seen = tensor.uop
                    place = viewed(seen, down)
                    stored = value if where is None else where.where(value, place)
                    becomes = seen if stored is place else written(seen, down, stored)
                    tensor.uop = becomes
            if seen is not None and len(down) > len(steps):
                seen, becomes = viewed(seen, down[:1]), viewed(becomes, down[:1])
            down = down[1:]
        if not steps and where is None and not names_place(self.uop):
            self.uop = value

    def _check_writable(self) -> None:
        """Raise `AssignError` where the memory is only to be read."""
        raise NotImplementedError

    def _write_file(self, place: UOp, value: UOp, where: UOp | None) -> None:
        """Write `value`, or some of its elements, to the part of a file that `place` sees."""
        raise NotImplementedError

    # *** values on the host ***

    def realize(self, *lst: Self, do_update_stats: bool = True) -> Self:
        """Compute this Tensor and others now."""
        raise NotImplementedError

    def numpy(self) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
        """The values as an array."""
        raise NotImplementedError

    # *** facts ***

    @property
    def grad(self) -> Self | None:
        """What `backward` has left here, or what was put here.

        Setting it raises `OperandError` for what is no Tensor and `GradientError` for one of
        another shape.
        """
        return self._grad

    @grad.setter
    def grad(self, found: Self | None) -> None:
        if found is not None:
            if not isinstance(found, TensorCore):
                raise OperandError(argument="grad", given=shown(found), expected="a Tensor or None")
            if _differ(found.shape, self.shape):
                raise GradientError(
                    op="grad",
                    reason=f"one of shape {found.shape} is not for a Tensor of {self.shape}",
                    hint="a gradient has the shape of its Tensor",
                )
        self._grad = found

    @property
    def requires_grad(self) -> bool | None:
        """Whether `backward` leaves a gradient here; None where no one said so.

        Setting it raises `GradientError` for integers and bools, `ArgumentTypeError` for what is
        neither True, False nor None.
        """
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, wanted: bool | None) -> None:
        if wanted is not None and not isinstance(wanted, bool | int | np.bool_):
            raise ArgumentTypeError(
                argument="requires_grad", given=shown(wanted), expected="True, False or None"
            )
        if wanted and not self.uop.dtype.is_float:
            raise GradientError(
                op="requires_grad",
                reason=f"a Tensor of {self.uop.dtype} has no gradient",
                hint="only floats have one: cast first",
            )
        self._requires_grad = wanted

    @property
    def shape(self) -> tuple[int, ...]:
        """The dimensions; one that depends on a Variable is a node."""
        return self.uop.shape  # type: ignore[return-value]

    @property
    def _shape(self) -> tuple[object, ...] | None:  # type: ignore[override]
        return self.uop.shape

    @property
    def dtype(self) -> DType:
        """The number type."""
        return self.uop.dtype

    @property
    def device(self) -> DeviceName:
        """Where the value lives: one name, or one for each shard."""
        found = self.uop._device
        return device_or_default(None) if found is None else found

    @property
    def _fits_any_shape(self) -> bool:
        return self.uop._fits_any_shape

    # *** hooks of the shared methods ***

    def alu(self, op: Ops, *src: Self) -> Self:
        """`op` on this Tensor and others, which agree in shape and dtype."""
        operands = (self.uop, *(s.uop for s in src))
        dtype = dtypes.bool if op in _COMPARISONS else operands[-1].dtype
        return self._of(UOp(op, dtype, operands))

    def _movement(self, op: Ops, arg: tuple[object, ...]) -> Self:
        view = self._of(self.uop._movement(op, arg))
        if op in WRITABLE_VIEWS:
            view._origin = (weakref.ref(self), op, arg, self._origin)
        return view

    def reshape(self, shape: object, *args: object) -> Self:
        """The elements in another shape; one dimension may be -1, None keeps that of the source.

        Raises `ShapeError` when the number of elements changes.
        """
        view = super().reshape(shape, *args)
        return self._seen_as(self.uop, Ops.NOOP) if view is self else view

    def permute(self, order: int | Sequence[int], *args: int) -> Self:
        """The axes in another order.

        Raises `ShapeError` when `order` does not name each axis once.
        """
        view = super().permute(order, *args)
        return self._seen_as(self.uop, Ops.NOOP) if view is self else view

    def flip(self, axis: int | Sequence[int], *args: int) -> Self:
        """The elements along some axes in reverse order."""
        view = super().flip(axis, *args)
        return self._seen_as(self.uop, Ops.NOOP) if view is self else view

    def shrink(self, arg: Sequence[tuple[object, object] | None]) -> Self:
        """The elements from start to end of each axis; None keeps an axis.

        Raises `ShapeError` when the bounds leave an axis.
        """
        view = super().shrink(arg)
        return self._seen_as(self.uop, Ops.NOOP) if view is self else view

    def expand(self, shape: object, *args: object) -> Self:
        """Axes of size 1 repeated, and axes added in front; -1 or None keeps a dimension.

        Raises `ShapeError` when an axis of another size would change.
        """
        view = super().expand(shape, *args)
        return self._seen_as(self.uop, Ops.NOOP) if view is self else view

    def _reduce(self, op: Ops, axes: tuple[int, ...]) -> Self:
        return self._of(self.uop._reduce(op, axes))

    def cast(self, dtype: DTypeLike) -> Self:
        """The values converted to `dtype`."""
        wanted = to_dtype(dtype)
        node = self.uop
        return self._same_value() if node.dtype is wanted else self._of(node.cast(wanted))

    def const_like(self, b: object) -> Self:
        """The number `b` in this Tensor's dtype, shape and device."""
        if not isinstance(b, int | float):
            raise DTypeError(what="const_like", dtypes=[self.dtype], reason=f"{b!r} is no number")
        constant = UOp.const(self.dtype, const_value(b, self.dtype), self.uop._device)
        return self._of(constant)._expand_to(self.shape)

    def detach(self) -> Self:
        """The same values, through which no gradient flows."""
        return self._seen_as(self.uop.detach(), Ops.DETACH)

    def contiguous(self, *args: object, **kwargs: object) -> Self:
        """The same values in memory of their own, in order of the shape."""
        return self._of(self.uop.contiguous())

    def contiguous_backward(self) -> Self:
        """The same values; their gradient is made contiguous."""
        return self._of(self.uop.contiguous_backward())

    # *** identity ***

    def __eq__(self, x: object) -> Self:  # type: ignore[override]
        # nothing is equal to None: False, as of other objects
        return self.eq(x) if x is not None else NotImplemented

    def __ne__(self, x: object) -> Self:  # type: ignore[override]
        return self.ne(x) if x is not None else NotImplemented

    # by identity; a method of Python would be called for every Tensor that is made
    __hash__ = object.__hash__


def _give_memory(line: Sequence[TensorCore]) -> None:
    """Memory of its own for the outermost of some views, where it has that of another Tensor."""
    outermost = line[-1]
    if not getattr(outermost, "_borrows", False):
        return
    outermost._borrows = False
    shared = outermost.uop
    if names_place(shared) and isinstance(shared._device, str):
        own = in_memory(shared)
        for tensor in line:
            tensor.uop = tensor.uop.substitute({shared: own})


def _differ(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """Whether two shapes are certainly different; where sizes are symbolic they may agree."""
    return len(one) != len(other) or any(
        a != b for a, b in zip(one, other, strict=True) if isinstance(a, int) and isinstance(b, int)
    )


def refuse_leaves(parts: Sequence[TensorCore], above: Line) -> None:
    """Refuse a write to a part of a Tensor that requires a gradient: a value that training sets.

    Through `detach` it can be written, as what is seen there has no gradient.
    """
    wholes: list[TensorCore | None] = []
    for tensor, (op, _) in above:
        if op is Ops.DETACH:
            break
        wholes.append(tensor)
    if any(t is not None and t.requires_grad for t in (*parts, *wholes)):
        raise PartialWriteError(
            op="a write to a part of a Tensor that requires a gradient",
            reason="its gradient would be that of another value",
            hint="write before requires_grad_(), assign a whole value, or write to a copy "
            "(x = x + 0)",
        )
