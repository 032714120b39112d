"""Operators of com.microsoft that ai.onnx has too, by now, and a few on matrices."""

from __future__ import annotations

import numpy as np
from tg_tensor import Tensor

from tg_onnx.ops.sampling import grid_sample
from tg_onnx.ops.shape import arange, axis_of, gather_nd, trilu
from tg_onnx.proto import Array
from tg_onnx.registry import operator

MICROSOFT = "com.microsoft"


@operator("CDist", domain=MICROSOFT)
def distances(a: Tensor, b: Tensor, *, metric: str = "sqeuclidean") -> Tensor:
    """Of each row of a from each row of b: (rows of a, rows of b)."""
    if metric not in ("sqeuclidean", "euclidean"):
        raise ValueError(f"metric {metric!r} is none of euclidean and sqeuclidean")
    squares = (a.unsqueeze(1) - b.unsqueeze(0)).square().sum(-1)
    return squares.sqrt() if metric == "euclidean" else squares


@operator("Inverse", domain=MICROSOFT)
def inverse(x: Tensor) -> Tensor:
    """The inverses of matrices (..., n, n)."""
    return x.inv()


@operator("ExpandDims", domain=MICROSOFT, host=(1,))
def expand_dims(x: Tensor, axis: Array) -> Tensor:
    """A new axis of size 1."""
    return x.unsqueeze(axis_of(int(np.ravel(axis)[0]), x.ndim + 1))


@operator("Trilu", domain=MICROSOFT, host=(1,))
def triangle(x: Tensor, k: Array | None = None, *, upper: int = 1) -> Tensor:
    """The upper or lower triangle, zeros elsewhere."""
    return trilu(x, k, upper=upper)


@operator("GatherND", domain=MICROSOFT)
def gather_by_positions(x: Tensor, indices: Tensor) -> Tensor:
    """Elements or slices by their position in the first axes."""
    return gather_nd(x, indices)


@operator("Range", domain=MICROSOFT, host=(0, 1, 2))
def steps(start: Array, limit: Array, delta: Array | None = None) -> Tensor:
    """Equally spaced numbers, one apart where nothing else is said."""
    return arange(start, limit, np.ones((), start.dtype) if delta is None else delta)


@operator("GridSample", domain=MICROSOFT)
def sample_grid(
    x: Tensor,
    grid: Tensor,
    *,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: int = 0,
) -> Tensor:
    """Values of images at points."""
    return grid_sample(x, grid, mode=mode, padding_mode=padding_mode, align_corners=align_corners)
