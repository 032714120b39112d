"""Joining and splitting: several Tensors as one, and one as several."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Self, TypeVar

from tg_uop import DType, Ops, UOp
from tg_uop.errors import PositionError, ShapeError
from tg_uop.plain import plain

from tg_tensor.errors import ArgumentError
from tg_tensor.ops.activate import ActivateOps
from tg_tensor.ops.room import room

GROUP = 8
"""Parts that are joined in one expression, each element of which asks for every part whether it
lies there. More are written into memory, so many at a time."""

LARGE = 1 << 13
"""Elements of a part that is worth a kernel of its own where there are many."""


class JoinOps(ActivateOps):
    """cat and stack with their kin of NumPy, split with its kin."""

    __slots__ = ()

    # *** joining ***

    def cat(self, *args: Self, dim: int = 0) -> Self:
        """This and other Tensors one after the other along `dim`, in their common dtype.

        As in PyTorch an empty vector, of shape (0,), may stand beside any shape, and
        `Tensor.cat([a, b])` takes them in a list. Raises `ShapeError` when they have no axes or
        differ in another one.
        """
        if not isinstance(self, JoinOps):
            first, *others = _joined_list("cat", self, args)
            return first.cat(*others, dim=dim)
        given = [self, *args]
        dtype = self._common_dtype(*args)
        tensors = _without_empty_vectors(given)
        axis = _joined_axis(tensors, dim)
        if len(tensors) == 1:
            return tensors[0].cast(dtype)
        if len(tensors) > GROUP and _can_be_written(tensors):
            return _written(tensors, axis, dtype)
        return _side_by_side(tensors, axis, dtype)

    def stack(self, *args: Self, dim: int = 0) -> Self:
        """This and other Tensors of the same shape along a new axis.

        `Tensor.stack([a, b])` takes them in a list, as PyTorch does. Raises `ShapeError` when the
        shapes differ.
        """
        if not isinstance(self, JoinOps):
            first, *others = _joined_list("stack", self, args)
            return first.stack(*others, dim=dim)
        axis = self._axis(dim, extra=1)
        for other in args:
            if other.shape != self.shape:
                raise ShapeError(
                    op="stack",
                    shapes=[t.shape for t in (self, *args)],
                    reason="stacked Tensors have the same shape",
                    hint="expand or pad them first, or use cat along an axis that exists",
                )
        return self.unsqueeze(axis).cat(*(t.unsqueeze(axis) for t in args), dim=axis)

    def hstack(self, *args: Self) -> Self:
        """Side by side: along axis 1, or axis 0 of vectors and numbers."""
        parts = self.atleast_1d(*args)
        parts = parts if isinstance(parts, tuple) else (parts,)
        return parts[0].cat(*parts[1:], dim=0 if parts[0].ndim == 1 else 1)

    def vstack(self, *args: Self) -> Self:
        """One below the other: along axis 0; vectors are rows."""
        parts = [part._with_axes_in_front(2) for part in (self, *args)]
        return parts[0].cat(*parts[1:], dim=0)

    def row_stack(self, *args: Self) -> Self:
        """See `vstack`."""
        return self.vstack(*args)

    def dstack(self, *args: Self) -> Self:
        """One behind the other: along axis 2; vectors are (1, n, 1)."""
        parts = [part._with_depth() for part in (self, *args)]
        return parts[0].cat(*parts[1:], dim=2)

    def column_stack(self, *args: Self) -> Self:
        """Vectors as columns side by side with matrices."""
        parts = [
            part.reshape((part.numel(), 1)) if part.ndim < 2 else part for part in (self, *args)
        ]
        return parts[0].cat(*parts[1:], dim=1)

    def block_diag(self, *args: Self) -> Self:
        """Matrices along the diagonal of a larger one, zeros elsewhere; a vector is a row.

        Raises `ShapeError` for more than two axes.
        """
        parts = [part._with_axes_in_front(2) for part in (self, *args)]
        for part in parts:
            if part.ndim > 2:
                raise ShapeError(
                    op="block_diag", shapes=(part.shape,), reason="blocks have at most two axes"
                )
        columns = sum(part.shape[1] for part in parts)
        before = 0
        rows = []
        for part in parts:
            width = part.shape[1]
            rows.append(part._pad_zeros([(0, 0), (before, columns - before - width)]))
            before += width
        return rows[0].cat(*rows[1:], dim=0)

    # *** at least so many axes ***

    def atleast_1d(self, *args: Self) -> Self | tuple[Self, ...]:
        """A number as a vector of one element; of several Tensors a tuple."""
        return _one_or_all([t._with_axes_in_front(1) for t in (self, *args)])

    def atleast_2d(self, *args: Self) -> Self | tuple[Self, ...]:
        """Axes of size 1 in front up to two; of several Tensors a tuple."""
        return _one_or_all([t._with_axes_in_front(2) for t in (self, *args)])

    def atleast_3d(self, *args: Self) -> Self | tuple[Self, ...]:
        """A vector as (1, n, 1), a matrix as (m, n, 1); of several Tensors a tuple."""
        return _one_or_all([t._with_depth() for t in (self, *args)])

    def _with_axes_in_front(self, count: int) -> Self:
        return self.reshape((1,) * (count - self.ndim) + self.shape)

    def _with_depth(self) -> Self:
        matrix = self._with_axes_in_front(2)
        return matrix.unsqueeze(2) if matrix.ndim == 2 else matrix

    # *** splitting ***

    def split(self, sizes: int | Sequence[int], dim: int = 0) -> tuple[Self, ...]:
        """Parts along `dim` of these lengths, or all of one length but perhaps the last.

        Raises `ShapeError` when the lengths do not add up.
        """
        axis = self._axis_of_part("split", dim)
        total = self.shape[axis]
        sizes = plain(sizes)
        if isinstance(sizes, int):
            if sizes < 0 or (sizes == 0 and total):
                expected = "1 or more"
                raise ArgumentError(op="split", argument="sizes", given=sizes, expected=expected)
            step = max(sizes, 1)
            sizes = [min(step, total - i) for i in range(0, max(total, 1), step)]
        if sum(sizes) != total or min(sizes, default=0) < 0:
            raise ShapeError(
                op="split",
                shapes=(self.shape,),
                reason=f"parts of {tuple(sizes)} do not add up to the {total} of axis {axis}",
            )
        parts = []
        start = 0
        for size in sizes:
            parts.append(self._part(axis, start, start + size))
            start += size
        return tuple(parts)

    def chunk(self, chunks: int, dim: int = 0) -> tuple[Self, ...]:
        """At most `chunks` parts of one length along `dim`, the last perhaps shorter."""
        if chunks <= 0:
            raise ArgumentError(op="chunk", argument="chunks", given=chunks, expected="1 or more")
        axis = self._axis_of_part("chunk", dim)
        total = self.shape[axis]
        if total == 0:
            return tuple(self._part(axis, 0, 0) for _ in range(chunks))
        return self.split(-(-total // chunks), dim)

    def tensor_split(self, where: int | Sequence[int], dim: int = 0) -> tuple[Self, ...]:
        """Parts along `dim`: so many of nearly one length, or cut before these positions.

        Positions are those of a slice: negative ones count from the end, those outside are bounds.
        """
        axis = self._axis_of_part("tensor_split", dim)
        total = self.shape[axis]
        where = plain(where)
        if isinstance(where, int):
            if where <= 0:
                raise ArgumentError(
                    op="tensor_split", argument="where", given=where, expected="1 or more"
                )
            size, longer = divmod(total, where)
            return self.split([size + 1] * longer + [size] * (where - longer), axis)
        bounds = [0, *(slice(None, at).indices(total)[1] for at in where), total]
        pairs = itertools.pairwise(bounds)
        return tuple(self._part(axis, start, max(start, stop)) for start, stop in pairs)

    def hsplit(self, where: int | Sequence[int]) -> tuple[Self, ...]:
        """`tensor_split` into equal parts along axis 1, or axis 0 of a vector."""
        return self._split_evenly("hsplit", where, 0 if self.ndim == 1 else 1, least=1)

    def vsplit(self, where: int | Sequence[int]) -> tuple[Self, ...]:
        """`tensor_split` into equal parts along axis 0."""
        return self._split_evenly("vsplit", where, 0, least=2)

    def dsplit(self, where: int | Sequence[int]) -> tuple[Self, ...]:
        """`tensor_split` into equal parts along axis 2."""
        return self._split_evenly("dsplit", where, 2, least=3)

    def _split_evenly(
        self, op: str, where: int | Sequence[int], axis: int, *, least: int
    ) -> tuple[Self, ...]:
        if self.ndim < least:
            raise ShapeError(op=op, shapes=(self.shape,), reason=f"it needs at least {least} axes")
        where = plain(where)
        if isinstance(where, int) and (where <= 0 or self.shape[axis] % where):
            raise ArgumentError(
                op=op,
                argument="where",
                given=where,
                expected=f"a divisor of the {self.shape[axis]} of axis {axis} (see tensor_split)",
            )
        return self.tensor_split(where, axis)

    def unbind(self, dim: int = 0) -> tuple[Self, ...]:
        """The slices along an axis, which is gone."""
        axis = self._axis_of_part("unbind", dim)
        return tuple(self.select(axis, i) for i in range(self.shape[axis]))

    # *** parts of one axis ***

    def _axis_of_part(self, op: str, dim: int) -> int:
        """The axis counted from the front. Raises `ShapeError` where there are none at all."""
        if not self.shape:
            raise ShapeError(
                op=op, shapes=(self.shape,), reason="a Tensor without axes has none to take apart"
            )
        return self._axis(dim)

    def _part(self, axis: int, start: int, stop: int) -> Self:
        return self.shrink([(start, stop) if i == axis else None for i in range(self.ndim)])

    def narrow(self, dim: int, start: int, length: int) -> Self:
        """`length` elements of an axis from `start` on, which may count from the end.

        Raises `PositionError` for a part that leaves the axis.
        """
        axis = self._axis_of_part("narrow", dim)
        size = self.shape[axis]
        first = start + size if start < 0 else start
        if not (0 <= first <= size and 0 <= length <= size - first):
            raise PositionError(
                op="narrow",
                argument="start, length",
                given=(start, length),
                expected=f"a part of the {size} elements of axis {axis}",
            )
        return self._part(axis, first, first + length)

    def select(self, dim: int, index: int) -> Self:
        """The slice at one position of an axis, which is gone.

        Raises `PositionError` for a position outside.
        """
        axis = self._axis_of_part("select", dim)
        size = self.shape[axis]
        if not -size <= index < size:
            raise PositionError(
                op="select",
                argument="index",
                given=index,
                expected=f"one of the {size} positions of axis {axis}",
            )
        at = index + size if index < 0 else index
        part = self._part(axis, at, at + 1)
        return part.reshape((*self.shape[:axis], *self.shape[axis + 1 :]))


J = TypeVar("J", bound=JoinOps)


def _one_or_all(tensors: list[J]) -> J | tuple[J, ...]:
    return tensors[0] if len(tensors) == 1 else tuple(tensors)


def _joined_list(op: str, given: object, others: Sequence[object]) -> list[J]:
    """The Tensors of a list, which stands in the place of the first Tensor.

    Raises `ArgumentError` for anything else.
    """
    parts = list(given) if isinstance(given, list | tuple) and not others else []
    if not parts or not all(isinstance(part, JoinOps) for part in parts):
        shown = (given, *others) if others else given
        raise ArgumentError(op=op, argument="tensors", given=shown, expected="Tensors, or a list")
    return parts


def _without_empty_vectors(tensors: list[J]) -> list[J]:
    """The Tensors without those of shape (0,), which may stand beside any others."""
    if all(t.ndim == 1 for t in tensors):
        return tensors
    return [t for t in tensors if t.shape != (0,)] or tensors[:1]


def _joined_axis(tensors: Sequence[JoinOps], dim: int) -> int:
    shapes = [t.shape for t in tensors]
    for shape in shapes:
        if not shape:
            raise ShapeError(
                op="cat",
                shapes=shapes,
                reason="a Tensor without axes has none to join along",
                hint="use stack, which makes an axis",
            )
    axis = tensors[0]._axis(dim)
    first = shapes[0]
    for shape in shapes[1:]:
        same_rank = len(shape) == len(first)
        if same_rank and shape[:axis] == first[:axis] and shape[axis + 1 :] == first[axis + 1 :]:
            continue
        raise ShapeError(
            op="cat",
            shapes=shapes,
            reason=f"the shapes differ in another axis than {axis}",
            hint="pad or shrink the other axes first",
        )
    return axis


def _can_be_written(tensors: Sequence[JoinOps]) -> bool:
    """Whether all parts lie on one device, or on any, and are of known shape."""
    devices = list({t.uop._device for t in tensors} - {None})
    is_known = all(isinstance(dim, int) for t in tensors for dim in t.shape)
    return len(devices) == 1 and isinstance(devices[0], str) and is_known


def _written(tensors: Sequence[J], axis: int, dtype: DType) -> J:
    """Many parts, stored into their places some at a time: the time grows with the elements alone.

    In one expression it would grow with the elements times the parts.
    """
    first = tensors[0]
    total = sum(t.shape[axis] for t in tensors)
    device = next(t.device for t in tensors if t.uop._device is not None)
    memory = room(device, (*first.shape[:axis], total, *first.shape[axis + 1 :]), dtype)
    size = GROUP if memory.size < LARGE * len(tensors) else 1
    stores: list[UOp] = []
    before = 0
    for start in range(0, len(tensors), size):
        part = _side_by_side(tensors[start : start + size], axis, dtype)
        after = before + part.shape[axis]
        bounds = [(before, after) if i == axis else (0, s) for i, s in enumerate(first.shape)]
        stores.append(memory.shrink(bounds).store(part.uop))
        before = after
    return first._of(memory.after(*stores))


def _side_by_side(tensors: Sequence[J], axis: int, dtype: DType) -> J:
    """Each part padded to the whole length; every element is 0 in all parts but one."""
    sizes = [t.shape[axis] for t in tensors]
    total = sum(sizes)
    parts: list[J] = []
    before = 0
    for tensor, size in zip(tensors, sizes, strict=True):
        pads = [
            (before, total - before - size) if i == axis else (0, 0) for i in range(tensor.ndim)
        ]
        parts.append(tensor.cast(dtype)._pad_zeros(pads))
        before += size
    op = Ops.OR if dtype.is_bool else Ops.ADD
    while len(parts) > 1:
        joined = [a.alu(op, b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
        parts = [*joined, parts[-1]] if len(parts) % 2 else joined
    return parts[0]
