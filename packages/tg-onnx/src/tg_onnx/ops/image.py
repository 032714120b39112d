"""Operators that resample."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tg_tensor import Tensor

from tg_onnx.ops.shape import axis_of, ints
from tg_onnx.proto import Array
from tg_onnx.registry import operator

Floats = NDArray[np.float64]


@operator("Resize", since=10, host=(1,))
def resize_by_scales(x: Tensor, scales: Array, *, mode: str = "nearest") -> Tensor:
    """Before opset 11: by scales, positions counted from the corner, rounded down."""
    factors = [float(scale) for scale in np.ravel(scales)]
    for axis, factor in enumerate(factors):
        size = int(x.shape[axis])
        x = resample(x, axis, int(size * factor), factor, mode, "asymmetric", "floor", -0.75)
    return x


@operator("Upsample", since=9, host=(1,))
def upsample(x: Tensor, scales: Array, *, mode: str = "nearest") -> Tensor:
    """The predecessor of Resize."""
    return resize_by_scales(x, scales, mode=mode)


@operator("Resize", since=11, host=(1, 2, 3))
def resize(
    x: Tensor,
    roi: Array | None = None,
    scales: Array | None = None,
    sizes: Array | None = None,
    *,
    mode: str = "nearest",
    coordinate_transformation_mode: str = "half_pixel",
    nearest_mode: str = "round_prefer_floor",
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    extrapolation_value: float = 0.0,
    antialias: int = 0,
    axes: Sequence[int] | None = None,
    keep_aspect_ratio_policy: str = "stretch",
) -> Tensor:
    """Resample each axis in turn by nearest, linear or cubic interpolation."""
    if antialias or exclude_outside or coordinate_transformation_mode == "tf_crop_and_resize":
        raise NotImplementedError("antialias, exclude_outside and tf_crop_and_resize")
    chosen = [axis_of(a, x.ndim) for a in axes] if axes is not None else list(range(x.ndim))
    targets = _targets(x, chosen, scales, sizes, keep_aspect_ratio_policy)
    for axis, (size, factor) in zip(chosen, targets, strict=True):
        x = resample(
            x,
            axis,
            size,
            factor,
            mode,
            coordinate_transformation_mode,
            nearest_mode,
            cubic_coeff_a,
        )
    return x


def _targets(
    x: Tensor, axes: list[int], scales: Array | None, sizes: Array | None, policy: str
) -> list[tuple[int, float]]:
    """The new size and the scale of each axis."""
    old = [int(x.shape[axis]) for axis in axes]
    if sizes is not None and np.size(sizes):
        wanted = list(ints(sizes))
        factors = [new / size for new, size in zip(wanted, old, strict=True)]
        if policy != "stretch":
            common = min(factors) if policy == "not_larger" else max(factors)
            factors = [common] * len(old)
            wanted = [int(size * common + 0.5) for size in old]
        return list(zip(wanted, factors, strict=True))
    assert scales is not None, "Resize has scales or sizes"
    given = [float(scale) for scale in np.ravel(scales)]
    return [(int(size * factor), factor) for size, factor in zip(old, given, strict=True)]


def resample(
    x: Tensor,
    axis: int,
    size: int,
    factor: float,
    mode: str,
    transformation: str,
    rounding: str,
    cubic: float,
) -> Tensor:
    """x with `size` elements along one axis."""
    old = int(x.shape[axis])
    if size == old and factor == 1.0:
        return x
    positions = source_positions(size, old, factor, transformation)
    if mode == "nearest":
        return take(x, axis, round_positions(positions, rounding))
    offsets, weights = linear_taps(positions) if mode == "linear" else cubic_taps(positions, cubic)
    first = np.floor(positions).astype(np.int64)
    shape = tuple(size if i == axis else 1 for i in range(x.ndim))
    total: Tensor | None = None
    for offset, weight in zip(offsets, weights, strict=True):
        factor_tensor = Tensor(weight.astype(np.float32), device=x.device).reshape(shape)
        part = take(x, axis, first + offset) * factor_tensor.cast(x.dtype)
        total = part if total is None else total + part
    assert total is not None, "an interpolation has taps"
    return total


def source_positions(size: int, old: int, factor: float, transformation: str) -> Floats:
    """Where in the input each element of the output lies (ONNX, Resize)."""
    out = np.arange(size, dtype=np.float64)
    if transformation == "asymmetric":
        return out / factor
    if transformation == "align_corners":
        # the length before it is rounded to a whole number
        length = factor * old
        return out * ((old - 1) / (length - 1)) if size > 1 else np.zeros(1)
    if transformation == "pytorch_half_pixel":
        return (out + 0.5) / factor - 0.5 if size > 1 else np.zeros(1)
    if transformation == "half_pixel_symmetric":
        adjustment = size / (factor * old)
        return old / 2 * (1 - adjustment) + (out + 0.5) / factor - 0.5
    if transformation == "half_pixel":
        return (out + 0.5) / factor - 0.5
    raise NotImplementedError(f"coordinate transformation {transformation!r}")


def round_positions(positions: Floats, rounding: str) -> NDArray[np.int64]:
    """The nearest element, with ties as asked for."""
    if rounding == "floor":
        return np.floor(positions).astype(np.int64)
    if rounding == "ceil":
        return np.ceil(positions).astype(np.int64)
    if rounding == "round_prefer_floor":
        return np.ceil(positions - 0.5).astype(np.int64)
    return np.floor(positions + 0.5).astype(np.int64)


def linear_taps(positions: Floats) -> tuple[list[int], list[Floats]]:
    """Two neighbours and their weights."""
    fraction = positions - np.floor(positions)
    return [0, 1], [1 - fraction, fraction]


def cubic_taps(positions: Floats, a: float) -> tuple[list[int], list[Floats]]:
    """Four neighbours and their weights (Keys, 1981)."""
    t = positions - np.floor(positions)

    def near(d: Floats) -> Floats:
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d: Floats) -> Floats:
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    return [-1, 0, 1, 2], [far(t + 1), near(t), near(1 - t), far(2 - t)]


def take(x: Tensor, axis: int, positions: NDArray[np.int64]) -> Tensor:
    """Elements along an axis; positions outside give the border.

    A whole number of copies of each element in turn is a view, which needs no lookup.
    """
    old = int(x.shape[axis])
    clipped = np.clip(positions, 0, old - 1)
    copies = len(clipped) // old
    if copies * old == len(clipped) and np.array_equal(clipped, np.repeat(np.arange(old), copies)):
        return x.repeat_interleave(copies, axis)
    index = Tensor(clipped.astype(np.int32), device=x.device)
    return x[(slice(None),) * axis + (index,)]
