"""Recurrent layers in every form: in one kernel and step by step, beside onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_exact import exact_session
from tg_onnx import OnnxRunner
from tg_onnx.ops.cells import cells_of
from tg_onnx.ops.quantized_lstm import run_quantized
from tg_onnx.ops.recurrent_layer import Layer, Weights, run_in_kernel, run_layer, run_steps
from tg_tensor import Context, Tensor

pytest.importorskip("onnxruntime")

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
# without the second axis of (directions, batch, hidden)
OUTPUTS = {"RNN": ("y", "yh"), "GRU": ("y", "yh"), "LSTM": ("y", "yh", "yc")}


def draw(kind, seed, steps, batch, inputs, hidden, directions, names):
    """Arrays for a layer, by the names of its inputs."""
    rng = np.random.default_rng(seed)

    def floats(*shape):
        return (rng.standard_normal(shape) * 0.5).astype(np.float32)

    gates = GATES[kind] * hidden
    arrays = {
        "x": floats(steps, batch, inputs),
        "w": floats(directions, gates, inputs),
        "r": floats(directions, gates, hidden) / np.float32(hidden**0.5),
        "b": floats(directions, 2 * gates),
        "lengths": rng.integers(1, steps + 1, batch).astype(np.int32),
        "h": floats(directions, batch, hidden),
        "c": floats(directions, batch, hidden),
        "p": floats(directions, 3 * hidden),
    }
    return {name: array for name, array in arrays.items() if name in names}


def model_of(kind, arrays, hidden, **attributes):
    order = ["x", "w", "r", "b", "lengths", "h", *(["c", "p"] if kind == "LSTM" else [])]
    inputs = [name if name in arrays else "" for name in order]
    node = helper.make_node(kind, inputs, OUTPUTS[kind], hidden_size=hidden, **attributes)
    given = {k: v for k, v in arrays.items() if k in ("x", "lengths", "h", "c")}
    constants = [numpy_helper.from_array(v, k) for k, v in arrays.items() if k not in given]
    graph = helper.make_graph(
        [node],
        "g",
        [
            helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
            for k, v in given.items()
        ],
        [helper.make_tensor_value_info(k, TensorProto.FLOAT, None) for k in OUTPUTS[kind]],
        constants,
    )
    opsets = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    return model.SerializeToString(), given


def check_against_onnxruntime(kind, arrays, hidden, **attributes):
    model, given = model_of(kind, arrays, hidden, **attributes)
    session = exact_session(model)
    expected = session.run(list(OUTPUTS[kind]), given)
    runner = OnnxRunner(model)
    for _ in range(3):
        found = runner(given)
        for name, reference in zip(OUTPUTS[kind], expected, strict=True):
            np.testing.assert_allclose(found[name].numpy(), reference, rtol=1e-4, atol=2e-5)


BIDIRECTIONAL = {"direction": "bidirectional"}
FORMS = [
    ("RNN", (5, 1, 3, 4), "xwr", {}),
    ("RNN", (9, 3, 5, 20), "xwrbh", {"activations": ["Relu"], "clip": 0.6}),
    ("RNN", (9, 2, 5, 16), ["x", "w", "r", "b", "lengths"], {"direction": "reverse"}),
    ("GRU", (7, 1, 3, 5), "xwrb", {}),
    ("GRU", (7, 4, 3, 16), "xwrbh", {"linear_before_reset": 1}),
    ("GRU", (6, 2, 3, 33), "xwrbh", BIDIRECTIONAL),
    ("GRU", (6, 3, 3, 8), ["x", "w", "r", "b", "lengths", "h"], {"linear_before_reset": 1}),
    ("GRU", (2, 3, 3, 8), ["x", "w", "r", "b", "lengths", "h"], BIDIRECTIONAL),
    ("LSTM", (12, 1, 4, 64), "xwrb", BIDIRECTIONAL),
    ("LSTM", (8, 6, 4, 10), "xwrbhcp", {"direction": "reverse"}),
    ("LSTM", (8, 3, 4, 16), ["x", "w", "r", "lengths", "h", "c", "p"], BIDIRECTIONAL),
    ("LSTM", (1, 2, 4, 7), "xwrbhcp", {}),
    ("LSTM", (8, 2, 4, 32), "xwrb", {"input_forget": 1, "clip": 1.0}),
]


@pytest.mark.parametrize("number", range(len(FORMS)))
def test_like_onnxruntime(number):
    kind, (steps, batch, inputs, hidden), names, attributes = FORMS[number]
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    arrays = draw(kind, number, steps, batch, inputs, hidden, directions, names)
    check_against_onnxruntime(kind, arrays, hidden, **attributes)


def layer_of(kind, direction, **options):
    defaults = {"RNN": ("Tanh",), "GRU": ("Sigmoid", "Tanh"), "LSTM": ("Sigmoid", "Tanh", "Tanh")}
    names = options.pop("activations", None)
    cells = cells_of(direction, defaults[kind], names, None, None, options.pop("clip", None))
    return Layer(kind, cells, direction, **options)


ACTIVATIONS = ["Softsign", "HardSigmoid", "LeakyRelu", "ScaledTanh", "Affine", "Elu"]


@pytest.mark.parametrize(
    ("kind", "direction", "options"),
    [
        ("LSTM", "bidirectional", {"activations": ACTIVATIONS}),
        ("LSTM", "forward", {"activations": ACTIVATIONS[:3], "clip": 0.5}),
        ("GRU", "bidirectional", {"activations": ["ThresholdedRelu", "Softplus"] * 2}),
        ("GRU", "bidirectional", {}),
        ("RNN", "bidirectional", {"activations": ["Sigmoid", "Relu"]}),
    ],
)
@pytest.mark.parametrize("is_shared", [True, False])
def test_the_kernel_computes_what_steps_do(monkeypatch, kind, direction, options, is_shared):
    if is_shared:
        for name in ("SHARED_BYTES", "CACHED_BYTES"):
            monkeypatch.setattr(f"tg_onnx.ops.step_kernel.{name}", 1)
    directions = 2 if direction == "bidirectional" else 1
    names = ["x", "w", "r", "b", "lengths", "h", "c", *(["p"] if kind == "LSTM" else [])]
    drawn = draw(kind, 3, 4, 2, 5, 70, directions, names)
    arrays = {name: Tensor(array) for name, array in drawn.items()}
    weights = Weights(arrays["w"], arrays["r"], arrays["b"], arrays.get("p"))
    initial = [arrays["h"], arrays["c"]][: 2 if kind == "LSTM" else 1]
    layer = layer_of(kind, direction, **options)
    with Context(CPU_COUNT=5 if is_shared else 1):
        found = run_in_kernel(layer, arrays["x"], weights, arrays["lengths"], initial)
        found = [result.realize() for result in found]
    expected = run_steps(layer, arrays["x"], weights, arrays["lengths"], initial)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_gradients_are_those_of_the_steps(kind):
    names = ["x", "w", "r", "b", "h", "c"][: 6 if kind == "LSTM" else 5]
    drawn = draw(kind, 4, 4, 2, 3, 5, 2, names)
    layer = layer_of(kind, "bidirectional")

    def gradients(run):
        tensors = {k: Tensor(v, requires_grad=True) for k, v in drawn.items()}
        initial = [tensors[name] for name in names[4:]]
        weights = Weights(tensors["w"], tensors["r"], tensors["b"])
        results = run(layer, tensors["x"], weights, None, initial)
        sum((result.square()).sum() for result in results).backward()
        return {name: tensor.grad.numpy() for name, tensor in tensors.items()}

    found, expected = gradients(run_layer), gradients(run_steps)
    for name in names:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("direction", ["reverse", "bidirectional"])
@pytest.mark.parametrize(("steps", "batch", "hidden"), [(6, 1, 70), (2, 1, 33)])
@pytest.mark.parametrize("has_unit", [True, False])
@pytest.mark.parametrize("is_shared", [True, False])
def test_quantized_weights(monkeypatch, direction, steps, batch, hidden, has_unit, is_shared):
    if is_shared:
        for name in ("SHARED_BYTES", "CACHED_BYTES"):
            monkeypatch.setattr(f"tg_onnx.ops.step_kernel.{name}", 1)
    directions = 2 if direction == "bidirectional" else 1
    inputs = 6
    rng = np.random.default_rng(8)
    arrays = {
        "w": rng.integers(-100, 100, (directions, inputs, 4 * hidden)).astype(np.int8),
        "r": rng.integers(-100, 100, (directions, hidden, 4 * hidden)).astype(np.int8),
        "b": (rng.standard_normal((directions, 8 * hidden)) * 0.3).astype(np.float32),
        "w_scale": np.full(directions, 0.01, np.float32),
        "w_zero": np.full(directions, 3, np.int8),
        "r_scale": np.full((directions, 4 * hidden), 0.004, np.float32),
        "r_zero": np.zeros((directions, 4 * hidden), np.int8),
    }
    x = rng.standard_normal((steps, batch, inputs)).astype(np.float32)
    # a sequence that ends early: what comes after decides nothing
    arrays["lengths"] = np.full(batch, max(steps - 3, 1), np.int32)
    x[steps - 3 :] *= 4
    names = ["x", "w", "r", "b", "lengths", "", "", "", "w_scale", "w_zero", "r_scale", "r_zero"]
    node = helper.make_node(
        "DynamicQuantizeLSTM",
        names,
        OUTPUTS["LSTM"],
        domain="com.microsoft",
        hidden_size=hidden,
        direction=direction,
    )
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info(k, TensorProto.FLOAT, None) for k in OUTPUTS["LSTM"]],
        [numpy_helper.from_array(v, k) for k, v in arrays.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()
    session = exact_session(model)
    expected = session.run(list(OUTPUTS["LSTM"]), {"x": x})
    with Context(TC=1 if has_unit else 0, CPU_COUNT=4 if is_shared else 1):
        found = {name: value.numpy() for name, value in OnnxRunner(model)({"x": x}).items()}
    for name, reference in zip(OUTPUTS["LSTM"], expected, strict=True):
        # the same operations in the same order: another last place would become another code
        np.testing.assert_array_equal(found[name], reference)


@pytest.mark.parametrize("has_unit", [True, False])
def test_quantized_rows_of_one_state(has_unit):
    """More rows than one tile has: beside the steps as a graph, which round all rows together."""
    rng = np.random.default_rng(5)
    x = Tensor(rng.standard_normal((4, 19, 4)).astype(np.float32))
    codes = [Tensor(rng.integers(-90, 90, (1, 80, size)).astype(np.int8)) for size in (4, 20)]
    scales = [Tensor(np.full((1, 80), scale, np.float32)) for scale in (0.01, 0.003)]
    lengths = Tensor(rng.integers(1, 5, 19).astype(np.int32))
    weights = Weights(*codes, None, None, *scales)
    layer = layer_of("LSTM", "forward", is_quantized=True)
    with Context(TC=1 if has_unit else 0):
        found = [r.numpy() for r in run_quantized(layer, x, weights, lengths, [None, None])]
    expected = run_steps(layer, x, weights, lengths, [None, None])
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other.numpy(), atol=0.01)


def test_zero_points_of_the_state():
    rng = np.random.default_rng(4)
    x = Tensor(rng.standard_normal((5, 2, 4)).astype(np.float32))
    codes = [Tensor(rng.integers(0, 255, (1, 32, size)).astype(np.uint8)) for size in (4, 8)]
    scales = [Tensor(np.full((1, 32), scale, np.float32)) for scale in (0.01, 0.003)]
    zeros = [Tensor(np.full((1, 32), zero, np.float32)) for zero in (120.0, 131.0)]
    weights = Weights(*codes, None, None, *scales, *zeros)
    layer = layer_of("LSTM", "forward", is_quantized=True)
    found = run_quantized(layer, x, weights, None, [None, None])
    expected = run_steps(layer, x, weights, None, [None, None])
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), atol=0.01)
