"""Writes and what they reach, as people reported them: stale readers, lost and doubled writes."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import threading
from collections.abc import Callable

import numpy as np
import pytest
from tg_runtime import Device
from tg_tensor import Context, GlobalCounters, Tensor, Variable, dtypes


def counting(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def held(data: object) -> Tensor:
    return Tensor(data).realize()


@pytest.fixture(params=["CPU", "unoptimized", "PYTHON"])
def _mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> object:
    """The device, with and without optimizations, and the device that defines what is right."""
    if request.param == "PYTHON":
        monkeypatch.setattr(Device, "DEFAULT", "PYTHON")
    with Context(NOOPT=int(request.param == "unoptimized")):
        yield


def source_first(x):
    """dst[:] = src[:]; src += 1 copied what src became."""
    y = x[:2]
    x[2:4] = y
    y += 1
    return [x]


def mirror_after_index(x):
    """x[i] = 2 * x and then x += the mirror image, in one kernel, read what it wrote."""
    x[[0, 1, 2, 3]] = x * 2.0
    x += x[::-1] * 1 if isinstance(x, np.ndarray) else x.flip(0) * 1
    return [x]


def doubled_rows(x):
    """x[[0, 0]] += x[[0, 0]] doubled twice."""
    x[[0, 0]] += x[[0, 0]] * 1
    return [x]


def own_positions(x):
    """The index is the memory that is written."""
    index = (x[:, 0] / 3).astype(np.int32) if isinstance(x, np.ndarray) else x[:, 0].div(3).int()
    x[index] = x[::-1] * 1
    return [x]


def mask_of_itself(x):
    """x[x > 5] *= 2, then the same as a sum."""
    x[x > 5] *= 2
    x[x > 5] += x[x > 5]
    x[x < 3] = x[x < 3] + x[1, 1]
    return [x]


def row_over_itself(x):
    """x[1, 1:3] = x[1, 0:2] went on with what it had written."""
    x[1, 1:3] = x[1, 0:2] * 1
    return [x]


def rows_one_by_one(x):
    """for row in x: row += 1 wrote copies."""
    for row in x:
        row += 1
    return [x]


def across(x):
    """Writes through x.T and through a reshape of it."""
    x.T[0] = 7
    x.T[1, 1:] = 9
    x.reshape(-1)[5] = 11
    return [x]


def matmul_into_itself(x):
    """x[:3] = x[1:] @ y for y of x."""
    x[:3] = x[1:] @ (x[:3] + 0)
    return [x]


def running_sum(x):
    """x becomes its own running sum."""
    x[:] = x.cumsum(0)
    return [x]


WRITES = [
    source_first,
    mirror_after_index,
    doubled_rows,
    own_positions,
    mask_of_itself,
    row_over_itself,
    rows_one_by_one,
    across,
    matmul_into_itself,
    running_sum,
]


@pytest.mark.usefixtures("_mode")
@pytest.mark.parametrize("program", WRITES, ids=lambda program: program.__name__)
def test_programs_of_writes(program: Callable[[object], list[object]]) -> None:
    """Each docstring of a program says what was reported; NumPy says what is right."""
    want = program(counting(4, 3))
    found = program(held(counting(4, 3)))
    for got, expected in zip(found, want, strict=True):
        np.testing.assert_array_equal(got.numpy(), expected)  # type: ignore[attr-defined]


@pytest.mark.usefixtures("_mode")
def test_a_reader_from_before_a_write_through_a_view() -> None:
    """Realized together with the write it read the element that was written."""
    x = Tensor([1, 2], dtype=dtypes.int32).contiguous().realize()
    reader = x + 10
    x[:1].assign(Tensor([9], dtype=dtypes.int32))
    Tensor.realize(reader, x)
    assert reader.tolist() == [11, 12]
    assert x.tolist() == [9, 2]


@pytest.mark.usefixtures("_mode")
def test_two_that_take_what_the_other_was() -> None:
    """a takes b + 1 while b takes the former a + 1: no cycle, both read first."""
    a, b = held(np.ones(4, np.float32)), held(np.full(4, 3, np.float32))
    former = a + 1
    a.assign(b + 1)
    b.assign(former)
    Tensor.realize(a, b)
    assert a.tolist() == [4] * 4
    assert b.tolist() == [2] * 4


def test_equal_constants_have_memory_of_their_own() -> None:
    """Two contiguous() of equal zeros were one buffer."""
    a, b = Tensor.zeros(1).contiguous(), Tensor.full((1,), 0.0).contiguous()
    a[0] = 2
    assert a.tolist() == [2]
    assert b.tolist() == [0]


def test_a_replaced_tensor_keeps_the_value_it_took() -> None:
    """old.replace(a) and a write to a: old is what a was."""
    a, old = held(np.ones(4, np.float32)), Tensor.zeros(4)
    old.replace(a)
    a.assign(Tensor.full((4,), 2.0))
    assert (a + old).tolist() == [3] * 4


def test_a_detached_value_is_that_of_its_time_and_writes_through() -> None:
    """y = x.detach() and a write to x: y keeps its value; a write to y is one to x."""
    x = held(counting(3))
    y = x.detach()
    x.assign(x + 1)
    assert y.tolist() == [0, 1, 2]
    y = x.detach()
    y.assign(y * 10)
    assert x.tolist() == [10, 20, 30]


@pytest.mark.parametrize("offset", [0, 1, -1, 2, -2])
def test_a_diagonal_is_a_view(offset: int) -> None:
    """x.diagonal().add_(10) changed nothing but the diagonal itself."""
    x, want = held(counting(3, 4)), counting(3, 4)
    rows, columns = np.nonzero(np.eye(3, 4, offset))
    part = x.diagonal(offset)
    np.testing.assert_array_equal(part.numpy(), want.diagonal(offset))
    part.add_(10)
    want[rows, columns] += 10
    np.testing.assert_array_equal(x.numpy(), want)
    batch = held(counting(2, 3, 3))
    batch.diagonal(0, 1, 2)[1] = -1
    assert batch.numpy()[1].diagonal().tolist() == [-1, -1, -1]
    assert batch.numpy()[0].tolist() == counting(3, 3).tolist()


def test_momentum_is_not_overwritten_by_what_comes_after() -> None:
    """m.lerp_(g) was freed early and held another value at the end of the step."""
    m, g, p = held(counting(8)), held(counting(8) + 3), held(counting(8))
    m.lerp_(g, 0.05)
    p.add_(m, alpha=-0.01)
    later = (g * 2).realize()
    np.testing.assert_allclose(m.numpy(), counting(8) + 0.15, rtol=1e-6)
    np.testing.assert_allclose(p.numpy(), counting(8) - 0.01 * m.numpy(), rtol=1e-6)
    assert later.shape == (8,)


def test_a_clone_that_is_returned_is_no_alias() -> None:
    """A copy of a value that was written was taken for the value itself."""
    x = held(counting(5))
    updated = x.clone()
    updated[1:3] = 5
    out = updated.clone()
    out.mul_(2)
    assert x.tolist() == [0, 1, 2, 3, 4]
    assert updated.tolist() == [0, 5, 5, 3, 4]
    assert out.tolist() == [0, 10, 10, 6, 8]


def test_a_node_tells_whether_it_is_computed() -> None:
    """uop.realized is the memory, or None."""
    x = Tensor(counting(2, 3)) + 1
    assert x.uop.realized is None
    x.realize()
    assert x.uop.realized is not None
    assert x.uop.base.realized is not None
    assert x.T.uop.realized is x.uop.base.realized
    assert (x + 1).uop.realized is None
    assert Tensor(3.0).uop.realized is None


def test_a_symbolic_position_is_written() -> None:
    """A cache row by row, at a bound position and a bound slice."""
    cache, want = Tensor.zeros(6, 2).contiguous().realize(), np.zeros((6, 2), np.float32)
    for i in range(5):
        at = Variable("s", 0, 4).bind(i)
        cache[at : at + 1] = held(np.full((1, 2), i + 1, np.float32))
        want[i] = i + 1
        np.testing.assert_array_equal(cache.numpy(), want)
    cache[Variable("s", 0, 4).bind(2)] = 9
    want[2] = 9
    np.testing.assert_array_equal(cache.numpy(), want)


def test_symbolic_arithmetic_in_bounds() -> None:
    """[:v + 1], [v - 1:v + 1], [:2 * v], and the mean over a bound part."""
    x = held(np.ones((2, 4), np.float32) * np.arange(4, dtype=np.float32))
    v = Variable("v", 1, 2).bind(2)
    assert x[:, : v + 1].sum().item() == 6
    assert x[:, v - 1 : v + 1].sum().item() == 6
    assert x[:, : v * 2].mean().item() == 1.5
    assert x[:, :v].mean(1).tolist() == [0.5, 0.5]
    assert x[:, :v].flip(1).numpy().tolist() == [[1, 0], [1, 0]]


DEVICES = ("CPU:0", "CPU:1", "CPU:2", "CPU:3")


def test_parts_of_shards_in_memory() -> None:
    """A slice of a realized shard was that of another device, or empty."""
    x = Tensor(counting(4)).shard(("CPU:1", "CPU:2"), 0).realize()
    for start in range(4):
        for stop in range(start, 5):
            assert x[start:stop].tolist() == list(range(start, stop))


@pytest.mark.parametrize("size", [4, 5, 7])
def test_axes_that_devices_do_not_divide(size: int) -> None:
    """Values, means, and joins of shards: each element counts once."""
    data = counting(size)
    x = Tensor(data).shard(DEVICES, 0).realize()
    assert x.tolist() == data.tolist()
    np.testing.assert_allclose(x.mean().item(), data.mean())
    np.testing.assert_allclose(x.std().item(), data.std(ddof=1), rtol=1e-5)
    assert x.cat(x).tolist() == [*data, *data]
    assert x.roll(1).tolist() == np.roll(data, 1).tolist()


@pytest.mark.parametrize("axis", [0, 1])
def test_writes_to_parts_of_shards(axis: int) -> None:
    """Across the border of two devices, by slices and by a list."""
    x, want = Tensor(counting(6, 5)).shard(DEVICES[:3], axis).realize(), counting(6, 5)
    for target in (x, want):
        target[:2] = 0
        target[1:5, 2] = 7
    x[[0, 5]] = Tensor(counting(5)).shard(DEVICES[:3])
    want[[0, 5]] = counting(5)
    np.testing.assert_array_equal(x.numpy(), want)


def test_shards_survive_copies() -> None:
    """Pickled and copied they have memory of their own on the same devices."""
    x = Tensor(counting(6)).shard(DEVICES[:3], 0).realize()
    restored, copied = pickle.loads(pickle.dumps(x)), copy.deepcopy(x)
    copied += 1
    assert restored.device == x.device
    assert restored.tolist() == x.tolist() == [0, 1, 2, 3, 4, 5]
    assert copied.tolist() == [1, 2, 3, 4, 5, 6]


def test_writes_make_no_cycles() -> None:
    """x[0] = 1; x *= 2 in a loop without the collector, and errors that hold their graph."""
    gc.collect()
    used = GlobalCounters.mem_used
    gc.disable()
    try:
        for _ in range(10):
            x = Tensor.zeros(10_000).contiguous()
            x[0] = 1
            x *= 2
            part = x[2:]
            part += 1
            with pytest.raises(ValueError, match="3, 3"):
                x.realize().reshape(3, 3)
            x.numpy()
        del x, part
        left = GlobalCounters.mem_used - used
    finally:
        gc.enable()
    assert left <= 3 * 40_000


def test_copies_of_views_lazy_values_and_pending_writes() -> None:
    """Pickle and deepcopy of what is not in memory as it is."""
    x = held(counting(4))
    x += 1
    whole, part, lazy = pickle.loads(pickle.dumps((x, x[2:], x * 2)))
    assert (whole.tolist(), part.tolist(), lazy.tolist()) == ([1, 2, 3, 4], [3, 4], [2, 4, 6, 8])
    twice = copy.deepcopy({"a": x, "b": x})
    assert twice["a"] is twice["b"]
    twice["a"] += 1
    assert x.tolist() == [1, 2, 3, 4]


def test_threads_draw_and_compute_apart() -> None:
    """Eight threads at once: no two equal draws, no wrong sum."""
    x, draws, sums = held(counting(64)), [], {}

    def work(number: int) -> None:
        draws.append(tuple(Tensor.rand(4).tolist()))
        sums[number] = ((x + number) * 2).sum().item()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(draws)) == 8
    assert sums == {number: float(((counting(64) + number) * 2).sum()) for number in range(8)}


def test_repr_runs_nothing() -> None:
    """Of memory, views, lazy values, draws, constants and nothing."""
    x = held(counting(3))
    before = GlobalCounters.kernel_count
    for value in (x, x + 1, x[1:], Tensor(3), Tensor([]), Tensor.rand(3), x.half()):
        assert str(value.shape) in repr(value)
        assert str(value) == f"{value}"
    assert GlobalCounters.kernel_count == before


def test_memory_of_the_process_is_there_after_a_fork() -> None:
    """A child computes with what the parent has computed and does not hang."""
    x = held(counting(100))
    assert (x @ x).item() > 0
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, str(((x + 1) * 2).sum().item()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        assert answer.read() == str(float(((counting(100) + 1) * 2).sum()))
    os.waitpid(child, 0)
