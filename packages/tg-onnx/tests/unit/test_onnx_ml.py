"""Operators of ai.onnx.ml with random attributes give what onnxruntime gives."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, ValueInfoProto, helper, numpy_helper
from tg_onnx import OnnxRunner
from tg_tensor import Tensor

onnxruntime = pytest.importorskip("onnxruntime")

# PROBIT is compared for what lies between 0 and 1 alone: onnxruntime leaves other places unset
TRANSFORMS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"]
MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GT", "BRANCH_GTE", "BRANCH_EQ", "BRANCH_NEQ"]


def model_of(operator, inputs, outputs=1, version=1, **attributes):
    names = [f"x{i}" for i in range(len(inputs))]
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(operator, names, results, domain="ai.onnx.ml", **attributes)
    declared = []
    for name, x in zip(names, inputs, strict=True):
        text = x.dtype.kind == "O"
        kind = TensorProto.STRING if text else helper.np_dtype_to_tensor_dtype(x.dtype)
        sizes = [f"{name}_{axis}" for axis in range(x.ndim)]
        declared.append(helper.make_tensor_value_info(name, kind, sizes))
    graph = helper.make_graph([node], "g", declared, [ValueInfoProto(name=r) for r in results])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", version)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def check(operator, inputs, outputs=1, version=1, **attributes):
    data = model_of(operator, inputs, outputs, version, **attributes).SerializeToString()
    feeds = {f"x{i}": x for i, x in enumerate(inputs)}
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(data, options, ["CPUExecutionProvider"])
    runner = OnnxRunner(data)
    found = runner(feeds).values()
    assert not runner.ran_on_host
    for value, want in zip(found, session.run(None, feeds), strict=True):
        have = value.numpy() if isinstance(value, Tensor) else value
        assert have.shape == want.shape
        if want.dtype.kind == "O":
            assert have.tolist() == want.tolist()
            continue
        assert have.dtype == want.dtype
        np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-5)


class Drawn:
    """Random parts of one case."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def one(self, options):
        return options[self.rng.integers(len(options))]

    def floats(self, count, low=-1.0):
        return self.rng.uniform(low, 1, count).astype(np.float32).tolist()

    def rows(self, count, width, kinds=("float32", "float64", "int64", "int32")):
        return (self.rng.standard_normal((count, width)) * 2).astype(self.one(kinds))

    def labels(self, count, ints="classlabels_ints"):
        if self.rng.random() < 0.5:
            return {ints: list(range(count))}
        return {"classlabels_strings": [f"label {i}" for i in range(count)]}


@pytest.mark.parametrize("seed", range(12))
def test_linear_models(seed):
    d = Drawn(seed)
    width, classes, transform = d.rng.integers(1, 5), d.rng.integers(1, 4), d.one(TRANSFORMS)
    x = d.rows(3, width)
    weights, shifts = d.floats(classes * width), d.floats(classes)
    labels = d.labels(max(classes, 2))
    more = {"coefficients": weights, "intercepts": shifts, "post_transform": transform}
    check("LinearClassifier", [x], 2, **more, **labels)
    check("LinearRegressor", [x.astype(np.float32)], targets=int(classes), **more)


@pytest.mark.parametrize("seed", range(6))
def test_features(seed):
    d = Drawn(seed)
    width = int(d.rng.integers(1, 5))
    x = d.rows(3, width)
    x[0] = 0
    check("Scaler", [x], offset=d.floats(width), scale=d.floats(1) * width)
    check("Normalizer", [x], norm=d.one(["MAX", "L1", "L2"]))
    check("Binarizer", [x.astype(np.float32)], threshold=0.3)
    missing = np.where(d.rng.random((3, width)) < 0.4, np.nan, 1.5).astype(np.float32)
    for value in (np.nan, 1.5):
        more = {"imputed_value_floats": d.floats(width), "replaced_value_float": float(value)}
        check("Imputer", [missing], **more)
    check("Imputer", [x.astype(np.int64)], imputed_value_int64s=[7], replaced_value_int64=0)
    x = x.astype(np.float32)
    check("FeatureVectorizer", [x, x[:, :1]], inputdimensions=[width, 1])
    places = d.rng.integers(0, width, 3)
    for rows in (x, x.astype(str).astype(object)):
        check("ArrayFeatureExtractor", [rows, places])


def test_labels():
    names = np.array([["a", "c", "x"], ["b", "a", ""]], object)
    numbers = np.array([[0, 3, 9], [1, 0, 2]])
    floats = np.array([[1.5, np.nan], [2, 7]], np.float32)
    keys = ["a", "b", "c"]
    check("LabelEncoder", [names], classes_strings=keys)
    check("LabelEncoder", [numbers], classes_strings=keys)
    for version in (2, 4):
        check(
            "LabelEncoder",
            [names],
            version=version,
            keys_strings=keys,
            values_floats=[1.0, 2.0, 3.0],
        )
        more = {"values_strings": keys, "default_string": "none"}
        check("LabelEncoder", [numbers], version=version, keys_int64s=[0, 1, 3], **more)
        more = {"keys_floats": [1.5, float("nan")], "values_int64s": [4, 5]}
        check("LabelEncoder", [floats], version=version, **more)
    tensors = {"keys_tensor": [0, 1, 3], "values_tensor": [0.5, 1.5, 2.5], "default_tensor": [9.0]}
    more = {k: numpy_helper.from_array(np.array(v)) for k, v in tensors.items()}
    check("LabelEncoder", [numbers], version=4, **more)
    for x in (names, numbers):
        check("CategoryMapper", [x], cats_int64s=[0, 1, 3], cats_strings=keys)
    check("OneHotEncoder", [numbers], cats_int64s=[0, 1, 2, 3, 9], zeros=0)
    check("OneHotEncoder", [names], cats_strings=keys)


def test_maps():
    rows = np.array([[1, 2], [3, 4]], np.float32)
    for labels in ({"classlabels_strings": ["a", "b"]}, {"classlabels_int64s": [5, 6]}):
        data = model_of("ZipMap", [rows], **labels).SerializeToString()
        names = next(iter(labels.values()))
        wanted = [dict(zip(names, row, strict=True)) for row in rows.tolist()]
        assert OnnxRunner(data)({"x0": rows})["y0"] == wanted


@pytest.mark.parametrize("kernel", ["LINEAR", "POLY", "RBF", "SIGMOID"])
@pytest.mark.parametrize("seed", range(4))
def test_support_vectors(kernel, seed):
    d = Drawn(seed)
    width, count = int(d.rng.integers(1, 4)), int(d.rng.integers(1, 6))
    common = {"kernel_type": kernel, "kernel_params": [0.4, 0.3, 2.0]}
    x = d.rows(3, width)
    more = {"coefficients": d.floats(count), "support_vectors": d.floats(count * width)}
    more |= {"n_supports": count, "rho": d.floats(1), "one_class": seed % 2}
    check("SVMRegressor", [x.astype(np.float32)], **common, **more)
    common |= {"post_transform": d.one(TRANSFORMS)}
    classes = int(d.rng.integers(2, 5))
    counts = d.rng.integers(1, 4, classes).tolist()
    total, pairs = sum(counts), classes * (classes - 1) // 2
    more = {"coefficients": d.floats(total * (classes - 1)), "rho": d.floats(pairs)}
    more |= {"support_vectors": d.floats(total * width), "vectors_per_class": counts}
    check("SVMClassifier", [x], 2, **common, **more, **d.labels(classes))
    more |= {"prob_a": [-1.5] * pairs, "prob_b": d.floats(pairs)}
    check("SVMClassifier", [x], 2, **common, **more, **d.labels(classes))
    more = {"coefficients": d.floats(classes * width), "rho": d.floats(1)}
    check("SVMClassifier", [x], 2, **common, **more, **d.labels(classes))


def trees(d, width, modes):
    """Attributes of nodes, and the leaves by tree and number."""
    names = ["treeids", "nodeids", "modes", "featureids", "values"]
    names += ["truenodeids", "falsenodeids", "missing_value_tracks_true"]
    columns = {f"nodes_{name}": [] for name in names}
    leaves = []

    def grow(tree, nodes, depth):
        place = len(nodes)
        nodes.append(None)
        if depth == 0 or d.rng.random() < 0.2:
            nodes[place] = ("LEAF", 0, 0.0, 0, 0)
            leaves.append((tree, place))
            return place
        yes, no = grow(tree, nodes, depth - 1), grow(tree, nodes, depth - 1)
        value = float(np.round(d.rng.standard_normal(), 1))
        nodes[place] = (d.one(modes), int(d.rng.integers(width)), value, yes, no)
        return place

    for tree in range(3):
        nodes = []
        grow(tree, nodes, 3)
        for place, node in enumerate(nodes):
            row = (tree, place, *node, int(d.rng.random() < 0.5))
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
    return columns, leaves


def weighed(d, leaves, ids, prefix, low):
    """Attributes that give each leaf weights for some of the ids."""
    rows = [(t, n, i) for t, n in leaves for i in ids if len(ids) == 1 or d.rng.random() < 0.8]
    columns = [list(column) for column in zip(*rows, strict=True)]
    names = [f"{prefix}_treeids", f"{prefix}_nodeids", f"{prefix}_ids"]
    weights = {f"{prefix}_weights": d.floats(len(rows), low)}
    return {**dict(zip(names, columns, strict=True)), **weights}


@pytest.mark.parametrize("seed", range(16))
def test_trees(seed):
    d = Drawn(seed)
    nodes, leaves = trees(d, 3, MODES if seed % 2 else MODES[:1])
    x = np.round(d.rows(5, 3, ("float32", "float64")), 1)
    x[0, 0] = np.nan
    common = {**nodes, "post_transform": d.one(TRANSFORMS)}
    base = {"base_values": d.floats(2)} if seed % 3 == 0 else {}
    more = weighed(d, leaves, [0, 1], "target", -1.0)
    more |= {"n_targets": 2, "aggregate_function": d.one(["SUM", "AVERAGE", "MIN", "MAX"])}
    check("TreeEnsembleRegressor", [x], version=3, **common, **base, **more)
    for ids, low in (([0, 1, 2], -1.0), ([0, 1], -1.0), ([1], -1.0), ([0], 0.0)):
        labels = d.labels(max(len(ids), 2), "classlabels_int64s")
        more = weighed(d, leaves, ids, "class", low)
        check("TreeEnsembleClassifier", [x], 2, 3, **common, **more, **labels)


def test_trees_of_float64():
    d = Drawn(0)
    nodes, leaves = trees(d, 3, MODES[:2])
    more = {**weighed(d, leaves, [0], "target", -1.0), "n_targets": 1}
    for name in ("nodes_values", "target_weights"):
        values = {**nodes, **more}[name]
        (nodes if name in nodes else more).pop(name)
        more[f"{name}_as_tensor"] = numpy_helper.from_array(np.array(values, np.float64))
    check("TreeEnsembleRegressor", [d.rows(5, 3, ("float64",))], version=3, **nodes, **more)


def test_trees_with_sets():
    x = np.array([[1.2, 3.4], [-0.12, 1.66], [4.14, 1.77], [np.nan, 3]], np.float32)
    tensors = {
        "membership_values": np.array([1.2, 3.7, 8, 9, np.nan, 12, 7, np.nan], np.float32),
        "nodes_splits": np.array([3.14, np.nan, np.nan], np.float32),
        "leaf_weights": np.array([5.23, 12.12, -12.23, 7.21], np.float32),
        "nodes_modes": np.array([0, 6, 6], np.uint8),
    }
    check(
        "TreeEnsemble",
        [x],
        version=5,
        n_targets=2,
        tree_roots=[0],
        nodes_featureids=[0, 0, 0],
        nodes_truenodeids=[1, 0, 1],
        nodes_trueleafs=[0, 1, 1],
        nodes_falsenodeids=[2, 2, 3],
        nodes_falseleafs=[0, 1, 1],
        leaf_targetids=[0, 1, 0, 1],
        **{name: numpy_helper.from_array(array) for name, array in tensors.items()},
    )
