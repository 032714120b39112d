"""Sequences of tensors: their elements stay where they are, positions are known to the host."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tg_tensor import Tensor

from tg_onnx.host import as_array
from tg_onnx.ops.shape import axis_of
from tg_onnx.proto import Array
from tg_onnx.registry import Value, value_operator


@value_operator("SequenceConstruct", since=11)
def sequence_construct(*elements: Value) -> list[Value]:
    """A sequence of the inputs."""
    return list(elements)


@value_operator("SequenceEmpty", since=11)
def sequence_empty(*, dtype: int = 1) -> list[Value]:
    """A sequence of nothing."""
    return []


@value_operator("SequenceInsert", since=11, host=(2,))
def sequence_insert(
    sequence: list[Value], element: Value, position: Array | None = None
) -> list[Value]:
    """An element before a position, or at the end."""
    place = len(sequence) if position is None else _place(position, len(sequence), 1)
    return [*sequence[:place], element, *sequence[place:]]


@value_operator("SequenceErase", since=11, host=(1,))
def sequence_erase(sequence: list[Value], position: Array | None = None) -> list[Value]:
    """All elements but the one at a position, or but the last."""
    last = np.asarray(-1)
    place = _place(last if position is None else position, len(sequence), 0)
    return sequence[:place] + sequence[place + 1 :]


@value_operator("SequenceAt", since=11, host=(1,))
def sequence_at(sequence: list[Value], position: Array) -> Value:
    """The element at a position."""
    return sequence[_place(position, len(sequence), 0)]


@value_operator("SequenceLength", since=11)
def sequence_length(sequence: list[Value]) -> Array:
    """The number of elements."""
    return np.asarray(len(sequence), np.int64)


@value_operator("SplitToSequence", since=11, host=(1,))
def split_to_sequence(
    x: Tensor | Array, split: Array | None = None, *, axis: int = 0, keepdims: int = 1
) -> list[Value]:
    """Parts along an axis: of given sizes, of one size with a rest, or of size 1.

    Those of size 1 lose the axis without `keepdims`.
    """
    dim = axis_of(axis, x.ndim)
    size = int(x.shape[dim])
    if split is None:
        parts = _cut(x, dim, [1] * size)
        return parts if keepdims else [_without(part, dim) for part in parts]
    if split.ndim:
        sizes = [int(n) for n in split]
        if sum(sizes) != size or min(sizes, default=0) < 0:
            raise ValueError(f"sizes {sizes} of parts, where the axis has {size} elements")
        return _cut(x, dim, sizes)
    step = int(split)
    if step <= 0:
        raise ValueError(f"parts of {step} elements")
    return _cut(x, dim, [min(step, size - start) for start in range(0, size, step)])


@value_operator("ConcatFromSequence", since=11)
def concat_from_sequence(sequence: list[Value], *, axis: int, new_axis: int = 0) -> Value:
    """The elements one after the other along an axis, or along a new one."""
    if not sequence:
        raise ValueError("the sequence is empty")
    tensors = [element for element in sequence if isinstance(element, Tensor)]
    if len(tensors) == len(sequence):
        join = Tensor.stack if new_axis else Tensor.cat
        joined: Tensor = join(tensors[0], *tensors[1:], dim=axis)
        return joined
    arrays = [np.asarray(as_array(element)) for element in sequence]
    return np.stack(arrays, axis) if new_axis else np.concatenate(arrays, axis)


def _place(position: Array, count: int, more: int) -> int:
    """A position from the front. Raises `ValueError` for one outside of the sequence."""
    place = int(np.ravel(position)[0])
    if not -count <= place < count + more:
        raise ValueError(f"position {place} in a sequence of {count}")
    return place + count if place < 0 else place


def _cut(x: Tensor | Array, dim: int, sizes: Sequence[int]) -> list[Value]:
    parts: list[Value] = []
    start = 0
    for size in sizes:
        parts.append(x[(slice(None),) * dim + (slice(start, start + size),)])
        start += size
    return parts


def _without(part: Value, dim: int) -> Value:
    if isinstance(part, Tensor):
        return part.squeeze(dim)
    return np.squeeze(np.asarray(part), dim)
