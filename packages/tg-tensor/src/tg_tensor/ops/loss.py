"""Loss functions of training."""

from __future__ import annotations

from typing import Self

from tg_uop import dtypes
from tg_uop.errors import DTypeError, ShapeError

from tg_tensor.errors import ArgumentError
from tg_tensor.ops.layer_norms import LayerNormOps


class LossOps(LayerNormOps):
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
            return self._itself()
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

    def binary_cross_entropy(
        self, target: Self, weight: Self | None = None, reduction: str = "mean"
    ) -> Self:
        """`binary_crossentropy` by PyTorch's name, each loss times `weight`."""
        loss = self.binary_crossentropy(target, "none")
        return (loss if weight is None else loss * weight)._reduced(reduction)

    def binary_cross_entropy_with_logits(
        self,
        target: Self,
        weight: Self | None = None,
        reduction: str = "mean",
        pos_weight: Self | None = None,
    ) -> Self:
        """`binary_crossentropy_logits` by PyTorch's name, each loss times `weight`."""
        loss = self.binary_crossentropy_logits(target, "none", pos_weight)
        return (loss if weight is None else loss * weight)._reduced(reduction)

    def cross_entropy(
        self,
        Y: Self,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
        weight: Self | None = None,
        ignore_index: int = -100,
    ) -> Self:
        """-sum of Y log_softmax(self) over axis 1; Y holds classes, or a probability for each.

        `weight` scales the classes; places with the class `ignore_index` count nothing, and their
        mean is NaN when there are no others. Raises `ShapeError` when the shapes do not fit,
        `ArgumentError` for a smoothing not in 0..1.
        """
        _check_smoothing(label_smoothing)
        axis = 0 if self.ndim == 1 else 1
        if Y.ndim == self.ndim - 1 and not Y.dtype.is_float:
            log_probability = self.log_softmax(axis)
            if not label_smoothing:
                return log_probability.nll_loss(Y, weight, ignore_index, reduction)
            return log_probability._smoothed_loss(
                Y, reduction, label_smoothing, weight, ignore_index
            )
        if Y.shape != self.shape:
            raise ShapeError(
                op="cross_entropy",
                shapes=(self.shape, Y.shape),
                reason="targets are classes (one axis less) or probabilities (the same shape)",
            )
        target = Y.cast(self._as_float().dtype)
        target = target * (1 - label_smoothing) + label_smoothing / self.shape[axis]
        if weight is not None:
            target = target * self._class_weights(weight, axis)
        loss = -(self.log_softmax(axis) * target).sum(axis)
        return loss._reduced(reduction)

    def _class_weights(self, weight: Self, axis: int) -> Self:
        """One weight a class in the shape of the logits."""
        if weight.shape != (self.shape[axis],):
            raise ShapeError(
                op="loss",
                shapes=(self.shape, weight.shape),
                reason=f"there is one weight for each of the {self.shape[axis]} classes",
            )
        return weight.reshape(tuple(-1 if i == axis else 1 for i in range(self.ndim)))

    def _smoothed_loss(
        self, Y: Self, reduction: str, smoothing: float, weight: Self | None, ignore_index: int
    ) -> Self:
        """Of log-probabilities: a share of the target is spread evenly over all classes."""
        axis = 0 if self.ndim == 1 else 1
        spread = self if weight is None else self * self._class_weights(weight, axis)
        even = -spread.sum(axis)
        counted = self._counted(Y, ignore_index)
        if counted is not None:
            even = counted.where(even, 0)
        loss = self.nll_loss(Y, weight, ignore_index, "none") * (1 - smoothing)
        loss = loss + even * (smoothing / self.shape[axis])
        if reduction != "mean":
            return loss._reduced(reduction)
        return loss.sum() / self._total_weight(Y, weight, counted)

    def _counted(self, Y: Self, ignore_index: int | None) -> Self | None:
        """Where a class is not the ignored one; None where none can be."""
        if ignore_index is None or (ignore_index < 0 and Y.dtype.is_unsigned):
            return None
        return Y.ne(ignore_index)

    def _total_weight(self, Y: Self, weight: Self | None, counted: Self | None) -> Self:
        """What a mean over classes is divided by."""
        if weight is None:
            total = counted.sum() if counted is not None else self._of(self.ufix(Y.numel()).uop)
            return total.cast(self.dtype)
        picked = weight._class_of(Y)
        return (picked if counted is None else counted.where(picked, 0)).sum()

    def _class_of(self, Y: Self) -> Self:
        """The element of a vector that each class names; 0 for one outside."""
        named = Y._as_places()
        classes = self._iota(self.shape[0], self.device, dtypes.int32).cast(named.dtype)
        hits = named.unsqueeze(-1).eq(classes)
        return hits.where(self, 0)._only_one(Y.ndim)

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
        ignore_index: int | None = -100,
        reduction: str = "mean",
    ) -> Self:
        """Minus the log-probability (self, axis 1) of each class in Y, weighted by class.

        The mean is over the weights; places with `ignore_index` count nothing, and their mean is
        NaN when there are no others. Raises `ShapeError` when the shapes do not fit.
        """
        axis = 0 if self.ndim == 1 else 1
        picked = -self._of_class(Y, axis)
        if weight is not None:
            self._class_weights(weight, axis)
            picked = picked * weight._class_of(Y)
        counted = self._counted(Y, ignore_index)
        # an ignored class may be outside of the axis, whatever was read there
        loss = picked if counted is None else counted.where(picked, 0)
        if reduction != "mean":
            return loss._reduced(reduction)
        if weight is None and counted is None:
            return loss.mean()
        return loss.sum() / self._total_weight(Y, weight, counted)

    def sparse_categorical_crossentropy(
        self,
        Y: Self,
        ignore_index: int = -1,
        label_smoothing: float = 0.0,
        reduction: str = "mean",
    ) -> Self:
        """Cross entropy of logits (classes on the last axis) with classes Y.

        Places with `ignore_index` count nothing, also in the mean. Raises `ShapeError` unless there
        is one class for each row of logits, `DTypeError` for classes that are no integers.
        """
        _check_smoothing(label_smoothing)
        _check_classes(self, Y)
        log_probability = self.log_softmax(-1)
        counted = Y.ne(ignore_index)
        named = Y._as_places()
        classes = self._iota(self.shape[-1], self.device, dtypes.int32).cast(named.dtype)
        hits = named.unsqueeze(-1).eq(classes)
        loss = -hits.where(log_probability, 0).sum(-1)
        if label_smoothing:
            smooth = -log_probability.mean(-1)
            loss = loss * (1 - label_smoothing) + smooth * label_smoothing
        loss = counted.where(loss, 0)
        if reduction == "mean":
            return loss.sum() / counted.sum().cast(loss.dtype)
        return loss._reduced(reduction)


def _check_classes(logits: LossOps, classes: LossOps) -> None:
    if classes.dtype.is_float:
        raise DTypeError(
            what="sparse_categorical_crossentropy",
            dtypes=[logits.dtype, classes.dtype],
            reason="classes are integers",
            hint="cross_entropy takes probabilities of classes too",
        )
    if tuple(classes.shape) != tuple(logits.shape[:-1]):
        raise ShapeError(
            op="sparse_categorical_crossentropy",
            shapes=(logits.shape, classes.shape),
            reason="the classes must have the shape of the logits without their last axis",
            hint="reshape them, or use cross_entropy, whose classes are on axis 1",
        )


def _check_smoothing(value: float) -> None:
    if not 0 <= value <= 1:
        raise ArgumentError(
            op="cross_entropy", argument="label_smoothing", given=value, expected="0 to 1"
        )
