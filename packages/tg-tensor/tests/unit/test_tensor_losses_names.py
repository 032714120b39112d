"""Losses by name: their formulas in NumPy, and what does not fit."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tg_tensor import Tensor
from tg_tensor.errors import ArgumentError
from tg_uop.errors import ShapeError

RNG = np.random.default_rng(0)
X, Y, Z = (RNG.standard_normal((4, 5)) for _ in range(3))
ABOVE = np.abs(RNG.standard_normal((4, 5))) + 0.1
SIGNS = np.array([1.0, -1, -1, 1])


def log_softmax(x: Any) -> Any:
    shifted = x - x.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def distance(a: Any, b: Any) -> Any:
    return np.linalg.norm(a - b + 1e-6, axis=-1)


SIZE = np.abs(X - Y)
COSINE = (X * Y).sum(1) / np.linalg.norm(X, axis=1) / np.linalg.norm(Y, axis=1)
FORMULAS: dict[str, tuple[Callable[[], Tensor], Any]] = {
    "mse_loss": (lambda: Tensor(X).mse_loss(Tensor(Y)), (SIZE**2).mean()),
    "l1_loss": (lambda: Tensor(X).l1_loss(Tensor(Y), "sum"), SIZE.sum()),
    "smooth_l1_loss": (
        lambda: Tensor(X).smooth_l1_loss(Tensor(Y), "none"),
        np.where(SIZE < 1, 0.5 * SIZE**2, SIZE - 0.5),
    ),
    "huber_loss": (
        lambda: Tensor(X).huber_loss(Tensor(Y), "none", 0.5),
        np.where(SIZE <= 0.5, 0.5 * SIZE**2, 0.5 * (SIZE - 0.25)),
    ),
    "kl_div": (
        lambda: Tensor(X).log_softmax().kl_div(Tensor(Y).softmax(), "batchmean"),
        (np.exp(log_softmax(Y)) * (log_softmax(Y) - log_softmax(X))).sum() / 4,
    ),
    "poisson_nll_loss": (
        lambda: Tensor(X).poisson_nll_loss(Tensor(Y)),
        (np.exp(X) - Y * X).mean(),
    ),
    "gaussian_nll_loss": (
        lambda: Tensor(X).gaussian_nll_loss(Tensor(Y), Tensor(ABOVE)),
        (np.log(ABOVE) + SIZE**2 / ABOVE).mean() / 2,
    ),
    "soft_margin_loss": (
        lambda: Tensor(X[:, 0]).soft_margin_loss(Tensor(SIGNS)),
        np.log1p(np.exp(-SIGNS * X[:, 0])).mean(),
    ),
    "hinge_embedding_loss": (
        lambda: Tensor(X[:, 0]).hinge_embedding_loss(Tensor(SIGNS)),
        np.where(SIGNS == 1, X[:, 0], np.maximum(0, 1 - X[:, 0])).mean(),
    ),
    "margin_ranking_loss": (
        lambda: Tensor(X[:, 0]).margin_ranking_loss(Tensor(Y[:, 0]), Tensor(SIGNS), 0.1),
        np.maximum(0, -SIGNS * (X - Y)[:, 0] + 0.1).mean(),
    ),
    "multi_margin_loss": (
        lambda: Tensor(X[:1]).multi_margin_loss(Tensor([2])),
        np.delete(np.maximum(0, 1 - X[0, 2] + X[0]), 2).sum() / 5,
    ),
    "multilabel_soft_margin_loss": (
        lambda: Tensor(X).multilabel_soft_margin_loss(Tensor((Y > 0) * 1.0)),
        np.log1p(np.exp(np.where(Y > 0, -X, X))).mean(),
    ),
    "cosine_similarity": (lambda: Tensor(X).cosine_similarity(Tensor(Y)), COSINE),
    "pairwise_distance": (lambda: Tensor(X).pairwise_distance(Tensor(Y)), distance(X, Y)),
    "cosine_embedding_loss": (
        lambda: Tensor(X).cosine_embedding_loss(Tensor(Y), Tensor(SIGNS)),
        np.where(SIGNS == 1, 1 - COSINE, np.maximum(0, COSINE)).mean(),
    ),
    "triplet_margin_loss": (
        lambda: Tensor(X).triplet_margin_loss(Tensor(Y), Tensor(Z)),
        np.maximum(0, distance(X, Y) - distance(X, Z) + 1).mean(),
    ),
    "binary_cross_entropy": (
        lambda: Tensor(X).sigmoid().binary_cross_entropy(Tensor((Y > 0) * 1.0), Tensor(ABOVE)),
        (np.log1p(np.exp(np.where(Y > 0, -X, X))) * ABOVE).mean(),
    ),
    "binary_cross_entropy_with_logits": (
        lambda: Tensor(X).binary_cross_entropy_with_logits(Tensor((Y > 0) * 1.0), Tensor(ABOVE)),
        (np.log1p(np.exp(np.where(Y > 0, -X, X))) * ABOVE).mean(),
    ),
    "cross_entropy": (
        lambda: Tensor(X).cross_entropy(
            Tensor([1, -100, 0, 4]), weight=Tensor(ABOVE[0]), ignore_index=-100
        ),
        -(log_softmax(X) * ABOVE[0])[[0, 2, 3], [1, 0, 4]].sum() / ABOVE[0, [1, 0, 4]].sum(),
    ),
}


def test_formulas() -> None:
    found = {name: call() for name, (call, _) in FORMULAS.items()}
    Tensor.realize(*found.values())
    for name, result in found.items():
        np.testing.assert_allclose(
            result.numpy(), FORMULAS[name][1], rtol=1e-5, atol=1e-6, err_msg=name
        )


def test_nothing_counts() -> None:
    target = Tensor([-100, -100, -100, -100])
    assert math.isnan(Tensor(X).cross_entropy(target).item())
    assert Tensor(X).cross_entropy(target, "sum").item() == 0
    assert math.isnan(Tensor(X).nll_loss(target).item())


def test_sequences_are_sums_over_alignments() -> None:
    """Every path over 4 steps and 3 classes that reads as the target, added up."""
    log_probability = log_softmax(RNG.standard_normal((4, 1, 3)))
    for target in ([1], [1, 2], [1, 1], []):
        total = 0.0
        for path in itertools.product(range(3), repeat=4):
            merged = [c for c, _ in itertools.groupby(path)]
            if [c for c in merged if c] == target:
                total += math.exp(sum(log_probability[t, 0, c] for t, c in enumerate(path)))
        padded = Tensor([[*target, 0, 0][:2]])
        loss = Tensor(log_probability).ctc_loss(padded, [4], [len(target)], reduction="sum")
        assert loss.item() == pytest.approx(-math.log(total), rel=1e-6)
    never = Tensor(log_probability).ctc_loss(Tensor([[1, 1, 1]]), [4], [3], reduction="sum")
    assert never.item() == math.inf


MISTAKES: dict[str, tuple[type[Exception], Callable[[], object]]] = {
    "reduction": (ArgumentError, lambda: Tensor(X).mse_loss(Tensor(Y), "median")),
    "negative beta": (ArgumentError, lambda: Tensor(X).smooth_l1_loss(Tensor(Y), beta=-1)),
    "delta of 0": (ArgumentError, lambda: Tensor(X).huber_loss(Tensor(Y), delta=0)),
    "weights of other classes": (
        ShapeError,
        lambda: Tensor(X).cross_entropy(Tensor([1, 2, 3, 4]), weight=Tensor([1.0])),
    ),
    "classes of another shape": (ShapeError, lambda: Tensor(X).nll_loss(Tensor([1, 2]))),
    "smoothing": (ArgumentError, lambda: Tensor(X).cross_entropy(Tensor([1]), label_smoothing=2)),
    "blank": (
        ArgumentError,
        lambda: Tensor(X[None]).ctc_loss(Tensor([[1]] * 4), [1] * 4, [1] * 4, 9),
    ),
    "lengths": (ShapeError, lambda: Tensor(X[None]).ctc_loss(Tensor([[1]] * 4), [1], [1])),
    "too long": (
        ArgumentError,
        lambda: Tensor(X[None]).ctc_loss(Tensor([[1]] * 4), [2] * 4, [1] * 4),
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    error, mistake = MISTAKES[name]
    with pytest.raises(error):
        mistake()


def test_integers_do_not_wrap() -> None:
    low, high = Tensor(np.array([1], np.uint8)), Tensor(np.array([255], np.uint8))
    assert low.mse_loss(high).item() == 254.0**2
    assert low.l1_loss(high).item() == 254.0
    assert low.lerp(high, 0.5).tolist() == [128.0]
    assert Tensor([1.5], dtype="float16").ldexp(Tensor([2])).tolist() == [6.0]
    assert Tensor(2.5).gather(0, Tensor(0)).item() == 2.5
