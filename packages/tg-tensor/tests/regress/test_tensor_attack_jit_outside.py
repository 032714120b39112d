"""A replay respects what is pending, and what is read, outside of the captured function."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tg_tensor import Tensor, TinyJit


def test_pending_writes_to_what_a_step_reads_are_done_first() -> None:
    """As for a learning rate that is set between steps; each write happens once."""
    rate = Tensor([0.0]).realize()
    step = TinyJit(lambda x: (x + rate).realize())
    for call in range(6):
        rate.assign(rate + call)
        want = sum(range(call + 1))
        assert step(Tensor([0.0]).realize()).item() == want
    assert rate.item() == 15


def test_pending_writes_to_parts_are_done_first() -> None:
    """Setting an element is a write like any other."""
    table = Tensor([0.0, 0.0]).realize()
    step = TinyJit(lambda x: (x + table.sum()).realize())
    for call in range(6):
        table[0] = float(call)
        assert step(Tensor(1.0).realize()).item() == call + 1


def test_pending_writes_to_what_a_step_writes_are_done_first() -> None:
    """The step adds to what was added outside."""
    total = Tensor([0.0]).realize()

    def add(x: Tensor) -> None:
        total.assign(total + x).realize()

    step = TinyJit(add)
    for _ in range(6):
        total.assign(total + 1)
        step(Tensor([10.0]).realize())
    assert total.item() == 66


READERS: list[Callable[[Tensor], Tensor]] = [
    lambda x: x * 2,
    lambda x: x[1:],
    lambda x: x.flip(0),
    lambda x: x.detach(),
    lambda x: x.contiguous(),
    lambda x: x.reshape(3, 1).expand(3, 50) + 1,
]


@pytest.mark.parametrize("read", READERS)
def test_readers_of_an_argument_keep_their_value(read: Callable[[Tensor], Tensor]) -> None:
    """The step writes its argument; who read it before has the value of then, forever."""
    step = TinyJit(lambda x: x.assign(x + 1).realize())
    x = Tensor([0.0, 1.0, 2.0]).realize()
    seen = []
    for _ in range(6):
        seen.append((read(x), read(x * 1).tolist()))
        step(x)
    for got, want in seen:
        assert got.tolist() == want
    assert x.tolist() == [6.0, 7.0, 8.0]


@pytest.mark.parametrize("read", READERS)
def test_readers_of_state_keep_their_value(read: Callable[[Tensor], Tensor]) -> None:
    """The same for memory that the step knows by itself."""
    state = Tensor([0.0, 1.0, 2.0]).realize()

    def add(x: Tensor) -> Tensor:
        state.assign(state + x).realize()
        return (state * 1).realize()

    step = TinyJit(add)
    seen = []
    for _ in range(6):
        seen.append((read(state), read(state * 1).tolist()))
        step(Tensor(1.0).realize())
    for got, want in seen:
        assert got.tolist() == want
    assert state.tolist() == [6.0, 7.0, 8.0]


def test_writing_a_view_of_an_argument_writes_the_argument() -> None:
    """As without capture."""

    def clear_tail(x: Tensor) -> Tensor:
        tail = x[1:]
        tail.assign(tail * 0)
        return tail

    step = TinyJit(clear_tail)
    for _ in range(5):
        x = Tensor([1.0, 2.0]).realize()
        assert step(x).tolist() == [0.0]
        assert x.tolist() == [1.0, 0.0]
