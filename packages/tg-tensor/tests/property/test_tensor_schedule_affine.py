"""Index arithmetic against counting, and memory plans against overlap."""

from __future__ import annotations

from itertools import pairwise
from math import prod

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tg_tensor.schedule.affine import Affine, integer
from tg_tensor.schedule.memory import buffer_bytes, lifetimes, plan_memory
from tg_uop import UOp, dtypes


@st.composite
def two_shapes(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two shapes of equally many elements."""
    factors = draw(st.lists(st.sampled_from((1, 2, 2, 3, 4, 5)), min_size=1, max_size=5))

    def grouped() -> tuple[int, ...]:
        order = draw(st.permutations(factors))
        cuts = sorted(draw(st.sets(st.integers(1, len(order)), max_size=3)))
        edges = [0, *cuts, len(order)]
        return tuple(prod(order[a:b]) for a, b in pairwise(edges) if b > a)

    return grouped(), grouped()


@given(two_shapes())
@settings(max_examples=80)
def test_reshape_finds_the_same_element(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    old, new = shapes
    affine = Affine()
    loops = tuple(UOp.range(size, axis) for axis, size in enumerate(new))
    index = affine.reshape(loops, old, new)
    for flat in range(prod(new)):
        place = np.unravel_index(flat, new)
        values = {r: integer(int(v)) for r, v in zip(loops, place, strict=True)}
        found = tuple(int(part.substitute(values)) for part in index)
        assert found == tuple(np.unravel_index(flat, old))


@given(two_shapes(), st.integers(0, 3))
@settings(max_examples=60)
def test_there_and_back_is_the_same_index(
    shapes: tuple[tuple[int, ...], tuple[int, ...]], axis: int
) -> None:
    """Accesses are compared by identity, so a round trip must give the very nodes."""
    old, new = shapes
    affine = Affine()
    loops = tuple(
        UOp.range(size, axis) if size > 1 else integer(0) for axis, size in enumerate(new)
    )
    back = affine.reshape(affine.reshape(loops, old, new), new, old)
    assert all(a is b for a, b in zip(back, loops, strict=True))


def test_the_windows_of_a_convolution_have_plain_indices() -> None:
    """The index (k * (size + 1) + position) % size is k + position while it stays below size."""
    affine = Affine()
    k, position = UOp.range(3, 0), UOp.range(8, 1)
    flat = affine.weighted([(k, 11), (position, 1)])
    _, rest = affine.divmod(flat, 10)
    terms, offset = affine.parts(rest)
    assert (terms, offset) == ({k: 1, position: 1}, 0)


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=4), min_size=1, max_size=12))
@settings(max_examples=60)
def test_buffers_that_live_together_do_not_overlap(uses: list[list[int]]) -> None:
    buffers = [UOp.new_buffer("CPU", 100 * (i + 1), dtypes.float32) for i in range(10)]
    calls = [tuple(buffers[i] for i in call) for call in uses]
    plan = plan_memory(calls, buffers)
    alive = lifetimes(calls, buffers)
    for i, a in enumerate(alive):
        for b in alive[i + 1 :]:
            if a.last < b.first or b.last < a.first:
                continue
            start_a, start_b = plan.offsets[a.buffer], plan.offsets[b.buffer]
            apart = (
                start_a + buffer_bytes(a.buffer) <= start_b
                or start_b + buffer_bytes(b.buffer) <= start_a
            )
            assert apart
    assert sum(plan.arena_bytes.values()) <= plan.separate_bytes
