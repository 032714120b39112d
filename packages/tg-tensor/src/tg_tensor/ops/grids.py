"""Tensors made of positions: triangles, grids, selections, powers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Self

import numpy as np
from tg_uop import dtypes
from tg_uop.plain import plain

from tg_tensor.defaults import DeviceName, DTypeLike, to_dtype
from tg_tensor.errors import ArgumentError
from tg_tensor.ops.place_values import PlaceValueOps


class GridOps(PlaceValueOps):
    """tril_indices, cartesian_prod, combinations, vander, logspace and their kin."""

    __slots__ = ()

    @classmethod
    def tril_indices(
        cls, row: int, col: int, offset: int = 0, *, device: DeviceName | None = None
    ) -> Self:
        """Rows and columns, shape (2, n), of what is on a diagonal of a matrix or below."""
        return cls._triangle("tril_indices", row, col, np.tril_indices(row, offset, col), device)

    @classmethod
    def triu_indices(
        cls, row: int, col: int, offset: int = 0, *, device: DeviceName | None = None
    ) -> Self:
        """Rows and columns, shape (2, n), of what is on a diagonal of a matrix or above."""
        return cls._triangle("triu_indices", row, col, np.triu_indices(row, offset, col), device)

    @classmethod
    def _triangle(
        cls,
        op: str,
        row: int,
        col: int,
        found: tuple[np.ndarray[tuple[int, ...], np.dtype[np.intp]], ...],
        device: DeviceName | None,
    ) -> Self:
        if row < 0 or col < 0:
            raise ArgumentError(op=op, argument="row, col", given=(row, col), expected="0 or more")
        return cls._lift(np.stack(found).astype(np.int32), device).cast(dtypes.default_int)

    def repeat_interleave(
        self, repeats: int | Self | Sequence[int], dim: int | None = None
    ) -> Self:
        """Each element repeated in place along `dim`, of the flattened value if None.

        `repeats` is one number, or one for each element, which is read now. Raises `ArgumentError`
        for negative numbers, and another number of them.
        """
        repeats = plain(repeats)
        if isinstance(repeats, int):
            if repeats < 0:
                raise ArgumentError(
                    op="repeat_interleave", argument="repeats", given=repeats, expected="0 or more"
                )
            return super().repeat_interleave(repeats, dim)
        source = self.flatten() if dim is None else self
        axis = 0 if dim is None else self._own_axis(dim)
        counts = np.asarray(
            repeats.numpy() if isinstance(repeats, GridOps) else repeats, np.int64
        ).reshape(-1)
        if counts.size == 1:
            return source.repeat_interleave(int(counts[0]), axis)
        if counts.size != source.shape[axis] or counts.min(initial=0) < 0:
            raise ArgumentError(
                op="repeat_interleave",
                argument="repeats",
                given=counts.tolist(),
                expected=f"0 or more for each of the {source.shape[axis]} elements of axis {axis}",
            )
        places = np.repeat(np.arange(counts.size, dtype=np.int32), counts)
        return source.index_select(axis, self._lift(places, self.device))

    @classmethod
    def logspace(
        cls,
        start: int | float,
        stop: int | float,
        steps: int,
        base: float = 10.0,
        *,
        dtype: DTypeLike | None = None,
        device: DeviceName | None = None,
    ) -> Self:
        """`steps` powers of `base`, their exponents at equal distances from start to stop."""
        wanted = dtypes.default_float if dtype is None else to_dtype(dtype)
        inner = dtypes.float64 if wanted is dtypes.float64 else dtypes.float32
        exponents = cls.linspace(start, stop, steps, dtype=inner, device=device)
        return exponents.pow(base, reverse=True).cast(wanted)

    @classmethod
    def geomspace(
        cls,
        start: float,
        stop: float,
        steps: int,
        *,
        dtype: DTypeLike | None = None,
        device: DeviceName | None = None,
    ) -> Self:
        """`steps` numbers from start to stop, each the same multiple of the one before.

        Raises `ArgumentError` unless both ends have one sign and are not 0.
        """
        if start * stop <= 0:
            raise ArgumentError(
                op="geomspace",
                argument="start, stop",
                given=(start, stop),
                expected="two numbers of one sign, none of them 0",
            )
        wanted = dtypes.default_float if dtype is None else to_dtype(dtype)
        inner = dtypes.float64 if wanted is dtypes.float64 else dtypes.float32
        share = cls.linspace(0, 1, steps, dtype=inner, device=device)
        return (share.pow(stop / start, reverse=True) * start).cast(wanted)

    def vander(self, N: int | None = None, increasing: bool = False) -> Self:
        """Powers of a vector as columns, the highest first unless `increasing`.

        Raises `ArgumentError` for what is no vector.
        """
        if self.ndim != 1:
            raise ArgumentError(op="vander", argument="self", given=self.shape, expected="a vector")
        count = self.shape[0] if N is None else N
        if count == 0:
            return self.reshape((self.shape[0], 1))._part(1, 0, 0)
        powers = [self.ones_like(), *(self**k for k in range(1, count))]
        ordered = powers if increasing else powers[::-1]
        return ordered[0].stack(*ordered[1:], dim=1)

    def cartesian_prod(self, *args: Self) -> Self:
        """Every choice of one element from each of several vectors, a row each.

        Raises `ArgumentError` for what is no vector.
        """
        vectors = (self, *args)
        for vector in vectors:
            if vector.ndim != 1:
                raise ArgumentError(
                    op="cartesian_prod", argument="self", given=vector.shape, expected="vectors"
                )
        if len(vectors) == 1:
            return self._itself()
        columns = [grid.flatten() for grid in self.meshgrid(*args)]
        return columns[0].stack(*columns[1:], dim=1)

    def combinations(self, r: int = 2, with_replacement: bool = False) -> Self:
        """Every choice of `r` elements of a vector in order, a row each.

        Raises `ArgumentError` for what is no vector, and a negative `r`.
        """
        if self.ndim != 1 or r < 0:
            raise ArgumentError(
                op="combinations",
                argument="self, r",
                given=(self.shape, r),
                expected="a vector, and 0 or more",
            )
        positions = range(self.shape[0])
        pick = (
            itertools.combinations_with_replacement
            if with_replacement
            else (itertools.combinations)
        )
        rows = np.array(list(pick(positions, r)), np.int32).reshape((-1, r))
        if rows.size == 0:
            return self._part(0, 0, 0).reshape((0, r)) if r else self._part(0, 0, 0)
        return self[self._lift(rows, self.device)]
