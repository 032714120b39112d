"""Exported functions with axes of any size run at other sizes than those of the example."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from tg_onnx import ExportError, OnnxRunner, export
from tg_tensor import Tensor, Variable

onnxruntime = pytest.importorskip("onnxruntime")

RNG = np.random.default_rng(5)


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


W = Tensor(floats(6, 4))
TABLE = Tensor(floats(32, 8))
KERNEL = Tensor(floats(4, 3, 3, 3))
TRANSPOSED = Tensor(floats(3, 4, 2, 2))
SCALE = Tensor(floats(8))


def heads(x):
    batch, length, width = x.shape
    parts = x.reshape(batch, length, 2, width // 2).transpose(1, 2)
    found = parts.scaled_dot_product_attention(parts, parts, is_causal=True)
    return found.transpose(1, 2).reshape(batch, length, width)


def norm(x):
    return x.layernorm() * SCALE


# functions by which axes are dynamic: the first, all but the channels, the first two
ROWS = {
    "arithmetic": lambda x: (x * 2 - 1) / (x.abs() + 1),
    "means": lambda x: (x.mean(0), x.sum(1), x.max(0), x.argmax(0), x.var(0)),
    "products": lambda x: (x @ W, x @ x.T, x.T @ x),
    "softmax": lambda x: (x.softmax(0), x.log_softmax(-1)),
    "norm": lambda x: (x.layernorm(), x.layernorm(0)),
    "cat": lambda x: (x.cat(x, dim=0), x.cat(W.T, dim=0), Tensor.stack(x, x)),
    "slices": lambda x: (x[1:], x[:-1], x[::2], x[-1], x.flip(0)),
    "shapes": lambda x: (x.reshape(-1, 2, 3), x.flatten(), x.reshape(x.shape[0] * 2, 3)),
    "expand": lambda x: x.reshape(x.shape[0], 1, 6).expand(x.shape[0], 4, 6),
    "pad": lambda x: x.pad(((1, 2), (0, 3))),
    "counting": lambda x: (Tensor.arange(x.shape[0]), (x @ x.T).tril(), x.cumsum(0)),
    "order": lambda x: (*x.sort(0), *x.topk(2, 0)),
    "filled": lambda x: (Tensor.ones(*x.shape), x.zeros_like() + x.shape[0]),
}
IMAGES = {
    "conv": lambda x: x.conv2d(KERNEL, padding=1, stride=2).relu(),
    "conv_transpose": lambda x: x.conv_transpose2d(TRANSPOSED, stride=2),
    "pools": lambda x: (x.max_pool2d(2), x.avg_pool2d(2), x.mean((2, 3))),
    "resize": lambda x: (
        x.max_pool2d(2).interpolate(x.shape[2:]) + x,
        x.interpolate((5, 6), mode="nearest"),
        x.upsample(scale_factor=2, mode="cubic", align_corners=True),
    ),
    "norm": lambda x: x.reshape(x.shape[0], 3, -1).layernorm().reshape(x.shape),
}
SEQUENCES = {
    "attention": heads,
    "block": lambda x: norm(x + heads(norm(x))).gelu().mean(1),
    "positions": lambda x: (x + TABLE[: x.shape[1]])[:, -1],
}


def check(function, example, axes, *others, path, again=True):
    named = {"x0": dict(zip(axes, "nhw", strict=False))}
    export(function, [Tensor(example)], path, dynamic_axes=named)
    onnx.checker.check_model(str(path), full_check=True)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    runner = OnnxRunner(path)
    for array in (example, *others):
        found = function(Tensor(array))
        wanted = [t.numpy() for t in (found if isinstance(found, tuple) else (found,))]
        results = [session.run(None, {"x0": array})]
        if again:
            results.append([t.numpy() for t in runner({"x0": array}).values()])
        for values in results:
            for value, expected in zip(values, wanted, strict=True):
                assert value.dtype == expected.dtype
                np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ROWS)
def test_rows(name, tmp_path):
    check(ROWS[name], floats(5, 6), [0], floats(8, 6), path=tmp_path / "m.onnx", again=False)


@pytest.mark.parametrize("name", IMAGES)
def test_images(name, tmp_path):
    others = floats(1, 3, 6, 8), floats(2, 3, 9, 7)
    path = tmp_path / "m.onnx"
    check(IMAGES[name], floats(2, 3, 8, 7), [0, 2, 3], *others, path=path, again=False)


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences(name, tmp_path):
    others = floats(1, 5, 8), floats(3, 9, 8)
    check(SEQUENCES[name], floats(2, 7, 8), [0, 1], *others, path=tmp_path / "m.onnx")


def test_two_inputs_share_a_size_and_outputs_name_theirs(tmp_path):
    path = tmp_path / "m.onnx"
    axes = {"t": {0: "rows"}, "i": {0: "rows", 1: "some"}}
    names = {"input_names": ["t", "i"], "output_names": ["r", "s"]}

    def look_up(table, places):
        return table[places], table.cat(table, dim=0)

    examples = [Tensor(floats(4, 2)), Tensor(np.zeros((4, 3), np.int64))]
    model = export(look_up, examples, path, dynamic_axes=axes, **names)
    sizes = [
        [d.dim_param or d.dim_value for d in info.type.tensor_type.shape.dim]
        for info in model.graph.output
    ]
    assert sizes == [["rows", "some", 2], ["rows*2", 2]]
    table, places = floats(3, 2), np.array([[2, -1], [0, 1], [1, 1]])
    found = onnxruntime.InferenceSession(str(path)).run(None, {"t": table, "i": places})
    np.testing.assert_array_equal(found[0], table[places])
    assert found[1].shape == (6, 2)


def test_axes_can_be_listed_and_bounded(tmp_path):
    path = tmp_path / "m.onnx"
    example = Tensor(floats(2, 5))
    model = export(lambda x: x.exp(), [example], path, dynamic_axes={"x0": [0, -1]})
    dims = model.graph.input[0].type.tensor_type.shape.dim
    assert [d.dim_param for d in dims] == ["x0_0", "x0_-1"]
    bounded = {"x0": {1: Variable("width", 3, 9)}}
    export(lambda x: x.unfold(1, 3, 1).sum(2), [example], path, dynamic_axes=bounded)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    array = floats(2, 8)
    wanted = Tensor(array).unfold(1, 3, 1).sum(2).numpy()
    np.testing.assert_allclose(session.run(None, {"x0": array})[0], wanted, rtol=1e-5)


def test_axes_that_are_not_there_and_sizes_that_are_read(tmp_path):
    path = tmp_path / "m.onnx"
    x = Tensor(floats(2, 3))

    def refuse(match, axes, function=lambda x: x, examples=(x,)):
        with pytest.raises(ExportError, match=match):
            export(function, examples, path, dynamic_axes=axes)

    refuse("no input 'y', there are: x0", {"y": {0: "n"}})
    refuse("'x0' has 2 axes, and none with the number 2", {"x0": {2: "n"}})
    refuse("'n' is 2 and 3 in the examples", {"x0": {0: "n", 1: "n"}})
    refuse("outside of its bounds", {"x0": {0: Variable("n", 5, 9)}})
    refuse("by reading values or sizes", {"x0": {0: "n"}}, lambda x: x * x.shape[0].bound_value)
    refuse(
        "a Variable instead", {"x0": {0: "n"}}, lambda x: x.exp() if x.shape[0] > 1000 else x.log()
    )
    assert not path.exists()
