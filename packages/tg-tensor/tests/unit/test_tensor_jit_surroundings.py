"""TinyJit: what a captured step reads from outside, leaves there, and costs."""

from __future__ import annotations

import gc
import pickle
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tg_tensor import Device, GlobalCounters, Tensor, TinyJit, UOp, Variable
from tg_tensor.jit.errors import JitError
from tg_uop import Ops

RANDOM = np.random.default_rng(0)
GLOBAL_WEIGHTS: dict[str, Tensor] = {}


def T(*shape: int) -> Tensor:
    return Tensor(RANDOM.standard_normal(shape).astype(np.float32)).realize()


def same(found: Tensor, expected: object) -> None:
    np.testing.assert_allclose(found.numpy(), np.asarray(expected), rtol=1e-5, atol=1e-5)


class Model:
    """An object with a weight."""

    def __init__(self, weight: float) -> None:
        self.weight = Tensor([weight]).realize()
        self.deeper = {"list": [types.SimpleNamespace(weight=self.weight)]}

    @TinyJit
    def __call__(self, x: Tensor) -> Tensor:
        return (x * self.weight).realize()

    @TinyJit
    def shifted(self, x: Tensor) -> Tensor:
        """Adds the weight."""
        return (x + self.weight).realize()


class Slotted:
    """An object without a dict."""

    __slots__ = ("__weakref__", "weight")

    def __init__(self, weight: Tensor) -> None:
        self.weight = weight


# *** Tensors from outside ***


def by_list() -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor], object]]:
    weights = [Tensor([1.0]).realize()]
    return lambda x: x * weights[0], lambda w: weights.__setitem__(0, w)


def by_attribute() -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor], object]]:
    model = Model(1.0)
    return lambda x: x * model.weight, lambda w: setattr(model, "weight", w)


def by_nested() -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor], object]]:
    model = Model(1.0)
    inner = model.deeper["list"][0]
    return lambda x: x * model.deeper["list"][0].weight, lambda w: setattr(inner, "weight", w)


def by_slot() -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor], object]]:
    model = Slotted(Tensor([1.0]).realize())
    return lambda x: x * model.weight, lambda w: setattr(model, "weight", w)


def by_variable() -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor], object]]:
    weight = Tensor([1.0]).realize()

    def change(other: Tensor) -> None:
        nonlocal weight
        weight = other

    return lambda x: x * weight, change


def by_global() -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor], object]]:
    GLOBAL_WEIGHTS["w"] = Tensor([1.0]).realize()
    return lambda x: x * GLOBAL_WEIGHTS["w"], lambda w: GLOBAL_WEIGHTS.__setitem__("w", w)


def by_default() -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor], object]]:
    holder = {"w": Tensor([1.0]).realize()}

    def f(x: Tensor, holder: dict[str, Tensor] = holder) -> Tensor:
        return x * holder["w"]

    return f, lambda w: holder.__setitem__("w", w)


def by_replace() -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor], object]]:
    weight = Tensor([1.0]).realize()
    return lambda x: x * weight, lambda w: weight.replace(w)


def by_lazy() -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor], object]]:
    weights = [Tensor([0.5]).realize() * 2]
    return lambda x: x * weights[0], lambda w: weights.__setitem__(0, w)


WAYS = [
    by_list,
    by_attribute,
    by_nested,
    by_slot,
    by_variable,
    by_global,
    by_default,
    by_replace,
    by_lazy,
]


@pytest.mark.parametrize("keep_old", [False, True])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_another_tensor_in_its_place_is_noticed(
    way: Callable[[], tuple[Callable[[Tensor], Tensor], Callable[[Tensor], object]]],
    keep_old: bool,
) -> None:
    function, change = way()
    jitted = TinyJit(lambda x: function(x).realize())
    kept = []
    for factor in (1.0, 10.0, 100.0):
        for _ in range(3):
            x = T(3)
            same(jitted(x), x.numpy() * factor)
        weight = Tensor([factor * 10]).realize()
        kept.append(weight if keep_old else None)
        change(weight)
    assert jitted.captured is not None


def test_a_weight_that_is_written_in_place_is_not_captured_again() -> None:
    model = Model(1.0)
    runs = []

    @TinyJit
    def f(x: Tensor) -> Tensor:
        runs.append(1)
        return (x * model.weight).realize()

    for factor in range(1, 7):
        model.weight.assign(Tensor([float(factor)]))
        x = T(3)
        same(f(x), x.numpy() * factor)
    assert len(runs) == 2


def test_a_tensor_that_the_step_replaces_itself_is_refused() -> None:
    state = types.SimpleNamespace(hidden=Tensor([1.0]).realize())

    @TinyJit
    def f(x: Tensor) -> Tensor:
        state.hidden = (state.hidden + x).realize()
        return state.hidden

    f(Tensor([1.0]))
    with pytest.raises(JitError, match=r"reads state\.hidden and puts another Tensor there"):
        f(Tensor([1.0]))


def test_methods_have_steps_of_each_instance() -> None:
    first, second = Model(2.0), Model(3.0)
    for _ in range(4):
        x = T(3)
        same(first(x), x.numpy() * 2)
        same(second(x), x.numpy() * 3)
        same(first.shifted(x), x.numpy() + 2)
        same(second.shifted(x), x.numpy() + 3)
    first.weight = Tensor([5.0])
    same(first(x), x.numpy() * 5)
    assert first.shifted.captured is not second.shifted.captured  # type: ignore[attr-defined]
    first.shifted.reset()  # type: ignore[attr-defined]
    assert first.shifted.captured is None  # type: ignore[attr-defined]
    assert Model.shifted.__doc__ == "Adds the weight."


def test_steps_of_an_instance_go_with_it() -> None:
    model = Model(2.0)
    for _ in range(4):
        model.shifted(T(3))
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None
    assert not any(k for k, (r, _) in Model.shifted._instances.items() if r() is None)  # type: ignore[attr-defined]


# *** writes ***


def test_writes_that_are_left_to_be_done_are_part_of_the_step() -> None:
    state = Tensor([1.0]).realize()

    @TinyJit
    def f(a: Tensor) -> None:
        state.assign(state + a)

    for _ in range(6):
        f(Tensor([1.0]).realize())
    same(state, [7.0])


@pytest.mark.parametrize("how", ["setitem", "assign", "shrink"])
def test_a_cache_grows_by_symbolic_positions(how: str) -> None:
    position = Variable("position", 0, 9)
    cache = Tensor.zeros(1, 10, 4).contiguous().realize()

    @TinyJit
    def f(k: Tensor, i: UOp) -> Tensor:
        if how == "setitem":
            cache[:, i : i + 1] = k
        elif how == "assign":
            cache[:, i : i + 1].assign(k).realize()  # type: ignore[misc]
        else:
            cache.shrink(((0, 1), (i, i + 1), (0, 4))).assign(k).realize()
        return (cache[:, : i + 1] * 2).sum(1).realize()  # type: ignore[misc]

    expected = np.zeros((1, 10, 4), np.float32)
    for p in range(10):
        k = T(1, 1, 4)
        expected[:, p : p + 1] = k.numpy()
        same(f(k, position.bind(p)), 2 * expected[:, : p + 1].sum(1))
    same(cache, expected)


@pytest.mark.parametrize("how", ["setitem", "assign"])
def test_parts_of_an_argument_are_written(how: str) -> None:
    @TinyJit
    def f(c: Tensor, k: Tensor) -> Tensor:
        if how == "setitem":
            c[1:3] = k
        else:
            c[1:3].assign(k).realize()
        return c.sum().realize()

    c = Tensor.zeros(5).contiguous().realize()
    for _ in range(5):
        k = T(2)
        same(f(c, k), k.numpy().sum())
        same(c, [0, *k.numpy(), 0, 0])


def test_attention_over_a_growing_cache_is_one_step() -> None:
    start = Variable("start", 0, 8)
    cache = Tensor.zeros(1, 2, 10, 4).contiguous().realize()
    array = np.zeros((1, 2, 10, 4), np.float32)

    @TinyJit
    def step(x: Tensor, p: UOp) -> Tensor:
        cache[:, :, p : p + 1, :].assign(x).realize()  # type: ignore[misc]
        keys = cache[:, :, : p + 1]  # type: ignore[misc]
        return x.scaled_dot_product_attention(keys, keys).realize()

    for i in range(9):
        x = T(1, 2, 1, 4)
        array[:, :, i : i + 1] = x.numpy()
        keys = array[:, :, : i + 1]
        scores = x.numpy() @ keys.swapaxes(-1, -2) / 2
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        same(step(x, start.bind(i)), powers / powers.sum(-1, keepdims=True) @ keys)
    assert len(step._steps) == 1


def test_gradients_accumulate_in_a_step() -> None:
    weight = Tensor([1.0, 2.0], requires_grad=True).realize()

    @TinyJit
    def f(x: Tensor) -> Tensor:
        (weight * x).sum().backward()
        assert weight.grad is not None
        return weight.grad.realize()

    total = np.zeros(2, np.float32)
    for _ in range(5):
        x = T(2)
        total = total + x.numpy()
        same(f(x), total)
        assert weight.grad is not None
        same(weight.grad, total)


# *** reading on the host, mistakes ***


@pytest.mark.parametrize(
    "read",
    [
        lambda a: a.sum().item(),
        lambda a: bool(a.sum() > 0),
        lambda a: a.numpy(),
        lambda a: a.tolist(),
        lambda a: float(a.sum()),
        lambda a: int(a.sum()),
        lambda a: a.data(),
        lambda a: np.asarray(a),
        lambda a: (a + 1).realize().numpy(),
    ],
)
def test_reads_on_the_host_are_refused_with_their_line(read: Callable[[Tensor], object]) -> None:
    @TinyJit
    def f(a: Tensor) -> Tensor:
        read(a)
        return a + 1

    x = T(3)
    same(f(x), x.numpy() + 1)
    with pytest.raises(JitError, match=r"(?s)on the host.*test_tensor_jit_surroundings\.py:\d+"):
        f(x)
    same(x + 1, x.numpy() + 1)


def test_an_exception_leaves_no_half_of_a_step() -> None:
    calls = []

    @TinyJit
    def f(a: Tensor) -> Tensor:
        a.assign(a + 1).realize()
        calls.append(1)
        if len(calls) == 2:
            raise ValueError("on purpose")
        return (a * 2).realize()

    x = Tensor([1.0, 2.0]).realize()
    f(x)
    with pytest.raises(ValueError, match="on purpose"):
        f(x)
    same(x, [3, 4])
    for i in range(3):
        same(f(x), np.array([8, 10]) + 2 * i)
    same(x, [6, 7])


# *** memory, threads, pickling, randomness ***


def test_memory_is_known_before_a_replay() -> None:
    @TinyJit
    def f(a: Tensor) -> Tensor:
        return (((a + 1).realize() * 2).realize() + 3).realize()

    for _ in range(2):
        f(T(1000))
    assert f.captured is not None
    memory = f.captured.memory
    assert memory.inputs == memory.outputs == 4000
    assert memory.state == 0
    assert memory.peak == memory.outputs + memory.scratch
    assert "peak" in str(memory)


def test_intermediates_can_be_given_back_between_replays() -> None:
    @TinyJit
    def f(a: Tensor) -> Tensor:
        return ((a + 1).realize() * 2).realize()

    kept = [f(T(1000)) for _ in range(4)][-1]
    value = kept.numpy().copy()
    assert f.captured is not None
    before = GlobalCounters.mem_used
    f.captured.free_intermediates()
    assert GlobalCounters.mem_used < before
    for _ in range(4):
        x = T(1000)
        same(f(x), (x.numpy() + 1) * 2)
    same(kept, value)


def test_the_calls_of_a_step_are_a_linear() -> None:
    f = TinyJit(lambda a: ((a + 1).realize() * 2).realize())
    for _ in range(2):
        f(T(3))
    assert f.captured is not None
    assert f.captured.linear.op is Ops.LINEAR
    assert [call.op for call in f.captured.linear.src] == [Ops.CALL] * f.captured.kernel_count


def test_threads_replay_one_step() -> None:
    @TinyJit
    def f(a: Tensor) -> Tensor:
        return ((a + 1).realize() * 2).realize()

    for _ in range(3):
        f(T(100))
    wrong = []

    def work(seed: int) -> None:
        numbers = np.random.default_rng(seed)
        for _ in range(50):
            array = numbers.standard_normal(100).astype(np.float32)
            if not np.allclose(f(Tensor(array)).numpy(), (array + 1) * 2):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_restored_step_has_variables_and_conditions() -> None:
    n = Variable("n", 1, 20)
    f = TinyJit(lambda a, i: a[:i].sum().realize())
    a = T(10)
    for i in range(1, 4):
        f(a, n.bind(i))
    g = pickle.loads(pickle.dumps(f))
    for i in range(1, 10):
        same(g(a, n.bind(i)), a.numpy()[:i].sum())
    with pytest.raises(ValueError, match="leave the axis"):
        g(a, n.bind(15))


def test_random_numbers_are_those_of_the_function_itself() -> None:
    def f(x: Tensor) -> list[Tensor]:
        return [
            Tensor.randn(3).realize(),
            Tensor.randint(4, low=0, high=100).realize(),
            x.dropout(0.5).realize(),
            Tensor.randperm(6).realize(),
        ]

    x = Tensor.ones(8).contiguous().realize()
    with Tensor.train():
        Tensor.manual_seed(3)
        plain = [[t.numpy() for t in f(x)] for _ in range(6)]
        jitted = TinyJit(f)
        for _ in range(2):
            Tensor.manual_seed(3)
            for expected in plain:
                for found, value in zip(jitted(x), expected, strict=True):
                    np.testing.assert_array_equal(found.numpy(), value)


def test_devices_are_guarded_and_several_captured() -> None:
    f = TinyJit(lambda a: (a + 1).realize())
    for device in ("CPU", "CPU", "CPU", "CPU:1", "CPU:1", "CPU"):
        x = T(4).to(device).realize()
        found = f(x)
        same(found, x.numpy() + 1)
        assert found.device == Device.canonicalize(device)
    g = TinyJit(lambda a, b: (a * b).sum(0).realize())
    devices = ("CPU", "CPU:1")
    for _ in range(4):
        a, b = T(4, 3), T(4, 3)
        found = g(a.shard(devices, 0).realize(), b.shard(devices, 0).realize())
        same(found, (a.numpy() * b.numpy()).sum(0))


def test_a_jitted_function_in_another() -> None:
    inner = TinyJit(lambda a: (a + 1).realize())
    outer = TinyJit(lambda a: (inner(a) * 2).realize())
    for _ in range(6):
        x = T(3)
        same(outer(x), (x.numpy() + 1) * 2)
        same(inner(x), x.numpy() + 1)


def test_an_empty_step_gives_what_it_was_given() -> None:
    f: TinyJit[Any, Any] = TinyJit(lambda a: (a, a.reshape(3, 1), 5, Tensor.zeros(2)))
    for _ in range(5):
        x = T(3)
        found = f(x)
        same(found[0], x.numpy())
        same(found[1], x.numpy().reshape(3, 1))
        assert found[2] == 5
        same(found[3], [0, 0])
