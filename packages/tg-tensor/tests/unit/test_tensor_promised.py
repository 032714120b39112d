"""A schedule that was handed out must run before its values are read."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tg_tensor import Tensor, compile_linear, run_linear
from tg_tensor.engine.errors import NotRealizedError

USES: list[Callable[[Tensor], object]] = [
    lambda y: y.tolist(),
    lambda y: y.numpy(),
    lambda y: y[0].item(),
    lambda y: (y * 2).tolist(),
    lambda y: y.contiguous().realize().tolist(),
]


@pytest.mark.parametrize("use", USES)
def test_reading_before_the_run_is_refused(use: Callable[[Tensor], object]) -> None:
    """The memory is there and holds nothing yet."""
    y = Tensor([1.0, 2.0]).realize() + 1
    linear = y.schedule_linear()
    with pytest.raises(NotRealizedError, match="run_linear"):
        use(y)
    run_linear(linear)
    use(y)
    assert y.tolist() == [2.0, 3.0]


def test_writes_are_promised_too() -> None:
    """The memory still has its old contents, which is not the value any more."""
    x = Tensor([1.0, 2.0]).realize()
    x.assign(x * 3)
    linear = x.schedule_linear()
    with pytest.raises(NotRealizedError):
        x.tolist()
    run_linear(compile_linear(linear))
    assert x.tolist() == [3.0, 6.0]


def test_looking_at_a_schedule_only_is_fine() -> None:
    """Other values are computed as ever, and memory nobody fills may be read."""
    x = Tensor([1.0, 2.0]).realize()
    assert len((x + 1).schedule_linear().src) == 1
    assert (x + 2).tolist() == [3.0, 4.0]
    assert Tensor.empty(3).numpy().shape == (3,)
