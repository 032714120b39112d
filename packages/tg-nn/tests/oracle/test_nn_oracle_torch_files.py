"""Files that PyTorch wrote are read as it reads them."""

from __future__ import annotations

import io
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
from tg_nn import Linear
from tg_nn.errors import FileFormatError
from tg_nn.state import load_state_dict, torch_load
from tg_tensor import Tensor

pytestmark = pytest.mark.oracle
torch = pytest.importorskip("torch")

DTYPES = [
    *("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"),
]


def saved(value: object) -> bytes:
    file = io.BytesIO()
    torch.save(value, file)
    return file.getvalue()


@pytest.mark.parametrize("name", DTYPES)
def test_each_dtype(name: str) -> None:
    value = torch.arange(6).to(getattr(torch, name)).reshape(2, 3)
    loaded = torch_load(saved(value))
    assert isinstance(loaded, Tensor)
    assert loaded.shape == (2, 3)
    np.testing.assert_array_equal(loaded.double().numpy(), value.double().numpy())


LAYOUTS = {
    "transposed": lambda x: x.t(),
    "permuted": lambda x: x.reshape(2, 3, 4).permute(2, 0, 1),
    "a slice": lambda x: x[1:3, 2:],
    "a step": lambda x: x[::2, 1::3],
    "expanded": lambda x: x[:1].expand(3, 6),
    "one element": lambda x: x[2, 3],
    "none": lambda x: x[:0],
    "axes of one": lambda x: x[:1, :1].reshape(1, 1, 1),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_layout_of_memory(layout: str) -> None:
    value = LAYOUTS[layout](torch.arange(24.0).reshape(4, 6))
    loaded = torch_load(saved(value))
    assert isinstance(loaded, Tensor)
    assert loaded.shape == tuple(value.shape)
    np.testing.assert_array_equal(loaded.numpy(), value.numpy())


def test_containers_and_parameters(tmp_path: Path) -> None:
    torch.save(
        {
            "model": OrderedDict(w=torch.nn.Parameter(torch.ones(2))),
            "list": [torch.zeros(1), 3, "text", None, (1.5, True)],
            "size": torch.Size([2, 3]),
        },
        tmp_path / "checkpoint.pt",
    )
    for source in (tmp_path / "checkpoint.pt", Tensor(tmp_path / "checkpoint.pt")):
        loaded = torch_load(source)
        assert isinstance(loaded, dict)
        assert loaded["model"]["w"].requires_grad
        assert loaded["model"]["w"].tolist() == [1, 1]
        assert loaded["list"][0].tolist() == [0]
        assert loaded["list"][1:] == [3, "text", None, (1.5, True)]
        assert loaded["size"] == (2, 3)


def test_a_model_goes_over() -> None:
    theirs, ours = torch.nn.Linear(3, 4), Linear(3, 4)
    state = torch_load(saved(theirs.state_dict()))
    assert isinstance(state, dict)
    load_state_dict(ours, state)
    x = torch.rand(5, 3)
    np.testing.assert_allclose(
        ours(Tensor(x.numpy())).numpy(), theirs(x).detach().numpy(), rtol=1e-5, atol=1e-6
    )


class Odd:
    """A class that the reader does not know."""


def test_objects_of_other_classes_are_refused() -> None:
    with pytest.raises(FileFormatError, match="Odd"):
        torch_load(saved({"x": Odd()}))
