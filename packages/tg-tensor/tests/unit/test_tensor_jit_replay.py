"""TinyJit: results of replays, guards, containers, state, variables, pickling."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tg_tensor import Context, GlobalCounters, Tensor, TinyJit, UOp, Variable
from tg_tensor.jit.errors import JitError


def numbers(start: float, count: int = 4) -> Tensor:
    return Tensor((np.arange(count) + start).astype(np.float32)).realize()


def double(x: Tensor) -> Tensor:
    """A function that pickle finds by name."""
    return x * 2 + 1


def test_replays_give_fresh_results() -> None:
    jitted = TinyJit(double)
    results = [jitted(numbers(i)) for i in range(7)]
    for i, result in enumerate(results):
        np.testing.assert_array_equal(result.numpy(), (np.arange(4) + i) * 2 + 1)
    assert jitted.captured is not None
    assert jitted.captured.kernel_count == 1


def test_views_of_results_are_not_overwritten() -> None:
    jitted = TinyJit(double)
    for i in range(3):
        jitted(numbers(i))
    kept = jitted(numbers(5)).numpy()
    lazy = jitted(numbers(6))[1:] + 0
    for i in range(6):
        jitted(numbers(100 + i))
    np.testing.assert_array_equal(kept, (np.arange(4) + 5) * 2 + 1)
    np.testing.assert_array_equal(lazy.numpy(), ((np.arange(4) + 6) * 2 + 1)[1:])


def test_the_function_runs_twice_only() -> None:
    runs = []

    @TinyJit
    def f(x: Tensor) -> Tensor:
        runs.append(1)
        return x + 1

    for i in range(5):
        f(numbers(i))
    assert len(runs) == 2


def test_containers_and_keywords() -> None:
    @TinyJit
    def f(pair: tuple[Tensor, Tensor], scale: dict[str, Tensor]) -> dict[str, list[Tensor]]:
        first, second = pair
        return {"sum": [first + second], "scaled": [first * scale["by"], second]}

    for i in range(4):
        result = f((numbers(i), numbers(2 * i)), scale={"by": numbers(3)})
        np.testing.assert_array_equal(result["sum"][0].numpy(), np.arange(4) * 2 + 3 * i)
        np.testing.assert_array_equal(
            result["scaled"][0].numpy(), (np.arange(4) + i) * (np.arange(4) + 3)
        )
        np.testing.assert_array_equal(result["scaled"][1].numpy(), np.arange(4) + 2 * i)


def test_another_shape_is_captured_anew() -> None:
    jitted = TinyJit(double)
    for count in (4, 4, 4, 6, 6, 4, 6):
        x = numbers(1, count)
        np.testing.assert_array_equal(jitted(x).numpy(), (np.arange(count) + 1) * 2 + 1)


def test_another_dtype_is_captured_anew() -> None:
    jitted = TinyJit(double)
    for dtype in ("float32", "float32", "int32", "float32", "int32"):
        x = Tensor(np.arange(4).astype(dtype)).realize()
        result = jitted(x).numpy()
        assert result.dtype == dtype
        np.testing.assert_array_equal(result, np.arange(4) * 2 + 1)


def test_another_constant_is_captured_anew() -> None:
    @TinyJit
    def f(x: Tensor, factor: int) -> Tensor:
        return x * factor

    for factor in (2, 2, 2, 3, 2, 3):
        np.testing.assert_array_equal(f(numbers(1), factor).numpy(), (np.arange(4) + 1) * factor)


def test_a_constant_that_always_changes_is_refused() -> None:
    @TinyJit
    def f(x: Tensor, step: int) -> Tensor:
        return x + step

    def many_calls() -> None:
        for step in range(30):
            f(numbers(0), step)

    with pytest.raises(JitError, match=r"argument 1 was 1\d, now it is"):
        many_calls()


def test_aliasing_arguments_are_captured_apart() -> None:
    @TinyJit
    def f(x: Tensor, y: Tensor) -> Tensor:
        return x * 10 + y

    x, y = numbers(1), numbers(2)
    for pair in ((x, y), (x, y), (x, x), (y, x), (y, y)):
        expected = pair[0].numpy() * 10 + pair[1].numpy()
        np.testing.assert_array_equal(f(*pair).numpy(), expected)


def test_arguments_may_be_lazy_views_or_numbers() -> None:
    jitted = TinyJit(double)
    base = numbers(0, 8)
    for i in range(3):
        np.testing.assert_array_equal(jitted(base[:4] + i).numpy(), (np.arange(4) + i) * 2 + 1)
    np.testing.assert_array_equal(jitted(Tensor.ones(4)).numpy(), np.full(4, 3))
    for _ in range(2):
        np.testing.assert_array_equal(jitted(base[4:]).numpy(), (np.arange(4) + 4) * 2 + 1)


def test_state_is_written_by_replays() -> None:
    total = Tensor.zeros(4).contiguous().realize()

    @TinyJit
    def f(x: Tensor) -> Tensor:
        total.assign(total + x)
        return total * 2

    expected = np.zeros(4)
    for i in range(6):
        x = numbers(i)
        expected = expected + x.numpy()
        np.testing.assert_array_equal(f(x).numpy(), expected * 2)
    np.testing.assert_array_equal(total.numpy(), expected)


def test_arguments_are_written_by_replays() -> None:
    @TinyJit
    def f(x: Tensor) -> None:
        x.assign(x + 1).realize()

    for _ in range(4):
        x = numbers(0)
        f(x)
        np.testing.assert_array_equal(x.numpy(), np.arange(4) + 1)


def test_state_that_is_also_an_argument_is_read_right() -> None:
    weight = numbers(1)

    @TinyJit
    def f(x: Tensor) -> Tensor:
        return x * 100 + weight

    for x in (numbers(5), weight, numbers(7), weight, weight):
        np.testing.assert_array_equal(f(x).numpy(), x.numpy() * 100 + weight.numpy())


def test_written_state_as_an_argument() -> None:
    weight = numbers(1)

    @TinyJit
    def f(x: Tensor) -> Tensor:
        weight.assign(weight + 1)
        return x + weight

    for _ in range(3):
        f(numbers(0))
    # the argument is the weight itself, which the function has written when it is read
    expected = (weight.numpy() + 1) * 2
    np.testing.assert_array_equal(f(weight).numpy(), expected)


def test_variables() -> None:
    @TinyJit
    def f(x: Tensor, n: object) -> Tensor:
        return x[:n].sum()  # type: ignore[misc]

    x = numbers(1, 10)
    for count in (3, 5, 2, 9, 4):
        n = Variable("n", 1, 10).bind(count)
        assert f(x, n).item() == sum(range(1, count + 1))


def test_reading_while_capturing_is_refused() -> None:
    @TinyJit
    def f(x: Tensor) -> Tensor:
        return x * (x + 1).sum().item()

    f(numbers(0))
    with pytest.raises(JitError, match="reads a value"):
        f(numbers(0))


def test_an_error_while_capturing_leaves_nothing_behind() -> None:
    fails = [False]

    @TinyJit
    def f(x: Tensor) -> Tensor:
        if fails[0]:
            raise ValueError("stop")
        return x + 1

    x = numbers(0)
    f(x)
    fails[0] = True
    with pytest.raises(ValueError, match="stop"):
        f(x)
    fails[0] = False
    for _ in range(3):
        np.testing.assert_array_equal(f(x).numpy(), np.arange(4) + 1)
    np.testing.assert_array_equal(x.numpy(), np.arange(4))


@pytest.mark.parametrize("jit", [0, 1, 2])
def test_modes(jit: int) -> None:
    with Context(JIT=jit):
        jitted = TinyJit(double)
        for i in range(4):
            np.testing.assert_array_equal(jitted(numbers(i)).numpy(), (np.arange(4) + i) * 2 + 1)
        assert (jitted.captured is None) == (jit == 0)


def test_reported_replays(capsys: pytest.CaptureFixture[str]) -> None:
    jitted = TinyJit(double)
    for i in range(3):
        jitted(numbers(i))
    x = numbers(9)
    with Context(DEBUG=2):
        result = jitted(x)
    np.testing.assert_array_equal(result.numpy(), (np.arange(4) + 9) * 2 + 1)
    assert "GFLOPS" in capsys.readouterr().out


def test_counters_and_methods() -> None:
    class Model:
        def __init__(self) -> None:
            self.weight = numbers(1)

        @TinyJit
        def __call__(self, x: Tensor) -> Tensor:
            return x * self.weight

    model = Model()
    for i in range(3):
        np.testing.assert_array_equal(
            model(numbers(i)).numpy(), (np.arange(4) + i) * (np.arange(4) + 1)
        )
    x = numbers(0)
    GlobalCounters.reset()
    model(x)
    assert GlobalCounters.kernel_count == 1


def test_reset() -> None:
    jitted = TinyJit(double)
    for i in range(3):
        jitted(numbers(i))
    jitted.reset()
    assert jitted.captured is None
    np.testing.assert_array_equal(jitted(numbers(2)).numpy(), (np.arange(4) + 2) * 2 + 1)


def test_pickling_keeps_steps_and_state() -> None:
    weight = numbers(3)

    def f(x: Tensor) -> Tensor:
        return double(x) * weight

    jitted = TinyJit(f)
    for i in range(3):
        jitted(numbers(i))
    restored = pickle.loads(pickle.dumps(jitted))
    for i in range(3):
        x = numbers(i)
        expected = (x.numpy() * 2 + 1) * weight.numpy()
        np.testing.assert_array_equal(restored(x).numpy(), expected)
    with pytest.raises(JitError, match="no captured step fits"):
        restored(numbers(0, 5))


def test_prune_computes_constant_parts_once() -> None:
    weight = numbers(1)

    def f(x: Tensor) -> Tensor:
        return x + weight.exp().sum().realize()

    pruned, whole = TinyJit(f, prune=True), TinyJit(f)
    for i in range(4):
        x = numbers(i)
        expected = x.numpy() + np.exp(weight.numpy()).sum()
        np.testing.assert_allclose(pruned(x).numpy(), expected, rtol=1e-5)
        np.testing.assert_allclose(whole(x).numpy(), expected, rtol=1e-5)
    assert pruned.captured is not None
    assert whole.captured is not None
    assert pruned.captured.kernel_count < whole.captured.kernel_count


def test_a_cache_that_grows() -> None:
    """One captured step writes at a variable position and reads a variable length."""
    rng = np.random.default_rng(4)
    tokens = rng.standard_normal((6, 4)).astype(np.float32)
    cache = Tensor.zeros(6, 4).contiguous().realize()

    @TinyJit
    def step(token: Tensor, position: UOp) -> Tensor:
        cache[position : position + 1] = token * 2  # type: ignore[misc]
        return cache[: position + 1].sum(0)  # type: ignore[misc]

    for i in range(6):
        position = Variable("position", 0, 5).bind(i)
        found = step(Tensor(tokens[i : i + 1]).realize(), position).numpy()
        np.testing.assert_allclose(found, tokens[: i + 1].sum(0) * 2, rtol=1e-4, atol=1e-5)
    assert step.captured is not None
