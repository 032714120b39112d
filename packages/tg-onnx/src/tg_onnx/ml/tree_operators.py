"""The operators of ai.onnx.ml on ensembles of trees: their attributes as a table of nodes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tg_onnx.ml.linear import DOMAIN, labels_of
from tg_onnx.ml.scores import Floats, Second, transformed
from tg_onnx.ml.trees import (
    GOES_ROUND,
    LEAF,
    MODES,
    Forest,
    Places,
    depth_of,
    levels_of,
    regression,
    totals,
)
from tg_onnx.proto import Array
from tg_onnx.registry import host_operator

AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def _numbers(values: Sequence[float], tensor: Array | None) -> Floats:
    """An attribute that comes as floats, or as a tensor of float64."""
    return np.asarray(values, np.float32) if tensor is None else np.asarray(tensor).reshape(-1)


MOST_WEIGHTS = 1 << 28
"""Weights of a forest, of nodes times targets: a model says how many, more are no forest."""
KNOWN: OrderedDict[int, tuple[Sequence[int], Forest]] = OrderedDict()
MOST_KNOWN = 64


def _known_forest(build: Callable[[], Forest], key: Sequence[int]) -> Forest:
    """The forest built of a node's attributes, of which one list tells the node."""
    found = KNOWN.get(id(key))
    if found is not None and found[0] is key:
        KNOWN.move_to_end(id(key))
        return found[1]
    forest = build()
    # the list is kept too, so that no other one has its identity
    KNOWN[id(key)] = (key, forest)
    while len(KNOWN) > MOST_KNOWN:
        KNOWN.popitem(last=False)
    return forest


def _forest(
    treeids: Sequence[int],
    nodeids: Sequence[int],
    modes: Sequence[str],
    features: Sequence[int],
    values: Floats,
    yes: Sequence[int],
    no: Sequence[int],
    missing: Sequence[int],
    leaves: tuple[Sequence[int], Sequence[int], Sequence[int], Floats],
    targets: int,
) -> Forest:
    """The table of the nodes that lists by tree and number describe.

    Raises `ValueError` for lists of different lengths, and for what are no trees.
    """
    count = len(treeids)
    lengths = {
        "nodeids": len(nodeids),
        "modes": len(modes),
        "featureids": len(features),
        "truenodeids": len(yes),
        "falsenodeids": len(no),
        # left out, they are zeros
        "values": len(values) or count,
        "missing_value_tracks_true": len(missing) or count,
    }
    for name, length in lengths.items():
        if length != count:
            raise ValueError(f"nodes_{name} has {length} entries for {count} nodes")
    place = {key: i for i, key in enumerate(zip(treeids, nodeids, strict=True))}
    if len(place) != count:
        raise ValueError("two nodes have the same tree and number")
    unknown = sorted(set(modes) - {"LEAF", *MODES})
    if unknown:
        raise ValueError(f"nodes_modes: {unknown[0]!r} is none of LEAF, {', '.join(MODES)}")
    kinds = np.array([LEAF if m == "LEAF" else MODES.index(m) for m in modes], np.int64)
    own = np.arange(count)
    ways: list[Places] = []
    for numbers in (yes, no):
        ends = own.copy()
        for i in np.flatnonzero(kinds != LEAF).tolist():
            if (treeids[i], numbers[i]) not in place:
                raise ValueError(f"tree {treeids[i]} has no node {numbers[i]}")
            ends[i] = place[treeids[i], numbers[i]]
        ways.append(ends)
    reached = np.zeros(count, np.bool_)
    for ends in ways:
        reached[ends[kinds != LEAF]] = True
    roots = [i for i in range(count) if not reached[i]]
    first = np.asarray(roots, np.int64)
    seen, depth = np.zeros(count, np.bool_), -1
    for level in levels_of(first, ways[0], ways[1], kinds):
        seen[level] = True
        depth += 1
    if not seen.all():
        # nothing leads from a root to a way round, nor to what comes after it
        raise ValueError(GOES_ROUND)
    if len(roots) != len(set(treeids)):
        raise ValueError(f"{len(set(treeids))} trees have {len(roots)} nodes that none leads to")
    if count * targets > MOST_WEIGHTS:
        raise ValueError(f"{targets} targets for each of {count} nodes")
    weights = np.zeros((count, targets), leaves[3].dtype)
    has = np.zeros(weights.shape, np.bool_)
    for tree, node, target, weight in zip(*leaves, strict=True):
        if (tree, node) not in place or not 0 <= target < targets:
            raise ValueError(f"there is no node {node} in tree {tree}, or no target {target}")
        weights[place[tree, node], target] += weight
        has[place[tree, node], target] = True
    return Forest(
        roots=first,
        modes=kinds,
        features=np.where(kinds == LEAF, 0, np.asarray(features, np.int64)),
        values=values if len(values) else np.zeros(count, np.float32),
        yes=ways[0],
        no=ways[1],
        missing=np.asarray(missing, np.bool_) if len(missing) else np.zeros(count, np.bool_),
        weights=weights,
        has=has,
        members={},
        depth=depth,
    )


@host_operator("TreeEnsembleRegressor", domain=DOMAIN)
def tree_ensemble_regressor(
    x: Array,
    *,
    aggregate_function: str = "SUM",
    base_values: Sequence[float] = (),
    base_values_as_tensor: Array | None = None,
    n_targets: int = 1,
    nodes_falsenodeids: Sequence[int] = (),
    nodes_featureids: Sequence[int] = (),
    nodes_hitrates: Sequence[float] = (),
    nodes_hitrates_as_tensor: Array | None = None,
    nodes_missing_value_tracks_true: Sequence[int] = (),
    nodes_modes: Sequence[str] = (),
    nodes_nodeids: Sequence[int] = (),
    nodes_treeids: Sequence[int] = (),
    nodes_truenodeids: Sequence[int] = (),
    nodes_values: Sequence[float] = (),
    nodes_values_as_tensor: Array | None = None,
    post_transform: str = "NONE",
    target_ids: Sequence[int] = (),
    target_nodeids: Sequence[int] = (),
    target_treeids: Sequence[int] = (),
    target_weights: Sequence[float] = (),
    target_weights_as_tensor: Array | None = None,
) -> Array:
    """The weights of the leaves that a row comes to: summed, averaged, the least or greatest."""
    weights = _numbers(target_weights, target_weights_as_tensor)
    forest = _known_forest(
        lambda: _forest(
            nodes_treeids,
            nodes_nodeids,
            nodes_modes,
            nodes_featureids,
            _numbers(nodes_values, nodes_values_as_tensor),
            nodes_truenodeids,
            nodes_falsenodeids,
            nodes_missing_value_tracks_true,
            (target_treeids, target_nodeids, target_ids, weights),
            n_targets,
        ),
        nodes_treeids,
    )
    scores, said = totals(x, forest, aggregate_function)
    return regression(scores, said, _numbers(base_values, base_values_as_tensor), post_transform)


@host_operator("TreeEnsembleClassifier", domain=DOMAIN)
def tree_ensemble_classifier(
    x: Array,
    *,
    base_values: Sequence[float] = (),
    base_values_as_tensor: Array | None = None,
    class_ids: Sequence[int] = (),
    class_nodeids: Sequence[int] = (),
    class_treeids: Sequence[int] = (),
    class_weights: Sequence[float] = (),
    class_weights_as_tensor: Array | None = None,
    classlabels_int64s: Sequence[int] = (),
    classlabels_strings: Sequence[str] = (),
    nodes_falsenodeids: Sequence[int] = (),
    nodes_featureids: Sequence[int] = (),
    nodes_hitrates: Sequence[float] = (),
    nodes_hitrates_as_tensor: Array | None = None,
    nodes_missing_value_tracks_true: Sequence[int] = (),
    nodes_modes: Sequence[str] = (),
    nodes_nodeids: Sequence[int] = (),
    nodes_treeids: Sequence[int] = (),
    nodes_truenodeids: Sequence[int] = (),
    nodes_values: Sequence[float] = (),
    nodes_values_as_tensor: Array | None = None,
    post_transform: str = "NONE",
) -> tuple[Array, Array]:
    """The label of the greatest sum of each row, and the sums; two classes have rules of theirs."""
    labels = labels_of(classlabels_int64s, classlabels_strings)
    weights = _numbers(class_weights, class_weights_as_tensor)
    forest = _known_forest(
        lambda: _forest(
            nodes_treeids,
            nodes_nodeids,
            nodes_modes,
            nodes_featureids,
            _numbers(nodes_values, nodes_values_as_tensor),
            nodes_truenodeids,
            nodes_falsenodeids,
            nodes_missing_value_tracks_true,
            (class_treeids, class_nodeids, class_ids, weights),
            len(labels),
        ),
        nodes_treeids,
    )
    scores, said = totals(x, forest, "SUM")
    base = _numbers(base_values, base_values_as_tensor).astype(scores.dtype)
    if len(labels) == 2:
        is_share = len(set(class_ids)) == 1 and bool((weights >= 0).all())
        places, parts = _two_classes(scores, said, base, is_share, post_transform)
        return labels[places], parts.astype(np.float32)
    if len(base):
        scores, said = scores + base, np.ones_like(said)
    winners = np.where(said, scores, -np.inf).argmax(1)
    return labels[winners], transformed(scores, post_transform).astype(np.float32)


def _two_classes(
    scores: Floats, said: NDArray[np.bool_], base: Floats, is_share: bool, transform: str
) -> tuple[Places, Floats]:
    """Which of two classes each row is, and the scores of both, as onnxruntime has it.

    The second class alone decides where trees say something about it: beyond 0, or beyond a half
    where its sum is a share. Where they say nothing about it, the sum of the first class is taken
    for the second's, and the first has what is missing.
    """
    first, both = scores[:, 0], said[:, 1]
    if len(base):
        first = np.where(said[:, 0], first + base[0], 0)
    second = scores[:, 1]
    if len(base) == 2:
        second = base[1] + scores[:, 0]
        first = np.where(both, np.where(said[:, 0], -second, 0), first)
    decides = np.where(both, second, first)
    places = (decides > (0.5 if is_share else 0)).astype(np.int64)
    parts = transformed(np.stack([first, np.where(both, second, 0)], 1), transform)
    if len(base) < 2 and not both.all():
        kind = Second.COMPLEMENT if is_share or not len(scores) else Second.OPPOSITE
        parts = np.where(both[:, None], parts, transformed(first[:, None], transform, kind))
    return places, parts


@host_operator("TreeEnsemble", since=5, domain=DOMAIN)
def tree_ensemble(
    x: Array,
    *,
    aggregate_function: int = 1,
    leaf_targetids: Sequence[int] = (),
    leaf_weights: Array,
    membership_values: Array | None = None,
    n_targets: int = 1,
    nodes_falseleafs: Sequence[int] = (),
    nodes_falsenodeids: Sequence[int] = (),
    nodes_featureids: Sequence[int] = (),
    nodes_hitrates: Array | None = None,
    nodes_missing_value_tracks_true: Sequence[int] = (),
    nodes_modes: Array,
    nodes_splits: Array,
    nodes_trueleafs: Sequence[int] = (),
    nodes_truenodeids: Sequence[int] = (),
    post_transform: int = 0,
    tree_roots: Sequence[int] = (),
) -> Array:
    """Trees whose leaves stand in a table of their own, with branches by membership in a set."""
    count, leaves = len(nodes_modes), len(leaf_targetids)
    leaf_places = np.arange(count, count + leaves)
    shift = [np.asarray(f, np.int64) * count for f in (nodes_trueleafs, nodes_falseleafs)]
    yes = np.concatenate([np.asarray(nodes_truenodeids, np.int64) + shift[0], leaf_places])
    no = np.concatenate([np.asarray(nodes_falsenodeids, np.int64) + shift[1], leaf_places])
    modes = np.concatenate([np.asarray(nodes_modes, np.int64), np.full(leaves, LEAF)])
    weights = np.zeros((count + leaves, n_targets), leaf_weights.dtype)
    weights[leaf_places, leaf_targetids] = leaf_weights
    has = np.zeros(weights.shape, np.bool_)
    has[leaf_places, leaf_targetids] = True
    missing = np.zeros(count + leaves, np.bool_)
    if len(nodes_missing_value_tracks_true):
        missing[:count] = nodes_missing_value_tracks_true
    zeros = np.zeros(leaves, np.int64)
    roots = np.asarray(tree_roots, np.int64)
    forest = Forest(
        roots=roots,
        modes=modes,
        features=np.concatenate([np.asarray(nodes_featureids, np.int64), zeros]),
        values=np.concatenate([nodes_splits, zeros.astype(nodes_splits.dtype)]),
        yes=yes,
        no=no,
        missing=missing,
        weights=weights,
        has=has,
        members=_members(modes[:count], membership_values),
        depth=depth_of(roots, yes, no, modes),
    )
    scores, _ = totals(x, forest, AGGREGATES[aggregate_function])
    return transformed(scores, TRANSFORMS[post_transform]).astype(x.dtype)


def _members(modes: Places, values: Array | None) -> dict[int, Floats]:
    """The sets of the nodes that ask for membership, which NaN ends."""
    nodes = np.flatnonzero(modes == MODES.index("MEMBER"))
    if values is None or not len(nodes):
        return {}
    ends = np.flatnonzero(np.isnan(values))
    starts = [0, *(ends + 1)]
    stops = [*ends, len(values)]
    return {int(n): values[starts[i] : stops[i]] for i, n in enumerate(nodes)}
