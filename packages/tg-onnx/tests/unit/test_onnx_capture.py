"""Calls with one signature are captured and replayed: same results, fresh ones, guarded."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from tg_onnx import ModelInputError, OnnxRunner
from tg_tensor import Tensor, TinyJit

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def value(name, shape, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model_of(nodes, inputs, outputs, constants=None, opset=18):
    initializers = [numpy_helper.from_array(v, k) for k, v in (constants or {}).items()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets).SerializeToString()


def floats(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def layer():
    return model_of(
        [
            helper.make_node("MatMul", ["x", "w"], ["m"]),
            helper.make_node("Relu", ["m"], ["y"]),
            helper.make_node("Exp", ["m"], ["z"]),
        ],
        [value("x", ["n", 4])],
        [value("y", ["n", 3]), value("z", ["n", 3])],
        {"w": floats(4, 3, seed=9)},
    )


def captured_steps(runner):
    """The steps captured so far, of all stretches."""
    stretches = [s for _, many in runner._executor._stretches.values() for s in many]
    return [step for s in stretches for step in s.steps.values() if step is not None]


def check_calls(model, calls, outputs=None, steps=None):
    """Each call gives what a runner gives that captures nothing."""
    runner, plain = OnnxRunner(model), OnnxRunner(model, capture=False)
    kept = []
    for inputs in calls:
        found, expected = runner(inputs, outputs), plain(inputs, outputs)
        assert list(found) == list(expected)
        for name, result in found.items():
            kept.append((result, expected[name].numpy()))
            assert result.dtype == expected[name].dtype
            assert result.shape == expected[name].shape
    for result, expected in kept:
        # earlier results are what they were: no replay wrote over them
        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-6, atol=1e-6)
    assert not captured_steps(plain)
    if steps is not None:
        assert len(captured_steps(runner)) == steps
    return runner


def test_replays_are_fresh_and_equal():
    check_calls(layer(), [{"x": floats(2, 4, seed=i)} for i in range(5)], steps=1)


def test_each_shape_is_captured_by_itself():
    shapes = [2, 3, 2, 3, 3, 2, 1]
    check_calls(layer(), [{"x": floats(n, 4, seed=n)} for n in shapes], steps=2)


def test_a_subset_of_the_outputs():
    calls = [{"x": floats(2, 4, seed=i)} for i in range(3)]
    runner = check_calls(layer(), calls, ["z"], steps=1)
    assert list(runner(calls[0], ["z", "y"])) == ["z", "y"]
    with pytest.raises(ModelInputError, match="no such output"):
        runner(calls[0], ["w"])


def test_padding_by_constants_is_part_of_one_step():
    model = model_of(
        [
            helper.make_node("Neg", ["x"], ["n"]),
            helper.make_node("Pad", ["n", "pads", "fill"], ["p"]),
            helper.make_node("Relu", ["p"], ["y"]),
        ],
        [value("x", ["n", 4])],
        [value("y", ["n", 6])],
        {"pads": np.array([0, 1, 0, 1]), "fill": np.array(2.0, np.float32)},
    )
    runner = check_calls(model, [{"x": floats(2, 4, seed=i)} for i in range(3)], steps=1)
    assert runner({"x": floats(2, 4)})["y"].numpy()[0, 0] == 2


def test_tensors_and_arrays_are_alike():
    runner = OnnxRunner(layer())
    x = floats(2, 4)
    expected = runner({"x": x})["y"].numpy()
    for given in (x, Tensor(x), x.tolist(), Tensor(x).realize()):
        np.testing.assert_array_equal(runner({"x": given})["y"].numpy(), expected)
    assert len(captured_steps(runner)) == 1


def test_two_runners_of_one_model():
    first, second = OnnxRunner(layer()), OnnxRunner(layer())
    for seed in range(4):
        x = floats(2, 4, seed=seed)
        one, two = first({"x": x})["y"], second({"x": x + 1})["y"]
        w = floats(4, 3, seed=9)
        np.testing.assert_allclose(one.numpy(), np.maximum(x @ w, 0), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(two.numpy(), np.maximum((x + 1) @ w, 0), rtol=1e-5, atol=1e-5)


def test_inside_of_another_captured_step():
    runner = OnnxRunner(layer())
    step = TinyJit(lambda x: runner({"x": x})["y"].sum())
    for seed in range(4):
        x = floats(2, 4, seed=seed)
        expected = np.maximum(x @ floats(4, 3, seed=9), 0).sum()
        assert step(Tensor(x)).item() == pytest.approx(expected, rel=1e-5)
    assert not captured_steps(runner)


def test_nothing_is_captured_where_a_gradient_is_wanted():
    runner = OnnxRunner(layer())
    w = floats(4, 3, seed=9)
    for seed in range(3):
        x = Tensor(floats(2, 4, seed=seed), requires_grad=True)
        runner({"x": x})["y"].sum().backward()
        mask = (x.numpy() @ w > 0).astype(np.float32)
        np.testing.assert_allclose(x.grad.numpy(), mask @ w.T, rtol=1e-5, atol=1e-5)


def branch_model():
    def branch(operator):
        node = helper.make_node(operator, ["x"], ["r"])
        return helper.make_graph([node], operator, [], [value("r", ["n"])])

    return model_of(
        [
            helper.make_node("Equal", ["rate", "limit"], ["same"]),
            helper.make_node(
                "If", ["same"], ["b"], then_branch=branch("Exp"), else_branch=branch("Neg")
            ),
            helper.make_node("Relu", ["b"], ["y"]),
        ],
        [value("x", ["n"]), value("rate", [], INT64)],
        [value("y", ["n"])],
        {"limit": np.array(16, np.int64)},
    )


def test_branches_follow_the_condition():
    rates = [16, 16, 16, 8, 8, 16, 8, 16]
    calls = [
        {"x": floats(5, seed=i), "rate": np.array(rate, np.int64)} for i, rate in enumerate(rates)
    ]
    check_calls(branch_model(), calls)


def test_values_that_decide_shapes():
    model = model_of(
        [
            helper.make_node("Slice", ["x", "start", "end"], ["s"]),
            helper.make_node("Exp", ["s"], ["y"]),
        ],
        [value("x", ["n"]), value("start", [1], INT64), value("end", [1], INT64)],
        [value("y", None)],
    )
    calls = [
        {"x": floats(9, seed=i), "start": np.array([a]), "end": np.array([b])}
        for i, (a, b) in enumerate([(0, 4), (0, 4), (0, 4), (1, 4), (0, 4), (1, 4), (2, 9)])
    ]
    check_calls(model, calls, steps=2)


def test_shapes_that_depend_on_data():
    model = model_of(
        [
            helper.make_node("Relu", ["x"], ["r"]),
            helper.make_node("NonZero", ["r"], ["where"]),
            helper.make_node("Transpose", ["where"], ["t"]),
            helper.make_node("GatherND", ["x", "t"], ["g"]),
            helper.make_node("Exp", ["g"], ["y"]),
        ],
        [value("x", ["n", 3])],
        [value("y", ["k"])],
    )
    check_calls(model, [{"x": floats(4, 3, seed=i // 2)} for i in range(8)])


def test_signatures_are_bounded():
    runner = OnnxRunner(layer())
    for n in range(1, 25):
        for _ in range(2):
            x = floats(n, 4)
            expected = np.maximum(x @ floats(4, 3, seed=9), 0)
            found = runner({"x": x})["y"].numpy()
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    assert len(captured_steps(runner)) <= 16


def test_an_output_that_is_an_input():
    model = model_of(
        [helper.make_node("Identity", ["x"], ["y"]), helper.make_node("Neg", ["x"], ["z"])],
        [value("x", [3])],
        [value("y", [3]), value("z", [3])],
    )
    check_calls(model, [{"x": floats(3, seed=i)} for i in range(4)])


def loop_model(condition):
    body = helper.make_graph(
        [
            helper.make_node("Gather", ["table", "i"], ["row"]),
            helper.make_node("Add", ["carried", "row"], ["after"]),
            helper.make_node("ReduceSum", ["after"], ["total"], keepdims=0),
            helper.make_node("Less", ["total", "limit"], ["small"]),
            helper.make_node("Identity", ["small" if condition else "going"], ["go_on"]),
            helper.make_node("Identity", ["after"], ["seen"]),
        ],
        "body",
        [value("i", [], INT64), value("going", [], BOOL), value("carried", [3])],
        [value("go_on", [], BOOL), value("after", [3]), value("seen", [3])],
        [numpy_helper.from_array(np.array(6.0, np.float32), "limit")],
    )
    return model_of(
        [helper.make_node("Loop", ["count", "", "x"], ["y", "all"], body=body)],
        [value("x", [3]), value("count", [], INT64)],
        [value("y", [3]), value("all", ["k", 3])],
        {"table": np.abs(floats(12, 3, seed=5))},
    )


@pytest.mark.parametrize("condition", [False, True])
def test_loops(condition):
    calls = [
        {"x": floats(3, seed=i), "count": np.array(count, np.int64)}
        for i, count in enumerate([10, 10, 10, 4, 4, 4, 10, 0])
    ]
    check_calls(loop_model(condition), calls)


def test_a_loop_that_only_counts_is_one_step():
    model, table = loop_model(condition=False), np.abs(floats(12, 3, seed=5))
    runner = OnnxRunner(model)
    for seed in range(4):
        x = floats(3, seed=seed)
        found = runner({"x": x, "count": np.array(5, np.int64)})
        np.testing.assert_allclose(found["all"].numpy(), x + table[:5].cumsum(0), rtol=1e-5)
    assert not runner.plan.habits.nodes


def test_a_scan_is_one_step():
    body = helper.make_graph(
        [
            helper.make_node("Add", ["sum", "row"], ["after"]),
            helper.make_node("Mul", ["after", "row"], ["seen"]),
        ],
        "body",
        [value("sum", [3]), value("row", [3])],
        [value("after", [3]), value("seen", [3])],
    )
    model = model_of(
        [helper.make_node("Scan", ["start", "x"], ["end", "all"], body=body, num_scan_inputs=1)],
        [value("start", [3]), value("x", ["k", 3])],
        [value("end", [3]), value("all", ["k", 3])],
    )
    runner = OnnxRunner(model)
    for seed in range(4):
        start, x = floats(3, seed=seed), floats(7, 3, seed=10 + seed)
        found = runner({"start": start, "x": x})
        sums = start + x.cumsum(0)
        np.testing.assert_allclose(found["end"].numpy(), sums[-1], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found["all"].numpy(), sums * x, rtol=1e-4, atol=1e-5)
    assert not runner.plan.habits.nodes


def test_what_depends_on_constants_alone_is_computed_once():
    model = model_of(
        [
            helper.make_node("DequantizeLinear", ["codes", "scale"], ["w"]),
            helper.make_node("Transpose", ["w"], ["t"]),
            helper.make_node("MatMul", ["x", "t"], ["y"]),
        ],
        [value("x", ["n", 4])],
        [value("y", ["n", 3])],
        {
            "codes": np.arange(-6, 6, dtype=np.int8).reshape(3, 4),
            "scale": np.array(0.5, np.float32),
        },
    )
    runner = check_calls(model, [{"x": floats(2, 4, seed=i)} for i in range(3)], steps=1)
    (step,) = captured_steps(runner)
    assert step.jit.captured.kernel_count == 1
    assert len(runner.plan.static) == 2
