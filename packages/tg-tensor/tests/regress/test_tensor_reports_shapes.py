"""Shapes and laziness, as people reported them: joins, cuts, zero and large sizes, equal values."""

from __future__ import annotations

import copy
import gc
import itertools
import math

import numpy as np
import pytest
from tg_tensor import GlobalCounters, Tensor, dtypes
from tg_uop.errors import ShapeError


def counting(*shape: int) -> np.ndarray:
    """0, 1, 2 ... in float32."""
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0), (2, 0, 3), (1, 0, 1)])
def test_views_of_nothing(shape: tuple[int, ...]) -> None:
    """Every movement and join of zero elements has the shape that NumPy has."""
    data, x = np.zeros(shape, np.float32), Tensor.zeros(shape)
    pairs = [
        (x.T, data.T),
        (x.flatten(), data.reshape(-1)),
        (x.reshape(0, 5), data.reshape(0, 5)),
        (x.unsqueeze(0), data[None]),
        (x.flip(0), np.flip(data, 0)),
        (x.cat(x, dim=0), np.concatenate([data, data])),
        (x.stack(x), np.stack([data, data])),
        (
            x.pad(((1, 1),) + ((0, 0),) * (len(shape) - 1)),
            np.pad(data, ((1, 1),) + ((0, 0),) * (len(shape) - 1)),
        ),
        (x + 1, data + 1),
        (x.exp() * x, np.exp(data) * data),
        (x[:0], data[:0]),
        (x.repeat(*(2,) * len(shape)), np.tile(data, (2,) * len(shape))),
        (x.cast("int32"), data.astype(np.int32)),
        (x.roll(1, 0), np.roll(data, 1, 0)),
        (x.contiguous().realize(), data),
        (x.sort(0)[0], np.sort(data, 0)),
        (x.cumsum(0), np.cumsum(data, 0)),
        (Tensor([True]).where(x, 1.0), data),
    ]
    for got, want in pairs:
        assert got.shape == want.shape
        assert np.array_equal(got.numpy(), want)
        assert np.asarray(got.tolist(), np.float32).size == want.size
    assert x.numel() == 0
    assert x.nbytes() == 0
    assert not (x == x).numpy().size


def test_joins_with_parts_of_no_length() -> None:
    """They count nothing, wherever they stand; so do lists of one."""
    x, none = Tensor(counting(2, 3)), Tensor.zeros(0, 3)
    for parts in ([none, x], [x, none], [none, none, x, none, x], [x]):
        want = np.concatenate([p.numpy() for p in parts])
        assert np.array_equal(parts[0].cat(*parts[1:]).numpy(), want)
    assert none.cat(none).shape == (0, 3)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_joins_and_stacks_along_each_axis(axis: int) -> None:
    """Of parts of different lengths, views and computed values."""
    base = counting(2, 3, 4)
    x = Tensor(base).realize()
    views = [
        (x, base),
        (x.flip(1), base[:, ::-1]),
        (x * 2, base * 2),
        (x[:, :, ::-1], base[..., ::-1]),
    ]
    tensors, arrays = zip(*views, strict=True)
    assert np.array_equal(
        tensors[0].cat(*tensors[1:], dim=axis).numpy(), np.concatenate(arrays, axis)
    )
    assert np.array_equal(tensors[0].stack(*tensors[1:], dim=axis).numpy(), np.stack(arrays, axis))
    with pytest.raises(ValueError, match="cat"):
        x.cat(Tensor.zeros(3, 4, 5), dim=axis)
    with pytest.raises(ValueError, match=r"stack|shape"):
        x.stack(Tensor.zeros(2, 3, 5), dim=axis)


@pytest.mark.parametrize(("total", "size"), [(10, 3), (10, 10), (10, 11), (1, 1), (0, 2), (7, 1)])
def test_splits_and_chunks(total: int, size: int) -> None:
    """The last part is shorter; there are no more chunks than elements."""
    x = Tensor.arange(total)
    parts = x.split(size)
    assert [p.shape[0] for p in parts] == [
        min(size, total - i) for i in range(0, max(total, 1), size)
    ]
    assert [n for p in parts for n in p.tolist()] == list(range(total))
    chunks = x.chunk(size)
    assert [n for p in chunks for n in p.tolist()] == list(range(total))
    if total:
        step = -(-total // size)
        assert [p.shape[0] for p in chunks] == [min(step, total - i) for i in range(0, total, step)]


@pytest.mark.parametrize("first", [(2, 3), (6,), (3, 2, 1), (1, 6)])
@pytest.mark.parametrize(
    "pads", [(0, 0), (1, 0), (0, 2), (1, 2), (-1, 0), (0, -1), (-1, 2), (-2, -1)]
)
def test_pads_that_add_and_cut(first: tuple[int, ...], pads: tuple[int, int]) -> None:
    """Negative amounts cut; the value fills, also of other dtypes."""
    data = counting(*first)
    last = data.shape[-1]
    if last + sum(pads) < 0 or -min(pads) > last:
        with pytest.raises(ValueError, match=r"pad|PAD|SHRINK|shrink"):
            Tensor(data).pad(pads)
        return
    before, after = pads
    want = data[..., max(-before, 0) : last - max(-after, 0)]
    width = ((0, 0),) * (data.ndim - 1) + ((max(before, 0), max(after, 0)),)
    for value in (0.0, 7.0, -math.inf):
        filled = np.pad(want, width, constant_values=value)
        assert np.array_equal(Tensor(data).pad(pads, value=value).numpy(), filled)
    ints = np.pad(want.astype(np.int32), width, constant_values=-3)
    assert np.array_equal(Tensor(data).cast("int32").pad(pads, value=-3).numpy(), ints)
    bools = np.pad(want > 2, width, constant_values=True)
    assert np.array_equal((Tensor(data) > 2).pad(pads, value=True).numpy(), bools)


@pytest.mark.parametrize("function", ["exp", "cos", "reciprocal", "log", "sigmoid", "logical_not"])
def test_functions_of_padded_values(function: str) -> None:
    """What stands in the padding goes through the function: exp(0) is 1."""
    data = counting(2, 3) + 1
    x = Tensor(data).realize()
    padded = np.pad(data, ((0, 0), (1, 2)))
    got = getattr(x.pad((1, 2)), function)()
    want = getattr(Tensor(padded), function)().numpy()
    assert np.array_equal(got.numpy(), want, equal_nan=True)
    assert np.allclose(got.sum(1).numpy(), want.sum(1), rtol=1e-5, equal_nan=True)
    assert np.array_equal(got.max(1).numpy(), want.max(1), equal_nan=True)
    shrunk = getattr(x.pad((1, 2))[:, :2], function)().pad((0, 1)).numpy()
    assert np.array_equal(shrunk, np.pad(want[:, :2], ((0, 0), (0, 1))), equal_nan=True)


def test_movements_of_movements() -> None:
    """Random chains of views against NumPy, then a reduction."""
    random = np.random.default_rng(0)
    for _ in range(60):
        array = counting(2, 3, 4)
        value = Tensor(array).realize()
        for _ in range(6):
            kind = random.integers(0, 6)
            axis = int(random.integers(0, array.ndim))
            if kind == 0:
                order = random.permutation(array.ndim).tolist()
                array, value = array.transpose(order), value.permute(order)
            elif kind == 1:
                array, value = np.flip(array, axis), value.flip(axis)
            elif kind == 2:
                width = [(0, 0)] * array.ndim
                width[axis] = (int(random.integers(0, 2)), int(random.integers(0, 2)))
                array, value = np.pad(array, width), value.pad(tuple(width))
            elif kind == 3 and array.shape[axis] > 1:
                rows = [slice(None)] * array.ndim
                rows[axis] = slice(int(random.integers(0, 2)), None, int(random.integers(1, 3)))
                array, value = array[tuple(rows)], value[tuple(rows)]
            elif kind == 4:
                sizes = list(array.shape)
                last = sizes.pop()
                sizes[-1] *= last
                array, value = (
                    array.reshape(sizes) if len(sizes) > 1 else array,
                    value.reshape(sizes) if len(sizes) > 1 else value,
                )
            else:
                array, value = array[..., None], value.unsqueeze(-1)
        assert np.array_equal(value.numpy(), array)
        assert np.array_equal((value + 1).sum(0).numpy(), (array + 1).sum(0))


@pytest.mark.parametrize(
    "shapes",
    [
        ((3, 1), (1, 4)),
        ((2, 3, 4), (4,)),
        ((2, 3, 4), (3, 1)),
        ((1,), (2, 2)),
        ((), (3,)),
        ((0, 1), (1, 3)),
        ((2, 1, 4), (1, 3, 1)),
        ((1, 1), ()),
    ],
)
def test_shapes_that_meet(shapes: tuple[tuple[int, ...], ...]) -> None:
    """Arithmetic, comparisons, where, maximum and in-place writes broadcast."""
    a, b = (
        counting(*shapes[0]) if shapes[0] else np.float32(2).reshape(()),
        counting(*shapes[1]) if shapes[1] else np.float32(3).reshape(()),
    )
    x, y = Tensor(np.asarray(a)), Tensor(np.asarray(b))
    assert np.array_equal((x + y).numpy(), a + b)
    assert np.array_equal((x < y).numpy(), a < b)
    assert np.array_equal(x.maximum(y).numpy(), np.maximum(a, b))
    assert np.array_equal((x > 1).where(x, y).numpy(), np.where(a > 1, a, b))
    got = (x * y).sum().gradient(x, y)
    assert [g.shape for g in got] == [x.shape, y.shape]


def test_sizes_beyond_31_bits_are_counted_in_64() -> None:
    """Positions in a view of 2^33 elements, sums of it, and iota beyond int32; little memory."""
    wide = Tensor(np.array([[1.0], [2.0]], np.float32)).realize().expand(2, 1 << 32)
    assert wide.numel() == 1 << 33
    assert wide[1, (1 << 32) - 1].item() == 2.0
    assert wide[:, :: 1 << 30].tolist() == [[1.0] * 4, [2.0] * 4]
    flat = wide.reshape(1 << 33)
    assert flat[(1 << 32) - 1 : (1 << 32) + 1].tolist() == [1.0, 2.0]
    assert flat[-1].item() == 2.0
    line = Tensor.arange(1 << 33, dtype=dtypes.int64)
    assert line[(1 << 32) + 5].item() == (1 << 32) + 5
    assert line[-3:].tolist() == [(1 << 33) - 3, (1 << 33) - 2, (1 << 33) - 1]


@pytest.mark.parametrize(
    ("bounds", "dtype"),
    [
        ((5,), None),
        ((2, 7), None),
        ((0, 10, 3), None),
        ((10, 0, -3), None),
        ((5, 5), None),
        ((7, 2), None),
        ((0, 1, 0.1), None),
        ((1.5, 4), None),
        ((0, -2, -0.5), None),
        ((0, 5), "float16"),
        ((200, 260), "uint8"),
        ((-3, 3), "int8"),
    ],
)
def test_ranges(bounds: tuple[float, ...], dtype: str | None) -> None:
    """Counts and values of NumPy; whole numbers are the default integer."""
    want = np.arange(*bounds)
    got = Tensor.arange(*bounds, dtype=dtype) if dtype else Tensor.arange(*bounds)
    assert got.shape == want.shape
    if dtype:
        want = want.astype(dtype)
    assert np.allclose(got.numpy(), want, rtol=1e-6)
    if not dtype:
        assert got.dtype == (dtypes.int32 if want.dtype.kind == "i" else dtypes.float32)


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 50, 101])
def test_evenly_spaced_numbers_end_where_asked(steps: int) -> None:
    """Both ends are exact."""
    for low, high in ((0.0, 1.0), (-3.0, 7.0), (5.0, -5.0), (0.1, 0.1)):
        got = Tensor.linspace(low, high, steps).numpy()
        assert np.allclose(got, np.linspace(low, high, steps), atol=1e-6)
        if steps > 1:
            assert got[0] == np.float32(low)
            assert got[-1] == np.float32(high)


def test_values_made_alike_are_not_one() -> None:
    """Zeros, fulls, ranges and draws made twice can be written one by one."""
    for make in (
        lambda: Tensor.zeros(3).contiguous(),
        lambda: Tensor.full((3,), 2.0).contiguous(),
        lambda: Tensor.arange(3).float().contiguous(),
        lambda: Tensor.empty(3),
        lambda: Tensor([1.0, 2.0, 3.0]),
        lambda: Tensor.ones(3).contiguous().realize(),
        lambda: Tensor.eye(3)[0].contiguous(),
    ):
        a, b = make(), make()
        b.assign(Tensor([5.0, 5.0, 5.0]))
        a.assign(Tensor([7.0, 8.0, 9.0]))
        Tensor.realize(a, b)
        assert a.tolist() == [7, 8, 9]
        assert b.tolist() == [5, 5, 5]
    assert Tensor.rand(4).tolist() != Tensor.rand(4).tolist()
    assert Tensor.randn(2, 2).tolist() != Tensor.randn(2, 2).tolist()


def test_a_draw_is_one_value_however_often_it_is_read() -> None:
    """Reading twice, in two expressions, realized or not, sees the same numbers."""
    x = Tensor.rand(8)
    twice = (x - x).abs().max().item()
    low, high = (x * 1).tolist(), (x + 0).tolist()
    assert twice == 0
    assert low == high == x.tolist()
    mask = Tensor.rand(16) < 0.5
    y = mask.where(1.0, 0.0) + mask.logical_not().where(1.0, 0.0)
    assert y.tolist() == [1.0] * 16


@pytest.mark.parametrize("depth", [500, 5000])
def test_deep_expressions(depth: int) -> None:
    """Chains of sums, views and functions at the default recursion limit, and copies of them."""
    x = Tensor([1.0, 2.0]).realize()
    y, z, w = x, x, x
    for i in range(depth):
        y = y + 1
        z = z.reshape(2, 1) if i % 2 == 0 else z.reshape(2)
        w = (w * 0.5).maximum(x) if i % 2 else w.flip(0)
    assert y.tolist() == [1 + depth, 2 + depth]
    assert z.flatten().tolist() == [1.0, 2.0]
    assert len(w.tolist()) == 2
    assert y.shape == (2,)
    del y, z, w
    gc.collect()


def test_wide_expressions() -> None:
    """Sums and joins of a thousand inputs."""
    parts = [Tensor([float(i), 1.0]).realize() for i in range(1000)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    assert total.tolist() == [499500.0, 1000.0]
    joined = parts[0].cat(*parts[1:])
    assert joined.shape == (2000,)
    assert joined.sum().item() == 500500.0
    assert parts[0].stack(*parts[1:]).sum(0).tolist() == [499500.0, 1000.0]


def test_memory_is_given_back() -> None:
    """Values that are dropped, rewritten and computed anew leave nothing behind."""
    x = Tensor.ones(64, 64).contiguous().realize()
    step = Tensor.ones(64, 64).contiguous().realize()
    gc.collect()
    before = GlobalCounters.mem_used
    for _ in range(50):
        y = (x + step).realize()
        x.assign(y * 0.5).realize()
        del y
    for _ in range(20):
        Tensor(np.zeros((64, 64), np.float32)).realize()
    gc.collect()
    assert GlobalCounters.mem_used <= before


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copies_of_tensors(copied) -> None:
    """A deep copy has memory of its own; gradients wanted stay wanted."""
    x = Tensor([1.0, 2.0], requires_grad=True).realize()
    y = copied(x)
    assert y.tolist() == [1.0, 2.0]
    assert y.requires_grad
    if copied is copy.deepcopy:
        x.assign(x.detach() * 0).realize()
        assert y.tolist() == [1.0, 2.0]


def test_equality_of_expressions_is_by_value_not_by_name() -> None:
    """A list of Tensors searched with `is`, dicts keyed by Tensors: identity."""
    a, b = Tensor([1.0]), Tensor([1.0])
    assert {a: 1, b: 2}[a] == 1
    assert len({a, b}) == 2
    with pytest.raises(ValueError, match="one element"):
        bool(Tensor([1.0, 2.0]) == Tensor([1.0, 2.0]))


def test_all_axis_orders() -> None:
    """Transposes of a box, computed, reduced and joined."""
    data = counting(2, 3, 4)
    for order in itertools.permutations(range(3)):
        x = Tensor(data).realize().permute(order)
        want = data.transpose(order)
        assert np.array_equal((x + x).numpy(), want + want)
        assert np.array_equal(x.contiguous().numpy(), want)
        assert np.array_equal(x.sum(1).numpy(), want.sum(1))
        assert np.array_equal(x.reshape(4, 6).numpy(), want.reshape(4, 6))
        assert np.array_equal(
            x[:, ::-1].cat(x, dim=1).numpy(), np.concatenate([want[:, ::-1], want], 1)
        )


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_repeats(count: int) -> None:
    """By tile and by element, of any number."""
    data = counting(2, 3)
    x = Tensor(data)
    assert np.array_equal(x.repeat(count, 2).numpy(), np.tile(data, (count, 2)))
    assert np.array_equal(x.repeat(2, count, 1).numpy(), np.tile(data, (2, count, 1)))
    assert np.array_equal(x.repeat_interleave(count, 1).numpy(), np.repeat(data, count, 1))
    assert np.array_equal(x.repeat_interleave(count).numpy(), np.repeat(data, count))


@pytest.mark.parametrize("shift", [-7, -1, 0, 1, 3, 100])
def test_rolls(shift: int) -> None:
    """By more than the axis, over all elements, over several axes."""
    data = counting(3, 4)
    x = Tensor(data)
    assert np.array_equal(x.roll(shift).numpy(), np.roll(data, shift))
    assert np.array_equal(x.roll(shift, 1).numpy(), np.roll(data, shift, 1))
    assert np.array_equal(x.roll((shift, 1), (0, 1)).numpy(), np.roll(data, (shift, 1), (0, 1)))


@pytest.mark.parametrize("diagonal", [-5, -1, 0, 1, 2, 5])
def test_triangles_and_diagonals(diagonal: int) -> None:
    """Far outside too; NaN and infinity on the other side are gone, not multiplied by 0."""
    data = np.full((3, 4), np.nan, np.float32)
    x = Tensor(data)
    assert np.array_equal(x.tril(diagonal).numpy(), np.tril(data, diagonal), equal_nan=True)
    assert np.array_equal(x.triu(diagonal).numpy(), np.triu(data, diagonal), equal_nan=True)
    kept = counting(3, 4)
    if -3 < diagonal < 4:
        assert np.array_equal(Tensor(kept).diagonal(diagonal).numpy(), np.diagonal(kept, diagonal))


def test_windows_over_a_value_without_axes() -> None:
    """It counts as one element on an axis."""
    x = Tensor(3.0)
    assert x.unfold(0, 1, 1).tolist() == [3.0]
    assert x.unfold(-1, 0, 2).shape == (0,)
    with pytest.raises(ShapeError):
        x.unfold(0, 2, 1)


WITHOUT_AXES = [
    *("sum", "mean", "prod", "max", "min", "argmax", "argmin", "any", "all", "std", "var"),
    *("logsumexp", "softmax", "log_softmax", "cumsum", "cumprod", "cummax", "cummin", "flip"),
    *("logcumsumexp", "sort", "argsort", "squeeze", "median", "mode"),
]


@pytest.mark.parametrize("name", WITHOUT_AXES)
def test_dimensions_of_a_value_without_axes(name: str) -> None:
    """It has 0 and -1, as in PyTorch, and no others."""
    x = Tensor(3.0)
    for dim in (0, -1):
        found = getattr(x, name)(dim)
        assert (found[0] if isinstance(found, tuple) else found).shape == ()
    for dim in (1, -2):
        with pytest.raises(IndexError, match="no axis"):
            getattr(x, name)(dim)


def test_two_dimensions_of_a_value_without_axes() -> None:
    x = Tensor(3.0)
    assert x.transpose(0, -1).shape == x.swapaxes(-1, 0).shape == ()
    assert x.kthvalue(1, 0)[0].item() == x.topk(1, -1)[0].item() == 3
    for call in (lambda: x.transpose(0, 1), lambda: x.topk(1, 1), lambda: x.kthvalue(1, 2)):
        with pytest.raises(IndexError, match="no axis"):
            call()


def test_lengths_of_a_value_without_axes() -> None:
    x = Tensor(3.0)
    assert x.movedim(0, -1).shape == ()
    calls = [
        lambda: x.size(0),
        lambda: x.size(-1),
        lambda: x.roll(1, 0),
        lambda: x.repeat_interleave(2, 0),
        lambda: x.repeat_interleave([2], -1),
    ]
    for call in calls:
        with pytest.raises(IndexError, match="without axes"):
            call()
