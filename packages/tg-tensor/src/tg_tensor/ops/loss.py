"""Loss functions of training."""

from __future__ import annotations

from typing import Self

from tg_uop import dtypes
from tg_uop.errors import ShapeError

from tg_tensor.errors import ArgumentError
from tg_tensor.ops.norm import NormOps


class LossOps(NormOps):
    """Losses by the names and defaults that PyTorch gives them."""

    __slots__ = ()

    def _reduced(self, reduction: str) -> Self:
        """The mean or sum of losses, or each of them.

        Raises `ArgumentError` for another reduction.
        """
        if reduction == "mean":
            return self.mean()
        if reduction == "sum":
            return self.sum()
        if reduction == "none":
            return self
        expected = "'mean', 'sum' or 'none'"
        raise ArgumentError(op="loss", argument="reduction", given=reduction, expected=expected)

    def binary_crossentropy(self, Y: Self, reduction: str = "mean") -> Self:
        """-(Y log(self) + (1 - Y) log(1 - self)) for probabilities; the logarithms end at -100."""
        positive = self.log().maximum(-100.0)
        negative = (1 - self).log().maximum(-100.0)
        return (-(Y * positive) - (1 - Y) * negative)._reduced(reduction)

    def binary_crossentropy_logits(
        self, Y: Self, reduction: str = "mean", pos_weight: Self | None = None
    ) -> Self:
        """The same for logits, without overflow; `pos_weight` scales the positive part."""
        positive = self.logsigmoid()
        if pos_weight is not None:
            positive = positive * pos_weight
        return (-(Y * positive) - (1 - Y) * (-self).logsigmoid())._reduced(reduction)

    def cross_entropy(self, Y: Self, reduction: str = "mean", label_smoothing: float = 0.0) -> Self:
        """-sum of Y log_softmax(self) over axis 1; Y holds classes, or a probability for each.

        Raises `ShapeError` when the shapes do not fit, `ArgumentError` for a smoothing not in 0..1.
        """
        _check_smoothing(label_smoothing)
        classes_axis = 0 if self.ndim == 1 else 1
        classes = self.shape[classes_axis]
        if Y.ndim == self.ndim - 1 and not Y.dtype.is_float:
            log_probability = self.log_softmax(classes_axis)
            loss = -log_probability._of_class(Y, classes_axis)
            if label_smoothing:
                smooth = -log_probability.mean(classes_axis)
                loss = loss * (1 - label_smoothing) + smooth * label_smoothing
            return loss._reduced(reduction)
        if Y.shape != self.shape:
            raise ShapeError(
                op="cross_entropy",
                shapes=(self.shape, Y.shape),
                reason="targets are classes (one axis less) or probabilities (the same shape)",
            )
        target = Y.cast(self._as_float().dtype)
        target = target * (1 - label_smoothing) + label_smoothing / classes
        loss = -(self.log_softmax(classes_axis) * target).sum(classes_axis)
        return loss._reduced(reduction)

    def _of_class(self, Y: Self, axis: int) -> Self:
        """The value of the class that Y names, for each place."""
        if Y.shape != (*self.shape[:axis], *self.shape[axis + 1 :]):
            raise ShapeError(
                op="loss",
                shapes=(self.shape, Y.shape),
                reason=f"classes have the shape of the logits without axis {axis}",
            )
        return self.gather(axis, Y.unsqueeze(axis)).squeeze(axis)

    def nll_loss(
        self,
        Y: Self,
        weight: Self | None = None,
        ignore_index: int | None = None,
        reduction: str = "mean",
    ) -> Self:
        """Minus the log-probability (self, axis 1) of each class in Y, weighted by class.

        The mean is over the weights; places with `ignore_index` count nothing.
        """
        axis = 0 if self.ndim == 1 else 1
        counted = self.const_like(1)._of_class(Y, axis) if weight is None else weight[Y]
        if ignore_index is not None:
            counted = Y.eq(ignore_index).where(0, counted)
        picked = -self._of_class(Y, axis)
        # an ignored class may be outside of the axis, whatever was read there
        loss = counted.eq(0).where(0, picked * counted)
        return loss.sum() / counted.sum() if reduction == "mean" else loss._reduced(reduction)

    def sparse_categorical_crossentropy(
        self,
        Y: Self,
        ignore_index: int = -1,
        label_smoothing: float = 0.0,
        reduction: str = "mean",
    ) -> Self:
        """Cross entropy of logits (classes on the last axis) with classes Y.

        Places with `ignore_index` count nothing, also in the mean.
        """
        _check_smoothing(label_smoothing)
        log_probability = self.log_softmax(-1)
        counted = Y.ne(ignore_index)
        classes = self._iota(self.shape[-1], self.device, dtypes.int32).cast(Y.dtype)
        hits = Y.unsqueeze(-1).eq(classes)
        loss = -hits.where(log_probability, 0).sum(-1)
        if label_smoothing:
            smooth = -log_probability.mean(-1)
            loss = loss * (1 - label_smoothing) + smooth * label_smoothing
        loss = counted.where(loss, 0)
        if reduction == "mean":
            return loss.sum() / counted.sum().cast(loss.dtype)
        return loss._reduced(reduction)


def _check_smoothing(value: float) -> None:
    if not 0 <= value <= 1:
        raise ArgumentError(
            op="cross_entropy", argument="label_smoothing", given=value, expected="0 to 1"
        )
