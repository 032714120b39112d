"""Functions of the array API standard that move elements, join and take them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tg_tensor.errors import ArgumentError
from tg_tensor.interop.array_api.types import result_type
from tg_tensor.tensor import Tensor

Axes = int | Sequence[int]


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """All in the one shape to which they broadcast."""
    shape = _broadcast(*arrays)
    return [broadcast_to(array, shape) for array in arrays]


def _broadcast(*arrays: Tensor) -> tuple[int, ...]:
    common = Tensor.zeros(())
    for array in arrays:
        common = common + Tensor.zeros(*array.shape)
    return common.shape


def broadcast_to(x: Tensor, /, shape: Sequence[int]) -> Tensor:
    """The elements repeated until the shape is reached."""
    return x.expand(tuple(shape))


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """The Tensors one after the other along an axis; flattened first without one."""
    dtype = result_type(*arrays)
    parts = [array.cast(dtype) for array in arrays]
    if axis is None:
        parts = [part.reshape(-1) for part in parts]
    return parts[0].cat(*parts[1:], dim=axis or 0)


def expand_dims(x: Tensor, /, *, axis: Axes = 0) -> Tensor:
    """An axis of size 1 at each of the places, counted in the result.

    Raises `ArgumentError` for a place twice or outside.
    """
    places = (axis,) if isinstance(axis, int) else tuple(axis)
    rank = x.ndim + len(places)
    counted = {place + rank if place < 0 else place for place in places}
    if len(counted) != len(places) or not all(0 <= place < rank for place in counted):
        raise ArgumentError(
            op="expand_dims", argument="axis", given=axis, expected=f"places among {rank} axes"
        )
    sizes = iter(x.shape)
    return x.reshape(tuple(1 if place in counted else next(sizes) for place in range(rank)))


def flip(x: Tensor, /, *, axis: Axes | None = None) -> Tensor:
    """The elements in reverse order, along all axes without one."""
    return x.flip(tuple(range(x.ndim)) if axis is None else axis)


def moveaxis(x: Tensor, source: Axes, destination: Axes, /) -> Tensor:
    """Axes at other places, the rest in order."""
    return x.moveaxis(source, destination)


def permute_dims(x: Tensor, /, axes: Sequence[int]) -> Tensor:
    """The axes in another order."""
    return x.permute(tuple(axes))


def repeat(x: Tensor, repeats: int | Tensor, /, *, axis: int | None = None) -> Tensor:
    """Each element repeated, of the flattened Tensor without an axis.

    Numbers of repetitions in a Tensor are needed now.
    """
    source, place = (x.reshape(-1), 0) if axis is None else (x, x._axis(axis))
    if isinstance(repeats, int):
        return source.repeat_interleave(repeats, place)
    counts = np.broadcast_to(repeats.numpy(), (source.shape[place],)).astype(np.int64)
    positions = np.repeat(np.arange(source.shape[place]), counts)
    return take(source, Tensor(positions, device=x.device), axis=place)


def reshape(x: Tensor, /, shape: Sequence[int], *, copy: bool | None = None) -> Tensor:
    """The elements in another shape. Nothing is copied unless `copy=True`."""
    seen = x.reshape(tuple(shape))
    return seen.clone() if copy else seen


def roll(x: Tensor, /, shift: Axes, *, axis: Axes | None = None) -> Tensor:
    """The elements moved on, around the end; those of the flattened Tensor without an axis."""
    if axis is None:
        return x.reshape(-1).roll(shift, 0).reshape(x.shape)
    if isinstance(shift, int) and not isinstance(axis, int):
        shift = (shift,) * len(axis)
    return x.roll(shift, axis)


def squeeze(x: Tensor, /, axis: Axes) -> Tensor:
    """Without axes of size 1. Raises `ArgumentError` for an axis of another size."""
    places = (axis,) if isinstance(axis, int) else tuple(axis)
    gone = set()
    for place in places:
        if not -x.ndim <= place < x.ndim or x.shape[place] != 1:
            raise ArgumentError(
                op="squeeze", argument="axis", given=axis, expected=f"axes of size 1 of {x.shape}"
            )
        gone.add(place % x.ndim)
    return x.reshape(tuple(size for place, size in enumerate(x.shape) if place not in gone))


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """The Tensors along an axis of their own."""
    dtype = result_type(*arrays)
    parts = [array.cast(dtype) for array in arrays]
    return parts[0].stack(*parts[1:], dim=axis)


def tile(x: Tensor, repetitions: Sequence[int], /) -> Tensor:
    """The whole repeated along each axis."""
    missing = len(repetitions) - x.ndim
    spread = x.reshape((1,) * max(missing, 0) + x.shape)
    times = (1,) * max(-missing, 0) + tuple(repetitions)
    return spread.repeat(times)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The parts along an axis."""
    return tuple(x.unbind(axis))


# *** indexing ***


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """The elements at one-dimensional `indices` of an axis.

    Raises `ArgumentError` without an axis where there are several.
    """
    if axis is None and x.ndim != 1:
        raise ArgumentError(
            op="take", argument="axis", given=None, expected=f"an axis of shape {x.shape}"
        )
    place = x._axis(axis or 0)
    return x[(slice(None),) * place + (indices,)]


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """The elements at the positions in `indices` along an axis; other axes broadcast."""
    place = x._axis(axis)
    outer = [
        size for a, size in enumerate(_broadcast(_without(x, place), _without(indices, place)))
    ]
    source, wanted = list(outer), list(outer)
    source[place], wanted[place] = x.shape[place], indices.shape[place]
    return x.expand(source).gather(place, indices.expand(wanted))


def _without(x: Tensor, axis: int) -> Tensor:
    """Zeros of the same shape, but for one axis of size 1."""
    return Tensor.zeros(*(1 if a == axis else size for a, size in enumerate(x.shape)))
