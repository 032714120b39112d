"""The twelve points of meaning that every part agrees on, swept over devices and optimizations.

Each point is tried on constants (which the folder computes), on buffers of lengths that hit
scalar tails and vector bodies, on a compiled device and on the interpreter, with optimizations
and without.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tg_tensor import Context, Tensor, TinyJit, dtypes
from tg_uop.errors import TgError

Array = npt.NDArray[Any]

LENGTHS = (1, 3, 8, 17)
INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
INF, NAN = math.inf, math.nan


@pytest.fixture(params=["CPU", "CPU-NOOPT", "PYTHON", "PYTHON-NOOPT"])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """A device, with optimizations or without."""
    name, _, plain = request.param.partition("-")
    with Context(NOOPT=int(bool(plain))):
        yield name


def check(pending: Sequence[tuple[Tensor, object]]) -> None:
    """Everything computed in one go, then compared; NaN equals NaN."""
    tensors = [t for t, _ in pending]
    tensors[0].realize(*tensors[1:])
    for tensor, wanted in pending:
        np.testing.assert_array_equal(tensor.numpy(), np.asarray(wanted), strict=False)


def swept(listed: Sequence[Any], dtype: str, device: str) -> Iterator[tuple[Tensor, Array]]:
    """The numbers as buffers of every length, in rotation, and each as a constant."""
    for shift, length in enumerate(LENGTHS):
        array = np.resize(np.roll(np.array(listed, dtype), -shift), length)
        yield Tensor(array, device=device), array
    whole = np.array(listed, dtype)
    yield Tensor(whole, device=device), whole
    for value in whole:
        yield Tensor(value.item(), device=device, dtype=dtype), value


def over(
    function: Callable[[Tensor], Tensor],
    oracle: Callable[[Array], object],
    listed: Sequence[Any],
    dtype: str,
    device: str,
) -> None:
    """A function of one value, swept."""
    with np.errstate(all="ignore"):
        check([(function(t), oracle(a)) for t, a in swept(listed, dtype, device)])


def pairs(left: Sequence[Any], right: Sequence[Any], dtype: str) -> tuple[Array, Array]:
    """Every pair of two lists."""
    first, second = np.meshgrid(np.array(left, dtype), np.array(right, dtype))
    return first.reshape(-1), second.reshape(-1)


# *** 1: float to integer ***

AWKWARD = [1.9, -1.9, 0.5, -0.5, 255.7, 256.0, -1.0, 3e9, -3e9, 1e20, -1e20, INF, -INF, NAN, -0.0]


def truncated(value: float, dtype: str) -> int:
    """Truncation that wraps through int64, as conversion on x86 does; NaN is 0."""
    if math.isnan(value):
        return 0
    limit = 64 if dtype == "uint64" else 63
    whole = int(value) if abs(value) < math.inf else 2**64
    if not -(2**63) <= whole < 2**limit:
        whole = -(2**63)
    bits = np.iinfo(dtype).bits
    wrapped = whole % 2**bits
    return wrapped - 2**bits if wrapped > np.iinfo(dtype).max else wrapped


def all_truncated(array: Array, dtype: str) -> Array:
    """`truncated` of every element."""
    return np.vectorize(lambda v: truncated(float(v), dtype), otypes=[dtype])(array)


@pytest.mark.parametrize("source", ["float32", "float64"])
def test_1_floats_become_integers(device: str, source: str) -> None:
    for target in INTS:
        convert = partial(all_truncated, dtype=target)
        over(lambda t, target=target: t.cast(target), convert, AWKWARD, source, device)


# *** 2: NaN ***

HOLED = [1.0, NAN, 3.0, -2.0, NAN, 0.0]


def test_2_nan_propagates(device: str) -> None:
    for name in ("max", "min"):
        over(getattr(Tensor, name), getattr(np, name), HOLED, "float32", device)
    for name in ("argmax", "argmin"):
        over(getattr(Tensor, name), getattr(np, name), HOLED, "float32", device)
    over(lambda t: t.clip(-1, 2), lambda a: np.clip(a, -1, 2), HOLED, "float32", device)
    over(Tensor.relu, lambda a: np.maximum(a, 0), HOLED, "float32", device)
    over(lambda t: t.maximum(0.5), lambda a: np.maximum(a, 0.5), HOLED, "float32", device)
    over(lambda t: t.minimum(0.5), lambda a: np.minimum(a, 0.5), HOLED, "float32", device)


def test_2_nan_of_pairs(device: str) -> None:
    x, y = pairs([1.0, NAN, -2.0], [NAN, 0.0, INF], "float32")
    left, right = Tensor(x, device=device), Tensor(y, device=device)
    check(
        [
            (left.maximum(right), np.maximum(x, y)),
            (left.minimum(right), np.minimum(x, y)),
            (left < right, x < y),
            (left == right, x == y),
            (left != right, x != y),
            (left >= right, x >= y),
        ]
    )


def test_2_nan_sorts_last_and_counts_as_largest(device: str) -> None:
    for tensor, array in swept(HOLED, "float32", device):
        if not array.ndim:
            continue
        order = np.argsort(array, kind="stable")
        values, places = tensor.sort()
        check([(values, array[order]), (places, order)])
        top = tensor.topk(1)
        first = np.flatnonzero(np.isnan(array))
        wanted = first[0] if len(first) else np.argmax(array)
        assert top[1].item() == wanted


# *** 3: ties ***

EQUAL = [2.0, 1.0, 2.0, 1.0]


def test_3_the_first_of_equal_values_wins(device: str) -> None:
    over(Tensor.argmax, np.argmax, EQUAL, "float32", device)
    over(Tensor.argmin, np.argmin, EQUAL, "float32", device)
    over(Tensor.argmax, np.argmax, [5, 5, 1, 5], "int8", device)
    over(Tensor.argmax, np.argmax, [False, True, True], "bool", device)
    for length in LENGTHS:
        array = np.resize(np.array(EQUAL, np.float32), length)
        tensor = Tensor(array, device=device)
        rising, falling = np.argsort(array, kind="stable"), np.argsort(-array, kind="stable")
        check(
            [
                (tensor.argsort(), rising),
                (tensor.argsort(descending=True), falling),
                (tensor.topk(length)[1], falling),
            ]
        )


def test_3_gradients_of_equal_values_are_shared(device: str) -> None:
    for length in LENGTHS:
        x = Tensor(np.full(length, 2.0, np.float32), device=device)
        y = Tensor(np.full(length, 2.0, np.float32), device=device)
        check(
            [
                (x.max().gradient(x)[0], np.full(length, np.float32(1) / np.float32(length))),
                (x.maximum(y).sum().gradient(x)[0], np.full(length, 0.5)),
                (x.minimum(y).sum().gradient(y)[0], np.full(length, 0.5)),
            ]
        )


# *** 4: division ***


def quotient(left: int, right: int, dtype: str) -> int:
    """The quotient rounded toward zero, wrapped; 0 for a divisor of 0."""
    if right == 0:
        return 0
    size = abs(left) // abs(right)
    bits = np.iinfo(dtype).bits
    wrapped = (size if (left < 0) == (right < 0) else -size) % 2**bits
    return wrapped - 2**bits if wrapped > np.iinfo(dtype).max else wrapped


@pytest.mark.parametrize("dtype", INTS)
def test_4_integer_division(device: str, dtype: str) -> None:
    lowest, highest = np.iinfo(dtype).min, np.iinfo(dtype).max
    signed = [v for v in (0, 7, -7, 1, -1, 6, lowest, highest) if lowest <= v]
    x, y = pairs(signed, [v for v in (0, 2, -2, 3, -1, highest) if lowest <= v], dtype)
    # the one quotient that does not fit wraps, which NumPy says with a warning
    safe = np.where(y == 0, 1, y).astype(dtype)
    with np.errstate(all="ignore"):
        floored, remainder = x // safe, x % safe
    wanted = [np.where(y == 0, 0, floored), np.where(y == 0, 0, remainder)]
    truncated_quotient = np.array(
        [quotient(int(a), int(b), dtype) for a, b in zip(x, y, strict=True)], dtype
    )
    pending: list[tuple[Tensor, object]] = []
    for length in (*LENGTHS, len(x)):
        a, b = Tensor(x[:length], device=device), Tensor(y[:length], device=device)
        pending += [(a // b, wanted[0][:length]), (a % b, wanted[1][:length])]
        pending.append((a.idiv(b), truncated_quotient[:length]))
    for i in range(0, len(x), 5):
        a, b = (Tensor(v.item(), device=device, dtype=dtype) for v in (x[i], y[i]))
        pending += [
            (a // b, wanted[0][i]),
            (a % b, wanted[1][i]),
            (a.idiv(b), truncated_quotient[i]),
        ]
    check(pending)


def test_4_a_value_by_itself_does_not_fold(device: str) -> None:
    over(lambda t: t // t, lambda a: np.where(a == 0, 0, 1), [0, 3, -2], "int32", device)
    over(lambda t: t % t, lambda a: a * 0, [0, 3, -2], "int32", device)
    over(lambda t: t / t, lambda a: a / a, [0.0, 2.0, INF, NAN, -0.0], "float32", device)
    over(lambda t: t * 0, lambda a: a * 0, [0.0, 2.0, INF, NAN], "float32", device)
    over(lambda t: t - t, lambda a: a - a, [0.0, 2.0, INF, NAN], "float32", device)


def test_4_floats_by_zero(device: str) -> None:
    x, y = pairs([1.0, -1.0, 0.0, NAN, INF], [0.0, -0.0, 2.0], "float32")
    with np.errstate(all="ignore"):
        wanted = x / y
    check([(Tensor(x, device=device) / Tensor(y, device=device), wanted)])
    check(
        [
            (Tensor(float(a), device=device) / Tensor(float(b), device=device), w)
            for a, b, w in zip(x, y, wanted, strict=True)
        ]
    )


# *** 5: defaults, widths, accumulation ***


def test_5_default_dtypes(device: str) -> None:
    assert Tensor([1.5], device=device).dtype is dtypes.float32
    assert Tensor([1], device=device).dtype is dtypes.int32
    assert (Tensor([1], device=device) / 2).dtype is dtypes.float32
    before = dtypes.default_float, dtypes.default_int
    dtypes.default_float, dtypes.default_int = dtypes.float16, dtypes.int64
    try:
        assert Tensor([1.5], device=device).dtype is dtypes.float16
        assert Tensor([1], device=device).dtype is dtypes.int64
        assert Tensor([1.0], device=device).argmax().dtype is dtypes.int64
        assert Tensor.rand(2, device=device).dtype is dtypes.float16
        assert (Tensor([1], device=device) / 2).dtype is dtypes.float16
        assert Tensor.zeros(2, device=device).numpy().dtype == np.float16
    finally:
        dtypes.default_float, dtypes.default_int = before


def test_5_integers_wrap_at_their_width(device: str) -> None:
    for dtype in INTS:
        limits = np.iinfo(dtype)
        ends = [limits.max, limits.min, 1, limits.max - 1]
        one = np.array(1, dtype)
        over(lambda t: t + 1, lambda a, one=one: a + one, ends, dtype, device)
        over(lambda t: t - 2, lambda a, one=one: a - one - one, ends, dtype, device)
        over(lambda t: t * 3, lambda a, one=one: a * (one + one + one), ends, dtype, device)
        over(lambda t: -t, lambda a, one=one: (a ^ (one - one - one)) + one, ends, dtype, device)


def test_5_sums_of_narrow_numbers_are_wide(device: str) -> None:
    kinds = {"int8": "int32", "int16": "int32", "uint8": "uint32", "uint16": "uint32"}
    for dtype, wide in kinds.items():
        highest = np.iinfo(dtype).max
        for length in LENGTHS:
            tensor = Tensor(np.full(length, highest, dtype), device=device)
            assert tensor.sum().numpy().dtype == wide
            check([(tensor.sum(), highest * length), (tensor.cumsum()[-1], highest * length)])
    for length in LENGTHS:
        truths = Tensor(np.ones(length, np.bool_), device=device)
        assert truths.sum().dtype is dtypes.int32
        check([(truths.sum(), length)])


def test_5_half_sums_accumulate_in_float32(device: str) -> None:
    ones = Tensor(np.ones(4100, np.float16), device=device)
    tenths = Tensor(np.full(4100, 0.1, np.float16), device=device)
    check([(ones.sum(), 4100), (ones.mean(), 1), (ones.var(), 0)])
    assert abs(tenths.mean().item() - 0.1) < 1e-4
    large = Tensor(np.full(4096, 30000, np.float16), device=device)
    check([(large.mean(), 30000), (large.sum(dtype="float32"), 30000 * 4096)])


# *** 6 and 7: positions ***


def test_6_positions_from_the_end_and_out_of_range(device: str) -> None:
    for length in LENGTHS:
        array = np.arange(1, length + 1, dtype=np.float32)
        tensor = Tensor(array, device=device)
        indices = Tensor(np.array([0, -1, length, -length - 1, 100], np.int32), device=device)
        check([(tensor[indices], [array[0], array[-1], 0, 0, 0])])
        with pytest.raises(IndexError):
            tensor[length]
        with pytest.raises(IndexError):
            tensor[-length - 1]
        written = Tensor(array.copy(), device=device).realize()
        written[indices] = 9.0
        wanted = array.copy()
        wanted[[0, -1]] = 9
        check([(written, wanted)])


def test_7_the_last_of_equal_positions_stays(device: str) -> None:
    places = np.array([1, 0, 1, 2, 1, 0], np.int32)
    values = np.arange(6, dtype=np.float32) + 10
    tensor = Tensor(np.zeros(4, np.float32), device=device).realize()
    tensor[Tensor(places, device=device)] = Tensor(values, device=device)
    base = Tensor(np.zeros(4, np.float32), device=device)
    index, source = Tensor(places, device=device), Tensor(values, device=device)
    added = np.zeros(4, np.float32)
    np.add.at(added, places, values)
    check(
        [
            (tensor, [15, 14, 13, 0]),
            (base.scatter(0, index, source), [15, 14, 13, 0]),
            (base.scatter(0, index, source, reduce="add"), added),
        ]
    )


# *** 8: lazy values ***


def test_8_a_lazy_value_is_of_when_it_was_built(device: str) -> None:
    for length in LENGTHS:
        array = np.arange(length, dtype=np.float32)
        tensor = Tensor(array, device=device).realize()
        doubled, part = tensor * 2, tensor[: max(length // 2, 1)] + 1
        tensor.assign(tensor + 100)
        tensor[0] = -5
        later = tensor + 0
        after = array + 100
        after[0] = -5
        check([(later, after), (doubled, array * 2), (part, array[: max(length // 2, 1)] + 1)])


def test_8_overlapping_copies_read_first(device: str) -> None:
    for length in (3, 8, 17):
        array = np.arange(length, dtype=np.float32)
        forward, backward = Tensor(array, device=device).realize(), Tensor(array, device=device)
        backward = backward.contiguous().realize()
        forward[1:] = forward[:-1]
        backward[:-1] = backward[1:]
        check(
            [
                (forward, np.concatenate((array[:1], array[:-1]))),
                (backward, np.concatenate((array[1:], array[-1:]))),
            ]
        )


# *** 9: gradients ***


def test_9_branches_not_taken_leave_no_nan(device: str) -> None:
    for length in LENGTHS:
        array = np.resize(np.array([0.0, -1.0, 4.0], np.float32), length)
        x = Tensor(array, device=device)
        rooted = (x > 0).where(x.sqrt(), 0).sum().gradient(x)[0]
        clamped = x.clip(0.25, 9).sqrt().sum().gradient(x)[0]
        logged = (x > 0).where(x.log(), x).sum().gradient(x)[0]
        inside = (array >= 0.25) & (array <= 9)
        safe = np.where(array > 0, array, 1)
        check(
            [
                (rooted, np.where(array > 0, 0.5 / np.sqrt(safe), 0)),
                (clamped, np.where(inside, 0.5 / np.sqrt(safe), 0)),
                (logged, np.where(array > 0, 1 / safe, 1)),
            ]
        )


def test_9_products_do_not_divide(device: str) -> None:
    cases = {(2.0, 0.0, 3.0): [0, 6, 0], (0.0, 0.0, 3.0): [0, 0, 0], (2.0, 3.0, 4.0): [12, 8, 6]}
    pending = []
    for listed, wanted in cases.items():
        x = Tensor(list(listed), device=device)
        pending.append((x.prod().gradient(x)[0], np.array(wanted, np.float32)))
    check(pending)


# *** 10: random numbers ***


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_10_random_numbers_lie_below_one(device: str, dtype: str) -> None:
    Tensor.manual_seed(3)
    drawn = Tensor.rand(400, dtype=dtype, device=device).numpy()
    assert drawn.min() >= 0
    assert drawn.max() < 1
    assert 0.4 < drawn.astype(np.float64).mean() < 0.6


def test_10_one_seed_gives_one_stream(device: str) -> None:
    def lists(step: Callable[[], Tensor]) -> list[object]:
        Tensor.manual_seed(11)
        return [step().tolist() for _ in range(4)]

    plain = lists(lambda: Tensor.rand(17, device=device))
    captured = lists(TinyJit(lambda: Tensor.rand(17, device=device).realize()))
    assert plain == captured
    assert len({str(drawn) for drawn in plain}) == 4


# *** 11: reductions of nothing ***


def test_11_reductions_of_nothing(device: str) -> None:
    for shape in ((0,), (0, 3), (3, 0)):
        empty = Tensor(np.zeros(shape, np.float32), device=device)
        check([(empty.sum(), 0), (empty.prod(), 1), (empty.mean(), NAN)])
        for name in ("max", "min", "argmax", "argmin"):
            with pytest.raises(TgError):
                getattr(empty, name)()
    rows = Tensor(np.zeros((0, 3), np.float32), device=device)
    check([(rows.sum(0), [0, 0, 0]), (rows.prod(0), [1, 1, 1]), (rows.mean(0), [NAN] * 3)])
    check([(rows.any(), False), (rows.all(), True)])


# *** 12: index arithmetic ***


def test_12_positions_beyond_32_bits(device: str) -> None:
    far = 2**31 + 5
    counted = Tensor.arange(far, dtype="int64", device=device)
    check([(counted[-3:], [far - 3, far - 2, far - 1]), (counted[2**31], 2**31)])
    for length in LENGTHS:
        array = np.arange(length, dtype=np.int32)
        spread = Tensor(array, device=device).reshape(1, length).expand(2**31 // length + 9, length)
        check(
            [
                (spread[-1], array),
                (spread.flatten()[2**31 : 2**31 + 2], (np.arange(2**31, 2**31 + 2) % length)),
            ]
        )
