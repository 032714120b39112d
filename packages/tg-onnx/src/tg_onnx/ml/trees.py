"""Ensembles of decision trees of ai.onnx.ml: all rows go down all trees at the same time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tg_onnx.ml.scores import Floats, same, transformed
from tg_onnx.proto import Array

Places = NDArray[np.int64]
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "MEMBER")
LEAF = -1
GOES_ROUND = "a tree goes round"
BLOCK = 1 << 18
"""Pairs of rows and trees that are looked at together: what fits in a cache."""


@dataclass(frozen=True, slots=True)
class Forest:
    """Nodes of all trees in one table: `modes` are places in `MODES`, or `LEAF`.

    A node goes on at `yes` or at `no`; leaves lead to themselves. `weights` (leaves' node,
    targets) and `has` say what a leaf adds to which target.
    """

    roots: Places
    modes: Places
    features: Places
    values: Floats
    yes: Places
    no: Places
    missing: NDArray[np.bool_]
    weights: Floats
    has: NDArray[np.bool_]
    members: dict[int, Floats]
    depth: int


def levels_of(roots: Places, yes: Places, no: Places, modes: Places) -> Iterator[Places]:
    """The nodes that so many branches lead to. Raises `ValueError` for ways that never end."""
    level = np.unique(roots)
    for _ in range(len(modes) + 1):
        yield level
        level = level[modes[level] != LEAF]
        if not len(level):
            return
        level = np.unique(np.concatenate([yes[level], no[level]]))
    raise ValueError(GOES_ROUND)


def depth_of(roots: Places, yes: Places, no: Places, modes: Places) -> int:
    """The most branches on a way down. Raises as `levels_of`."""
    return sum(1 for _ in levels_of(roots, yes, no, modes)) - 1


def leaves_of(x: Floats, forest: Forest) -> Places:
    """(rows, trees): the leaf in which each row ends in each tree."""
    state = np.broadcast_to(forest.roots, (len(x), len(forest.roots))).copy()
    kinds = set(np.unique(forest.modes).tolist()) - {LEAF}
    rows = np.arange(len(x))[:, None]
    for _ in range(forest.depth):
        values = x[rows, forest.features[state]]
        holds = _holds(values, state, forest, kinds)
        if forest.missing.any():
            holds |= forest.missing[state] & np.isnan(values)
        state = np.where(holds, forest.yes[state], forest.no[state])
    return state


def _holds(x: Floats, state: Places, forest: Forest, kinds: set[int]) -> NDArray[np.bool_]:
    limit = forest.values[state]
    if len(kinds) == 1:
        return _compare(x, limit, state, forest, next(iter(kinds)))
    result = np.zeros(x.shape, np.bool_)
    modes = forest.modes[state]
    for kind in sorted(kinds):
        result |= (modes == kind) & _compare(x, limit, state, forest, kind)
    return result


def _compare(
    x: Floats, limit: Floats, state: Places, forest: Forest, kind: int
) -> NDArray[np.bool_]:
    if MODES[kind] == "MEMBER":
        result = np.zeros(x.shape, np.bool_)
        for node, members in forest.members.items():
            result |= (state == node) & np.isin(x, members)
        return result
    compare = (np.less_equal, np.less, np.greater_equal, np.greater, np.equal, np.not_equal)
    return np.asarray(compare[kind](x, limit))


def totals(x: Array, forest: Forest, aggregate: str) -> tuple[Floats, NDArray[np.bool_]]:
    """(rows, targets): what the trees say together, and whether any said something."""
    rows = x.reshape(1, -1) if x.ndim == 1 else x
    wide: Floats = rows.astype(np.float64 if rows.dtype == np.float64 else np.float32)
    targets = forest.weights.shape[1]
    result = np.zeros((len(wide), targets), forest.weights.dtype)
    said = np.zeros(result.shape, np.bool_)
    step = max(BLOCK // max(len(forest.roots), 1), 1)
    for start in range(0, len(wide), step):
        leaves = leaves_of(wide[start : start + step], forest)
        part = slice(start, start + step)
        said[part] = forest.has[leaves].any(1)
        result[part] = _aggregated(leaves, forest, aggregate)
    if aggregate == "AVERAGE":
        result /= len(forest.roots)
    return np.where(said, result, 0).astype(result.dtype), said


def _aggregated(leaves: Places, forest: Forest, aggregate: str) -> Floats:
    values = forest.weights[leaves]
    if aggregate in ("SUM", "AVERAGE"):
        return np.asarray(values.sum(1))
    none = np.inf if aggregate == "MIN" else -np.inf
    values = np.where(forest.has[leaves], values, none)
    return np.asarray(values.min(1) if aggregate == "MIN" else values.max(1))


def regression(
    scores: Floats, said: NDArray[np.bool_], base: Sequence[float] | Floats, transform: str
) -> Floats:
    """The base values added where a tree said something, and the transform.

    Of one target only PROBIT is one.
    """
    if len(base):
        scores = np.where(said, scores + np.asarray(base, scores.dtype), 0)
    if scores.shape[1] == 1 and transform != "PROBIT":
        return same(scores).astype(np.float32)
    return transformed(scores, transform).astype(np.float32)
