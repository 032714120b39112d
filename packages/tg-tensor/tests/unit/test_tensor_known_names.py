"""Names and habits from other libraries: what is in memory, None beside a Tensor, flat steps."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tg_tensor import Tensor, dtypes
from tg_tensor.errors import ArgumentError


@pytest.mark.parametrize("devices", ["CPU", ("CPU", "CPU:1")])
def test_a_node_says_whether_its_value_lies_in_memory(devices: str | tuple[str, ...]) -> None:
    """Views of memory and shards count; what is still to be computed does not."""
    x = Tensor([1.0, 2.0, 3.0, 4.0]).to(devices).realize()
    assert x.uop.is_realized
    assert x.reshape(2, 2).uop.is_realized
    y = x + 1
    assert not y.uop.is_realized
    assert y.realize().uop.is_realized


def test_no_tensor_equals_none() -> None:
    """A plain answer, as of every other object."""
    x = Tensor([1, 2])
    assert (x == None) is False  # noqa: E711
    assert (x != None) is True  # noqa: E711
    assert x not in (None,)


@pytest.mark.parametrize("steps", [1, 3])
def test_linspace_takes_requires_grad(steps: int) -> None:
    """The other creation functions do."""
    assert Tensor.linspace(1, 2, steps, requires_grad=True).requires_grad


def test_linspace_of_bools_is_refused() -> None:
    """There are no equal distances between two truths."""
    with pytest.raises(ArgumentError, match="dtype"):
        Tensor.linspace(0, 1, 3, dtype=dtypes.bool)


FLAT: list[Callable[[Tensor], Tensor]] = [Tensor.floor, Tensor.ceil, Tensor.round, Tensor.sign]


@pytest.mark.parametrize("step", FLAT)
@pytest.mark.parametrize("is_read", [False, True])
def test_flat_steps_give_zeros_read_before_or_not(
    step: Callable[[Tensor], Tensor], is_read: bool
) -> None:
    """Reading a value does not change its gradient."""
    x = Tensor([0.4, -1.6], requires_grad=True)
    y = step(x)
    if is_read:
        y.numpy()
    y.square().sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0, 0]
