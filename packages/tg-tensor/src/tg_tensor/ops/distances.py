"""Losses of regression, of distributions and of embeddings, by PyTorch's names."""

from __future__ import annotations

import math
from typing import Self

from tg_uop import dtypes
from tg_uop.errors import ShapeError
from tg_uop.methods.broadcast import broadcast_shape

from tg_tensor.errors import ArgumentError
from tg_tensor.ops.blocks import BlockOps


class DistanceOps(BlockOps):
    """Each gives the mean of its losses, their sum, or all of them ("none")."""

    __slots__ = ()

    # *** regression ***

    def _difference(self, target: Self) -> Self:
        """What is off, as floats: the difference of integers could wrap."""
        value, wanted = self._float_pair(target)
        return value - wanted

    def mse_loss(self, target: Self, reduction: str = "mean") -> Self:
        """The squared differences."""
        return self._difference(target).square()._reduced(reduction)

    def l1_loss(self, target: Self, reduction: str = "mean") -> Self:
        """The absolute differences."""
        return self._difference(target).abs()._reduced(reduction)

    def smooth_l1_loss(self, target: Self, reduction: str = "mean", beta: float = 1.0) -> Self:
        """Squares over 2 beta for differences below `beta`, above it lines.

        Raises `ArgumentError` for a negative beta.
        """
        if beta < 0:
            raise ArgumentError(
                op="smooth_l1_loss", argument="beta", given=beta, expected="0 or more"
            )
        size = self._difference(target).abs()
        if beta == 0:
            return size._reduced(reduction)
        near = size.square() * (0.5 / beta)
        return (size < beta).where(near, size - 0.5 * beta)._reduced(reduction)

    def huber_loss(self, target: Self, reduction: str = "mean", delta: float = 1.0) -> Self:
        """Half the squares for differences below `delta`, above it lines of slope delta.

        Raises `ArgumentError` for a delta that is not above 0.
        """
        if delta <= 0:
            raise ArgumentError(op="huber_loss", argument="delta", given=delta, expected="above 0")
        size = self._difference(target).abs()
        far = (size - 0.5 * delta) * delta
        return (size <= delta).where(size.square() * 0.5, far)._reduced(reduction)

    # *** distributions ***

    def kl_div(self, target: Self, reduction: str = "mean", log_target: bool = False) -> Self:
        """target * (log target - self), for log-probabilities self; "batchmean" divides by axis 0.

        With `log_target` the target is one of log-probabilities, too.
        """
        if log_target:
            loss = target.exp() * (target - self)
        else:
            loss = target.xlogy(target) - target * self
        if reduction == "batchmean":
            return loss.sum() / max(self.shape[0] if self.shape else 1, 1)
        return loss._reduced(reduction)

    def poisson_nll_loss(
        self,
        target: Self,
        log_input: bool = True,
        full: bool = False,
        eps: float = 1e-8,
        reduction: str = "mean",
    ) -> Self:
        """Minus the log-likelihood of counts, for rates or (`log_input`) their logarithms.

        `full` adds Stirling's term for targets above 1.
        """
        loss = self.exp() - target * self if log_input else self - target * (self + eps).log()
        if full:
            safe = (target > 1).where(target, 1)
            stirling = safe * safe.log() - safe + (safe * (2 * math.pi)).log() * 0.5
            loss = loss + (target > 1).where(stirling, 0)
        return loss._reduced(reduction)

    def gaussian_nll_loss(
        self,
        target: Self,
        var: Self,
        full: bool = False,
        eps: float = 1e-6,
        reduction: str = "mean",
    ) -> Self:
        """Minus the log-likelihood of numbers, for means self and variances of at least `eps`."""
        if var.shape != self.shape and var.ndim == self.ndim - 1:
            var = var.unsqueeze(-1)
        kept = var + (var.clip(min=eps) - var).detach()
        loss = (kept.log() + (self - target).square() / kept) * 0.5
        if full:
            loss = loss + 0.5 * math.log(2 * math.pi)
        return loss._reduced(reduction)

    # *** margins ***

    def soft_margin_loss(self, target: Self, reduction: str = "mean") -> Self:
        """log(1 + exp(-target * self)) for targets of -1 and 1."""
        return (-target * self).softplus()._reduced(reduction)

    def hinge_embedding_loss(
        self, target: Self, margin: float = 1.0, reduction: str = "mean"
    ) -> Self:
        """Distances where the target is 1; where it is -1, what they lack to the margin."""
        lacking = (margin - self).relu()
        near = target.ne(-1).where(self, 0)
        return (near + target.ne(1).where(lacking, 0))._reduced(reduction)

    def margin_ranking_loss(
        self, other: Self, target: Self, margin: float = 0.0, reduction: str = "mean"
    ) -> Self:
        """How far this is not above `other` (below, for a target of -1) by the margin."""
        return (-target * (self - other) + margin).relu()._reduced(reduction)

    def multi_margin_loss(
        self,
        target: Self,
        p: int = 1,
        margin: float = 1.0,
        weight: Self | None = None,
        reduction: str = "mean",
    ) -> Self:
        """How far the scores of other classes come near that of the target's, mean over classes."""
        axis = 0 if self.ndim == 1 else 1
        own = self._of_class(target, axis).unsqueeze(axis)
        lacking = (margin - own + self).relu()
        if p != 1:
            lacking = lacking**p
        if weight is not None:
            lacking = lacking * weight._class_of(target).unsqueeze(axis)
        others = target.unsqueeze(-1).one_hot(self.shape[axis]).squeeze(-2).eq(0)
        return others.where(lacking, 0).mean(axis)._reduced(reduction)

    def multilabel_soft_margin_loss(
        self, target: Self, weight: Self | None = None, reduction: str = "mean"
    ) -> Self:
        """Binary cross entropy of logits, its mean over the last axis."""
        loss = self.binary_crossentropy_logits(target, "none")
        if weight is not None:
            loss = loss * weight
        return loss.mean(-1)._reduced(reduction)

    def multilabel_margin_loss(self, target: Self, reduction: str = "mean") -> Self:
        """How far the scores of other classes come near those of the target's, mean over classes.

        A row of `target` names classes up to the first -1. Raises `ShapeError` unless it has the
        shape of the scores.
        """
        if target.shape != self.shape:
            raise ShapeError(
                op="multilabel_margin_loss",
                shapes=(self.shape, target.shape),
                reason="each row of scores has a row of classes as long",
                hint="fill it up with -1",
            )
        classes = self.shape[-1]
        named = (target >= 0).cast(dtypes.int32).cumprod(-1).cast(dtypes.bool)
        chosen = named.where(target, 0)
        own = self.gather(-1, chosen).unsqueeze(-1)
        hits = chosen.unsqueeze(-1).one_hot(classes).squeeze(-2).cast(dtypes.bool)
        is_target = (hits & named.unsqueeze(-1)).any(-2)
        counts = named.unsqueeze(-1) & is_target.logical_not().unsqueeze(-2)
        lacking = (1 - own + self.unsqueeze(-2)).relu()
        return (counts.where(lacking, 0).sum((-2, -1)) / classes)._reduced(reduction)

    # *** embeddings ***

    def cosine_similarity(self, other: Self, dim: int = 1, eps: float = 1e-8) -> Self:
        """The cosine of the angle between vectors along `dim`; norms count as `eps` at least."""
        left, right = self._as_float()._in_order(other, False)
        shape = broadcast_shape(left.shape, right.shape)
        left, right = left._expand_to(shape), right._expand_to(shape)
        scale = left._norm(2, dim).maximum(eps) * right._norm(2, dim).maximum(eps)
        product = (left * right).sum(dim, keepdim=True) / scale
        return product.squeeze(dim)

    def pairwise_distance(
        self, other: Self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
    ) -> Self:
        """The p-norm of the difference (plus `eps`) along the last axis."""
        norm = (self - other + eps)._norm(p, -1)
        return norm if keepdim else norm.squeeze(-1)

    def cosine_embedding_loss(
        self, other: Self, target: Self, margin: float = 0.0, reduction: str = "mean"
    ) -> Self:
        """1 - cosine where the target is 1; what it exceeds the margin by where it is -1."""
        cosine = self.cosine_similarity(other, -1)
        apart = (cosine - margin).relu()
        loss = target.eq(1).where(1 - cosine, target.eq(-1).where(apart, 0))
        return loss._reduced(reduction)

    def triplet_margin_loss(
        self,
        positive: Self,
        negative: Self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        reduction: str = "mean",
    ) -> Self:
        """How far `positive` is not nearer to this than `negative` by the margin.

        `swap` takes the distance of positive and negative where it is the smaller one.
        """
        near = self.pairwise_distance(positive, p, eps)
        far = self.pairwise_distance(negative, p, eps)
        if swap:
            far = far.minimum(positive.pairwise_distance(negative, p, eps))
        return (near - far + margin).relu()._reduced(reduction)
