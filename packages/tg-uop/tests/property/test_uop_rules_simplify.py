"""simplify keeps the value of whole expressions, and is done when it says so."""

from __future__ import annotations

import random
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tg_uop.dtype.dtype import DType, Invalid, dtypes
from tg_uop.eval.graph import evaluate
from tg_uop.ir.ops import Ops
from tg_uop.ir.uop import UOp
from tg_uop.rules.sets import INDEX_MATH, SYMBOLIC, SYMBOLIC_SIMPLE
from tg_uop.rules.simplify import given as simplify_given
from tg_uop.rules.simplify import simplify

INTEGER_TYPES = (dtypes.weakint, *dtypes.ints)
RING = (Ops.ADD, Ops.ADD, Ops.ADD, Ops.SUB, Ops.MUL, Ops.NEG, Ops.MAX)
DIVISION = (Ops.IDIV, Ops.MOD)
COMPARISON = (Ops.CMPLT, Ops.CMPNE, Ops.CMPEQ)
MOST_ASSIGNMENTS = 64


@st.composite
def integers(draw: st.DrawFn, dtype: DType, depth: int = 4) -> UOp:
    """Expressions as index arithmetic has them, of any depth up to `depth`."""
    if depth == 0 or draw(st.integers(0, 5)) == 0:
        return draw(leaves_of(dtype))
    kind = draw(st.sampled_from(("ring", "scale", "scale", "divide", "divide", "floor", "choose")))
    x = draw(integers(dtype, depth - 1))
    if kind == "scale":
        return x * constant(dtype, draw(st.integers(-6, 12)))
    if kind == "divide":
        return x.alu(draw(st.sampled_from(DIVISION)), constant(dtype, draw(st.integers(-3, 12))))
    if kind == "floor":
        divisor = draw(st.integers(1, 9))
        return x // divisor if draw(st.booleans()) else x % divisor
    if kind == "choose":
        cond = draw(conditions(dtype, depth - 1))
        return cond.where(x, draw(integers(dtype, depth - 1)))
    op = draw(st.sampled_from(RING))
    return x.alu(op) if op is Ops.NEG else x.alu(op, draw(integers(dtype, depth - 1)))


@st.composite
def conditions(draw: st.DrawFn, dtype: DType, depth: int = 3) -> UOp:
    """Comparisons of integers, joined."""
    kind = draw(st.sampled_from(("compare", "compare", "and", "or", "not")))
    if depth <= 0 or kind == "compare":
        left, right = draw(integers(dtype, depth)), draw(integers(dtype, max(depth - 2, 0)))
        return left.alu(draw(st.sampled_from(COMPARISON)), right)
    first = draw(conditions(dtype, depth - 1))
    if kind == "not":
        return first.logical_not()
    second = draw(conditions(dtype, depth - 1))
    return first & second if kind == "and" else first | second


@st.composite
def leaves_of(draw: st.DrawFn, dtype: DType) -> UOp:
    """A variable, a loop index, a whole register, or a constant."""
    name = draw(st.sampled_from("abc"))
    kind = draw(st.sampled_from(("variable", "range", "range", "whole", "constant")))
    if kind == "constant":
        return constant(dtype, draw(st.integers(-20, 40)))
    if kind == "range":
        return UOp.range(draw(st.integers(1, 7)), ord(name), dtype=dtype)
    if kind == "whole" and dtype is not dtypes.weakint:
        return UOp.param(ord(name), dtype)
    low = 0 if dtype.is_unsigned else draw(st.sampled_from((0, -6, 1)))
    return UOp.variable(name, low, low + draw(st.integers(0, 8)), dtype)


def constant(dtype: DType, value: int) -> UOp:
    return UOp.const(dtype, max(value, 0) if dtype.is_unsigned else value)


def values_of(node: UOp, chance: random.Random) -> list[int]:
    if node.op is not Ops.PARAM:
        return list(range(int(node.vmin), int(node.vmax) + 1))
    low, high = int(node.dtype.min), int(node.dtype.max)
    edges = (low, low + 1, -1, 0, 1, high - 1, high, chance.randint(low, high))
    return [v for v in edges if low <= v <= high]


def assignments(root: UOp, chance: random.Random) -> list[dict[UOp, int]]:
    kinds = (Ops.DEFINE_VAR, Ops.RANGE, Ops.PARAM)
    nodes = sorted((n for n in root.toposort() if n.op in kinds), key=lambda n: n.key)
    choices = [values_of(node, chance) for node in nodes]
    total = 1
    for values in choices:
        total *= len(values)
    every = product(*choices)
    if total > MOST_ASSIGNMENTS:
        every = (tuple(map(chance.choice, choices)) for _ in range(MOST_ASSIGNMENTS))  # type: ignore[assignment]
    return [dict(zip(nodes, values, strict=True)) for values in every]


def assert_same(before: UOp, after: UOp, condition: UOp | None = None) -> None:
    both = before.sink(after) if condition is None else before.sink(after, condition)
    for values in assignments(both, random.Random(1)):
        if condition is not None and not evaluate(condition, node_vals=values):
            continue
        expected = evaluate(before, node_vals=values)
        got = evaluate(after, node_vals=values)
        shown = {n.render(False): v for n, v in values.items()}
        text = f"{before.render(False)}\n-> {after.render(False)}\nat {shown}"
        assert got == expected, text
        if got is not Invalid:
            assert after.vmin <= got <= after.vmax, text  # type: ignore[operator]


@pytest.mark.parametrize("dtype", INTEGER_TYPES, ids=str)
@settings(max_examples=30)
@given(data=st.data())
def test_simplify_keeps_the_value(dtype: DType, data: st.DataObject) -> None:
    expr = data.draw(integers(dtype))
    simple = simplify(expr)
    assert_same(expr, simple)
    assert simplify(simple) is simple


@settings(max_examples=80)
@given(integers(dtypes.weakint, 5))
def test_simplify_of_exact_integers(expr: UOp) -> None:
    simple = simplify(expr)
    assert_same(expr, simple)
    assert simplify(simple) is simple


@settings(max_examples=50)
@given(conditions(dtypes.weakint))
def test_simplify_of_conditions(cond: UOp) -> None:
    assert_same(cond, simplify(cond))


@settings(max_examples=50)
@given(conditions(dtypes.weakint), integers(dtypes.weakint))
def test_simplify_of_guarded_indices(cond: UOp, index: UOp) -> None:
    guarded = index.valid(cond)
    assert_same(guarded, simplify(guarded))


@settings(max_examples=30)
@given(conditions(dtypes.weakint), integers(dtypes.weakint, 3), integers(dtypes.weakint, 3))
def test_arithmetic_on_guarded_indices(cond: UOp, index: UOp, other: UOp) -> None:
    expr = (index.valid(cond) + other) * 3
    assert_same(expr, simplify(expr))


@settings(max_examples=50)
@given(conditions(dtypes.weakint), integers(dtypes.weakint))
def test_given_keeps_the_value_where_the_condition_holds(cond: UOp, expr: UOp) -> None:
    known = simplify_given(expr, cond)
    if known is None:
        assert_same(cond, cond.const_like(False))
    else:
        assert_same(expr, known, cond)


@settings(max_examples=50)
@given(st.one_of(integers(dtypes.weakint, 2), integers(dtypes.int8, 2), conditions(dtypes.int8, 2)))
def test_compiled_matcher_agrees_with_the_reference(expr: UOp) -> None:
    """The table of compiled rules picks the rule that trying all in order does."""
    for matcher in (SYMBOLIC_SIMPLE, SYMBOLIC, INDEX_MATH):
        for node in expr.toposort():
            assert matcher.rewrite(node) is matcher.rewrite_reference(node)
