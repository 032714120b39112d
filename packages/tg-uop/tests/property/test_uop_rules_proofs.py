"""Integer rules proved for all values at once, where z3 is installed.

Brute force sees small numbers; here an instance of a rule and what it becomes are given to a
solver, fixed widths as bit vectors and exact integers as such, with the bounds of the leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tg_uop.dtype.dtype import DType, dtypes
from tg_uop.ir.ops import GroupOp, Ops
from tg_uop.ir.uop import UOp
from tg_uop.rules.simplify import simplify

z3 = pytest.importorskip("z3")

Term = Any
SOLVER_MILLISECONDS = 3000
FIXED = (dtypes.int8, dtypes.uint8, dtypes.int16, dtypes.uint16, dtypes.int32, dtypes.uint32)


def term_of(node: UOp, known: dict[UOp, Term], facts: list[Term]) -> Term:
    """The node in the solver's language."""
    dtype = node.dtype
    if node.op is Ops.CONST:
        return z3.BoolVal(node.arg) if dtype.is_bool else _number(dtype, int(node.arg))  # type: ignore[call-overload]
    if node.op in (Ops.DEFINE_VAR, Ops.RANGE, Ops.PARAM):
        name = f"v{len(known)}"
        value = z3.Int(name) if dtype is dtypes.weakint else z3.BitVec(name, dtype.bitsize)
        low, high = _number(dtype, int(node.vmin)), _number(dtype, int(node.vmax))
        facts.extend((_below(dtype, low, value, True), _below(dtype, value, high, True)))
        return value
    operands = [known[s] for s in node.src]
    if node.op is Ops.WHERE:
        return z3.If(*operands)
    if dtype.is_bool:
        return _condition(node, operands)
    return _arithmetic(node.op, dtype, operands)


def _number(dtype: DType, value: int) -> Term:
    return z3.IntVal(value) if dtype is dtypes.weakint else z3.BitVecVal(value, dtype.bitsize)


def _below(dtype: DType, left: Term, right: Term, or_equal: bool) -> Term:
    if dtype.is_unsigned:
        return z3.ULE(left, right) if or_equal else z3.ULT(left, right)
    return left <= right if or_equal else left < right


def _condition(node: UOp, operands: list[Term]) -> Term:
    left, right = operands
    if node.op is Ops.CMPLT:
        return _below(node.src[0].dtype, left, right, False)
    joined: dict[Ops, Callable[[], Term]] = {
        Ops.CMPEQ: lambda: left == right,
        Ops.CMPNE: lambda: left != right,
        Ops.AND: lambda: z3.And(left, right),
        Ops.OR: lambda: z3.Or(left, right),
        Ops.XOR: lambda: z3.Xor(left, right),
    }
    return joined[node.op]()


def _arithmetic(op: Ops, dtype: DType, operands: list[Term]) -> Term:
    left, right = operands if len(operands) == 2 else (operands[0], operands[0])
    zero = _number(dtype, 0)
    if op is Ops.MAX:
        return z3.If(_below(dtype, left, right, False), right, left)
    if op in (Ops.IDIV, Ops.MOD):
        return z3.If(right == zero, zero, _divided(op, dtype, left, right))
    simple: dict[Ops, Callable[[], Term]] = {
        Ops.ADD: lambda: left + right,
        Ops.SUB: lambda: left - right,
        Ops.MUL: lambda: left * right,
        Ops.NEG: lambda: -left,
        Ops.AND: lambda: left & right,
        Ops.OR: lambda: left | right,
        Ops.XOR: lambda: left ^ right,
    }
    return simple[op]()


def _divided(op: Ops, dtype: DType, left: Term, right: Term) -> Term:
    if dtype.is_unsigned:
        return z3.UDiv(left, right) if op is Ops.IDIV else z3.URem(left, right)
    if dtype is not dtypes.weakint:
        return left / right if op is Ops.IDIV else z3.SRem(left, right)
    # the solver's division leaves a remainder that is not negative
    size = z3.If(right < 0, -right, right)
    quotient = z3.If(left < 0, -((-left) / size), left / size)
    if op is Ops.MOD:
        return left - quotient * size
    return z3.If(right < 0, -quotient, quotient)


def counterexample(before: UOp, after: UOp) -> object | None:
    """Values for which the two differ, None if there are none (or none was found in time)."""
    known: dict[UOp, Term] = {}
    facts: list[Term] = []
    for node in before.sink(after).toposort():
        if (
            node.op in GroupOp.ALU
            or (not node.src and node.op is not Ops.SINK)
            or node.op is Ops.RANGE
        ):
            known[node] = term_of(node, known, facts)
    solver = z3.Solver()
    solver.set("timeout", SOLVER_MILLISECONDS)
    solver.add(*facts, known[before] != known[after])
    return solver.model() if solver.check() == z3.sat else None


# *** laws, with leaves of any value ***


@st.composite
def linear_divisions(draw: st.DrawFn, dtype: DType, largest: int) -> UOp:
    """A quotient, remainder or comparison of a sum of leaves with wide bounds."""
    total: UOp | None = None
    for name in "abc"[: draw(st.integers(1, 3))]:
        low = 0 if dtype.is_unsigned else draw(st.sampled_from((0, 0, -largest)))
        high = draw(st.sampled_from((3, 7, largest // 16, largest)))
        leaf = UOp.variable(name, low, high, dtype)
        part = leaf * draw(st.sampled_from((1, 1, 2, 4, 6, 12)))
        total = part if total is None else total + part
    assert total is not None
    if draw(st.booleans()):
        total = total + draw(st.integers(0, 40))
    op = draw(st.sampled_from((Ops.IDIV, Ops.MOD, Ops.IDIV, Ops.MOD, Ops.CMPLT, Ops.CMPEQ)))
    result = total.alu(op, UOp.const(dtype, draw(st.sampled_from((2, 3, 4, 8, 12, 24, 100)))))
    if op in (Ops.IDIV, Ops.MOD) and draw(st.booleans()):
        again = draw(st.sampled_from((Ops.IDIV, Ops.MOD, Ops.CMPLT)))
        result = result.alu(again, UOp.const(dtype, draw(st.sampled_from((2, 3, 4, 6)))))
    return result


@settings(max_examples=120, derandomize=True)
@given(linear_divisions(dtypes.weakint, 1 << 40))
def test_exact_integers_are_proved(expr: UOp) -> None:
    assert counterexample(expr, simplify(expr)) is None


@pytest.mark.parametrize("dtype", FIXED, ids=str)
@settings(max_examples=40, derandomize=True)
@given(data=st.data())
def test_fixed_widths_are_proved(dtype: DType, data: st.DataObject) -> None:
    """Sums near the end of the type wrap: a law of exact integers must not be applied there."""
    expr = data.draw(linear_divisions(dtype, int(dtype.max) // 2))
    simple = simplify(expr)
    assert counterexample(expr, simple) is None


def test_the_solver_finds_what_is_wrong() -> None:
    """x * 4 / 4 is x only as long as the product does not wrap."""
    x = UOp.param(0, dtypes.int8)
    assert counterexample((x * 4).alu(Ops.IDIV, x.const_like(4)), x) is not None
    exact = UOp.variable("x", -100, 100)
    assert counterexample((exact * 4).alu(Ops.IDIV, exact.const_like(4)), exact) is None
