"""Values on the host, exchange with other libraries, and what never runs anything."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
from tg_tensor import GlobalCounters, Tensor, dtypes
from tg_tensor.errors import AssignError, DataError, ElementCountError, ExportError


def test_numbers() -> None:
    assert Tensor(2.5).item() == 2.5
    assert Tensor([3]).item() == 3
    assert float(Tensor([1.5])) == 1.5
    assert int(Tensor(7)) == 7
    assert bool(Tensor([True]))
    assert [10, 20, 30][Tensor(1)] == 20
    assert 2.0 in Tensor([1.0, 2.0])
    assert len(Tensor([[1, 2]])) == 1
    for ask in (bool, int, float, Tensor.item):
        with pytest.raises(ElementCountError, match="one element"):
            ask(Tensor([1, 2]))  # type: ignore[arg-type]


def test_lists_and_arrays() -> None:
    x = Tensor([[1, 2], [3, 4]])
    assert x.tolist() == [[1, 2], [3, 4]]
    assert (x + 1).numpy().tolist() == [[2, 3], [4, 5]]
    assert np.asarray(x, dtype=np.float64).dtype == np.float64
    assert x.permute(1, 0).tolist() == [[1, 3], [2, 4]]
    assert Tensor([1.5]).bfloat16().numpy().dtype == np.float32
    assert (np.array([1, 2]) + Tensor([1, 2])).tolist() == [2, 4]


def test_data_shares_memory() -> None:
    x = (Tensor([[1.0, 2.0]]) + 0).realize()
    view = x.data()
    assert view.shape == (1, 2)
    # reading waits for the write, which runs on its own thread
    assert x.assign(x * 10).tolist() == [[10, 20]]
    assert view.tolist() == [[10, 20]]
    with pytest.raises(ExportError, match="no such number type"):
        x.bfloat16().data()


def test_dlpack_both_ways() -> None:
    array = np.arange(4, dtype=np.float32)
    x = Tensor.from_dlpack(array)
    assert np.shares_memory(np.from_dlpack(x), array)
    array[0] = 9
    assert x.tolist() == [9, 1, 2, 3]
    assert Tensor.from_blob(array.ctypes.data, (2, 2)).tolist() == [[9, 1], [2, 3]]


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "bytes"
    path.write_bytes(b"hello")
    assert Tensor(path).tolist() == list(b"hello")
    with pytest.raises(DataError, match="no such file"):
        Tensor(tmp_path / "missing")


def test_copies() -> None:
    x = Tensor([1.0, 2.0], requires_grad=True)
    deep, kept = copy.deepcopy(x), pickle.loads(pickle.dumps(x + 1))
    x.assign(x * 0).realize()
    assert deep.tolist() == [1, 2]
    assert deep.requires_grad
    assert kept.tolist() == [2, 3]
    with pytest.raises(ElementCountError):
        bool(deep == kept)


def test_showing_a_tensor_runs_nothing() -> None:
    GlobalCounters.reset()
    x = Tensor([1.0, 2.0]) + 1
    assert repr(x) == "<Tensor (2,) dtypes.float on CPU, lazy ADD>"
    assert repr(Tensor.ones(2)) == "<Tensor (2,) dtypes.float on CPU, = 1.0>"
    assert repr(x.realize()) == "<Tensor (2,) dtypes.float on CPU, in memory>"
    assert GlobalCounters.kernel_count == 1


def test_assignment() -> None:
    x = Tensor([1.0, 2.0])
    before = x + 10
    x.assign(x * 2)
    assert x.tolist() == [2, 4]
    assert before.tolist() == [11, 12]
    x.assign(5)
    assert x.tolist() == [5, 5]
    for value, reason in (
        (Tensor([1, 2]), "dtypes differ"),
        (Tensor([1.0, 2.0, 3.0]), "shapes differ"),
        (Tensor([1.0, 2.0], device="CPU:1"), "devices differ"),
    ):
        with pytest.raises(AssignError, match=reason):
            x.assign(value)


def test_augmented_assignment_is_in_place() -> None:
    x = Tensor([1.0, 2.0])
    same, before = x, x * 1
    x += 1
    x *= Tensor([2.0, 3.0])
    assert x is same
    assert x.tolist() == [4, 9]
    assert before.tolist() == [1, 2]
    whole = Tensor([7])
    whole //= 2
    assert whole.tolist() == [3]
    with pytest.raises(AssignError, match="dtypes differ"):
        whole /= 2


def test_a_lazy_value_just_becomes_what_is_assigned() -> None:
    x = Tensor([1.0]) + 1
    x.assign(x * 3)
    assert x.tolist() == [6]


def test_conversions() -> None:
    x = Tensor([1.5, -2.5])
    assert x.int().tolist() == [1, -2]
    assert x.bool().tolist() == [True, True]
    assert x.half().dtype is dtypes.half
    assert x.cast("float64").dtype is dtypes.float64
    assert Tensor([1.0]).bitcast(dtypes.int32).tolist() == [0x3F800000]
    assert Tensor(b"\x01\x02\x03\x04").bitcast(dtypes.uint16).tolist() == [0x201, 0x403]
    assert (x.nbytes(), x.element_size(), x.numel(), x.size(), x.size(0)) == (8, 4, 2, (2,), 2)


def test_hashes() -> None:
    sha3 = pytest.importorskip("hashlib").sha3_256
    data = bytes(range(200)) * 2
    assert bytes(Tensor(data).keccak().tolist()) == sha3(data).digest()  # type: ignore[arg-type]
    assert Tensor(data).hash().shape == (16,)
    assert Tensor(data).hash().tolist() != Tensor(data[::-1]).hash().tolist()
