"""State dicts name every tensor of a model, and files give back what was put in."""

from __future__ import annotations

import json
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest
from tg_nn import BatchNorm, Linear
from tg_nn.errors import FileFormatError, StateDictError
from tg_nn.state import (
    get_parameters,
    get_state_dict,
    load_state_dict,
    safe_load,
    safe_load_metadata,
    safe_save,
)
from tg_tensor import Tensor, dtypes

Pair = namedtuple("Pair", "left right")


@dataclass
class Config:
    scale: Tensor
    width: int = 3


class Model:
    def __init__(self):
        self.layers = [Linear(2, 3), Linear(3, 1, bias=False)]
        self.table = {"a": Tensor([1.0])}
        self.pair = Pair(Tensor([2.0]), Tensor([3.0]))
        self.config = Config(Tensor([4.0]))
        self.itself = self


def test_every_tensor_is_found_by_its_path():
    assert list(get_state_dict(Model())) == [
        "layers.0.weight",
        "layers.0.bias",
        "layers.1.weight",
        "table.a",
        "pair.left",
        "pair.right",
        "config.scale",
    ]
    assert len(get_parameters(Model())) == 7
    assert list(get_state_dict(Linear(1, 1), prefix="net")) == ["net.weight", "net.bias"]


def test_loading_puts_values_in_place():
    source, target = Linear(2, 3), Linear(2, 3)
    held = target.weight
    load_state_dict(target, get_state_dict(source))
    assert target.weight is held
    np.testing.assert_array_equal(target.weight.numpy(), source.weight.numpy())


def test_loading_what_does_not_fit_changes_nothing():
    target = Linear(2, 3)
    before = target.weight.numpy().copy()
    wrong = {"weight": Tensor.zeros(3, 3), "extra": Tensor([1.0])}
    with pytest.raises(StateDictError, match=r"missing: bias.*unexpected: extra.*another shape"):
        load_state_dict(target, wrong)
    np.testing.assert_array_equal(target.weight.numpy(), before)


def test_loading_without_strict_takes_what_fits():
    target = Linear(2, 3)
    load_state_dict(target, {"bias": Tensor([1.0, 2.0, 3.0]), "extra": Tensor([0.0])}, strict=False)
    assert target.bias.tolist() == [1, 2, 3]


DTYPES = [
    dtypes.bool,
    dtypes.int8,
    dtypes.uint8,
    dtypes.int16,
    dtypes.uint16,
    dtypes.int32,
    dtypes.uint32,
    dtypes.int64,
    dtypes.uint64,
    dtypes.float16,
    dtypes.bfloat16,
    dtypes.float32,
    dtypes.float64,
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_file_keeps_dtype_shape_and_values(tmp_path, dtype):
    path = tmp_path / "one.safetensors"
    value = Tensor([[0, 1], [1, 0], [1, 1]]).cast(dtype)
    safe_save({"x": value}, path)
    loaded = safe_load(path)["x"]
    assert loaded.dtype == dtype
    assert loaded.shape == (3, 2)
    assert loaded.cast(dtypes.int32).tolist() == [[0, 1], [1, 0], [1, 1]]


def test_a_file_keeps_empty_and_scalar_tensors(tmp_path):
    path = tmp_path / "odd.safetensors"
    safe_save({"none": Tensor.zeros(0, 3), "one": Tensor(2.5)}, path)
    loaded = safe_load(path)
    assert loaded["none"].shape == (0, 3)
    assert loaded["one"].shape == ()
    assert loaded["one"].item() == 2.5


def test_metadata_is_in_the_header(tmp_path):
    path = tmp_path / "meta.safetensors"
    safe_save({"x": Tensor([1.0, 2.0])}, path, {"origin": "a test"})
    content, start, header = safe_load_metadata(path)
    assert bytes(content[start:].data()) == np.array([1, 2], np.float32).tobytes()
    assert header["__metadata__"] == {"origin": "a test"}
    assert header["x"]["shape"] == [2]


def test_a_model_survives_a_file(tmp_path):
    layer, other = BatchNorm(4), BatchNorm(4)
    layer.running_mean.assign(Tensor([1.0, 2.0, 3.0, 4.0])).realize()
    safe_save(get_state_dict(layer), tmp_path / "norm.safetensors")
    load_state_dict(other, safe_load(tmp_path / "norm.safetensors"))
    assert other.running_mean.tolist() == [1, 2, 3, 4]


def damaged_files():
    header = json.dumps({"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    good = len(header).to_bytes(8, "little") + header + bytes(8)
    yield "empty", b""
    yield "cut in the length", good[:5]
    yield "cut in the header", good[:20]
    yield "cut in the data", good[:-3]
    yield "data beyond the end", good + b"more"
    yield "length of 2**60", (1 << 60).to_bytes(8, "little") + good[8:]
    yield "no json", (4).to_bytes(8, "little") + b"[[[["
    yield "wrong span", good.replace(b"[0, 8]", b"[0, 4]")


@pytest.mark.parametrize(
    ("what", "data"), list(damaged_files()), ids=lambda v: v if isinstance(v, str) else ""
)
def test_a_damaged_file_is_refused(tmp_path, what, data):
    path = tmp_path / "bad.safetensors"
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match=r"bad\.safetensors"):
        safe_load(path)


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "weights.safetensors"
    safe_save({"x": Tensor([1.0])}, path)
    with pytest.raises(TypeError, match="no dtype"):
        safe_save({"x": Tensor([1.0]).cast(dtypes.fp8e4m3fnuz)}, path)
    assert safe_load(path)["x"].tolist() == [1.0]
    assert [p.name for p in tmp_path.iterdir()] == ["weights.safetensors"]
