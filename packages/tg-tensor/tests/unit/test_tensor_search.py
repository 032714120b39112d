"""Binary search, distinct values, membership, positions: against NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tg_tensor import Tensor
from tg_tensor.errors import ArgumentError
from tg_uop.errors import ShapeError

RNG = np.random.default_rng(6)
X = RNG.standard_normal((3, 5, 4))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("count", [0, 1, 12, 300, 1000])
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "uint8"])
def test_searchsorted(side: Any, count: int, dtype: str) -> None:
    line = np.sort(RNG.integers(0, 200, count)).astype(dtype)
    values = RNG.integers(0, 210, (3, 4)).astype(dtype)
    found = Tensor(line).searchsorted(Tensor(values), side=side)
    assert found.tolist() == np.searchsorted(line, values, side).tolist()
    found = Tensor(values).bucketize(Tensor(line), right=side == "right")
    assert found.tolist() == np.searchsorted(line, values, side).tolist()


def test_searchsorted_with_nan_batches_and_an_order() -> None:
    line = np.array([1.0, 2, 2, math.inf, math.nan, math.nan])
    values = np.array([math.nan, math.inf, -math.inf, 2, 3])
    for side in ("left", "right"):
        found = Tensor(line).searchsorted(Tensor(values), side=side)
        assert found.tolist() == np.searchsorted(line, values, side).tolist()  # type: ignore[call-overload]
    batch, wanted = np.sort(RNG.random((3, 300)), -1), RNG.random((3, 7))
    found = Tensor(batch).searchsorted(Tensor(wanted), right=True)
    rows = [np.searchsorted(a, b, "right") for a, b in zip(batch, wanted, strict=True)]
    assert found.tolist() == np.stack(rows).tolist()
    mixed = RNG.permutation(12).astype(np.float64)
    order = Tensor(mixed).argsort()
    found = Tensor(mixed).searchsorted(Tensor([3.5, 0]), sorter=order)
    assert found.tolist() == [4, 0]
    assert Tensor([1, 2, 3]).searchsorted(2).item() == 1
    assert Tensor([1, 2, 3]).searchsorted(2.5).item() == 2
    with pytest.raises(ShapeError):
        Tensor(batch).searchsorted(Tensor([1.0]))
    with pytest.raises(ShapeError):
        Tensor([1.0]).bucketize(Tensor(batch))
    with pytest.raises(ArgumentError):
        Tensor([1.0]).searchsorted(1.0, side="middle")


def test_unique() -> None:
    whole = RNG.integers(0, 4, (6, 9)).astype(np.int32)
    values, inverse, counts = Tensor(whole).unique(return_inverse=True, return_counts=True)
    wanted = np.unique(whole, return_inverse=True, return_counts=True)
    assert values.dtype is Tensor(whole).dtype
    for found, array in zip((values, inverse, counts), wanted, strict=True):
        assert found.tolist() == array.tolist()
    for dim in (0, 1):
        rows = RNG.integers(0, 2, (6, 2))
        found = Tensor(rows).unique(return_inverse=True, return_counts=True, dim=dim)
        for part, array in zip(
            found, np.unique(rows, return_inverse=True, return_counts=True, axis=dim), strict=True
        ):
            assert part.tolist() == array.reshape(part.shape).tolist()
    assert Tensor([1.0, 0, 1]).cast("bfloat16").unique().tolist() == [0, 1]
    assert len(Tensor([math.nan, 1, math.nan]).unique()) == 3
    assert Tensor([]).unique().shape == (0,)


def test_unique_consecutive() -> None:
    found = Tensor([[1, 1, 2], [2, 3, 1]]).unique_consecutive(True, True)
    assert [part.tolist() for part in found] == [
        [1, 2, 3, 1],
        [[0, 0, 1], [1, 2, 3]],
        [2, 2, 1, 1],
    ]
    rows = Tensor([[1, 2], [1, 2], [2, 2]])
    values, inverse, counts = rows.unique_consecutive(True, True, 0)
    assert values.tolist() == [[1, 2], [2, 2]]
    assert (inverse.tolist(), counts.tolist()) == ([0, 0, 1], [2, 1])
    assert rows.unique_consecutive(dim=1).tolist() == rows.tolist()
    assert Tensor([]).unique_consecutive().shape == (0,)


def test_membership() -> None:
    whole = RNG.integers(0, 9, (4, 5))
    assert Tensor(whole).isin(Tensor([1, 3])).tolist() == np.isin(whole, [1, 3]).tolist()
    assert (
        Tensor(whole).isin([2], invert=True).tolist() == np.isin(whole, [2], invert=True).tolist()
    )
    assert Tensor(whole).isin(Tensor([])).any().item() is False
    assert Tensor([math.nan]).isin(Tensor([math.nan])).tolist() == [False]


def test_positions() -> None:
    whole = RNG.integers(0, 2, (3, 4))
    assert Tensor(whole).argwhere().tolist() == np.argwhere(whole).tolist()
    assert Tensor(whole).flatnonzero().tolist() == np.flatnonzero(whole).tolist()
    index = np.array([[1, -2], [3, 3]])
    assert Tensor(X).take(Tensor(index)).tolist() == np.take(X, index).tolist()
    order = Tensor(X).argsort(1)
    assert Tensor(X).take_along_dim(order, 1).tolist() == np.sort(X, 1).tolist()
    one = Tensor(X).take_along_dim(Tensor([[[1], [0]]]), 1)
    assert one.tolist() == np.take_along_axis(X, np.array([[[1], [0]]]), 1).tolist()
    assert Tensor(X).take_along_dim(Tensor([3, 0])).tolist() == X.ravel()[[3, 0]].tolist()
    x = Tensor(X, requires_grad=True)
    assert x.take(Tensor([1, 1])).sum().gradient(x)[0].numpy().ravel()[1] == 2
    with pytest.raises(ShapeError):
        Tensor(X).take_along_dim(Tensor([1]), 0)


def test_order() -> None:
    for dim in (0, 1, -1):
        for keepdim in (False, True):
            values, places = Tensor(X).kthvalue(2, dim, keepdim)
            wanted = np.take(np.sort(X, dim), [1], dim)
            assert values.tolist() == (wanted if keepdim else wanted.squeeze(dim)).tolist()
            assert places.shape == values.shape
    assert Tensor(X).msort().tolist() == np.sort(X, 0).tolist()
    for k in (0, 6):
        with pytest.raises(ArgumentError):
            Tensor(X).kthvalue(k, 1)
    assert Tensor([2.0, math.nan, 1.0]).kthvalue(3)[1].item() == 1


def test_names_of_options_in_pytorch() -> None:
    values = Tensor([1.0, math.nan, 3.0, 3.0, -math.inf])
    assert values.sort(stable=True)[1].tolist() == [4, 0, 2, 3, 1]
    assert values.argsort(descending=True, stable=True).tolist() == [1, 2, 3, 0, 4]
    assert values.topk(2, sorted=False)[1].tolist() == [1, 2]
    assert [part.item() for part in Tensor(3.0).topk(1)] == [3, 0]
