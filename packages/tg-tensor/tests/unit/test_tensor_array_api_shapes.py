"""The array API standard on shapes without axes, without elements, and of one element."""

from __future__ import annotations

from collections.abc import Callable
from inspect import isfunction, signature
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tg_tensor import Tensor
from tg_tensor.errors import ArgumentError
from tg_tensor.interop import array_api
from tg_uop.errors import ShapeError

# the names of the standard are NumPy's own from 2.1 on
pytest.importorskip("numpy", minversion="2.1")

SHAPES = [(), (0,), (1,), (0, 3), (2, 0, 3), (1, 1)]
Case = Callable[[ModuleType, Any], Any]

WHOLE: dict[str, Case] = {
    "concat": lambda xp, a: xp.concat([a, a], axis=None),
    "stack": lambda xp, a: xp.stack([a, a]),
    "stack last": lambda xp, a: xp.stack([a, a], axis=-1),
    "flip": lambda xp, a: xp.flip(a),
    "roll": lambda xp, a: xp.roll(a, 1),
    "repeat": lambda xp, a: xp.repeat(a, 2),
    "repeat never": lambda xp, a: xp.repeat(a, 0),
    "tile": lambda xp, a: xp.tile(a, (2, 3)),
    "tile nothing": lambda xp, a: xp.tile(a, ()),
    "expand_dims": lambda xp, a: xp.expand_dims(a, axis=0),
    "reshape": lambda xp, a: xp.reshape(a, (a.shape[0] if a.ndim else 1, -1)[: 1 + (a.ndim == 2)]),
    "permute_dims": lambda xp, a: xp.permute_dims(a, tuple(range(a.ndim))[::-1]),
    "broadcast_to": lambda xp, a: xp.broadcast_to(a, (2, *a.shape)),
    "broadcast_arrays": lambda xp, a: xp.broadcast_arrays(a, a),
    "where": lambda xp, a: xp.where(a != 0, a, a),
    "unique_all": lambda xp, a: xp.unique_all(a),
    "nonzero": lambda xp, a: xp.nonzero(a),
    "zeros_like": lambda xp, a: xp.zeros_like(a),
    "exp": lambda xp, a: xp.exp(a),
    "add": lambda xp, a: xp.add(a, a),
}
MATRIX: dict[str, Case] = {
    "tril": lambda xp, a: xp.tril(a),
    "triu": lambda xp, a: xp.triu(a, k=1),
    "matmul": lambda xp, a: xp.matmul(a, xp.matrix_transpose(a)),
    "tensordot": lambda xp, a: xp.tensordot(a, xp.matrix_transpose(a), axes=1),
    "vecdot": lambda xp, a: xp.vecdot(a, a),
    "trace": lambda xp, a: xp.linalg.trace(a),
    "vector_norm": lambda xp, a: xp.linalg.vector_norm(a),
    "matrix_norm": lambda xp, a: xp.linalg.matrix_norm(a),
}
ALONG: dict[str, Callable[[ModuleType, Any, int], Any]] = {
    "cumulative_sum": lambda xp, a, axis: xp.cumulative_sum(a, axis=axis),
    "cumulative_sum from 0": lambda xp, a, axis: xp.cumulative_sum(
        a, axis=axis, include_initial=True
    ),
    "cumulative_prod": lambda xp, a, axis: xp.cumulative_prod(a, axis=axis),
    "diff": lambda xp, a, axis: xp.diff(a, axis=axis),
    "sort": lambda xp, a, axis: xp.sort(a, axis=axis),
    "argsort": lambda xp, a, axis: xp.argsort(a, axis=axis, stable=True),
    "concat": lambda xp, a, axis: xp.concat([a, a], axis=axis),
    "unstack": lambda xp, a, axis: xp.unstack(a, axis=axis),
    "flip": lambda xp, a, axis: xp.flip(a, axis=axis),
    "roll": lambda xp, a, axis: xp.roll(a, 2, axis=axis),
    "repeat": lambda xp, a, axis: xp.repeat(a, 2, axis=axis),
    "moveaxis": lambda xp, a, axis: xp.moveaxis(a, axis, 0),
    "argmax": lambda xp, a, axis: xp.argmax(a, axis=axis, keepdims=True),
}
REDUCTIONS = ["sum", "prod", "max", "min", "mean", "std", "var", "all", "any", "count_nonzero"]


def agree(case: Callable[[ModuleType, Any], Any], given: object) -> None:
    """The same value as NumPy's, or an error where NumPy has one."""
    try:
        with np.errstate(all="ignore"):
            expected = case(np, given)
    except (ValueError, TypeError):
        with pytest.raises((ValueError, TypeError)):
            case(array_api, Tensor(given))
        return
    found = case(array_api, Tensor(given))
    parts = expected if isinstance(expected, tuple | list) else [expected]
    mine = found if isinstance(found, tuple | list) else [found]
    assert len(mine) == len(parts)
    for got, part in zip(mine, parts, strict=True):
        assert got.shape == np.shape(part)
        np.testing.assert_allclose(got.numpy(), part, rtol=1e-6)


def values(shape: tuple[int, ...]) -> object:
    return np.arange(1, 1 + int(np.prod(shape)), dtype=np.float32).reshape(shape)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_whole_arrays(shape: tuple[int, ...]) -> None:
    for case in WHOLE.values():
        agree(case, values(shape))
    for case in MATRIX.values() if len(shape) > 1 else ():
        agree(case, values(shape))


@pytest.mark.parametrize("shape", SHAPES[1:], ids=str)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_along_an_axis(shape: tuple[int, ...]) -> None:
    for along in ALONG.values():
        for axis in range(-len(shape), len(shape)):
            agree(lambda xp, a, f=along, n=axis: f(xp, a, n), values(shape))  # type: ignore[misc]


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_reductions(name: str) -> None:
    for shape in SHAPES:
        axes: list[object] = [None, (), *range(len(shape))]
        for axis in axes:
            agree(lambda xp, a, n=axis: getattr(xp, name)(a, axis=n), values(shape))  # type: ignore[misc]
        everything = tuple(range(len(shape)))
        agree(
            lambda xp, a, n=everything: getattr(xp, name)(a, axis=n, keepdims=True), values(shape)
        )  # type: ignore[misc]


def test_making_little() -> None:
    def both(case: Callable[[ModuleType], Any]) -> None:
        agree(lambda xp, _: case(xp), np.zeros(0))

    both(lambda xp: xp.linspace(0, 1, 1))
    both(lambda xp: xp.linspace(0, 1, 1, endpoint=False))
    both(lambda xp: xp.linspace(0, 1, 0, endpoint=False))
    both(lambda xp: xp.arange(0))
    both(lambda xp: xp.arange(3, 1))
    both(lambda xp: xp.eye(0, 3))
    both(lambda xp: xp.full((), 2))
    both(lambda xp: xp.take(xp.asarray([1, 2]), xp.asarray([], dtype=xp.int64)))


def _names_with_an_axis() -> list[str]:
    found = [name for name in array_api.__all__ if isfunction(getattr(array_api, name))]
    return [name for name in found if "axis" in signature(getattr(array_api, name)).parameters]


@pytest.mark.parametrize("axis", [2, -3, 7])
@pytest.mark.parametrize("name", _names_with_an_axis())
def test_an_axis_that_is_not_there_is_refused(name: str, axis: int) -> None:
    x, places = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([[0, 1], [1, 0]])
    function = getattr(array_api, name)
    more: tuple[object, ...] = ()
    if name in ("concat", "stack"):
        x, axis = (x, x), axis + (name == "stack") * (1 if axis > 0 else -1)  # type: ignore[assignment]
    elif name == "expand_dims":
        axis += 1 if axis > 0 else -1
    elif name == "vecdot":
        more = (x,)
    elif name in ("take", "take_along_axis"):
        more = (places if name == "take_along_axis" else places[0],)
    elif name in ("roll", "repeat"):
        more = (1,)
    with pytest.raises((ShapeError, ArgumentError)):
        function(x, *more, axis=axis)


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 3), (3, 0)])
@pytest.mark.parametrize("ord", ["fro", "nuc", 1, 2, np.inf])
def test_matrices_of_nothing_have_norm_0(shape: tuple[int, ...], ord: Any) -> None:
    found = array_api.linalg.matrix_norm(Tensor.ones(*shape), ord=ord, keepdims=True)
    assert found.shape == (*shape[:-2], 1, 1)
    assert not found.numpy().any()


def test_narrow_places_count_from_the_end_of_a_long_axis() -> None:
    x, places = Tensor.arange(300), Tensor([-1, -128, 3], dtype="int8")
    assert array_api.take_along_axis(x, places).tolist() == [299, 172, 3]
    assert array_api.take(x, places).tolist() == [299, 172, 3]
