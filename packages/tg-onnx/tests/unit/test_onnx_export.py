"""Exported functions give the same values in onnxruntime and when they are read again."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from tg_onnx import ExportError, OnnxRunner, export
from tg_onnx.export.calls import noted_calls
from tg_tensor import Tensor, dtypes

onnxruntime = pytest.importorskip("onnxruntime")

RNG = np.random.default_rng(3)
W = Tensor(RNG.standard_normal((3, 4)).astype(np.float32))
KERNEL = Tensor(RNG.standard_normal((4, 3, 3, 3)).astype(np.float32))


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


FUNCTIONS = {
    "arithmetic": lambda x: (x * 2 - 1) / (x.abs() + 1),
    "product": lambda x: (x @ W).relu(),
    "softmax": lambda x: x.softmax(-1),
    "norm": lambda x: x.layernorm(),
    "gelu": lambda x: x.gelu() + x.tanh() + x.sigmoid() + x.erf(),
    "functions": lambda x: x.exp() + x.abs().log() + x.sin() + x.abs().sqrt() + x.trunc(),
    "movement": lambda x: x.pad(((1, 0), (0, 2))).flip(1).permute(1, 0)[1:, ::2],
    "comparison": lambda x: (x > 0).where(x, -x) + (x == x).cast(dtypes.float32),
    "logic": lambda x: ((x > 0) | (x < -1)) & (x != 0),
    "reductions": lambda x: (x.sum(0), x.max(1), x.mean(), x.argmax(1), (x > 0).any(1)),
    "cumulative": lambda x: x.cumsum(1),
    "integers": lambda x: (x * 9).cast(dtypes.int32) // 2 + (x * 9).cast(dtypes.int32) % 3,
    "narrow": lambda x: (x.abs().cast(dtypes.uint8) + 250).cast(dtypes.int32),
    "shifts": lambda x: ((x * 9).int() << 2) + ((x * 99).int() >> 3),
    "choice": lambda x: x[Tensor([1, 0, 1])],
    "fresh constant": lambda x: x + Tensor(np.arange(3, dtype=np.float32)),
    "the input itself": lambda x: x,
}


def check(function, *arrays, tmp_path, tolerance=1e-5):
    path = tmp_path / "m.onnx"
    given = [Tensor(array) for array in arrays]
    export(function, given, path)
    found = function(*given)
    expected = [t.numpy() for t in ([found] if isinstance(found, Tensor) else found)]
    feeds = {f"x{i}": array for i, array in enumerate(arrays)}
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    again = [value.numpy() for value in OnnxRunner(path)(feeds).values()]
    for wanted, theirs, ours in zip(expected, session.run(None, feeds), again, strict=True):
        assert theirs.dtype == ours.dtype == wanted.dtype
        np.testing.assert_allclose(theirs, wanted, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(ours, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name, tmp_path):
    check(FUNCTIONS[name], floats(2, 3), tmp_path=tmp_path)


@pytest.mark.parametrize("name", ["arithmetic", "product", "softmax", "norm", "reductions"])
def test_what_is_read_again_is_exact(name, tmp_path):
    path, x = tmp_path / "m.onnx", Tensor(floats(2, 3))
    export(FUNCTIONS[name], x, path)
    found = FUNCTIONS[name](x)
    wanted = found if isinstance(found, tuple) else (found,)
    for ours, value in zip(OnnxRunner(path)({"x0": x}).values(), wanted, strict=True):
        np.testing.assert_array_equal(ours.numpy(), value.numpy())


def test_exponentials_and_logarithms_are_written_as_such(tmp_path):
    x = Tensor(floats(3))
    model = export(lambda x: x.exp() + x.abs().log() + x.exp2(), x, tmp_path / "m.onnx")
    operators = [node.op_type for node in model.graph.node]
    assert (operators.count("Exp"), operators.count("Log"), operators.count("Pow")) == (1, 1, 1)


def test_a_convolutional_network(tmp_path):
    def network(x):
        return x.conv2d(KERNEL, padding=1).relu().max_pool2d(2).flatten(1).sum(1)

    check(network, floats(2, 3, 8, 8), tmp_path=tmp_path, tolerance=1e-4)


def test_calls_are_written_as_operators(tmp_path):
    def network(x, i):
        y = x.conv2d(KERNEL, padding=1).max_pool2d(2).avg_pool2d(2, padding=1)
        return y.flatten(1).cumsum(1)[i].sort(1)[0], y.argmax(1), W[i]

    x, i = floats(2, 3, 8, 8), np.array([1, 0, 1])
    model = export(network, [Tensor(x), Tensor(i)], tmp_path / "m.onnx")
    operators = {node.op_type for node in model.graph.node}
    wanted = {"Conv", "MaxPool", "AveragePool", "CumSum", "Gather", "ArgMax"}
    assert wanted < operators
    assert operators & {"TopK", "GatherElements"}
    check(network, x, i, tmp_path=tmp_path, tolerance=1e-4)


def test_weights_that_are_not_yet_drawn_are_constants(tmp_path):
    kernel, bias = Tensor.uniform(4, 3, 3, 3), Tensor.uniform(4)
    table = Tensor.glorot_uniform(5, 4)

    def network(x, i):
        return x.conv2d(kernel, bias).mean((2, 3)) + table[i]

    x, i = floats(2, 3, 5, 5), np.array([4, 0])
    model = export(network, [Tensor(x), Tensor(i)], tmp_path / "m.onnx")
    shapes = sorted(tuple(tensor.dims) for tensor in model.graph.initializer)
    assert {(5, 4), (4,), (4, 3, 3, 3)} <= set(shapes)
    check(network, x, i, tmp_path=tmp_path)


def test_products_do_not_repeat_their_factors(tmp_path):
    x, y = Tensor(floats(2, 3, 5)), Tensor(floats(2, 5, 4))
    model = export(lambda a, b: a @ b, [x, y], tmp_path / "m.onnx")
    operators = {node.op_type for node in model.graph.node}
    assert "Einsum" in operators
    assert not operators & {"Expand", "Mul", "ReduceSum"}
    check(lambda a, b: a @ b, x.numpy(), y.numpy(), tmp_path=tmp_path)


def test_several_inputs_with_names(tmp_path):
    path = tmp_path / "m.onnx"
    table, places = Tensor(floats(5, 2)), Tensor(np.array([4, 0, 2]))
    export(lambda t, i: t[i], [table, places], path, input_names=["t", "i"], output_names=["r"])
    runner = OnnxRunner(path)
    found = runner({"t": table, "i": np.array([1, 1, 3])})["r"].numpy()
    np.testing.assert_array_equal(found, table.numpy()[[1, 1, 3]])


def test_one_example_and_results_by_name(tmp_path):
    path = tmp_path / "m.onnx"
    x = Tensor(floats(3, 2))
    export(lambda x: {"double": x * 2, "rows": x.sum(1)}, x, path)
    found = OnnxRunner(path)({"x0": x})
    np.testing.assert_array_equal(found["double"].numpy(), x.numpy() * 2)
    assert found["rows"].shape == (3,)


def test_what_cannot_be_written_is_named(tmp_path):
    path = tmp_path / "m.onnx"
    x = Tensor(floats(2, 3))
    total = x.sum().item()
    with pytest.raises(ExportError, match=r"(?s)BITCAST .*test_onnx_export") as caught:
        export(lambda x: x.bitcast(dtypes.int32), [x], path)
    assert caught.value.operation == "BITCAST"
    with pytest.raises(ExportError):
        export(lambda x: x + Tensor.rand(3), [x], path)
    with pytest.raises(ExportError, match="reading values"):
        export(lambda x: x * x.sum().realize(), [x], path)
    with pytest.raises(ExportError, match="reading values"):
        export(lambda x: x * x.sum().item(), [x], path)
    with pytest.raises(ExportError, match="to decide what it does"):
        export(lambda x: x.exp() if x.sum().item() == total else x.log(), [x], path)
    assert not path.exists()


def test_traces_of_two_threads_leave_the_methods_of_tensors_alone():
    before = dict(vars(Tensor))
    first_in, second_tries, second_in, first_out = (threading.Event() for _ in range(4))

    def first():
        with noted_calls():
            first_in.set()
            second_tries.wait(10)
            # which it is not while this one is
            second_in.wait(0.2)
        first_out.set()

    def second():
        first_in.wait(10)
        second_tries.set()
        with noted_calls():
            second_in.set()
            first_out.wait(10)

    threads = [threading.Thread(target=work) for work in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert dict(vars(Tensor)) == before


def test_what_other_threads_compute_is_not_noted():
    x, weight = Tensor.ones(1, 3, 4, 4), Tensor.ones(2, 3, 3, 3)
    with noted_calls() as notes:
        thread = threading.Thread(target=x.conv2d, args=(weight,))
        thread.start()
        thread.join()
        assert not notes
        x.conv2d(weight)
        assert [call.operator for call in notes.values()] == ["Conv"]
