"""Estimates are exact for simple kernels, before and after Opts, in both forms."""

from __future__ import annotations

from tg_codegen.analyze.cost import estimate_kernel, estimate_linear
from tg_uop import AxisType, Estimates, KernelInfo, Ops, UOp, dtypes

FLOAT = dtypes.float32


def buffer(slot: int, size: int) -> UOp:
    return UOp.param(slot, FLOAT.ptr(size))


def sink(effect: UOp) -> UOp:
    return effect.sink(arg=KernelInfo())


def test_elementwise() -> None:
    i = UOp.range(100, 0)
    value = buffer(1, 100).index(i) * buffer(2, 100).index(i) + 1.0
    kernel = sink(buffer(0, 100).index(i).store(value).end(i))
    assert estimate_kernel(kernel) == Estimates(ops=200, lds=1200, mem=1200)


def test_matmul() -> None:
    i, j, k = UOp.range(4, 0), UOp.range(8, 1), UOp.range(16, 2, AxisType.REDUCE)
    value = (buffer(1, 64).index(i * 16 + k) * buffer(2, 128).index(k * 8 + j)).reduce(k)
    kernel = sink(buffer(0, 32).index(i * 8 + j).store(value).end(i, j))
    found = estimate_kernel(kernel)
    assert found.ops == 2 * 4 * 8 * 16
    assert found.lds == 4 * (2 * 4 * 8 * 16 + 32)
    assert found.mem == 4 * (64 + 128 + 32)


def test_a_reduction_outside_of_an_inner_loop_counts_once_a_row() -> None:
    i, j, k = UOp.range(4, 0), UOp.range(8, 1), UOp.range(8, 2, AxisType.REDUCE)
    rows = buffer(1, 32)
    value = rows.index(i * 8 + j) + rows.index(i * 8 + k).reduce(k)
    kernel = sink(buffer(0, 32).index(i * 8 + j).store(value).end(i, j))
    assert estimate_kernel(kernel).ops == 4 * 8 + 4 * 8


def test_memory_counts_each_byte_once_and_only_what_is_touched() -> None:
    i, j = UOp.range(10, 0), UOp.range(5, 1)
    value = buffer(1, 1000).index(j)
    kernel = sink(buffer(0, 50).index(i * 5 + j).store(value).end(i, j))
    found = estimate_kernel(kernel)
    assert found.lds == 4 * 100
    assert found.mem == 4 * (50 + 50)


def test_what_copies_share_is_loaded_once() -> None:
    i, j = UOp.range(10, 0), UOp.range(5, 1, AxisType.UPCAST)
    value = buffer(1, 10).index(i) + buffer(2, 50).index(i * 5 + j)
    kernel = sink(buffer(0, 50).index(i * 5 + j).store(value).end(i, j))
    assert estimate_kernel(kernel).lds == 4 * (10 + 50 + 50)


def test_reading_and_writing_one_buffer_counts_both() -> None:
    i = UOp.range(10, 0)
    kernel = sink(buffer(0, 10).index(i).store(buffer(0, 10).index(i) + 1.0).end(i))
    assert estimate_kernel(kernel).mem == 80


def test_sizes_that_are_not_known_stay_symbolic() -> None:
    n = UOp.variable("n", 1, 100)
    i = UOp.range(n, 0)
    value = buffer(1, 100).index(i) + 1.0
    found = estimate_kernel(sink(buffer(0, 100).index(i).store(value).end(i)))
    assert isinstance(found.ops, UOp)
    assert found.ops.evaluate({"n": 7}) == 7
    assert isinstance(found.lds, UOp)
    assert found.lds.evaluate({"n": 7}) == 56


def test_linear_form() -> None:
    size = UOp.const(dtypes.int32, 16)
    loop = UOp(Ops.RANGE, dtypes.int32, (size,), UOp.range(16, 0).arg)
    four = UOp.const(dtypes.int32, 4)
    at = loop * four
    source, target = buffer(1, 64), buffer(0, 64)
    wide = FLOAT.vec(4)
    place = source.index(at, ptr=True)
    loaded = UOp(Ops.LOAD, wide, (place,))
    doubled = loaded + loaded
    destination = target.index(at, ptr=True)
    store = UOp(Ops.STORE, dtypes.void, (destination, doubled))
    end = UOp(Ops.END, dtypes.void, (loop,))
    order = [size, four, source, target, loop, at, place, loaded, doubled, destination, store, end]
    assert estimate_linear(order) == Estimates(ops=64, lds=512, mem=512)
