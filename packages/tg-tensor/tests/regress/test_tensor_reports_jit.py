"""Captured steps, as people reported them: stale inputs, outputs that are shared, symbols."""

from __future__ import annotations

import gc
import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from tg_tensor import GlobalCounters, Tensor, TinyJit, Variable
from tg_tensor.jit.errors import JitError


def test_results_of_two_replays_are_two_tensors() -> None:
    """Comparing the results of two calls compares two values."""

    @TinyJit
    def step(x: Tensor) -> Tensor:
        return (x + 1).realize()

    first, second = Tensor([1.1]).realize(), Tensor([1.2]).realize()
    for _ in range(3):
        step(first)
        step(second)
    assert (step(first) == step(second)).tolist() == [False]
    held = [step(Tensor([float(i)]).realize()) for i in range(6)]
    assert [h.item() for h in held] == [1, 2, 3, 4, 5, 6]


def test_results_that_are_kept_or_dropped_are_the_same() -> None:
    """Whether the caller keeps the lazy result makes no difference."""

    @TinyJit
    def step(a: Tensor, b: Tensor) -> Tensor:
        return a + b

    a, b = Tensor([1, 2, 3]), Tensor([4, 5, 6])
    for _ in range(4):
        step(a, b)
    for _ in range(4):
        kept = step(a, b)
        assert kept.tolist() == [5, 7, 9]


@dataclass
class Pair:
    """A container of one's own."""

    left: Tensor
    right: Tensor


@pytest.mark.parametrize(
    "pack",
    [
        lambda a, b: [a, b],
        lambda a, b: (a, b),
        lambda a, b: {"a": a, "b": b},
        lambda a, b: [[a], (b, 3)],
        lambda a, b: Pair(a, b),
    ],
)
def test_tensors_inside_containers_are_inputs(pack) -> None:
    """Values in lists, tuples, dicts and records are read at each call."""

    def leaves(value) -> list[Tensor]:
        if isinstance(value, Tensor):
            return [value]
        if isinstance(value, dict):
            return [leaf for item in value.values() for leaf in leaves(item)]
        if isinstance(value, list | tuple):
            return [leaf for item in value for leaf in leaves(item)]
        if isinstance(value, Pair):
            return [value.left, value.right]
        return []

    @TinyJit
    def step(value) -> Tensor:
        a, b = leaves(value)
        return (a * 10 + b).realize()

    for i in range(6):
        got = step(pack(Tensor([i]).realize(), Tensor([i + 1]).realize())).item()
        assert got == i * 10 + i + 1


def test_a_captured_function_calls_a_captured_function() -> None:
    """Works, or says why not; never an assertion."""

    @TinyJit
    def inner(t: Tensor) -> Tensor:
        return (t * 3).realize()

    @TinyJit
    def outer(t: Tensor) -> Tensor:
        return (inner(t) + 5).realize()

    for i in range(6):
        assert outer(Tensor([i]).realize()).item() == 3 * i + 5


def test_reading_a_value_while_capturing_is_refused() -> None:
    """A branch on item() would be frozen."""

    @TinyJit
    def step(t: Tensor) -> Tensor:
        return (t + t.sum().item()).realize()

    step(Tensor([1.0, 2.0]).realize())
    with pytest.raises(JitError):
        step(Tensor([1.0, 3.0]).realize())


@pytest.mark.parametrize("which", ["same", "view", "swapped"])
def test_inputs_that_alias_each_other_differently(which: str) -> None:
    """Captured with two memories, called with one, and the other way round."""

    @TinyJit
    def step(a: Tensor, b: Tensor) -> Tensor:
        return (a * 2 + b).realize()

    a, b = Tensor([1.0, 2.0]).realize(), Tensor([10.0, 20.0]).realize()
    for _ in range(3):
        assert step(a, b).tolist() == [12.0, 24.0]
    match which:
        case "same":
            assert step(a, a).tolist() == [3.0, 6.0]
            assert step(a, b).tolist() == [12.0, 24.0]
        case "view":
            both = Tensor([1.0, 2.0, 3.0, 4.0]).realize()
            assert step(both[:2], both[2:]).tolist() == [5.0, 8.0]
            assert step(both[2:], both[1:3]).tolist() == [8.0, 11.0]
        case _:
            assert step(b, a).tolist() == [21.0, 42.0]


def test_the_output_is_fed_back_as_input() -> None:
    """A loop over its own result, and over a result from two steps ago."""

    @TinyJit
    def step(x: Tensor, y: Tensor) -> Tensor:
        return (x + y).realize()

    previous, current = Tensor([0]).realize(), Tensor([1]).realize()
    seen = []
    for _ in range(10):
        previous, current = current, step(previous, current)
        seen.append(current.item())
    assert seen == [1, 2, 3, 5, 8, 13, 21, 34, 55, 89]


def test_an_input_that_is_returned() -> None:
    """The argument itself, and the argument with another value, come back."""

    @TinyJit
    def step(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return x, (x + y).realize()

    for i in range(5):
        x, y = Tensor([float(i)]).realize(), Tensor([2.0]).realize()
        same, total = step(x, y)
        assert same.item() == i
        assert total.item() == i + 2


def test_state_written_in_place_is_written_at_each_replay() -> None:
    """A counter and a buffer that the step updates."""
    count = Tensor([0]).realize()
    memory = Tensor.zeros(4).contiguous().realize()

    @TinyJit
    def step(x: Tensor) -> Tensor:
        memory.assign(memory + x)
        count.assign(count + 1)
        return (memory.sum() + count).realize()

    total = 0.0
    for i in range(6):
        total += 4.0 * i
        assert step(Tensor.full((4,), float(i)).contiguous().realize()).item() == total + i + 1
    assert count.item() == 6
    assert memory.tolist() == [15.0] * 4


def test_an_input_written_in_place() -> None:
    """The memory of the argument of this call is written, not that of the capturing one."""

    @TinyJit
    def step(x: Tensor) -> Tensor:
        x += 1
        return (x * 2).realize()

    for i in range(5):
        x = Tensor([float(i)]).realize()
        assert step(x).item() == 2 * (i + 1)
        assert x.item() == i + 1


def test_random_numbers_differ_between_replays_and_repeat_with_the_seed() -> None:
    """As without capturing, also after a draw that was never computed."""

    def draw() -> Tensor:
        return Tensor.rand(3).realize()

    Tensor.manual_seed(5)
    plain = [draw().tolist() for _ in range(6)]
    Tensor.manual_seed(5)
    captured = TinyJit(draw)
    assert [captured().tolist() for _ in range(6)] == plain
    assert len({tuple(row) for row in plain}) == 6
    Tensor.rand(1)
    again = [captured().tolist() for _ in range(3)]
    assert len({tuple(row) for row in again + plain}) == 9


def test_dropout_masks_differ_between_replays() -> None:
    """A mask is not frozen by capturing."""

    @TinyJit
    def step(x: Tensor) -> Tensor:
        return x.dropout(0.5).realize()

    x = Tensor.ones(64).contiguous().realize()
    with Tensor.train():
        masks = {tuple(step(x).tolist()) for _ in range(6)}
    assert len(masks) == 6


@pytest.mark.parametrize("dtype", ["int32", "float32", "float16"])
def test_arguments_of_another_shape_or_dtype_are_captured_anew(dtype: str) -> None:
    """Never the kernels of the first shape on the memory of the second."""

    @TinyJit
    def step(x: Tensor) -> Tensor:
        return (x.sum() + 1).realize()

    for size in (3, 3, 3, 5, 5, 5, 3, 0, 1):
        assert step(Tensor(np.ones(size, dtype)).realize()).item() == size + 1


def test_numbers_are_part_of_what_is_captured() -> None:
    """Python arguments of another value, and those that compare equal but differ in type."""

    @TinyJit
    def step(x: Tensor, factor: float) -> Tensor:
        return (x * factor).realize()

    x = Tensor([2]).realize()
    for factor in (2, 2, 2, 3, 2.0, 2.0, 2.0, True, True, True, 0.0, -0.0):
        got, want = step(x, factor), x * factor
        assert got.item() == want.item()
        assert got.dtype == want.dtype


def test_a_bound_symbol_follows_the_call() -> None:
    """The shape of the result has the value of this call, not of the captured one."""

    @TinyJit
    def step(t: Tensor) -> Tensor:
        return (t + 1).realize()

    for i in range(1, 7):
        size = Variable("i", 1, 10).bind(i)
        out = step(Tensor(np.arange(10, dtype=np.float32)).realize()[:size])
        assert out.numpy().tolist() == [float(k + 1) for k in range(i)]


def test_symbolic_rows_permuted_and_flattened() -> None:
    """The strides of a symbolic result are those of this call."""

    @TinyJit
    def step(a: Tensor) -> Tensor:
        return (a + 1).T.flatten().realize()

    base = Tensor(np.arange(30, dtype=np.float32).reshape(3, 10)).realize()
    for i in range(1, 7):
        size = Variable("i", 1, 10).bind(i)
        got = step(base[:, :size]).numpy()
        assert np.array_equal(got, (base.numpy()[:, :i] + 1).T.flatten())


@pytest.mark.parametrize("name", ["sum", "mean", "max", "softmax", "var", "argmax", "cumsum"])
def test_reductions_over_a_symbolic_axis(name: str) -> None:
    """Only the bound part of the axis counts."""
    data = np.random.default_rng(0).normal(size=(3, 10)).astype(np.float32)
    base = Tensor(data).realize()

    @TinyJit
    def step(a: Tensor) -> Tensor:
        return getattr(a, name)(1).realize()

    for i in (2, 3, 4, 7, 10):
        got = step(base[:, : Variable("n", 1, 10).bind(i)]).numpy()
        want = getattr(Tensor(data[:, :i].copy()), name)(1).numpy()
        assert np.allclose(got, want, atol=1e-5)


def test_matmul_of_symbolic_prefixes() -> None:
    """Attention over a cache that grows: queries against the first n keys."""
    keys = np.random.default_rng(0).normal(size=(10, 4)).astype(np.float32)
    base = Tensor(keys).realize()

    @TinyJit
    def step(q: Tensor, k: Tensor) -> Tensor:
        return ((q @ k.T).softmax() @ k).realize()

    for i in range(1, 11):
        q = Tensor(keys[:2] + i).realize()
        part = keys[:i]
        scores = (keys[:2] + i) @ part.T
        weights = np.exp(scores - scores.max(1, keepdims=True))
        want = weights / weights.sum(1, keepdims=True) @ part
        got = step(q, base[: Variable("n", 1, 10).bind(i)]).numpy()
        assert np.allclose(got, want, rtol=1e-4, atol=1e-5)


def test_symbols_out_of_their_range_are_refused() -> None:
    """Binding names the bounds."""
    with pytest.raises(ValueError, match="10"):
        Variable("i", 1, 10).bind(11)
    with pytest.raises(ValueError, match="1"):
        Variable("i", 1, 10).bind(0)


def test_a_training_step_captured_equals_the_plain_one() -> None:
    """Gradients, in-place updates and the loss of each step."""
    data = np.random.default_rng(1).normal(size=(8, 3)).astype(np.float32)

    def train(capture: bool) -> list[float]:
        w = Tensor(np.ones((3, 1), np.float32), requires_grad=True).realize()

        def step(x: Tensor) -> Tensor:
            w.grad = None
            loss = (x @ w - 1).square().mean()
            loss.backward()
            w.assign(w.detach() - 0.1 * w.grad)
            Tensor.realize(loss, w)
            return loss

        run = TinyJit(step) if capture else step
        return [run(Tensor(data + i * 0.1).realize()).item() for i in range(6)]

    assert np.allclose(train(True), train(False), rtol=1e-5)


def test_results_of_replays_are_freed() -> None:
    """A thousand calls hold no more memory than ten."""

    @TinyJit
    def step(x: Tensor) -> Tensor:
        return (x @ x).realize()

    x = Tensor.ones(32, 32).contiguous().realize()
    for _ in range(10):
        step(x)
    gc.collect()
    before = GlobalCounters.mem_used
    for _ in range(300):
        step(x)
    gc.collect()
    assert GlobalCounters.mem_used <= before + 2 * x.nbytes()


def test_a_captured_function_without_work_returns() -> None:
    """Nothing to launch is no failure."""

    @TinyJit
    def step(x: Tensor) -> Tensor:
        return x

    for i in range(4):
        assert step(Tensor([i]).realize()).item() == i


def test_a_captured_step_survives_pickling() -> None:
    """Loaded again, it runs on other values."""
    step = TinyJit(double_and_add)
    for i in range(3):
        step(Tensor([i, 1]).realize())
    loaded = pickle.loads(pickle.dumps(step))
    assert loaded(Tensor([7, 2]).realize()).tolist() == [15, 5]


def double_and_add(x: Tensor) -> Tensor:
    """2 x + 1; at module level, as pickle wants it."""
    return (x * 2 + 1).realize()


def test_an_error_inside_leaves_the_function_usable() -> None:
    """An exception at the capturing call is not remembered as a capture."""
    broken = True

    @TinyJit
    def step(x: Tensor) -> Tensor:
        out = x + 1
        if broken:
            raise KeyError("on purpose")
        return out.realize()

    for _ in range(3):
        with pytest.raises(KeyError):
            step(Tensor([1]).realize())
    broken = False
    for i in range(4):
        assert step(Tensor([i]).realize()).item() == i + 1


def test_methods_of_two_objects_do_not_share_a_capture() -> None:
    """A decorated method reads the weights of its own object."""

    class Layer:
        def __init__(self, weight: float) -> None:
            self.weight = Tensor([weight]).realize()

        @TinyJit
        def __call__(self, x: Tensor) -> Tensor:
            return (x * self.weight).realize()

    two, three = Layer(2.0), Layer(3.0)
    for i in range(5):
        x = Tensor([float(i)]).realize()
        assert two(x).item() == 2 * i
        assert three(x).item() == 3 * i


def test_weights_replaced_between_calls_are_read_anew() -> None:
    """Loading a state dict into a captured model changes what it computes."""
    weight = Tensor([2.0]).realize()

    @TinyJit
    def step(x: Tensor) -> Tensor:
        return (x * weight).realize()

    x = Tensor([5.0]).realize()
    for _ in range(3):
        assert step(x).item() == 10.0
    weight.assign(Tensor([7.0])).realize()
    assert step(x).item() == 35.0
