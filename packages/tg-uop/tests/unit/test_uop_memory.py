"""Memory of kernels under construction, and operands of different number types."""

from __future__ import annotations

import pytest
from tg_uop import AddrSpace, DType, Ops, UOp, dtypes
from tg_uop.errors import ArgumentTypeError, IndexItemError, IndexRangeError, ShapeError

I = UOp.range(4, 0)
FLOATS = UOp.placeholder((4, 5), dtypes.float, 0)
INTS = UOp.placeholder((4,), dtypes.int, 1)


def test_elements_and_views() -> None:
    assert FLOATS[I, -1].op is Ops.INDEX
    assert FLOATS[I, -1].src[2].arg == 4
    assert FLOATS[I].shape == (5,)
    assert FLOATS[1:3, ::2].shape == (2, 3)
    assert FLOATS[I, None, 1:].shape == (1, 4)
    assert FLOATS.T[2].shape == (4,)
    assert FLOATS.pad(((1, 1), None)).shape == (6, 5)
    assert FLOATS[I].dtype is FLOATS.dtype


def test_set_gives_the_memory_back() -> None:
    written = FLOATS[I, 0].set(1.0)
    assert written.op is Ops.AFTER
    assert written.shape == FLOATS.shape
    ended = INTS[I].set(INTS[I] + 1, end=I)
    assert ended.src[0] is INTS
    assert not ended.ranges
    row = FLOATS[I].set(0.0)
    assert row.src[0] is FLOATS
    assert list(row.ranges) == [I]


def test_effects_stand_for_memory() -> None:
    written = INTS[0].set(1)[1].set(2)
    assert written.sink().src == written.effects
    assert written.end(I).src[0] is written.effects[0]
    separate = INTS.after(INTS[0].store(1)).after(INTS[1].store(2))
    assert len(separate.sink().src) == 2
    with pytest.raises(ArgumentTypeError, match="nothing has been written"):
        INTS.end(I)


def test_lanes_of_ranges() -> None:
    lanes = FLOATS[I, 0].contract(I)
    assert lanes.dtype == dtypes.float.vec(4)
    assert not lanes.ranges
    pairs = FLOATS[I, UOp.range(2, 1)].contract(I, UOp.range(2, 1))
    assert pairs.dtype.count == 8


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (FLOATS[I, 0] * I, dtypes.float),
        (I * FLOATS[I, 0], dtypes.float),
        (INTS[I] + I, dtypes.int),
        (FLOATS[I, 0] + INTS[I], dtypes.float),
        (INTS[I] * 1.5, dtypes.float),
        (INTS[I] / 2, dtypes.float),
        (I / 2, dtypes.float),
        ((I < 2).where(INTS[I], FLOATS[I, 0]), dtypes.float),
        (INTS[I].maximum(I), dtypes.int),
        (I * 3 + 1, dtypes.weakint),
    ],
)
def test_operands_of_different_types(value: UOp, dtype: DType) -> None:
    assert value.dtype is dtype
    for operand in value.src if value.op is not Ops.WHERE else value.src[1:]:
        assert operand.dtype is dtype


def test_stores_convert_values() -> None:
    assert INTS[I].store(FLOATS[I, 0]).src[1].dtype is dtypes.int
    assert FLOATS[I, 0].store(I).src[1].dtype is dtypes.float
    with pytest.raises(ShapeError, match="same shape"):
        FLOATS[I].store(INTS)


def test_mistakes() -> None:
    for index in (4, (0, 5), (0, 0, 0)):
        with pytest.raises(IndexRangeError):
            FLOATS[index]
    with pytest.raises(IndexItemError):
        FLOATS[FLOATS[0, 0]]
    with pytest.raises(ArgumentTypeError, match="index it"):
        FLOATS[I] + 1
    like = UOp.placeholder_like(FLOATS, 3, AddrSpace.REG)
    assert (like.shape, like.addrspace) == ((4, 5), AddrSpace.REG)
