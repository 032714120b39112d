"""Reductions, scans and sorting, as people reported them: nothing, overflow, ties, NaN, order."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tg_tensor import Tensor, dtypes

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0), (0, 0)])
def test_reductions_of_nothing(shape: tuple[int, ...]) -> None:
    """Sum 0, product 1, mean NaN, any False, all True; max, min and argmax are errors."""
    x = Tensor.zeros(shape)
    assert x.sum().item() == 0
    assert x.prod().item() == 1
    assert math.isnan(x.mean().item())
    assert math.isnan(x.var().item())
    assert not x.any().item()
    assert x.all().item()
    assert x.logsumexp().item() == -INF
    for name in ("max", "min", "argmax", "argmin"):
        with pytest.raises(ValueError, match=name):
            getattr(x, name)()


def test_reductions_over_an_empty_axis_of_some() -> None:
    """One identity an output; reducing the other axis gives nothing."""
    x = Tensor.zeros(2, 0, 3)
    assert x.sum(1).tolist() == [[0.0] * 3] * 2
    assert x.prod(1).tolist() == [[1.0] * 3] * 2
    assert x.sum(0).shape == (0, 3)
    assert x.max(0).shape == (0, 3)
    assert x.cumsum(1).shape == (2, 0, 3)
    assert x.sort(1)[0].shape == (2, 0, 3)
    assert x.softmax(1).shape == (2, 0, 3)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "bool"])
@pytest.mark.parametrize("size", [1, 17, 300, 5000])
def test_sums_of_small_integers_do_not_overflow(dtype: str, size: int) -> None:
    """They are taken in 32 bits: sum, mean, cumsum, matmul, var."""
    top = 1 if dtype == "bool" else np.iinfo(dtype).max
    data = np.full(size, top, dtype)
    x = Tensor(data).realize()
    assert x.sum().item() == top * size
    assert math.isclose(x.mean().item(), top, rel_tol=1e-6)
    assert x.cumsum(0).tolist()[-1] == top * size
    assert x.reshape(1, size).sum((0, 1)).item() == top * size
    assert x.float().var(correction=0).item() < 1e-5


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_sums_are_taken_in_more(dtype: str) -> None:
    """Counts beyond what the type can count, means of large values, norms that fit."""
    ones = Tensor.ones(4096, dtype=dtype).contiguous().realize()
    assert ones.sum().item() == 4096
    assert ones.cast("float32").cumsum(0).tolist()[-1] == 4096
    large = Tensor.full((300,), 60000.0, dtype=dtype).contiguous().realize()
    assert math.isclose(large.mean().item(), 60000, rel_tol=5e-3)
    tiny = Tensor.full((4096,), 1e-3, dtype=dtype).contiguous().realize()
    assert math.isclose(tiny.sum().item(), 4.096, rel_tol=1e-2)
    assert math.isclose(tiny.mean().item(), 1e-3, rel_tol=1e-2)
    assert np.isfinite(large.softmax().cast("float32").numpy()).all()
    assert math.isclose(ones.std(correction=0).item(), 0, abs_tol=1e-3)


@pytest.mark.parametrize("offset", [0.0, 1e4, -1e6])
def test_variance_of_values_far_from_zero(offset: float) -> None:
    """No cancellation: two passes."""
    data = (np.arange(16) % 4 + offset).astype(np.float32)
    want = data.astype(np.float64).var(ddof=1)
    assert math.isclose(Tensor(data).realize().var().item(), want, rel_tol=1e-5)
    assert math.isclose(Tensor(data).realize().std().item(), math.sqrt(want), rel_tol=1e-5)


@pytest.mark.parametrize("correction", [0, 1, 2, 0.5, 4, 5])
def test_corrections_of_the_variance(correction: float) -> None:
    """The count less the correction divides; nothing left gives infinity or NaN, no error."""
    data = np.array([[1.0, 2, 4, 8], [1, 1, 1, 1]], np.float32)
    got = Tensor(data).var(1, correction=correction).numpy()
    left = max(4 - correction, 0)
    squares = ((data - data.mean(1, keepdims=True)) ** 2).sum(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        assert np.allclose(got, squares / np.float32(left), equal_nan=True)


@pytest.mark.parametrize(
    ("values", "largest", "smallest"),
    [
        ([3, 1, 3, 1], 0, 1),
        ([5, 5, 5], 0, 0),
        ([NAN, 1.0, NAN], 0, 0),
        ([1.0, NAN, 7.0], 1, 1),
        ([-INF, -INF], 0, 0),
        ([INF, 1.0, INF], 0, 1),
        ([-0.0, 0.0], 0, 0),
        ([False, True, True], 1, 0),
        ([-(2**31), 2**31 - 1, -(2**31)], 1, 0),
        ([0, -1, -1], 0, 1),
    ],
)
def test_positions_of_extremes(values: list, largest: int, smallest: int) -> None:
    """The first of equal ones; NaN counts as both; ends of the dtype are values like others."""
    x = Tensor(values).realize()
    assert x.argmax().item() == largest
    assert x.argmin().item() == smallest
    assert x.reshape(1, -1).argmax(1).tolist() == [largest]
    assert x.reshape(-1, 1).argmin(0).tolist() == [smallest]
    assert x.argmax().dtype == dtypes.int32


@pytest.mark.parametrize("size", [1, 2, 7, 16, 33, 100])
@pytest.mark.parametrize("descending", [False, True])
def test_sorting_is_stable_and_puts_nan_last(size: int, descending: bool) -> None:
    """Equal values keep their order; NaN counts as largest."""
    data = (np.random.default_rng(size).integers(0, 4, size)).astype(np.float32)
    if size > 3:
        data[[1, 3]] = NAN
    values, places = Tensor(data).realize().sort(descending=descending)
    keys = np.where(np.isnan(data), INF, data)
    want = np.argsort(-keys if descending else keys, kind="stable")
    assert places.tolist() == want.tolist()
    assert np.array_equal(values.numpy(), data[want], equal_nan=True)
    assert Tensor(data).argsort(descending=descending).tolist() == want.tolist()


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int64", "uint64", "float16", "bool", "float64"]
)
def test_sorting_at_the_ends_of_a_dtype(dtype: str) -> None:
    """The largest and least values of the dtype are no padding."""
    if dtype == "bool":
        data = np.array([True, False, True])
    elif dtype.startswith("float"):
        data = np.array([INF, -INF, np.finfo(dtype).max, np.finfo(dtype).min, 0], dtype)
    else:
        info = np.iinfo(dtype)
        data = np.array([info.max, info.min, 1, info.max, info.min], dtype)
    x = Tensor(data).realize()
    assert np.array_equal(x.sort()[0].numpy(), np.sort(data))
    assert np.array_equal(x.sort(descending=True)[0].numpy(), np.sort(data)[::-1])
    assert x.topk(2)[0].tolist() == np.sort(data)[::-1][:2].tolist()
    assert x.topk(2, largest=False)[0].tolist() == np.sort(data)[:2].tolist()
    assert x.max().item() == data.max()
    assert x.min().item() == data.min()


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
def test_sorting_and_scans_along_each_axis(axis: int) -> None:
    """sort, topk, cumsum, cumprod, cummax of a box."""
    data = np.random.default_rng(0).permutation(24).reshape(2, 3, 4).astype(np.float32) / 8
    x = Tensor(data).realize()
    assert np.array_equal(x.sort(axis)[0].numpy(), np.sort(data, axis))
    assert np.array_equal(x.argsort(axis).numpy(), np.argsort(data, axis, kind="stable"))
    top = np.flip(np.sort(data, axis), axis).take([0, 1], axis)
    assert np.array_equal(x.topk(2, axis)[0].numpy(), top)
    assert np.allclose(x.cumsum(axis).numpy(), data.cumsum(axis))
    assert np.allclose(x.cumprod(axis).numpy(), data.cumprod(axis), rtol=1e-5)
    assert np.array_equal(x.cummax(axis)[0].numpy(), np.maximum.accumulate(data, axis))
    assert np.array_equal(x.cummin(axis)[0].numpy(), np.minimum.accumulate(data, axis))
    want = np.logaddexp.accumulate(data.astype(np.float64), axis)
    assert np.allclose(x.logcumsumexp(axis).numpy(), want, rtol=1e-5)


def test_cumulative_extremes_pass_nan_on() -> None:
    """From where it stands; positions are those of the last largest, or of the NaN."""
    x = Tensor([1.0, 3.0, NAN, 5.0, 4.0])
    assert np.array_equal(x.cummax(0)[0].numpy(), [1, 3, NAN, NAN, NAN], equal_nan=True)
    assert np.array_equal(x.cummin(0)[0].numpy(), [1, 1, NAN, NAN, NAN], equal_nan=True)
    assert np.array_equal(x.cumsum(0).numpy(), [1, 4, NAN, NAN, NAN], equal_nan=True)
    values, places = Tensor([-INF, -INF, 2.0, 1.0]).cummax(0)
    assert values.tolist() == [-INF, -INF, 2.0, 2.0]
    assert places.tolist()[2:] == [2, 2]


@pytest.mark.parametrize("size", [1, 2, 255, 256, 257, 513, 1000, 4097])
def test_scans_at_the_sizes_of_blocks(size: int) -> None:
    """Sums and largest values carried over the ends of blocks."""
    data = np.random.default_rng(size).integers(-9, 9, size).astype(np.int32)
    x = Tensor(data).realize()
    assert np.array_equal(x.cumsum(0).numpy(), data.cumsum())
    assert np.array_equal(x.cummax(0)[0].numpy(), np.maximum.accumulate(data))
    rows = Tensor(np.stack([data, -data])).realize()
    assert np.array_equal(rows.cumsum(1).numpy(), np.stack([data, -data]).cumsum(1))
    assert np.array_equal(rows.cumsum(0).numpy(), np.stack([data, -data]).cumsum(0))


@pytest.mark.parametrize(
    ("values", "want"),
    [
        ([1000.0, 1000.0], [0.5, 0.5]),
        ([-1000.0, -1000.0], [0.5, 0.5]),
        ([INF, 1.0], [NAN, NAN]),
        ([-INF, 1.0], [0, 1]),
        ([1e30, -1e30], [1, 0]),
        ([3.0], [1]),
        ([NAN, 1.0], [NAN, NAN]),
        ([88.0, 0.0], [1, 6.05e-39]),
    ],
)
def test_softmax_of_extremes(values: list[float], want: list[float]) -> None:
    """And its logarithm, which does not become -infinity by way of 0."""
    x = Tensor(values).realize()
    assert np.allclose(x.softmax().numpy(), want, rtol=1e-4, atol=1e-30, equal_nan=True)
    data = np.array(values, np.float64)
    with np.errstate(invalid="ignore"):
        shifted = data - data.max()
        logs = shifted - np.log(np.exp(shifted).sum())
    assert np.allclose(x.log_softmax().numpy(), logs, rtol=1e-4, equal_nan=True)


@pytest.mark.parametrize(
    ("values", "want"),
    [
        ([1000.0, 1000.0], 1000 + math.log(2)),
        ([-1000.0, -1000.0], -1000 + math.log(2)),
        ([-INF, -INF], -INF),
        ([INF, 1.0], INF),
        ([INF, -INF], INF),
        ([-INF, 2.0], 2.0),
        ([NAN, 1.0], NAN),
        ([5.0], 5.0),
    ],
)
def test_logsumexp_of_extremes(values: list[float], want: float) -> None:
    """No overflow, and no NaN out of infinity minus infinity."""
    x = Tensor(values).realize()
    assert np.allclose(x.logsumexp().item(), want, rtol=1e-6, equal_nan=True)
    assert np.allclose(x.logcumsumexp(0).tolist()[-1], want, rtol=1e-6, equal_nan=True)
    if len(values) == 2:
        pair = Tensor(values[0]).logaddexp(Tensor(values[1])).item()
        assert np.allclose(pair, want, rtol=1e-6, equal_nan=True)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_softmax_of_many_halves(dtype: str) -> None:
    """More elements than float16 can count: no overflow, and one rounding."""
    x = Tensor.zeros(70000, dtype=dtype).contiguous().realize()
    assert math.isclose(x.softmax().cast("float32").tolist()[0], 1 / 70000, rel_tol=5e-2)
    assert math.isclose(x.log_softmax().tolist()[0], -math.log(70000), rel_tol=5e-3)
    assert math.isclose(x.logsumexp().item(), math.log(70000), rel_tol=5e-3)
    data = np.random.default_rng(0).normal(size=40).astype(np.float32) * 4
    half = Tensor(data).cast(dtype).realize()
    kept = half.cast("float32")
    for name in ("softmax", "log_softmax"):
        once = getattr(kept, name)().cast(dtype).cast("float32").numpy()
        got = getattr(half, name)().cast("float32").numpy()
        assert np.allclose(got, once, rtol=2 ** (-10 if dtype == "float16" else -7))


def test_two_reductions_of_one_value_in_either_order() -> None:
    """Results are those of their own reduction, whichever is asked for first."""
    data = np.random.default_rng(0).normal(size=(50,)).astype(np.float32)
    x = Tensor(data).realize()
    part = x[-1:]
    for swapped in (False, True):
        total, most = x[2::3].sum(0), part.maximum(-x[2::3])
        Tensor.realize(*((most, total) if swapped else (total, most)))
        assert math.isclose(total.item(), data[2::3].sum(), rel_tol=1e-5)
        assert np.array_equal(most.numpy(), np.maximum(data[-1:], -data[2::3]))


@pytest.mark.parametrize("size", [3, 16, 65, 1000])
@pytest.mark.parametrize("batch", [1, 4])
def test_statistics_that_feed_each_other(size: int, batch: int) -> None:
    """Normalization, then softmax, then a weighted sum: reductions over one axis in a chain."""
    data = np.random.default_rng(size).normal(size=(batch, size)).astype(np.float32)
    x = Tensor(data).realize()
    y = (x - x.mean(1, keepdim=True)) / (x.var(1, keepdim=True, correction=0) + 1e-5).sqrt()
    got = ((y.softmax(1) * x).sum(1) + y.max(1)).numpy()
    d = data.astype(np.float64)
    z = (d - d.mean(1, keepdims=True)) / np.sqrt(d.var(1, keepdims=True) + 1e-5)
    e = np.exp(z - z.max(1, keepdims=True))
    want = (e / e.sum(1, keepdims=True) * d).sum(1) + z.max(1)
    assert np.allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("swap", [False, True])
def test_variance_of_a_transposed_value(swap: bool) -> None:
    """Mean and variance over an axis that was another one in memory."""
    data = np.random.default_rng(1).normal(size=(1, 2, 4)).astype(np.float32)
    x = Tensor(data).realize()
    if swap:
        x, data = x.transpose(1, 2), data.transpose(0, 2, 1)
    var, mean = x.var_mean(2, correction=0)
    assert np.allclose(var.numpy(), data.var(2), atol=1e-6)
    assert np.allclose(mean.numpy(), data.mean(2), atol=1e-6)


def test_many_axes_and_keepdim() -> None:
    """Every subset of axes, in any order, from either end."""
    data = np.random.default_rng(2).normal(size=(2, 3, 4)).astype(np.float32)
    x = Tensor(data).realize()
    for axes in [(0,), (1,), (2,), (0, 1), (2, 0), (-1, 1), (0, 1, 2), (-3, -1)]:
        for keep in (False, True):
            assert np.allclose(x.sum(axes, keep).numpy(), data.sum(axes, keepdims=keep), atol=1e-5)
            assert np.array_equal(x.max(axes, keep).numpy(), data.max(axes, keepdims=keep))
    with pytest.raises(ValueError, match="twice"):
        x.sum((0, -3))


def test_the_mean_of_many() -> None:
    """A million values: the error does not grow with the count, nor does the count round."""
    x = Tensor.full((1 << 20,), 0.1).contiguous().realize()
    assert math.isclose(x.mean().item(), 0.1, rel_tol=1e-6)
    assert math.isclose(x.sum().item(), 0.1 * (1 << 20), rel_tol=1e-5)
    assert Tensor.ones(1 << 20, dtype="bool").contiguous().realize().sum().item() == 1 << 20


@pytest.mark.parametrize("name", ["any", "all"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "float16", "uint64"])
def test_truth_of_numbers(name: str, dtype: str) -> None:
    """Zero is false; NaN, negative numbers and fractions are true."""
    for values in ([0, 0, 0], [0, 3, 0], [1, 1, 1]):
        data = np.array(values).astype(dtype)
        assert getattr(Tensor(data).realize(), name)().item() == getattr(data, name)()
    if dtype.startswith("float"):
        assert Tensor([NAN, 0.5, -0.25], dtype=dtype).all().item()


@pytest.mark.parametrize(("shape", "axis"), [((3, 5), 0), ((3, 5), 1), ((40, 3), 0), ((2, 70), 1)])
def test_products_along_an_axis(shape: tuple[int, int], axis: int) -> None:
    """Signs and zeros."""
    data = np.random.default_rng(0).choice([-1.0, 1.0, 2.0, 0.5], shape).astype(np.float32)
    x = Tensor(data).realize()
    assert np.allclose(x.prod(axis).numpy(), data.prod(axis), rtol=1e-5)
    data[0, 0] = 0
    assert np.allclose(Tensor(data).prod(axis).numpy(), data.prod(axis), rtol=1e-5)


@pytest.mark.parametrize("width", [1, 3, 8, 32, 64, 70, 256])
def test_a_running_sum_starts_anew_in_each_part_of_a_wider_loop(width: int) -> None:
    """Positions counted by a mask, and the rows of a table at them: one kernel."""
    mask = np.ones((2, 16), dtype=np.int64)
    mask[1, 10:] = 0
    table = np.arange(40 * width, dtype=np.float32).reshape(40, width)
    given = Tensor(mask)
    found = Tensor(table)[given.cumsum(axis=1) * given + 1]
    np.testing.assert_array_equal(found.numpy(), table[mask.cumsum(1) * mask + 1])
    repeated = given.cumsum(axis=1).reshape(2, 16, 1).expand(2, 16, width).contiguous()
    wanted = np.broadcast_to(mask.cumsum(1)[..., None], (2, 16, width))
    np.testing.assert_array_equal(repeated.numpy(), wanted)


@pytest.mark.parametrize("device", ["CPU", "PYTHON"])
def test_a_running_sum_of_one_value_repeated(device: str) -> None:
    value = Tensor(np.float64(2.0), device=device).realize()
    np.testing.assert_array_equal(value.reshape(1).expand(3).cumsum(0).numpy(), [2, 4, 6])
    rows = Tensor(np.arange(4.0), device=device).realize().reshape(4, 1).expand(4, 70)
    np.testing.assert_array_equal(rows.cumsum(1).numpy()[:, -1], [0, 70, 140, 210])


def test_gradients_through_a_sort_of_nothing() -> None:
    shift = Tensor(np.float64(1.5), requires_grad=True)
    (shift + Tensor(np.zeros((0, 2)))).sort(1)[0].sum().backward()
    assert shift.grad is not None
    assert shift.grad.item() == 0
