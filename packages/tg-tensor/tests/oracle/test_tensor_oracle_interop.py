"""Memory that PyTorch and tg hand to each other."""

from __future__ import annotations

import gc

import pytest
from tg_tensor import Tensor, dtypes

pytestmark = pytest.mark.oracle
torch = pytest.importorskip("torch")

NAMES = {
    "bool": torch.bool,
    "uint8": torch.uint8,
    "int8": torch.int8,
    "int16": torch.int16,
    "int32": torch.int32,
    "int64": torch.int64,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float32": torch.float32,
    "float64": torch.float64,
    "fp8e4m3": torch.float8_e4m3fn,
    "fp8e5m2": torch.float8_e5m2,
}


@pytest.mark.parametrize("name", NAMES)
def test_every_dtype_goes_both_ways_without_a_copy(name: str) -> None:
    x = Tensor([[0, 1, 1], [1, 0, 1]]).cast(name).contiguous().realize()
    seen = torch.from_dlpack(x)
    assert seen.dtype is NAMES[name]
    assert seen.float().tolist() == x.float().tolist()
    back = Tensor.from_dlpack(seen)
    assert back.dtype is dtypes.from_name(name)
    seen[0] = seen[1].clone()
    assert back.tolist() == x.tolist() == [[1, 0, 1], [1, 0, 1]]
    assert Tensor(seen).tolist() == x.tolist()
    assert Tensor(seen).dtype is x.dtype


def test_layouts() -> None:
    given = torch.arange(24.0).reshape(2, 3, 4)
    for layout in (
        given.permute(2, 0, 1),
        given[:, 1:, ::2],
        given[0].expand(5, 3, 4),
        given[1, 2, 3],
    ):
        assert Tensor.from_dlpack(layout).tolist() == layout.tolist()
        assert Tensor(layout).tolist() == layout.tolist()
    x = Tensor.arange(24).reshape(2, 3, 4).contiguous().realize()
    for view in (x.permute(2, 0, 1), x[:, 1:], x[::-1], x[0].expand(5, 3, 4)):
        assert torch.from_dlpack(view).tolist() == view.tolist()
    assert torch.from_dlpack(x.permute(2, 0, 1)).data_ptr() == torch.from_dlpack(x).data_ptr()


def test_weights_of_a_module_come_as_values() -> None:
    weight = torch.nn.Parameter(torch.ones(2))
    assert Tensor(weight).tolist() == [1, 1]
    with pytest.raises(BufferError):
        Tensor.from_dlpack(weight)


def test_lifetimes() -> None:
    x = Tensor([1.0, 2.0]).contiguous().realize()
    seen = torch.from_dlpack(x)
    del x
    gc.collect()
    back = Tensor.from_dlpack(seen)
    del seen
    gc.collect()
    assert back.tolist() == [1, 2]


def test_named_conversions() -> None:
    from tg_tensor.interop.torch import from_torch, to_torch

    weight = torch.nn.Parameter(torch.ones(2, dtype=torch.bfloat16))
    x = from_torch(weight)
    assert x.requires_grad
    assert x.dtype is dtypes.bfloat16
    with torch.no_grad():
        weight[0] = 5
    assert x.tolist() == [5, 1]
    made = to_torch(x)
    assert made.requires_grad
    assert made.data_ptr() == weight.data_ptr()
    assert to_torch(Tensor.ones(2), copy=True).tolist() == [1, 1]
    assert torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(made.detach())).shape == (2,)
