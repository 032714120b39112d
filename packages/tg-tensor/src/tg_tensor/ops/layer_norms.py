"""Normalizations and dropouts by the names and arguments of PyTorch's functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

from tg_uop import dtypes
from tg_uop.dtype.promote import sum_acc_dtype
from tg_uop.errors import ShapeError
from tg_uop.methods.windows import Window
from tg_uop.plain import plain_sequence

from tg_tensor.errors import ArgumentError
from tg_tensor.ops.norm import NormOps

# the limit of SELU far below 0 (Klambauer et al., 2017), which alpha dropout puts in place
_SELU_LIMIT = -1.7580993408473766


class LayerNormOps(NormOps):
    """layer_norm, group_norm and their kin; dropouts of whole channels."""

    __slots__ = ()

    # *** over the last axes ***

    def layer_norm(
        self,
        normalized_shape: int | Sequence[int],
        weight: Self | None = None,
        bias: Self | None = None,
        eps: float = 1e-5,
    ) -> Self:
        """Mean 0 and variance 1 over the last axes, then times `weight` plus `bias`.

        Raises `ShapeError` unless the last axes have the shape `normalized_shape`.
        """
        axes = self._last_axes("layer_norm", normalized_shape)
        return self.layernorm(axes, eps)._scaled(weight, bias)

    def rms_norm(
        self,
        normalized_shape: int | Sequence[int],
        weight: Self | None = None,
        eps: float | None = None,
    ) -> Self:
        """Divided by the root of the mean square over the last axes, then times `weight`.

        Without `eps` it is the distance from 1 to the next number. Raises `ShapeError` unless the
        last axes have the shape `normalized_shape`.
        """
        axes = self._last_axes("rms_norm", normalized_shape)
        value = self._as_float()
        floor = 2.0 ** -dtypes.finfo(value.dtype).mantissa if eps is None else eps
        wide = value.cast(sum_acc_dtype(value.dtype))
        scale = (wide.square().mean(axes, keepdim=True) + floor).rsqrt()
        return (wide * scale).cast(value.dtype)._scaled(weight, None)

    def _last_axes(self, op: str, normalized_shape: int | Sequence[int]) -> tuple[int, ...]:
        shape = plain_sequence(normalized_shape)
        count = len(shape)
        if not count or self.shape[-count:] != shape:
            raise ShapeError(
                op=op, shapes=(self.shape, shape), reason="the last axes have another shape"
            )
        return tuple(range(-count, 0))

    def _scaled(self, weight: Self | None, bias: Self | None) -> Self:
        scaled = self if weight is None else self * weight
        return scaled if bias is None else scaled + bias

    # *** over channels ***

    def group_norm(
        self,
        num_groups: int,
        weight: Self | None = None,
        bias: Self | None = None,
        eps: float = 1e-5,
    ) -> Self:
        """Mean 0 and variance 1 over groups of channels (axis 1) of each sample.

        Raises `ShapeError` when the groups do not divide the channels.
        """
        if self.ndim < 2 or num_groups < 1 or self.shape[1] % num_groups:
            raise ShapeError(
                op="group_norm",
                shapes=(self.shape,),
                reason=f"{num_groups} groups do not divide the channels",
            )
        grouped = self.reshape((self.shape[0], num_groups, -1)) if self.numel() else self
        normed = grouped.layernorm(-1, eps).reshape(self.shape)
        return normed._scaled(self._by_channel(weight), self._by_channel(bias))

    def instance_norm(
        self,
        running_mean: Self | None = None,
        running_var: Self | None = None,
        weight: Self | None = None,
        bias: Self | None = None,
        use_input_stats: bool = True,
        momentum: float = 0.1,
        eps: float = 1e-5,
    ) -> Self:
        """Mean 0 and variance 1 over each channel of each sample.

        Running statistics are updated with `momentum`, or used without `use_input_stats`.
        """
        if not use_input_stats:
            return self.batch_norm(running_mean, running_var, weight, bias, False, momentum, eps)
        axes = tuple(range(2, self.ndim))
        if running_mean is not None and running_var is not None:
            var, mean = self.detach().var_mean(axes)
            running_mean.assign(running_mean * (1 - momentum) + mean.mean(0) * momentum)
            running_var.assign(running_var * (1 - momentum) + var.mean(0) * momentum)
        normed = self.layernorm(axes, eps)
        return normed._scaled(self._by_channel(weight), self._by_channel(bias))

    def batch_norm(
        self,
        running_mean: Self | None,
        running_var: Self | None,
        weight: Self | None = None,
        bias: Self | None = None,
        training: bool = False,
        momentum: float = 0.1,
        eps: float = 1e-5,
    ) -> Self:
        """Normalized by statistics of channels (axis 1): running ones, or while `training` its own.

        Running ones are then updated in place. Raises `ArgumentError` without running ones when
        not training.
        """
        if not training:
            if running_mean is None or running_var is None:
                raise ArgumentError(
                    op="batch_norm",
                    argument="running_mean, running_var",
                    given=(running_mean, running_var),
                    expected="given, unless training",
                )
            return self.batchnorm(weight, bias, running_mean, (running_var + eps).rsqrt())
        axes = tuple(axis for axis in range(self.ndim) if axis != 1)
        mean = self.mean(axes)
        centered = self - mean.reshape((1, -1, *(1,) * (self.ndim - 2)))
        var = centered.square().mean(axes)
        if running_mean is not None and running_var is not None:
            count = self.numel() // max(self.shape[1], 1)
            unbiased = var.detach() * (count / max(count - 1, 1))
            running_mean.assign(running_mean * (1 - momentum) + mean.detach() * momentum)
            running_var.assign(running_var * (1 - momentum) + unbiased * momentum)
        return self.batchnorm(weight, bias, mean, (var + eps).rsqrt())

    def _by_channel(self, value: Self | None) -> Self | None:
        """One number a channel in the shape of this, None for None."""
        if value is None:
            return None
        return value.reshape((1, -1, *(1,) * (self.ndim - 2)))

    def local_response_norm(
        self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
    ) -> Self:
        """Divided by (k + alpha * mean square over `size` neighbouring channels) ** beta.

        Raises `ArgumentError` for a size below 1, `ShapeError` for fewer than three axes.
        """
        if size < 1:
            raise ArgumentError(
                op="local_response_norm", argument="size", given=size, expected="1 or more"
            )
        if self.ndim < 3:
            raise ShapeError(
                op="local_response_norm",
                shapes=(self.shape,),
                reason="there are a batch, channels and at least one more axis",
            )
        squares = self.square().transpose(1, -1)
        pads = [(0, 0)] * (self.ndim - 1) + [(size // 2, (size - 1) // 2)]
        means = squares._pad_zeros(pads)._windows([Window(size)]).mean(-1).transpose(1, -1)
        return self / (means * alpha + k).pow(beta)

    # *** dropout ***

    def dropout1d(self, p: float = 0.5) -> Self:
        """While `Tensor.training`, whole channels of (batch, channels, length) dropped."""
        return self._dropped_channels("dropout1d", p, 1)

    def dropout2d(self, p: float = 0.5) -> Self:
        """While `Tensor.training`, whole channels of (batch, channels, h, w) dropped."""
        return self._dropped_channels("dropout2d", p, 2)

    def dropout3d(self, p: float = 0.5) -> Self:
        """While `Tensor.training`, whole channels of (batch, channels, d, h, w) dropped."""
        return self._dropped_channels("dropout3d", p, 3)

    def _dropped_channels(self, op: str, p: float, count: int) -> Self:
        if self.ndim not in (count + 1, count + 2):
            raise ShapeError(
                op=op,
                shapes=(self.shape,),
                reason=f"channels and {count} more axes, with or without a batch, are needed",
            )
        front = self.shape[: self.ndim - count]
        kept = self._kept_mask(p, (*front, *(1,) * count))
        if kept is None:
            return self._itself()
        return kept.where(self, 0) * (1 / (1 - p) if p < 1 else 1.0)

    def alpha_dropout(self, p: float = 0.5) -> Self:
        """While `Tensor.training`, dropout that keeps mean and variance after SELU.

        Raises `ArgumentError` for a p outside of 0..1.
        """
        kept = self._kept_mask(p, self.shape)
        if kept is None:
            return self._itself()
        scale = math.sqrt(1 / ((1 - p) * (1 + p * _SELU_LIMIT**2))) if p < 1 else 0.0
        return kept.where(self, _SELU_LIMIT) * scale - scale * p * _SELU_LIMIT
