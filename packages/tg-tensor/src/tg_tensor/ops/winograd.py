"""Convolutions with windows of 3: fewer products, by the minimal filtering of Winograd.

Tiles of 4 results by axis take 6 products instead of 12: F(4, 3) with the points 0, 1, -1, 2, -2
and infinity (Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, 2015). Sums are
rounded differently than in the direct form, by some units in the fifth digit of float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod
from typing import Self

import numpy as np
from tg_uop.context import WINO
from tg_uop.dtype.promote import least_upper_dtype, sum_acc_dtype
from tg_uop.methods.windows import Window

from tg_tensor.autograd.composites import slide_noted
from tg_tensor.defaults import DTypeLike, to_dtype
from tg_tensor.ops.grids import GridOps

_RESULTS, _WINDOW = 4, 3
_TILE = _RESULTS + _WINDOW - 1

# what becomes of the elements of a tile, of the weights, and of the products
_ELEMENTS = (
    (4, 0, -5, 0, 1, 0),
    (0, -4, -4, 1, 1, 0),
    (0, 4, -4, -1, 1, 0),
    (0, -2, -1, 2, 1, 0),
    (0, 2, -1, -2, 1, 0),
    (0, 4, 0, -5, 0, 1),
)
_WEIGHTS = (
    (Fraction(1, 4), 0, 0),
    (Fraction(-1, 6), Fraction(-1, 6), Fraction(-1, 6)),
    (Fraction(-1, 6), Fraction(1, 6), Fraction(-1, 6)),
    (Fraction(1, 24), Fraction(1, 12), Fraction(1, 6)),
    (Fraction(1, 24), Fraction(-1, 12), Fraction(1, 6)),
    (0, 0, 1),
)
_PRODUCTS = (
    (1, 1, 1, 1, 1, 0),
    (0, 1, -1, 2, -2, 0),
    (0, 1, 1, 4, 4, 0),
    (0, 1, -1, 8, -8, 1),
)

Matrix = Sequence[Sequence[int | Fraction]]


class WinogradOps(GridOps):
    """The form of a convolution that `WINO=1` asks for."""

    __slots__ = ()

    def _windows(self, windows: Sequence[Window]) -> Self:
        """All windows over the last axes: shape (*batch, *steps, *kernels)."""
        return self._of(slide_noted(self.uop, windows))

    def _suits_winograd(self, weight: Self, windows: Sequence[Window]) -> bool:
        """Whether WINO is set and the convolution of `self` (padded) has the form at all."""
        plain = all(w == Window(_WINDOW) for w in windows)
        sizes = (*self.shape, *weight.shape)
        known = all(isinstance(size, int) and size for size in sizes)
        alone = isinstance(self.device, str) and self.device == weight.device
        floats = self.dtype.is_float and weight.dtype.is_float
        return bool(WINO.value) and bool(windows) and plain and known and alone and floats

    def _convolve_winograd(self, weight: Self, groups: int, dtype: DTypeLike | None) -> Self:
        """`self` (batch, _, *spatial), padded already, by weights of 3 elements an axis.

        Tiles and sums are in float32 or wider, the result in the dtype of the product or `dtype`.
        """
        common = self._common_dtype(weight)
        result = common if dtype is None else to_dtype(dtype)
        sums = sum_acc_dtype(least_upper_dtype(common, result))
        batch, _, *spatial = (int(size) for size in self.shape)
        outputs, inputs = int(weight.shape[0]), int(weight.shape[1])
        count = len(spatial)
        tiles = [-(-(size - _WINDOW + 1) // _RESULTS) for size in spatial]
        missing = [n * _RESULTS + _WINDOW - 1 - s for n, s in zip(tiles, spatial, strict=True)]
        padded = self.cast(sums).pad([(0, 0), (0, 0), *((0, more) for more in missing)])
        slid = padded._windows([Window(_TILE, _RESULTS, 1)] * count)
        places, points = prod(tiles), _TILE**count

        elements = slid.reshape((batch, groups, inputs, places, *(_TILE,) * count))
        elements = elements._with_last(_ELEMENTS, count)
        elements = elements.reshape((batch, groups, inputs, places, points))
        elements = elements.permute((4, 1, 2, 0, 3)).reshape((points, groups, inputs, -1))
        by_output = weight.cast(sums)._with_last(_WEIGHTS, count)
        by_output = by_output.reshape((groups, outputs // groups, inputs, points))
        by_output = by_output.permute((3, 0, 1, 2))

        products = by_output.contiguous().dot(elements.contiguous())
        products = products.reshape((*(_TILE,) * count, outputs, batch, *tiles))
        last = [*range(count, 2 * count + 2), *range(count)]
        tile = products.permute(last)._with_last(_PRODUCTS, count)
        # (outputs, batch, *tiles, *results of a tile)
        order = [1, 0]
        for axis in range(count):
            order += [2 + axis, 2 + count + axis]
        whole = tile.permute(order).reshape((batch, outputs, *(n * _RESULTS for n in tiles)))
        kept = [(0, size - _WINDOW + 1) for size in spatial]
        return whole.shrink([(0, batch), (0, outputs), *kept]).cast(result)

    def _with_last(self, matrix: Matrix, count: int) -> Self:
        """The matrix applied along each of the last `count` axes."""
        rows = np.array([[float(entry) for entry in row] for row in matrix])
        factors = self._lift(rows, self.device).cast(self.dtype)
        result = self
        for _ in range(count):
            # the last axis is taken, and comes back as the first of the `count`
            moved = result.dot(factors.transpose(0, 1))
            axes = list(range(moved.ndim))
            first = moved.ndim - count
            result = moved.permute([*axes[:first], axes[-1], *axes[first:-1]])
        return result
