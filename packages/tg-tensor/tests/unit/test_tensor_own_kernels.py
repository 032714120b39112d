"""Kernels that users write by hand: loops, accumulators, views and groups of work-items.

Each runs on the processor and on the interpreter; NumPy says what is right.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tg_tensor import Tensor
from tg_uop import AddrSpace, AxisType, DType, KernelInfo, Ops, Opt, OptOps, UOp, dtypes
from tg_uop.errors import ArgumentTypeError, IndexItemError, IndexRangeError

DEVICES = ("CPU", "PYTHON")
AS_WRITTEN = KernelInfo(name="own", opts_to_apply=())
Kernel = Callable[..., UOp]


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def check(kernel: Kernel, wanted: np.ndarray, *inputs: np.ndarray) -> None:
    for device in DEVICES:
        out = Tensor.empty(*wanted.shape, dtype=Tensor(wanted).dtype, device=device)
        found = out.custom_kernel(*(Tensor(x, device=device) for x in inputs), fxn=kernel)[0]
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-5)


def registers(size: int, slot: int, dtype: DType = dtypes.float) -> UOp:
    return UOp.placeholder((size,), dtype, slot, addrspace=AddrSpace.REG)


def reduce_range(size: int, number: int) -> UOp:
    return UOp.range(size, number, AxisType.REDUCE)


# *** products ***


def product_in_memory(C: UOp, A: UOp, B: UOp) -> UOp:
    i, j = UOp.range(C.shape[0], 0), UOp.range(C.shape[1], 1)
    k = UOp.range(A.shape[1], 2, axis_type=AxisType.REDUCE)
    C = C[i, j].set(0.0)
    C = C[i, j].set(C.after(k)[i, j] + A[i, k] * B[k, j], end=k)
    return C.end(i, j).sink(arg=AS_WRITTEN)


def product_in_a_register(C: UOp, A: UOp, B: UOp) -> UOp:
    i, j, k = UOp.range(C.shape[0], 0), UOp.range(C.shape[1], 1), reduce_range(A.shape[1], 2)
    total = registers(1, 0).after(i, j)[0].set(0.0)
    total = total[0].set(total.after(k)[0] + A[i, k] * B[k, j], end=k)
    return C[i, j].store(total[0]).end(i, j).sink(arg=KernelInfo(name="own"))


def product_of_tiles(C: UOp, A: UOp, B: UOp) -> UOp:
    i, j, k = UOp.range(C.shape[0] // 2, 0), UOp.range(C.shape[1] // 3, 1), reduce_range(6, 2)
    tile = UOp.placeholder((2, 3), dtypes.float, 0, addrspace=AddrSpace.REG)
    a, b, c, d = UOp.range(2, 3), UOp.range(3, 4), UOp.range(2, 5), UOp.range(3, 6)
    tile = tile.after(i, j).set(0.0)
    term = A[i * 2 + a, k] * B[k, j * 3 + b]
    tile = tile[a, b].set(tile.after(k)[a, b] + term, end=(a, b, k))
    return C[i * 2 + c, j * 3 + d].store(tile[c, d]).end(c, d).end(i, j).sink(arg=AS_WRITTEN)


def product_of_unrolled_tiles(C: UOp, A: UOp, B: UOp) -> UOp:
    i, j, k = UOp.range(C.shape[0] // 2, 0), UOp.range(C.shape[1] // 3, 1), reduce_range(6, 2)
    tile = UOp.placeholder((2, 3), dtypes.float, 0, addrspace=AddrSpace.REG)
    places = [(a, b) for a in range(2) for b in range(3)]
    start = tile.after(i, j)
    tile = tile.after(*(start[a, b].store(0.0) for a, b in places))
    before = tile.after(k)
    steps = [tile[a, b].store(before[a, b] + A[i * 2 + a, k] * B[k, j * 3 + b]) for a, b in places]
    tile = tile.after(UOp.group(*steps).end(k))
    stores = [C[i * 2 + a, j * 3 + b].store(tile[a, b]) for a, b in places]
    return UOp.group(*stores).end(i, j).sink(arg=AS_WRITTEN)


def product_in_shared_memory(C: UOp, A: UOp, B: UOp) -> UOp:
    rows, columns = UOp.range(2, 0, AxisType.GLOBAL), UOp.range(3, 1, AxisType.GLOBAL)
    y, x = UOp.range(2, 2, AxisType.LOCAL), UOp.range(2, 3, AxisType.LOCAL)
    step, k = reduce_range(3, 4), reduce_range(2, 5)
    left = UOp.placeholder((2, 2), dtypes.float, 0, addrspace=AddrSpace.LOCAL)
    right = UOp.placeholder((2, 2), dtypes.float, 1, addrspace=AddrSpace.LOCAL)
    total = registers(1, 2).after(rows, columns, y, x)[0].set(0.0)
    copied = UOp.group(
        left[y, x].store(A[rows * 2 + y, step * 2 + x]),
        right[y, x].store(B[step * 2 + y, columns * 2 + x]),
    ).barrier()
    left, right = left.after(copied), right.after(copied)
    total = total[0].set(total.after(step, k)[0] + left[y, k] * right[k, x], end=(k, step))
    place = C[rows * 2 + y, columns * 2 + x]
    return place.store(total[0]).end(rows, columns, y, x).sink(arg=AS_WRITTEN)


@pytest.mark.parametrize(
    "kernel",
    [
        product_in_memory,
        product_in_a_register,
        product_of_tiles,
        product_of_unrolled_tiles,
        product_in_shared_memory,
    ],
)
def test_products(kernel: Kernel) -> None:
    check(kernel, numbers(4, 6) @ numbers(6, 6), numbers(4, 6), numbers(6, 6))


@pytest.mark.parametrize(
    "opts",
    [None, (), (Opt(OptOps.UPCAST, 1, 4), Opt(OptOps.UNROLL, 0, 2)), (Opt(OptOps.UPCAST, 0, 2),)],
)
def test_opts_to_apply(opts: tuple[Opt, ...] | None) -> None:
    def product(C: UOp, A: UOp, B: UOp) -> UOp:
        i, j, k = UOp.range(C.shape[0], 0), UOp.range(C.shape[1], 1), reduce_range(A.shape[1], 2)
        total = (A[i, k] * B[k, j]).reduce(k, arg=Ops.ADD)
        return C[i, j].store(total).end(i, j).sink(arg=KernelInfo("own", opts_to_apply=opts))

    check(product, numbers(4, 6) @ numbers(6, 8), numbers(4, 6), numbers(6, 8))


# *** attention and what is in it ***


def attention_without_softmax(O: UOp, Q: UOp, K: UOp, V: UOp) -> UOp:
    n, width = Q.shape
    i, column, j, k = UOp.range(n, 0), UOp.range(width, 1), reduce_range(n, 2), reduce_range(4, 3)
    score = registers(1, 0).after(i, j)[0].set(0.0)
    score = score[0].set(score.after(k)[0] + Q[i, k] * K[j, k], end=k)
    total = registers(1, 1).after(i, column)[0].set(0.0)
    total = total[0].set(total.after(j)[0] + score[0] / (width**0.5) * V[j, column], end=j)
    return O[i, column].store(total[0]).end(column).end(i).sink(arg=AS_WRITTEN)


def online_attention(O: UOp, Q: UOp, K: UOp, V: UOp) -> UOp:
    n, width = Q.shape
    i, j, k = UOp.range(n, 0), reduce_range(K.shape[0], 1), reduce_range(width, 3)
    first, each, last = UOp.range(width, 2), UOp.range(width, 4), UOp.range(width, 5)
    largest = registers(1, 0).after(i)[0].set(-1e30)
    divisor = registers(1, 1).after(i)[0].set(0.0)
    total = registers(width, 2).after(i)[first].set(0.0, end=first)
    score = (Q[i, k] * K[j, k]).reduce(k, arg=Ops.ADD) / width**0.5
    before = largest.after(j)[0]
    now = before.maximum(score)
    kept = registers(3, 3).after(j)
    kept = kept.after(
        kept[0].store(now), kept[1].store((before - now).exp()), kept[2].store((score - now).exp())
    )
    step = UOp.group(
        divisor[0].store(divisor.after(j)[0] * kept[1] + kept[2]),
        total[each].store(total.after(j)[each] * kept[1] + kept[2] * V[j, each]).end(each),
        largest[0].store(kept[0]),
    ).end(j)
    value = total.after(step)[last] / divisor.after(step)[0]
    return O[i, last].store(value).end(last).end(i).sink(arg=AS_WRITTEN)


def softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def test_attention() -> None:
    q, k, v = numbers(5, 4), numbers(5, 4) + 1, numbers(5, 4) - 1
    scores = q @ k.T / 2
    check(attention_without_softmax, scores @ v, q, k, v)
    check(online_attention, softmax(scores) @ v, q, k, v)


def softmax_by_registers(out: UOp, x: UOp) -> UOp:
    i, n = UOp.range(x.shape[0], 0), x.shape[1]
    a, b, c = reduce_range(n, 1), reduce_range(n, 2), UOp.range(n, 3)
    largest = registers(1, 0).after(i)[0].set(-float("inf"))
    largest = largest[0].set(largest.after(a)[0].maximum(x[i, a]), end=a)
    total = registers(1, 1).after(i)[0].set(0.0)
    total = total[0].set(total.after(b)[0] + (x[i, b] - largest[0]).exp(), end=b)
    value = (x[i, c] - largest[0]).exp() / total[0]
    return out[i, c].store(value).end(c).end(i).sink(arg=AS_WRITTEN)


def softmax_by_reductions(out: UOp, x: UOp) -> UOp:
    i, n = UOp.range(x.shape[0], 0), x.shape[1]
    a, b, c = reduce_range(n, 1), reduce_range(n, 2), UOp.range(n, 3)
    largest = x[i, a].reduce(a, arg=Ops.MAX)
    total = (x[i, b] - largest).exp().reduce(b, arg=Ops.ADD)
    return out[i, c].store((x[i, c] - largest).exp() / total).end(i, c).sink()


@pytest.mark.parametrize("kernel", [softmax_by_registers, softmax_by_reductions])
def test_softmax(kernel: Kernel) -> None:
    check(kernel, softmax(numbers(4, 9)), numbers(4, 9))


# *** recurrences ***


def test_values_that_depend_on_those_before() -> None:
    def fibonacci(out: UOp) -> UOp:
        out = out[0].set(1)[1].set(1)
        i = UOp.range(out.shape[0] - 2, 0)
        before = out.after(i)
        return out[i + 2].set(before[i] + before[i + 1], end=i).sink(arg=AS_WRITTEN)

    def running_sum(out: UOp, x: UOp) -> UOp:
        row, i = UOp.range(x.shape[0], 0), UOp.range(x.shape[1], 1)
        total = registers(1, 0).after(row)[0].set(0.0)
        total = total[0].set(total.after(i)[0] + x[row, i])
        return out[row, i].store(total[0]).end(i).end(row).sink(arg=AS_WRITTEN)

    def histogram(out: UOp, x: UOp) -> UOp:
        i = reduce_range(x.shape[0], 0)
        out = out.set(0)
        return out[x[i]].set(out.after(i)[x[i]] + 1, end=i).sink(arg=AS_WRITTEN)

    check(fibonacci, np.array([1, 1, 2, 3, 5, 8, 13], np.int32))
    check(running_sum, numbers(3, 9).cumsum(1), numbers(3, 9))
    bins = np.array([2, 0, 1, 2, 2], np.int32)
    check(histogram, np.bincount(bins, minlength=4).astype(np.int32), bins)


def test_position_of_the_largest() -> None:
    def argmax(out: UOp, x: UOp) -> UOp:
        i, k = UOp.range(x.shape[0], 0), reduce_range(x.shape[1], 1)
        best = registers(1, 0).after(i)[0].set(-float("inf"))
        found = registers(1, 1, dtypes.int).after(i)[0].set(0)
        larger = best.after(k)[0] < x[i, k]
        step = UOp.group(
            found[0].store(larger.where(k.cast(dtypes.int), found.after(k)[0])),
            best[0].store(larger.where(x[i, k], best.after(k)[0])),
        ).end(k)
        return out[i].store(found.after(step)[0]).end(i).sink(arg=AS_WRITTEN)

    check(argmax, numbers(5, 9).argmax(1).astype(np.int32), numbers(5, 9))


# *** views of memory ***


@pytest.mark.parametrize(
    ("view", "same"),
    [
        (lambda x, i: x[i].flatten(), lambda x: x.reshape(4, 30)),
        (lambda x, i: x[i, :, -1], lambda x: x[:, :, -1]),
        (lambda x, i: x[i, 1:3].flatten(), lambda x: x[:, 1:3].reshape(4, 12)),
        (lambda x, i: x[i, ::2, ::-1].flatten(), lambda x: x[:, ::2, ::-1].reshape(4, 18)),
        (lambda x, i: x.permute(2, 0, 1)[i].flatten(), lambda x: x.transpose(2, 0, 1)[:4]),
        (
            lambda x, i: x.reshape(8, 15)[i * 2 : i * 2 + 2, 3],
            lambda x: x.reshape(4, 2, 15)[..., 3],
        ),
        (
            lambda x, i: x.reshape(8, 3, 5).flip(0)[i, None, :, 1][0],
            lambda x: x.reshape(8, 3, 5)[::-1][:4, :, 1],
        ),
    ],
)
def test_views(view: Callable[[UOp, UOp], UOp], same: Callable[[np.ndarray], np.ndarray]) -> None:
    def weighted_rows(out: UOp, x: UOp) -> UOp:
        i = UOp.range(4, 0)
        row = view(x, i)
        k = reduce_range(row.shape[0], 1)
        return out[i].store((row[k] * (k + 1)).reduce(k, arg=Ops.ADD)).end(i).sink()

    x = numbers(4, 5, 6)
    rows = same(x).reshape(4, -1)
    check(weighted_rows, rows @ np.arange(1, rows.shape[1] + 1, dtype=np.float32), x)


def test_memory_is_filled_and_copied() -> None:
    def copied_rows(out: UOp, x: UOp) -> UOp:
        i = UOp.range(x.shape[0], 0)
        return out[i].set(x[i].reshape(out.shape[1]), end=i).sink(arg=AS_WRITTEN)

    check(lambda out: out.set(7.0).sink(arg=AS_WRITTEN), np.full((3, 5), 7, np.float32))
    check(copied_rows, numbers(3, 2, 2).reshape(3, 4), numbers(3, 2, 2))


def test_gathered_rows_and_gates() -> None:
    def gathered(out: UOp, x: UOp, rows: UOp) -> UOp:
        i, j = UOp.range(out.shape[0], 0), UOp.range(out.shape[1], 1)
        return out[i, j].store(x[rows[i]][j] + x[rows[i], j]).end(i, j).sink()

    def shifted(out: UOp, x: UOp) -> UOp:
        i = UOp.range(out.shape[0], 0)
        return out[i].store(x[(i - 1).valid(i >= 1)]).end(i).sink()

    def padded(out: UOp, x: UOp) -> UOp:
        i, j = UOp.range(out.shape[0], 0), UOp.range(out.shape[1], 1)
        return out[i, j].store(x.pad(((1, 2), None))[i, j]).end(i, j).sink()

    check(padded, np.pad(numbers(3, 4), ((1, 2), (0, 0))), numbers(3, 4))
    rows = np.array([2, 0, 1, 2], np.int32)
    check(gathered, 2 * numbers(3, 5)[rows], numbers(3, 5), rows)
    check(shifted, np.append(np.float32(0), numbers(8)[:-1]), numbers(8))


def test_values_are_converted_as_in_tensors() -> None:
    def mixed(out: UOp, x: UOp, n: UOp) -> UOp:
        i = UOp.range(out.shape[0], 0)
        return out[i].store(x[i] * i + i / 2 + n[i] * 1.5 + n[i] // 2 * x[i]).end(i).sink()

    def truncated(out: UOp, x: UOp) -> UOp:
        i = UOp.range(out.shape[0], 0)
        return out[i].store(x[i] * 3).end(i).sink()

    i, n, x = np.arange(6, dtype=np.float32), np.arange(-3, 3).astype(np.int32), numbers(6)
    check(mixed, (x * i + i / 2 + n * 1.5 + n // 2 * x).astype(np.float32), x, n)
    check(truncated, (x * 3).astype(np.int32), x)


def test_lanes_of_a_loop() -> None:
    def reversed_rows(out: UOp, x: UOp) -> UOp:
        i, j = UOp.range(x.shape[0], 0), UOp.range(4, 1, AxisType.UPCAST)
        row = x[i, j].contract(j)
        stores = [out[i, k].store(row.gep(3 - k)) for k in range(4)]
        return UOp.group(*stores).end(i).sink(arg=AS_WRITTEN)

    check(reversed_rows, numbers(6, 4)[:, ::-1], numbers(6, 4))


# *** groups of work-items ***


def reversed_by_axes(out: UOp, x: UOp) -> UOp:
    group, item = UOp.range(3, 0, AxisType.GLOBAL), UOp.range(8, 1, AxisType.LOCAL)
    return reversed_in_group(out, x, group, item).end(group, item).sink(arg=AS_WRITTEN)


def reversed_by_launch_indices(out: UOp, x: UOp) -> UOp:
    group, item = UOp.special(3, "gidx0"), UOp.special(8, "lidx0")
    return reversed_in_group(out, x, group, item).sink(arg=AS_WRITTEN)


def reversed_in_group(out: UOp, x: UOp, group: UOp, item: UOp) -> UOp:
    """Each item reads what another one has written, and keeps a number of its own."""
    shared = UOp.placeholder((8,), dtypes.float, 0, addrspace=AddrSpace.LOCAL)
    own = registers(1, 1)[0].set(item)
    shared = shared.after(shared[item].store(x[group, item]).barrier())
    return out[group, item].store(shared[7 - item] + own[0])


@pytest.mark.parametrize("kernel", [reversed_by_axes, reversed_by_launch_indices])
def test_items_see_shared_memory_and_own_registers(kernel: Kernel) -> None:
    check(kernel, numbers(3, 8)[:, ::-1] + np.arange(8, dtype=np.float32), numbers(3, 8))


def test_sum_by_halving_in_shared_memory() -> None:
    def total(out: UOp, x: UOp) -> UOp:
        item = UOp.range(8, 0, AxisType.LOCAL)
        shared = UOp.placeholder((8,), dtypes.float, 0, addrspace=AddrSpace.LOCAL)
        shared = shared.after(shared[item].store(x[item]).barrier())
        for half in (4, 2, 1):
            to_other = item + half
            other = shared[to_other.valid(to_other < 8)]
            old = registers(1, half)[0].set(shared[item] + other)
            shared = shared.after(shared.after(old)[item].store(old[0]).barrier())
        place = out[item.valid(item < 1)]
        return place.store(shared[0]).end(item).sink(arg=AS_WRITTEN)

    check(total, numbers(8).sum(keepdims=True), numbers(8))


# *** memory as an object, and errors ***


def test_shapes_of_memory() -> None:
    memory = UOp.placeholder((4, 5), dtypes.float, 0)
    assert memory[0].shape == (5,)
    assert memory[1:3].shape == (2, 5)
    assert memory[..., 0].shape == (4,)
    assert memory[:, None].shape == (4, 1, 5)
    assert memory[UOp.range(4, 0)].shape == (5,)
    assert UOp.placeholder_like(Tensor.empty(2, 3, dtype=dtypes.half), slot=0).shape == (2, 3)
    assert UOp.placeholder_like(memory, 1, AddrSpace.REG)[0].addrspace is AddrSpace.REG


def test_what_is_no_kernel_says_so() -> None:
    memory, i = UOp.placeholder((4, 5), dtypes.float, 0), UOp.range(4, 0)
    for index in (4, (0, 0, 0), (0, -6)):
        with pytest.raises(IndexRangeError):
            memory[index]
    with pytest.raises(IndexItemError, match="float"):
        memory[memory[0, 0]]
    with pytest.raises(ArgumentTypeError, match=r"memory of shape \(5,\): index it"):
        memory[i] + 1
    with pytest.raises(ArgumentTypeError, match="index it"):
        memory[0, 0].store(memory)
    with pytest.raises(ArgumentTypeError, match="nothing has been written"):
        memory.end(i)
    with pytest.raises(TypeError, match="known size"):
        memory[0, i].contract(memory[0, 0])
