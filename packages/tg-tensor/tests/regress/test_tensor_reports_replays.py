"""Kinds of wrong results that users of other libraries have reported: captured steps, writes around
views, variables with several values, shards, threads and pickles. Each is right here.
"""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable

import numpy as np
import pytest
from tg_tensor import Tensor, TinyJit, Variable, dtypes
from tg_tensor.schedule.errors import BindingError

DEVICES = tuple(f"CPU:{i}" for i in range(4))


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape) + sum(shape)).standard_normal(shape).astype(np.float32)


def both_ways(step: Callable[..., Tensor]) -> list[Callable[..., Tensor]]:
    return [step, TinyJit(step)]


# *** captured steps ***


@pytest.mark.parametrize("prune", [False, True])
def test_a_buffer_that_shifts_through_a_step(prune: bool) -> None:
    """The output of one call is the input of the next, at another place."""
    step = TinyJit(lambda held, new: held[64:].cat(new), prune=prune)
    held = Tensor.zeros(128, dtype=dtypes.int).contiguous().realize()
    wanted = np.zeros(128, np.int32)
    for number in range(6):
        new = np.full(64, number + 1, np.int32)
        held, wanted = step(held, Tensor(new)), np.concatenate([wanted[64:], new])
        np.testing.assert_array_equal(held.numpy(), wanted)


def test_results_of_one_step_are_compared() -> None:
    step = TinyJit(lambda x: (x + 1).realize())
    for number in range(5):
        first, second = step(Tensor([1.0 + number])), step(Tensor([1.5 + number]))
        assert (first == second).tolist() == [False]


def test_an_input_that_is_the_output() -> None:
    step = TinyJit(lambda x, y: (x.assign(x + y).realize(), (x * 2).realize()))
    x = Tensor([1.0]).realize()
    for number in range(4):
        same, twice = step(x, Tensor([1.0]).realize())
        assert (same.item(), twice.item()) == (2 + number, 2 * (2 + number))


def test_two_values_change_places_in_a_step() -> None:
    a, b = Tensor([1.0, 2.0]).realize(), Tensor([3.0, 4.0]).realize()

    @TinyJit
    def swap() -> Tensor:
        kept = a + 0
        a.assign(b)
        b.assign(kept)
        return (a + b).realize()

    for _ in range(5):
        swap()
    assert (a.tolist(), b.tolist()) == ([3, 4], [1, 2])


def test_state_that_the_first_call_makes() -> None:
    held: dict[str, Tensor] = {}

    @TinyJit
    def step(x: Tensor) -> Tensor:
        if "cache" not in held:
            held["cache"] = Tensor.zeros(2, 3).contiguous().realize()
        held["cache"][0:1] = x
        return (x * held["cache"][0:1]).realize()

    for number in range(4):
        x = numbers(1, 3) + number
        np.testing.assert_allclose(step(Tensor(x).realize()).numpy(), x * x, rtol=1e-6)
        np.testing.assert_array_equal(held["cache"][0:1].numpy(), x)


def test_a_function_that_fails_once_is_captured_later() -> None:
    runs = []

    @TinyJit
    def step(x: Tensor) -> Tensor:
        runs.append(1)
        if len(runs) == 2:
            raise KeyError("once")
        return (x + 1).realize()

    x = Tensor([1.0]).realize()
    step(x)
    with pytest.raises(KeyError):
        step(x)
    assert [step(Tensor([float(n)]).realize()).item() for n in range(4)] == [1, 2, 3, 4]


def test_the_same_tensor_for_two_arguments() -> None:
    step = TinyJit(lambda a, b: (a + b * 2).realize())
    x, y = Tensor([5.0]).realize(), Tensor([2.0]).realize()
    found = [step(*pair).item() for pair in ((x, y), (x, y), (x, y), (x, x), (y, x))]
    assert found == [9, 9, 9, 15, 12]


# *** writes around views ***


def test_a_view_in_another_dtype_is_read_before_the_write() -> None:
    def step(x: Tensor) -> Tensor:
        y = x.bitcast(dtypes.int) * 2 + 4
        x[:, 2:5] = 2
        return y.bitcast(dtypes.long)

    start = np.arange(-12, 12, dtype=np.int64).reshape(4, 6)
    for run in both_ways(step):
        for _ in range(3):
            x = Tensor(start.copy()).realize()
            wanted = (start.view(np.int32) * 2 + 4).view(np.int64)
            np.testing.assert_array_equal(run(x).numpy(), wanted)
            assert x.numpy()[:, 2:5].tolist() == [[2] * 3] * 4


def test_a_copy_holds_what_was_there_before_the_source_changed() -> None:
    def step(target: Tensor, source: Tensor) -> Tensor:
        target[0:, :] = source[0:, :]
        source += 1
        return source

    for run in both_ways(step):
        for _ in range(3):
            target, source = Tensor.zeros(3, 4).contiguous().realize(), Tensor(numbers(3, 4))
            run(target, source.realize())
            np.testing.assert_array_equal(target.numpy(), numbers(3, 4))
            np.testing.assert_array_equal(source.numpy(), numbers(3, 4) + 1)


def test_an_update_that_reads_elsewhere_after_a_scatter() -> None:
    def step(x: Tensor) -> Tensor:
        x[Tensor.arange(4)] = x * 2
        return x.assign(x + x.flip(0))

    wanted = numbers(4, 8) * 2
    wanted = wanted + wanted[::-1]
    for run in both_ways(step):
        for _ in range(3):
            x = Tensor(numbers(4, 8)).realize()
            np.testing.assert_allclose(run(x).numpy(), wanted, rtol=1e-6)
            np.testing.assert_allclose(x.numpy(), wanted, rtol=1e-6)


def test_updates_of_several_values_at_once() -> None:
    def step(x: Tensor, y: Tensor) -> Tensor:
        x.assign(x + x.flip(0))
        return y.assign(y + x)

    n = numbers(6, 6)
    for run in both_ways(step):
        for _ in range(3):
            x, y = Tensor(n).realize(), Tensor(n).realize()
            np.testing.assert_allclose(run(x, y).numpy(), n * 2 + n[::-1], rtol=1e-5)
            np.testing.assert_allclose(x.numpy(), n + n[::-1], rtol=1e-6)


def test_a_changed_copy_survives_what_clears_its_source() -> None:
    def step(x: Tensor) -> Tensor:
        y = x.clone()
        y[1:3] = 7
        x.zero_()
        return y

    wanted = numbers(4, 3)
    wanted[1:3] = 7
    for run in both_ways(step):
        for _ in range(3):
            x = Tensor(numbers(4, 3)).realize()
            np.testing.assert_array_equal(run(x).numpy(), wanted)
            assert not x.numpy().any()


def test_writing_to_a_result_leaves_the_input() -> None:
    def step(x: Tensor) -> Tensor:
        y = x * 1
        y[0] = 5
        x.assign(y)
        return y.clone()

    for run in both_ways(step):
        for _ in range(3):
            x = Tensor(numbers(4)).realize()
            result = run(x)
            result.mul_(0.5)
            result.realize()
            assert x.tolist() == [5, *numbers(4)[1:].tolist()]


# *** variables with several values ***


def test_items_written_at_several_values_of_a_variable() -> None:
    i, j = Variable("i", 0, 3), Variable("j", 0, 5)
    x, wanted = Tensor.zeros(4, 6).contiguous().realize(), np.zeros((4, 6))
    for row, column in ((0, 1), (2, 3), (3, 5)):
        x[i.bind(row), j.bind(column)] = row + column + 1
        wanted[row, column] = row + column + 1
    np.testing.assert_array_equal(x.numpy(), wanted)
    x[i.bind(1) : i.bind(1) + 2] += 1
    wanted[1:3] += 1
    np.testing.assert_array_equal(x.numpy(), wanted)


def test_values_that_wait_with_other_values_of_a_variable() -> None:
    n, data = Variable("n", 0, 5), numbers(6)
    x = Tensor(data).realize()
    first, second = x[: n.bind(2)].sum(), x[: n.bind(3)].sum()
    x[n.bind(0)] = 7
    Tensor.realize(x, second)
    assert x[0].item() == 7
    np.testing.assert_allclose([first.item(), second.item()], [data[:2].sum(), data[:3].sum()])


def test_one_expression_has_one_value_of_a_variable() -> None:
    n, x = Variable("n", 1, 5), Tensor(numbers(6)).realize()
    with pytest.raises(BindingError, match="'n' is bound to 2 and 3"):
        (x[: n.bind(2)].sum() + x[: n.bind(3)].sum()).realize()


def test_the_shape_of_a_result_follows_the_variable() -> None:
    n, step = Variable("n", 1, 8), TinyJit(lambda x: x + 1)
    x = Tensor(numbers(8)).realize()
    for size in (1, 4, 2, 8):
        found = step(x[: n.bind(size)])
        assert found.shape[0].bound_value == size
        np.testing.assert_array_equal(found.numpy()[:size], numbers(8)[:size] + 1)


# *** shards, threads, pickles ***


def test_chains_of_pieces_over_shards() -> None:
    """Pieces padded and taken apart again, two such chains added."""

    def padded(x: Tensor) -> Tensor:
        return Tensor.cat(*(x[2 * k : 2 * k + 2].pad(((1, 2),)) for k in range(4)))

    def compact(x: Tensor) -> Tensor:
        return Tensor.cat(*(x[5 * k + 1 : 5 * k + 3] for k in range(4)))

    def step(x: Tensor, z: Tensor) -> Tensor:
        return (compact(padded(x) * z) + compact(padded(compact(z)))).realize()

    x, z = numbers(8), numbers(20)
    kept = np.concatenate([z[5 * k + 1 : 5 * k + 3] for k in range(4)])
    for run in both_ways(step):
        for _ in range(3):
            shards = (Tensor(a).shard(DEVICES, 0).realize() for a in (x, z))
            np.testing.assert_allclose(run(*shards).numpy(), x * kept + kept, rtol=1e-6)


def test_a_value_cut_elsewhere_keeps_the_cut_of_what_it_is_assigned_to() -> None:
    for axis in (None, 0):
        x = Tensor(numbers(4, 4)).shard(DEVICES[:2], axis).realize()
        x.assign(Tensor(numbers(4, 4) * 2).shard(DEVICES[:2], 1)).realize()
        assert x.uop.axis == axis
        np.testing.assert_array_equal(x.numpy(), numbers(4, 4) * 2)


def test_one_step_in_many_threads() -> None:
    weights = Tensor(numbers(8, 8)).realize()
    step = TinyJit(lambda x: (x @ weights).sum(0).realize())
    wrong: list[str] = []

    def work(number: int) -> None:
        for turn in range(8):
            x = numbers(4, 8) + number + 10 * turn
            found = step(Tensor(x).realize()).numpy()
            if not np.allclose(found, (x @ numbers(8, 8)).sum(0), rtol=1e-3, atol=1e-3):
                wrong.append(f"{number}, {turn}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_pickles_and_copies_stand_alone() -> None:
    step = TinyJit(lambda x, y: (x @ y + 1).realize())
    a, b = Tensor(numbers(4, 4)).realize(), Tensor(numbers(4, 4) + 1).realize()
    for _ in range(3):
        step(a, b)
    loaded = pickle.loads(pickle.dumps(step))
    np.testing.assert_array_equal(loaded(b, a).numpy(), step(b, a).numpy())
    cut = pickle.loads(pickle.dumps(Tensor(numbers(4)).shard(DEVICES[:2], 0)))
    assert cut.uop.axis == 0
    twin = copy.deepcopy(a)
    twin.assign(0).realize()
    np.testing.assert_array_equal(a.numpy(), numbers(4, 4))
