"""The loss of connectionist temporal classification (Graves et al., 2006), in log space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, TypeVar

import numpy as np
from tg_uop import dtypes
from tg_uop.errors import ShapeError

from tg_tensor.errors import ArgumentError
from tg_tensor.ops.distances import DistanceOps

# stands for log(0): finite, so that no difference of two of them is NaN
_NEVER = -1e30
_IMPOSSIBLE = 1e29

Lengths = Sequence[int]


class CtcOps(DistanceOps):
    """`ctc_loss`."""

    __slots__ = ()

    def ctc_loss(
        self,
        targets: Self,
        input_lengths: Self | Lengths,
        target_lengths: Self | Lengths,
        blank: int = 0,
        reduction: str = "mean",
        zero_infinity: bool = False,
    ) -> Self:
        """Minus the log-probability of the target sequences, over all alignments.

        `self` holds log-probabilities (time, batch, classes), or (time, classes) without a batch;
        `targets` classes (batch, most), or all one after the other. The lengths are read now. The
        mean is of each loss over its target's length. A target that no alignment fits gives inf,
        or 0 with `zero_infinity`. Raises `ShapeError` and `ArgumentError` for what does not fit.
        """
        if self.ndim == 2:
            alone = self.unsqueeze(1).ctc_loss(
                targets.reshape((1, -1)),
                _numbers(input_lengths),
                _numbers(target_lengths),
                blank,
                "none",
                zero_infinity,
            )
            length = max(_numbers(target_lengths)[0], 1)
            return (alone / length if reduction == "mean" else alone)[0]
        steps, labels = _numbers(input_lengths), _numbers(target_lengths)
        _check(self, steps, labels, blank)
        classes = _padded_targets(targets, labels)
        extended, may_skip = classes._with_blanks(blank)
        loss = -self._alignments(extended, may_skip, steps, labels)
        impossible = loss > _IMPOSSIBLE
        loss = impossible.where(0.0 if zero_infinity else float("inf"), loss)
        if reduction == "mean":
            lengths = self._lift(np.maximum(labels, 1).astype(np.float32), self.device)
            return (loss / lengths.cast(loss.dtype)).mean()
        return loss._reduced(reduction)

    def _with_blanks(self, blank: int) -> tuple[Self, Self]:
        """Classes with blanks around each, and where a blank before a class may be skipped."""
        batch, count = self.shape
        spread = (self - blank).unsqueeze(-1)._pad_zeros([(0, 0), (0, 0), (1, 0)])
        extended = spread.reshape((batch, 2 * count))._pad_zeros([(0, 0), (0, 1)])
        # two equal classes need the blank between them
        before = extended._pad_zeros([(0, 0), (2, 0)])._part(1, 0, 2 * count + 1)
        return extended + blank, extended.ne(0) & extended.ne(before)

    def _alignments(
        self, extended: Self, may_skip: Self, steps: list[int], labels: list[int]
    ) -> Self:
        """The log-probability of all alignments of each target: forward variables, step by step."""
        batch, width = extended.shape
        emitted = self.gather(2, extended.unsqueeze(0).expand((self.shape[0], batch, width)))
        emitted = emitted.maximum(_NEVER).contiguous()
        place = self._iota(width, self.device, dtypes.int32)
        ends = self._lift(np.array(labels, np.int32), self.device).unsqueeze(1) * 2
        limits = self._lift(np.array(steps, np.int32), self.device).unsqueeze(1)
        alpha = ((place < 2) & (place <= ends)).where(emitted[0], _NEVER)
        for time in range(1, max(steps)):
            one = alpha._moved_up(1)
            two = may_skip.where(alpha._moved_up(2), _NEVER)
            largest = alpha.maximum(one).maximum(two).detach()
            total = (alpha - largest).exp() + (one - largest).exp() + (two - largest).exp()
            moved = (total.log() + largest + emitted[time]).maximum(_NEVER).contiguous()
            alpha = moved if time < min(steps) else (limits > time).where(moved, alpha)
        is_last = place.eq(ends) | place.eq(ends - 1)
        final = is_last.where(alpha, _NEVER)
        return final.logsumexp(1)

    def _moved_up(self, count: int) -> Self:
        """The last axis moved, with no probability coming in."""
        width = self.shape[1]
        return self._pad_value([(0, 0), (count, 0)], _NEVER)._part(1, 0, width)


def _numbers(lengths: CtcOps | Lengths) -> list[int]:
    if isinstance(lengths, CtcOps):
        return [int(n) for n in lengths.numpy().reshape(-1)]
    return [lengths] if isinstance(lengths, int) else list(lengths)


def _check(x: CtcOps, steps: list[int], labels: list[int], blank: int) -> None:
    if x.ndim != 3 or len(steps) != x.shape[1] or len(labels) != x.shape[1]:
        raise ShapeError(
            op="ctc_loss",
            shapes=(x.shape, (len(steps),), (len(labels),)),
            reason="log-probabilities are (time, batch, classes), with two lengths for each sample",
        )
    if not 0 <= blank < x.shape[2]:
        raise ArgumentError(
            op="ctc_loss", argument="blank", given=blank, expected=f"one of {x.shape[2]} classes"
        )
    if not all(0 < step <= x.shape[0] for step in steps):
        raise ArgumentError(
            op="ctc_loss",
            argument="input_lengths",
            given=tuple(steps),
            expected=f"1 to {x.shape[0]}, the time",
        )


T = TypeVar("T", bound=CtcOps)


def _padded_targets(targets: T, labels: list[int]) -> T:
    """Targets as rows of one length, whatever stands behind the end of each."""
    most = max(labels)
    if targets.ndim == 2:
        if min(labels) < 0 or most > targets.shape[1]:
            raise ArgumentError(
                op="ctc_loss",
                argument="target_lengths",
                given=tuple(labels),
                expected=f"0 to {targets.shape[1]}, the length of the rows",
            )
        return targets._part(1, 0, most)
    if targets.ndim != 1 or sum(labels) != targets.shape[0]:
        raise ShapeError(
            op="ctc_loss",
            shapes=(targets.shape, (len(labels),)),
            reason="targets are (batch, most), or as many classes as all lengths together",
        )
    rows = []
    start = 0
    for length in labels:
        row = targets._part(0, start, start + length)
        rows.append(row._pad_zeros([(0, most - length)]))
        start += length
    return rows[0].stack(*rows[1:])
