"""Operators that act otherwise in training: BatchNormalization, Dropout."""

from __future__ import annotations

import numpy as np
from tg_tensor import Tensor, dtypes

from tg_onnx.ops.sampling import working_dtype
from tg_onnx.proto import Array
from tg_onnx.registry import operator


@operator("BatchNormalization")
def batch_normalization_by_outputs(
    x: Tensor,
    scale: Tensor,
    bias: Tensor,
    mean: Tensor,
    var: Tensor,
    *,
    n_outputs: int,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    spatial: int = 1,
    is_test: int = 0,
) -> Tensor | tuple[Tensor, ...]:
    """Before opset 14 a node is one of training if it has more outputs than one.

    These are the running mean and variance, and those of the batch. Without `spatial` each place
    has statistics of its own.
    """
    if n_outputs == 1 or is_test:
        return normalized(x, scale, bias, mean, var, epsilon)
    axes = (0, *range(2, x.ndim)) if spatial else (0,)
    own_mean, own_var = _statistics(x, axes)
    result = normalized(x, scale, bias, own_mean, own_var, epsilon)
    running = _moved(mean, own_mean, momentum), _moved(var, own_var, momentum)
    saved = own_mean.cast(mean.dtype), own_var.cast(var.dtype)
    return (result, *running, *saved)[:n_outputs]


@operator("BatchNormalization", since=14)
def batch_normalization(
    x: Tensor,
    scale: Tensor,
    bias: Tensor,
    mean: Tensor,
    var: Tensor,
    *,
    n_outputs: int,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    training_mode: int = 0,
) -> Tensor | tuple[Tensor, ...]:
    """Normalize each channel by given statistics, or in training by those of the batch."""
    if not training_mode:
        result = normalized(x, scale, bias, mean, var, epsilon)
        return (result, mean, var)[:n_outputs]
    own_mean, own_var = _statistics(x, (0, *range(2, x.ndim)))
    result = normalized(x, scale, bias, own_mean, own_var, epsilon)
    running = _moved(mean, own_mean, momentum), _moved(var, own_var, momentum)
    return (result, *running)[:n_outputs]


def normalized(
    x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, var: Tensor, epsilon: float
) -> Tensor:
    """(x - mean) / sqrt(var + epsilon) * scale + bias, by channel or by place of a sample."""
    if mean.ndim > 1:
        inverse = (var + epsilon).rsqrt()
        return ((x - mean) * (inverse * scale) + bias).cast(x.dtype)
    wide = x.cast(var.dtype) if x.dtype.itemsize < var.dtype.itemsize else x
    return wide.batchnorm(scale, bias, mean, (var + epsilon).rsqrt()).cast(x.dtype)


def _statistics(x: Tensor, axes: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    wide = x.cast(working_dtype(x.dtype))
    return wide.mean(axes), wide.var(axes, correction=0)


def _moved(old: Tensor, new: Tensor, momentum: float) -> Tensor:
    return (old.cast(new.dtype) * momentum + new * (1 - momentum)).cast(old.dtype)


@operator("Dropout")
def dropout_attribute(
    x: Tensor,
    *,
    n_outputs: int,
    ratio: float = 0.5,
    is_test: int = 1,
) -> Tensor | tuple[Tensor, Tensor]:
    """Before opset 12 nothing happens when a model is run."""
    return x if n_outputs == 1 else (x, _all_kept(x))


@operator("Dropout", since=12, host=(1, 2))
def dropout(
    x: Tensor,
    ratio: Array | None = None,
    training_mode: Array | None = None,
    *,
    n_outputs: int,
    seed: int | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """In training, each element is 0 with probability `ratio` and grows by the rest otherwise.

    With a seed the same elements are kept in every call.
    """
    share = 0.5 if ratio is None else float(np.ravel(ratio)[0])
    is_training = training_mode is not None and bool(np.ravel(training_mode)[0])
    if not is_training or share == 0:
        return x if n_outputs == 1 else (x, _all_kept(x))
    if not 0 <= share < 1:
        raise ValueError(f"ratio {share} is not in [0, 1)")
    kept = _random(x, seed) >= share
    result = kept.where(x * (1 / (1 - share)), 0).cast(x.dtype)
    return result if n_outputs == 1 else (result, kept)


def _all_kept(x: Tensor) -> Tensor:
    return x.full_like(1).bool()


def _random(x: Tensor, seed: int | None) -> Tensor:
    """A number in [0, 1) for each element; with a seed those of the onnx package's reference."""
    if seed is None:
        return Tensor.rand(*x.shape, dtype=dtypes.float32, device=x.device)
    shape = tuple(int(size) for size in x.shape)
    numbers = np.random.RandomState(seed & 0xFFFFFFFF).uniform(0, 1, shape)
    return Tensor(numbers, device=x.device)
