"""Steps of optimizers, of ai.onnx.preview.training: rate, count, then tensors in groups."""

from __future__ import annotations

from collections.abc import Sequence

from tg_tensor import Tensor

from tg_onnx.registry import operator

DOMAIN = "ai.onnx.preview.training"


@operator("Adagrad", domain=DOMAIN)
def adagrad(
    rate: Tensor,
    count: Tensor,
    *tensors: Tensor,
    decay_factor: float = 0.0,
    epsilon: float = 1e-6,
    norm_coefficient: float = 0.0,
) -> tuple[Tensor, ...]:
    """Weights and sums of squares, from weights, gradients and sums (Duchi and others, 2011)."""
    steps, sums = [], []
    for weight, gradient, total in _grouped(tensors, 3):
        slope = gradient + weight * norm_coefficient
        grown = total + slope * slope
        step = rate / (1 + count.cast(weight.dtype) * decay_factor)
        steps.append(_like(weight, weight - step * slope / (grown.sqrt() + epsilon)))
        sums.append(_like(weight, grown))
    return (*steps, *sums)


@operator("Adam", domain=DOMAIN)
def adam(
    rate: Tensor,
    count: Tensor,
    *tensors: Tensor,
    alpha: float = 0.9,
    beta: float = 0.999,
    epsilon: float = 0.0,
    norm_coefficient: float = 0.0,
    norm_coefficient_post: float = 0.0,
) -> tuple[Tensor, ...]:
    """Weights and both means, from weights, gradients and means (Kingma and Ba, 2014)."""
    steps, means, squares = [], [], []
    for weight, gradient, mean, square in _grouped(tensors, 4):
        slope = gradient + weight * norm_coefficient
        new_mean = mean * alpha + slope * (1 - alpha)
        new_square = square * beta + slope * slope * (1 - beta)
        number = count.cast(weight.dtype)
        started = (number > 0).where(
            (1 - (number * 0 + beta).pow(number)).sqrt() / (1 - (number * 0 + alpha).pow(number)), 1
        )
        moved = weight - rate * started * new_mean / (new_square.sqrt() + epsilon)
        steps.append(_like(weight, moved * (1 - norm_coefficient_post)))
        means.append(_like(weight, new_mean))
        squares.append(_like(weight, new_square))
    return (*steps, *means, *squares)


@operator("Momentum", domain=DOMAIN)
def momentum(
    rate: Tensor,
    count: Tensor,
    *tensors: Tensor,
    alpha: float,
    beta: float,
    mode: str,
    norm_coefficient: float,
) -> tuple[Tensor, ...]:
    """Weights and velocities, from weights, gradients and velocities."""
    steps, velocities = [], []
    for weight, gradient, velocity in _grouped(tensors, 3):
        slope = gradient + weight * norm_coefficient
        share = (count > 0).where(beta, 1.0).cast(weight.dtype)
        new = velocity * alpha + slope * share
        direction = slope + new * alpha if mode == "nesterov" else new
        steps.append(_like(weight, weight - rate * direction))
        velocities.append(_like(weight, new))
    return (*steps, *velocities)


def _grouped(tensors: Sequence[Tensor], groups: int) -> list[tuple[Tensor, ...]]:
    """For each weight, its tensor of each group."""
    count = len(tensors) // groups
    return [tuple(tensors[i + g * count] for g in range(groups)) for i in range(count)]


def _like(weight: Tensor, value: Tensor) -> Tensor:
    """A value in the shape and dtype of a weight: rate and count may have an axis of their own."""
    return value.reshape(weight.shape).cast(weight.dtype)
