"""Number types: one object each, names, vectors, pointers, constants."""

from __future__ import annotations

import copy
import pickle
from math import inf, nan

import pytest
from tg_uop.context import DEFAULT_FLOAT, Context
from tg_uop.dtype.dtype import (
    AddrSpace,
    ConstFloat,
    DType,
    ImageDType,
    Invalid,
    InvalidType,
    PtrDType,
    dtypes,
)
from tg_uop.errors import DTypeError, UnknownDTypeError

EVERY = (
    *dtypes.all,
    dtypes.void,
    dtypes.weakint,
    dtypes.float.vec(4),
    dtypes.weakint.vec(3),
    dtypes.bool.vec(16),
    dtypes.int.ptr(),
    dtypes.half.ptr(7, AddrSpace.LOCAL),
    dtypes.float.vec(16).ptr(2, AddrSpace.REG),
    dtypes.imageh((2, 3, 4)),
    dtypes.imagef((5, 1, 4)),
)


@pytest.mark.parametrize("dtype", EVERY, ids=repr)
def test_one_object_through_pickle_copy_and_repr(dtype: DType) -> None:
    assert pickle.loads(pickle.dumps(dtype)) is dtype
    assert copy.deepcopy(dtype) is dtype
    assert eval(repr(dtype), {"dtypes": dtypes, "AddrSpace": AddrSpace}) is dtype


def test_aliases_are_the_same_objects() -> None:
    assert dtypes.char is dtypes.int8
    assert dtypes.uint is dtypes.uint32
    assert dtypes.half is dtypes.float16
    assert dtypes.double is dtypes.float64
    assert dtypes.fields()["float32"] is dtypes.fields()["float"] is dtypes.float


def test_reprs_are_the_names_that_users_write() -> None:
    assert repr(dtypes.float32) == "dtypes.float"
    assert str(dtypes.uint8) == "dtypes.uchar"
    assert repr(dtypes.float.vec(4)) == "dtypes.float.vec(4)"
    assert repr(dtypes.float.ptr()) == "dtypes.float.ptr()"
    assert repr(dtypes.int.ptr(3, AddrSpace.REG)) == "dtypes.int.ptr(3, AddrSpace.REG)"


def test_every_name_leads_to_its_dtype() -> None:
    for name, dtype in dtypes.fields().items():
        assert dtypes.from_name(name) is dtype
    with pytest.raises(UnknownDTypeError, match="float33"):
        dtypes.from_name("float33")


def test_sizes() -> None:
    assert [d.itemsize for d in dtypes.uints] == [1, 2, 4, 8]
    assert dtypes.bool.itemsize == 1
    assert dtypes.bool.bitsize == 1
    assert dtypes.fp8e4m3.itemsize == 1
    assert dtypes.float.vec(4).itemsize == 16
    assert dtypes.float.vec(4).bitsize == 128
    assert dtypes.float.ptr(10).nbytes == 40
    with pytest.raises(DTypeError, match="size is not known"):
        _ = dtypes.float.ptr().nbytes


def test_vectors() -> None:
    vector = dtypes.int.vec(4)
    assert vector is dtypes.int.vec(4)
    assert vector.scalar() is dtypes.int
    assert vector.count == vector.vcount == 4
    assert vector.is_int
    assert not vector.is_float
    assert dtypes.int.vec(1) is dtypes.int
    for wrong in (0, -1):
        with pytest.raises(DTypeError):
            dtypes.int.vec(wrong)
    with pytest.raises(DTypeError, match="scalar"):
        vector.vec(2)
    with pytest.raises(DTypeError):
        dtypes.void.vec(2)


def test_pointers() -> None:
    pointer = dtypes.float.vec(4).ptr(8, AddrSpace.REG)
    assert isinstance(pointer, PtrDType)
    assert pointer.base is dtypes.float.vec(4)
    assert pointer.vcount == 4
    assert pointer.count == 1
    assert pointer.size == 8
    assert pointer.itemsize == 16
    assert pointer.with_size(2) is dtypes.float.vec(4).ptr(2, AddrSpace.REG)
    assert pointer.scalar() is pointer
    assert pointer.vec(1) is pointer
    assert not any((pointer.is_float, pointer.is_int, pointer.is_bool))
    with pytest.raises(DTypeError, match="no vectors of pointers"):
        pointer.vec(2)


def test_images() -> None:
    image = dtypes.imageh((2, 3, 4))
    assert isinstance(image, ImageDType)
    assert image.base is dtypes.float
    assert image.size == 24
    assert image.nbytes == 48
    assert dtypes.imagef((2, 3, 4)).nbytes == 96
    assert image is not dtypes.imagef((2, 3, 4))


def test_kinds() -> None:
    for dtype in dtypes.ints:
        assert dtypes.is_int(dtype)
        assert not dtypes.is_float(dtype)
        assert dtypes.is_unsigned(dtype) == (dtype in dtypes.uints)
    for dtype in dtypes.floats:
        assert dtypes.is_float(dtype)
        assert not dtypes.is_int(dtype)
    assert dtypes.is_int(dtypes.weakint)
    assert dtypes.is_bool(dtypes.bool)
    assert not dtypes.is_int(dtypes.bool)


def test_bounds() -> None:
    assert (dtypes.min(dtypes.int8), dtypes.max(dtypes.int8)) == (-128, 127)
    assert (dtypes.min(dtypes.uint64), dtypes.max(dtypes.uint64)) == (0, (1 << 64) - 1)
    assert (dtypes.min(dtypes.half), dtypes.max(dtypes.half)) == (-inf, inf)
    assert dtypes.min(dtypes.bool) is False
    assert dtypes.max(dtypes.bool) is True
    assert dtypes.max(dtypes.weakint) > 1 << 200


def test_finfo() -> None:
    assert dtypes.finfo(dtypes.half) == (5, 10)
    assert dtypes.finfo(dtypes.bfloat16.vec(2)) == (8, 7)
    with pytest.raises(DTypeError):
        dtypes.finfo(dtypes.int)


def test_from_py() -> None:
    assert dtypes.from_py(True) is dtypes.bool
    assert dtypes.from_py(3) is dtypes.default_int
    assert dtypes.from_py(3.0) is dtypes.default_float
    assert dtypes.from_py([[1, 2], [3, 4.5]]) is dtypes.default_float
    assert dtypes.from_py([True, 2]) is dtypes.default_int
    assert dtypes.from_py([]) is dtypes.default_float
    with pytest.raises(DTypeError, match="str"):
        dtypes.from_py("text")


def test_default_dtypes_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dtypes, "default_float", dtypes.half)
    monkeypatch.setattr(dtypes, "default_int", dtypes.int64)
    assert dtypes.from_py(1.5) is dtypes.half
    assert dtypes.from_py(1) is dtypes.int64


def test_the_setting_changes_the_default_float() -> None:
    before = dtypes.default_float
    with Context(DEFAULT_FLOAT="HALF"):
        assert dtypes.default_float is dtypes.half
        assert dtypes.from_py(1.5) is dtypes.half
        with Context(DEFAULT_FLOAT="float64"):
            assert dtypes.from_py([1, 2.5]) is dtypes.double
        dtypes.default_float = dtypes.bfloat16
        assert dtypes.from_py(1.5) is dtypes.bfloat16
    assert dtypes.default_float is before


def test_an_assigned_default_float_gives_way_to_the_setting_for_a_while() -> None:
    try:
        dtypes.default_float = dtypes.float64
        with Context(DEFAULT_FLOAT="half"):
            assert dtypes.default_float is dtypes.half
        assert dtypes.default_float is dtypes.float64
    finally:
        del dtypes.default_float
    assert dtypes.default_float is dtypes.from_name(DEFAULT_FLOAT.value)


def test_a_default_float_that_is_none_is_refused() -> None:
    with pytest.raises(DTypeError, match="no float"):
        dtypes.default_float = dtypes.int32
    with Context(DEFAULT_FLOAT="int32"), pytest.raises(DTypeError, match="no float"):
        dtypes.from_py(1.5)
    with Context(DEFAULT_FLOAT="floot"), pytest.raises(UnknownDTypeError, match="floot"):
        dtypes.from_py(1.5)


def test_as_const() -> None:
    assert dtypes.as_const(300, dtypes.uint8) == 44
    assert dtypes.as_const(200, dtypes.int8) == -56
    assert type(dtypes.as_const(1, dtypes.float)) is ConstFloat
    assert dtypes.as_const(2, dtypes.bool) is True
    assert dtypes.as_const(-2.9, dtypes.int) == -2
    assert dtypes.as_const(nan, dtypes.int) == 0
    assert dtypes.as_const(Invalid, dtypes.int) is Invalid
    assert dtypes.as_const((1, 2), dtypes.float.vec(2)) == (1.0, 2.0)
    with pytest.raises(DTypeError, match="no number"):
        dtypes.as_const("1", dtypes.int)


def test_sorting_is_by_promotion() -> None:
    assert sorted([dtypes.float, dtypes.bool, dtypes.int]) == [
        dtypes.bool,
        dtypes.int,
        dtypes.float,
    ]
    assert sorted([dtypes.int.ptr(), dtypes.double])[-1] is dtypes.int.ptr()


def test_invalid_is_one_object() -> None:
    assert InvalidType() is Invalid
    assert pickle.loads(pickle.dumps(Invalid)) is Invalid
    assert copy.deepcopy(Invalid) is Invalid
    assert repr(Invalid) == "Invalid"


class TestConstFloat:
    """Equality by value that keeps zeros apart and lets NaN equal itself."""

    def test_nan_equals_nan(self) -> None:
        assert ConstFloat(nan) == ConstFloat(nan)
        assert ConstFloat(nan) == float("nan")
        assert ConstFloat(nan) == ConstFloat(-nan)
        assert (ConstFloat(nan) != ConstFloat(-nan)) is False
        assert hash(ConstFloat(nan)) == hash(ConstFloat(float("nan")))
        assert ConstFloat(nan) != ConstFloat(1.0)

    def test_zeros_differ(self) -> None:
        assert ConstFloat(0.0) != ConstFloat(-0.0)
        assert ConstFloat(-0.0) == ConstFloat(-0.0)
        assert ConstFloat(0.0) == 0
        assert ConstFloat(-0.0) != 0
        assert len({ConstFloat(0.0), ConstFloat(-0.0), ConstFloat(0.0)}) == 2

    def test_numbers_equal_as_usual(self) -> None:
        assert ConstFloat(2.5) == 2.5
        assert ConstFloat(3.0) == 3
        assert hash(ConstFloat(3.0)) == hash(3)
        assert ConstFloat(inf) == inf
        assert ConstFloat(1.0) != "1.0"

    def test_it_computes_and_pickles_like_a_float(self) -> None:
        assert type(ConstFloat(1.5) + 1) is float
        kept = pickle.loads(pickle.dumps(ConstFloat(-0.0)))
        assert type(kept) is ConstFloat
        assert kept == ConstFloat(-0.0)
        assert repr(ConstFloat(0.1)) == "0.1"
