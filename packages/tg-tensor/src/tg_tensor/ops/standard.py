"""PyTorch's and NumPy's names for what a Tensor is, and for Tensors of its kind."""

from __future__ import annotations

from typing import Self

from tg_uop import dtypes

from tg_tensor.defaults import DTypeLike
from tg_tensor.ops.host import HostOps

Place = str | tuple[str, ...] | None


class StandardOps(HostOps):
    """Facts, conversions and constructors under the names that other libraries have for them."""

    __slots__ = ()

    # *** facts ***

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    def dim(self) -> int:
        """The number of axes."""
        return self.ndim

    def ndimension(self) -> int:
        """The number of axes."""
        return self.ndim

    def nelement(self) -> int:
        """The number of elements."""
        return self.numel()

    def is_signed(self) -> bool:
        """Whether the dtype has negative numbers."""
        return not (self.dtype.is_bool or self.dtype.is_unsigned)

    def is_complex(self) -> bool:
        """False: there are no complex dtypes."""
        return False

    def is_same_size(self, other: Self) -> bool:
        """Whether the shapes are equal."""
        return self.shape == other.shape

    def is_nonzero(self) -> bool:
        """Whether the one element is not 0; needs its value now.

        Raises `ElementCountError` unless there is exactly one element.
        """
        return bool(self)

    def equal(self, other: Self) -> bool:
        """Whether shape and all elements are equal; needs the values now. `eq` compares each."""
        return self.shape == other.shape and bool(self.eq(other).all())

    # *** conversions ***

    def astype(self, dtype: DTypeLike, copy: bool = True) -> Self:
        """The values converted to `dtype`; a lazy value takes no copy, whatever `copy` says."""
        return self.cast(dtype)

    def type_as(self, other: Self) -> Self:
        """The values converted to the dtype of another Tensor."""
        return self.cast(other.dtype)

    def byte(self) -> Self:
        """As uint8."""
        return self.cast(dtypes.uint8)

    def char(self) -> Self:
        """As int8."""
        return self.cast(dtypes.int8)

    def cpu(self) -> Self:
        """On the CPU."""
        return self.to("CPU")

    # *** of the same dtype, on the same device ***

    def new_tensor(
        self, data: object, dtype: DTypeLike | None = None, device: Place = None
    ) -> Self:
        """A Tensor of data, converted to this dtype."""
        made = self._lift(data, self.device if device is None else device)
        return made.cast(self.dtype if dtype is None else dtype)

    def new_full(
        self,
        size: int | tuple[int, ...],
        fill_value: int | float,
        dtype: DTypeLike | None = None,
        device: Place = None,
    ) -> Self:
        """One number everywhere, in a shape of its own."""
        return self.full(
            (size,) if isinstance(size, int) else tuple(size),
            fill_value,
            dtype=self.dtype if dtype is None else dtype,
            device=self.device if device is None else device,
        )

    def new_zeros(
        self, *size: int | tuple[int, ...], dtype: DTypeLike | None = None, device: Place = None
    ) -> Self:
        """Zeros in a shape of their own."""
        return self.new_full(_shape_of(size), 0, dtype, device)

    def new_ones(
        self, *size: int | tuple[int, ...], dtype: DTypeLike | None = None, device: Place = None
    ) -> Self:
        """Ones in a shape of their own."""
        return self.new_full(_shape_of(size), 1, dtype, device)

    def new_empty(
        self, *size: int | tuple[int, ...], dtype: DTypeLike | None = None, device: Place = None
    ) -> Self:
        """Memory with any values, in a shape of its own."""
        return self.empty(
            *_shape_of(size),
            dtype=self.dtype if dtype is None else dtype,
            device=self.device if device is None else device,
        )


def _shape_of(size: tuple[int | tuple[int, ...], ...]) -> tuple[int, ...]:
    """Sizes that were given one by one, or as one sequence."""
    if len(size) == 1 and not isinstance(size[0], int):
        return tuple(size[0])
    return size  # type: ignore[return-value]
