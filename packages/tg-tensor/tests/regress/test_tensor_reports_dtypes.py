"""Number types, as people reported them: promotion, casts, wrapping, rounding, NaN."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tg_tensor import Tensor, dtypes

INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
SIZES = [1, 3, 8, 17]
EDGES = [0.0, -0.0, 0.5, -0.5, 1.9, -1.9, 127.6, 128.0, -129.5, 255.9, 256.0, 300.5, -1.0, 65536.5]


def wrapped(value: float, dtype: str) -> int:
    """Truncated, then wrapped at the width; 0 for NaN."""
    if math.isnan(value):
        return 0
    bits = np.dtype(dtype).itemsize * 8
    found = int(value) % 2**bits
    return found - 2**bits if dtype[0] == "i" and found >= 2 ** (bits - 1) else found


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("size", SIZES)
def test_floats_become_integers_by_truncation_and_wrapping(dtype: str, size: int) -> None:
    """The same from memory, of every vector length, and from constants."""
    values = np.resize(np.array(EDGES, np.float32), size)
    want = [wrapped(float(v), dtype) for v in values]
    assert Tensor(values).realize().cast(dtype).tolist() == want
    assert [Tensor(float(v)).cast(dtype).item() for v in values] == want


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("source", FLOATS)
def test_nan_becomes_integer_zero(dtype: str, source: str) -> None:
    """In constants and in memory."""
    x = Tensor([math.nan, 2.0], dtype=source)
    assert x.realize().cast(dtype).tolist() == [0, 2]
    assert Tensor(math.nan, dtype=source).cast(dtype).item() == 0


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 0.1, -0.0, 0.0, 1e-40, 3.0])
@pytest.mark.parametrize("source", FLOATS)
def test_floats_as_truth(value: float, source: str) -> None:
    """Everything but zero is true, also what is below 1, NaN and subnormal numbers."""
    stored = Tensor([value], dtype=source)
    want = stored.tolist()[0] != 0
    assert stored.realize().cast("bool").tolist() == [want]
    assert stored.realize().bool().any().item() == want
    assert Tensor(value, dtype=source).cast("bool").item() == want


@pytest.mark.parametrize("dtype", INTS)
def test_integers_wrap_at_their_width(dtype: str) -> None:
    """Sums, products and negation at the ends; an intermediate is not wider than its dtype."""
    info = np.iinfo(dtype)
    data = np.array([info.max, info.min, info.max // 2 + 1, 3], dtype)
    x = Tensor(data).realize()
    with np.errstate(over="ignore"):
        one = np.array(1, dtype)
        assert np.array_equal((x + 1).numpy(), data + one)
        assert np.array_equal((x * 3).numpy(), data * np.array(3, dtype))
        assert np.array_equal((x + x).cast("int64").numpy(), (data + data).astype(np.int64))
        assert np.array_equal((x + x - x).numpy(), data)
        assert np.array_equal(((x + 1) > x).numpy(), (data + one) > data)
        assert np.array_equal((-x).numpy(), -data)
        assert np.array_equal((x - 1 < 0).numpy(), (data - one) < 0)
        assert np.array_equal((x * x // 2).numpy(), (data * data) // np.array(2, dtype))


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("divisor", [1, 2, 3, 7, 10, 127, -1, -3])
def test_integer_division_floors(dtype: str, divisor: int) -> None:
    """`//` and `%` as Python's, for every dividend that is an edge; by 0 they give 0."""
    info = np.iinfo(dtype)
    if divisor < info.min:
        return
    near = [0, 1, 2, 5, 100, info.max, info.max - 1, info.min, info.min + 1]
    values = [v for v in [*near, -1, -2, -7] if info.min <= v <= info.max]
    x = Tensor(np.array(values, dtype)).realize()
    ints = [int(v) for v in values]
    quotients = [wrapped_int(v // divisor, dtype) for v in ints]
    assert (x // divisor).tolist() == quotients
    assert (x % divisor).tolist() == [v % divisor for v in ints]
    d = Tensor(np.array([divisor], dtype)).realize()
    assert (x // d).tolist() == quotients
    assert (x % d).tolist() == [v % divisor for v in ints]
    assert (x // 0).tolist() == [0] * len(values)
    assert (x % (d - d)).tolist() == [0] * len(values)


def wrapped_int(value: int, dtype: str) -> int:
    """An integer at the width of a dtype."""
    return int(np.array(value % 2**64, np.uint64).astype(dtype))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (7.0, 2.0),
        (-7.0, 2.0),
        (7.0, -2.0),
        (1e30, 1.5),
        (1.0, 1e-8),
        (0.0, 1.0),
        (-0.0, 1.0),
        (12.0, math.inf),
        (-12.0, math.inf),
        (1.0, 0.1),
        (6.0, 0.1),
        (-1e-20, 1.0),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_float_division_with_remainder(left: float, right: float, dtype: str) -> None:
    """Quotients and remainders of NumPy, with its signs of zero."""
    a, b = np.array([left], dtype), np.array([right], dtype)
    x, y = Tensor(a).realize(), Tensor(b).realize()
    assert np.array_equal((x % y).numpy(), np.remainder(a, b))
    assert np.array_equal((x // y).numpy(), np.floor_divide(a, b))
    assert np.array_equal(x.fmod(y).numpy(), np.fmod(a, b))


@pytest.mark.parametrize(
    ("left", "right", "want"),
    [
        ("bool", "int8", "int8"),
        ("uint8", "int8", "int16"),
        ("uint8", "int16", "int16"),
        ("uint16", "int16", "int32"),
        ("uint32", "int32", "int64"),
        ("int64", "float16", "float16"),
        ("int32", "float32", "float32"),
        ("uint64", "float32", "float32"),
        ("float16", "bfloat16", "float32"),
        ("float16", "float32", "float32"),
        ("bfloat16", "float64", "float64"),
        ("bool", "float16", "float16"),
    ],
)
def test_two_dtypes_meet(left: str, right: str, want: str) -> None:
    """In both orders, in arithmetic, where, cat, stack, maximum and matmul."""
    a, b = Tensor.ones(2, 2, dtype=left), Tensor.ones(2, 2, dtype=right)
    for x, y in ((a, b), (b, a)):
        wanted = getattr(dtypes, want)
        assert (x + y).dtype == wanted
        assert Tensor([True, False]).where(x, y).dtype == wanted
        assert x.cat(y).dtype == wanted
        assert x.stack(y).dtype == wanted
        assert x.maximum(y).dtype == wanted
        assert (x @ y).dtype == wanted


@pytest.mark.parametrize("dtype", [*INTS, *FLOATS])
def test_python_numbers_are_weak(dtype: str) -> None:
    """They take the dtype of the Tensor where it has room for their kind."""
    x = Tensor([1, 2], dtype=dtype)
    kind = x.dtype
    for value in (x + 1, 1 - x, x * 2, x + True, x.maximum(1), x**2):
        assert value.dtype == kind
    for value in (x + 1.5, x * 0.5, 2.5 - x, x / 2):
        assert value.dtype == (kind if kind.is_float else dtypes.default_float)
    assert (x < 1.5).dtype == dtypes.bool


@pytest.mark.parametrize("dtype", INTS)
def test_comparisons_with_numbers_that_do_not_fit(dtype: str) -> None:
    """An integer beyond the dtype, a fraction, NaN: compared by value, not after wrapping."""
    x = Tensor([1, 2, 3], dtype=dtype)
    assert (x < 2.5).tolist() == [True, True, False]
    assert (x == 1.5).tolist() == [False] * 3
    assert (x < 2**70).tolist() == [True] * 3
    assert (x > -(2**70)).tolist() == [True] * 3
    assert (x == 257).tolist() == [False] * 3
    assert (x > -1).tolist() == [True] * 3
    assert (x < math.nan).tolist() == [False] * 3
    assert (x != math.nan).tolist() == [True] * 3


@pytest.mark.parametrize(
    "values", [[2**63, 2**64 - 1, 0], [2**63 - 1, 2**53 + 1, 1], [10**19, 12345678901234567, 7]]
)
def test_large_unsigned_integers_keep_all_their_bits(values: list[int]) -> None:
    """Made, moved, added, compared, divided, shifted and read back."""
    data = np.array(values, np.uint64)
    x = Tensor(data).realize()
    assert x.tolist() == values
    assert (x + 0).tolist() == values
    assert (x // 3).tolist() == [v // 3 for v in values]
    assert (x % 1000).tolist() == [v % 1000 for v in values]
    assert (x >> 1).tolist() == [v >> 1 for v in values]
    assert x.max().item() == max(values)
    assert x.min().item() == min(values)
    assert x.argmax().item() == values.index(max(values))
    assert x.sort()[0].tolist() == sorted(values)
    assert (x > 5).tolist() == [v > 5 for v in values]
    assert np.allclose(x.cast("float64").numpy(), data.astype(np.float64), rtol=1e-15)
    assert np.allclose(x.cast("float32").numpy(), data.astype(np.float32), rtol=1e-7)


@pytest.mark.parametrize("size", SIZES)
def test_large_integers_as_floats_are_rounded_once(size: int) -> None:
    """int64 and uint64 to float32 and float64, to nearest."""
    random = np.random.default_rng(size)
    data = random.integers(-(2**62), 2**62, size)
    for values in (data, np.abs(data).astype(np.uint64) * 2 + 1):
        for dtype in ("float32", "float64"):
            got = Tensor(values).realize().cast(dtype).numpy()
            assert np.array_equal(got, values.astype(dtype))


@pytest.mark.parametrize("size", SIZES)
def test_bfloat16_rounds_to_nearest_even(size: int) -> None:
    """Ties, overflow, subnormal numbers and NaN, as ml_dtypes."""
    special = [1.00390625, 1.01171875, 3.4e38, -3.4e38, 1e-40, math.nan, math.inf, -0.0, 0.1, 65504]
    data = np.resize(np.array(special, np.float32), size)
    got = Tensor(data).realize().cast("bfloat16").cast("float32").numpy()
    ml_dtypes = pytest.importorskip("ml_dtypes")
    want = data.astype(ml_dtypes.bfloat16).astype(np.float32)
    assert np.array_equal(got, want, equal_nan=True)


@pytest.mark.parametrize("size", SIZES)
def test_float16_overflows_and_rounds(size: int) -> None:
    """65520 becomes infinity, 2049 an even number, 1e-8 zero."""
    special = [65504, 65519, 65520, -70000, 2049, 2051, 1e-8, 6e-8, math.nan, -math.inf]
    data = np.resize(np.array(special, np.float32), size)
    got = Tensor(data).realize().cast("float16").numpy()
    with np.errstate(over="ignore"):
        assert np.array_equal(got, data.astype(np.float16), equal_nan=True)


@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_in_comparisons(dtype: str) -> None:
    """Unequal to itself, neither less nor more; max, min, clip and relu pass it on."""
    x = Tensor([math.nan, 1.0], dtype=dtype).realize()
    assert (x == x).tolist() == [False, True]
    assert (x != x).tolist() == [True, False]
    assert (x < 2).tolist() == [False, True]
    assert (x >= 0).tolist() == [False, True]
    assert (x > 0).logical_not().tolist() == [True, False]
    for value in (x.maximum(0), x.minimum(5), x.clip(0, 1), x.relu(), x.relu6(), x.abs()):
        assert math.isnan(value.tolist()[0])
    for value in (x.max(), x.min(), x.sum(), x.mean(), x.prod()):
        assert math.isnan(value.item())
    assert x.isnan().tolist() == [True, False]


def test_signs_of_zero() -> None:
    """Kept by negation, products, copies and abs; a folded x + 0 or x * 1 does not change them."""
    x = Tensor([-0.0, 0.0]).realize()
    for value, want in (
        (x, [True, False]),
        (-x, [False, True]),
        (x * 1, [True, False]),
        (x * -1, [False, True]),
        (x + -0.0, [True, False]),
        (x + 0, [False, False]),
        (x - 0.0, [True, False]),
        (0.0 - x, [False, False]),
        (x.abs(), [False, False]),
        (x.cast("float16").cast("float32"), [True, False]),
        (x / 2, [True, False]),
        (x.reshape(2, 1).contiguous().flatten(), [True, False]),
        (x.sqrt(), [True, False]),
        (x.round(), [True, False]),
    ):
        assert np.signbit(value.numpy()).tolist() == want


@pytest.mark.parametrize(
    ("make", "want"),
    [
        (lambda x: x * 0, [math.nan, math.nan, 0]),
        (lambda x: x - x, [math.nan, math.nan, 0]),
        (lambda x: x / x, [math.nan, math.nan, 1]),
        (lambda x: x * 0 + 1, [math.nan, math.nan, 1]),
        (lambda x: (x == x).cast("float32"), [1, 0, 1]),
        (lambda x: x**0, [1, 1, 1]),
        (lambda x: x.maximum(x), [math.inf, math.nan, 2]),
        (lambda x: (x + 1e30) - 1e30, [math.inf, math.nan, 0]),
        (lambda x: x * 1e30 * 1e-30, [math.inf, math.nan, 2]),
    ],
)
def test_simplification_respects_infinity_nan_and_rounding(make, want: list[float]) -> None:
    """What holds for numbers on paper is not applied where floats differ."""
    x = Tensor([math.inf, math.nan, 2.0]).realize()
    assert np.array_equal(make(x).numpy(), np.array(want, np.float32), equal_nan=True)


@pytest.mark.parametrize(
    ("op", "want"),
    [
        (lambda a, b: a + b, [True, True, False]),
        (lambda a, b: a * b, [True, False, False]),
        (lambda a, b: a.maximum(b), [True, True, False]),
        (lambda a, b: a & b, [True, False, False]),
        (lambda a, b: a | b, [True, True, False]),
        (lambda a, b: a ^ b, [False, True, False]),
        (lambda a, b: a < b, [False, False, False]),
        (lambda a, b: a != b, [False, True, False]),
    ],
)
def test_arithmetic_of_bools(op, want: list[bool]) -> None:
    """Sums are or, products are and; they stay bools."""
    got = op(Tensor([True, True, False]).realize(), Tensor([True, False, False]).realize())
    assert got.dtype == dtypes.bool
    assert got.tolist() == want


def test_bools_count_as_numbers() -> None:
    """Sums of bools count, means are floats."""
    x = Tensor([True, True, False]).realize()
    assert x.sum().item() == 2
    assert x.sum().dtype == dtypes.int32
    assert math.isclose(x.mean().item(), 2 / 3, rel_tol=1e-6)
    assert (x * 5).tolist() == [5, 5, 0]
    assert (x + 1).tolist() == [2, 2, 1]
    assert (x * 2.5).tolist() == [2.5, 2.5, 0]
    assert x.cumsum(0).tolist() == [1, 2, 2]
    assert x.argmax().item() == 0
    assert (~x).tolist() == [False, False, True]


@pytest.mark.parametrize("dtype", INTS)
def test_shifts_by_every_amount(dtype: str) -> None:
    """Up to the width less one; the sign is kept to the right."""
    info = np.iinfo(dtype)
    bits = info.bits
    values = [v for v in (1, 3, info.max, info.min, -5) if info.min <= v <= info.max]
    x = Tensor(np.array(values, dtype)).realize()
    for amount in (0, 1, bits // 2, bits - 1):
        assert (x << amount).tolist() == [wrapped_int(v << amount, dtype) for v in values]
        assert (x >> amount).tolist() == [v >> amount for v in values]


@pytest.mark.parametrize("source", ["float32", "int32", "uint32", "float16", "int8", "float64"])
@pytest.mark.parametrize("target", ["int32", "uint8", "float32", "int16", "uint64"])
def test_bits_seen_as_another_dtype(source: str, target: str) -> None:
    """NumPy's view, of memory and of values that are lazy."""
    data = (np.arange(16) * 3 - 7).astype(source)
    want = data.view(target)
    assert np.array_equal(Tensor(data).realize().bitcast(target).numpy(), want, equal_nan=True)
    lazy = (Tensor(data).realize() + 0).bitcast(target).numpy()
    assert np.array_equal(lazy, want, equal_nan=True)


@pytest.mark.parametrize("value", [0.1, 1e-3, 3.14159, 1 / 3])
def test_constants_are_rounded_to_the_dtype(value: float) -> None:
    """A Python float beside float32 is a float32, beside float64 a float64."""
    assert (Tensor([0.0], dtype="float64") + value).tolist() == [value]
    assert (Tensor([0.0]) + value).tolist() == [float(np.float32(value))]
    assert (Tensor([0.0], dtype="float16") + value).tolist() == [float(np.float16(value))]
    assert Tensor(value).item() == float(np.float32(value))
    assert (Tensor(value) == value).item() == (Tensor([value]).realize() == value).tolist()[0]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_the_least_of_many_small_integers(dtype: str) -> None:
    """Positive values have a positive least, negative ones a negative largest, at any length."""
    for size in (1, 5, 15, 16, 17, 31, 64, 100):
        data = (np.arange(size) % 50 + 3).astype(dtype)
        x = Tensor(data).realize()
        assert x.min().item() == data.min()
        assert x.argmin().item() == int(data.argmin())
        if dtype[0] == "i":
            assert (-x).max().item() == (-data).max()
            assert (-x).argmax().item() == int((-data).argmax())
