"""AffineGrid: the points at which an image that is turned, scaled and moved is sampled."""

from __future__ import annotations

import numpy as np
from tg_tensor import Tensor

from tg_onnx.ops.shape import ints
from tg_onnx.proto import Array
from tg_onnx.registry import operator


@operator("AffineGrid", since=20, host=(1,))
def affine_grid(theta: Tensor, size: Array, *, align_corners: int = 0) -> Tensor:
    """Matrices (batch, d, d + 1) give points (batch, *spatial, d), for images of `size`.

    Points are made of -1 to 1 along each axis, the last axis first; with `align_corners` the ends
    are the outermost elements and not their outer borders. An axis of one element lies at 0.
    """
    batch, _, *spatial = ints(size)
    count = len(spatial)
    if count not in (2, 3) or tuple(theta.shape) != (batch, count, count + 1):
        reason = f"matrices of shape {tuple(theta.shape)} do not fit images of size {ints(size)}"
        raise ValueError(reason)
    lines = [_line(length, bool(align_corners)) for length in spatial]
    parts = [*np.meshgrid(*lines, indexing="ij")][::-1]
    points = np.stack([*parts, np.ones(spatial)], axis=-1).reshape(-1, count + 1)
    fixed = Tensor(points.astype(np.float32), device=theta.device).cast(theta.dtype)
    return (fixed @ theta.transpose(1, 2)).reshape(batch, *spatial, count)


def _line(length: int, align_corners: bool) -> np.ndarray:
    if align_corners:
        return np.linspace(-1, 1, length) if length > 1 else np.zeros(length)
    return (2 * np.arange(length) + 1) / max(length, 1) - 1
