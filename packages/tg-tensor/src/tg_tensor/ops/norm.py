"""Normalization and dropout."""

from __future__ import annotations

from typing import Self

from tg_uop import DType, dtypes
from tg_uop.dtype.promote import sum_acc_dtype
from tg_uop.methods.reduce import Axis
from tg_uop.plain import plain_sequence

from tg_tensor.errors import ArgumentError
from tg_tensor.ops.adaptive import AdaptivePoolOps


class NormOps(AdaptivePoolOps):
    """Layers that normalize, and dropout."""

    __slots__ = ()

    def layernorm(self, axis: int | tuple[int, ...] = -1, eps: float = 1e-05) -> Self:
        """Mean 0 and variance 1 over an axis or several."""
        wide = self._as_float().cast(sum_acc_dtype(self._as_float().dtype))
        centered = wide - wide.mean(axis, keepdim=True)
        scale = ((centered * centered).mean(axis, keepdim=True) + eps).rsqrt()
        return (centered * scale).cast(self._as_float().dtype)

    def batchnorm(
        self,
        weight: Self | None,
        bias: Self | None,
        mean: Self,
        invstd: Self,
        axis: int | tuple[int, ...] = 1,
    ) -> Self:
        """(self - mean) * invstd * weight + bias, each given for an axis (or several)."""
        axes = {self._axis(a) for a in plain_sequence(axis)}  # type: ignore[arg-type]
        shape = tuple(size if i in axes else 1 for i, size in enumerate(self.shape))
        value = self - mean.reshape(shape)
        # one scale an element of the axis: a product less in the large value
        scale = invstd.reshape(shape) if invstd.ndim == len(axes) else invstd
        if weight is not None:
            scale = scale * weight.reshape(shape)
        value = value * scale
        return value if bias is None else value + bias.reshape(shape)

    def normalize(self, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Self:
        """Divided by the p-norm along an axis, which counts as `eps` at least."""
        return self / self._norm(p, dim).maximum(eps)

    def renorm(self, p: float, dim: int, maxnorm: float) -> Self:
        """Each part along `dim` with a p-norm above `maxnorm` scaled down to it.

        Raises `ArgumentError` for a p that is not above 0 and a negative `maxnorm`.
        """
        if p <= 0 or maxnorm < 0:
            raise ArgumentError(
                op="renorm",
                argument="p, maxnorm",
                given=(p, maxnorm),
                expected="above 0, and 0 or more",
            )
        kept = self._axis(dim)
        size = self._norm(p, tuple(axis for axis in range(self.ndim) if axis != kept))
        return self * (size > maxnorm).where(maxnorm / (size + 1e-7), 1)

    def _norm(self, p: float, axis: Axis) -> Self:
        """The p-norm along axes, which stay as size 1; its gradient at 0 is 0."""
        given = self._as_float()
        value = given.cast(sum_acc_dtype(given.dtype))
        if p == float("inf"):
            found = value.abs().max(axis, keepdim=True)
        elif p == 0:
            found = value.ne(0).cast(value.dtype).sum(axis, keepdim=True)
        elif p == 1:
            found = value.abs().sum(axis, keepdim=True)
        else:
            size = value.square() if p == 2 else value.abs().pow(p)
            total = size.sum(axis, keepdim=True)
            # the root is not differentiable at 0: there a constant is taken
            is_zero = total.eq(0)
            kept = is_zero.where(1, total)
            found = is_zero.where(0, kept.sqrt() if p == 2 else kept.pow(1 / p))
        return found.cast(given.dtype)

    def dropout(self, p: float = 0.5) -> Self:
        """While `Tensor.training`, zeros with probability p, the rest scaled by 1 / (1 - p).

        Raises `ArgumentError` for a p outside of 0..1.
        """
        kept = self._kept_mask(p, self.shape)
        if kept is None:
            return self._itself()
        if p == 1:
            return self.const_like(0)
        return kept.where(self, 0) * (1 / (1 - p))

    def _kept_mask(self, p: float, shape: tuple[int, ...]) -> Self | None:
        """What dropout keeps, None where it drops nothing."""
        if not 0 <= p <= 1:
            raise ArgumentError(op="dropout", argument="p", given=p, expected="0 to 1")
        if not getattr(type(self), "training", False) or p == 0:
            return None
        drawn = self.rand(shape, device=self.device, dtype=dtypes.float32, contiguous=False)
        return (drawn >= p).contiguous()

    # *** softmax of nothing ***

    def softmax(self, axis: int = -1, dtype: DType | None = None) -> Self:
        """exp(x) over its sum along `axis`; of an empty axis it is empty."""
        if self._is_empty_along(axis):
            return self._as_float() if dtype is None else self.cast(dtype)
        return super().softmax(axis, dtype)

    def log_softmax(self, axis: int = -1, dtype: DType | None = None) -> Self:
        """The logarithm of the softmax; of an empty axis it is empty."""
        if self._is_empty_along(axis):
            return self._as_float() if dtype is None else self.cast(dtype)
        return super().log_softmax(axis, dtype)

    def _is_empty_along(self, axis: int) -> bool:
        return (
            bool(self.shape)
            and isinstance(self.shape[self._axis(axis)], int)
            and (self.shape[self._axis(axis)] == 0)
        )
