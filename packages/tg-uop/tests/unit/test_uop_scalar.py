"""The meaning of ALU ops at the edges."""

from __future__ import annotations

from math import copysign, inf, isnan, nan, pi

import pytest
from tg_uop.dtype.dtype import ConstFloat, DType, dtypes
from tg_uop.dtype.value import round_float
from tg_uop.errors import EvaluationError
from tg_uop.eval.scalar import alu, scalar_bitcast, scalar_op, threefry
from tg_uop.ir.ops import GroupOp, Ops


def test_integers_wrap() -> None:
    assert alu(Ops.ADD, dtypes.int8, (127, 1)) == -128
    assert alu(Ops.SUB, dtypes.uint8, (0, 1)) == 255
    assert alu(Ops.MUL, dtypes.int32, (1 << 20, 1 << 20)) == 0
    assert alu(Ops.NEG, dtypes.int16, (-32768,)) == -32768
    assert alu(Ops.NEG, dtypes.uint32, (1,)) == 0xFFFFFFFF
    assert alu(Ops.MULACC, dtypes.uint8, (16, 16, 7)) == 7
    assert alu(Ops.ADD, dtypes.weakint, (1 << 200, 1)) == (1 << 200) + 1


def test_division_truncates_and_by_zero_gives_zero() -> None:
    cases = {(7, 2): (3, 1), (-7, 2): (-3, -1), (7, -2): (-3, 1), (-7, -2): (3, -1)}
    for (left, right), (quotient, rest) in cases.items():
        assert alu(Ops.IDIV, dtypes.int32, (left, right)) == quotient
        assert alu(Ops.MOD, dtypes.int32, (left, right)) == rest
    assert alu(Ops.IDIV, dtypes.int32, (5, 0)) == 0
    assert alu(Ops.MOD, dtypes.int32, (5, 0)) == 0
    assert alu(Ops.IDIV, dtypes.int8, (-128, -1)) == -128
    assert alu(Ops.MOD, dtypes.int8, (-128, -1)) == 0


def test_shifts() -> None:
    assert alu(Ops.SHL, dtypes.uint8, (0x81, 1)) == 2
    assert alu(Ops.SHL, dtypes.int8, (64, 1)) == -128
    assert alu(Ops.SHL, dtypes.uint32, (1, 32)) == 0
    assert alu(Ops.SHR, dtypes.uint32, (0x80000000, 31)) == 1
    assert alu(Ops.SHR, dtypes.uint32, (0x80000000, 99)) == 0
    assert alu(Ops.SHR, dtypes.int32, (-8, 1)) == -4
    assert alu(Ops.SHR, dtypes.int32, (-8, 32)) == -1
    assert alu(Ops.SHR, dtypes.int32, (8, 40)) == 0
    assert alu(Ops.SHR, dtypes.int32, (8, -1)) == 0
    assert alu(Ops.SHL, dtypes.weakint, (1, 100)) == 1 << 100
    for op in (Ops.SHL, Ops.SHR):
        with pytest.raises(EvaluationError, match="negative"):
            alu(op, dtypes.weakint, (1, -1))


def test_bool() -> None:
    assert alu(Ops.ADD, dtypes.bool, (True, True)) is True
    assert alu(Ops.MUL, dtypes.bool, (True, False)) is False
    assert alu(Ops.XOR, dtypes.bool, (True, True)) is False
    assert alu(Ops.MAX, dtypes.bool, (False, True)) is True
    assert alu(Ops.AND, dtypes.bool, (True, True)) is True
    assert alu(Ops.CMPLT, dtypes.bool, (False, True)) is True


def test_comparisons_follow_ieee_even_on_const_floats() -> None:
    for kind in (float, ConstFloat):
        assert alu(Ops.CMPEQ, dtypes.bool, (kind(nan), kind(nan))) is False
        assert alu(Ops.CMPNE, dtypes.bool, (kind(nan), kind(nan))) is True
        assert alu(Ops.CMPLT, dtypes.bool, (kind(nan), kind(1.0))) is False
        assert alu(Ops.CMPEQ, dtypes.bool, (kind(0.0), kind(-0.0))) is True
        assert alu(Ops.CMPLT, dtypes.bool, (kind(1.0), kind(2.0))) is True
    assert alu(Ops.CMPEQ, dtypes.bool, ((1 << 64) - 1, (1 << 64) - 2)) is False


def test_floats_round_to_their_dtype() -> None:
    tenth = round_float(0.1, dtypes.float)
    assert alu(Ops.ADD, dtypes.float, (tenth, 1.0)) == round_float(tenth + 1.0, dtypes.float)
    assert alu(Ops.MUL, dtypes.half, (256.0, 256.0)) == inf
    assert alu(Ops.MUL, dtypes.float, (1e30, 1e30)) == inf
    assert alu(Ops.MUL, dtypes.double, (1e30, 1e30)) == 1e30 * 1e30
    # 1 - 2^-9 lies between 1 - 2^-8 and 1, the even one is 1
    assert alu(Ops.SUB, dtypes.bfloat16, (1.0, 2.0**-9)) == 1.0


def test_max_passes_nan_on() -> None:
    assert isnan(alu(Ops.MAX, dtypes.float, (nan, 1.0)))
    assert isnan(alu(Ops.MAX, dtypes.float, (1.0, nan)))
    assert alu(Ops.MAX, dtypes.float, (-inf, -1.0)) == -1.0
    assert alu(Ops.MAX, dtypes.int, (-5, 3)) == 3


def test_float_division() -> None:
    assert alu(Ops.FDIV, dtypes.float, (1.0, 0.0)) == inf
    assert alu(Ops.FDIV, dtypes.float, (1.0, -0.0)) == -inf
    assert alu(Ops.FDIV, dtypes.float, (-1.0, 0.0)) == -inf
    assert isnan(alu(Ops.FDIV, dtypes.float, (0.0, 0.0)))
    assert isnan(alu(Ops.FDIV, dtypes.float, (nan, 0.0)))
    assert alu(Ops.RECIPROCAL, dtypes.double, (-0.0,)) == -inf
    assert alu(Ops.RECIPROCAL, dtypes.double, (inf,)) == 0.0
    assert isnan(alu(Ops.RECIPROCAL, dtypes.double, (nan,)))


def test_special_values_of_functions() -> None:
    assert alu(Ops.EXP2, dtypes.double, (3.0,)) == 8.0
    assert alu(Ops.EXP2, dtypes.float, (128.0,)) == inf
    assert alu(Ops.EXP2, dtypes.double, (1e9,)) == inf
    assert alu(Ops.EXP2, dtypes.double, (-inf,)) == 0.0
    assert isnan(alu(Ops.EXP2, dtypes.double, (nan,)))
    assert alu(Ops.LOG2, dtypes.double, (8.0,)) == 3.0
    assert alu(Ops.LOG2, dtypes.double, (0.0,)) == -inf
    assert alu(Ops.LOG2, dtypes.double, (-0.0,)) == -inf
    assert alu(Ops.LOG2, dtypes.double, (inf,)) == inf
    assert isnan(alu(Ops.LOG2, dtypes.double, (-1.0,)))
    assert isnan(alu(Ops.LOG2, dtypes.double, (nan,)))
    assert abs(float(alu(Ops.SIN, dtypes.double, (pi / 2,))) - 1.0) < 1e-15
    assert isnan(alu(Ops.SIN, dtypes.double, (inf,)))
    assert isnan(alu(Ops.SIN, dtypes.double, (nan,)))
    assert copysign(1.0, alu(Ops.SIN, dtypes.double, (-0.0,))) == -1.0
    assert alu(Ops.SQRT, dtypes.double, (9.0,)) == 3.0
    assert isnan(alu(Ops.SQRT, dtypes.double, (-1.0,)))
    assert isnan(alu(Ops.SQRT, dtypes.double, (-inf,)))
    assert isnan(alu(Ops.SQRT, dtypes.double, (nan,)))
    assert copysign(1.0, alu(Ops.SQRT, dtypes.double, (-0.0,))) == -1.0
    assert alu(Ops.TRUNC, dtypes.float, (-2.7,)) == -2.0
    assert copysign(1.0, alu(Ops.TRUNC, dtypes.float, (-0.7,))) == -1.0
    assert alu(Ops.TRUNC, dtypes.float, (-inf,)) == -inf
    assert isnan(alu(Ops.TRUNC, dtypes.float, (nan,)))


def test_power() -> None:
    assert alu(Ops.POW, dtypes.double, (2.0, 10.0)) == 1024.0
    assert alu(Ops.POW, dtypes.double, (0.0, -1.0)) == inf
    assert alu(Ops.POW, dtypes.double, (-0.0, -1.0)) == -inf
    assert alu(Ops.POW, dtypes.double, (-0.0, -2.0)) == inf
    assert isnan(alu(Ops.POW, dtypes.double, (-8.0, 1.0 / 3.0)))
    assert alu(Ops.POW, dtypes.double, (nan, 0.0)) == 1.0
    assert alu(Ops.POW, dtypes.double, (1.0, nan)) == 1.0
    assert alu(Ops.POW, dtypes.double, (-10.0, 309.0)) == -inf
    assert alu(Ops.POW, dtypes.double, (-10.0, 310.0)) == inf
    assert alu(Ops.POW, dtypes.double, (-1.0, inf)) == 1.0
    assert alu(Ops.POW, dtypes.int32, (3, 4)) == 81
    assert alu(Ops.POW, dtypes.int8, (2, 8)) == 0
    with pytest.raises(EvaluationError, match="negative"):
        alu(Ops.POW, dtypes.int32, (2, -1))


def test_product_sum_rounds_once() -> None:
    small = 2.0**-12
    product = (1.0 + small) * (1.0 + small)
    assert alu(Ops.MULACC, dtypes.float, (1.0 + small, 1.0 + small, -1.0)) == round_float(
        product - 1.0, dtypes.float
    )
    # in float64, product and sum rounded apart would give 0
    below = 1.0 - 2.0**-53
    assert alu(Ops.MULACC, dtypes.double, (below, below, -(below * below))) == 2.0**-106
    assert alu(Ops.MULACC, dtypes.double, (1e308, 10.0, -inf)) == -inf
    assert isnan(alu(Ops.MULACC, dtypes.double, (inf, 0.0, 1.0)))
    assert alu(Ops.MULACC, dtypes.half, (2.0, 3.0, 4.0)) == 10.0


def test_where_and_conversions() -> None:
    assert alu(Ops.WHERE, dtypes.float, (True, 1.0, nan)) == 1.0
    assert isnan(alu(Ops.WHERE, dtypes.float, (False, 1.0, nan)))
    assert alu(Ops.CAST, dtypes.uint8, (300.7,)) == 44
    assert scalar_bitcast(1.0, dtypes.float.vec(4), dtypes.int.vec(4)) == 0x3F800000


def test_threefry_against_the_vectors_of_its_authors() -> None:
    """Known answers of Random123 for threefry2x32 with 20 rounds."""
    assert threefry(0, 0) == 0x99BA4EFE6B200159
    assert threefry((1 << 64) - 1, (1 << 64) - 1) == 0xBB002BE71CB996FC
    assert threefry(0x85A308D3243F6A88, 0x0370734413198A2E) == 0x483DF7A0C4923A9C
    assert alu(Ops.THREEFRY, dtypes.uint64, (0, 0)) == threefry(0, 0)


def test_ops_without_meaning_say_so() -> None:
    for op, dtype in ((Ops.SQRT, dtypes.int), (Ops.IDIV, dtypes.float), (Ops.NEG, dtypes.bool)):
        with pytest.raises(EvaluationError, match=op.name):
            scalar_op(op, dtype)
    with pytest.raises(EvaluationError):
        scalar_op(Ops.LOAD, dtypes.float)
    with pytest.raises(EvaluationError):
        scalar_op(Ops.ADD, dtypes.void)


@pytest.mark.parametrize("op", sorted(GroupOp.ALU), ids=lambda op: op.name)
def test_every_op_has_a_meaning_on_some_dtype(op: Ops) -> None:
    def has_meaning(dtype: DType) -> bool:
        try:
            scalar_op(op, dtype)
        except EvaluationError:
            return False
        return True

    assert any(has_meaning(d) for d in (dtypes.float, dtypes.int, dtypes.bool, dtypes.uint64))
