"""Number types: conversions among all of them, promotion of every pair, Python scalars, bits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from tensor_table.evaluate import dtype_name
from tensor_table.inputs import array_dtype
from tg_tensor import Tensor, dtypes
from tg_uop.errors import ShapeError, UnknownDTypeError

Array = npt.NDArray[Any]

INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
FP8 = ("fp8e4m3", "fp8e5m2", "fp8e4m3fnuz", "fp8e5m2fnuz")
PLAIN = ("bool", *INTS, *FLOATS)
ALL = (*PLAIN, *FP8)
INF, NAN = math.inf, math.nan


def tensor_of(array: Array, dtype: str) -> Tensor:
    """A Tensor of an array of NumPy or ml_dtypes, bit for bit."""
    if dtype in INTS or dtype in ("bool", "float16", "float32", "float64"):
        return Tensor(array)
    return Tensor(array.view(f"uint{array.dtype.itemsize * 8}")).bitcast(dtype)


def sample(dtype: str) -> Array:
    """Numbers of a dtype with its limits, small and large ones, and what is special to it."""
    if dtype == "bool":
        return np.array([True, False])
    if dtype in INTS:
        limits = np.iinfo(dtype)
        known = [0, 1, 2, 100, 127, 128, 255, 256, 65504, 65536, 2**24 + 1, 2**53 + 1]
        signed = [*known, *(-v for v in known), limits.min, limits.max, limits.max - 1]
        return np.array([v for v in signed if limits.min <= v <= limits.max], dtype)
    known_floats = [0.0, 0.3, 1.0, 1.5, 2.5, 100.7, 300.0, 448.0, 464.0, 500.0, 6e4, 7e4, 3e9]
    tiny = [2.0**-6, 2.0**-9, 2.0**-10, 2.0**-24, 1e-30, 1e-40]
    listed = [*known_floats, *tiny, 1e20, 3e38, INF, NAN]
    with np.errstate(all="ignore"):
        return np.array([*listed, *(-v for v in listed)]).astype(array_dtype(dtype))


def converted(array: Array, target: str) -> Array:
    """What the array is in another dtype, by NumPy and ml_dtypes."""
    wide = array if array.dtype.kind != "V" else array.astype(np.float64)
    with np.errstate(all="ignore"):
        if target == "bool":
            return wide != 0
        if target in INTS and array.dtype.kind in "fV":
            return np.array([_truncated(float(v), target) for v in wide], target)
        if array.dtype.kind in "biu" and target not in INTS:
            # through float64, which holds these integers exactly or rounds as the narrow one does
            wide = wide.astype(np.float64) if array.dtype.itemsize < 8 else wide
        return wide.astype(array_dtype(target))


def _truncated(value: float, dtype: str) -> int:
    if math.isnan(value):
        return 0
    whole = int(value) if abs(value) < INF else 2**64
    if not -(2**63) <= whole < 2 ** (64 if dtype == "uint64" else 63):
        whole = -(2**63)
    limits = np.iinfo(dtype)
    wrapped = whole % 2**limits.bits
    return wrapped - 2**limits.bits if wrapped > limits.max else wrapped


def as_float(array: Array) -> Array:
    """Narrow floats in a type that NumPy compares."""
    return array if array.dtype.kind in "biu" else array.astype(np.float64)


def assert_equal(found: Array, wanted: Array, text: str) -> None:
    """Equal values, NaN as NaN, and zeros of the same sign."""
    left, right = as_float(found), as_float(wanted)
    np.testing.assert_array_equal(left, right, err_msg=text)
    if left.dtype.kind == "f":
        np.testing.assert_array_equal(
            np.signbit(left[left == 0]), np.signbit(right[left == 0]), err_msg=text
        )


@pytest.mark.parametrize("source", ALL)
def test_casts_from(source: str) -> None:
    array = sample(source)
    whole = tensor_of(array, source)
    found = {target: whole.cast(target) for target in ALL}
    bits = {target: t.bitcast("uint8") for target, t in found.items() if target in FP8}
    first, *rest = [*found.values(), *bits.values()]
    first.realize(*rest)
    for target, tensor in found.items():
        assert dtype_name(tensor) == target
        assert_equal(tensor.numpy(), converted(array, target), f"{source} to {target}")


@pytest.mark.parametrize("target", FP8)
def test_fp8_rounds_to_nearest_even(target: str) -> None:
    every = np.arange(256, dtype=np.uint8).view(array_dtype(target)).astype(np.float32)
    finite = np.unique(every[np.isfinite(every)])
    middles = (finite[1:] + finite[:-1]) / 2
    array = np.concatenate((every, middles, np.nextafter(middles, np.float32(INF))))
    there = Tensor(array).cast(target)
    assert_equal(there.numpy(), array.astype(array_dtype(target)), target)
    known = Tensor(np.arange(256, dtype=np.uint8)).bitcast(target)
    assert_equal(known.cast("float32").numpy(), every, target)


def test_bfloat16_rounds_to_nearest_even() -> None:
    bits = np.arange(0, 2**16, 7, dtype=np.uint32)
    low = np.array([0x0000, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)
    array = ((bits << 16)[:, None] | low).reshape(-1).view(np.float32)
    array = array[np.isfinite(array)]
    wanted = array.astype(ml_dtypes.bfloat16)
    assert_equal(Tensor(array).cast("bfloat16").numpy(), wanted, "bfloat16")


def test_float64_rounds_once() -> None:
    # the float32 nearest to this lies between two bfloat16 (float16): a second rounding goes down
    array = np.array([1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-11 + 2.0**-40])
    tensor = Tensor(array)
    assert tensor.cast("bfloat16").numpy()[0] == 1 + 2.0**-7
    assert tensor.cast("float16").numpy()[1] == 1 + 2.0**-10


# *** bits ***


@pytest.mark.parametrize("source", [d for d in ALL if d != "bool"])
def test_bits_of_every_pair(source: str) -> None:
    own = array_dtype(source)
    raw = np.array([0, 1, 0x7F, 0x80, 0xFF, 0x3C, 0x40, 0xC0] * 4, np.uint8)
    array = raw.view(own)
    tensor = tensor_of(array, source)
    pending = {target: tensor.bitcast(target) for target in ALL if target != "bool"}
    back = {target: t.bitcast("uint8") for target, t in pending.items()}
    first, *rest = back.values()
    first.realize(*rest)
    for target, found in back.items():
        assert dtype_name(pending[target]) == target
        assert pending[target].shape == raw.view(array_dtype(target)).shape
        np.testing.assert_array_equal(found.numpy(), raw, err_msg=target)


def test_bits_that_do_not_fit() -> None:
    with pytest.raises(ShapeError):
        Tensor(np.zeros(3, np.int16)).bitcast("int32")


# *** promotion ***


def promoted(left: str, right: str) -> str:
    """The dtype of a pair, by the rules of the table in docs/reference/dtypes.md."""
    if left == right:
        return left
    ranks = ("bool", *INTS)
    if left in ranks and right in ranks:
        if "bool" in (left, right):
            return right if left == "bool" else left
        together = np.result_type(left, right).name
        return "float32" if together == "float64" else together
    if left in ranks or right in ranks:
        return right if left in ranks else left
    if left in FP8 and right in FP8:
        return "float16"
    if left in FP8 or right in FP8:
        return right if left in FP8 else left
    if {left, right} == {"float16", "bfloat16"}:
        return "float32"
    return max(left, right, key=lambda d: array_dtype(d).itemsize)


def _pairs() -> Iterator[tuple[str, str]]:
    return itertools.product(ALL, ALL)


def test_every_pair_promotes() -> None:
    ones = {d: tensor_of(np.array([0, 1, 1]).astype(array_dtype(d)), d) for d in ALL}
    truth = Tensor([True, False, True])
    for left, right in _pairs():
        wanted = promoted(left, right)
        assert dtype_name(ones[left] + ones[right]) == wanted, (left, right)
        assert dtype_name(ones[left] * ones[right]) == wanted, (left, right)
        assert dtype_name(ones[left].maximum(ones[right])) == wanted, (left, right)
        assert dtype_name(truth.where(ones[left], ones[right])) == wanted, (left, right)
        assert dtype_name(ones[left].cat(ones[right])) == wanted, (left, right)
        assert (ones[left] == ones[right]).dtype is dtypes.bool


def test_every_pair_adds() -> None:
    ones = {d: tensor_of(np.array([0, 1, 1]).astype(array_dtype(d)), d) for d in PLAIN}
    sums = {(a, b): ones[a] + ones[b] for a, b in itertools.product(PLAIN, PLAIN)}
    first, *rest = sums.values()
    first.realize(*rest)
    for (left, right), found in sums.items():
        wanted = [0, 1, 1] if left == right == "bool" else [0, 2, 2]
        np.testing.assert_array_equal(found.numpy(), wanted, err_msg=f"{left} {right}")


def test_pairs_agree_with_pytorch_where_it_has_them() -> None:
    agreed = {("int8", "uint8"): "int16", ("int32", "int64"): "int64", ("uint8", "int32"): "int32"}
    for (left, right), wanted in agreed.items():
        assert promoted(left, right) == wanted


@pytest.mark.parametrize("dtype", PLAIN)
def test_python_scalars_are_weak(dtype: str) -> None:
    tensor = Tensor(np.array([0, 1, 1])).cast(dtype)
    whole = "int32" if dtype == "bool" else dtype
    real = dtype if dtype in FLOATS else "float32"
    truth = dtype
    for scalar, wanted in ((2, whole), (1.5, real), (True, truth)):
        assert dtype_name(tensor + scalar) == wanted, scalar
        assert dtype_name(scalar + tensor) == wanted, scalar
        assert dtype_name(tensor * scalar) == wanted, scalar
        assert dtype_name(tensor.maximum(scalar)) == wanted, scalar
        assert dtype_name(Tensor([True, False, True]).where(tensor, scalar)) == wanted, scalar
    assert dtype_name(tensor / 2) == (dtype if dtype in FLOATS else "float32")


def test_two_scalars_take_the_defaults() -> None:
    truth = Tensor([True, False])
    assert truth.where(1, 2).dtype is dtypes.int32
    assert truth.where(1.0, 2).dtype is dtypes.float32
    assert truth.where(True, False).dtype is dtypes.bool


@pytest.mark.parametrize("wanted", FLOATS)
def test_the_default_float_can_be_set(wanted: str) -> None:
    before = dtypes.default_float
    dtypes.default_float = dtypes.from_name(wanted)
    try:
        made = (
            Tensor([1.5]),
            Tensor([1]) / 2,
            Tensor([1]) + 1.5,
            Tensor.zeros(2),
            Tensor.rand(2),
            Tensor.linspace(0, 1, 3),
            Tensor.arange(0.5, 3),
            Tensor([4]).sqrt(),
            Tensor([1, 2]).mean(),
            Tensor.eye(2),
            Tensor.full((2,), 1.5),
        )
        assert [dtype_name(t) for t in made] == [wanted] * len(made)
    finally:
        dtypes.default_float = before


@pytest.mark.parametrize("wanted", ["int32", "int64"])
def test_the_default_integer_can_be_set(wanted: str) -> None:
    before = dtypes.default_int
    dtypes.default_int = dtypes.from_name(wanted)
    try:
        line = Tensor([3, 1, 2])
        made = (
            line,
            Tensor.arange(3),
            Tensor.full((2,), 1),
            line.argmax(),
            line.argsort(),
            line.sort()[1],
            line.topk(2)[1],
            line.one_hot(4),
            Tensor([True]) + 1,
        )
        assert [dtype_name(t) for t in made] == [wanted] * len(made)
    finally:
        dtypes.default_int = before


def test_a_dtype_by_any_name() -> None:
    names: Sequence[Any] = ("float16", "half", dtypes.half, np.float16, np.dtype("float16"))
    assert {Tensor([1.5]).cast(name).dtype for name in names} == {dtypes.float16}
    assert Tensor([1.5]).cast(bool).dtype is dtypes.bool
    with pytest.raises(UnknownDTypeError):
        Tensor([1.5]).cast("flaot16")
