"""Operators whose results are as long as their data say: boxes, places, values that are kept."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from tg_tensor import Tensor

from tg_onnx.ops.shape import axis_of
from tg_onnx.proto import Array
from tg_onnx.registry import host_operator, operator

Floats = NDArray[np.float32]
Places = NDArray[np.int64]
BLOCK = 64
"""Boxes that are compared with each other at a time."""


@host_operator("NonMaxSuppression", since=10)
def non_max_suppression(
    boxes: Array,
    scores: Array,
    most: Array | None = None,
    iou_threshold: Array | None = None,
    score_threshold: Array | None = None,
    *,
    center_point_box: int = 0,
) -> Array:
    """Batch, class and place of the boxes kept: of a class the best first, at most `most`.

    A box goes if one kept before it overlaps it by more than the threshold.
    """
    if boxes.ndim != 3 or boxes.shape[2] != 4 or scores.ndim != 3:
        raise ValueError(
            f"boxes (batch, n, 4) and scores (batch, classes, n) are {boxes.shape}"
            f" and {scores.shape}"
        )
    if (boxes.shape[0], boxes.shape[1]) != (scores.shape[0], scores.shape[2]):
        raise ValueError(f"boxes of shape {boxes.shape} have no scores of shape {scores.shape}")
    limit = 0 if most is None else int(np.ravel(most)[0])
    overlap = np.float32(0 if iou_threshold is None else np.ravel(iou_threshold)[0])
    if not 0 <= overlap <= 1:
        raise ValueError(f"iou_threshold {overlap} is not in [0, 1]")
    corners = _corners(boxes.astype(np.float32), center_point_box)
    found: list[Places] = []
    for batch in range(scores.shape[0] if limit > 0 else 0):
        for kind in range(scores.shape[1]):
            values = scores[batch, kind]
            if score_threshold is None:
                places = np.arange(len(values))
            else:
                places = np.flatnonzero(values > np.ravel(score_threshold)[0])
            # of equal scores the first box is the better one
            order = places[np.argsort(-values[places].astype(np.float32), kind="stable")]
            kept = order[_suppressed(corners[batch][order], overlap, limit)]
            rows = np.empty((len(kept), 3), np.int64)
            rows[:, 0], rows[:, 1], rows[:, 2] = batch, kind, kept
            found.append(rows)
    return np.concatenate(found) if found else np.zeros((0, 3), np.int64)


def _corners(boxes: Floats, by_center: int) -> Floats:
    """Least and greatest coordinates (batch, box, 4): y1, x1, y2, x2."""
    first, second = boxes[..., :2], boxes[..., 2:]
    if by_center:
        half = second / np.float32(2)
        return np.concatenate([first - half, first + half], -1)
    return np.concatenate([np.minimum(first, second), np.maximum(first, second)], -1)


def _suppressed(corners: Floats, threshold: np.float32, limit: int) -> Places:
    """The positions that stay, of boxes from the best to the worst: a block of them at a time."""
    kept: list[int] = []
    for start in range(0, len(corners), BLOCK):
        block = corners[start : start + BLOCK]
        gone = _overlaps(block, corners[kept], threshold).any(1)
        # the boxes of the block that each one takes away, as bits
        taken = np.packbits(_overlaps(block, block, threshold), axis=1, bitorder="little")
        out = 0
        for place in np.flatnonzero(~gone).tolist():
            if out >> place & 1:
                continue
            kept.append(start + place)
            if len(kept) == limit:
                return np.asarray(kept, np.int64)
            out |= int.from_bytes(taken[place].tobytes(), "little")
    return np.asarray(kept, np.int64)


def _overlaps(first: Floats, second: Floats, threshold: np.float32) -> NDArray[np.bool_]:
    """Whether each box of the first and each of the second share more than a part of both."""
    y1, x1, y2, x2 = first.T[:, :, None]
    v1, u1, v2, u2 = second.T[:, None, :]
    height, width = np.minimum(y2, v2) - np.maximum(y1, v1), np.minimum(x2, u2) - np.maximum(x1, u1)
    shared = height * width
    areas = (y2 - y1) * (x2 - x1), (v2 - v1) * (u2 - u1)
    union = areas[0] + areas[1] - shared
    meets = (height > 0) & (width > 0) & (areas[0] > 0) & (areas[1] > 0) & (union > 0)
    share = np.divide(shared, union, out=np.zeros_like(shared), where=meets)
    return np.asarray(meets & (share > threshold))


@host_operator("NonZero", since=9)
def non_zero(x: Array) -> Array:
    """The places of all elements that are not 0: a row an axis. A number has one axis."""
    return np.stack(np.nonzero(np.atleast_1d(x))).astype(np.int64)


@operator("Compress", since=9, host=(1,), reads_data=True)
def compress(x: Tensor, condition: Array, *, axis: int | None = None) -> Tensor:
    """The slices of an axis, or the elements in a row, where a condition holds.

    Where the condition is too short, it does not hold.
    """
    values = x.reshape(-1) if axis is None else x
    dim = 0 if axis is None else axis_of(axis, x.ndim)
    places = np.flatnonzero(condition.reshape(-1)[: values.shape[dim]])
    return values.index_select(dim, Tensor(places.astype(np.int64), device=x.device))


@host_operator("Unique", since=11)
def unique(x: Array, *, axis: int | None = None, sorted: int = 1) -> tuple[Array, ...]:
    """The different elements or slices, where each is first, which one each is, and how often.

    In their order, or where not sorted in that of their first places.
    """
    if x.dtype.kind == "O":
        x = x.astype(str)
    values, first, inverse, counts = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    inverse = inverse.reshape(-1)
    if not sorted:
        order = np.argsort(first)
        values = values.take(order, axis=0 if axis is None else axis)
        first, counts, inverse = first[order], counts[order], np.argsort(order)[inverse]
    if values.dtype.kind == "U":
        values = values.astype(object)
    places = (part.astype(np.int64) for part in (first, inverse, counts))
    return (np.ascontiguousarray(values), *places)
