"""Indices, as people reported them: steps, masks, repeats, mixtures, positions outside."""

from __future__ import annotations

import numpy as np
import pytest
from tg_tensor import Tensor

DATA = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
I = np.array([2, 0, 2])
J = np.array([[0], [3]])

BASIC = [
    np.s_[1],
    np.s_[-1],
    np.s_[1, 2],
    np.s_[1, 2, 3],
    np.s_[..., 1],
    np.s_[1, ...],
    np.s_[...],
    np.s_[:, ..., -1],
    np.s_[None],
    np.s_[None, 1, None],
    np.s_[..., None],
    np.s_[:, None, :, None],
    np.s_[1:],
    np.s_[:-1],
    np.s_[::2],
    np.s_[::-1],
    np.s_[::-2, ::3, ::-4],
    np.s_[2:0:-1],
    np.s_[-1:-4:-1],
    np.s_[5:],
    np.s_[-100:100],
    np.s_[100:-100:-1],
    np.s_[2:1],
    np.s_[1:1],
    np.s_[:, 3:0],
    np.s_[-1000:-999],
    np.s_[-1000 : 2**63 - 1 : 43],
    np.s_[:, 1::2, None, -1],
    np.s_[0:3:5],
    np.s_[()],
]

FANCY = [
    np.s_[I],
    np.s_[[0, 2]],
    np.s_[[-1, -3]],
    np.s_[[[0, 1], [2, 2]]],
    np.s_[:, I],
    np.s_[..., I],
    np.s_[I, 1],
    np.s_[1, I],
    np.s_[I, :, 1],
    np.s_[1, :, I],
    np.s_[:, I, 1],
    np.s_[:, 1, I],
    np.s_[I, I],
    np.s_[I, J],
    np.s_[J % 3, :, I],
    np.s_[I, None],
    np.s_[None, I],
    np.s_[I, None, I],
    np.s_[:, None, I],
    np.s_[I, :, None, I],
    np.s_[I, I, I],
    np.s_[I, ..., I],
    np.s_[I, 1:3],
    np.s_[1:3, I],
    np.s_[::-1, I],
    np.s_[::-1, ::2, I],
    np.s_[I, ::-1],
    np.s_[[1]],
    np.s_[[]],
    np.s_[:, []],
    np.s_[np.zeros((0, 2), np.int64)],
    np.s_[np.array(1)],
    np.s_[np.array(1), I],
    np.s_[[True, False, True]],
    np.s_[[False, False, False]],
    np.s_[:, [True, False, True, False]],
    np.s_[[True, False, True], 1],
    np.s_[[True, False, True], :, 2],
    np.s_[np.arange(12).reshape(3, 4) % 3 == 0],
    np.s_[DATA > 30],
    np.s_[DATA < 0],
    np.s_[np.arange(12).reshape(3, 4) % 3 == 0, 2],
    np.s_[[True, False, True], [1, 2]],
    np.s_[True],
    np.s_[False],
]


def as_tensors(index: object) -> object:
    """The arrays of an index as Tensors."""
    if isinstance(index, tuple):
        return tuple(as_tensors(part) for part in index)
    return Tensor(index) if isinstance(index, np.ndarray) else index


@pytest.mark.parametrize("number", range(len(BASIC)))
def test_slices_of_every_kind(number: int) -> None:
    """Read, lazily and from memory, and written."""
    index = BASIC[number]
    want = DATA[index]
    assert np.array_equal(Tensor(DATA).realize()[index].numpy(), want)
    assert np.array_equal((Tensor(DATA) * 2)[index].numpy(), want * 2)
    x, copy = Tensor(DATA.copy()).realize(), DATA.copy()
    x[index] = -1.0
    copy[index] = -1.0
    assert np.array_equal(x.numpy(), copy)


@pytest.mark.parametrize("number", range(len(FANCY)))
def test_indices_that_are_lists_and_tensors(number: int) -> None:
    """Read, with the axes where NumPy has them, and written with one value and with many."""
    index = FANCY[number]
    want = DATA[index]
    for form in (index, as_tensors(index)):
        got = Tensor(DATA).realize()[form].numpy()
        assert got.shape == want.shape
        assert np.array_equal(got, want)
        x, copy = Tensor(DATA.copy()).realize(), DATA.copy()
        x[form] = -1.0
        copy[index] = -1.0
        assert np.array_equal(x.numpy(), copy)
        x, copy = Tensor(DATA.copy()).realize(), DATA.copy()
        values = -np.arange(want.size, dtype=np.float32).reshape(want.shape)
        x[form] = Tensor(values)
        copy[index] = values
        assert np.array_equal(x.numpy(), copy)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int64", "uint32", "uint64", "int32"])
def test_indices_of_every_integer_type(dtype: str) -> None:
    """Positions are computed in enough bits: 255 is not -1, 200 rows of 300 do not wrap."""
    data = np.arange(256 * 300, dtype=np.int32).reshape(256, 300)
    top = 127 if dtype == "int8" else 255
    index = np.array([0, 1, 100, top], dtype)
    x = Tensor(data).realize()
    assert np.array_equal(x[Tensor(index)].numpy(), data[index])
    assert np.array_equal(x[:, Tensor(index)].numpy(), data[:, index])
    assert np.array_equal(x[Tensor(index), Tensor(index)].numpy(), data[index, index])
    if dtype[0] == "i":
        assert np.array_equal(x[Tensor(-1 - index)].numpy(), data[-1 - index.astype(np.int64)])
    column = index.astype(np.int64)[:, None]
    lookup = Tensor(index.reshape(4, 1)).realize()
    assert np.array_equal(x.gather(1, lookup).numpy(), np.take_along_axis(data[:4], column, 1))
    assert np.array_equal(x.gather(1, lookup + 0).numpy(), x.gather(1, lookup).numpy())
    assert np.array_equal(x.index_select(1, Tensor(index)).numpy(), data[:, index])
    written = Tensor.zeros(4, 300).scatter(1, lookup, Tensor([[1.0], [2], [3], [4]]))
    assert written.sum().item() == 10
    assert written.argmax(1).tolist() == index.tolist()
    classes = Tensor(index).one_hot(300)
    assert classes.sum(1).tolist() == [1] * 4
    assert classes.argmax(1).tolist() == index.tolist()
    logits = Tensor(data[:4] / 1000).realize()
    wide = Tensor(index.astype(np.int32))
    for loss in ("cross_entropy", "sparse_categorical_crossentropy", "nll_loss"):
        got = getattr(logits, loss)(Tensor(index)).item()
        assert np.isclose(got, getattr(logits, loss)(wide).item(), rtol=1e-5)
    assert Tensor(index).bincount(minlength=300).sum().item() == 4


@pytest.mark.parametrize("index", [[3], [-4], [0, 5], [[1], [-9]]])
def test_positions_outside_that_the_host_sees_are_refused(index: list) -> None:
    """Lists and Tensors made of lists: an IndexError with the shape; nothing is written."""
    x = Tensor(DATA.copy()).realize()
    with pytest.raises(IndexError, match="3"):
        x[index]
    with pytest.raises(IndexError):
        x[index] = 1.0
    for number in (3, -4):
        with pytest.raises(IndexError, match="3"):
            x[number]
    with pytest.raises(IndexError):
        x[0, 0, 0, 0]
    assert np.array_equal(x.numpy(), DATA)


def test_positions_outside_that_only_the_device_sees_read_zero() -> None:
    """And write nothing, and count nothing in gradients."""
    x = Tensor(np.array([5.0, 6.0, 7.0], np.float32)).realize()
    index = (Tensor([0, 1, 2, 3]).realize() * 2 - 1).realize()
    assert x[index].tolist() == [7.0, 6.0, 0.0, 0.0]
    assert x.gather(0, index).tolist() == [7.0, 6.0, 0.0, 0.0]
    assert x[index].sum().gradient(x)[0].tolist() == [0, 1, 1]
    for far in (2**32, -(2**32), 2**40 + 1):
        there = (Tensor([far], dtype="int64").realize() + 0).realize()
        assert x[there].tolist() == [0.0]
        assert x.gather(0, there).tolist() == [0.0]
        assert x.scatter(0, there, Tensor([9.0])).tolist() == [5.0, 6.0, 7.0]
    huge = (Tensor(np.array([2**63 + 1, 2**32], np.uint64)).realize() + 0).realize()
    assert x[huge].tolist() == [0.0, 0.0]
    assert x.gather(0, huge).tolist() == [0.0, 0.0]
    x[index] = 1.0
    assert x.tolist() == [5.0, 1.0, 1.0]


def test_the_last_of_several_writes_to_one_place_stays() -> None:
    """Index assignment and scatter; sums take all."""
    index = np.array([1, 0, 1, 1, 2])
    values = np.array([1.0, 2, 3, 4, 5], np.float32)
    x = Tensor.zeros(4).contiguous().realize()
    x[Tensor(index)] = Tensor(values)
    assert x.tolist() == [2, 4, 5, 0]
    assert Tensor.zeros(4).scatter(0, Tensor(index), Tensor(values)).tolist() == [2, 4, 5, 0]
    base = Tensor.ones(4)
    for reduce, want in (
        ("sum", [3, 9, 6, 1]),
        ("prod", [2, 12, 5, 1]),
        ("amax", [2, 4, 5, 1]),
        ("amin", [1, 1, 1, 1]),
        ("mean", [1.5, 9 / 4, 3, 1]),
    ):
        got = base.scatter_reduce(0, Tensor(index), Tensor(values), reduce).tolist()
        assert np.allclose(got, want)
    got = base.scatter_reduce(0, Tensor(index), Tensor(values), "amin", include_self=False)
    assert got.tolist() == [2, 1, 5, 1]


@pytest.mark.parametrize("size", [1, 7, 27, 64, 100, 216, 1000])
@pytest.mark.parametrize("count", [1, 10, 27, 130])
def test_scatter_and_assignment_at_many_sizes(size: int, count: int) -> None:
    """Against loops in NumPy, with repeats."""
    random = np.random.default_rng(size + count)
    index = random.integers(0, size, count)
    values = random.integers(1, 50, count).astype(np.float32)
    want = np.zeros(size, np.float32)
    for place, value in zip(index, values, strict=True):
        want[place] = value
    added = np.zeros(size, np.float32)
    np.add.at(added, index, values)
    zeros = Tensor.zeros(size).contiguous().realize()
    assert np.array_equal(zeros.scatter(0, Tensor(index), Tensor(values)).numpy(), want)
    assert np.array_equal(
        zeros.scatter_reduce(0, Tensor(index), Tensor(values), "sum").numpy(), added
    )
    zeros[Tensor(index)] = Tensor(values)
    assert np.array_equal(zeros.numpy(), want)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_gather_of_shorter_indices(axis: int) -> None:
    """An index may be shorter than the value along the other axes."""
    random = np.random.default_rng(axis + 5)
    index = random.integers(0, DATA.shape[axis], (2, 3, 4))
    want = np.take_along_axis(
        DATA[tuple(slice(s) if a != axis % 3 else slice(None) for a, s in enumerate((2, 3, 4)))],
        index,
        axis,
    )
    assert np.array_equal(Tensor(DATA).realize().gather(axis, Tensor(index)).numpy(), want)


def test_indices_that_are_computed() -> None:
    """argmax, sort, nonzero, arithmetic: no realize between."""
    x = Tensor(DATA).realize()
    assert x[x.sum((1, 2)).argmax()].tolist() == DATA[2].tolist()
    order = Tensor([3.0, 1.0, 2.0]).argsort()
    assert np.array_equal(x[order].numpy(), DATA[[1, 2, 0]])
    assert np.array_equal(x[(order + 1) % 3].numpy(), DATA[[2, 0, 1]])
    assert np.array_equal(x[order][order].numpy(), DATA[[1, 2, 0]][[1, 2, 0]])
    rows = (x[:, 0, 0] > 10).nonzero().squeeze(1)
    assert np.array_equal(x[rows].numpy(), DATA[1:])
    assert np.array_equal(x[Tensor.arange(3).flip(0)].numpy(), DATA[::-1])


def test_one_axis_selected_twice() -> None:
    """Selection along one axis, then along another, with the same positions."""
    x = Tensor.ones(1, 3, 10, 10)
    index = Tensor([1, 2, 3])
    picked = x[:, :, index][:, :, :, index]
    assert picked.shape == (1, 3, 3, 3)
    assert picked.numpy().min() == 1.0


@pytest.mark.parametrize(
    ("index", "error"),
    [
        ("a", TypeError),
        (1.5, TypeError),
        (slice(0, 2, 0), ValueError),
        (slice(0.5, 2), TypeError),
        ((..., ...), (IndexError, ValueError)),
        ([True, False], (IndexError, ValueError)),
        (np.array([0.5, 1.0]), (TypeError, IndexError)),
        (([0, 1], [0, 1, 2]), (IndexError, ValueError)),
    ],
)
def test_what_is_no_index_is_refused(index: object, error: object) -> None:
    """With an error that comes when the expression is built."""
    with pytest.raises(error):
        Tensor(DATA)[as_tensors(index)]


def test_iteration_and_membership() -> None:
    """Rows in order, also of a view; a 0-d value has none."""
    x = Tensor(DATA)
    assert [row.shape for row in x] == [(4, 5)] * 3
    assert [row.tolist() for row in x[0][::-1]] == DATA[0][::-1].tolist()
    first, *_, last = x
    assert first.tolist() == DATA[0].tolist()
    assert last.tolist() == DATA[2].tolist()
    assert len(x[:0]) == 0
    assert list(x[:0]) == []


@pytest.mark.parametrize("shape", [(), (1,), (4,), (2, 3), (0,), (3, 0)])
def test_nonzero_and_masks_of_every_shape(shape: tuple[int, ...]) -> None:
    """Positions in order, one column an axis."""
    data = (np.arange(np.prod(shape, dtype=int)).reshape(shape) % 2).astype(np.float32)
    x = Tensor(data)
    want = np.argwhere(data) if shape else np.zeros((int(data != 0), 0), np.int64)
    got = x.nonzero().numpy()
    assert got.shape == want.shape
    assert np.array_equal(got, want)
    assert np.array_equal(x.masked_select(x > 0).numpy(), data[data > 0])


@pytest.mark.parametrize("count", [1, 2, 5])
def test_one_hot_and_its_inverse(count: int) -> None:
    """Classes outside give zeros; the dtype is the default integer."""
    x = Tensor([0, count - 1, count, -1])
    got = x.one_hot(count)
    assert got.sum(1).tolist() == [1, 1, 0, 0]
    assert got[:2].argmax(1).tolist() == [0, count - 1]
