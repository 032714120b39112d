"""Operators whose attributes come from someone who errs, or means harm: refused, and in time."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper
from tg_onnx import OnnxRunner
from tg_onnx.errors import OperatorError

KINDS = {"f": TensorProto.FLOAT, "i": TensorProto.INT64, "O": TensorProto.STRING}


def run(operator, inputs, domain="", **attributes):
    names = [f"x{place}" for place in range(len(inputs))]
    node = helper.make_node(operator, names, ["y"], name="n", domain=domain, **attributes)
    infos = [
        helper.make_tensor_value_info(name, KINDS[x.dtype.kind], list(x.shape))
        for name, x in zip(names, inputs, strict=True)
    ]
    result = helper.make_empty_tensor_value_info("y")
    graph = helper.make_graph([node], "g", infos, [result])
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    found = OnnxRunner(model.SerializeToString())(dict(zip(names, inputs, strict=True)))["y"]
    return found if isinstance(found, np.ndarray) else found.numpy()


TREE = {
    "nodes_treeids": [0, 0, 0],
    "nodes_nodeids": [0, 1, 2],
    "nodes_featureids": [0, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_values": [0.0, 0.0, 0.0],
    "nodes_truenodeids": [1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0],
    "target_treeids": [0, 0],
    "target_nodeids": [1, 2],
    "target_ids": [0, 0],
    "target_weights": [1.0, 2.0],
    "n_targets": 1,
}


def grown(**changes):
    x = np.array([[-1, 0], [1, 0]], np.float32)
    return run("TreeEnsembleRegressor", [x], "ai.onnx.ml", **{**TREE, **changes})


def test_a_tree():
    assert grown().tolist() == [[1], [2]]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"nodes_truenodeids": [0, 0, 0]}, "goes round"),
        (
            {
                "nodes_modes": ["BRANCH_LEQ", "BRANCH_LEQ", "LEAF"],
                "nodes_falsenodeids": [2, 2, 0],
            },
            "goes round",
        ),
        ({"nodes_truenodeids": [7, 0, 0]}, "tree 0 has no node 7"),
        ({"nodes_nodeids": [0, 1, 1]}, "the same tree and number"),
        ({"nodes_values": [0.0]}, "nodes_values has 1 entries for 3 nodes"),
        ({"nodes_modes": ["ODD", "LEAF", "LEAF"]}, "'ODD' is none of LEAF"),
        ({"target_ids": [0, 9]}, "no target 9"),
        ({"target_nodeids": [1, 5]}, "no node 5 in tree 0"),
        ({"n_targets": 1 << 40}, "targets for each of 3 nodes"),
        ({"nodes_featureids": [99, 0, 0]}, "99"),
    ],
)
def test_what_is_no_tree(changes, reason):
    with pytest.raises(OperatorError, match=reason):
        grown(**changes)


def test_a_pattern_takes_no_more_time_than_the_string_is_long():
    words = np.array(["a" * 40 + "b", "aaa"], object)
    assert run("RegexFullMatch", [words], pattern="(a+)+$").tolist() == [False, True]
    with pytest.raises(OperatorError, match="no pattern of RE2"):
        run("RegexFullMatch", [words], pattern="(a")


def test_grams_are_no_longer_than_the_row():
    counts = run(
        "TfIdfVectorizer",
        [np.array([5, 1, 5, 2])],
        mode="TF",
        min_gram_length=1,
        max_gram_length=1 << 40,
        max_skip_count=1 << 40,
        ngram_counts=[0, 1],
        ngram_indexes=[0, 1],
        pool_int64s=[5, 5, 2],
    )
    assert counts.tolist() == [2, 2]


def test_boxes_and_scores_belong_together():
    boxes, most = np.zeros((1, 3, 4), np.float32), np.array([5])
    with pytest.raises(OperatorError, match="have no scores of shape"):
        run("NonMaxSuppression", [boxes, np.zeros((1, 1, 7), np.float32), most])
    with pytest.raises(OperatorError, match="are \\(3, 4\\) and"):
        run("NonMaxSuppression", [boxes[0], np.zeros((1, 1, 3), np.float32), most])
