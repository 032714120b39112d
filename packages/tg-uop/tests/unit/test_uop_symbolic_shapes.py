"""Shapes with variables: simplest spelling, checks by bounds and by value, conditions told."""

from __future__ import annotations

import pytest
from tg_uop import UOp, Variable, dtypes
from tg_uop.errors import ShapeError
from tg_uop.ir.infer.symbolic import Condition, watchers

N = Variable("n", 1, 10)
ROWS = UOp.new_buffer("CPU", 60, dtypes.float32).reshape((10, 6))


def test_dimensions_are_kept_in_their_simplest_spelling() -> None:
    n = N.bind(3)
    part = ROWS.shrink([(0, n), None])
    assert part._pad_zeros([(0, 10 - n), (0, 0)]).shape == (10, 6)
    assert ROWS.shrink([(n - 1, n), None]).shape == (1, 6)
    assert part.reshape((n * 6,)).shape == part.flatten().shape
    assert part.reshape((-1, 2, 3)).shape == (n, 2, 3)


def test_a_bound_variable_has_the_bounds_of_the_variable() -> None:
    assert (N.bind(3).vmin, N.bind(3).vmax) == (1, 10)
    with pytest.raises(TypeError, match="not known"):
        bool(N.bind(3) > 2)


def test_what_no_value_allows_is_refused() -> None:
    wide = Variable("wide", 11, 20)
    with pytest.raises(ShapeError, match="leave the axis"):
        ROWS.shrink([(0, wide), None])


def test_what_some_values_allow_is_checked_by_value_and_told() -> None:
    wide = Variable("wide", 1, 20)
    told: list[Condition] = []
    watchers.active.append(told.append)
    try:
        assert ROWS.shrink([(0, wide.bind(10)), None]).shape == (wide.bind(10), 6)
        with pytest.raises(ShapeError, match="leave the axis of size 10"):
            ROWS.shrink([(0, wide.bind(11)), None])
    finally:
        watchers.active.pop()
    assert len(told) == 1
    with pytest.raises(ShapeError):
        told[0].check(11, 10)


def test_reshapes_are_checked_by_value() -> None:
    part = ROWS.shrink([(0, N.bind(3)), None])
    assert part.reshape((9, 2)).ndim == 2
    with pytest.raises(ShapeError, match="18 elements cannot become 20"):
        part.reshape((10, 2))


def test_variables_without_a_value_are_left_open() -> None:
    assert ROWS.shrink([(0, N), None]).reshape((2, -1)).ndim == 2


def test_slices_count_from_the_end_of_an_axis_of_symbolic_size() -> None:
    n = N.bind(4)
    part = ROWS.shrink([(0, n), None])
    assert part[-1:].shape == (1, 6)
    assert ROWS[-n:].shape == (n, 6)
    assert int(part[::2].shape[0]) == 2
    with pytest.raises(TypeError, match="either end"):
        ROWS[Variable("m", -2, 2).bind(1) :]


def test_a_node_is_no_sequence() -> None:
    with pytest.raises(TypeError, match="iterated"):
        list(N.bind(3))
