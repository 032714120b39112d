"""Losses by the names of PyTorch, against PyTorch: every reduction, values and gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tg_tensor import Tensor

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

F = torch.nn.functional
Call = Callable[..., Any]
REDUCTIONS = ["mean", "sum", "none"]


def numbers(*shape: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(sum(shape) + 7 * len(shape) + 100 * seed)
    return rng.standard_normal(shape).astype(np.float32)


X, Y, Z = (numbers(4, 5, seed=seed) for seed in range(3))
ABOVE = np.abs(numbers(4, 5, seed=3)) + np.float32(0.1)
SIGNS = np.array([1, -1, -1, 1], np.float32)
CLASSES = np.array([1, 4, 0, 2])
SOME = np.array([1, -100, 0, 2])
NONE = np.array([-100] * 4)


def assert_same(ours: Call, theirs: Call, *arrays: Any, gradients: bool = True) -> None:
    mine = [Tensor(x, requires_grad=True) for x in arrays]
    other = [torch.tensor(x, requires_grad=True) for x in arrays]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, wanted = ours(*mine), theirs(*other)
    assert tuple(found.shape) == tuple(wanted.shape)
    np.testing.assert_allclose(found.numpy(), wanted.detach().numpy(), rtol=1e-4, atol=1e-5)
    if not gradients:
        return
    weights = numbers(*wanted.shape) if wanted.ndim else np.float32(1.5)
    flowing = (found * Tensor(weights)).sum().gradient(*mine)
    (wanted * torch.tensor(weights)).sum().backward()
    for gradient, tensor in zip(flowing, other, strict=True):
        np.testing.assert_allclose(gradient.numpy(), tensor.grad.numpy(), rtol=1e-3, atol=1e-5)


PLAIN: list[tuple[str, dict[str, Any]]] = [
    ("mse_loss", {}),
    ("l1_loss", {}),
    ("smooth_l1_loss", {"beta": 0.3}),
    ("smooth_l1_loss", {"beta": 0}),
    ("huber_loss", {"delta": 0.4}),
    ("poisson_nll_loss", {}),
]


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_regression(reduction: str) -> None:
    for name, options in PLAIN:
        given = {**options, "reduction": reduction}
        assert_same(
            lambda a, b, name=name, given=given: getattr(a, name)(b, **given),
            lambda a, b, name=name, given=given: getattr(F, name)(a, b, **given),
            X,
            Y,
        )
    assert_same(
        lambda a, b: a.poisson_nll_loss(b, False, True, reduction=reduction),
        lambda a, b: F.poisson_nll_loss(a, b, False, True, reduction=reduction),
        ABOVE,
        ABOVE * 3,
    )
    assert_same(
        lambda a, b, v: a.gaussian_nll_loss(b, v, True, reduction=reduction),
        lambda a, b, v: F.gaussian_nll_loss(a, b, v, True, reduction=reduction),
        X,
        Y,
        ABOVE,
    )


@pytest.mark.parametrize("reduction", [*REDUCTIONS, "batchmean"])
@pytest.mark.parametrize("log_target", [False, True])
def test_divergence(reduction: str, log_target: bool) -> None:
    assert_same(
        lambda a, b: a.log_softmax(1).kl_div(
            b.log_softmax(1) if log_target else b.softmax(1), reduction, log_target
        ),
        lambda a, b: F.kl_div(
            F.log_softmax(a, 1),
            F.log_softmax(b, 1) if log_target else F.softmax(b, 1),
            reduction=reduction,
            log_target=log_target,
        ),
        X,
        Y,
    )


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_margins(reduction: str) -> None:
    signs, theirs = Tensor(SIGNS), torch.tensor(SIGNS)
    assert_same(
        lambda a: a.soft_margin_loss(signs, reduction),
        lambda a: F.soft_margin_loss(a, theirs, reduction=reduction),
        X[:, 0],
    )
    assert_same(
        lambda a: a.hinge_embedding_loss(signs, 0.7, reduction),
        lambda a: F.hinge_embedding_loss(a, theirs, 0.7, reduction=reduction),
        X[:, 0],
    )
    assert_same(
        lambda a, b: a.margin_ranking_loss(b, signs, 0.2, reduction),
        lambda a, b: F.margin_ranking_loss(a, b, theirs, 0.2, reduction=reduction),
        X[:, 0],
        Y[:, 0],
    )
    assert_same(
        lambda a, b: a.cosine_embedding_loss(b, signs, 0.2, reduction),
        lambda a, b: F.cosine_embedding_loss(a, b, theirs, 0.2, reduction=reduction),
        X,
        Y,
    )
    for swap in (False, True):
        assert_same(
            lambda a, b, c, s=swap: a.triplet_margin_loss(b, c, swap=s, reduction=reduction),
            lambda a, b, c, s=swap: F.triplet_margin_loss(a, b, c, swap=s, reduction=reduction),
            X,
            Y,
            Z,
        )
    for p in (1, 2):
        assert_same(
            lambda a, p=p: a.multi_margin_loss(
                Tensor(CLASSES), p, 1.0, Tensor(ABOVE[0]), reduction
            ),
            lambda a, p=p: F.multi_margin_loss(
                a, torch.tensor(CLASSES), p, 1.0, torch.tensor(ABOVE[0]), reduction=reduction
            ),
            X,
        )
    labels = (Y > 0).astype(np.float32)
    assert_same(
        lambda a: a.multilabel_soft_margin_loss(Tensor(labels), reduction=reduction),
        lambda a: F.multilabel_soft_margin_loss(a, torch.tensor(labels), reduction=reduction),
        X,
    )


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weighted", [False, True])
def test_classes(reduction: str, weighted: bool) -> None:
    mine = Tensor(ABOVE[0]) if weighted else None
    theirs = torch.tensor(ABOVE[0]) if weighted else None
    for target in (CLASSES, SOME, NONE):
        smooth = bool((target >= 0).any())
        for smoothing in (0.0, 0.1):
            assert_same(
                lambda a, t=target, s=smoothing: a.cross_entropy(Tensor(t), reduction, s, mine),
                lambda a, t=target, s=smoothing: F.cross_entropy(
                    a, torch.tensor(t), theirs, reduction=reduction, label_smoothing=s
                ),
                X,
                gradients=smooth,
            )
        assert_same(
            lambda a, t=target: a.nll_loss(Tensor(t), mine, reduction=reduction),
            lambda a, t=target: F.nll_loss(a, torch.tensor(t), theirs, reduction=reduction),
            X,
            gradients=smooth,
        )
    assert_same(
        lambda a, b: a.cross_entropy(b.softmax(1), reduction, 0.1, mine),
        lambda a, b: F.cross_entropy(
            a, F.softmax(b, 1), theirs, reduction=reduction, label_smoothing=0.1
        ),
        X,
        Y,
    )
    target = np.random.default_rng(0).integers(0, 5, (2, 3, 4))
    assert_same(
        lambda a: a.cross_entropy(Tensor(target), reduction, 0.1, mine, 3),
        lambda a: F.cross_entropy(
            a, torch.tensor(target), theirs, None, 3, reduction=reduction, label_smoothing=0.1
        ),
        numbers(2, 5, 3, 4),
    )


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_binary(reduction: str) -> None:
    probability, target = 1 / (1 + np.exp(-X)), 1 / (1 + np.exp(-Y))
    assert_same(
        lambda a, b: a.binary_cross_entropy(b, Tensor(ABOVE), reduction),
        lambda a, b: F.binary_cross_entropy(a, b, torch.tensor(ABOVE), reduction=reduction),
        probability,
        target,
    )
    assert_same(
        lambda a, b: a.binary_cross_entropy_with_logits(
            b, Tensor(ABOVE), reduction, Tensor(ABOVE[0])
        ),
        lambda a, b: F.binary_cross_entropy_with_logits(
            a, b, torch.tensor(ABOVE), reduction=reduction, pos_weight=torch.tensor(ABOVE[0])
        ),
        X,
        target,
    )


SEQUENCES: list[tuple[Any, list[int], list[int]]] = [
    (np.array([[1, 1, 2], [3, 2, 1], [4, 4, 0]]), [7, 7, 7], [2, 3, 1]),
    (np.array([[1, 1, 2], [3, 2, 1], [4, 4, 0]]), [7, 5, 4], [3, 0, 2]),
    (np.array([1, 1, 3, 2, 4, 3]), [7, 6, 5], [2, 1, 3]),
]


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_sequences(reduction: str) -> None:
    logits = numbers(7, 3, 5)
    for targets, inputs, lengths in SEQUENCES:
        assert_same(
            lambda a, t=targets, i=inputs, n=lengths: a.log_softmax(2).ctc_loss(
                Tensor(t), i, n, reduction=reduction
            ),
            lambda a, t=targets, i=inputs, n=lengths: F.ctc_loss(
                F.log_softmax(a, 2),
                torch.tensor(t),
                torch.tensor(i),
                torch.tensor(n),
                reduction=reduction,
            ),
            logits,
        )
    impossible = np.array([[1, 1, 1], [1, 2, 3], [1, 2, 3]])
    for zero in (False, True):
        assert_same(
            lambda a, z=zero: a.log_softmax(2).ctc_loss(
                Tensor(impossible), [4, 7, 7], [3, 3, 3], 0, reduction, z
            ),
            lambda a, z=zero: F.ctc_loss(
                F.log_softmax(a, 2), torch.tensor(impossible), [4, 7, 7], [3, 3, 3], 0, reduction, z
            ),
            logits,
            gradients=zero,
        )


def test_similarities() -> None:
    assert_same(lambda a, b: a.cosine_similarity(b), lambda a, b: F.cosine_similarity(a, b), X, Y)
    assert_same(
        lambda a, b: a.cosine_similarity(b, 0), lambda a, b: F.cosine_similarity(a, b, 0), X, Y[:1]
    )
    for p in (1, 2, 3, float("inf")):
        assert_same(
            lambda a, b, p=p: a.pairwise_distance(b, p),
            lambda a, b, p=p: F.pairwise_distance(a, b, p),
            X,
            Y,
        )
        assert_same(lambda a, p=p: a.normalize(p), lambda a, p=p: F.normalize(a, p), X)
