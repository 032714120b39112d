"""Small programs as users capture them: every call gives what NumPy gives, and what eager gives."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from tg_tensor import Tensor, TinyJit, checkpoint, function
from tg_tensor.errors import GradientError
from tg_tensor.jit.errors import JitError
from tg_tensor.realize import recorders
from tg_uop import Context

Array = npt.NDArray[np.float32]
Pair = namedtuple("Pair", "first second")


@dataclass(frozen=True)
class Batch:
    """What a loader gives."""

    data: Tensor
    scale: int
    weight: Tensor


class Layer:
    """A model whose call and method are captured."""

    def __init__(self, value: Array) -> None:
        self.weight = Tensor(value).realize()
        self.calls = Tensor.zeros(1).contiguous().realize()

    @TinyJit
    def __call__(self, x: Tensor) -> Tensor:
        self.calls.assign(self.calls + 1)
        return (x + self.weight).realize(self.calls)

    @TinyJit
    def product(self, x: Tensor) -> Tensor:
        return (x * self.weight).realize()


def twice(x: Tensor) -> Tensor:
    return (x * 2).realize()


inner = TinyJit(twice)
traced = function(lambda x, y: x * y + 1)
STATE = Tensor.zeros(3).contiguous().realize()


def loss_gradient(x: Tensor, y: Tensor) -> Tensor:
    return (x * y).exp().sum().gradient(x)[0]


def second_gradient(x: Tensor, y: Tensor) -> Tensor:
    (slope,) = (x * x * x * y).sum().gradient(x)
    return slope.sum().gradient(x)[0]


def in_place(x: Tensor, y: Tensor) -> Tensor:
    z = x.contiguous()
    z[1:] = y[1:] * 2
    z += 1
    return z


Program = tuple[Callable[[Tensor, Tensor], object], Callable[[Array, Array], object]]
PROGRAMS: dict[str, Program] = {
    "sum": (lambda x, y: x + y, lambda x, y: x + y),
    "realized": (lambda x, y: (x + y).realize(), lambda x, y: x + y),
    "tuple": (lambda x, y: (x + y, (x - y).realize()), lambda x, y: (x + y, x - y)),
    "nested": (
        lambda x, y: {"a": [x + 1, (y, None)], "n": 5, "s": "word"},
        lambda x, y: {"a": [x + 1, (y, None)], "n": 5, "s": "word"},
    ),
    "named": (lambda x, y: Pair(x + 1, y * 2), lambda x, y: Pair(x + 1, y * 2)),
    "input": (lambda x, y: (x, x + y), lambda x, y: (x, x + y)),
    "views": (
        lambda x, y: (x[1:], x.reshape(3, 1), y.flip(0), x[0], x.expand(2, 3)),
        lambda x, y: (x[1:], x.reshape(3, 1), y[::-1], x[0], np.stack([x, x])),
    ),
    "constants": (
        lambda x, y: (Tensor.ones(3), Tensor(5.0), Tensor([1, 2]), x.shape[0]),
        lambda x, y: (np.ones(3), np.float32(5), np.array([1, 2]), 3),
    ),
    "two of one": (lambda x, y: (lambda z: (z, z))(x * y), lambda x, y: (x * y, x * y)),
    "captured inside": (lambda x, y: inner(x) + inner(y), lambda x, y: 2 * x + 2 * y),
    "function inside": (lambda x, y: traced(traced(x, y), y), lambda x, y: (x * y + 1) * y + 1),
    "checkpoint": (lambda x, y: checkpoint(lambda z: z.exp() * y, x), lambda x, y: np.exp(x) * y),
    "gradient": (loss_gradient, lambda x, y: y * np.exp(x * y)),
    "second gradient": (second_gradient, lambda x, y: 6 * x * y),
    "writes": (in_place, lambda x, y: np.concatenate([x[:1], y[1:] * 2]) + 1),
    "devices": (lambda x, y: (x.to("CPU:1") * y.to("CPU:1")).to("CPU"), lambda x, y: x * y),
    "shards": (
        lambda x, y: (x.shard(("CPU:0", "CPU:1"), 0) * 2).sum().to("CPU") * y,
        lambda x, y: (x * 2).sum() * y,
    ),
    "data": (lambda x, y: x * Tensor([1.0, 2.0, 3.0]) + y, lambda x, y: x * [1, 2, 3] + y),
    "sorted": (lambda x, y: x.sort()[0] + y.cumsum(), lambda x, y: np.sort(x) + y.cumsum()),
    "list": (lambda x, y: [x * n for n in range(3)], lambda x, y: [x * n for n in range(3)]),
}


def equal(found: object, wanted: object) -> None:
    """The same structure with the same values."""
    if isinstance(found, Tensor):
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-5)
    elif isinstance(found, dict):
        assert isinstance(wanted, dict)
        assert found.keys() == wanted.keys()
        for key, value in found.items():
            equal(value, wanted[key])
    elif isinstance(found, list | tuple):
        assert isinstance(wanted, list | tuple)
        assert type(found) is type(wanted)
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            equal(one, other)
    else:
        assert found == wanted


@pytest.mark.parametrize("jit", [0, 1, 2])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_call_gives_what_numpy_gives(name: str, jit: int) -> None:
    """All results are looked at in the end: each call has its own."""
    program, reference = PROGRAMS[name]
    random = np.random.default_rng(0)
    captured = TinyJit(program)
    rows = []
    with Context(JIT=jit):
        for _ in range(4):
            x, y = (random.standard_normal(3).astype(np.float32) for _ in range(2))
            rows.append((captured(Tensor(x), Tensor(y)), reference(x, y)))
    for found, wanted in rows:
        equal(found, wanted)


def test_methods_know_their_instances() -> None:
    one, other = Layer(np.float32([1, 2, 3])), Layer(np.float32([4, 5, 6]))
    for number in range(5):
        x = np.full(3, number, np.float32)
        for layer in (one, other):
            weight = layer.weight.numpy()
            equal(layer(Tensor(x)), x + weight)
            equal(layer.product(Tensor(x)), x * weight)
    assert one.calls.item() == other.calls.item() == 5


def test_dataclasses_go_in_and_come_out() -> None:
    step = TinyJit(lambda b: Batch(b.data * b.weight * b.scale, b.scale + 1, b.weight.exp()))
    for number in range(6):
        x, w = np.float32([number, 1]), np.float32([0.5, number])
        found = step(Batch(Tensor(x), 1 + number % 2, Tensor(w)))
        equal(found.data, x * w * (1 + number % 2))
        equal(found.weight, np.exp(w))
        assert found.scale == 2 + number % 2


def test_arguments_in_every_order() -> None:
    step = TinyJit(lambda *args, scale=None, **named: sum(args) * (1 if scale is None else scale))
    x, y, z = Tensor([1.0]).realize(), Tensor([2.0]).realize(), Tensor([5.0]).realize()
    for _ in range(4):
        equal(step(x, y), [3.0])
        equal(step(x, y, z), [8.0])
        equal(step(x, y, scale=z), [15.0])
        equal(step(x, y, scale=None), [3.0])
        equal(step(x, y, scale=2), [6.0])
        equal(step(x, y, other=z, scale=2), [6.0])


@pytest.mark.parametrize("make", [TinyJit, function])
def test_the_same_arguments_in_other_places_are_another_call(
    make: Callable[[object], Callable[..., Tensor]],
) -> None:
    def program(*args: object, left: object = 0, right: object = 0) -> Tensor:
        first, second, third = args if len(args) == 3 else (*args, 1)
        return (first - second * 10 + third * 100 + left * 1000 - right * 5).realize()  # type: ignore[operator]

    def plain(*args: object, left: object = 0, right: object = 0) -> Tensor:
        first, second, third = args if len(args) == 3 else (*args, 1)
        return first - second * 10 + third * 100 + left * 1000 - right * 5  # type: ignore[operator]

    step = make(program if make is TinyJit else plain)
    x, y, z = Tensor([1.0]).realize(), Tensor([2.0]).realize(), Tensor([3.0]).realize()
    for _ in range(3):
        for args, named in (
            ((x, 7, y), {}),
            ((x, y, 7), {}),
            ((7, x, y), {}),
            ((x, y, z), {}),
            ((x, y), {"left": z}),
            ((x, y), {"right": z}),
            ((x, y), {"left": 7}),
            ((x, y), {"right": 7}),
        ):
            equal(step(*args, **named), plain(*args, **named).numpy())


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_an_exception_leaves_nothing_behind(failing: int) -> None:
    """Whichever call of the function fails, the next one is as if it had not been."""
    calls = []

    def function_that_fails_once(x: Tensor) -> Tensor:
        calls.append(x.shape)
        y = (x + 1).realize()
        if len(calls) == failing:
            raise KeyError("once")
        return y * 2

    step = TinyJit(function_that_fails_once)
    x = Tensor([3.0]).realize()
    failures = 0
    for number in range(6):
        size = 1 if number < 3 else 2
        try:
            equal(step(Tensor([float(number)] * size)), [2.0 * number + 2] * size)
        except KeyError:
            failures += 1
        assert not recorders.active
        equal(x * 2, [6.0])
    assert failures == 1


@pytest.mark.parametrize("draw", [Tensor.rand, Tensor.randn, lambda n: Tensor.randint(n, high=99)])
def test_random_numbers_are_those_of_eager(draw: Callable[[int], Tensor]) -> None:
    def program(x: Tensor) -> Tensor:
        with Tensor.train():
            return (x.dropout(0.5) + draw(16)).realize()

    drawn = []
    for run in (program, TinyJit(program)):
        Tensor.manual_seed(11)
        drawn.append([run(Tensor.ones(16)).numpy() for _ in range(5)])
        drawn[-1].append(Tensor.rand(2).numpy())
    equal([Tensor(d) for d in drawn[0]], drawn[1])
    assert len({d.tobytes() for d in drawn[1][:5]}) == 5


READS: dict[str, Callable[[Tensor], object]] = {
    "item": lambda x: x.sum().item(),
    "if": lambda x: x.sum() > 0 and x,
    "float": lambda x: float(x.sum()),
    "numpy": lambda x: x.numpy(),
    "tolist": lambda x: (x + 1).tolist(),
    "nonzero": lambda x: x.nonzero(),
    "mask": lambda x: x[x > 0],
    "repr of values": lambda x: str(x.tolist()),
}


@pytest.mark.parametrize("name", READS)
def test_reads_of_values_are_refused_at_their_line(name: str) -> None:
    read = READS[name]
    step = TinyJit(lambda x: (read(x), x + 1)[1])
    x = Tensor([1.0, 2.0]).realize()
    step(x)
    for _ in range(2):
        with pytest.raises(JitError, match=r"reads a value of shape .* on the host") as caught:
            step(x)
        assert Path(__file__).name in str(caught.value)
    equal(x + 1, [2.0, 3.0])


def test_a_step_runs_in_another_process(tmp_path: Path) -> None:
    weight = Tensor(np.float32([[1, 2], [3, 4]])).realize()
    count = Tensor.zeros(1).contiguous().realize()

    def program(x: Tensor) -> tuple[Tensor, Tensor]:
        count.assign(count + 1)
        return (x @ weight).relu(), count + 0

    step = TinyJit(program)
    for _ in range(3):
        found = step(Tensor([[1.0, -1.0]]))
    file = tmp_path / "step.pickle"
    file.write_bytes(pickle.dumps(step))
    code = (
        "import pickle, sys; from tg_tensor import Tensor\n"
        "step = pickle.load(open(sys.argv[1], 'rb'))\n"
        "for _ in range(2): a, b = step(Tensor([[1.0, 1.0]]))\n"
        "print(a.tolist(), b.tolist())\n"
    )
    command = [sys.executable, "-c", code, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[[4.0, 6.0]] [5.0]", done.stderr
    equal(found, (np.zeros((1, 2)), np.float32([3])))


def test_gradients_of_results_say_where_to_ask() -> None:
    weight = Tensor([2.0], requires_grad=True).realize()
    step = TinyJit(lambda x: (x * weight).realize())
    for _ in range(3):
        found = step(Tensor([3.0]))
    with pytest.raises(GradientError, match="call backward inside of the step"):
        found.sum().backward()
