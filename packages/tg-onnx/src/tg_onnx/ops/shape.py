"""Operators that move, select and create elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from tg_tensor import Tensor

from tg_onnx.proto import DTYPE_OF_ELEMENT, Array
from tg_onnx.registry import operator

PAD_MODES = {"constant": "constant", "reflect": "reflect", "edge": "replicate", "wrap": "circular"}
FAR: dict[str, Literal["reflect", "wrap"]] = {"reflect": "reflect", "wrap": "wrap"}


def ints(values: Array | Sequence[int]) -> tuple[int, ...]:
    """The numbers as Python integers."""
    return tuple(int(value) for value in np.ravel(values))


def axis_of(axis: int, rank: int) -> int:
    """The axis counted from the front."""
    if not -rank <= axis < rank:
        raise IndexError(f"axis {axis} is no axis of {rank}")
    return axis + rank if axis < 0 else axis


@operator("Reshape")
def reshape_attribute(x: Tensor, *, shape: Sequence[int]) -> Tensor:
    """Before opset 5 the shape is an attribute."""
    return reshape(x, np.asarray(shape))


@operator("Reshape", since=5, host=(1,))
def reshape(x: Tensor, shape: Array, *, allowzero: int = 0) -> Tensor:
    """0 keeps a dimension unless allowzero, -1 is what remains."""
    sizes = ints(shape)
    if not allowzero:
        sizes = tuple(int(x.shape[i]) if s == 0 else s for i, s in enumerate(sizes))
    return x.reshape(sizes)


@operator("Flatten")
def flatten(x: Tensor, *, axis: int = 1) -> Tensor:
    """Two dimensions: those before the axis, those from it on."""
    front = axis + x.ndim if axis < 0 else axis
    rows = int(np.prod(x.shape[:front], dtype=np.int64))
    return x.reshape(rows, int(np.prod(x.shape[front:], dtype=np.int64)))


@operator("Transpose")
def transpose(x: Tensor, *, perm: Sequence[int] | None = None) -> Tensor:
    """The axes in another order, reversed by default."""
    return x.permute(tuple(perm) if perm is not None else tuple(reversed(range(x.ndim))))


@operator("Squeeze")
def squeeze_attribute(x: Tensor, *, axes: Sequence[int] | None = None) -> Tensor:
    """Before opset 13 the axes are an attribute."""
    return squeeze(x, None if axes is None else np.asarray(axes))


@operator("Squeeze", since=13, host=(1,))
def squeeze(x: Tensor, axes: Array | None = None) -> Tensor:
    """Take away axes of size 1."""
    if axes is None:
        return x.reshape(tuple(s for s in x.shape if s != 1))
    gone = {axis_of(axis, x.ndim) for axis in ints(axes)}
    wrong = [axis for axis in gone if x.shape[axis] != 1]
    if wrong:
        raise ValueError(f"axis {wrong[0]} has size {x.shape[wrong[0]]}, not 1")
    return x.reshape(tuple(s for i, s in enumerate(x.shape) if i not in gone))


@operator("Unsqueeze")
def unsqueeze_attribute(x: Tensor, *, axes: Sequence[int]) -> Tensor:
    """Before opset 13 the axes are an attribute."""
    return unsqueeze(x, np.asarray(axes))


@operator("Unsqueeze", since=13, host=(1,))
def unsqueeze(x: Tensor, axes: Array) -> Tensor:
    """Add axes of size 1, at places in the result."""
    rank = x.ndim + np.size(axes)
    added = {axis_of(axis, rank) for axis in ints(axes)}
    remaining = iter(x.shape)
    return x.reshape(tuple(1 if i in added else next(remaining) for i in range(rank)))


@operator("Expand", host=(1,))
def expand(x: Tensor, shape: Array) -> Tensor:
    """Broadcast both ways."""
    return x.expand(np.broadcast_shapes(tuple(x.shape), ints(shape)))


@operator("Concat")
def concat(*tensors: Tensor, axis: int) -> Tensor:
    """One after the other along an axis."""
    return tensors[0].cat(*tensors[1:], dim=axis)


@operator("Split")
def split_attribute(
    x: Tensor, *, n_outputs: int, axis: int = 0, split: Sequence[int] | None = None
) -> tuple[Tensor, ...]:
    """Before opset 13 the sizes are an attribute."""
    return split_by_sizes(x, None if split is None else np.asarray(split), n_outputs, axis)


@operator("Split", since=13, host=(1,))
def split_input(
    x: Tensor,
    split: Array | None = None,
    *,
    n_outputs: int,
    axis: int = 0,
    num_outputs: int | None = None,
) -> tuple[Tensor, ...]:
    """Parts of given sizes, or equal ones with a smaller last."""
    if num_outputs is not None and num_outputs != n_outputs:
        raise ValueError(f"num_outputs is {num_outputs}, where the node has {n_outputs} outputs")
    return split_by_sizes(x, split, n_outputs, axis)


def split_by_sizes(x: Tensor, sizes: Array | None, parts: int, axis: int) -> tuple[Tensor, ...]:
    """The parts of x along an axis."""
    dim = axis_of(axis, x.ndim)
    if sizes is not None:
        return tuple(x.split(list(ints(sizes)), dim))
    total = int(x.shape[dim])
    each = -(-total // parts)
    lengths = [min(each, max(total - each * i, 0)) for i in range(parts)]
    return tuple(x.split(lengths, dim))


@operator("Slice")
def slice_attributes(
    x: Tensor, *, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int] | None = None
) -> Tensor:
    """Before opset 10 the bounds are attributes."""
    chosen = None if axes is None else np.asarray(axes)
    return slice_inputs(x, np.asarray(starts), np.asarray(ends), chosen)


@operator("Slice", since=10, host=(1, 2, 3, 4))
def slice_inputs(
    x: Tensor,
    starts: Array,
    ends: Array,
    axes: Array | None = None,
    steps: Array | None = None,
) -> Tensor:
    """Python's slices, an axis each."""
    count = np.size(starts)
    chosen = ints(axes) if axes is not None else tuple(range(count))
    strides = ints(steps) if steps is not None else (1,) * count
    index = [slice(None)] * x.ndim
    for axis, start, end, step in zip(chosen, ints(starts), ints(ends), strides, strict=True):
        dim = axis_of(axis, x.ndim)
        index[dim] = _slice(start, end, step, int(x.shape[dim]))
    return x[tuple(index)]


def _slice(start: int, end: int, step: int, size: int) -> slice:
    """Bounds clamped as the operator says: a backward start before all elements is the first one,
    where Python has no element then.
    """
    if size == 0:
        return slice(0, 0)
    first, stop = (bound + size if bound < 0 else bound for bound in (start, end))
    if step > 0:
        return slice(min(max(first, 0), size), min(max(stop, 0), size), step)
    first, stop = min(max(first, 0), size - 1), min(max(stop, -1), size - 1)
    return slice(first, None if stop < 0 else stop, step)


@operator("Gather")
def gather(x: Tensor, indices: Tensor, *, axis: int = 0) -> Tensor:
    """Slices of x at positions along an axis; negative positions count from the end."""
    dim = axis_of(axis, x.ndim)
    return x[(slice(None),) * dim + (indices,)]


@operator("GatherElements")
def gather_elements(x: Tensor, indices: Tensor, *, axis: int = 0) -> Tensor:
    """Elements of x at positions along an axis."""
    dim = axis_of(axis, x.ndim)
    size = int(x.shape[dim])
    return x.gather(dim, (indices < 0).where(indices + size, indices))


@operator("GatherND", since=11)
def gather_nd(x: Tensor, indices: Tensor, *, batch_dims: int = 0) -> Tensor:
    """Slices of x at tuples of positions, the last axis of the indices."""
    depth = int(indices.shape[-1])
    flat, places = _flat_positions(x, indices, depth, batch_dims)
    found = flat[places.reshape(-1)]
    return found.reshape(*indices.shape[:-1], *x.shape[batch_dims + depth :])


def _flat_positions(x: Tensor, indices: Tensor, depth: int, batch: int) -> tuple[Tensor, Tensor]:
    """x with the indexed axes as one, and positions along it."""
    sizes = [int(size) for size in x.shape]
    places: Tensor | None = None
    for column in range(batch):
        shape = tuple(sizes[column] if i == column else 1 for i in range(indices.ndim - 1))
        step = Tensor.arange(sizes[column], device=x.device).cast(indices.dtype).reshape(shape)
        places = step if places is None else places * sizes[column] + step
    for column in range(depth):
        size = sizes[batch + column]
        index = indices[..., column]
        index = (index < 0).where(index + size, index)
        places = index if places is None else places * size + index
    if places is None:
        raise ValueError("the indices have no position in them")
    rows = int(np.prod(sizes[: batch + depth], dtype=np.int64))
    return x.reshape(rows, *sizes[batch + depth :]), places


@operator("ScatterND", since=11)
def scatter_nd(x: Tensor, indices: Tensor, updates: Tensor, *, reduction: str = "none") -> Tensor:
    """x with slices at tuples of positions replaced or combined."""
    depth = int(indices.shape[-1])
    flat, places = _flat_positions(x, indices, depth, 0)
    rows, count = int(flat.shape[0]), int(places.numel())
    table = flat.reshape(rows, -1)
    width = int(table.shape[1])
    index = places.reshape(count, 1).expand(count, width)
    values = updates.reshape(count, width)
    return scatter_elements(table, index, values, reduction=reduction).reshape(x.shape)


@operator("Scatter")
def scatter(x: Tensor, indices: Tensor, updates: Tensor, *, axis: int = 0) -> Tensor:
    """The predecessor of ScatterElements."""
    return scatter_elements(x, indices, updates, axis=axis)


@operator("ScatterElements")
def scatter_elements(
    x: Tensor, indices: Tensor, updates: Tensor, *, axis: int = 0, reduction: str = "none"
) -> Tensor:
    """x with elements at positions along an axis replaced or combined."""
    dim = axis_of(axis, x.ndim)
    size = int(x.shape[dim])
    index = (indices < 0).where(indices + size, indices)
    if reduction == "none":
        return x.scatter(dim, index, updates)
    names = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}
    return x.scatter_reduce(dim, index, updates, names[reduction])


@operator("Tile", host=(1, 2))
def tile_axis(x: Tensor, tiles: Array, axis: Array) -> Tensor:
    """Before opset 6: repeat along one axis."""
    repeats = [1] * x.ndim
    repeats[axis_of(ints(axis)[0], x.ndim)] = ints(tiles)[0]
    return x.repeat(tuple(repeats))


@operator("Tile", since=6, host=(1,))
def tile(x: Tensor, repeats: Array) -> Tensor:
    """Repeat along each axis."""
    return x.repeat(ints(repeats))


@operator("Pad")
def pad_attributes(
    x: Tensor,
    *,
    pads: Sequence[int] | None = None,
    paddings: Sequence[int] | None = None,
    value: float = 0.0,
    mode: str = "constant",
) -> Tensor:
    """Before opset 11 the amounts are attributes."""
    return pad(x, np.asarray(pads or paddings or ()), np.asarray(value), mode=mode)


@operator("Pad", since=11, host=(1, 2, 3))
def pad(
    x: Tensor,
    pads: Array,
    value: Array | None = None,
    axes: Array | None = None,
    *,
    mode: str = "constant",
) -> Tensor:
    """Elements added (or taken away, where negative) at the borders."""
    chosen = ints(axes) if axes is not None else tuple(range(x.ndim))
    amounts = ints(pads)
    pairs = [(0, 0)] * x.ndim
    for position, axis in enumerate(chosen):
        pairs[axis_of(axis, x.ndim)] = (amounts[position], amounts[position + len(chosen)])
    fill = value.item() if value is not None else 0
    if mode in FAR and _reaches_beyond(x, pairs, mode):
        return _padded_by_position(x, pairs, FAR[mode])
    return x.pad(tuple(pairs), mode=PAD_MODES[mode], value=fill)


def _reaches_beyond(x: Tensor, pairs: Sequence[tuple[int, int]], mode: str) -> bool:
    """Whether some border is longer than what can be mirrored or wrapped once."""
    short = 1 if mode == "reflect" else 0
    return any(
        max(low, high) > int(size) + min(low, 0) + min(high, 0) - short
        for (low, high), size in zip(pairs, x.shape, strict=True)
    )


def _padded_by_position(
    x: Tensor, pairs: Sequence[tuple[int, int]], mode: Literal["reflect", "wrap"]
) -> Tensor:
    """What is taken away goes first; then NumPy tells which element each position repeats."""
    cut = [
        (max(-low, 0), int(size) - max(-high, 0))
        for (low, high), size in zip(pairs, x.shape, strict=True)
    ]
    result = x.shrink(tuple(cut))
    for axis, (low, high) in enumerate(pairs):
        if max(low, high) > 0:
            line = np.arange(int(result.shape[axis]))
            places = np.pad(line, (max(low, 0), max(high, 0)), mode=mode)
            result = result[(slice(None),) * axis + (Tensor(places, device=x.device),)]
    return result


@operator("ConstantOfShape", host=(0,))
def constant_of_shape(shape: Array, *, value: Array | None = None) -> Tensor:
    """One value everywhere, float32 zero by default."""
    if any(size < 0 for size in ints(shape)):
        raise ValueError(f"shape {list(ints(shape))} has a negative size")
    element = np.zeros(1, np.float32) if value is None else value
    return Tensor(element).reshape((1,) * np.size(shape)).expand(ints(shape))


@operator("Range", since=11, host=(0, 1, 2))
def arange(start: Array, limit: Array, delta: Array, *, stash_type: int = 1) -> Tensor:
    """Equally spaced numbers; halves are computed in more bits, whatever `stash_type` says."""
    first, end, step = (value.item() for value in (start, limit, delta))
    if start.dtype.itemsize == 2 and start.dtype.kind not in "iu":
        return Tensor(np.arange(float(first), float(end), float(step)).astype(start.dtype))
    return Tensor(np.arange(first, end, step, dtype=start.dtype))


@operator("OneHot", since=9, host=(1,))
def one_hot(indices: Tensor, depth: Array, values: Tensor, *, axis: int = -1) -> Tensor:
    """values[1] at the index, values[0] elsewhere, along a new axis."""
    count = int(np.ravel(depth)[0])
    if indices.is_floating_point():
        indices = indices.long()
    positive = (indices < 0).where(indices + count, indices).cast(indices.dtype)
    dim = axis_of(axis, indices.ndim + 1)
    steps = Tensor.arange(count, device=indices.device).reshape(
        tuple(count if i == dim else 1 for i in range(indices.ndim + 1))
    )
    return (positive.unsqueeze(dim) == steps).where(values[1], values[0])


@operator("Trilu", since=14, host=(1,))
def trilu(x: Tensor, k: Array | None = None, *, upper: int = 1) -> Tensor:
    """The upper or lower triangle, zeros elsewhere."""
    diagonal = 0 if k is None else int(np.ravel(k)[0])
    return x.triu(diagonal) if upper else x.tril(diagonal)


@operator("EyeLike", since=9)
def eye_like(x: Tensor, *, dtype: int = 0, k: int = 0) -> Tensor:
    """Ones on a diagonal."""
    rows, columns = int(x.shape[0]), int(x.shape[1])
    return Tensor(np.eye(rows, columns, k)).cast(DTYPE_OF_ELEMENT[dtype] if dtype else x.dtype)


@operator("DepthToSpace")
def depth_to_space(x: Tensor, *, blocksize: int, mode: str = "DCR") -> Tensor:
    """Channels become blocks of pixels."""
    n, c, h, w = (int(size) for size in x.shape)
    depth = c // (blocksize * blocksize)
    if mode == "DCR":
        split = x.reshape(n, blocksize, blocksize, depth, h, w).permute(0, 3, 4, 1, 5, 2)
    else:
        split = x.reshape(n, depth, blocksize, blocksize, h, w).permute(0, 1, 4, 2, 5, 3)
    return split.reshape(n, depth, h * blocksize, w * blocksize)


@operator("SpaceToDepth")
def space_to_depth(x: Tensor, *, blocksize: int, mode: str = "DCR") -> Tensor:
    """Blocks of pixels become channels: before the old ones, or after each (CRD)."""
    n, c, h, w = (int(size) for size in x.shape)
    rows, columns = h // blocksize, w // blocksize
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    split = x.reshape(n, c, rows, blocksize, columns, blocksize).permute(order)
    return split.reshape(n, c * blocksize * blocksize, rows, columns)
