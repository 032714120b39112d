"""Resizing of images and other spatial values: each output a weighted sum of neighbours.

An axis is resized by one kernel, `sum over t, k of where(k == at(o, t), x[k] * weight(o, t), 0)`:
the compiler turns it into as many loads as there are taps t. Places and weights follow the
arithmetic of PyTorch, in float32 (float64 for float64), so that both round alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Self, TypeVar

from tg_uop import dtypes
from tg_uop.dtype.value import round_float
from tg_uop.plain import plain

from tg_tensor.errors import ArgumentError, UnknownModeError
from tg_tensor.ops.einsum import EinsumOps

_NEAREST = ("nearest", "nearest-exact")
_LINEAR = {"linear": None, "bilinear": 2, "trilinear": 3}
_CUBIC = {"cubic": None, "bicubic": 2}
_MODES = (*_NEAREST, *_LINEAR, *_CUBIC, "area")
# the parameter of Keys' cubic kernel (1981); PyTorch takes another one with antialiasing
_KEYS, _KEYS_ANTIALIASED = -0.75, -0.5

# lifts what is a few elements outside above 0, where conversion to integers rounds down
_LIFT = 4

Factors = float | Sequence[float]


class Resize(NamedTuple):
    """How one axis is resized: the elements of the source between neighbours of the result."""

    axis: int
    length: int
    step: float
    align_corners: bool


class ImageOps(EinsumOps):
    """`interpolate`."""

    __slots__ = ()

    def interpolate(
        self,
        size: int | Sequence[int] | None = None,
        mode: str = "linear",
        align_corners: bool | None = False,
        scale_factor: Factors | None = None,
        antialias: bool = False,
        recompute_scale_factor: bool | None = None,
    ) -> Self:
        """The last axes resized to `size`, or by `scale_factor`.

        One number stands for all axes after the first two. Modes: "nearest", "nearest-exact",
        "linear" (also "bilinear", "trilinear"), "cubic" (also "bicubic"), "area" (means of adaptive
        windows). `align_corners` puts the outer elements exactly onto each other, `antialias`
        widens the kernel where the size shrinks; both are for linear and cubic. Half-precision
        sums are taken in float32; uint8 is rounded to uint8 again. Raises `ArgumentError` for
        other modes, sizes and mixes of them.
        """
        _check_mode(mode, bool(align_corners), antialias)
        wanted = self._resizes(size, scale_factor, bool(align_corners), recompute_scale_factor)
        _check_axes(mode, len(wanted))
        if mode == "area":
            return self._resized_area([resize.length for resize in wanted])
        # the axes that shrink first: less is left for the others
        ordered = sorted(wanted, key=lambda r: r.length / self.shape[r.axis])
        if mode in _NEAREST:
            value = self
            for resize in ordered:
                value = value._resized_nearest(resize, mode == "nearest-exact")
            return value
        value = self._as_float() if self.dtype is not dtypes.uint8 else self
        is_cubic = mode in _CUBIC
        value = value.cast(dtypes.float64 if self.dtype is dtypes.float64 else dtypes.float32)
        for resize in ordered:
            if antialias:
                value = value._resized_smoothly(resize, is_cubic)
            elif is_cubic:
                value = value._resized_cubic(resize)
            else:
                value = value._resized_linear(resize)
        if self.dtype is dtypes.uint8:
            return value.round().clip(0, 255).cast(dtypes.uint8)
        return value.cast(self._as_float().dtype)

    def upsample(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: Factors | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
    ) -> Self:
        """`interpolate` by another name, with PyTorch's order of arguments."""
        return self.interpolate(size, mode, align_corners, scale_factor)

    # *** what is asked for ***

    def _resizes(
        self,
        size: int | Sequence[int] | None,
        factors: Factors | None,
        align_corners: bool,
        recompute: bool | None,
    ) -> list[Resize]:
        if (size is None) == (factors is None):
            raise ArgumentError(
                op="interpolate",
                argument="size, scale_factor",
                given=(size, factors),
                expected="one of the two",
            )
        own_step: list[float | None]
        if size is not None:
            size = plain(size)
            lengths = [size] * (self.ndim - 2) if isinstance(size, int) else list(size)
            own_step = [None] * len(lengths)
        else:
            assert factors is not None, "one of the two is given"
            scales = self._scale_list(factors)
            if not 0 < len(scales) <= self.ndim:
                raise ArgumentError(
                    op="interpolate",
                    argument="scale_factor",
                    given=factors,
                    expected=f"one number, or one for each of 1 to {self.ndim} axes",
                )
            own = self.shape[self.ndim - len(scales) :]
            lengths = [math.floor(o * scale) for o, scale in zip(own, scales, strict=True)]
            own_step = [None if recompute else 1 / scale for scale in scales]
        count = len(lengths)
        if not 0 < count <= self.ndim or any(length <= 0 for length in lengths):
            raise ArgumentError(
                op="interpolate",
                argument="size",
                given=size if size is not None else factors,
                expected=f"positive lengths for 1 to {self.ndim} axes",
            )
        front = self.ndim - count
        if 0 in self.shape[front:]:
            raise ArgumentError(
                op="interpolate", argument="self", given=self.shape, expected="axes with elements"
            )
        resizes = []
        for axis, (length, step) in enumerate(zip(lengths, own_step, strict=True), start=front):
            own_size = self.shape[axis]
            if align_corners:
                step = (own_size - 1) / (length - 1) if length > 1 else 0.0
            resizes.append(
                Resize(axis, length, own_size / length if step is None else step, align_corners)
            )
        return resizes

    def _scale_list(self, factors: Factors) -> list[float]:
        factors = plain(factors)
        if isinstance(factors, int | float):
            return [float(factors)] * (self.ndim - 2)
        return [float(factor) for factor in factors]

    def _count_along(self, axis: int, count: int) -> Self:
        """0, 1, ... of its own for each axis: what is shared would be computed into memory."""
        return self._iota(count, self.device, dtypes.int32, ("axis", axis))

    # *** nearest and area ***

    def _resized_nearest(self, resize: Resize, exact: bool) -> Self:
        axis, length, step, _ = resize
        own = self.shape[axis]
        if length % own == 0 and step == own / length:
            # every element so many times: a view
            return self.repeat_interleave(length // own, axis) if length > own else self
        index = self._count_along(axis, length).cast(dtypes.float32)
        place = (index + 0.5 if exact else index) * round_float(step, dtypes.float32)
        return self._taken(axis, _at_most(place.cast(dtypes.int32), own - 1))

    def _taken(self, axis: int, places: Self) -> Self:
        """The elements at places (none outside) of one axis."""
        counter = self._count_along(axis, self.shape[axis])
        hits = places.unsqueeze(-1).eq(counter)
        picked = hits.where(self.transpose(axis, -1).unsqueeze(-2), False)
        return picked._only_one(picked.ndim - 1).transpose(axis, -1)

    def _resized_area(self, lengths: Sequence[int]) -> Self:
        count = len(lengths)
        front = self.shape[: self.ndim - count]
        # pooling wants a batch and channels, and one to three axes
        flat = self.reshape((1, math.prod(front), *self.shape[self.ndim - count :]))
        return flat._adaptive_mean("interpolate", lengths, count).reshape((*front, *lengths))

    # *** weighted sums ***

    def _weighted(self, axis: int, places: Self, weights: Self) -> Self:
        """Sums over taps of elements times weights; both have shape (length, taps)."""
        counter = self._count_along(axis, self.shape[axis])
        hits = places.unsqueeze(-1).eq(counter)
        source = self.transpose(axis, -1).unsqueeze(-2).unsqueeze(-2)
        picked = hits.where(source * weights.unsqueeze(-1), 0)
        return picked.sum((-1, -2)).transpose(axis, -1)

    def _centers(self, resize: Resize) -> Self:
        """Where each element of the result lies in the source."""
        index = self._count_along(resize.axis, resize.length).cast(self.dtype)
        step = (
            resize.step
            if self.dtype is dtypes.float64
            else round_float(resize.step, dtypes.float32)
        )
        return index * step if resize.align_corners else (index + 0.5) * step - 0.5

    def _is_kept(self, resize: Resize) -> bool:
        same = self.shape[resize.axis] == resize.length
        return same and resize.step == (1.0 if resize.length > 1 else resize.step)

    def _resized_linear(self, resize: Resize) -> Self:
        axis, own = resize.axis, self.shape[resize.axis]
        if self._is_kept(resize):
            return self
        center = self._centers(resize).maximum(0)
        first = _at_most(center.cast(dtypes.int32), own - 1)
        rest = _at_most_one(center - first.cast(self.dtype)).unsqueeze(1)
        tap = self._count_along(axis, 2)
        places = _at_most(first.unsqueeze(1) + tap, own - 1)
        return self._weighted(axis, places, tap.eq(0).where(1 - rest, rest))

    def _resized_cubic(self, resize: Resize) -> Self:
        axis, own = resize.axis, self.shape[resize.axis]
        if self._is_kept(resize):
            return self
        center = self._centers(resize)
        base = whole_below(center)
        rest = (center - base.cast(self.dtype)).unsqueeze(1)
        tap = self._count_along(axis, 4)
        places = _at_most((base.unsqueeze(1) + (tap - 1)).maximum(0), own - 1)
        return self._weighted(axis, places, cubic_of_taps(rest, tap, _KEYS))

    def _resized_smoothly(self, resize: Resize, is_cubic: bool) -> Self:
        """With a kernel as wide as the step, where that is more than one element."""
        axis, own = resize.axis, self.shape[resize.axis]
        widening = max(resize.step, 1.0)
        support = (2 if is_cubic else 1) * widening
        taps = math.ceil(support) * 2 + 1
        index = self._count_along(resize.axis, resize.length).cast(self.dtype)
        center = ((index + 0.5) * resize.step).unsqueeze(1)
        first = (center - support + 0.5).maximum(0).cast(dtypes.int32)
        end = _at_most((center + support + 0.5).cast(dtypes.int32), own)
        place = first + self._count_along(axis, taps)
        shift = (place.cast(self.dtype) - center + 0.5) * (1 / widening)
        distance = shift.maximum(-shift)
        if is_cubic:
            # at a distance of 2 the kernel is 0
            near = distance <= 1
            kernel = cubic(-((-distance).maximum(-2)), near, _KEYS_ANTIALIASED)
        else:
            kernel = (1 - distance).maximum(0)
        weights = (place < end).where(kernel, 0)
        return self._weighted(axis, place, weights / weights.sum(1, keepdim=True))


T = TypeVar("T", bound=ImageOps)


def cubic(distance: T, is_near: T, a: float) -> T:
    """Keys' cubic kernel at a distance of 0 to 2, which `is_near` says is at most 1.

    One polynomial with coefficients for each case: what is written once is computed once.
    """
    cubed = is_near.where(distance.ufix(a + 2), a)
    squared = is_near.where(distance.ufix(-(a + 3)), -5 * a)
    once = is_near.where(distance.ufix(0.0), 8 * a)
    value = (cubed * distance + squared) * distance + once
    return value * distance + is_near.where(distance.ufix(1.0), -4 * a)


def cubic_of_taps(rest: T, tap: T, a: float) -> T:
    """The weights of four neighbours, for what is left after the second of them."""
    is_after = tap >= 2
    sign = is_after.where(rest.ufix(-1.0), 1.0)
    # distances: 1 + rest, rest, 1 - rest, 2 - rest
    offset = is_after.where(tap - 1, 1 - tap).cast(rest.dtype)
    return cubic(sign * rest + offset, tap.eq(1) | tap.eq(2), a)


def whole_below(value: T) -> T:
    """The whole number at or below a small value, as int32; cheaper than `floor`."""
    return (value + _LIFT).cast(dtypes.int32) - _LIFT


def _at_most(value: T, bound: int) -> T:
    """The smaller of a whole number and a bound, as one operation more than `maximum`."""
    return -((-value).maximum(-bound))


def _at_most_one(value: T) -> T:
    return -((-value).maximum(-1))


def _check_mode(mode: str, align_corners: bool, antialias: bool) -> None:
    if mode not in _MODES:
        raise UnknownModeError(
            op="interpolate", argument="mode", given=mode, expected=f"one of {_MODES}"
        )
    if (align_corners or antialias) and (mode in _NEAREST or mode == "area"):
        raise ArgumentError(
            op="interpolate",
            argument="align_corners, antialias",
            given=(align_corners, antialias),
            expected=f"False for mode {mode!r}: they are for linear and cubic ones",
        )


def _check_axes(mode: str, count: int) -> None:
    needed = {**_LINEAR, **_CUBIC}.get(mode)
    if needed is not None and needed != count:
        raise ArgumentError(
            op="interpolate",
            argument="mode",
            given=mode,
            expected=f"another mode for {count} axes: it is for {needed}",
        )
