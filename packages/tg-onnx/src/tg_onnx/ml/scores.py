"""What classifiers and regressors make of their scores: transforms, and a second class."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[Any]
"""float32 or float64."""
NEARLY_ZERO = 1e-7
"""Scores below it stay what they are in SOFTMAX_ZERO."""


class Second(Enum):
    """How the score of the other class comes from that of a class that stands alone."""

    COMPLEMENT = "1 - score"
    OPPOSITE = "-score"
    NONE = "there is no other class"


def transformed(scores: Floats, transform: str, second: Second = Second.NONE) -> Floats:
    """Scores (rows, classes) after a transform; where there is one class alone, with a second."""
    if scores.shape[1] != 1 or second is Second.NONE:
        return _TRANSFORMS[transform](scores)
    if transform == "PROBIT":
        return probit(np.concatenate([1 - scores, scores], 1))
    if transform == "LOGISTIC":
        return np.concatenate([logistic(-scores), logistic(scores)], 1)
    other = 1 - scores if second is Second.COMPLEMENT else -scores
    both: Floats = np.concatenate([other, scores], 1)
    return both.astype(scores.dtype)


def logistic(x: Floats) -> Floats:
    """1 / (1 + exp(-x)), without overflow."""
    share = 1 / (1 + np.exp(-np.abs(x)))
    return np.where(x < 0, 1 - share, share).astype(x.dtype)


def probit(x: Floats) -> Floats:
    """The quantile of a normal distribution, by Winitzki's inverse of erf (2008)."""
    with np.errstate(all="ignore"):
        y = 2 * x - 1
        log = np.log((1 - y) * (1 + y))
        half = 2 / (np.pi * 0.147) + 0.5 * log
        inverse = np.sqrt(-half + np.sqrt(half * half - log / 0.147))
        signed: Floats = np.sqrt(2) * np.where(y < 0, -inverse, inverse)
        return signed.astype(x.dtype)


def softmax(x: Floats) -> Floats:
    """Shares of each row."""
    if not x.size:
        return x
    powers = np.exp(x - x.max(1, keepdims=True))
    return np.asarray((powers / powers.sum(1, keepdims=True)).astype(x.dtype))


def softmax_zero(x: Floats) -> Floats:
    """Shares of each row, where what is 0 stays 0."""
    if not x.size:
        return x
    greatest = x.max(1, keepdims=True)
    counts = np.abs(x) > NEARLY_ZERO
    powers = np.where(counts, np.exp(x - greatest), 0)
    total = powers.sum(1, keepdims=True)
    shares = np.where(counts, powers, x * np.exp(-greatest))
    return (shares / np.where(total == 0, 1, total)).astype(x.dtype)


def same(x: Floats) -> Floats:
    """The scores themselves."""
    return x


_TRANSFORMS = {
    "NONE": same,
    "SOFTMAX": softmax,
    "LOGISTIC": logistic,
    "SOFTMAX_ZERO": softmax_zero,
    "PROBIT": probit,
}
