"""The promotion lattice."""

from __future__ import annotations

import itertools

import pytest
from tg_uop.dtype.dtype import DType, dtypes
from tg_uop.dtype.promote import (
    can_lossless_cast,
    least_upper_dtype,
    least_upper_float,
    promote_with_scalar,
    promotion_markdown,
    scalar_dtype,
    sum_acc_dtype,
    sum_result_dtype,
)
from tg_uop.dtype.value import convert, from_bits
from tg_uop.errors import DTypeError

MEMBERS = (*dtypes.all, dtypes.weakint)


def test_it_is_a_lattice() -> None:
    for left, right in itertools.product(MEMBERS, MEMBERS):
        joined = least_upper_dtype(left, right)
        assert joined is least_upper_dtype(right, left)
        assert least_upper_dtype(left, left) is left
        assert least_upper_dtype(left, joined) is joined
        assert least_upper_dtype(right, joined) is joined


def test_pairs() -> None:
    expected = {
        (dtypes.bool, dtypes.int8): dtypes.int8,
        (dtypes.int8, dtypes.uint8): dtypes.int16,
        (dtypes.int8, dtypes.uint16): dtypes.int32,
        (dtypes.int32, dtypes.uint32): dtypes.int64,
        (dtypes.uint8, dtypes.int32): dtypes.int32,
        (dtypes.int64, dtypes.uint64): dtypes.float32,
        (dtypes.int64, dtypes.half): dtypes.half,
        (dtypes.half, dtypes.bfloat16): dtypes.float,
        (dtypes.fp8e4m3, dtypes.fp8e5m2): dtypes.half,
        (dtypes.fp8e4m3, dtypes.bfloat16): dtypes.bfloat16,
        (dtypes.half, dtypes.double): dtypes.double,
        (dtypes.weakint, dtypes.uint8): dtypes.uint8,
        (dtypes.weakint, dtypes.half): dtypes.half,
        (dtypes.bool, dtypes.weakint): dtypes.weakint,
    }
    for pair, joined in expected.items():
        assert least_upper_dtype(*pair) is joined, pair
    assert least_upper_dtype(dtypes.int8, dtypes.uint8, dtypes.half) is dtypes.half
    assert least_upper_dtype(dtypes.int8) is dtypes.int8


def test_only_scalars_promote() -> None:
    for wrong in (dtypes.void, dtypes.float.vec(2), dtypes.int.ptr()):
        with pytest.raises(DTypeError):
            least_upper_dtype(dtypes.int, wrong)
        with pytest.raises(DTypeError):
            least_upper_dtype(wrong)
    with pytest.raises(DTypeError, match="nothing"):
        least_upper_dtype()


def test_python_scalars_are_weak() -> None:
    assert promote_with_scalar(dtypes.int8, 1000) is dtypes.int8
    assert promote_with_scalar(dtypes.uint8, True) is dtypes.uint8
    assert promote_with_scalar(dtypes.half, 1) is dtypes.half
    assert promote_with_scalar(dtypes.half, 0.1) is dtypes.half
    assert promote_with_scalar(dtypes.int64, 0.1) is dtypes.default_float
    assert promote_with_scalar(dtypes.bool, 1) is dtypes.default_int
    assert promote_with_scalar(dtypes.bool, 1.0) is dtypes.default_float
    assert promote_with_scalar(dtypes.bool, False) is dtypes.bool
    assert scalar_dtype(3, dtypes.weakint) is dtypes.weakint


def test_least_upper_float() -> None:
    assert least_upper_float(dtypes.int64) is dtypes.default_float
    assert least_upper_float(dtypes.bfloat16) is dtypes.bfloat16
    assert least_upper_float(dtypes.bool) is dtypes.default_float


NARROW = tuple(d for d in dtypes.all if d.itemsize <= 2)


@pytest.mark.parametrize("source", NARROW, ids=repr)
def test_lossless_casts_keep_every_value_and_others_lose_one(source: DType) -> None:
    bits = range(2 if source.is_bool else 1 << source.bitsize)
    values = [from_bits(b, source) for b in bits]
    for target in dtypes.all:
        keeps = all(_same(value, convert(convert(value, target), source)) for value in values)
        # a round trip that keeps all values may still pass through NaN or wrap on the way
        exact = keeps and all(_same(value, convert(value, target)) for value in values)
        assert can_lossless_cast(source, target) == exact, target


def _same(left: float, right: float) -> bool:
    if left != left or right != right:
        return left != left and right != right
    return left == right and str(float(left))[0] == str(float(right))[0]


def test_lossless_casts_of_wide_types() -> None:
    assert can_lossless_cast(dtypes.int32, dtypes.double)
    assert not can_lossless_cast(dtypes.int32, dtypes.float)
    assert not can_lossless_cast(dtypes.int64, dtypes.double)
    assert can_lossless_cast(dtypes.uint32, dtypes.int64)
    assert not can_lossless_cast(dtypes.uint64, dtypes.int64)
    assert can_lossless_cast(dtypes.float, dtypes.double)
    assert not can_lossless_cast(dtypes.double, dtypes.float)
    assert can_lossless_cast(dtypes.int64, dtypes.weakint)
    assert not can_lossless_cast(dtypes.weakint, dtypes.int64)
    assert not can_lossless_cast(dtypes.weakint, dtypes.double)
    assert can_lossless_cast(dtypes.weakint, dtypes.weakint)
    assert not can_lossless_cast(dtypes.float, dtypes.bool)
    assert not can_lossless_cast(dtypes.float, dtypes.void)


def test_sums_are_wide_enough() -> None:
    assert sum_acc_dtype(dtypes.bool) is dtypes.int32
    assert sum_acc_dtype(dtypes.int8) is sum_acc_dtype(dtypes.int16) is dtypes.int32
    assert sum_acc_dtype(dtypes.uint8) is sum_acc_dtype(dtypes.uint16) is dtypes.uint32
    assert sum_acc_dtype(dtypes.int64) is dtypes.int64
    assert sum_acc_dtype(dtypes.uint32) is dtypes.uint32
    assert sum_acc_dtype(dtypes.half) is sum_acc_dtype(dtypes.fp8e5m2) is dtypes.float
    assert sum_acc_dtype(dtypes.double) is dtypes.double
    assert sum_acc_dtype(dtypes.weakint) is dtypes.weakint
    assert sum_result_dtype(dtypes.half) is dtypes.half
    assert sum_result_dtype(dtypes.int8) is dtypes.int32


def test_the_table_shows_every_pair() -> None:
    lines = promotion_markdown().splitlines()
    assert len(lines) == len(MEMBERS) + 2
    assert all(line.count("|") == len(MEMBERS) + 2 for line in lines)
