"""Writes to places that are no plain memory of a Tensor: files, other dtypes, detached, nodes."""

from pathlib import Path

import numpy as np
import pytest
from tg_tensor import Tensor, TinyJit, UOp, Variable, dtypes
from tg_tensor.errors import AssignError, ElementCountError, GradientError


def memory(*shape: int, dtype: str = "float32") -> Tensor:
    return Tensor.zeros(*shape, dtype=dtype).contiguous().realize()


# *** files ***


def test_a_file_is_written_by_assign(tmp_path: Path) -> None:
    path = tmp_path / "values"
    file = Tensor.empty(10, device=f"disk:{path}", dtype="int32")
    file.assign(Tensor.arange(10)).realize()
    file[3:5].assign([77, 78]).realize()
    file[0] = 5
    file[-1].assign(9)
    assert np.fromfile(path, np.int32).tolist() == [5, 1, 2, 77, 78, 5, 6, 7, 8, 9]
    again = Tensor.empty(10, device=f"disk:{path}", dtype="int32")
    assert again[2:5].tolist() == [2, 77, 78]
    assert (again.to(None) + 1)[4].item() == 79


def test_a_mask_selects_what_is_written_to_a_file(tmp_path: Path) -> None:
    file = Tensor.empty(4, device=f"disk:{tmp_path / 'values'}", dtype="int32")
    file.assign([1, 2, 3, 4])
    file[Tensor([True, False, True, False])] = 0
    assert file.tolist() == [0, 2, 0, 4]


def test_a_file_is_written_and_read_as_other_dtypes(tmp_path: Path) -> None:
    path = tmp_path / "bytes"
    file = Tensor.empty(20, device=f"disk:{path}", dtype="uint8")
    file[0:8].bitcast(dtypes.int64).assign([3])
    file[8:20].bitcast(dtypes.float32)[1:3].assign(Tensor([1.5, 2.5]))
    raw = path.read_bytes()
    assert int.from_bytes(raw[:8], "little") == 3
    assert np.frombuffer(raw[12:], np.float32).tolist() == [1.5, 2.5]
    assert Tensor(path)[12:20].bitcast("float32")[1].item() == 2.5


def test_what_does_not_lie_side_by_side_in_a_file_is_refused(tmp_path: Path) -> None:
    file = Tensor.empty(4, 4, device=f"disk:{tmp_path / 'values'}")
    file.assign(Tensor.ones(4, 4))
    with pytest.raises(AssignError, match="side by side"):
        file[:, 1] = 2.0


def test_a_file_is_copied_to_a_device_before_anything_read_it(tmp_path: Path) -> None:
    path = tmp_path / "bytes"
    path.write_bytes(bytes(range(8)))
    assert Tensor(path).to("CPU")[3].item() == 3
    assert Tensor(path)[2:4].to("CPU").tolist() == [2, 3]


# *** other dtypes ***


def test_bytes_are_written_as_wider_numbers() -> None:
    x = memory(16, dtype="uint8")
    x[4:8].bitcast("int32").assign(Tensor([258], dtype="int32"))
    x[8:16].bitcast("float32")[1:] = 1.0
    assert x.tolist() == [0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 128, 63]


def test_wide_numbers_are_written_as_bytes() -> None:
    x = memory(2, 2, dtype="int32")
    x.bitcast("uint8")[1, 4] = 7
    assert x.tolist() == [[0, 0], [0, 7]]


def test_lists_and_arrays_take_the_dtype_of_what_is_written() -> None:
    x = memory(3)
    assert x.assign([1, 2, 3]).tolist() == [1, 2, 3]
    assert x.assign(np.array([3, 2, 1])).tolist() == [3, 2, 1]
    with pytest.raises(RuntimeError, match="dtypes differ"):
        x.assign(Tensor([1, 2, 3]))


# *** detached ***


def test_a_write_to_what_was_detached_is_a_write_to_the_tensor() -> None:
    w = Tensor([1.0, 2.0, 3.0], requires_grad=True).realize()
    w.detach().assign(Tensor([4.0, 5.0, 6.0]))
    w.detach()[0] = 9.0
    assert w.tolist() == [9, 5, 6]
    (w * w).sum().backward()
    assert w.grad is not None
    assert w.grad.tolist() == [18, 10, 12]
    with pytest.raises(GradientError):
        w[0] = 1.0


# *** nodes ***


def stored(cache: Tensor, place: Tensor, value: Tensor) -> Tensor:
    return Tensor(cache.uop.after(place.uop.store(value.uop)))


def test_a_store_written_down_in_nodes_writes_the_memory() -> None:
    cache = memory(6, 2)
    position = Variable("position", 0, 5)
    for at in range(4):
        bound = position.bind(at)
        row = Tensor([[at + 1.0, 0.0]]).realize()
        cached = stored(cache, cache[bound : bound + 1], row)
        assert cached[: bound + 1].sum().item() == (at + 1) * (at + 2) / 2
    assert cache[:, 0].tolist() == [1, 2, 3, 4, 0, 0]


def test_a_store_written_down_in_nodes_is_captured() -> None:
    cache = memory(6, 2)
    position = Variable("position", 0, 5)

    @TinyJit
    def step(row: Tensor, at: UOp) -> Tensor:
        cached = stored(cache, cache[at : at + 1], row)
        return cached[: at + 1].sum().realize()

    for at in range(5):
        row = Tensor([[at + 1.0, 0.0]]).realize()
        assert step(row, position.bind(at)).item() == (at + 1) * (at + 2) / 2
    assert cache[:, 0].tolist() == [1, 2, 3, 4, 5, 0]


def test_values_from_before_a_store_in_nodes_stay() -> None:
    cache = memory(4)
    before, row = cache + 1, cache[1:2]
    written = stored(cache, cache[0:1], Tensor([5.0]).realize())
    assert written.tolist() == [5, 0, 0, 0]
    assert before.tolist() == [1, 1, 1, 1]
    assert row.tolist() == [0]
    assert cache.tolist() == [5, 0, 0, 0]


# *** gradients that are asked for where there are none ***


def test_zeros_stand_for_gradients_that_do_not_exist() -> None:
    x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0, 5.0])
    with pytest.raises(GradientError, match="materialize_grads"):
        (x * 2).sum().gradient(x, y)
    of_x, of_y = (x * 2).sum().gradient(x, y, materialize_grads=True)
    assert of_x.tolist() == [2, 2]
    assert of_y.tolist() == [0, 0, 0]


def test_a_gradient_of_several_elements_is_a_runtime_error_too() -> None:
    with pytest.raises(RuntimeError):
        (Tensor([1.0, 2.0], requires_grad=True) * 2).backward()
    assert issubclass(ElementCountError, ValueError)
