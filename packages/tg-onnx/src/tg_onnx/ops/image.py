"""Operators that resample along axes, cut or frame: Resize, Upsample, CenterCropPad."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tg_tensor import Tensor, dtypes

from tg_onnx.ops.shape import axis_of, ints
from tg_onnx.proto import Array
from tg_onnx.registry import operator

Floats = NDArray[np.float64]
Region = NDArray[np.float32]
MODES = ("nearest", "linear", "cubic")
TIES = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


@dataclass(frozen=True, slots=True)
class Resampling:
    """How to resample an axis, whatever its sizes are."""

    mode: str = "nearest"
    transformation: str = "half_pixel"
    ties: str = "round_prefer_floor"
    cubic: float = -0.75
    antialias: bool = False
    exclude_outside: bool = False
    extrapolation: float = 0.0


@operator("Upsample")
def upsample_planes(
    x: Tensor, *, width_scale: float, height_scale: float, mode: str = "nearest"
) -> Tensor:
    """Before opset 7 two axes grow, by attributes."""
    return resize_by_scales(x, np.asarray([1, 1, height_scale, width_scale]), mode=mode)


@operator("Upsample", since=7)
def upsample_by_attribute(x: Tensor, *, scales: Sequence[float], mode: str = "nearest") -> Tensor:
    """Before opset 9 the scales are an attribute."""
    return resize_by_scales(x, np.asarray(scales), mode=mode)


@operator("Upsample", since=9, host=(1,))
def upsample(x: Tensor, scales: Array, *, mode: str = "nearest") -> Tensor:
    """The predecessor of Resize."""
    return resize_by_scales(x, scales, mode=mode)


@operator("Resize", since=10, host=(1,))
def resize_by_scales(x: Tensor, scales: Array, *, mode: str = "nearest") -> Tensor:
    """Before opset 11: by scales, positions counted from the corner.

    What nearest means was open then: as onnxruntime has it, the element before where an axis
    grows, the one after where it shrinks.
    """
    # models of that time also say "bilinear"
    kind = "linear" if mode == "bilinear" else mode
    result = x
    for axis, target in enumerate(_by_scales(x, list(range(x.ndim)), scales)):
        how = Resampling(kind, "asymmetric_float32", "ceil" if target[1] < 1 else "floor")
        result = resampled(result, (axis,), (target,), how, None)
    return result


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
    chosen = [axis_of(a, x.ndim) for a in axes] if axes is not None else list(range(x.ndim))
    if sizes is not None and np.size(sizes):
        targets = _by_sizes(x, chosen, sizes, keep_aspect_ratio_policy)
    elif scales is not None and np.size(scales):
        targets = _by_scales(x, chosen, scales)
    else:
        raise ValueError("Resize has neither scales nor sizes")
    how = Resampling(
        mode,
        coordinate_transformation_mode,
        nearest_mode,
        cubic_coeff_a,
        bool(antialias),
        bool(exclude_outside),
        extrapolation_value,
    )
    region = None
    if coordinate_transformation_mode == "tf_crop_and_resize":
        if roi is None or np.size(roi) != 2 * len(chosen):
            raise ValueError("tf_crop_and_resize needs a start and an end in roi for each axis")
        region = np.ravel(roi).astype(np.float32)
    return resampled(x, chosen, targets, how, region)


def _by_sizes(x: Tensor, axes: list[int], sizes: Array, policy: str) -> list[tuple[int, float]]:
    """The new size and the scale of each axis."""
    old = [int(x.shape[axis]) for axis in axes]
    wanted = list(ints(sizes))
    if len(wanted) != len(old):
        raise ValueError(f"{len(wanted)} sizes for {len(old)} axes")
    factors = [new / max(size, 1) for new, size in zip(wanted, old, strict=True)]
    if policy not in ("stretch", "not_larger", "not_smaller"):
        raise ValueError(f"keep_aspect_ratio_policy {policy!r} is not known")
    if policy != "stretch":
        common = min(factors) if policy == "not_larger" else max(factors)
        factors = [common] * len(old)
        wanted = [int(size * common + 0.5) for size in old]
    return list(zip(wanted, factors, strict=True))


def _by_scales(x: Tensor, axes: list[int], scales: Array) -> list[tuple[int, float]]:
    given = [float(scale) for scale in np.ravel(scales)]
    if len(given) != len(axes):
        raise ValueError(f"{len(given)} scales for {len(axes)} axes")
    return [
        (int(int(x.shape[axis]) * factor), factor) for axis, factor in zip(axes, given, strict=True)
    ]


def resampled(
    x: Tensor,
    axes: Sequence[int],
    targets: Sequence[tuple[int, float]],
    how: Resampling,
    region: Region | None,
) -> Tensor:
    """x with each of the axes at its new size; `region` has all starts, then all ends.

    Raises `ValueError` for modes that are not known.
    """
    if how.mode not in MODES:
        raise ValueError(f"mode {how.mode!r} is none of {MODES}")
    if how.mode == "nearest" and how.ties not in TIES:
        raise ValueError(f"nearest_mode {how.ties!r} is none of {TIES}")
    shape = list(x.shape)
    for axis, (size, _) in zip(axes, targets, strict=True):
        shape[axis] = size
    if 0 in shape:
        return Tensor.zeros(*shape, dtype=x.dtype, device=x.device)
    result = x
    if how.mode != "nearest" and x.dtype is not dtypes.float64:
        result = x.cast(dtypes.float32)
    outside: Tensor | None = None
    for position, (axis, (size, factor)) in enumerate(zip(axes, targets, strict=True)):
        ends = None if region is None else (region[position], region[position + len(axes)])
        result, beyond = _along(result, axis, size, factor, how, ends)
        if beyond is not None:
            mask = Tensor(beyond, device=x.device).reshape(_on_axis(axis, size, x.ndim))
            outside = mask if outside is None else outside | mask
    if outside is not None:
        result = outside.where(how.extrapolation, result)
    return _narrowed(result, x)


def _narrowed(result: Tensor, x: Tensor) -> Tensor:
    """The result in the dtype of x: integers are cut off, and kept within their range."""
    if result.dtype is x.dtype:
        return result
    if x.dtype.is_int:
        return result.clip(x.dtype.min, x.dtype.max).cast(x.dtype)
    return result.cast(x.dtype)


def _along(
    x: Tensor,
    axis: int,
    size: int,
    factor: float,
    how: Resampling,
    ends: tuple[np.float32, np.float32] | None,
) -> tuple[Tensor, NDArray[np.bool_] | None]:
    """x with `size` elements along one axis, and which of them lie outside of a region."""
    old = int(x.shape[axis])
    is_whole = ends is None or (ends[0] == 0 and ends[1] == 1)
    if size == old and abs(factor - 1.0) < 1e-9 and is_whole:
        return x, None
    positions = source_positions(size, old, factor, how.transformation, ends)
    outside = None if ends is None else (positions < 0) | (positions > old - 1)
    if outside is not None and not outside.any():
        outside = None
    if how.mode == "nearest":
        return take(x, axis, round_positions(positions, how.ties)), outside
    matrix = _weights(positions, old, min(factor, 1.0) if how.antialias else 1.0, how)
    return _mixed(x, axis, matrix), outside


def source_positions(
    size: int,
    old: int,
    factor: float,
    transformation: str,
    ends: tuple[np.float32, np.float32] | None,
) -> Floats:
    """Where in the input each element of the output lies (ONNX, Resize)."""
    out = np.arange(size, dtype=np.float64)
    # the length before it is rounded to a whole number
    length = factor * old
    if transformation == "asymmetric":
        return out / factor
    if transformation == "asymmetric_float32":
        return (out.astype(np.float32) / np.float32(factor)).astype(np.float64)
    if transformation == "align_corners":
        return out * (old - 1) / (length - 1) if length != 1 else np.zeros(size)
    if transformation == "pytorch_half_pixel":
        return (out + 0.5) / factor - 0.5 if length != 1 else np.full(size, -0.5)
    if transformation == "half_pixel_symmetric":
        return old / 2 * (1 - size / length) + (out + 0.5) / factor - 0.5
    if transformation == "half_pixel":
        return (out + 0.5) / factor - 0.5
    if transformation == "tf_crop_and_resize" and ends is not None:
        # their difference is rounded as the regions are, or ties fall to the other side
        start, end = ends
        if length == 1:
            return np.full(size, (end - start) * (old - 1) / 2 + start * (old - 1))
        return out * (end - start) * (old - 1) / (length - 1) + start * (old - 1)
    raise ValueError(f"coordinate_transformation_mode {transformation!r} is not known")


def round_positions(positions: Floats, rounding: str) -> NDArray[np.int64]:
    """The nearest element, with ties as asked for."""
    if rounding == "floor":
        return np.floor(positions).astype(np.int64)
    if rounding == "ceil":
        return np.ceil(positions).astype(np.int64)
    if rounding == "round_prefer_floor":
        return np.ceil(positions - 0.5).astype(np.int64)
    return np.floor(positions + 0.5).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Mixture:
    """For each element of an output: the first of its neighbours, and the weights of them all."""

    first: NDArray[np.int64]
    weights: Floats


def _weights(positions: Floats, old: int, shrink: float, how: Resampling) -> Mixture:
    """Triangles or cubics around the positions, widened by what an axis shrinks."""
    support = (1 if how.mode == "linear" else 2) / shrink
    reach = int(np.ceil(support))
    first = np.floor(positions).astype(np.int64) - reach + 1
    at = first[:, None] + np.arange(2 * reach)
    distance = np.abs(at - positions[:, None]) * shrink
    if how.mode == "linear":
        weights = np.clip(1 - distance, 0, None)
    else:
        weights = cubic_kernel(distance, how.cubic)
    if how.exclude_outside or how.antialias:
        if how.exclude_outside:
            weights = np.where((at >= 0) & (at < old), weights, 0.0)
        total = weights.sum(1, keepdims=True)
        weights = weights / np.where(total == 0, 1.0, total)
    return Mixture(first, weights)


def cubic_kernel(d: Floats, a: float) -> Floats:
    """The weight of an element at some distance (Keys, 1981)."""
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


MOST_TAPS = 4
"""More neighbours than this are mixed by a matrix product."""


def _mixed(x: Tensor, axis: int, mixture: Mixture) -> Tensor:
    """Weighted sums of neighbours along an axis; those outside are the border."""
    size, taps = mixture.weights.shape
    old = int(x.shape[axis])
    used = [tap for tap in range(taps) if mixture.weights[:, tap].any()]
    if len(used) > MOST_TAPS:
        matrix = np.zeros((old, size))
        rows = np.clip(mixture.first[:, None] + np.arange(taps), 0, old - 1)
        np.add.at(matrix, (rows, np.arange(size)[:, None]), mixture.weights)
        product = x.transpose(axis, -1) @ Tensor(matrix, device=x.device).cast(x.dtype)
        return product.transpose(axis, -1)
    shape = _on_axis(axis, size, x.ndim)
    total: Tensor | None = None
    for tap in used:
        weight = Tensor(mixture.weights[:, tap], device=x.device).cast(x.dtype).reshape(shape)
        part = take(x, axis, mixture.first + tap) * weight
        total = part if total is None else total + part
    return take(x, axis, mixture.first) * 0 if total is None else total


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


def _on_axis(axis: int, size: int, rank: int) -> tuple[int, ...]:
    return tuple(size if i == axis else 1 for i in range(rank))


@operator("CenterCropPad", since=18, host=(1,))
def center_crop_pad(x: Tensor, shape: Array, *, axes: Sequence[int] | None = None) -> Tensor:
    """Axes cut or framed with zeros on both sides; an odd element goes to the end."""
    chosen = [axis_of(a, x.ndim) for a in axes] if axes is not None else list(range(x.ndim))
    pairs = [(0, 0)] * x.ndim
    for axis, size in zip(chosen, ints(shape), strict=True):
        more = size - int(x.shape[axis])
        # of what is cut as of what is added, the smaller half comes first
        before = more // 2 if more >= 0 else -(-more // 2)
        pairs[axis] = (before, more - before)
    return x.pad(tuple(pairs))
