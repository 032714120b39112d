"""Image functions."""

from __future__ import annotations

from tg_tensor.ops.matmul import MatmulOps


class ImageOps(MatmulOps):
    """Resizing."""

    __slots__ = ()
