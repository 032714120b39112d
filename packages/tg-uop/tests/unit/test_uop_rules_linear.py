"""Sums as data, and facts from conditions."""

from __future__ import annotations

from tg_uop.dtype.dtype import dtypes
from tg_uop.ir.ops import Ops
from tg_uop.ir.uop import UOp
from tg_uop.rules.conditions import MAX_CONJUNCTS, Fact, conjuncts, fact_of, joined, put_in
from tg_uop.rules.linear import (
    Linear,
    can_write,
    in_order,
    is_always_below,
    linear,
    term_and_factor,
    upper_bound,
    write,
)

x = UOp.range(10, 0)
y = UOp.range(4, 1)
n = UOp.variable("n", 1, 100)
r = UOp.range(n, 2)


def test_a_node_as_a_sum() -> None:
    found = linear((x * 4 - y + 3) * 2)
    assert (found.terms, found.constant) == ({x: 8, y: -2}, 6)
    assert linear(x - x).terms == {}
    assert linear(-(x + 1)).terms == {x: -1}
    assert linear(x * y).terms == {x * y: 1}


def test_calculating_with_sums() -> None:
    total = Linear({x: 8, y: -2}, 6)
    assert total.bounds() == (0, 78)
    assert total.content() == 2
    assert total.divided(2) == Linear({x: 4, y: -1}, 3)
    assert total.plus(Linear({x: -8}), 1) == Linear({y: -2}, 6)
    assert total.shifted(-6).constant == 0


def test_one_spelling() -> None:
    total = Linear({y: 1, x: 4}, 3)
    assert write(total, x) is x * 4 + y + 3
    assert write(Linear({}, 7), x) is x.const_like(7)
    assert in_order([r, y, n, x]) == [n, x, y, r]


def test_a_product_and_its_factor() -> None:
    assert term_and_factor(x * 3) == (x, 3)
    assert term_and_factor(x) == (x, 1)


def test_sums_that_may_wrap_are_terms() -> None:
    a = UOp.param(0, dtypes.int8)
    assert linear(a + 1).terms == {a + 1: 1}
    assert linear(a + 1, exact=False) == Linear({a: 1}, 1)
    small = UOp.variable("s", 0, 9, dtypes.int8)
    assert linear(small * 4 + 1) == Linear({small: 4}, 1)


def test_what_fits_its_type() -> None:
    small = UOp.variable("s", 0, 9, dtypes.int8)
    assert can_write(Linear({small: 10}, 30), dtypes.int8)
    assert not can_write(Linear({small: 20}), dtypes.int8)
    wraps = UOp.param(0, dtypes.int8) + 1
    assert can_write(Linear({wraps: 1}), dtypes.int8)
    assert not can_write(Linear({wraps: 1}, 1), dtypes.int8)


def test_symbolic_bounds() -> None:
    assert upper_bound(linear(r * 2)) == Linear({n: 2}, -2)
    assert is_always_below(linear(r * 4 + y), linear(n * 4))
    assert not is_always_below(linear(r * 4 + y + 1), linear(n * 4))


def test_facts_of_conditions() -> None:
    assert fact_of(x < 5) == Fact(((x, 1),), 0, 4)
    assert fact_of((x < 5).ne(True)) == Fact(((x, 1),), 5, 9)
    assert fact_of(x.eq(5)) == Fact(((x, 1),), 5, 5)
    assert fact_of(x.ne(5)) is None
    assert fact_of(x < x + 1) is None
    assert fact_of(UOp.param(0, dtypes.float) < 1.0) is None


def test_facts_about_one_sum_are_joined() -> None:
    facts = [fact_of(x + 2 < y + 5), fact_of(y < x + 2)]
    (fact,) = joined(f for f in facts if f is not None)
    assert (fact.low, fact.high) == (-1, 2)
    assert dict(fact.terms) == {x: 1, y: -1}


def test_conditions_that_hold_together() -> None:
    conditions = [x < k for k in range(MAX_CONJUNCTS + 1)]
    few = conditions[0] & (conditions[1] & conditions[2])
    assert conjuncts(few) == conditions[:3]
    many = few
    for condition in conditions:
        many = many & condition
    assert conjuncts(many) == [many]


def test_nothing_is_put_in_below_a_load() -> None:
    table = UOp.param(0, dtypes.int.ptr(10))
    expr = table.index(x).cast(dtypes.weakint) + x
    assert put_in(expr, {x: y}) is table.index(x).cast(dtypes.weakint) + y
    assert put_in(expr, {table.index(x): UOp.const(dtypes.int, 1)}).src[0].op is Ops.CAST
