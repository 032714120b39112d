"""Python integers keep their value, or an error says why they cannot."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tg_tensor import Tensor, dtypes
from tg_tensor.errors import DataError
from tg_uop.errors import DTypeError


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (2**31 - 1, dtypes.int32),
        (-(2**31), dtypes.int32),
        (2**31, dtypes.int64),
        (-(2**40), dtypes.int64),
        (2**63, dtypes.uint64),
    ],
)
def test_an_integer_has_a_dtype_with_room(value: int, dtype: object) -> None:
    """The default one where it fits, as NumPy and PyTorch keep values."""
    for made in (Tensor(value), Tensor.full((2,), value)[0], Tensor([value])[0]):
        assert made.dtype == dtype
        assert made.item() == value


def test_counting_far_out() -> None:
    """Both ends have room."""
    assert Tensor.arange(2**40, 2**40 + 3).tolist() == [2**40, 2**40 + 1, 2**40 + 2]
    assert Tensor([True]).where(2**40, 0).tolist() == [2**40]


@pytest.mark.parametrize("make", [Tensor, lambda v: Tensor([v]), lambda v: Tensor.full((2,), v)])
def test_an_integer_beyond_64_bits_is_refused(make: Callable[[int], Tensor]) -> None:
    """There is no type for it."""
    with pytest.raises((DataError, DTypeError), match="room"):
        make(2**70)


@pytest.mark.parametrize(
    "act",
    [
        lambda x: x + 2**40,
        lambda x: 2**40 * x,
        lambda x: x.maximum(2**40),
        lambda x: x.clip(0, 2**40),
        lambda x: x.masked_fill(x > 0, 2**40),
        lambda x: x.assign(2**40),
        lambda x: x.__setitem__(0, 2**40),
        lambda x: x.full_like(2**40),
        lambda x: Tensor(300, dtype="uint8"),
        lambda x: Tensor(-129, dtype=dtypes.int8),
        lambda x: Tensor.full((2,), 2**16, dtype=dtypes.uint16),
    ],
)
def test_a_number_that_the_dtype_has_no_room_for_is_refused(
    act: Callable[[Tensor], object],
) -> None:
    """It would become another number."""
    with pytest.raises(DataError, match="no room"):
        act(Tensor([1, 2]))


def test_comparisons_are_exact() -> None:
    """Whatever the number; the result is bool anyway."""
    x = Tensor([1, 2])
    assert (x < 2**40).tolist() == [True, True]
    assert (x == 2**32 + 1).tolist() == [False, False]
    assert (x < 2**40).tolist() == [True, True]
    small = Tensor([1, 255], dtype=dtypes.uint8)
    assert (small < -1).tolist() == [False, False]
    assert (small == 511).tolist() == [False, False]
    assert (x < 2**70).tolist() == [True, True]
    assert (Tensor([2**64 - 1], dtype=dtypes.uint64) == 2**64).tolist() == [False]


def test_bit_patterns_pass() -> None:
    """A mask with the top bit set is meant as bits."""
    assert (Tensor([1, 2]) ^ 0xFFFFFFFF).tolist() == [-2, -3]
