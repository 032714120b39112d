"""Random expressions over all dtypes mean the same after legalization for any target."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tg_codegen.legalize.passes import STEPS
from tg_codegen.target.caps import Capabilities
from tg_codegen.target.cpu import describe_cpu
from tg_codegen.target.registry import c_capabilities, cpu_capabilities
from tg_uop import DType, Ops, UOp, dtypes
from tg_uop.dtype.value import convert, from_bits
from tg_uop.eval.graph import evaluate
from tg_uop.spec.node import Form
from tg_uop.spec.verify import verify
from tg_uop.target import Target


def capabilities(arch: str) -> Capabilities:
    return cpu_capabilities(describe_cpu(Target("CPU", "LLVM", arch)))


BASELINE = capabilities("x86_64")
TARGETS = {
    "sse2": BASELINE,
    "avx2": capabilities("x86_64,znver2"),
    "avx512": capabilities("x86_64,sapphirerapids"),
    "c": c_capabilities(describe_cpu(Target("CPU", "CLANG", "x86_64,znver2"))),
    "scalar": replace(BASELINE, vector_any_width=False, max_lanes=1, expands_division=False),
}

# bool sums are not left in lowered form, and weak integers have a width by then
SUMS = (Ops.ADD, Ops.SUB, Ops.MUL, Ops.MAX)
BITS = (Ops.AND, Ops.OR, Ops.XOR)
INTEGER_OPS = (*SUMS, *BITS, Ops.IDIV, Ops.MOD, Ops.SHL, Ops.SHR)
FLOAT_OPS = (*SUMS, Ops.FDIV)
COMPARISONS = (Ops.CMPLT, Ops.CMPNE, Ops.CMPEQ)
LEAVES = [UOp.param(2 * n + i, d) for n, d in enumerate(dtypes.all) for i in (0, 1)]
CASTS = [d for d in dtypes.all if d is not dtypes.bool]


def any_value(dtype: DType) -> st.SearchStrategy[bool | int | float]:
    if dtype is dtypes.bool:
        return st.booleans()
    bits = st.integers(0, (1 << (8 * dtype.itemsize)) - 1).map(lambda b: from_bits(b, dtype))
    if dtype.is_float:
        sizes = st.floats(-300, 300).map(lambda v: convert(v, dtype))
        return st.one_of(bits, sizes)
    return st.one_of(bits, st.integers(0, 70).map(lambda v: convert(v, dtype)))


@st.composite
def expressions(draw: st.DrawFn, dtype: DType, depth: int) -> UOp:
    """An expression of a scalar dtype; constants stand for operands now and then."""
    if depth == 0:
        if draw(st.integers(0, 3)) == 0:
            return UOp.const(dtype, draw(any_value(dtype)))
        return draw(st.sampled_from([leaf for leaf in LEAVES if leaf.dtype is dtype]))
    kind = draw(st.sampled_from(["alu", "alu", "where", "cast", "unary"]))
    if kind == "where":
        condition = draw(expressions(dtypes.bool, depth - 1))
        yes, no = (draw(expressions(dtype, depth - 1)) for _ in range(2))
        return condition.alu(Ops.WHERE, yes, no)
    if kind == "cast" and dtype is not dtypes.bool:
        return draw(expressions(draw(st.sampled_from(dtypes.all)), depth - 1)).cast(dtype)
    if kind == "unary" and dtype is not dtypes.bool:
        op = draw(st.sampled_from([Ops.NEG, Ops.TRUNC] if dtype.is_float else [Ops.NEG]))
        return draw(expressions(dtype, depth - 1)).alu(op)
    if dtype is dtypes.bool:
        operand = draw(st.sampled_from(dtypes.all))
        op = draw(st.sampled_from(BITS if operand is dtypes.bool else COMPARISONS))
    else:
        operand = dtype
        op = draw(st.sampled_from(FLOAT_OPS if dtype.is_float else INTEGER_OPS))
    left, right = (draw(expressions(operand, depth - 1)) for _ in range(2))
    return left.alu(op, right)


def legalized(expression: UOp, caps: Capabilities) -> UOp:
    for step in STEPS:
        if step.before is Form.LOWERED:
            expression = step.run(expression, caps)
    return expression


def is_legal(node: UOp, caps: Capabilities) -> bool:
    """What the renderer of the target can write; the inputs of these tests have any dtype."""
    if node.op in (Ops.PARAM, Ops.CAST):
        return True
    return node.dtype.scalar() in caps.dtypes


def assert_same(found: object, expected: object, expression: UOp) -> None:
    if isinstance(expected, float) and math.isnan(expected):
        assert isinstance(found, float), expression
        assert math.isnan(found), expression
    else:
        assert found == expected, expression


# inputs of a dtype that is emulated come as float32, which the memory step would have made of them
def with_inputs_decoded(expression: UOp, caps: Capabilities) -> UOp:
    wide = {
        leaf: leaf.replace(dtype=dtypes.float32).cast(leaf.dtype)
        for leaf in LEAVES
        if leaf.dtype.is_float and not caps.computes(leaf.dtype)
    }
    return expression.substitute(wide)


@pytest.mark.parametrize("target", list(TARGETS))
@given(data=st.data())
@settings(max_examples=150)
def test_legalized_expressions(target: str, data: st.DataObject) -> None:
    caps = TARGETS[target]
    dtype = data.draw(st.sampled_from(dtypes.all))
    given_expression = data.draw(expressions(dtype, data.draw(st.integers(1, 4))))
    decoded = with_inputs_decoded(given_expression, caps)
    if dtype.is_float and not caps.computes(dtype):
        decoded = decoded.cast(dtypes.float32)
    result = legalized(decoded, caps)
    verify(result, Form.LOWERED)
    assert all(is_legal(node, caps) for node in result.toposort())
    values = {leaf: data.draw(any_value(leaf.dtype)) for leaf in LEAVES}
    wide = {
        leaf.replace(dtype=dtypes.float32): v for leaf, v in values.items() if leaf.dtype.is_float
    }
    expected = evaluate(given_expression, {}, values)
    assert_same(evaluate(result, {}, {**values, **wide}), expected, given_expression)
