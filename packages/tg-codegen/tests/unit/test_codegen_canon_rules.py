"""Canonicalization finds the plain form of a kernel, and keeps its meaning."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tg_codegen.canonicalize.accesses import flatten_accesses
from tg_codegen.errors import KernelFormError
from tg_codegen.pipeline import canonicalization
from tg_uop import AddrSpace, AxisType, KernelInfo, Ops, UOp, dtypes

Run = Callable[..., dict[int, list[int]]]
INT = dtypes.int32


def out(size: int, slot: int = 0) -> UOp:
    return UOp.param(slot, INT.ptr(size))


def sink(*effects: UOp) -> UOp:
    return UOp.sink(*effects, arg=KernelInfo())


def zero() -> UOp:
    return UOp.const(dtypes.weakint, 0)


def numbers(count: int) -> list[int]:
    return [(7 * i * i + 3 * i) % 23 - 9 for i in range(count)]


def sizes(kernel: UOp) -> list[int]:
    loops = [n for n in kernel.toposort() if n.op is Ops.RANGE]
    return [int(n.vmax) + 1 for n in sorted(loops, key=lambda r: r.range_arg.axis_id)]


def ops(kernel: UOp) -> list[Ops]:
    return [n.op for n in kernel.toposort()]


@pytest.fixture
def check(read_kernel: Run) -> Callable[..., UOp]:
    """Compare a kernel before and after canonicalization; give the latter."""

    def compare(kernel: UOp, *inputs: list[int], outputs: tuple[int, ...]) -> UOp:
        memory = {slot: [-1] * size for slot, size in enumerate(outputs)}
        memory.update(enumerate(inputs, len(outputs)))
        canonical = canonicalization().run(kernel)
        assert read_kernel(canonical, memory) == read_kernel(kernel, memory)
        return canonical

    return compare


# *** ranges ***


def test_contiguous_loops_merge(check: Callable[..., UOp]) -> None:
    i, j, k = UOp.range(2, 0), UOp.range(3, 1), UOp.range(4, 2)
    at = (i * 3 + j) * 4 + k
    kernel = sink(out(24).index(at).store(out(24, 1).index(at) + 1).end(i, j, k))
    assert sizes(check(kernel, numbers(24), outputs=(24,))) == [24]


def test_loops_of_a_transposed_read_stay(check: Callable[..., UOp]) -> None:
    i, j = UOp.range(2, 0), UOp.range(3, 1)
    kernel = sink(out(6).index(i * 3 + j).store(out(6, 1).index(j * 2 + i)).end(i, j))
    assert sizes(check(kernel, numbers(6), outputs=(6,))) == [2, 3]


def test_reduce_loops_merge(check: Callable[..., UOp]) -> None:
    i = UOp.range(2, 0)
    r, s = UOp.range(3, 1, AxisType.REDUCE), UOp.range(4, 2, AxisType.REDUCE)
    total = out(24, 1).index(i * 12 + r * 4 + s).reduce(r, s)
    kernel = sink(out(2).index(i).store(total).end(i))
    assert sizes(check(kernel, numbers(24), outputs=(2,))) == [2, 12]


def test_a_loop_that_one_output_leaves_out_stays(check: Callable[..., UOp]) -> None:
    i, j = UOp.range(2, 0), UOp.range(3, 1)
    every = out(6).index(i * 3 + j).store(out(6, 2).index(i * 3 + j)).end(i, j)
    rows = out(2, 1).index(i).store(out(6, 2).index(i * 3)).end(i)
    assert sizes(check(sink(every, rows), numbers(6), outputs=(6, 2))) == [2, 3]


def test_loop_of_one_step_vanishes(check: Callable[..., UOp]) -> None:
    i, j = UOp.range(1, 0), UOp.range(3, 1)
    r = UOp.range(1, 2, AxisType.REDUCE)
    value = out(3, 1).index(i * 3 + j + r).reduce(r)
    kernel = sink(out(3).index(i * 3 + j).store(value).end(i, j))
    assert sizes(check(kernel, numbers(3), outputs=(3,))) == [3]


def test_kernel_of_single_steps_has_no_end(check: Callable[..., UOp]) -> None:
    i = UOp.range(1, 0)
    canonical = check(sink(out(1).index(i).store(out(1, 1).index(i)).end(i)), [5], outputs=(1,))
    assert Ops.END not in ops(canonical)


def test_loop_taken_apart_is_split(check: Callable[..., UOp]) -> None:
    i = UOp.range(12, 0)
    three = i.const_like(3)
    source = i.alu(Ops.MOD, three) * 4 + i.alu(Ops.IDIV, three)
    canonical = check(
        sink(out(12).index(i).store(out(12, 1).index(source)).end(i)), numbers(12), outputs=(12,)
    )
    assert sizes(canonical) == [4, 3]
    assert not {Ops.IDIV, Ops.MOD} & set(ops(canonical))


def test_loop_taken_apart_twice_is_split_twice(check: Callable[..., UOp]) -> None:
    i = UOp.range(24, 0)
    high = i.alu(Ops.IDIV, i.const_like(6))
    middle = i.alu(Ops.IDIV, i.const_like(2)).alu(Ops.MOD, i.const_like(3))
    low = i.alu(Ops.MOD, i.const_like(2))
    source = (low * 3 + middle) * 4 + high
    canonical = check(
        sink(out(24).index(i).store(out(24, 1).index(source)).end(i)), numbers(24), outputs=(24,)
    )
    assert sizes(canonical) == [4, 3, 2]


# *** reductions ***


def test_sum_of_what_the_loop_does_not_change(check: Callable[..., UOp]) -> None:
    i, r = UOp.range(3, 0), UOp.range(5, 1, AxisType.REDUCE)
    kernel = sink(out(3).index(i).store(out(3, 1).index(i).reduce(r)).end(i))
    assert Ops.REDUCE not in ops(check(kernel, numbers(3), outputs=(3,)))


def test_maximum_of_what_the_loop_does_not_change(check: Callable[..., UOp]) -> None:
    i, r = UOp.range(3, 0), UOp.range(5, 1, AxisType.REDUCE)
    kernel = sink(out(3).index(i).store(out(3, 1).index(i).reduce(r, arg=Ops.MAX)).end(i))
    assert Ops.REDUCE not in ops(check(kernel, numbers(3), outputs=(3,)))


def test_float_sum_of_a_loaded_value_stays() -> None:
    """n * x rounds once, a sum n times."""
    r = UOp.range(5, 1, AxisType.REDUCE)
    x = UOp.param(1, dtypes.float.ptr(1)).index(0)
    kernel = sink(UOp.param(0, dtypes.float.ptr(1)).index(0).store(x.reduce(r)))
    assert Ops.REDUCE in ops(canonicalization().run(kernel))


def test_float_count_is_a_constant() -> None:
    r = UOp.range(5, 1, AxisType.REDUCE)
    one = UOp.const(dtypes.float, 1.0)
    kernel = sink(UOp.param(0, dtypes.float.ptr(1)).index(0).store(one.reduce(r)))
    stored = next(n for n in canonicalization().run(kernel).toposort() if n.op is Ops.STORE)
    assert stored.stored_value is UOp.const(dtypes.float, 5.0)


@pytest.mark.parametrize("spelling", ["eq", "ne", "cast"])
@pytest.mark.parametrize("low", [0, -3])
def test_selection_becomes_gather(check: Callable[..., UOp], spelling: str, low: int) -> None:
    """sum_r where(r == index[i], x[r], 0), also for indices that the loop does not reach."""
    i, r = UOp.range(6, 0), UOp.range(5, 1, AxisType.REDUCE)
    index = out(6, 1).index(i)
    x = out(5, 2).index(r)
    nothing = x.const_like(0)
    step = r.cast(INT)
    if spelling == "eq":
        value = step.eq(index).where(x, nothing)
    elif spelling == "ne":
        value = step.ne(index).where(nothing, x)
    else:
        value = step.eq(index).cast(INT) * x
    kernel = sink(out(6).index(i).store(value.reduce(r)).end(i))
    canonical = check(kernel, [n + low for n in range(6)], numbers(5), outputs=(6,))
    assert Ops.REDUCE not in ops(canonical)


@pytest.mark.parametrize("condition_first", [True, False])
def test_selection_of_a_truth_becomes_gather(
    check: Callable[..., UOp], condition_first: bool
) -> None:
    """any_r (r == index[i] and x[r]); indices that the loop does not reach give False."""
    i, r = UOp.range(6, 0), UOp.range(5, 1, AxisType.REDUCE)
    hit = r.cast(INT).eq(out(6, 1).index(i))
    x = out(5, 2).index(r) > 0
    value = hit & x if condition_first else x & hit
    found = value.reduce(r, arg=Ops.MAX).cast(INT)
    kernel = sink(out(6).index(i).store(found).end(i))
    canonical = check(kernel, [n - 1 for n in range(6)], numbers(5), outputs=(6,))
    assert Ops.REDUCE not in ops(canonical)


def test_selection_by_a_loop_is_plain_indexing(check: Callable[..., UOp]) -> None:
    i, r = UOp.range(5, 0), UOp.range(5, 1, AxisType.REDUCE)
    x = out(5, 1).index(r)
    kernel = sink(out(5).index(i).store(r.eq(i).where(x, x.const_like(0)).reduce(r)).end(i))
    canonical = check(kernel, numbers(5), outputs=(5,))
    assert not {Ops.REDUCE, Ops.WHERE} & set(ops(canonical))


def test_shifted_selection(check: Callable[..., UOp]) -> None:
    """A diagonal: sum_r where(r + 2 == i, x[r], 0)."""
    i, r = UOp.range(9, 0), UOp.range(5, 1, AxisType.REDUCE)
    x = out(5, 1).index(r)
    value = (r + 2).eq(i).where(x, x.const_like(0))
    canonical = check(sink(out(9).index(i).store(value.reduce(r)).end(i)), numbers(5), outputs=(9,))
    assert Ops.REDUCE not in ops(canonical)


@pytest.mark.parametrize("scale", [1, 2, 3, -1, -2])
@pytest.mark.parametrize("offset", [-4, 0, 1, 5, 20])
def test_count_has_a_closed_form(check: Callable[..., UOp], scale: int, offset: int) -> None:
    """As in arange: sum_r (scale * r < i + offset) * 3."""
    i, r = UOp.range(7, 0), UOp.range(6, 1, AxisType.REDUCE)
    below = (r * scale) < (i + offset)
    three = UOp.const(INT, 3)
    for condition in (below, below.logical_not()):
        value = condition.where(three, three.const_like(0))
        kernel = sink(out(7).index(i).store(value.reduce(r)).end(i))
        assert Ops.REDUCE not in ops(check(kernel, outputs=(7,)))


def test_count_between_two_bounds(check: Callable[..., UOp]) -> None:
    i, r = UOp.range(7, 0), UOp.range(9, 1, AxisType.REDUCE)
    between = (r < i).logical_not() & (r < i * 2)
    one = UOp.const(INT, 1)
    kernel = sink(out(7).index(i).store(between.where(one, one.const_like(0)).reduce(r)).end(i))
    assert Ops.REDUCE not in ops(check(kernel, outputs=(7,)))


def test_outer_loop_stays_when_the_inner_collapses(check: Callable[..., UOp]) -> None:
    i = UOp.range(4, 0)
    r, s = UOp.range(3, 1, AxisType.REDUCE), UOp.range(5, 2, AxisType.REDUCE)
    index = out(12, 1).index(i * 3 + r)
    x = out(15, 2).index(r * 5 + s)
    value = s.cast(INT).eq(index).where(x, x.const_like(0)).reduce(r, s)
    kernel = sink(out(4).index(i).store(value).end(i))
    canonical = check(kernel, [n % 7 - 1 for n in range(12)], numbers(15), outputs=(4,))
    reduce = next(n for n in canonical.toposort() if n.op is Ops.REDUCE)
    assert len(reduce.reduce_ranges) == 1


def test_sibling_reduces_share_a_loop(check: Callable[..., UOp]) -> None:
    i = UOp.range(3, 0)
    r, s = UOp.range(5, 1, AxisType.REDUCE), UOp.range(5, 2, AxisType.REDUCE)
    x = out(15, 1)
    first, second = x.index(i * 5 + r), x.index(i * 5 + s)
    total = first.reduce(r) + (second * second).reduce(s)
    kernel = sink(out(3).index(i).store(total).end(i))
    assert sizes(check(kernel, numbers(15), outputs=(3,))) == [3, 5]


def test_reduces_that_wait_keep_their_loops(check: Callable[..., UOp]) -> None:
    i = UOp.range(3, 0)
    r, s = UOp.range(5, 1, AxisType.REDUCE), UOp.range(5, 2, AxisType.REDUCE)
    x = out(15, 1)
    top = x.index(i * 5 + r).reduce(r, arg=Ops.MAX)
    kernel = sink(out(3).index(i).store((x.index(i * 5 + s) - top).reduce(s)).end(i))
    assert sizes(check(kernel, numbers(15), outputs=(3,))) == [3, 5, 5]


# *** accesses ***


def test_several_indices_become_one(read_kernel: Run) -> None:
    i, j = UOp.range(2, 0), UOp.range(3, 1)
    target = UOp.placeholder((2, 3), INT, 0)
    source = UOp.placeholder((3, 2), INT, 1)
    kernel = sink(target.index(i, j).store(source.index(j, i)).end(i, j))
    flat = flatten_accesses(kernel)
    assert all(len(n.src) == 2 for n in flat.toposort() if n.op is Ops.INDEX)
    after = read_kernel(flat, {0: [0] * 6, 1: list(range(6))})
    assert after[0] == [0, 2, 4, 1, 3, 5]


def test_gates_of_several_indices_join(read_kernel: Run) -> None:
    i, j = UOp.range(3, 0), UOp.range(3, 1)
    source = UOp.placeholder((2, 2), INT, 1)
    value = source.index(i.valid(i < 2), j.valid(j < 2))
    kernel = sink(UOp.placeholder((3, 3), INT, 0).index(i, j).store(value).end(i, j))
    after = read_kernel(flatten_accesses(kernel), {0: [9] * 9, 1: [1, 2, 3, 4]})
    assert after[0] == [1, 2, 0, 3, 4, 0, 0, 0, 0]


def test_shaped_scratch_and_explicit_load(read_kernel: Run) -> None:
    i, j, k = (UOp.range(2, n) for n in range(3))
    scratch = UOp.placeholder((2, 2), INT, 0, AddrSpace.LOCAL)
    source = UOp.placeholder((2, 2), INT, 1)
    filled = scratch.after(
        scratch.index(i, j).store(source.index(i, j, ptr=True).load() * 2).end(i, j)
    )
    kernel = sink(out(2).index(k).store(filled.index(k, k)).end(k))
    after = read_kernel(flatten_accesses(kernel), {0: [0] * 2, 1: [1, 2, 3, 4]})
    assert after[0] == [2, 8]


def test_wrong_number_of_indices_is_refused() -> None:
    i = UOp.range(2, 0)
    target = UOp.placeholder((2, 3, 4), INT, 0)
    kernel = sink(target.index(i, i).store(1).end(i))
    with pytest.raises(KernelFormError, match="one index for each axis"):
        flatten_accesses(kernel)


def test_choice_that_repeats_a_gate_goes(check: Callable[..., UOp]) -> None:
    """An embedding outside of its table reads 0, once."""
    i, r = UOp.range(6, 0), UOp.range(5, 1, AxisType.REDUCE)
    index, x = out(6, 1).index(i), out(5, 2).index(r)
    value = r.cast(INT).eq(index).where(x, x.const_like(0)).reduce(r)
    kernel = sink(out(6).index(i).store(value).end(i))
    canonical = check(kernel, [-1, 0, 4, 5, 9, 2], numbers(5), outputs=(6,))
    choices = [n for n in canonical.toposort() if n.op is Ops.WHERE and n.dtype == INT]
    assert not choices


def test_negative_zero_is_no_zero() -> None:
    i = UOp.range(6, 0)
    x = UOp.param(1, dtypes.float.ptr(6)).index(i.valid(i < 3))
    kernel = sink(
        UOp.param(0, dtypes.float.ptr(6))
        .index(i)
        .store((i < 3).where(x, x.const_like(-0.0)))
        .end(i)
    )
    assert any(
        n.op is Ops.WHERE and n.dtype == dtypes.float
        for n in canonicalization().run(kernel).toposort()
    )


def test_choice_that_the_gates_of_a_product_repeat_goes(check: Callable[..., UOp]) -> None:
    """As in the gradient of a convolution: a padded product."""
    i = UOp.range(8, 0)
    inside = (i < 2).logical_not() & (i < 6)
    x, y = (out(4, slot).index((i - 2).valid(inside)) for slot in (1, 2))
    value = inside.where(x * y, x.const_like(0))
    canonical = check(
        sink(out(8).index(i).store(value).end(i)), numbers(4), numbers(4), outputs=(8,)
    )
    assert not any(n.op is Ops.WHERE and n.dtype == INT for n in canonical.toposort())


def test_choice_around_one_plain_load_stays(check: Callable[..., UOp]) -> None:
    i = UOp.range(8, 0)
    inside = i < 4
    x, y = out(4, 1).index(i.valid(inside)), out(8, 2).index(i)
    value = inside.where(x + y, x.const_like(0))
    canonical = check(
        sink(out(8).index(i).store(value).end(i)), numbers(4), numbers(8), outputs=(8,)
    )
    assert any(n.op is Ops.WHERE and n.dtype == INT for n in canonical.toposort())
