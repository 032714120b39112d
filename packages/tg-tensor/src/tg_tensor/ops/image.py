"""Resizing of images and other spatial values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from tg_uop import dtypes

from tg_tensor.errors import ArgumentError
from tg_tensor.ops.einsum import EinsumOps

_MODES = ("linear", "nearest", "nearest-exact")


class ImageOps(EinsumOps):
    """`interpolate`."""

    __slots__ = ()

    def interpolate(
        self, size: Sequence[int], mode: str = "linear", align_corners: bool = False
    ) -> Self:
        """The last axes resized to `size`: "linear" (bilinear for two axes), "nearest" or
        "nearest-exact".

        `align_corners` puts the outer elements exactly onto each other. Raises `ArgumentError` for
        other modes and sizes.
        """
        if mode not in _MODES or (align_corners and mode != "linear"):
            raise ArgumentError(
                op="interpolate",
                argument="mode",
                given=(mode, align_corners),
                expected=f"one of {_MODES}, with align_corners for linear only",
            )
        if not 0 < len(size) <= self.ndim or any(s <= 0 for s in size):
            expected = f"1 to {self.ndim} positive lengths"
            raise ArgumentError(op="interpolate", argument="size", given=size, expected=expected)
        value = self
        for offset, length in enumerate(size):
            axis = self.ndim - len(size) + offset
            if mode == "linear":
                value = value._resized_linear(axis, length, align_corners)
            else:
                value = value._resized_nearest(axis, length, mode == "nearest-exact")
        return value

    def _along(self, axis: int, positions: Self) -> Self:
        """The elements at positions of one axis."""
        shape = tuple(positions.shape[0] if i == axis else 1 for i in range(self.ndim))
        wanted = positions.reshape(shape).expand(
            tuple(positions.shape[0] if i == axis else s for i, s in enumerate(self.shape))
        )
        return self.gather(axis, wanted)

    def _resized_nearest(self, axis: int, length: int, exact: bool) -> Self:
        own = self.shape[axis]
        index = self._iota(length, self.device, dtypes.int32).cast(dtypes.float32)
        scale = own / length
        place = ((index + 0.5) * scale if exact else index * scale).floor().cast(dtypes.int32)
        return self._along(axis, place.clip(0, own - 1))

    def _resized_linear(self, axis: int, length: int, align_corners: bool) -> Self:
        own = self.shape[axis]
        index = self._iota(length, self.device, dtypes.int32).cast(dtypes.float32)
        if align_corners:
            place = index * ((own - 1) / (length - 1) if length > 1 else 0.0)
        else:
            place = (index + 0.5) * (own / length) - 0.5
        place = place.clip(0, own - 1)
        low = place.floor()
        weight = (place - low).cast(self._as_float().dtype)
        tail = (1,) * (self.ndim - 1 - axis)
        first = low.cast(dtypes.int32)
        left = self._along(axis, first)
        right = self._along(axis, (first + 1).clip(0, own - 1))
        return left.lerp(right, weight.reshape((length, *tail)))
