"""Movement, joining, placing and creation by name, against NumPy; errors for what does not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tg_tensor import Tensor, dtypes
from tg_tensor.errors import ArgumentError
from tg_uop.errors import DTypeError, ShapeError

A = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
M = np.arange(6, dtype=np.int32).reshape(2, 3)
V = np.array([3, 1, 2], np.int32)


VIEWS: dict[str, tuple[Callable[[Tensor], Tensor], Any]] = {
    "narrow": (lambda t: t.narrow(1, -2, 2), A[:, 1:]),
    "select": (lambda t: t.select(2, -1), A[..., -1]),
    "movedim": (lambda t: t.movedim((0, 1), (-1, 0)), np.moveaxis(A, (0, 1), (-1, 0))),
    "moveaxis": (lambda t: t.moveaxis(2, 0), np.moveaxis(A, 2, 0)),
    "swapaxes": (lambda t: t.swapaxes(0, 2), np.swapaxes(A, 0, 2)),
    "swapdims": (lambda t: t.swapdims(0, 1), np.swapaxes(A, 0, 1)),
    "adjoint": (lambda t: t.adjoint(), np.swapaxes(A, 1, 2)),
    "mT": (lambda t: t.mT, np.swapaxes(A, 1, 2)),
    "fliplr": (lambda t: t.fliplr(), np.fliplr(A)),
    "flipud": (lambda t: t.flipud(), np.flipud(A)),
    "rot90": (lambda t: t.rot90(3, (0, 2)), np.rot90(A, 3, (0, 2))),
    "tile": (lambda t: t.tile(2, 1, 1, 3), np.tile(A, (2, 1, 1, 3))),
    "ravel": (lambda t: t.ravel(), A.ravel()),
    "broadcast_to": (lambda t: t.broadcast_to((5, 2, 3, 4)), np.broadcast_to(A, (5, 2, 3, 4))),
    "expand_dims": (lambda t: t.expand_dims((0, -1)), np.expand_dims(A, (0, -1))),
    "expand_as": (lambda t: t[:, :1].expand_as(t), np.broadcast_to(A[:, :1], A.shape)),
    "view_as": (lambda t: t.view_as(Tensor.zeros(4, 6)), A.reshape(4, 6)),
    "reshape_as": (lambda t: t.reshape_as(Tensor.zeros(4, 6)), A.reshape(4, 6)),
    "slice_scatter": (
        lambda t: t.slice_scatter(Tensor.zeros(2, 3, 2), 2, 0, 4, 2),
        np.where(np.arange(4) % 2 == 0, 0, A),
    ),
    "select_scatter": (
        lambda t: t.select_scatter(Tensor.zeros(2, 4), 1, -1),
        np.where(np.arange(3)[:, None] == 2, 0, A),
    ),
    "diagonal_scatter": (
        lambda t: t.diagonal_scatter(Tensor.zeros(4, 2), -1, 0, 1),
        np.where((np.arange(3) - np.arange(2)[:, None] == -1)[..., None], 0, A),
    ),
}


def test_views() -> None:
    results = {name: call(Tensor(A)) for name, (call, _) in VIEWS.items() if "diag" not in name}
    Tensor.realize(*results.values())
    for name, found in results.items():
        np.testing.assert_array_equal(found.numpy(), VIEWS[name][1], err_msg=name)


def test_diagonal_scatter() -> None:
    found = Tensor(M).diagonal_scatter(Tensor([9]), -1)
    np.testing.assert_array_equal(found.numpy(), [[0, 1, 2], [9, 4, 5]])
    found = Tensor(M).diagonal_scatter(Tensor([8, 9]), 1)
    np.testing.assert_array_equal(found.numpy(), [[0, 8, 2], [3, 4, 9]])


def test_stacks() -> None:
    m, v = Tensor(M), Tensor(V)
    np.testing.assert_array_equal(m.hstack(m).numpy(), np.hstack((M, M)))
    np.testing.assert_array_equal(v.hstack(v, v).numpy(), np.hstack((V, V, V)))
    np.testing.assert_array_equal(m.vstack(v).numpy(), np.vstack((M, V)))
    np.testing.assert_array_equal(m.row_stack(v).numpy(), np.vstack((M, V)))
    np.testing.assert_array_equal(m.dstack(m).numpy(), np.dstack((M, M)))
    np.testing.assert_array_equal(v.column_stack(m.T).numpy(), np.column_stack((V, M.T)))
    np.testing.assert_array_equal(
        m.block_diag(v).numpy(), [[0, 1, 2, 0, 0, 0], [3, 4, 5, 0, 0, 0], [0, 0, 0, 3, 1, 2]]
    )
    assert Tensor(2).atleast_1d().shape == (1,)
    assert [t.shape for t in Tensor(2).atleast_2d(v)] == [(1, 1), (1, 3)]
    assert [t.shape for t in v.atleast_3d(m)] == [(1, 3, 1), (2, 3, 1)]
    assert [t.shape for t in m.broadcast_tensors(Tensor(1), v)] == [(2, 3)] * 3


def test_joining_promotes_and_takes_empty_vectors() -> None:
    assert Tensor([True]).cat(Tensor([1]), Tensor([0.5])).tolist() == [1.0, 1.0, 0.5]
    assert Tensor([True]).stack(Tensor([2])).dtype is dtypes.int32
    empty = Tensor.zeros(0)
    assert empty.cat(Tensor.ones(2, 3), dim=1).shape == (2, 3)
    assert empty.cat(empty).shape == (0,)


def test_splits() -> None:
    parts = Tensor(V).tensor_split(2)
    assert [p.tolist() for p in parts] == [[3, 1], [2]]
    assert [p.shape for p in Tensor(A).tensor_split((1, 3, 2, -1), 2)] == [
        (2, 3, s) for s in (1, 2, 0, 1, 1)
    ]
    assert [p.shape for p in Tensor(A).hsplit(3)] == [(2, 1, 4)] * 3
    assert [p.shape for p in Tensor(A).vsplit((1,))] == [(1, 3, 4)] * 2
    assert [p.shape for p in Tensor(A).dsplit(2)] == [(2, 3, 2)] * 2
    assert [p.tolist() for p in Tensor(M).unbind(1)] == M.T.tolist()


def test_rows_by_index() -> None:
    m, index = Tensor(M), Tensor([0, 2, 0])
    added = M.copy()
    np.add.at(added, (slice(None), [0, 2, 0]), np.ones((2, 3), np.int32) * 3)
    ones = Tensor.ones(2, 3, dtype=dtypes.int32)
    np.testing.assert_array_equal(m.index_add(1, index, ones, alpha=3).numpy(), added)
    np.testing.assert_array_equal(m.index_select(1, index).numpy(), M[:, [0, 2, 0]])
    np.testing.assert_array_equal(m.index_fill(-1, index, 7).numpy(), [[7, 1, 7], [7, 4, 7]])
    copied = m.index_copy(1, index, Tensor(M) + 10)
    np.testing.assert_array_equal(copied.numpy(), [[12, 1, 11], [15, 4, 14]])
    reduced = m.index_reduce(1, index, Tensor(M) + 10, "amax")
    np.testing.assert_array_equal(reduced.numpy(), [[12, 1, 11], [15, 4, 14]])
    np.testing.assert_array_equal(m.put(Tensor([5, -6]), Tensor([8, 9])).numpy()[1, 2], 8)
    accumulated = m.put(Tensor([0, 0]), Tensor([8, 9]), accumulate=True)
    assert accumulated[0, 0].item() == 17
    mask = Tensor([[True, False, True], [False, False, True]])
    scattered = m.masked_scatter(mask, Tensor([7, 8, 9, 10]))
    np.testing.assert_array_equal(scattered.numpy(), [[7, 1, 8], [3, 4, 9]])
    wide = m.scatter_add(0, Tensor([[0, 1, 1], [0, 0, 1]]), ones)
    np.testing.assert_array_equal(wide.numpy(), [[2, 2, 2], [3, 5, 7]])


def test_filling_keeps_the_dtype() -> None:
    assert Tensor([True, True]).masked_fill(Tensor([True, False]), 0).tolist() == [False, True]
    filled = Tensor([1, 2]).masked_fill(Tensor([True, False]), 2.5)
    assert (filled.dtype, filled.tolist()) == (dtypes.int32, [2, 2])
    with pytest.raises(ArgumentError):
        Tensor([1, 2]).masked_fill(Tensor([True, False]), float("-inf"))
    with pytest.raises(DTypeError):
        Tensor([1, 2]).masked_fill(Tensor([1, 0]), 3)


def test_positions_and_powers() -> None:
    np.testing.assert_array_equal(
        Tensor.tril_indices(3, 4, -1).numpy(), np.stack(np.tril_indices(3, -1, 4))
    )
    np.testing.assert_array_equal(
        Tensor.triu_indices(3, 4, 1).numpy(), np.stack(np.triu_indices(3, 1, 4))
    )
    np.testing.assert_array_equal(Tensor(V).vander().numpy(), np.vander(V))
    np.testing.assert_array_equal(
        Tensor(V).vander(2, increasing=True).numpy(), np.vander(V, 2, increasing=True)
    )
    assert Tensor(V).vander(0).shape == (3, 0)
    assert Tensor(V).combinations().tolist() == [[3, 1], [3, 2], [1, 2]]
    assert Tensor([1, 2]).cartesian_prod(Tensor([3, 4])).tolist() == [
        [1, 3], [1, 4], [2, 3], [2, 4]
    ]  # fmt: skip
    np.testing.assert_allclose(Tensor.logspace(0, 2, 5).numpy(), np.logspace(0, 2, 5), rtol=1e-6)
    np.testing.assert_allclose(
        Tensor.geomspace(1, 81, 5).numpy(), np.geomspace(1, 81, 5), rtol=1e-6
    )
    assert Tensor.linspace(2, 5, 1).tolist() == [2.0]
    assert Tensor.linspace(2, 5, 0).shape == (0,)


def test_padding_keeps_the_dtype() -> None:
    assert Tensor(V).pad((1, 1), value=5).dtype is dtypes.int32
    assert Tensor([True]).pad((0, 2), value=1).tolist() == [True, True, True]
    for mode, name in (("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")):
        found = Tensor(A).pad((None, (2, 1), (1, 3)), mode=mode)
        np.testing.assert_array_equal(found.numpy(), np.pad(A, ((0, 0), (2, 1), (1, 3)), mode=name))


MISTAKES: dict[str, tuple[type[Exception], Callable[[], object]]] = {
    "cat of numbers": (ShapeError, lambda: Tensor(1.0).cat(Tensor(2.0))),
    "cat of other shapes": (ShapeError, lambda: Tensor(A).cat(Tensor(M))),
    "stack of other shapes": (ShapeError, lambda: Tensor(V).stack(Tensor([1]))),
    "narrow outside": (ArgumentError, lambda: Tensor(V).narrow(0, 2, 2)),
    "select outside": (ArgumentError, lambda: Tensor(V).select(0, 3)),
    "axis moved twice": (ArgumentError, lambda: Tensor(A).movedim((0, 0), (1, 2))),
    "one axis turned": (ArgumentError, lambda: Tensor(A).rot90(1, (0, 0))),
    "uneven hsplit": (ArgumentError, lambda: Tensor(M).hsplit(2)),
    "matrix of index": (ShapeError, lambda: Tensor(M).index_select(0, Tensor([[0]]))),
    "float index": (DTypeError, lambda: Tensor(M).index_select(0, Tensor([0.0]))),
    "source of other shape": (
        ShapeError,
        lambda: Tensor(M).index_add(0, Tensor([0]), Tensor([[1, 2]])),
    ),
    "unknown pad mode": (ArgumentError, lambda: Tensor(V).pad((1, 1), mode="mirror")),
    "too much reflected": (ArgumentError, lambda: Tensor(V).pad((3, 0), mode="reflect")),
    "odd padding": (ArgumentError, lambda: Tensor(V).pad((1, 1, 1))),
    "more taken than there is": (ArgumentError, lambda: Tensor(V).pad((-2, -2))),
    "triple of padding": (ArgumentError, lambda: Tensor(M).pad(((1, 1, 1), (0, 0)))),
    "t of three axes": (ShapeError, lambda: Tensor(A).t()),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    error, mistake = MISTAKES[name]
    with pytest.raises(error):
        mistake()


def test_repeats_of_each_element() -> None:
    for repeats in (Tensor([2, 0, 1]), [2, 0, 1], np.array([2, 0, 1])):
        assert Tensor(V).repeat_interleave(repeats).tolist() == [3, 3, 2]
    assert Tensor(M).repeat_interleave(Tensor([1, 2]), 0).tolist() == [[0, 1, 2]] + [[3, 4, 5]] * 2
    with pytest.raises(ArgumentError):
        Tensor(V).repeat_interleave([1, 2])
    with pytest.raises(ArgumentError):
        Tensor(V).repeat_interleave(-1)


def test_nothing_to_take_apart() -> None:
    for take in (
        lambda t: t.split(1),
        lambda t: t.chunk(2),
        lambda t: t.unbind(),
        lambda t: t.narrow(0, 0, 1),
        lambda t: t.select(0, 0),
    ):
        with pytest.raises(ShapeError):
            take(Tensor(1.0))
    assert Tensor(1.0).unfold(0, 1, 1).tolist() == [1.0]
    with pytest.raises(ArgumentError):
        Tensor(V).unfold(0, 2, 0)
    with pytest.raises(ArgumentError):
        Tensor(V).pad((1, 1), value=float("inf"))
    none = Tensor(np.zeros(0, np.int32))
    assert Tensor(V).scatter(0, none, none).tolist() == V.tolist()
    assert Tensor(V).scatter_reduce(0, none, none, "amax").tolist() == V.tolist()
