"""Sample images at points between their elements: GridSample, and what regions take from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tg_tensor import Tensor, dtypes
from tg_uop import DType

from tg_onnx.registry import operator

KEYS = -0.75
# far outside of any image, and exact as float and integer
FAR = 1 << 22
MODES = {
    "bilinear": "linear",
    "linear": "linear",
    "nearest": "nearest",
    "bicubic": "cubic",
    "cubic": "cubic",
}


class Taps(NamedTuple):
    """The elements of an axis that points are made of: (..., taps) positions and weights."""

    places: Tensor
    weights: Tensor


def working_dtype(dtype: DType) -> DType:
    """What is computed in: float64 stays, all else is float32."""
    return dtypes.float64 if dtype is dtypes.float64 else dtypes.float32


@operator("GridSample", since=16)
def grid_sample(
    x: Tensor,
    grid: Tensor,
    *,
    mode: str = "linear",
    padding_mode: str = "zeros",
    align_corners: int = 0,
) -> Tensor:
    """Values of images (batch, channels, *spatial) at points (batch, *result, d) in -1 to 1."""
    if mode not in MODES:
        raise ValueError(f"mode {mode!r} is none of {sorted(MODES)}")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(f"padding_mode {padding_mode!r} is none of border, reflection and zeros")
    kind, spatial = MODES[mode], [int(size) for size in x.shape[2:]]
    if grid.ndim != x.ndim or int(grid.shape[-1]) != len(spatial):
        raise ValueError(f"points of shape {grid.shape} do not fit images of shape {x.shape}")
    batch, points = int(grid.shape[0]), math.prod(int(n) for n in grid.shape[1:-1])
    shape = (batch, int(x.shape[1]), *(int(n) for n in grid.shape[1:-1]))
    if 0 in shape:
        return Tensor.zeros(*shape, dtype=x.dtype, device=x.device)
    flat = grid.reshape(batch, points, len(spatial)).cast(working_dtype(x.dtype))
    taps = [
        _grid_taps(flat[:, :, -1 - axis], size, kind, padding_mode, bool(align_corners))
        for axis, size in enumerate(spatial)
    ]
    return weighted_sum(x, taps).reshape(shape)


def _grid_taps(at: Tensor, size: int, kind: str, padding: str, corners: bool) -> Taps:
    place = (at + 1) * ((size - 1) / 2) if corners else ((at + 1) * size - 1) * 0.5
    if kind == "nearest":
        place = place.round()
    if padding == "border" and kind != "cubic":
        place = place.clip(0, size - 1)
    elif padding == "reflection":
        place = _reflected(place, size, corners)
    # the conversion to integers needs a bound
    place = place.isnan().where(-FAR, place.clip(-FAR, FAR))
    if kind == "nearest":
        return inside(place.unsqueeze(-1), place.full_like(1).unsqueeze(-1), size)
    low_place = place.floor()
    rest = place - low_place
    if kind == "linear":
        weights = (1 - rest).stack(rest, dim=-1)
        offsets = Tensor.arange(2, device=at.device)
    else:
        weights = _cubic_weights(rest)
        offsets = Tensor.arange(4, device=at.device) - 1
    places = low_place.unsqueeze(-1) + offsets.cast(place.dtype)
    if padding == "border":
        places = places.clip(0, size - 1)
    elif padding == "reflection":
        places = _reflected(places, size, corners).round()
    return inside(places, weights, size)


def inside(places: Tensor, weights: Tensor, size: int) -> Taps:
    """Positions as integers within the axis; those outside weigh nothing."""
    within = (places >= 0) & (places <= size - 1)
    kept = places.detach().clip(0, size - 1).cast(dtypes.int32)
    return Taps(kept, within.where(weights, 0))


def _reflected(place: Tensor, size: int, corners: bool) -> Tensor:
    """Places outside mirrored at the borders, as often as it takes."""
    low, span = (0.0, size - 1.0) if corners else (-0.5, float(size))
    if span == 0:
        return place * 0
    distance = (place - low).abs()
    turns = (distance * (1 / span)).floor().detach()
    rest = distance - turns * span
    is_back = (turns * 0.5).ne((turns * 0.5).floor())
    return (is_back.where(span - rest, rest) + low).clip(0 if corners else -0.5, size - 0.5)


def _cubic_weights(rest: Tensor) -> Tensor:
    """Four weights (Keys, 1981) of places a part of an element after the second."""

    def near(d: Tensor) -> Tensor:
        return ((KEYS + 2) * d - (KEYS + 3)) * d * d + 1

    def far(d: Tensor) -> Tensor:
        return ((KEYS * d - 5 * KEYS) * d + 8 * KEYS) * d - 4 * KEYS

    return far(rest + 1).stack(near(rest), near(1 - rest), far(2 - rest), dim=-1)


def joined(taps: Sequence[Taps], sizes: Sequence[int]) -> Taps:
    """The taps of all axes as one, over the flattened axes: (..., product of taps)."""
    front = taps[0].places.shape[:-1]
    count = len(taps)
    place: Tensor | None = None
    weight: Tensor | None = None
    for axis, (tap, size) in enumerate(zip(taps, sizes, strict=True)):
        # the taps of each axis on an axis of their own: all mixes by broadcasting
        shape = [1] * count
        shape[axis] = int(tap.places.shape[-1])
        here = tap.places.reshape(*front, *shape)
        factor = tap.weights.reshape(*front, *shape)
        place = here if place is None else place * size + here
        weight = factor if weight is None else weight * factor
    assert place is not None, "an image has axes"
    assert weight is not None, "an image has axes"
    mixes = math.prod(int(tap.places.shape[-1]) for tap in taps)
    return Taps(place.reshape(*front, mixes), weight.reshape(*front, mixes))


def weighted_sum(x: Tensor, taps: Sequence[Taps]) -> Tensor:
    """Sums over (batch, points, taps) of elements of x (batch, channels, *spatial), each times its
    weight: (batch, channels, points), in the dtype of x.

    One tap of weight 0 or 1 keeps integers as they are.
    """
    sizes = [int(size) for size in x.shape[2:]]
    place, weight = joined(taps, sizes)
    batch, channels, total = int(x.shape[0]), int(x.shape[1]), math.prod(sizes)
    counter = Tensor.arange(total, device=x.device)
    hits = place.unsqueeze(1).unsqueeze(-1).eq(counter)
    source = x.reshape(batch, channels, 1, 1, total)
    if int(place.shape[-1]) == 1:
        hits = hits & weight.unsqueeze(1).unsqueeze(-1).ne(0)
        zero = source.full_like(0) if x.dtype is not dtypes.bool else False
        return hits.where(source, zero).sum((-1, -2)).cast(x.dtype)
    wide = source.cast(weight.dtype) * weight.unsqueeze(1).unsqueeze(-1)
    return hits.where(wide, 0).sum((-1, -2)).cast(x.dtype)
