"""Operators on regions of images and on windows that move: ROIs, deformable windows, Col2Im."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from tg_tensor import Tensor, dtypes

from tg_onnx.ops.pool import spatial
from tg_onnx.ops.sampling import FAR, Taps, inside, weighted_sum, working_dtype
from tg_onnx.ops.shape import ints
from tg_onnx.proto import Array
from tg_onnx.registry import operator


@operator("RoiAlign", since=10)
def roi_align_from_corners(
    x: Tensor,
    rois: Tensor,
    batch_indices: Tensor,
    *,
    mode: str = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
) -> Tensor:
    """Before opset 16 coordinates count from the centers of the first elements."""
    return roi_align(
        x,
        rois,
        batch_indices,
        coordinate_transformation_mode="output_half_pixel",
        mode=mode,
        output_height=output_height,
        output_width=output_width,
        sampling_ratio=sampling_ratio,
        spatial_scale=spatial_scale,
    )


@operator("RoiAlign", since=16)
def roi_align(
    x: Tensor,
    rois: Tensor,
    batch_indices: Tensor,
    *,
    coordinate_transformation_mode: str = "half_pixel",
    mode: str = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
) -> Tensor:
    """Means or maxima of points between the elements, over each cell of each region.

    Without a sampling ratio, a cell has as many points as it is elements long, rounded up: the
    largest region is read for that.
    """
    count, channels = int(rois.shape[0]), int(x.shape[1])
    shape = (count, channels, output_height, output_width)
    if 0 in shape:
        return Tensor.zeros(*shape, dtype=x.dtype, device=x.device)
    halves = coordinate_transformation_mode == "half_pixel"
    corners = rois.cast(working_dtype(x.dtype)) * spatial_scale - (0.5 if halves else 0.0)
    taps, valid = [], []
    height, width = spatial(x)
    for axis, (size, cells) in enumerate(((height, output_height), (width, output_width))):
        start, end = corners[:, 1 - axis], corners[:, 3 - axis]
        length = end - start
        if not halves:
            length = length.maximum(1)
        tap, is_valid = _cell_points(start, length, size, cells, sampling_ratio)
        taps.append(tap)
        valid.append(is_valid)
    if mode == "max":
        result = _greatest(x, batch_indices, taps, valid)
    else:
        result = _means(x, batch_indices, taps, valid)
    return result.reshape(shape).cast(x.dtype)


def _cell_points(
    start: Tensor, length: Tensor, size: int, cells: int, ratio: int
) -> tuple[Taps, Tensor]:
    """The points of each cell along an axis: taps (regions, cells, points, 2), and which count."""
    cell = (length / cells).reshape(-1, 1, 1)
    if ratio > 0:
        number, most = cell.full_like(ratio), ratio
    else:
        # a region without length has no points at all
        number = cell.detach().ceil().maximum(0)
        most = max(int(number.max().item()), 1)
    step = Tensor.arange(most, device=start.device).cast(start.dtype).reshape(1, 1, most)
    position = Tensor.arange(cells, device=start.device).cast(start.dtype).reshape(1, cells, 1)
    place = start.reshape(-1, 1, 1) + (position + (step + 0.5) / number.maximum(1)) * cell
    is_valid = (step < number).expand(*place.shape)
    reaches = (place >= -1) & (place <= size)
    # between the outer elements and one beyond, the outer elements hold
    place = place.clip(0, size - 1)
    low = place.detach().floor().minimum(size - 1)
    rest = place - low
    places = low.stack((low + 1).minimum(size - 1), dim=-1).cast(dtypes.int32)
    weights = (1 - rest).stack(rest, dim=-1)
    return Taps(places, reaches.unsqueeze(-1).where(weights, 0)), is_valid


def _means(x: Tensor, batches: Tensor, taps: Sequence[Taps], valid: Sequence[Tensor]) -> Tensor:
    # the points of a cell are taps too: the weights of both axes multiply
    lines = []
    for tap, is_valid in zip(taps, valid, strict=True):
        regions, cells, most = (int(n) for n in is_valid.shape)
        number = is_valid.cast(tap.weights.dtype).sum(-1, keepdim=True).maximum(1)
        weights = is_valid.unsqueeze(-1).where(tap.weights / number.unsqueeze(-1), 0)
        shape = (regions, cells, most * 2)
        lines.append(Taps(tap.places.reshape(shape), weights.reshape(shape)))
    if _is_dense(x, lines):
        return _products(x, batches, lines)
    places, weights = _grid(lines, int(x.shape[3]))
    picked = _picked(x, batches, places).cast(weights.dtype)
    return (picked * weights.unsqueeze(1)).sum(-1)


LOOKUP_COST = 4
"""What a lookup costs in products of a matrix product, about."""


def _is_dense(x: Tensor, lines: Sequence[Taps]) -> bool:
    """Whether cells have so many points that whole rows and columns are less work."""
    height, width = spatial(x)
    (rows, row_taps), (columns, column_taps) = (
        (int(n) for n in line.places.shape[1:]) for line in lines
    )
    lookups = rows * columns * row_taps * column_taps * LOOKUP_COST
    return rows * width * (height + columns) < lookups


def _products(x: Tensor, batches: Tensor, lines: Sequence[Taps]) -> Tensor:
    """Means as products with the weights of all rows, then of all columns."""
    matrices = []
    for line, size in zip(lines, spatial(x), strict=True):
        hits = line.places.unsqueeze(-1).eq(Tensor.arange(size, device=x.device))
        # (regions, 1, cells, size)
        matrices.append(hits.where(line.weights.unsqueeze(-1), 0).sum(2).unsqueeze(1))
    rows, columns = matrices
    images = x if int(x.shape[0]) == 1 else x[batches.cast(dtypes.int32)]
    return rows.matmul(images.cast(rows.dtype)).matmul(columns.transpose(-1, -2))


def _greatest(x: Tensor, batches: Tensor, taps: Sequence[Taps], valid: Sequence[Tensor]) -> Tensor:
    """The greatest of all elements around the points of a cell, each times its weight."""
    regions = int(batches.shape[0])
    counts = [int(n) for is_valid in valid for n in is_valid.shape[1:]]
    lines = [Taps(*(part.reshape(regions, -1, 2) for part in tap)) for tap in taps]
    rows, row_points, columns, column_points = counts
    places, weights = _grid(lines, int(x.shape[3]))
    values = (_picked(x, batches, places).cast(weights.dtype) * weights.unsqueeze(1)).max(-1)
    # (regions, channels, rows, points of a row, columns, points of a column)
    split = values.reshape(regions, -1, rows, row_points, columns, column_points)
    of_rows, of_columns = valid
    counted = of_rows.reshape(regions, 1, rows, row_points, 1, 1) & of_columns.reshape(
        regions, 1, 1, 1, columns, column_points
    )
    best = counted.where(split, values.dtype.min).max((3, 5))
    return counted.any((3, 5)).where(best, 0)


def _grid(lines: Sequence[Taps], width: int) -> Taps:
    """Taps of rows (regions, h, m) and columns (regions, w, n) as (regions, h * w, m * n)."""
    rows, columns = lines
    regions, height, row_taps = (int(n) for n in rows.places.shape)
    across, column_taps = (int(n) for n in columns.places.shape[1:])
    shape = (regions, height * across, row_taps * column_taps)

    def down(part: Tensor) -> Tensor:
        return part.reshape(regions, height, 1, row_taps, 1)

    def along(part: Tensor) -> Tensor:
        return part.reshape(regions, 1, across, 1, column_taps)

    places = down(rows.places) * width + along(columns.places)
    weights = down(rows.weights) * along(columns.weights)
    return Taps(places.reshape(shape), weights.reshape(shape))


def _picked(x: Tensor, batches: Tensor, places: Tensor) -> Tensor:
    """Elements of x (n, channels, h, w) at places (regions, points, taps) of the images that the
    regions are in: (regions, channels, points, taps).
    """
    batch, channels = int(x.shape[0]), int(x.shape[1])
    plane = math.prod(spatial(x))
    whole = x.permute(1, 0, 2, 3).reshape(channels, batch * plane)
    at = places + batches.cast(dtypes.int32).reshape(-1, 1, 1) * plane
    return whole[:, at].permute(1, 0, 2, 3)


@operator("MaxRoiPool")
def max_roi_pool(
    x: Tensor, rois: Tensor, *, pooled_shape: Sequence[int], spatial_scale: float = 1.0
) -> Tensor:
    """The greatest element of each cell of each region; regions are (image, x1, y1, x2, y2)."""
    count, channels = int(rois.shape[0]), int(x.shape[1])
    if count == 0:
        return Tensor.zeros(0, channels, *pooled_shape, dtype=x.dtype, device=x.device)
    wide = rois.cast(working_dtype(x.dtype))
    # halves are rounded away from zero
    corners = wide[:, 1:] * spatial_scale
    corners = (corners.abs() + 0.5).floor() * corners.sign()
    images = x[wide[:, 0].cast(dtypes.int32)]
    height, width = spatial(x)
    rows = _cells(corners[:, 1], corners[:, 3], height, pooled_shape[0])
    columns = _cells(corners[:, 0], corners[:, 2], width, pooled_shape[1])
    lowest = x.dtype.min
    across = columns.reshape(count, 1, 1, -1, width)
    lines = across.where(images.unsqueeze(3), lowest).max(-1)
    down = rows.reshape(count, 1, -1, height, 1)
    best = down.where(lines.unsqueeze(2), lowest).max(3)
    filled = rows.any(-1).reshape(count, 1, -1, 1) & columns.any(-1).reshape(count, 1, 1, -1)
    return filled.where(best, 0).cast(x.dtype)


def _cells(start: Tensor, end: Tensor, size: int, cells: int) -> Tensor:
    """Which elements of an axis are in each cell of each region: (regions, cells, size)."""
    length = ((end - start + 1).maximum(1) / cells).reshape(-1, 1, 1)
    position = Tensor.arange(cells, device=start.device).cast(start.dtype).reshape(1, cells, 1)
    first = start.reshape(-1, 1, 1)
    low = (position * length).floor() + first
    high = ((position + 1) * length).ceil() + first
    at = Tensor.arange(size, device=start.device).cast(start.dtype).reshape(1, 1, size)
    return (at >= low) & (at < high)


@operator("DeformConv", since=19)
def deform_conv(
    x: Tensor,
    w: Tensor,
    offset: Tensor,
    b: Tensor | None = None,
    mask: Tensor | None = None,
    *,
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    offset_group: int = 1,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:
    """Convolution whose windows take elements at places moved by offsets (Dai et al., 2017)."""
    kernel = tuple(kernel_shape or spatial(w))
    rank, elements = len(kernel), math.prod(kernel)
    batch, channels = int(x.shape[0]), int(x.shape[1])
    steps = spatial(offset)
    groups, points = batch * offset_group, elements * math.prod(steps)
    moved = offset.reshape(groups, elements, rank, *steps).cast(working_dtype(x.dtype))
    taps = []
    for axis, size in enumerate(spatial(x)):
        base = _window_places(axis, kernel, steps, strides, dilations, pads)
        place = moved[:, :, axis] + Tensor(base, device=x.device).cast(moved.dtype)
        place = place.reshape(groups, points).clip(-FAR, FAR)
        low = place.detach().floor()
        places = low.stack(low + 1, dim=-1)
        taps.append(inside(places, (1 - (place - low)).stack(place - low, dim=-1), size))
    wide = x.reshape(groups, channels // offset_group, *spatial(x)).cast(moved.dtype)
    sampled = weighted_sum(wide, taps).reshape(groups, -1, elements, *steps)
    if mask is not None:
        sampled = sampled * mask.reshape(groups, 1, elements, *steps).cast(moved.dtype)
    columns = sampled.reshape(batch, group, channels // group * elements, math.prod(steps))
    weights = w.reshape(group, int(w.shape[0]) // group, -1).cast(moved.dtype)
    result = weights.matmul(columns).reshape(batch, int(w.shape[0]), *steps)
    if b is not None:
        result = result + b.cast(moved.dtype).reshape(1, -1, *(1,) * rank)
    return result.cast(x.dtype)


def _window_places(
    axis: int,
    kernel: Sequence[int],
    steps: Sequence[int],
    strides: Sequence[int] | None,
    dilations: Sequence[int] | None,
    pads: Sequence[int] | None,
) -> Array:
    """Where along an axis the elements of all windows lie: (elements, *steps)."""
    stride = strides[axis] if strides else 1
    dilation = dilations[axis] if dilations else 1
    before = pads[axis] if pads else 0
    inner = np.indices(tuple(kernel))[axis].reshape(-1, *(1,) * len(steps))
    outer = np.indices(tuple(steps))[axis]
    return np.asarray(inner * dilation + outer * stride - before, np.float32)


@operator("Col2Im", since=18, host=(1, 2))
def col2im(
    x: Tensor,
    image_shape: Array,
    block_shape: Array,
    *,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:
    """Columns (batch, channels * block, windows) added up to images, in any number of axes."""
    size, block = ints(image_shape), ints(block_shape)
    rank = len(size)
    step, spread = tuple(strides or (1,) * rank), tuple(dilations or (1,) * rank)
    amounts = tuple(pads or (0,) * (2 * rank))
    whole = [n + amounts[i] + amounts[i + rank] for i, n in enumerate(size)]
    counts = [(n - spread[i] * (block[i] - 1) - 1) // step[i] + 1 for i, n in enumerate(whole)]
    batch, channels = int(x.shape[0]), int(x.shape[1]) // math.prod(block)
    split = x.reshape(batch, channels, *block, *counts)
    total: Tensor | None = None
    for place in itertools.product(*(range(n) for n in block)):
        part = split[(slice(None), slice(None), *place)]
        part = _spread_out(part, [p * d for p, d in zip(place, spread, strict=True)], step, whole)
        total = part if total is None else total + part
    assert total is not None, "a block has elements"
    cut = tuple((-amounts[i], -amounts[i + rank]) for i in range(rank))
    return total.pad(((0, 0), (0, 0), *cut))


def _spread_out(
    x: Tensor, start: Sequence[int], step: Sequence[int], size: Sequence[int]
) -> Tensor:
    """The elements of the spatial axes at start, start + step, ... of larger axes of zeros."""
    for axis, (first, stride, whole) in enumerate(zip(start, step, size, strict=True)):
        count = int(x.shape[2 + axis])
        if stride > 1:
            shape = list(x.shape)
            apart = x.unsqueeze(3 + axis).pad(
                tuple((0, stride - 1 if i == 3 + axis else 0) for i in range(x.ndim + 1))
            )
            shape[2 + axis] = count * stride
            x = apart.reshape(*shape)
        after = whole - first - count * stride
        x = x.pad(tuple((first, after) if i == 2 + axis else (0, 0) for i in range(x.ndim)))
    return x
