"""Operators that draw random numbers: by the state of Tensor, or the same ones from a seed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tg_tensor import Tensor, dtypes
from tg_tensor.defaults import DeviceName
from tg_uop import DType

from tg_onnx.ops.sampling import working_dtype
from tg_onnx.proto import DTYPE_OF_ELEMENT
from tg_onnx.registry import operator

FLOAT = 1
INT32 = 6


@operator("RandomNormal")
def random_normal(
    *,
    shape: Sequence[int],
    dtype: int = FLOAT,
    mean: float = 0.0,
    scale: float = 1.0,
    seed: float | None = None,
) -> Tensor:
    """Numbers of a normal distribution."""
    return _normal(shape, DTYPE_OF_ELEMENT[dtype], mean, scale, seed, None)


@operator("RandomNormalLike")
def random_normal_like(
    x: Tensor,
    *,
    dtype: int | None = None,
    mean: float = 0.0,
    scale: float = 1.0,
    seed: float | None = None,
) -> Tensor:
    """Numbers of a normal distribution, in the shape of another tensor."""
    return _normal(_sizes(x), _dtype(x, dtype), mean, scale, seed, x.device)


@operator("RandomUniform")
def random_uniform(
    *,
    shape: Sequence[int],
    dtype: int = FLOAT,
    low: float = 0.0,
    high: float = 1.0,
    seed: float | None = None,
) -> Tensor:
    """Numbers from `low` up to `high`, all equally likely."""
    return _uniform(shape, DTYPE_OF_ELEMENT[dtype], low, high, seed, None)


@operator("RandomUniformLike")
def random_uniform_like(
    x: Tensor,
    *,
    dtype: int | None = None,
    low: float = 0.0,
    high: float = 1.0,
    seed: float | None = None,
) -> Tensor:
    """Numbers from `low` up to `high`, in the shape of another tensor."""
    return _uniform(_sizes(x), _dtype(x, dtype), low, high, seed, x.device)


@operator("Bernoulli", since=15)
def bernoulli(x: Tensor, *, dtype: int | None = None, seed: float | None = None) -> Tensor:
    """1 with the probability that each element is, and else 0."""
    drawn = _uniform(_sizes(x), dtypes.float32, 0.0, 1.0, seed, x.device)
    return (drawn < x).cast(_dtype(x, dtype))


@operator("Multinomial", since=7)
def multinomial(
    x: Tensor, *, dtype: int = INT32, sample_size: int = 1, seed: float | None = None
) -> Tensor:
    """Columns drawn for each row, which holds the logarithms of their weights."""
    rows = int(x.shape[0])
    weights = x.cast(dtypes.float32).softmax(-1)
    drawn = _uniform((rows, sample_size), dtypes.float32, 0.0, 1.0, seed, x.device)
    upto = weights.cumsum(-1)
    total = upto[:, -1:]
    below = (upto.unsqueeze(1) <= (drawn * total).unsqueeze(2)).sum(2)
    return below.minimum(int(x.shape[1]) - 1).cast(DTYPE_OF_ELEMENT[dtype])


def _normal(
    shape: Sequence[int],
    dtype: DType,
    mean: float,
    scale: float,
    seed: float | None,
    device: DeviceName | None,
) -> Tensor:
    if seed is None:
        numbers = Tensor.randn(*shape, dtype=working_dtype(dtype), device=device)
    else:
        numbers = Tensor(_generator(seed).standard_normal(tuple(shape)), device=device)
    return (numbers * scale + mean).cast(dtype)


def _uniform(
    shape: Sequence[int],
    dtype: DType,
    low: float,
    high: float,
    seed: float | None,
    device: DeviceName | None,
) -> Tensor:
    if seed is None:
        numbers = Tensor.rand(*shape, dtype=working_dtype(dtype), device=device)
    else:
        numbers = Tensor(_generator(seed).random(tuple(shape)), device=device)
    return (numbers * (high - low) + low).cast(dtype)


def _generator(seed: float) -> np.random.Generator:
    """Numbers that a seed alone decides, the same at each call."""
    return np.random.default_rng(np.frombuffer(np.float32(seed).tobytes(), np.uint32))


def _sizes(x: Tensor) -> tuple[int, ...]:
    return tuple(int(size) for size in x.shape)


def _dtype(x: Tensor, element: int | None) -> DType:
    return x.dtype if element is None else DTYPE_OF_ELEMENT[element]
