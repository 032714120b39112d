"""Diagonals, sums and writes by PyTorch's names, against NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tg_tensor import Tensor
from tg_uop.errors import ShapeError

X = np.array([[0.3, -1.5, 2.5], [0.7, 1.2, -0.4]], np.float32)


def test_bounds_and_parts() -> None:
    x = Tensor(X)
    assert x.sgn().tolist() == np.sign(X).tolist()
    assert x.clamp_min(0).tolist() == np.maximum(X, 0).tolist()
    assert x.clamp_max(0).tolist() == np.minimum(X, 0).tolist()
    assert [part.shape for part in x.split_with_sizes([1, 2], 1)] == [(2, 1), (2, 2)]


def test_sums_and_diagonals() -> None:
    x = Tensor(X)
    np.testing.assert_allclose(x.sum_to_size(3).numpy(), X.sum(0), rtol=1e-6)
    np.testing.assert_allclose(x.sum_to_size(2, 1).numpy(), X.sum(1, keepdims=True), rtol=1e-6)
    assert x.sum_to_size((2, 3)).tolist() == X.tolist()
    for offset in (-1, 0, 2):
        np.testing.assert_array_equal(x.diagflat(offset).numpy(), np.diagflat(X, offset))
    square = Tensor(X).contiguous().realize()
    assert square.fill_diagonal_(5)[0, 0].item() == 5
    assert square.numpy()[1].tolist() == [X[1, 0], 5.0, X[1, 2]]
    with pytest.raises(ShapeError):
        x.sum_to_size(2)


def test_writes_by_index() -> None:
    rows, columns = np.array([0, 1, 0]), np.array([2, 0, 2])
    values = np.array([5, 6, 7], np.float32)
    put = Tensor(X).index_put((Tensor(rows), Tensor(columns)), Tensor(values))
    wanted = X.copy()
    wanted[rows, columns] = values
    np.testing.assert_array_equal(put.numpy(), wanted)
    added = X.copy()
    np.add.at(added, (rows, columns), values)
    index = (Tensor(rows), Tensor(columns))
    found = Tensor(X).index_put(index, Tensor(values), accumulate=True)
    np.testing.assert_allclose(found.numpy(), added, rtol=1e-6)
    np.add.at(added, rows, X[:1])
    memory = Tensor(found.numpy()).contiguous().realize()
    memory.index_put_((Tensor(rows),), Tensor(X[:1]), accumulate=True)
    np.testing.assert_allclose(memory.numpy(), added, rtol=1e-6)


INPLACE: dict[str, Callable[[np.ndarray], np.ndarray]] = {  # type: ignore[type-arg]
    "log_": np.log,
    "sigmoid_": lambda x: 1 / (1 + np.exp(-x)),
    "tanh_": np.tanh,
    "sin_": np.sin,
    "cos_": np.cos,
    "square_": np.square,
    "rsqrt_": lambda x: 1 / np.sqrt(x),
    "reciprocal_": np.reciprocal,
    "floor_": np.floor,
    "ceil_": np.ceil,
    "round_": np.round,
    "trunc_": np.trunc,
    "tril_": np.tril,
    "triu_": np.triu,
}


def test_functions_in_place() -> None:
    values = np.abs(X)
    memory = {name: Tensor(values).contiguous().realize() for name in INPLACE}
    for name, tensor in memory.items():
        assert getattr(tensor, name)() is tensor
    Tensor.realize(*memory.values())
    for name, tensor in memory.items():
        wanted = INPLACE[name](values)
        np.testing.assert_allclose(tensor.numpy(), wanted, rtol=1e-5, err_msg=name)
