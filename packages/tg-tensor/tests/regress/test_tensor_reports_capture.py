"""Captured steps, as people reported them: what they read from outside, what they hand out."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from tg_tensor import GlobalCounters, Tensor, TinyJit, UOp, Variable
from tg_tensor.jit.errors import JitError


def counting(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def held(data: object) -> Tensor:
    return Tensor(data).realize()


class Scale:
    """A layer of one weight."""

    def __init__(self, factor: float) -> None:
        self.weight = held(np.full(2, factor, np.float32))

    def __call__(self, x: Tensor) -> Tensor:
        return x * self.weight


class Model:
    """Two layers, one behind a name and one in a list."""

    def __init__(self) -> None:
        self.first, self.rest = Scale(1.0), [Scale(1.0)]

    def __call__(self, x: Tensor) -> Tensor:
        for layer in (self.first, *self.rest):
            x = layer(x)
        return x


def swap_name(model: Model) -> None:
    model.first = Scale(5.0)


def swap_entry(model: Model) -> None:
    model.rest[0] = Scale(5.0)


def swap_list(model: Model) -> None:
    model.rest = [Scale(5.0)]


def shadow(model: Model) -> None:
    model.__dict__["first"] = Scale(5.0)


@pytest.mark.parametrize("change", [swap_name, swap_entry, swap_list, shadow])
def test_a_layer_that_is_replaced_is_noticed(change: Callable[[Model], None]) -> None:
    """The captured step went on with the weights of the old layer, which were still alive."""
    model = Model()
    step = TinyJit(lambda x: model(x).realize())
    x = held([1.0, 2.0])
    old = (model.first, list(model.rest))
    for _ in range(3):
        assert step(x).tolist() == [1, 2]
    change(model)
    for _ in range(3):
        assert step(x).tolist() == [5, 10]
    model.first.weight.assign(model.first.weight * 2)
    assert step(x).tolist() == [10, 20]
    assert len(old) == 2


def activation(x: Tensor) -> Tensor:
    return x + 20


def test_a_function_that_is_replaced_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another function under the same global name was never called."""
    step = TinyJit(lambda x: activation(x).realize())
    for _ in range(3):
        assert step(held([1.0])).item() == 21
    monkeypatch.setitem(globals(), "activation", lambda x: x - 1)
    for _ in range(3):
        assert step(held([1.0])).item() == 0


def test_other_defaults_of_a_called_function_are_noticed() -> None:
    """Guarded by the code alone, an offset that is a default argument stayed what it was."""

    def shifted(x: Tensor, by: int = 1) -> Tensor:
        return x + by

    step = TinyJit(lambda x: shifted(x).realize())
    for _ in range(3):
        assert step(held([1.0])).item() == 2
    shifted.__defaults__ = (5,)
    assert step(held([1.0])).item() == 6


def test_closures_of_one_factory_are_apart() -> None:
    """Two functions of the same code that close over different operators."""

    def made(operator: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
        return TinyJit(lambda x, y: operator(x, y).realize())

    plus, times = made(Tensor.__add__), made(Tensor.__mul__)
    for _ in range(3):
        assert plus(held([6.0]), held([3.0])).item() == 9
        assert times(held([6.0]), held([3.0])).item() == 18


def test_a_list_that_is_argument_and_global_too() -> None:
    """Its entries are constants of the call, not of the first object."""
    numbers = [1, 2, 3]
    step = TinyJit(lambda given, x: (x + given[-1]).realize())
    for given in (numbers, numbers, numbers, [3, 2, 1], [1, 2], [1, 2, 3, 2], numbers):
        assert step(given, held([1.0])).item() == 1 + given[-1]


def test_names_and_values_that_are_special_to_floats() -> None:
    """An argument named inf, and NaN as an argument: captured once, not at each call."""
    step = TinyJit(lambda x, inf: (x * inf).realize())
    for _ in range(20):
        assert np.isnan(step(held([1.0]), float("nan")).item())
        assert step(held([2.0]), inf=3).item() == 6


def test_a_shifted_buffer_is_fed_back() -> None:
    """buf = step(buf, new) wrote over the part that it still had to read."""
    half = 2**12
    step = TinyJit(lambda buf, new: buf[half:].cat(new), prune=True)
    buf = Tensor.zeros(2 * half, dtype="int32").contiguous().realize()
    for i in range(6):
        buf = step(buf, held(np.full(half, i + 1, np.int32)))
        assert (buf[:half].numpy() == i).all()
        assert (buf[half:].numpy() == i + 1).all()


def test_a_result_and_a_part_of_it() -> None:
    """Both are returned, and the whole is the next argument."""

    def shifted(whole: Tensor, row: Tensor) -> tuple[Tensor, Tensor]:
        joined = whole[1:].cat(row)
        return joined.contiguous(), joined[:1].contiguous()

    step, whole, want = TinyJit(shifted, prune=True), held(counting(5, 4)), counting(5, 4)
    for i in range(6):
        row = np.full((1, 4), i, np.float32)
        want = np.concatenate([want[1:], row])
        whole, first = step(whole, held(row))
        np.testing.assert_array_equal(whole.numpy(), want)
        np.testing.assert_array_equal(first.numpy(), want[:1])


def test_a_window_that_the_step_moves_itself() -> None:
    """state.assign(state[1:].cat(new)) in a replay read what it had just written."""
    state, want = held(counting(4)), counting(4)

    @TinyJit
    def step(new: Tensor) -> Tensor:
        state.assign(state[1:].cat(new).contiguous())
        return (state * 2).realize()

    for i in range(6):
        want = np.append(want[1:], np.float32(10 + i))
        assert step(held([10.0 + i])).tolist() == (want * 2).tolist()
        assert state.tolist() == want.tolist()


def test_two_backward_calls_in_one_step() -> None:
    """A loss of each example and memory made by contiguous(): replays gave other gradients."""
    rng = np.random.default_rng(0)
    weight = held(rng.normal(size=(3, 2)).astype(np.float32))
    weight.requires_grad = True

    def step(x: Tensor, y: Tensor) -> Tensor:
        weight.grad = None
        scores = x.permute(0, 2, 1).contiguous().reshape(4, -1)[:, :3] @ weight
        loss = -scores.log_softmax().gather(1, y.reshape(-1, 1)).squeeze(1)
        loss.sum().backward()
        (loss * 0.5).sum().backward()
        assert weight.grad is not None
        return (weight.grad * 1).realize()

    captured = TinyJit(step)
    for _ in range(4):
        x = rng.normal(size=(4, 2, 3)).astype(np.float32)
        y = rng.integers(0, 2, 4).astype(np.int32)
        want = step(held(x), held(y)).numpy()
        np.testing.assert_allclose(captured(held(x), held(y)).numpy(), want, rtol=1e-5, atol=1e-6)


def test_a_draw_that_was_never_computed() -> None:
    """A random Tensor made before the first call and never realized froze those of the step."""
    pending = Tensor.rand(1)
    step = TinyJit(lambda: Tensor.rand(1))
    assert len({step().item() for _ in range(5)}) == 5
    assert 0 <= pending.item() < 1


def test_a_seed_between_replays_counts() -> None:
    """The same seed gives the same draws, captured or not."""
    step = TinyJit(lambda: Tensor.rand(3).realize())
    for _ in range(3):
        step()
    Tensor.manual_seed(5)
    first = step().tolist()
    Tensor.manual_seed(5)
    assert step().tolist() == first
    Tensor.manual_seed(5)
    assert Tensor.rand(3).tolist() == first


def test_the_shape_of_a_result_is_that_of_its_call() -> None:
    """A bound symbol kept the value of the captured call."""
    step = TinyJit(lambda x: x + 1)
    for i in range(1, 5):
        found = step(Tensor.ones(10).contiguous()[: Variable("i", 1, 10).bind(i)])
        bound = found.shape[0]
        assert isinstance(bound, UOp)
        assert bound.unbind()[1] == i
        assert found.tolist() == [2] * i


def test_two_symbols_in_one_step() -> None:
    """Their values were taken for one another."""
    step = TinyJit(lambda x: (x + 1).sum().realize())
    ones = held(np.ones((8, 8), np.float32))
    for i in range(1, 5):
        for k in range(1, 4):
            part = ones[: Variable("i", 1, 8).bind(i), : Variable("k", 1, 8).bind(k)]
            assert step(part).item() == 2 * i * k


def test_an_argument_written_and_not_returned() -> None:
    """w.assign(...) inside of a step was dropped by replays."""
    rng = np.random.default_rng(1)
    x, y = held(rng.normal(size=(16, 5)).astype(np.float32)), held(np.ones((16, 1), np.float32))

    def step(w: Tensor) -> Tensor:
        loss = (x @ w - y).square().mean()
        w.assign(w - 0.1 * loss.gradient(w)[0])
        return loss

    captured, plain = (Tensor.zeros(5, 1).contiguous().realize() for _ in range(2))
    jitted = TinyJit(step)
    for _ in range(5):
        jitted(captured)
        step(plain).realize()
        np.testing.assert_allclose(captured.numpy(), plain.numpy(), rtol=1e-5)


def test_constants_as_arguments() -> None:
    """Tensors without memory: another value at each call is another result."""
    step = TinyJit(lambda x: (x + 1).realize())
    for i in range(4):
        assert step(Tensor(float(i))).item() == i + 1
        assert step(Tensor.full((2,), float(i))).tolist() == [i + 1] * 2
        assert step(Tensor.zeros(0)).tolist() == []


def test_one_captured_function_feeds_another() -> None:
    """g(f(x)) with equal bodies, f(f(x)), and a captured one inside of another."""
    f, g = (TinyJit(lambda x: (x + 1).realize()) for _ in range(2))
    nested = TinyJit(lambda x: (f(x) + g(x + 1)).realize())
    for i in range(5):
        assert g(f(held([1.0 * i]))).item() == i + 2
        assert f(f(held([1.0 * i]))).item() == i + 2
        assert nested(held([1.0 * i])).item() == 2 * i + 3


def test_results_are_kept_and_written_by_their_owner() -> None:
    """Later replays neither change earlier results nor see what was written to them."""
    step = TinyJit(lambda x: [(x + i).realize() for i in range(2)])
    kept = [step(held(counting(3) * i)) for i in range(5)]
    kept[3][0].assign(kept[3][0] * 0 - 1).realize()
    last = step(held(counting(3)))
    for i, results in enumerate(kept):
        for k, found in enumerate(results):
            want = np.full(3, -1) if (i, k) == (3, 0) else counting(3) * i + k
            np.testing.assert_array_equal(found.numpy(), want)
    assert last[1].tolist() == [1, 2, 3]


@pytest.fixture
def pruned() -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """A weight, and a captured step whose constant part was computed once."""
    weight = held(np.ones(2, np.float32))
    step = TinyJit(lambda x: (x * (weight * 2 + 1)).realize(), prune=True)
    for _ in range(3):
        assert step(held([1.0, 2.0])).tolist() == [3, 6]
    return weight, step


def test_a_pruned_step_sees_what_is_assigned(
    pruned: tuple[Tensor, Callable[[Tensor], Tensor]],
) -> None:
    """What was computed once of a weight is computed again after a write from outside."""
    weight, step = pruned
    for i in range(4):
        weight.assign(weight * 0 + i).realize()
        assert step(held([1.0, 2.0])).tolist() == [2 * i + 1, 2 * (2 * i + 1)]


def test_a_pruned_step_sees_writes_to_parts(
    pruned: tuple[Tensor, Callable[[Tensor], Tensor]],
) -> None:
    """By index, not computed before the call."""
    weight, step = pruned
    for i in range(4):
        weight[0] = i
        assert step(held([1.0, 2.0])).tolist() == [2 * i + 1, 6]


def test_a_pruned_step_sees_what_another_step_writes(
    pruned: tuple[Tensor, Callable[[Tensor], Tensor]],
) -> None:
    """A captured update beside a captured use."""
    weight, step = pruned

    @TinyJit
    def update() -> Tensor:
        weight.assign(weight + 1).realize()
        return weight * 1

    for i in range(5):
        update()
        factor = 2 * (i + 2) + 1
        assert step(held([1.0, 2.0])).tolist() == [factor, 2 * factor]


def test_intermediates_given_back_twice() -> None:
    """free_intermediates() between replays, and twice in a row."""
    step = TinyJit(lambda x: ((x @ x).relu() @ x + 1).realize())
    x = held(np.eye(4, dtype=np.float32))
    want = step(x).numpy()
    step(x)
    for _ in range(3):
        assert step.captured is not None
        step.captured.free_intermediates()
        step.captured.free_intermediates()
        np.testing.assert_array_equal(step(x).numpy(), want)


def test_a_pickled_step_has_weights_of_its_own() -> None:
    """Changing the weights here does not change the copy; one without a capture says so."""
    weight = held(np.full((2, 2), 3, np.float32))
    step = TinyJit(lambda x: (x @ weight).realize())
    restored = pickle.loads(pickle.dumps(step))
    with pytest.raises(JitError):
        restored(held([[1.0, 1.0]]))
    for _ in range(2):
        step(held([[1.0, 1.0]]))
    restored = pickle.loads(pickle.dumps(step))
    weight.assign(weight * 0).realize()
    assert restored(held([[1.0, 1.0]])).tolist() == [[6, 6]]
    assert step(held([[1.0, 1.0]])).tolist() == [[0, 0]]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x + 1).realize() if x.sum() > 0 else (x - 1).realize(),
        lambda x: Tensor(x.numpy() * 2).realize(),
        lambda x: x[x > 0].realize(),
    ],
)
def test_choices_by_value_are_refused(function: Callable[[Tensor], Tensor]) -> None:
    """A branch, a copy to the host, a mask: each would be frozen. The error has the line."""
    step = TinyJit(function)
    step(held([1.0, 2.0]))
    with pytest.raises(JitError, match="test_tensor_reports_capture"):
        step(held([1.0, 2.0]))


def test_an_interrupted_capture_is_made_again() -> None:
    """An exception at the second call leaves a function that works."""
    calls = []

    @TinyJit
    def step(x: Tensor) -> Tensor:
        calls.append(1)
        if len(calls) == 2:
            raise KeyError("on purpose")
        return (x + 1).realize()

    step(held([1.0]))
    with pytest.raises(KeyError):
        step(held([1.0]))
    assert [step(held([1.0 * i])).item() for i in range(4)] == [1, 2, 3, 4]


def test_replays_make_no_objects_and_their_function_goes_with_its_memory() -> None:
    """Without the cycle collector: numpy() of a result, and a step that is dropped."""

    def serve() -> int:
        weight = held(np.ones(4096, np.float32))
        step = TinyJit(lambda x: (x * weight[:4]).realize())
        x = held(counting(4))
        for _ in range(5):
            step(x).numpy()
        before = len(gc.get_objects())
        for _ in range(30):
            step(x).numpy()
        return len(gc.get_objects()) - before

    gc.collect()
    used = GlobalCounters.mem_used
    gc.disable()
    try:
        made = serve()
    finally:
        gc.enable()
    gc.collect()
    assert made < 20
    assert GlobalCounters.mem_used - used < 4096
