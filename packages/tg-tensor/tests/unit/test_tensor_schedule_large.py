"""Parts of the scheduler that must not grow faster than the graph, and keep their results."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tg_tensor import GlobalCounters, Tensor
from tg_tensor.schedule import hazards, readers
from tg_tensor.schedule.fusion import below_views, users_of
from tg_tensor.schedule.memory import ALIGNMENT, plan_memory
from tg_tensor.schedule.order import in_order
from tg_tensor.schedule.reach import Ranks
from tg_uop import Ops, UOp, dtypes


@dataclass(eq=False)
class Item:
    position: int


Links = dict[Item, dict[Item, None]]


def linked(edges: list[tuple[int, int]], count: int) -> tuple[list[Item], Links, Links]:
    items = [Item(position) for position in range(count)]
    needs: Links = {item: {} for item in items}
    needed_by: Links = {item: {} for item in items}
    for a, b in edges:
        low, high = sorted((a % count, b % count))
        if low != high:
            needs[items[high]][items[low]] = None
            needed_by[items[low]][items[high]] = None
    return items, needs, needed_by


def merge(left: Item, right: Item, needs: Links, needed_by: Links) -> None:
    for links, back in ((needs, needed_by), (needed_by, needs)):
        for other in links.pop(right):
            back[other].pop(right, None)
            if other is not left:
                links[left][other] = None
                back[other][left] = None
        links[left].pop(right, None)


@given(
    st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=30),
    st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=12),
)
def test_joining_what_may_join_never_makes_a_ring(
    edges: list[tuple[int, int]], pairs: list[tuple[int, int]]
) -> None:
    items, needs, needed_by = linked(edges, 12)
    ranks = Ranks(needs, needed_by)
    for a, b in pairs:
        left, right = items[a], items[b]
        if left is right or left not in needs or right not in needs:
            continue
        if ranks.can_join(left, right):
            ranks.join(left, right)
            merge(left, right, needs, needed_by)
            assert not in_order(needs)[1]
        for item, before in needs.items():
            assert all(ranks.rank[other] < ranks.rank[item] for other in before)


def test_items_with_a_third_between_them_stay_apart() -> None:
    items, needs, needed_by = linked([(0, 1), (1, 2), (0, 2)], 3)
    ranks = Ranks(needs, needed_by)
    assert not ranks.can_join(items[0], items[2])
    assert ranks.can_join(items[0], items[1])


def buffers(sizes: list[int]) -> list[UOp]:
    return [UOp.new_buffer("CPU", size, dtypes.uint8) for size in sizes]


@given(
    st.lists(
        st.tuples(st.integers(1, 300), st.integers(0, 20), st.integers(0, 20)),
        min_size=1,
        max_size=25,
    )
)
def test_buffers_alive_together_do_not_overlap(lives: list[tuple[int, int, int]]) -> None:
    made = buffers([size for size, _, _ in lives])
    calls: list[list[UOp]] = [[] for _ in range(21)]
    spans = []
    for buffer, (_, a, b) in zip(made, lives, strict=True):
        calls[a].append(buffer)
        calls[b].append(buffer)
        spans.append((min(a, b), max(a, b)))
    plan = plan_memory(calls, made)
    for i, left in enumerate(made):
        for j in range(i):
            right = made[j]
            if spans[i][0] <= spans[j][1] and spans[j][0] <= spans[i][1]:
                ends = plan.offsets[left] + lives[i][0], plan.offsets[right] + lives[j][0]
                apart = ends[0] <= plan.offsets[right] or ends[1] <= plan.offsets[left]
                assert apart


def test_a_chain_of_short_lives_reuses_two_places() -> None:
    made = buffers([ALIGNMENT] * 1000)
    calls = [[made[i], made[i + 1]] for i in range(999)]
    assert plan_memory(calls, made).arena_bytes == {"CPU": 2 * ALIGNMENT}


@pytest.mark.parametrize("count", [3, 300])
def test_each_of_many_writes_waits_for_the_one_before(
    monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    most = 0

    def counted(plan: hazards.Plan, reads: hazards.Reads) -> hazards.Dependencies:
        nonlocal most
        found = original(plan, reads)
        most = max(len(before) for before in found.needs.values())
        return found

    original = hazards.dependencies_of
    monkeypatch.setattr("tg_tensor.schedule.pipeline.dependencies_of", counted)
    x = Tensor.zeros(count).contiguous().realize()
    for i in range(count):
        x[i] = x[i - 1] + 1 if i else 1
    np.testing.assert_array_equal(x.numpy(), np.arange(1, count + 1))
    assert most <= 3


def test_what_values_read_is_found_once_for_all_of_them() -> None:
    x = UOp.new_buffer("CPU", 4, dtypes.float32)
    other = UOp.new_buffer("CPU", 4, dtypes.float32)
    value, chain = x, []
    for _ in range(2000):
        value = value + other
        chain.append(value)
    found = readers.Readers({}, {x})
    for value in reversed(chain):
        assert found.reading(value) == ({x: None}, False)
    assert found.reading(other + other) == ({}, False)
    written = other.after(other.store(x))
    assert found.reading(written + other) == ({x: None}, True)
    assert found.reading(written.alu(Ops.NEG)).has_effects


def test_many_live_values_of_what_is_overwritten_keep_their_values() -> None:
    x = Tensor([1.0, 2.0]).realize()
    live = [x + i for i in range(40)]
    for _ in range(40):
        live.append(live[-1] * 1 + x)
    views = [x[:1], x.flip(0)]
    x.assign(x * 100).realize()
    for i, value in enumerate(live[:40]):
        np.testing.assert_array_equal(value.numpy(), [1 + i, 2 + i])
    for i, value in enumerate(live[40:], 1):
        np.testing.assert_array_equal(value.numpy(), [40 + i, 41 + 2 * i])
    assert all(view is not None for view in views)


def test_each_of_many_views_knows_what_is_below_all() -> None:
    x = Tensor([[1.0, 2.0], [3.0, 4.0]]).realize()
    doubled = x * 2
    seen = doubled.reshape(4).reshape(2, 2)
    for step in range(20_000):
        seen = seen.permute(1, 0) if step % 3 else seen.flip(0)
    order = list(seen.uop.toposort())
    below = below_views(order, users_of(order))
    assert below[seen.uop] == (doubled.uop, True)
    assert below[doubled.reshape(4).uop] == (doubled.uop, False)
    want = doubled.numpy()
    for step in range(20_000):
        want = want.transpose(1, 0) if step % 3 else np.flip(want, 0)
    np.testing.assert_array_equal(seen.numpy(), want)


@pytest.mark.parametrize("start", [Tensor.ones(1), Tensor(1.0), Tensor.ones(2, 3)])
def test_a_long_chain_on_constants_is_few_kernels(start: Tensor) -> None:
    x = start
    for _ in range(3000):
        x = x + 1
    kernels = GlobalCounters.kernel_count
    x.realize()
    assert GlobalCounters.kernel_count - kernels <= 6
    assert np.unique(x.numpy()).tolist() == [3001]


@pytest.mark.parametrize("axis", [0, 1])
def test_many_parts_are_written_some_at_a_time(axis: int) -> None:
    random = np.random.default_rng(0)
    sizes = [100 + 7 * part for part in range(40)]
    arrays = [
        random.integers(0, 9, (size, 16) if axis == 0 else (16, size)).astype(np.float32)
        for size in sizes
    ]
    parts = [Tensor(array, requires_grad=True).realize() for array in arrays]
    kernels = GlobalCounters.kernel_count
    whole = Tensor.cat(*parts, dim=axis)
    np.testing.assert_array_equal(whole.numpy(), np.concatenate(arrays, axis))
    assert GlobalCounters.kernel_count - kernels == 5
    weight = random.integers(0, 9, whole.shape).astype(np.float32)
    (whole * Tensor(weight)).sum().backward()
    shares = np.split(weight, np.cumsum(sizes)[:-1], axis)
    for part, share in list(zip(parts, shares, strict=True))[::13]:
        assert part.grad is not None
        np.testing.assert_array_equal(part.grad.numpy(), share)
    few = Tensor.cat(*[Tensor([float(i)]).realize() for i in range(8)])
    kernels = GlobalCounters.kernel_count
    assert few.tolist() == list(range(8))
    assert GlobalCounters.kernel_count - kernels == 1


def test_what_is_joined_of_many_parts_is_a_value_of_its_own() -> None:
    """Equal ones are not one memory; parts may be views of what is written later, and constants."""
    x = Tensor.arange(40).contiguous().realize()
    parts = [x[i : i + 1] * 2 for i in range(39)] + [Tensor([7])]
    first, second = Tensor.cat(*parts), Tensor.cat(*parts)
    first[0] = 100
    x[1] = -1
    assert first.tolist() == [100, *range(2, 78, 2), 7]
    assert second.tolist() == [*range(0, 78, 2), 7]
    assert (first + second).tolist() == [100, *range(4, 156, 4), 14]
    again = Tensor.cat(*parts)
    assert again.tolist() == [0, 2, *range(4, 78, 2), 7]
    numbers = Tensor.stack(*[Tensor(i) for i in range(20)])
    assert numbers.tolist() == list(range(20))
    empty = [Tensor.empty(0, 3) for _ in range(20)]
    assert Tensor.cat(*empty).shape == (0, 3)
    assert Tensor.cat(*empty).tolist() == []
    assert Tensor.cat(*empty, Tensor([[1, 2, 3]]), *empty).tolist() == [[1, 2, 3]]
