"""Evaluation of small graphs."""

from __future__ import annotations

import pytest
from tg_uop import Invalid, Ops, UOp, Variable, dtypes, evaluate, sym_infer
from tg_uop.errors import EvaluationError, UnboundVariableError


def test_index_expressions() -> None:
    i, j = Variable("i", 0, 100), Variable("j", 0, 7)
    expression = i * 8 + j + 3
    assert evaluate(expression, {"i": 5, "j": 2}) == 45
    assert sym_infer(expression, {"i": 1, "j": 1}) == 12
    assert sym_infer(9, {}) == 9
    assert expression.evaluate({"i": 0, "j": 0}) == 3


def test_missing_variables_are_named() -> None:
    i = Variable("size", 0, 10)
    with pytest.raises(UnboundVariableError, match="'size'"):
        evaluate(i + 1, {"other": 2})


def test_bound_variables_have_their_value() -> None:
    assert evaluate(Variable("i", 0, 10).bind(4) + 1) == 5


def test_ranges_and_loads_get_values_from_outside() -> None:
    r = UOp.range(10, 0)
    element = UOp.param(0, dtypes.float.ptr(10)).index(r)
    assert evaluate(element * 2.0 + 1.0, node_vals={element: 1.5}) == 4.0
    assert evaluate(r * 3, node_vals={r: 4}) == 12
    with pytest.raises(EvaluationError, match="node_vals"):
        evaluate(element)


def test_invalid_spreads_but_not_through_the_other_branch() -> None:
    i = Variable("i", 0, 10)
    gated = i.valid(i < 5)
    assert evaluate(gated + 1, {"i": 4}) == 5
    assert evaluate(gated + 1, {"i": 6}) is Invalid


def test_vectors_are_tuples() -> None:
    counting = UOp.const(dtypes.int.vec(4), (0, 1, 2, 3))
    three = UOp.const(dtypes.int.vec(4), 3)
    assert evaluate(counting.alu(Ops.MUL, three)) == (0, 3, 6, 9)
    assert evaluate(counting.gep((3, 0))) == (3, 0)
    assert evaluate(counting.gep(2)) == 2
    assert evaluate(counting.cast(dtypes.float.vec(4))) == (0.0, 1.0, 2.0, 3.0)
    one = UOp.const(dtypes.float, 1.0)
    half = UOp.const(dtypes.float, 0.5)
    assert evaluate(UOp.stack(one, half).bitcast(dtypes.int.vec(2))) == (0x3F800000, 0x3F000000)
    assert evaluate(counting.alu(Ops.CMPLT, three)) == (True, True, True, False)


def test_a_constant_has_the_value_that_its_dtype_holds() -> None:
    tenth = UOp.const(dtypes.float, 0.1)
    assert evaluate(tenth.cast(dtypes.double)) == 0.10000000149011612
    assert UOp.const(dtypes.half, 0.1) is UOp.const(dtypes.half, 0.0999755859375)
    assert UOp.const(dtypes.uint8, 256) is UOp.const(dtypes.uint8, 0)
    assert UOp.const(dtypes.fp8e4m3, 1000.0) is UOp.const(dtypes.fp8e4m3, float("nan"))
    assert evaluate(UOp.const(dtypes.half.vec(2), (0.1, 1.0))) == (0.0999755859375, 1.0)


def test_results_that_are_no_integer() -> None:
    with pytest.raises(EvaluationError, match="no integer"):
        sym_infer(UOp.const(dtypes.float, 0.5), {})
