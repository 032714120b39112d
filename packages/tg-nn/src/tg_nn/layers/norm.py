"""Normalizations as layers."""

from __future__ import annotations

import math
from typing import ClassVar

from tg_tensor import Tensor, dtypes
from tg_uop.arguments import methods_name_bad_arguments

from tg_nn.errors import LayerError
from tg_nn.layers.checks import check_counts, check_input, check_number, check_sizes


def _statistic(start: Tensor) -> Tensor:
    """Memory of its own that optimizers leave alone."""
    return start.contiguous().requires_grad_(False)


@methods_name_bad_arguments()
class BatchNorm:
    """Normalize each channel (axis 1) over batch and space.

    Batch Normalization (Ioffe and Szegedy, 2015). In training the statistics of the batch are
    used, and running ones updated with `momentum`; otherwise the running ones are used.
    """

    LEAST_AXES: ClassVar[int] = 2

    def __init__(
        self,
        sz: int,
        eps: float = 1e-5,
        affine: bool = True,
        track_running_stats: bool = True,
        momentum: float = 0.1,
    ) -> None:
        layer = f"{type(self).__name__}({sz!r})"
        check_counts(layer, sz=sz)
        check_number(layer, 0, math.inf, eps=eps)
        check_number(layer, 0, 1, momentum=momentum)
        self.num_features = sz
        self.eps = eps
        self.momentum = momentum
        self.track_running_stats = track_running_stats
        self.weight = Tensor.ones(sz).contiguous() if affine else None
        self.bias = Tensor.zeros(sz).contiguous() if affine else None
        self.num_batches_tracked: Tensor | None = None
        if track_running_stats:
            self.num_batches_tracked = _statistic(Tensor.zeros(dtype=dtypes.int64))
            self.running_mean = _statistic(Tensor.zeros(sz))
            self.running_var = _statistic(Tensor.ones(sz))

    def calc_stats(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and biased variance of each channel, (channels,) each."""
        if self.track_running_stats and not Tensor.training:
            return self.running_mean, self.running_var
        axes = tuple(axis for axis in range(x.ndim) if axis != 1)
        mean = x.mean(axes)
        centered = x - mean.reshape((1, -1) + (1,) * (x.ndim - 2))
        return mean, centered.square().mean(axes)

    def __call__(self, x: Tensor) -> Tensor:
        """x (batch, channels, ...) gives the same shape."""
        layer = f"{type(self).__name__}({self.num_features})"
        check_input(layer, x, 1, self.num_features, self.LEAST_AXES)
        mean, var = self.calc_stats(x)
        if self.track_running_stats and Tensor.training:
            self._update_running(x, mean.detach(), var.detach())
        return x.batchnorm(self.weight, self.bias, mean, (var + self.eps).rsqrt())

    def _update_running(self, x: Tensor, mean: Tensor, var: Tensor) -> None:
        """The running variance is the unbiased one, as in PyTorch."""
        count = int(x.numel()) // self.num_features
        unbiased = var * (count / max(count - 1, 1))
        kept = 1 - self.momentum
        self.running_mean.assign(kept * self.running_mean + self.momentum * mean)
        self.running_var.assign(kept * self.running_var + self.momentum * unbiased)
        assert self.num_batches_tracked is not None, "running statistics are counted"
        self.num_batches_tracked.assign(self.num_batches_tracked + 1)


@methods_name_bad_arguments()
class BatchNorm2d(BatchNorm):
    """`BatchNorm` of what has an axis of space at least; (batch, channels) is refused."""

    LEAST_AXES = 3


@methods_name_bad_arguments()
class BatchNorm3d(BatchNorm2d):
    """`BatchNorm2d` by another name."""


@methods_name_bad_arguments()
class GroupNorm:
    """Normalize groups of channels of each sample (Wu and He, 2018)."""

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True
    ) -> None:
        layer = type(self).__name__
        check_counts(layer, num_groups=num_groups, num_channels=num_channels)
        check_number(layer, 0, math.inf, eps=eps)
        if num_channels % num_groups:
            raise LayerError(
                layer=layer, reason=f"{num_groups} groups do not divide {num_channels}"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.weight = Tensor.ones(num_channels).contiguous() if affine else None
        self.bias = Tensor.zeros(num_channels).contiguous() if affine else None

    def __call__(self, x: Tensor) -> Tensor:
        """x (batch, channels, ...) gives the same shape."""
        layer = f"{type(self).__name__}({self.num_groups}, {self.num_channels})"
        check_input(layer, x, 1, self.num_channels, 2)
        grouped = x.reshape(x.shape[0], self.num_groups, -1)
        normed = grouped.layernorm(eps=self.eps).reshape(x.shape)
        if self.weight is None or self.bias is None:
            return normed
        shape = (1, -1) + (1,) * (x.ndim - 2)
        return normed * self.weight.reshape(shape) + self.bias.reshape(shape)


@methods_name_bad_arguments()
class InstanceNorm(GroupNorm):
    """Normalize each channel of each sample (Ulyanov and others, 2016)."""

    def __init__(self, num_features: int, eps: float = 1e-5, affine: bool = True) -> None:
        check_counts("InstanceNorm", num_features=num_features)
        super().__init__(num_features, num_features, eps, affine)


@methods_name_bad_arguments()
class LayerNorm:
    """Normalize over the last axes, those of `normalized_shape` (Ba, Kiros and Hinton, 2016)."""

    def __init__(
        self,
        normalized_shape: int | tuple[int, ...],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
    ) -> None:
        single = isinstance(normalized_shape, int)
        self.normalized_shape: tuple[int, ...] = (
            (normalized_shape,) if single else tuple(normalized_shape)  # type: ignore[arg-type, assignment]
        )
        layer = f"{type(self).__name__}({normalized_shape!r})"
        if not self.normalized_shape:
            raise LayerError(layer=layer, reason="there are no axes to normalize over")
        check_sizes(layer, 1, normalized_shape=self.normalized_shape)
        check_number(layer, 0, math.inf, eps=eps)
        self.eps = eps
        shape = self.normalized_shape
        self.weight = Tensor.ones(*shape).contiguous() if elementwise_affine else None
        has_bias = elementwise_affine and bias
        self.bias = Tensor.zeros(*shape).contiguous() if has_bias else None

    def __call__(self, x: Tensor) -> Tensor:
        """x (..., *normalized_shape) gives the same shape."""
        dims = len(self.normalized_shape)
        if tuple(x.shape[-dims:]) != self.normalized_shape:
            raise LayerError(
                layer=f"LayerNorm({self.normalized_shape})",
                reason=f"the input has shape {x.shape}",
                hint="its last axes must be those of the layer",
            )
        normed = x.layernorm(axis=tuple(range(-dims, 0)), eps=self.eps)
        if self.weight is None:
            return normed
        scaled = normed * self.weight
        return scaled if self.bias is None else scaled + self.bias


@methods_name_bad_arguments()
class LayerNorm2d(LayerNorm):
    """LayerNorm over the channels (axis 1) of (batch, channels, height, width)."""

    def __call__(self, x: Tensor) -> Tensor:
        """x (batch, channels, h, w) gives the same shape."""
        check_input(f"LayerNorm2d({self.normalized_shape})", x, 1, self.normalized_shape[0], 4)
        return super().__call__(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


@methods_name_bad_arguments()
class RMSNorm:
    """Divide by the root of the mean square over the last axis (Zhang and Sennrich, 2019)."""

    def __init__(self, dim: int, eps: float = 1e-6, elementwise_affine: bool = True) -> None:
        check_counts("RMSNorm", dim=dim)
        check_number("RMSNorm", 0, math.inf, eps=eps)
        self.dim = dim
        self.eps = eps
        self.weight = Tensor.ones(dim).contiguous() if elementwise_affine else None

    def __call__(self, x: Tensor) -> Tensor:
        """x (..., dim) gives the same shape and dtype; the mean is taken in float32 at least."""
        check_input(f"RMSNorm({self.dim})", x, -1, self.dim, 1)
        wide = x.float() if x.dtype in (dtypes.float16, dtypes.bfloat16) else x
        scale = (wide.square().mean(-1, keepdim=True) + self.eps).rsqrt()
        normed = (wide * scale).cast(x.dtype)
        return normed if self.weight is None else normed * self.weight
