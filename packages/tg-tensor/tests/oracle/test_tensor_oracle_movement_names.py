"""Movement by the names of PyTorch, against PyTorch: values, shapes, dtypes, gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tg_tensor import Tensor

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

F = torch.nn.functional
Call = Callable[..., Any]


def numbers(*shape: int) -> Any:
    return (
        np.random.default_rng(sum(shape) + 7 * len(shape)).standard_normal(shape).astype(np.float32)
    )


def assert_same(ours: Call, theirs: Call, *arrays: Any) -> None:
    """The same values (one result or several), and the same gradient of a weighted sum."""
    mine = [Tensor(x, requires_grad=x.dtype.kind == "f") for x in arrays]
    other = [torch.tensor(x, requires_grad=x.dtype.kind == "f") for x in arrays]
    found, wanted = ours(*mine), theirs(*other)
    found = found if isinstance(found, tuple | list) else (found,)
    wanted = wanted if isinstance(wanted, tuple | list) else (wanted,)
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert tuple(a.shape) == tuple(b.shape)
        np.testing.assert_allclose(a.numpy(), b.detach().numpy(), rtol=1e-6, atol=1e-6)
    floats = [t for t in other if t.requires_grad]
    if not floats or not wanted[0].requires_grad or not wanted[0].numel():
        return
    weights = numbers(*wanted[0].shape)
    (wanted[0] * torch.tensor(weights)).sum().backward()
    targets = [t for t in mine if t.requires_grad]
    touched = [(m, o) for m, o in zip(targets, floats, strict=True) if o.grad is not None]
    flowing = (found[0] * Tensor(weights)).sum().gradient(*[m for m, _ in touched])
    for gradient, (_, tensor) in zip(flowing, touched, strict=True):
        np.testing.assert_allclose(gradient.numpy(), tensor.grad.numpy(), rtol=1e-5, atol=1e-6)


def both(name: str, *args: Any, **kwargs: Any) -> Call:
    return lambda x: getattr(x, name)(*args, **kwargs)


METHODS: list[tuple[str, tuple[int, ...], tuple[Any, ...]]] = [
    ("narrow", (3, 5), (1, 1, 3)),
    ("narrow", (3, 5), (1, -2, 2)),
    ("narrow", (3, 5), (0, 3, 0)),
    ("select", (3, 5), (1, -1)),
    ("select", (3,), (0, 2)),
    ("unbind", (3, 5), (1,)),
    ("unbind", (3,), ()),
    ("movedim", (2, 3, 4), (0, -1)),
    ("movedim", (2, 3, 4), ((0, 1), (2, 0))),
    ("moveaxis", (2, 3, 4), (2, 0)),
    ("swapaxes", (2, 3, 4), (0, 2)),
    ("swapdims", (2, 3, 4), (0, 1)),
    ("adjoint", (2, 3, 4), ()),
    ("t", (2, 3), ()),
    ("t", (2,), ()),
    ("fliplr", (2, 3), ()),
    ("flipud", (2, 3), ()),
    ("rot90", (2, 3), ()),
    ("rot90", (2, 3, 4), (3, (2, 0))),
    ("rot90", (2, 3), (-2,)),
    ("rot90", (2, 3), (4,)),
    ("tile", (2, 3), (2,)),
    ("tile", (2, 3), ((2, 1, 3),)),
    ("tile", (), (2,)),
    ("ravel", (2, 3), ()),
    ("broadcast_to", (1, 3), ((2, 2, 3),)),
    ("unflatten", (2, 12), (1, (3, -1))),
    ("tensor_split", (7, 2), (3,)),
    ("tensor_split", (7, 2), ((1, 3, 3, 9),)),
    ("tensor_split", (2, 7), ((-3, 2), 1)),
    ("tensor_split", (0, 7), (2,)),
    ("hsplit", (2, 6), (3,)),
    ("hsplit", (6,), ((2, 3),)),
    ("vsplit", (4, 3), (2,)),
    ("dsplit", (2, 3, 4), (2,)),
    ("split", (7,), (3,)),
    ("split", (7,), ((2, 5),)),
    ("split", (0, 2), (3,)),
    ("chunk", (7,), (4,)),
    ("roll", (5,), (2,)),
    ("roll", (2, 3), (-4,)),
    ("roll", (2, 3), ((1, 2), (0, 1))),
    ("repeat", (2, 3), (0, 2)),
    ("repeat", (3,), (2, 2)),
    ("squeeze", (1, 3, 1), ()),
    ("squeeze", (1, 3, 1), (0,)),
    ("diagonal", (3, 4), (1,)),
    ("unfold", (3, 8), (1, 3, 2)),
]


@pytest.mark.parametrize(("name", "shape", "args"), METHODS, ids=str)
def test_method(name: str, shape: tuple[int, ...], args: tuple[Any, ...]) -> None:
    assert_same(both(name, *args), both(name, *args), numbers(*shape))


JOINED: dict[str, list[tuple[int, ...]]] = {
    "hstack": [(2, 3), (2, 1), (2, 2)],
    "vstack": [(2, 3), (3,), (1, 3)],
    "row_stack": [(3,), (3,)],
    "dstack": [(2, 3), (2, 3, 2)],
    "column_stack": [(2,), (2, 3)],
    "block_diag": [(2, 3), (), (2,), (1, 1)],
    "atleast_1d": [(), (2,)],
    "atleast_2d": [(), (2,), (2, 3, 4)],
    "atleast_3d": [(), (2,), (2, 3)],
    "broadcast_tensors": [(2, 1), (3,), ()],
    "cartesian_prod": [(2,), (3,), (2,)],
}


@pytest.mark.parametrize("name", JOINED)
def test_several_tensors(name: str) -> None:
    arrays = [numbers(*shape) for shape in JOINED[name]]
    function = getattr(torch, name)
    takes_list = name in ("hstack", "vstack", "row_stack", "dstack", "column_stack")
    assert_same(
        lambda first, *rest: getattr(first, name)(*rest),
        lambda *given: function(given) if takes_list else function(*given),
        *arrays,
    )
    single = arrays[:1] if name != "cartesian_prod" else arrays[1:2]
    assert_same(
        lambda first: getattr(first, name)(),
        lambda given: function([given]) if takes_list else function(given),
        *single,
    )


def test_joining_promotes() -> None:
    parts = [np.array([True]), np.array([3], np.int8), np.array([2.5], np.float16)]
    found = Tensor(parts[0]).cat(*(Tensor(p) for p in parts[1:]))
    wanted = torch.cat([torch.tensor(p) for p in parts])
    assert str(found.dtype) == "dtypes.half"
    np.testing.assert_array_equal(found.numpy(), wanted.numpy())
    empty = Tensor(np.zeros(0, np.float32)).cat(Tensor(np.ones((2, 3), np.float32)), dim=1)
    assert empty.shape == (2, 3)


PADS: list[tuple[tuple[int, ...], tuple[int, ...], str]] = [
    ((5,), (2, 3), "constant"),
    ((2, 5), (-1, 3), "constant"),
    ((2, 3, 5), (1, 1, 0, 2, -1, 0), "constant"),
    *[
        ((1, 2, 5), pads, mode)
        for mode in ("reflect", "replicate", "circular")
        for pads in ((2, 1), (-1, 3), (2, -2), (-1, -2))
    ],
    *[((1, 2, 3, 4), (1, 2, 2, 1), mode) for mode in ("reflect", "replicate", "circular")],
    *[((1, 1, 3, 3, 3), (1, 2, 2, 1, 1, 0), mode) for mode in ("reflect", "replicate", "circular")],
    ((1, 1, 3), (5, 7), "replicate"),
]


@pytest.mark.parametrize(("shape", "pads", "mode"), PADS, ids=str)
def test_padding(shape: tuple[int, ...], pads: tuple[int, ...], mode: str) -> None:
    value = 1.5 if mode == "constant" else 0.0
    assert_same(
        lambda x: x.pad(pads, mode=mode, value=value),
        lambda x: F.pad(x, pads, mode=mode, value=value),
        numbers(*shape),
    )
    whole = (numbers(*shape) * 10).astype(np.int32)
    if mode == "constant":
        assert_same(lambda x: x.pad(pads, value=2), lambda x: F.pad(x, pads, value=2), whole)


def test_index_families() -> None:
    x, y = numbers(4, 5), numbers(3, 5)
    index = np.array([2, 0, 2])
    assert_same(lambda t, i: t.index_select(0, i), lambda t, i: t.index_select(0, i), x, index)
    assert_same(lambda t, i: t.index_select(1, i), lambda t, i: t.index_select(1, i), x, index)
    add: Call = lambda t, i, s: t.index_add(0, i, s, alpha=2)  # noqa: E731
    assert_same(add, add, x, index, y)
    copied = np.array([2, 0, 3])
    copy: Call = lambda t, i, s: t.index_copy(0, i, s)  # noqa: E731
    assert_same(copy, copy, x, copied, y)
    fill: Call = lambda t, i: t.index_fill(1, i, 7)  # noqa: E731
    assert_same(fill, fill, x, index)
    for how in ("amax", "amin", "prod", "mean"):
        for own in (True, False):
            reduce: Call = lambda t, i, s, how=how, own=own: t.index_reduce(  # noqa: E731
                0, i, s, how, include_self=own
            )
            assert_same(reduce, reduce, x, index, y)
    wide = np.array([[0, 1, 2, 0, 0], [3, 3, 1, 0, 2]])
    scatter: Call = lambda t, i, s: t.scatter_add(0, i, s)  # noqa: E731
    assert_same(scatter, scatter, x, wide, numbers(2, 5))
    flat = np.array([3, -1, 7])
    put: Call = lambda t, i, s: t.put(i, s)  # noqa: E731
    assert_same(put, put, x, flat, numbers(3))
    put_add: Call = lambda t, i, s: t.put(i, s, accumulate=True)  # noqa: E731
    assert_same(put_add, put_add, x, np.array([3, 3, 7]), numbers(3))
    mask = x > 0
    masked: Call = lambda t, m, s: t.masked_scatter(m, s)  # noqa: E731
    assert_same(masked, masked, x, mask, numbers(4, 5))
    selected: Call = lambda t, s: t.select_scatter(s, 0, 1)  # noqa: E731
    assert_same(selected, selected, x, numbers(5))
    sliced: Call = lambda t, s: t.slice_scatter(s, 0, 1, 4, 2)  # noqa: E731
    assert_same(sliced, sliced, x, numbers(2, 5))
    diagonal: Call = lambda t, s: t.diagonal_scatter(s, 1)  # noqa: E731
    assert_same(diagonal, diagonal, x, numbers(4))


def test_filling_keeps_the_dtype() -> None:
    mask = np.array([True, False, True])
    for array, value in (
        (np.array([True, True, False]), 0),
        (np.array([1, 2, 3], np.int8), 7),
        (np.array([1, 2, 3], np.float16), 7),
        (np.array([1, 2, 3], np.int32), 2.5),
    ):
        found = Tensor(array).masked_fill(Tensor(mask), value)
        wanted = torch.tensor(array).masked_fill(torch.tensor(mask), value)
        assert found.numpy().dtype == wanted.numpy().dtype
        np.testing.assert_array_equal(found.numpy(), wanted.numpy())


CREATED: dict[str, tuple[Call, Call]] = {
    "tril_indices": (
        lambda: Tensor.tril_indices(3, 4, -1),
        lambda: torch.tril_indices(3, 4, -1),
    ),
    "triu_indices": (lambda: Tensor.triu_indices(4, 3, 1), lambda: torch.triu_indices(4, 3, 1)),
    "tril_none": (lambda: Tensor.tril_indices(2, 2, -3), lambda: torch.tril_indices(2, 2, -3)),
    "triu_all": (lambda: Tensor.triu_indices(2, 3, -3), lambda: torch.triu_indices(2, 3, -3)),
    "logspace": (
        lambda: Tensor.logspace(-1, 2, 5),
        lambda: torch.logspace(-1, 2, 5),
    ),
    "logspace_base": (
        lambda: Tensor.logspace(0, 3, 4, base=2),
        lambda: torch.logspace(0, 3, 4, base=2),
    ),
    "linspace": (lambda: Tensor.linspace(3, -2, 7), lambda: torch.linspace(3, -2, 7)),
    "linspace_1": (lambda: Tensor.linspace(3, -2, 1), lambda: torch.linspace(3, -2, 1)),
    "linspace_0": (lambda: Tensor.linspace(3, -2, 0), lambda: torch.linspace(3, -2, 0)),
    "vander": (
        lambda: Tensor([1, 2, 3]).vander(),
        lambda: torch.linalg.vander(torch.tensor([1, 2, 3])).flip(1),
    ),
    "vander_up": (
        lambda: Tensor([1.0, 2, 3]).vander(4, increasing=True),
        lambda: torch.vander(torch.tensor([1.0, 2, 3]), 4, increasing=True),
    ),
    "combinations": (
        lambda: Tensor([3, 5, 7]).combinations(2),
        lambda: torch.combinations(torch.tensor([3, 5, 7]), 2),
    ),
    "combinations_with": (
        lambda: Tensor([3, 5, 7]).combinations(3, with_replacement=True),
        lambda: torch.combinations(torch.tensor([3, 5, 7]), 3, with_replacement=True),
    ),
    "combinations_none": (
        lambda: Tensor([3, 5]).combinations(3),
        lambda: torch.combinations(torch.tensor([3, 5]), 3),
    ),
    "one_hot": (
        lambda: Tensor([[0, 2], [1, 1]]).one_hot(4),
        lambda: F.one_hot(torch.tensor([[0, 2], [1, 1]]), 4),
    ),
}


@pytest.mark.parametrize("name", CREATED)
def test_creation(name: str) -> None:
    ours, theirs = CREATED[name]
    found, wanted = ours(), theirs()
    assert tuple(found.shape) == tuple(wanted.shape)
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-6)
