"""Support vector machines of ai.onnx.ml, as onnxruntime computes them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tg_onnx.ml.linear import DOMAIN, labels_of
from tg_onnx.ml.scores import Floats, Second, transformed
from tg_onnx.proto import Array
from tg_onnx.registry import host_operator

SECOND_CLASS = 1
"""Of two classes with linear models, the one that a large score of any speaks for."""


@host_operator("SVMRegressor", domain=DOMAIN)
def svm_regressor(
    x: Array,
    *,
    coefficients: Sequence[float] = (),
    kernel_params: Sequence[float] = (),
    kernel_type: str = "LINEAR",
    n_supports: int = 0,
    one_class: int = 0,
    post_transform: str = "NONE",
    rho: Sequence[float] = (0.0,),
    support_vectors: Sequence[float] = (),
) -> Array:
    """A value a row; with one class, on which side of it the row is. Nothing transforms it."""
    rows = _rows(x)
    weights = np.asarray(coefficients, np.float32)
    if n_supports:
        vectors = np.asarray(support_vectors, np.float32).reshape(n_supports, -1)
        products = _kernel(rows, vectors, kernel_type, kernel_params)
        values = products @ weights.reshape(n_supports, 1)
    else:
        values = _kernel(rows, weights.reshape(1, -1), "LINEAR", kernel_params)
    values = values + np.float32(rho[0])
    if one_class:
        return np.where(values > 0, 1, -1).astype(np.float32)
    return values.astype(np.float32)


@host_operator("SVMClassifier", domain=DOMAIN)
def svm_classifier(
    x: Array,
    *,
    classlabels_ints: Sequence[int] = (),
    classlabels_strings: Sequence[str] = (),
    coefficients: Sequence[float] = (),
    kernel_params: Sequence[float] = (),
    kernel_type: str = "LINEAR",
    post_transform: str = "NONE",
    prob_a: Sequence[float] = (),
    prob_b: Sequence[float] = (),
    rho: Sequence[float] = (),
    support_vectors: Sequence[float] = (),
    vectors_per_class: Sequence[int] = (),
) -> tuple[Array, Array]:
    """The label of each row, and scores: of classes, of pairs of classes, or probabilities."""
    rows = _rows(x)
    labels = labels_of(classlabels_ints, classlabels_strings)
    weights = np.asarray(coefficients, np.float32)
    if not len(vectors_per_class):
        # a linear model a class
        scores = rows @ weights.reshape(len(labels), -1).T + np.asarray(rho, np.float32)[:1]
        winners = scores.argmax(1)
        if len(labels) == SECOND_CLASS + 1:
            least = np.float32(0.5 if (weights >= 0).all() else np.nextafter(np.float32(0), 1))
            winners = np.where(scores.max(1) >= least, SECOND_CLASS, winners)
        return labels[winners], transformed(scores.astype(np.float32), post_transform)
    vectors = np.asarray(support_vectors, np.float32).reshape(sum(vectors_per_class), -1)
    products = _kernel(rows, vectors, kernel_type, kernel_params)
    pairs = _pairs(products, weights, vectors_per_class, rho)
    count = len(vectors_per_class)
    votes = np.zeros((len(rows), count), np.int64)
    for place, (first, second) in enumerate(_all_pairs(count)):
        votes[:, first] += pairs[:, place] > 0
        votes[:, second] += pairs[:, place] <= 0
    winners = votes.argmax(1)
    if len(prob_a):
        probabilities = _coupled(pairs, np.asarray(prob_a), np.asarray(prob_b), count)
        return labels[winners], transformed(probabilities, post_transform)
    if count > 2:
        return labels[winners], transformed(pairs, post_transform)
    other = Second.OPPOSITE if post_transform == "NONE" else Second.COMPLEMENT
    return labels[winners], transformed(pairs, post_transform, other)


def _rows(x: Array) -> Floats:
    rows = x.reshape(1, -1) if x.ndim == 1 else x
    return rows.astype(np.float32)


def _kernel(rows: Floats, vectors: Floats, kind: str, parameters: Sequence[float]) -> Floats:
    """(rows, vectors): how much alike they are."""
    gamma, shift, degree = (*parameters, 0.0, 0.0, 0.0)[:3]
    if kind == "RBF":
        apart = rows[:, None] - vectors[None]
        return np.asarray(np.exp(-np.float32(gamma) * (apart * apart).sum(-1)).astype(np.float32))
    products = rows @ vectors.T
    if kind == "POLY":
        return ((np.float32(gamma) * products + np.float32(shift)) ** degree).astype(np.float32)
    if kind == "SIGMOID":
        return np.asarray(
            np.tanh(np.float32(gamma) * products + np.float32(shift)).astype(np.float32)
        )
    return products.astype(np.float32)


def _all_pairs(count: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(count) for j in range(i + 1, count)]


def _pairs(
    products: Floats, weights: Floats, counts: Sequence[int], rho: Sequence[float]
) -> Floats:
    """(rows, pairs): each decides between two classes, whose vectors weigh as the other says."""
    table = weights.reshape(len(counts) - 1, -1)
    ends = np.cumsum([0, *counts])
    columns = []
    for place, (i, j) in enumerate(_all_pairs(len(counts))):
        of_i, of_j = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
        total = products[:, of_i] @ table[j - 1, of_i] + products[:, of_j] @ table[i, of_j]
        columns.append(total + rho[place])
    return np.stack(columns, 1).astype(np.float32)


def _coupled(pairs: Floats, a: Floats, b: Floats, count: int) -> Floats:
    """Probabilities of classes from those of pairs (Wu, Lin and Weng, 2004, second method)."""
    share = np.clip(1 / (1 + np.exp(pairs * a + b)), 1e-7, 1 - 1e-7)
    result = np.zeros((len(pairs), count), np.float32)
    for row, chances in enumerate(share):
        r = np.zeros((count, count))
        for place, (i, j) in enumerate(_all_pairs(count)):
            r[i, j], r[j, i] = chances[place], 1 - chances[place]
        result[row] = _fixed_point(r)
    return result


def _fixed_point(r: Floats) -> Floats:
    count = len(r)
    q = -r.T * r
    np.fill_diagonal(q, (r * r).sum(0))
    p = np.full(count, 1 / count)
    for _ in range(100):
        qp = q @ p
        whole = p @ qp
        if np.abs(qp - whole).max() < 0.005 / count:
            break
        for t in range(count):
            step = (whole - qp[t]) / q[t, t]
            p[t] += step
            whole = (whole + step * (step * q[t, t] + 2 * qp[t])) / (1 + step) ** 2
            qp = (qp + step * q[t]) / (1 + step)
            p /= 1 + step
    return p
