"""Long runs hold their memory flat: no cycles keep buffers, no table grows with the steps.

`pytest --full` runs 10,000 steps of each.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from tg_tensor import GlobalCounters, Tensor, TinyJit, Variable, checkpoint, function
from tg_tensor.ops.core import live_tensors

Step = Callable[[int], object]


@pytest.fixture(autouse=True)
def no_cyclic_collection() -> Iterator[None]:
    """Everything must go by itself."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def parameters(seed: int = 0) -> list[Tensor]:
    random = np.random.default_rng(seed)
    shapes = ((8, 16), (16,), (16, 4))
    values = [random.standard_normal(shape).astype(np.float32) * 0.1 for shape in shapes]
    return [Tensor(value, requires_grad=True).realize() for value in values]


def training(*, captured: bool, again: bool = False) -> Step:
    """Steps of gradient descent with dropout."""
    weights = parameters()
    random = np.random.default_rng(1)

    def layers(x: Tensor) -> Tensor:
        first, bias, second = weights
        return (x @ first + bias).relu().dropout(0.1) @ second

    model = checkpoint(layers) if again else layers

    def descend(x: Tensor, y: Tensor) -> Tensor:
        with Tensor.train():
            for weight in weights:
                weight.grad = None
            loss = model(x).sparse_categorical_crossentropy(y)
            loss.backward()
            for weight in weights:
                weight.assign(weight.detach() - 0.01 * weight.grad)
            return loss.realize(*weights)

    run = TinyJit(descend) if captured else descend

    def step(number: int) -> object:
        x = Tensor(random.standard_normal((4, 8)).astype(np.float32))
        loss = run(x, Tensor([0, 1, 2, 3]))
        return loss.item() if number % 10 == 0 else None

    return step


def generating() -> Step:
    """A cache that is written at a symbolic position and read up to it."""
    cache = Tensor.zeros(16, 4).contiguous().realize()
    position = Variable("position", 0, 15)

    @TinyJit
    def attend(x: Tensor, at: object) -> Tensor:
        cache[at : at + 1] = x
        return (cache[: at + 1] @ x.T).softmax(0).sum(0).realize()

    return lambda number: attend(Tensor.ones(1, 4), position.bind(number % 16)).item()


def accumulating() -> Step:
    """A value that is made of the one before."""
    held = [Tensor.zeros(8).contiguous().realize()]

    def step(number: int) -> object:
        held[0] = (held[0] * 0.5 + Tensor.rand(8)).realize()
        held[0][number % 8] = 1.0
        return held[0].tolist()

    return step


def cutting() -> Step:
    """Views whose sizes depend on a variable, built anew each time."""
    x = Tensor(np.arange(32.0, dtype=np.float32).reshape(8, 4)).realize()
    rows = Variable("rows", 1, 8)

    def step(number: int) -> object:
        part = x[: rows.bind(1 + number % 8)]
        return part.reshape(part.shape[0] * 4).sum().item()

    return step


def mistakes() -> Step:
    """Errors that are caught."""
    x, y = Tensor([1.0, 2.0]).realize(), Tensor([1.0, 2.0, 3.0]).realize()

    def step(number: int) -> None:
        for wrong in (lambda: x + y, lambda: x.reshape(7), lambda: x[number + 5], lambda: x @ y):
            with pytest.raises((ValueError, IndexError)):
                wrong()

    return step


def own_functions() -> Step:
    """Functions that are traced and captured anew each time."""

    def step(number: int) -> list[float]:
        double = function(lambda x: x * 2 + 1)
        captured = TinyJit(lambda x: double(x).sum())
        return [captured(Tensor([1.0, float(number % 3)])).item() for _ in range(3)]

    return step


LOOPS: dict[str, tuple[Callable[[], Step], int]] = {
    "training": (lambda: training(captured=False), 40),
    "captured": (lambda: training(captured=True), 400),
    "checkpoint": (lambda: training(captured=True, again=True), 200),
    "generating": (generating, 200),
    "accumulating": (accumulating, 60),
    "cutting": (cutting, 200),
    "mistakes": (mistakes, 60),
    "functions": (own_functions, 20),
}


@pytest.mark.parametrize("name", LOOPS)
def test_memory_stays_flat(name: str, pytestconfig: pytest.Config) -> None:
    make, count = LOOPS[name]
    count = 10_000 if pytestconfig.getoption("--full") else count
    step = make()
    start = max(count // 2, 16)
    for number in range(start):
        step(number)
    held, tensors = GlobalCounters.mem_used, len(live_tensors())
    objects = len(gc.get_objects())
    for number in range(start, start + count):
        step(number)
    assert len(live_tensors()) == tensors
    assert GlobalCounters.mem_used <= held
    # of each step a few records may wait until the device is asked next
    assert len(gc.get_objects()) - objects <= 1000 + 20 * (name == "functions") * count


def test_a_graph_goes_with_its_last_tensor() -> None:
    weights = parameters()
    held, tensors = GlobalCounters.mem_used, len(live_tensors())
    x = Tensor(np.ones((4, 8), np.float32)).realize()
    hidden = (x @ weights[0] + weights[1]).tanh()
    loss = (hidden @ weights[2]).square().mean()
    grads = loss.gradient(*weights)
    second = grads[0].square().sum().gradient(weights[0])[0]
    loss.realize(second, *grads)
    watched = [weakref.ref(t.uop) for t in (x, hidden, loss, second, *grads)]
    del x, hidden, loss, grads, second
    assert [reference() for reference in watched] == [None] * len(watched)
    assert (GlobalCounters.mem_used, len(live_tensors())) == (held, tensors)


def test_an_error_in_a_step_keeps_nothing() -> None:
    weights = parameters()
    held = GlobalCounters.mem_used

    def failing(x: Tensor) -> Tensor:
        y = (x @ weights[0]).realize()
        raise KeyError(y.shape)

    for _ in range(3):
        captured = TinyJit(failing)
        for _ in range(2):
            with pytest.raises(KeyError):
                captured(Tensor(np.ones((4, 8), np.float32)))
    del captured
    assert GlobalCounters.mem_used == held
