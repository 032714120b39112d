"""Creation and random numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from tg_tensor import Tensor, dtypes
from tg_tensor.errors import ArgumentError, DataError

Array = npt.NDArray[np.generic]
Witness = Callable[[Tensor], Array]


@pytest.mark.parametrize(
    "args", [(5,), (2, 9), (0, 10, 3), (10, 0, -3), (3, 3), (5, 0), (1,), (-3, 4, 2)]
)
def test_counting(args: tuple[int, ...], witness: Witness) -> None:
    found = Tensor.arange(*args)
    assert found.dtype is dtypes.int32
    np.testing.assert_array_equal(witness(found), np.arange(*args))


def test_counting_in_steps_of_floats(witness: Witness) -> None:
    found = Tensor.arange(0.0, 1.0, 0.1)
    assert found.dtype is dtypes.float32
    np.testing.assert_allclose(witness(found), np.arange(0.0, 1.0, 0.1), rtol=1e-6)
    np.testing.assert_allclose(witness(Tensor.linspace(-1, 3, 7)), np.linspace(-1, 3, 7), rtol=1e-6)
    assert witness(Tensor.linspace(0.1, 0.7, 7))[-1] == np.float32(0.7)
    assert witness(Tensor.linspace(2, 3, 1)).tolist() == [2]
    with pytest.raises(ArgumentError, match="dtype must be a number"):
        Tensor.linspace(0, 1, 3, dtype="bool")
    with pytest.raises(ArgumentError, match="step"):
        Tensor.arange(3, step=0)


def test_constants(witness: Witness) -> None:
    assert witness(Tensor.full((2, 2), 3)).tolist() == [[3, 3], [3, 3]]
    assert Tensor.full((2,), 3).dtype is dtypes.int32
    assert Tensor.full((2,), 3.5).dtype is dtypes.float32
    assert Tensor.full((2,), True).dtype is dtypes.bool
    assert Tensor.zeros(2, 3, dtype=dtypes.int8).dtype is dtypes.int8
    assert Tensor.ones((2, 3)).shape == (2, 3)
    assert Tensor.ones(2).half().zeros_like().dtype is dtypes.half
    np.testing.assert_array_equal(witness(Tensor.eye(3, 5)), np.eye(3, 5))
    with pytest.raises(ArgumentError, match="shape"):
        Tensor.zeros(-1)
    with pytest.raises(TypeError, match="colour"):
        Tensor.zeros(1, colour="red")


def test_grids(witness: Witness) -> None:
    x, y = np.arange(3), np.arange(4)
    for indexing in ("ij", "xy"):
        wanted = np.meshgrid(x, y, indexing=indexing)  # type: ignore[call-overload]
        found = Tensor(x).meshgrid(Tensor(y), indexing=indexing)
        for ours, theirs in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(witness(ours), theirs)


def test_data(witness: Witness) -> None:
    assert Tensor([1, 2]).dtype is dtypes.int32
    assert Tensor([1, 2.5]).dtype is dtypes.float32
    assert Tensor([True]).dtype is dtypes.bool
    assert Tensor(np.array([1.5])).dtype is dtypes.float64
    assert Tensor([np.float16(1)]).dtype is dtypes.half
    assert Tensor([]).dtype is dtypes.float32
    assert Tensor(2).shape == ()
    assert Tensor(b"abc").tolist() == [97, 98, 99]
    assert Tensor(b"\x00\x00\x80\x3f", dtype=dtypes.float32).tolist() == [1.0]
    assert witness(Tensor([[1, 2], [3, 4]], dtype=dtypes.int64)).tolist() == [[1, 2], [3, 4]]
    assert Tensor(np.arange(3, dtype=">i4")).tolist() == [0, 1, 2]
    assert Tensor([1.5], dtype="bfloat16").dtype is dtypes.bfloat16


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ([[1, 2], [3]], "shape of a box"),
        (["a"], "must be numbers"),
        ([2**70], "has room"),
        (np.array([1j]), "no such dtype"),
        (object(), "no number"),
        (b"abc\x00\x01", "no multiple"),
    ],
)
def test_bad_data_is_refused(data: object, reason: str) -> None:
    dtype = dtypes.float32 if isinstance(data, bytes) else None
    with pytest.raises(DataError, match=reason):
        Tensor(data, dtype=dtype)


def test_data_is_copied() -> None:
    array = np.zeros(3, np.float32)
    x = Tensor(array)
    array[0] = 5
    assert x.tolist() == [0, 0, 0]
    given = x.numpy()
    given[1] = 7
    assert x.tolist() == [0, 0, 0]


# *** random ***


def test_the_same_seed_gives_the_same_stream() -> None:
    Tensor.manual_seed(7)
    first = [Tensor.rand(3).numpy(), Tensor.randn(4).numpy(), Tensor.randint(5).numpy()]
    Tensor.manual_seed(7)
    again = [Tensor.rand(3), Tensor.randn(4), Tensor.randint(5)]
    for ours, theirs in zip(again, first, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs)
    Tensor.manual_seed(8)
    assert not np.array_equal(Tensor.rand(3).numpy(), first[0])


def test_drawing_in_parts_continues_the_stream() -> None:
    Tensor.manual_seed(1)
    whole = Tensor.rand(10).numpy()
    Tensor.manual_seed(1)
    parts = np.concatenate([Tensor.rand(4).numpy(), Tensor.rand(6).numpy()])
    np.testing.assert_array_equal(whole, parts)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_uniform_numbers_are_in_their_interval(dtype: str) -> None:
    Tensor.manual_seed(2)
    found = Tensor.rand(4000, dtype=dtype).float().numpy()
    assert found.min() >= 0
    assert found.max() < 1
    assert abs(found.mean() - 0.5) < 0.03


def test_distributions() -> None:
    Tensor.manual_seed(3)
    normal = Tensor.randn(4000).numpy()
    assert abs(normal.mean()) < 0.06
    assert abs(normal.std() - 1) < 0.05
    whole = Tensor.randint(4000, low=-3, high=4).numpy()
    assert set(whole.tolist()) == set(range(-3, 4))
    assert abs(Tensor.uniform(4000, low=2, high=4).numpy().mean() - 3) < 0.05
    bound = (6 / (1 + 0.01**2) / 100) ** 0.5
    kaiming = Tensor.kaiming_uniform(50, 100).numpy()
    assert np.abs(kaiming).max() <= bound
    assert sorted(Tensor.randperm(50).tolist()) == list(range(50))


def test_drawing_by_weight() -> None:
    Tensor.manual_seed(4)
    weights = Tensor([0.0, 1.0, 0.0, 3.0])
    drawn = weights.multinomial(1000, replacement=True).numpy()
    assert set(drawn.tolist()) == {1, 3}
    assert abs((drawn == 3).mean() - 0.75) < 0.06
    assert sorted(weights.multinomial(2).tolist()) == [1, 3]
    with pytest.raises(ArgumentError, match="replacement"):
        weights.multinomial(5)


def test_bad_bounds_are_refused() -> None:
    with pytest.raises(ArgumentError, match="low < high"):
        Tensor.randint(3, low=2, high=2)
    with pytest.raises(ArgumentError, match="a float"):
        Tensor.rand(3, dtype=dtypes.int32)


def test_dropout_asks_the_mode() -> None:
    x = Tensor.ones(1000)
    assert np.array_equal(x.dropout(0.5).numpy(), x.numpy())
    with Tensor.train():
        Tensor.manual_seed(5)
        found = x.dropout(0.25).numpy()
        with Tensor.train(False):
            assert np.array_equal(x.dropout(0.5).numpy(), x.numpy())
    assert set(np.unique(found).tolist()) == {0.0, np.float32(4 / 3)}
    assert abs((found == 0).mean() - 0.25) < 0.06
    assert not Tensor.training
