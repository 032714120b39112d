"""Data that a captured function brings from the host are there in each replay."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tg_tensor import Tensor, TinyJit


def _added(x: Tensor) -> Tensor:
    return x + Tensor([10.0, 20.0])


def _looked_up(x: Tensor) -> Tensor:
    return x[Tensor([1, 0])]


def _listed(x: Tensor) -> Tensor:
    return x[[1, 1]]


def _written_twice(x: Tensor) -> Tensor:
    own = Tensor([1.0, 2.0])
    own[0] = x[1]
    own += x
    return own


def _realized_between(x: Tensor) -> Tensor:
    own = Tensor([1.0, 2.0])
    own.assign(own + x).realize()
    own.assign(own * 2).realize()
    return (own + 1).realize()


def _array(x: Tensor) -> Tensor:
    return (x * Tensor(np.array([[3.0], [4.0]], np.float32))).sum(0)


@pytest.mark.parametrize(
    "function", [_added, _looked_up, _listed, _written_twice, _realized_between, _array]
)
@pytest.mark.parametrize("prune", [False, True])
def test_replays_find_the_data(function: Callable[[Tensor], Tensor], prune: bool) -> None:
    """Each call gives what the function alone gives, and earlier results stay."""
    step = TinyJit(function, prune=prune)
    results = []
    for call in range(5):
        x = Tensor([float(call), 5.0]).realize()
        results.append((step(x), function(x).tolist()))
    for got, want in results:
        assert got.tolist() == want


def test_an_argument_is_written_where_the_data_say() -> None:
    """Indices made inside count in each call."""

    def zero_last(x: Tensor) -> None:
        x[Tensor([2])] = 0

    step = TinyJit(zero_last)
    for call in range(4):
        x = Tensor([call + 1, 6, 7]).realize()
        step(x)
        assert x.tolist() == [call + 1, 6, 0]


def test_returned_data_are_fresh_each_time() -> None:
    """Writing to a result changes no later one, whether a call used the data or not."""

    def pair(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        used, unused = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
        return used, unused, used + x

    step = TinyJit(pair)
    for call in range(5):
        used, unused, total = step(Tensor([float(call), 0.0]).realize())
        assert (used.tolist(), unused.tolist()) == ([1.0, 2.0], [3.0, 4.0])
        assert total.tolist() == [call + 1.0, 2.0]
        used.assign(used * 0).realize()
        unused.assign(unused * 0).realize()
