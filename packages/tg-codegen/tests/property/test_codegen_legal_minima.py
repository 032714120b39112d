"""A minimum, which comes as a mirrored maximum, is chosen directly and stays the same."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tg_codegen.legalize.minima import choose_minima
from tg_codegen.target.registry import INTERPRETER
from tg_uop import DType, Ops, UOp, dtypes
from tg_uop.dtype.value import Value, from_bits
from tg_uop.eval.graph import evaluate

DTYPES = [dtypes.float32, dtypes.float64, dtypes.bfloat16, *dtypes.ints]


def any_value(dtype: DType) -> st.SearchStrategy[Value]:
    bits = st.integers(0, (1 << (8 * dtype.itemsize)) - 1).map(lambda b: from_bits(b, dtype))
    return st.one_of(bits, st.sampled_from([0, 1]).map(lambda b: from_bits(b, dtype)))


@pytest.mark.parametrize("dtype", DTYPES)
@given(data=st.data())
@settings(max_examples=80)
def test_minimum(dtype: DType, data: st.DataObject) -> None:
    x, y = UOp.param(0, dtype), UOp.param(1, dtype)
    values = {x: data.draw(any_value(dtype)), y: data.draw(any_value(dtype))}
    if data.draw(st.booleans()):
        y = UOp.const(dtype, values.pop(y))
    node = x.minimum(y)
    result = choose_minima(node, INTERPRETER)
    found, expected = evaluate(result, {}, values), evaluate(node, {}, values)
    if isinstance(expected, float) and math.isnan(expected):
        assert isinstance(found, float)
        assert math.isnan(found)
        return
    assert found == expected
    assert math.copysign(1, float(found)) == math.copysign(1, float(expected))


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.int32, dtypes.uint8])
def test_no_mirror_is_left(dtype: DType) -> None:
    x, y = UOp.param(0, dtype), UOp.param(1, dtype)
    for node in (x.minimum(y), x.minimum(3)):
        result = choose_minima(node, INTERPRETER)
        assert not result.op_in_backward_slice_with_self(Ops.MAX, Ops.NEG, Ops.XOR)
