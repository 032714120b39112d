"""Conversion of Tensors between dtypes, and their sizes in bytes."""

from __future__ import annotations

from typing import Self

from tg_uop import DType, Ops, UOp, dtypes
from tg_uop.errors import ShapeError

from tg_tensor.defaults import DTypeLike, to_dtype
from tg_tensor.ops.place import PlaceOps
from tg_tensor.schedule.roots import OWN_MEMORY

Count = int
Truth = bool


class ConvertOps(PlaceOps):
    """Casts, bitcasts, copies, sizes."""

    __slots__ = ()

    # *** conversion ***

    def _named_dtype(self, dtype: DTypeLike) -> DType:
        return to_dtype(dtype)

    def bitcast(self, dtype: DTypeLike) -> Self:
        """The same bytes seen as `dtype`; another item size changes the last axis.

        Raises `ShapeError` when the bytes of the last axis are no multiple of the item size, and
        for a number as a dtype of another item size.
        """
        wanted = to_dtype(dtype)
        if wanted is self.dtype:
            return self._seen_as(self.uop, Ops.NOOP)
        if not self.shape and wanted.itemsize != self.dtype.itemsize:
            raise ShapeError(
                op="bitcast",
                shapes=(self.shape,),
                reason=f"no axis takes up that {self.dtype} and {wanted} differ in size",
                hint="reshape(1) first",
            )
        node = self.uop.bitcast(wanted)
        return self._seen_as(node, Ops.BITCAST, (wanted,))

    def is_floating_point(self) -> Truth:
        """Whether the dtype is a float."""
        return self.dtype.is_float

    def element_size(self) -> Count:
        """Bytes of one element."""
        return self.dtype.itemsize

    def nbytes(self) -> Count:
        """Bytes of all elements."""
        return self.numel() * self.dtype.itemsize

    def size(self, dim: Count | None = None) -> Count | tuple[Count, ...]:
        """The shape, or the length of one axis."""
        return self.shape if dim is None else self.shape[self._own_axis(dim)]

    def clone(self) -> Self:
        """A copy in memory of its own; gradients flow through."""
        return self._of(UOp(Ops.CONTIGUOUS, self.dtype, (self.uop,), OWN_MEMORY))

    # *** by the name of the dtype: last, because the names hide Python's in this class ***

    def float(self) -> Self:
        """As float32."""
        return self.cast(dtypes.float32)

    def half(self) -> Self:
        """As float16."""
        return self.cast(dtypes.float16)

    def bfloat16(self) -> Self:
        """As bfloat16."""
        return self.cast(dtypes.bfloat16)

    def double(self) -> Self:
        """As float64."""
        return self.cast(dtypes.float64)

    def int(self) -> Self:
        """As int32."""
        return self.cast(dtypes.int32)

    def long(self) -> Self:
        """As int64."""
        return self.cast(dtypes.int64)

    def short(self) -> Self:
        """As int16."""
        return self.cast(dtypes.int16)

    def bool(self) -> Self:
        """As bool: True where not 0."""
        return self.cast(dtypes.bool) if self.dtype.is_bool else self.ne(0)
