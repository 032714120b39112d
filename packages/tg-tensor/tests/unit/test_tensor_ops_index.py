"""Indexing, gather and scatter against NumPy, through the witness."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from tg_tensor import Tensor, dtypes
from tg_tensor.errors import ArgumentError
from tg_uop.errors import DTypeError, IndexRangeError, ShapeError

Array = npt.NDArray[np.generic]
Witness = Callable[[Tensor], Array]

A = np.random.default_rng(7).standard_normal((2, 3, 4)).astype(np.float32)

READS: list[object] = [
    0,
    -1,
    slice(1, None),
    (slice(None), 1),
    (..., 2),
    (None, 0),
    (slice(None, None, -1), slice(None, None, 2)),
    (0, slice(2, 0, -1), slice(3, None, -2)),
    (slice(5, 1),),
    [1, 0],
    ([1, 0], [2, 1]),
    (slice(None), [0, 2, 1], slice(1, 3)),
    (0, slice(None), [1, 2]),
    (slice(None), [[0, 1], [2, 0]]),
    A > 0,
    ([0, 1], slice(None), [1, 2]),
    (slice(None), A[0, :, 0] > 0),
    np.array([1]),
    (1, [0, 2], 2),
    ([0], None, [1]),
    (..., [-1, -2]),
    np.int64(1),
    [],
]


@pytest.mark.parametrize("index", READS, ids=lambda index: str(index)[:40])
def test_reading_agrees_with_numpy(index: object, witness: Witness) -> None:
    wanted = A[np.array([], np.int64)] if isinstance(index, list) and not index else A[index]  # type: ignore[index]
    found = witness(Tensor(A)[index])
    np.testing.assert_array_equal(found, wanted)
    assert found.shape == wanted.shape


WRITES: list[object] = [
    (slice(None), slice(None, None, 2)),
    (0, slice(None, None, -2), slice(3, None, -3)),
    (slice(None), slice(1, None)),
    (0, 0, 0),
    (0,),
    ([1, 0],),
    (slice(None), [0, 2, 0]),
    (slice(None), [0, 2, 0], slice(1, 3)),
    (A > 0,),
    ([0, 1], slice(None), [1, 2]),
    (slice(None), slice(None, None, 2), slice(None, None, 3)),
    (1, [0, 2], 2),
    (..., None),
    (..., -1),
]


@pytest.mark.parametrize("index", WRITES, ids=lambda index: str(index)[:40])
@pytest.mark.parametrize("lazy", [False, True])
def test_writing_agrees_with_numpy(index: tuple[object, ...], lazy: bool, witness: Witness) -> None:
    wanted = A.copy()
    value = np.random.default_rng(1).standard_normal(A[index].shape).astype(np.float32)
    wanted[index] = value
    x = Tensor(A) + 0 if lazy else Tensor(A)
    x[index] = Tensor(value)
    np.testing.assert_array_equal(witness(x), wanted)
    x[index] = 5
    wanted[index] = 5
    np.testing.assert_array_equal(witness(x), wanted)


def test_the_last_of_equal_positions_wins(witness: Witness) -> None:
    x = Tensor.zeros(3)
    x[[1, 1, 2]] = Tensor([5.0, 6.0, 7.0])
    assert witness(x).tolist() == [0, 6, 7]


def test_a_written_value_is_cast(witness: Witness) -> None:
    x = Tensor([1, 2, 3])
    x[0] = 7.9
    assert x.dtype is dtypes.int32
    assert witness(x).tolist() == [7, 2, 3]


def test_negative_and_outside_positions_in_tensors(witness: Witness) -> None:
    x = Tensor([10.0, 20.0, 30.0])
    positions = Tensor([0, -1, 2, 1]) + Tensor([0, 0, 5, 0])
    assert witness(x[positions]).tolist() == [10, 30, 0, 20]
    x[positions] = 1.0
    assert witness(x).tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("index", "error"),
    [
        (3, IndexRangeError),
        (-3, IndexRangeError),
        (([5],), IndexRangeError),
        ((0, 0, 0, 0), IndexRangeError),
        ((..., ...), IndexRangeError),
        (1.5, TypeError),
        ("a", TypeError),
        (np.array([1.5]), DTypeError),
        (np.ones((2, 2), bool), ShapeError),
    ],
)
def test_bad_indices_are_refused(index: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        Tensor(A)[index]


def test_iteration_ends() -> None:
    assert [int(x) for x in Tensor([1, 2, 3])] == [1, 2, 3]
    with pytest.raises(TypeError, match="without axes"):
        iter(Tensor(1.0))


def test_gather(witness: Witness) -> None:
    index = np.array([[0, 1, 3], [2, 1, 0]])
    found = Tensor(A[0]).gather(1, Tensor(index.astype(np.int32)))
    np.testing.assert_array_equal(witness(found), np.take_along_axis(A[0, :2], index, 1))
    with pytest.raises(ShapeError, match="none longer"):
        Tensor(A[0]).gather(0, Tensor(np.zeros((1, 9), np.int32)))


def test_scatter(witness: Witness) -> None:
    x = Tensor.zeros(3, 5)
    index = Tensor([[0, 1, 2, 0]])
    source = Tensor([[1.0, 2.0, 3.0, 4.0]])
    found = witness(x.scatter(0, index, source))
    wanted = np.zeros((3, 5))
    wanted[[0, 1, 2, 0], range(4)] = [1, 2, 3, 4]
    np.testing.assert_array_equal(found, wanted)
    twice = Tensor([[1, 1, 2]])
    assert witness(Tensor.zeros(1, 3).scatter(1, twice, 9.0)).tolist() == [[0, 9, 9]]
    values = Tensor([[1.0, 2.0, 3.0]])
    assert witness(Tensor.ones(1, 3).scatter(1, twice, values)).tolist() == [[1, 2, 3]]
    assert witness(Tensor.ones(1, 3).scatter(1, twice, values, "add")).tolist() == [[1, 4, 4]]
    assert witness(Tensor.full((1, 3), 2.0).scatter(1, twice, values, "multiply")).tolist() == [
        [2, 4, 6]
    ]
    with pytest.raises(ArgumentError, match="reduce"):
        x.scatter(0, index, source, reduce="max")


@pytest.mark.parametrize(
    ("reduce", "included", "alone"),
    [
        ("sum", [5, 8, 8], [5, 3, 3]),
        ("prod", [5, 10, 15], [5, 2, 3]),
        ("mean", [5, 8 / 3, 4], [5, 1.5, 3]),
        ("amax", [5, 5, 5], [5, 2, 3]),
        ("amin", [5, 1, 3], [5, 1, 3]),
    ],
)
def test_scatter_reduce(
    reduce: str, included: list[float], alone: list[float], witness: Witness
) -> None:
    x = Tensor([5.0, 5.0, 5.0])
    index, source = Tensor([1, 1, 2]), Tensor([1.0, 2.0, 3.0])
    np.testing.assert_allclose(witness(x.scatter_reduce(0, index, source, reduce)), included)
    found = witness(x.scatter_reduce(0, index, source, reduce, include_self=False))
    np.testing.assert_allclose(found, alone)


def test_one_hot(witness: Witness) -> None:
    found = Tensor([0, 2, 9]).one_hot(3)
    assert found.dtype is dtypes.int32
    assert witness(found).tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 0]]
    with pytest.raises(ArgumentError, match="num_classes"):
        Tensor([0]).one_hot(-1)


def test_positions_of_what_is_not_zero() -> None:
    assert Tensor([[0, 3], [5, 0]]).nonzero().tolist() == [[0, 1], [1, 0]]
    assert Tensor([1.0, 2.0, 3.0]).masked_select(Tensor([True, False, True])).tolist() == [1, 3]


def test_a_lookup_is_one_kernel() -> None:
    table = Tensor.empty(500, 8)
    assert len(table[Tensor.empty(16, dtype="int")].schedule_linear().src) == 1
    assert len(Tensor.eye(40).contiguous().schedule_linear().src) == 1
