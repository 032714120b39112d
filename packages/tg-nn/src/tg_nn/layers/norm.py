"""Normalizations as layers."""

from __future__ import annotations

from tg_tensor import Tensor, dtypes

from tg_nn.errors import LayerError


def _statistic(start: Tensor) -> Tensor:
    """Memory of its own that optimizers leave alone."""
    return start.contiguous().requires_grad_(False)


class BatchNorm:
    """Normalize each channel (axis 1) over batch and space.

    Batch Normalization (Ioffe and Szegedy, 2015). In training the statistics of the batch are
    used, and running ones updated with `momentum`; otherwise the running ones are used.
    """

    def __init__(
        self,
        sz: int,
        eps: float = 1e-5,
        affine: bool = True,
        track_running_stats: bool = True,
        momentum: float = 0.1,
    ) -> None:
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
        if x.ndim < 2 or x.shape[1] != self.num_features:
            raise LayerError(
                layer=f"BatchNorm({self.num_features})",
                reason=f"the input has shape {x.shape}",
                hint="axis 1 must have as many channels as the layer",
            )
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


BatchNorm2d = BatchNorm
BatchNorm3d = BatchNorm


class GroupNorm:
    """Normalize groups of channels of each sample (Wu and He, 2018)."""

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True
    ) -> None:
        if num_groups < 1 or num_channels % num_groups:
            raise LayerError(
                layer="GroupNorm", reason=f"{num_groups} groups do not divide {num_channels}"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.weight = Tensor.ones(num_channels).contiguous() if affine else None
        self.bias = Tensor.zeros(num_channels).contiguous() if affine else None

    def __call__(self, x: Tensor) -> Tensor:
        """x (batch, channels, ...) gives the same shape."""
        grouped = x.reshape(x.shape[0], self.num_groups, -1)
        normed = grouped.layernorm(eps=self.eps).reshape(x.shape)
        if self.weight is None or self.bias is None:
            return normed
        shape = (1, -1) + (1,) * (x.ndim - 2)
        return normed * self.weight.reshape(shape) + self.bias.reshape(shape)


class InstanceNorm(GroupNorm):
    """Normalize each channel of each sample (Ulyanov and others, 2016)."""

    def __init__(self, num_features: int, eps: float = 1e-5, affine: bool = True) -> None:
        super().__init__(num_features, num_features, eps, affine)


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


class LayerNorm2d(LayerNorm):
    """LayerNorm over the channels (axis 1) of (batch, channels, height, width)."""

    def __call__(self, x: Tensor) -> Tensor:
        """x (batch, channels, h, w) gives the same shape."""
        return super().__call__(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class RMSNorm:
    """Divide by the root of the mean square over the last axis (Zhang and Sennrich, 2019)."""

    def __init__(self, dim: int, eps: float = 1e-6, elementwise_affine: bool = True) -> None:
        self.eps = eps
        self.weight = Tensor.ones(dim).contiguous() if elementwise_affine else None

    def __call__(self, x: Tensor) -> Tensor:
        """x (..., dim) gives the same shape and dtype; the mean is taken in float32 at least."""
        wide = x.float() if x.dtype in (dtypes.float16, dtypes.bfloat16) else x
        scale = (wide.square().mean(-1, keepdim=True) + self.eps).rsqrt()
        normed = (wide * scale).cast(x.dtype)
        return normed if self.weight is None else normed * self.weight
