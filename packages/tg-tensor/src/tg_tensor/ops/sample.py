"""Sampling of images at points of a grid: each point a weighted sum of the elements around it.

All points are one kernel, `sum over t, k of where(k == at(p, t), x[k] * weight(p, t), 0)`: the
compiler turns it into a load for each tap t of a point p.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

from tg_uop import dtypes
from tg_uop.errors import ShapeError

from tg_tensor.errors import ArgumentError
from tg_tensor.ops.image import ImageOps, cubic_of_taps

_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")
_KEYS = -0.75
# far outside of any image, and exact as float and integer
_FAR = 1 << 22


class SampleOps(ImageOps):
    """`grid_sample` and `affine_grid`."""

    __slots__ = ()

    def affine_grid(self, size: Sequence[int], align_corners: bool = False) -> Self:
        """The points that affine maps (batch, 2, 3) or (batch, 3, 4) make of an image's places.

        `size` is that of the result of `grid_sample`: (batch, channels, *spatial). Coordinates go
        from -1 to 1 over an image, the last axis first. Raises `ShapeError` when the two do not
        fit.
        """
        spatial = tuple(size[2:])
        count = len(spatial)
        if count not in (2, 3) or self.shape != (size[0], count, count + 1):
            raise ShapeError(
                op="affine_grid",
                shapes=(self.shape, tuple(size)),
                reason="maps of shape (batch, d, d + 1) are for images of d = 2 or 3 axes",
            )
        points = None
        for column, (axis, length) in enumerate(reversed(list(enumerate(spatial)))):
            index = self._iota(length, self.device, dtypes.int32).cast(self.dtype)
            if align_corners:
                line = index * (2 / (length - 1)) - 1 if length > 1 else index
            else:
                line = (index * 2 + 1) * (1 / length) - 1
            shape = [1] * (count + 1)
            shape[axis + 1] = length
            factor = self[:, :, column].reshape((size[0], *(1,) * count, count))
            term = line.reshape((*shape, 1)) * factor
            points = term if points is None else points + term
        assert points is not None, "an image has axes"
        return points + self[:, :, count].reshape((size[0], *(1,) * count, count))

    def grid_sample(
        self,
        grid: Self,
        mode: str = "bilinear",
        padding_mode: str = "zeros",
        align_corners: bool | None = False,
    ) -> Self:
        """Values of images (batch, channels, *spatial) at points (batch, *result, d).

        Coordinates go from -1 to 1 over an image, the last axis first; with `align_corners` these
        are the centers of the outer elements, else their outer edges. Modes: "bilinear" (also for
        d = 3), "nearest", "bicubic" (d = 2). What is outside is 0 ("zeros"), the nearest element
        ("border") or mirrored ("reflection"). Raises `ShapeError` when the shapes do not fit,
        `ArgumentError` for another mode.
        """
        _check_sample(self, grid, mode, padding_mode)
        spatial = self.shape[2:]
        count = len(spatial)
        batch, points = grid.shape[0], math.prod(grid.shape[1:-1])
        corners = bool(align_corners)
        taps = {"nearest": 1, "bilinear": 2, "bicubic": 4}[mode]
        wide = self._as_float().cast(
            dtypes.float64 if self.dtype is dtypes.float64 else dtypes.float32
        )
        flat_grid = grid.reshape((batch, points, count)).cast(wide.dtype)
        place, weight = None, None
        for axis, size in enumerate(spatial):
            coordinate = flat_grid[:, :, count - 1 - axis]
            here, factor = coordinate._axis_taps(size, mode, padding_mode, corners)
            # the taps of each axis on an axis of their own: all mixes by broadcasting
            shape = [1] * count
            shape[axis] = taps
            here = here.reshape((batch, points, *shape))
            factor = factor.reshape((batch, points, *shape))
            place = here if place is None else place * size + here
            weight = factor if weight is None else weight * factor
        assert place is not None, "an image has axes"
        assert weight is not None, "an image has axes"
        mixes = taps**count
        sampled = wide._sampled(
            place.reshape((batch, 1, points, mixes)), weight.reshape((batch, 1, points, mixes))
        )
        result = sampled.reshape((batch, self.shape[1], *grid.shape[1:-1]))
        return result.cast(self._as_float().dtype)

    def _sampled(self, places: Self, weights: Self) -> Self:
        """Sums over taps of elements of the flattened image times weights."""
        batch, channels = self.shape[:2]
        total = math.prod(self.shape[2:])
        counter = self._iota(total, self.device, dtypes.int32)
        hits = places.unsqueeze(-1).eq(counter)
        source = self.reshape((batch, channels, 1, 1, total))
        return hits.where(source * weights.unsqueeze(-1), 0).sum((-1, -2))

    def _axis_taps(
        self, size: int, mode: str, padding_mode: str, align_corners: bool
    ) -> tuple[Self, Self]:
        """The elements of an axis that coordinates are made of, and their weights.

        Shape (batch, points, taps); of what is outside the weight is 0.
        """
        place = (self + 1) * ((size - 1) / 2) if align_corners else ((self + 1) * size - 1) * 0.5
        if mode != "bicubic":
            place = place._kept_inside(size, padding_mode, align_corners)
        # beyond this all is outside; the conversion to integers needs a bound
        place = place.isnan().where(-_FAR, place.clip(-_FAR, _FAR))
        if mode == "nearest":
            index, weight = place.round().unsqueeze(-1), place.const_like(1).unsqueeze(-1)
        elif mode == "bilinear":
            low = place.floor()
            rest = (place - low).unsqueeze(-1)
            tap = self._iota(2, self.device, dtypes.int32)
            index = low.unsqueeze(-1) + tap.cast(self.dtype)
            weight = tap.eq(0).where(1 - rest, rest)
        else:
            low = place.floor()
            tap = self._iota(4, self.device, dtypes.int32)
            weight = cubic_of_taps((place - low).unsqueeze(-1), tap, _KEYS)
            index = low.unsqueeze(-1) + (tap - 1).cast(self.dtype)
            index = index._kept_inside(size, padding_mode, align_corners)
        inside = (index >= 0) & (index <= size - 1)
        kept = index.detach().clip(0, size - 1).cast(dtypes.int32)
        return kept, inside.where(weight, 0)

    def _kept_inside(self, size: int, padding_mode: str, align_corners: bool) -> Self:
        """Places outside moved into the axis, as the padding says."""
        if padding_mode == "zeros":
            return self
        if padding_mode == "border":
            return self.hardtanh(0, size - 1)
        low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
        if span == 0:
            return self * 0
        distance = (self - low).abs()
        turns = (distance * (1 / span)).floor().detach()
        rest = distance - turns * span
        is_back = (turns * 0.5).ne((turns * 0.5).floor())
        mirrored = is_back.where(span - rest, rest) + low
        return mirrored.hardtanh(0, size - 1)


def _check_sample(x: SampleOps, grid: SampleOps, mode: str, padding_mode: str) -> None:
    count = x.ndim - 2
    fits = count in (2, 3) and grid.ndim == x.ndim and grid.shape[-1] == count
    if not fits or grid.shape[0] != x.shape[0] or 0 in x.shape[2:]:
        raise ShapeError(
            op="grid_sample",
            shapes=(x.shape, grid.shape),
            reason="images (batch, channels, *spatial) with 2 or 3 axes that are not empty go with "
            "points (batch, *result, 2 or 3)",
        )
    if mode not in _MODES or (mode == "bicubic" and count == 3):
        raise ArgumentError(
            op="grid_sample",
            argument="mode",
            given=mode,
            expected=f"one of {_MODES}, 'bicubic' for two axes only",
        )
    if padding_mode not in _PADDINGS:
        raise ArgumentError(
            op="grid_sample",
            argument="padding_mode",
            given=padding_mode,
            expected=f"one of {_PADDINGS}",
        )
