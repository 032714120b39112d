"""Sequences, strings and steps of optimizers: what onnxruntime, or a formula, gives."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, ValueInfoProto, helper, numpy_helper
from tg_onnx import OnnxRunner
from tg_tensor import Tensor

onnxruntime = pytest.importorskip("onnxruntime")
WORDS = ["a", "bb", "A b", "c,d", "", ",x,", " p  q r "]


def session_of(data):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(data, options, ["CPUExecutionProvider"])


def same(have, want):
    if isinstance(want, list):
        assert len(have) == len(want)
        for one, other in zip(have, want, strict=True):
            same(one, other)
        return
    have = have.numpy() if isinstance(have, Tensor) else have
    assert have.shape == want.shape
    if want.dtype.kind == "O":
        assert have.tolist() == want.tolist()
    else:
        assert have.dtype == want.dtype
        np.testing.assert_allclose(have, want, rtol=1e-5)


def check(operator, inputs, opset, outputs=1, **attributes):
    """One node on arrays, strings among them."""
    declared = []
    for i, x in enumerate(inputs):
        kind = x.dtype.kind == "O"
        element = TensorProto.STRING if kind else helper.np_dtype_to_tensor_dtype(x.dtype)
        declared.append(helper.make_tensor_value_info(f"x{i}", element, x.shape))
    results = [f"y{i}" for i in range(outputs)]
    names = [f"x{i}" for i in range(len(inputs))]
    node = helper.make_node(operator, names, results, **attributes)
    graph = helper.make_graph([node], "g", declared, [ValueInfoProto(name=r) for r in results])
    opsets = [helper.make_opsetid("", opset)]
    data = helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()
    feeds = dict(zip(names, inputs, strict=True))
    runner = OnnxRunner(data)
    found = list(runner(feeds).values())
    assert not runner.ran_on_host
    same(found, session_of(data).run(None, feeds))


def strings(rng, *shape):
    return rng.choice(np.array(WORDS, object), shape)


@pytest.mark.parametrize("seed", range(6))
def test_strings(seed):
    rng = np.random.default_rng(seed)
    check("StringConcat", [strings(rng, 2, 3), strings(rng, 3)], 20)
    for delimiter in ({}, {"delimiter": ""}, {"delimiter": ","}, {"delimiter": "b"}):
        for most in ({}, {"maxsplit": 1}):
            check("StringSplit", [strings(rng, 2, 2)], 20, 2, **delimiter, **most)
    check("RegexFullMatch", [strings(rng, 4)], 20, pattern=["a.*", "[a-c]+", ""][seed % 3])
    more = {"locale": "C", "is_case_sensitive": seed % 2, "stopwords": ["A", "BB", "c,d"]}
    case = ["NONE", "LOWER", "UPPER"][seed % 3]
    check("StringNormalizer", [strings(rng, 1, 4)], 10, case_change_action=case, **more)
    check("Identity", [strings(rng, 2)], 16)


def test_strings_that_all_go_leave_an_empty_one():
    x = np.array(["a", "A"], object)
    for rows in (x, x.reshape(1, 2)):
        more = {"locale": "C", "is_case_sensitive": 0, "stopwords": ["a"]}
        check("StringNormalizer", [rows], 10, **more)


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
@pytest.mark.parametrize("skips", [0, 2])
def test_tf_idf(mode, skips):
    rng = np.random.default_rng(0)
    pool = [0, 1, 2, 0, 1, 1, 2, 2, 2, 0, 1, 2]
    common = {"mode": mode, "max_skip_count": skips, "ngram_counts": [0, 3, 9]}
    common |= {"ngram_indexes": [3, 0, 5, 4, 2, 1, 6], "min_gram_length": 1, "max_gram_length": 3}
    common |= {"weights": [0.5, 0.25, 1.5, 2.0, 3.0, 0.75, 1.25]}
    for shape in ((6,), (2, 6)):
        x = rng.integers(0, 3, shape)
        check("TfIdfVectorizer", [x], 9, pool_int64s=pool, **common)
        names = [str(number) for number in pool]
        check("TfIdfVectorizer", [x.astype(str).astype(object)], 9, pool_strings=names, **common)


def chain():
    """Cut, take, add, put back, and join."""
    nodes = [
        helper.make_node("SplitToSequence", ["x", "two"], ["s"], axis=1),
        helper.make_node("SequenceAt", ["s", "first"], ["a"]),
        helper.make_node("SequenceAt", ["s", "last"], ["b"]),
        helper.make_node("Add", ["a", "b"], ["c"]),
        helper.make_node("SequenceInsert", ["s", "c", "first"], ["t"]),
        helper.make_node("ConcatFromSequence", ["t"], ["joined"], axis=-1),
        helper.make_node("Relu", ["joined"], ["y"]),
        helper.make_node("SequenceLength", ["t"], ["n"]),
        helper.make_node("SequenceErase", ["t", "last"], ["rest"]),
    ]
    outputs = [ValueInfoProto(name=name) for name in ("y", "n")]
    outputs.append(helper.make_tensor_sequence_value_info("rest", TensorProto.FLOAT, None))
    numbers = {"two": 2, "first": 0, "last": -1}
    constants = [numpy_helper.from_array(np.array(v), k) for k, v in numbers.items()]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", "columns"])
    graph = helper.make_graph(nodes, "g", [x], outputs, constants)
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def test_sequences_are_captured_and_have_gradients():
    data = chain()
    runner, session = OnnxRunner(data), session_of(data)
    rng = np.random.default_rng(0)
    for _ in range(4):
        x = rng.standard_normal((3, 6)).astype(np.float32)
        same(list(runner({"x": x}).values()), session.run(None, {"x": x}))
    assert not runner.ran_on_host
    assert runner.plan.habits.count == 0
    given = Tensor(np.ones((1, 6), np.float32), requires_grad=True)
    runner({"x": given})["y"].sum().backward()
    assert given.grad.numpy().tolist() == [[2, 2, 1, 1, 2, 2]]


def optimizer(operator, tensors, **attributes):
    names = [f"x{i}" for i in range(len(tensors))]
    results = [f"y{i}" for i in range(len(tensors) - 3)]
    domain = "ai.onnx.preview.training"
    node = helper.make_node(operator, names, results, domain=domain, **attributes)
    declared = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for n, x in zip(names, tensors, strict=True)
    ]
    graph = helper.make_graph([node], "g", declared, [ValueInfoProto(name=r) for r in results])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(domain, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    found = OnnxRunner(model)(dict(zip(names, tensors, strict=True)))
    return [value.numpy() for value in found.values()]


@pytest.mark.parametrize("count", [0, 3])
def test_steps_of_optimizers(count):
    rng = np.random.default_rng(0)
    x, g, v, h = (rng.random(3).astype(np.float32) for _ in range(4))
    rate, number = np.array(0.1, np.float32), np.array(count)
    slope = g + 0.01 * x
    more = {"norm_coefficient": 0.01}
    found = optimizer("Adagrad", [rate, number, x, g, h], epsilon=1e-5, decay_factor=0.5, **more)
    sums = h + slope**2
    wanted = x - 0.1 / (1 + 0.5 * count) * slope / (np.sqrt(sums) + 1e-5)
    np.testing.assert_allclose(found, [wanted, sums], rtol=1e-5)
    for mode in ("standard", "nesterov"):
        settings = {"alpha": 0.9, "beta": 0.8, "mode": mode, **more}
        found = optimizer("Momentum", [rate, number, x, g, v], **settings)
        new = 0.9 * v + (0.8 if count else 1.0) * slope
        direction = slope + 0.9 * new if mode == "nesterov" else new
        np.testing.assert_allclose(found, [x - 0.1 * direction, new], rtol=1e-5)
    settings = {"alpha": 0.9, "beta": 0.99, "epsilon": 1e-3, "norm_coefficient_post": 0.02, **more}
    found = optimizer("Adam", [rate, number, x, g, v, h], **settings)
    mean, square = 0.9 * v + 0.1 * slope, 0.99 * h + 0.01 * slope**2
    started = np.sqrt(1 - 0.99**count) / (1 - 0.9**count) if count else 1.0
    wanted = 0.98 * (x - 0.1 * started * mean / (np.sqrt(square) + 1e-3))
    np.testing.assert_allclose(found, [wanted, mean, square], rtol=1e-4)
